"""Keys and addresses of providers: from the environment, or from a file that only its owner reads.

# ~/.config/whence/keys.yaml, or the file that $WHENCE_KEYS names
OPENAI_API_KEY: sk-…
OLLAMA_BASE_URL: http://gpu-box:11434/v1
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from typing import Any

from whence.errors import InvalidArgs, ParseError, PermissionDenied

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_IN_HEADER = re.compile(r"[\x21-\x7e]+")


class Keys:
    """Values by the name of their variable; the environment wins over the file.

    The file is read when the first name is not found in the environment.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self.environ = environ
        self._file: Mapping[str, str] | None = None

    def __repr__(self) -> str:
        return "<Keys>"

    def get(self, name: str) -> str | None:
        """The value of a variable; a blank one is none.

        Raises:
            PermissionDenied: Others can read the file.
            ParseError: The file is not what it should be.
        """
        return self.environ.get(name, "").strip() or self._from_file().get(name)

    def first(self, names: Iterable[str]) -> tuple[str, str] | None:
        """The first of the variables that has a value: its name and the value."""
        for name in names:
            value = self.get(name)
            if value is not None:
                return name, value
        return None

    def _from_file(self) -> Mapping[str, str]:
        if self._file is None:
            path = key_file(self.environ)
            self._file = _read(path) if path is not None else {}
        return self._file


def key_file(environ: Mapping[str, str]) -> str | None:
    """Where keys are looked for that are not in the environment; None: it names no home."""
    named = environ.get("WHENCE_KEYS")
    if named:
        return os.path.expanduser(named)
    home = environ.get("HOME") or environ.get("USERPROFILE") or ""
    settings = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    # A relative path would be one into the workspace, which anybody may have filled.
    return os.path.join(settings, "whence", "keys.yaml") if os.path.isabs(settings) else None


def check_key(key: str, name: str) -> None:
    """Refuse a key that cannot be sent, without showing it.

    Raises:
        InvalidArgs: It holds a blank, a line break or a character that is not ASCII.
    """
    if not _IN_HEADER.fullmatch(key):
        wrong = next(at for at, letter in enumerate(key) if not _IN_HEADER.fullmatch(letter))
        raise InvalidArgs(
            f"the key in {name} cannot be sent: its character {wrong + 1} is a blank, a line break"
            " or not ASCII",
            f"Copy the key again into {name}.",
        )


def _read(path: str) -> Mapping[str, str]:
    try:
        with open(path, encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            if os.name == "posix" and mode & stat.S_IRWXO:
                raise PermissionDenied(
                    f"everybody on this machine can read the keys in {path}",
                    f"Run `chmod 600 {path}`, then try again.",
                )
            text = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, PermissionError) and not os.path.exists(path):
            return {}  # a home that we may not enter holds no keys for us
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ParseError(
            f"{path} cannot be read: {reason}", "Correct it, or set WHENCE_KEYS to another file."
        ) from None
    return _parse(text, path)


def _parse(text: str, path: str) -> Mapping[str, str]:
    import yaml

    from whence.declare.yaml_text import load_yaml

    try:
        loaded: Any = load_yaml(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        # The text of the error shows the line, and with it perhaps a key.
        raise ParseError(f"{path}{line}: not YAML", "Write lines like NAME: value.") from None
    if not isinstance(loaded, dict | None):
        raise ParseError(f"{path} is not a mapping", "Write lines like OPENAI_API_KEY: sk-….")
    for at, (name, value) in enumerate((loaded or {}).items(), 1):
        if not (isinstance(name, str) and _VARIABLE.fullmatch(name)):
            # What stands in the place of a name may be a key, and is not shown.
            hint = "Use the names of the variables, such as OPENAI_API_KEY."
            raise ParseError(f"{path}: entry {at} has no name of a variable", hint)
        if not (isinstance(value, str) and value.strip()):
            raise ParseError(f"{path}: {name} is no text", "Write the key behind it, in quotes.")
    return {name: value.strip() for name, value in (loaded or {}).items()}
