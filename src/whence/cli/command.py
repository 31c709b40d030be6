"""Running one command: its module has `configure(parser)` and `run(options)`."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module

from whence.cli import COMMANDS
from whence.errors import UsageError, WhenceError


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
    parser = argparse.ArgumentParser(
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
        # The reader went away; what is still buffered must not be flushed into its absence.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if os.environ.get("WHENCE_DEBUG"):
            raise
        print(
            f"whence {name}: a bug: {type(error).__name__}: {error}\n"
            "Nothing that was acknowledged is lost; WHENCE_DEBUG=1 shows where it happened.",
            file=sys.stderr,
        )
        return 1
    return code
