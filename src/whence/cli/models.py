"""`whence models`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from whence.cli.text import print_json

if TYPE_CHECKING:
    from whence.provider.local.weights import Progress

EXAMPLE = """\
examples:
  whence models                 which models can be used here, and why the others cannot
  whence models install         fetch the embedded model, which needs no key and no network
  whence models --format json   for a program
"""
CAN = (
    "call a tool that a request names plainly, with arguments out of the request's own words",
    "take several steps where the request names them: read a.txt and b.txt, then list src",
    "quote what a tool gave back, or the sentences of a document that answer a question",
    "say that it does not know",
)
CANNOT = (
    "reason, plan, chat, or write text or code: its answers are quotations",
    "know what “it” was: each request is read by itself",
    "be trusted: about 1 call in 6 is wrong, so whatever does more than read asks first",
)
_BAR = 30
_FILES = (
    ("script/FILE", "answers that are written in a YAML file"),
    ("replay/FILE", "the answers of a transcript or a journal again"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "action", nargs="?", choices=("install",), help="fetch the weights of the embedded model"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to print")


def run(options: argparse.Namespace) -> int:
    """List the models, or install the embedded one."""
    if options.action == "install":
        return _install()
    listed = _listed()
    if options.format == "json":
        value = {"models": listed, "embedded": {"can": CAN, "cannot": CANNOT}}
        print_json(value, indent=2)
    else:
        _print(listed)
    return 0


def _listed() -> list[dict[str, Any]]:
    from whence.provider.local.conversation import ID
    from whence.provider.local.engine import problem
    from whence.provider.local.weights import directory
    from whence.provider.remote import available

    found = problem()
    reason = ": ".join(found) if found else f"embedded, in {os.fspath(directory())}"
    remote = [(f"{entry.id}/NAME", entry.usable, entry.reason) for entry in available()]
    files = [(name, True, reason) for name, reason in _FILES]
    return [
        {"id": name, "usable": usable, "reason": said}
        for name, usable, said in ((ID, found is None, reason), *remote, *files)
    ]


def _print(listed: list[dict[str, Any]]) -> None:
    width = max(len(entry["id"]) for entry in listed)
    for usable, title in ((True, "can be used here"), (False, "cannot be used here")):
        chosen = [entry for entry in listed if entry["usable"] is usable]
        if chosen:
            print(f"{title}:")
        for entry in chosen:
            print(f"  {'✓' if usable else '✗'} {entry['id']:<{width}}  {entry['reason']}")
    print("\nThe embedded model can:")
    print("\n".join(f"  {line}" for line in CAN))
    print("It cannot:")
    print("\n".join(f"  {line}" for line in CANNOT))


def _install() -> int:
    from whence.provider.local import engine, weights

    place = weights.directory()
    for name in weights.discard_damaged(place):
        print(f"{name} is damaged: it is fetched anew", file=sys.stderr)
    if weights.missing(place):
        try:
            weights.ensure(_progress())
        finally:
            _clear()
        print(f"installed in {os.fspath(place)}, {weights.KEPT_BYTES // 10**6} MB")
    else:
        print(f"already installed in {os.fspath(place)}")
    found = engine.problem()
    if found is not None:
        print(f"whence models: {found[0]}\n{found[1]}", file=sys.stderr)
        return 1
    return 0


def offer() -> bool:
    """Whether the weights, missing so far, are there now because somebody said yes."""
    from whence.provider.local import weights

    someone = sys.stdin.isatty() and sys.stderr.isatty()
    if not someone or not weights.missing(weights.directory()):
        return False
    size = weights.DOWNLOAD_BYTES // 10**6
    question = f"The embedded model is not installed yet. Fetch it now, {size} MB? [Y/n] "
    print(question, end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("", "y", "yes"):
        return False
    return _install() == 0


def _progress() -> Progress | None:
    return _draw if sys.stderr.isatty() else None


def _draw(what: str, done: int, total: int) -> None:
    share = done / total
    bar = ("█" * round(share * _BAR)).ljust(_BAR, "░")
    text = f"{bar} {share:4.0%}  {done / 1e6:.0f} of {total / 1e6:.0f} MB  {what}"
    print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _clear() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
