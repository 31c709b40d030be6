"""Running one command: its module has `configure(parser)` and `run(options)`."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import NoReturn

from whence.cli import COMMANDS
from whence.errors import UsageError, WhenceError


class Parser(argparse.ArgumentParser):
    """Says in two lines what is wrong with a command line, not all that could be right."""

    def error(self, message: str) -> NoReturn:
        """End the program: what is wrong, and what to do."""
        self.exit(2, f"{self.prog}: {message}\n{self._advice(message)}\n")

    def _advice(self, message: str) -> str:
        from difflib import get_close_matches

        more = f"`{self.prog} --help` says more."
        if not message.startswith("unrecognized arguments: "):
            return more
        wrong = message.split()[2].partition("=")[0]
        if not wrong.startswith("-"):
            return f"Put words that belong together in quotes. {more}"
        known = [name for action in self._actions for name in action.option_strings]
        close = get_close_matches(wrong, known, n=2, cutoff=0.75)
        return f"Did you mean {' or '.join(close)}? {more}" if close else more


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Help as wide as the terminal, without `shutil`, which loads what archives need."""
    try:
        width = int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size().columns
    except (OSError, ValueError):
        width = 80
    return argparse.RawDescriptionHelpFormatter(prog, width=width - 2)


def _go(there: str | None) -> None:
    try:
        if there is not None:
            os.chdir(there)
    except OSError as error:
        message = f"-C {there}: {error.strerror}"
        raise UsageError(message, "Name an existing directory.") from None


def run(name: str, arguments: list[str]) -> int:
    """Parse and run; whatever goes wrong is said in two lines, never in a traceback."""
    module = import_module(f"whence.cli.{name}")
    parser = Parser(
        prog=f"whence {name}",
        description=f"{COMMANDS[name][0].upper()}{COMMANDS[name][1:]}.",
        epilog=module.EXAMPLE,
        formatter_class=_formatter,
    )
    module.configure(parser)
    subcommands = hasattr(module, "SUBCOMMANDS")
    if not subcommands and parser.get_default("workspace") is None:
        parser.add_argument("-C", dest="there", metavar="DIR", help="go to this directory first")
    # Intermixed parsing lets options stand before, between and behind the words of a command.
    parse = parser.parse_args if subcommands else parser.parse_intermixed_args
    try:
        options = parse(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        _go(getattr(options, "there", None))
        code: int = module.run(options)
        sys.stdout.flush()
    except WhenceError as error:
        print(f"whence {name}: {error.message}\n{error.suggestion}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        print(f"whence {name}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _forget_output()  # the reader went away
        return 1
    except Exception as error:
        if os.environ.get("WHENCE_DEBUG"):
            raise
        print(f"whence {name}: {_unforeseen(error)}", file=sys.stderr)
        return 1
    return code


def _unforeseen(error: Exception) -> str:
    """What went wrong with the machine, or else with us, and what to do."""
    if isinstance(error, OSError):
        if error.filename is None:
            _forget_output()
        at = "" if error.filename is None else f"{error.filename!r}: "
        return f"{at}{error.strerror or error}\nCheck the path, your rights and the space there."
    return (
        f"a bug: {type(error).__name__}: {error}\n"
        "Nothing that was acknowledged is lost; WHENCE_DEBUG=1 shows where it happened."
    )


def _forget_output() -> None:
    """Keep what is still buffered from being written, once more in vain, when the program ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
