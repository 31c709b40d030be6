"""The headers of a diff: names with their prefixes, timestamps and quotes, and git's own lines."""

from __future__ import annotations

import re
from dataclasses import dataclass

from whence.work.edits.unified.text import FENCE, DiffText

NOWHERE = "/dev/null"

_ESCAPE = re.compile(r'((?:\\[0-7]{1,3})+)|\\([abtnvfr"\\])')
_LETTERS = dict(zip('abtnvfr"\\', '\a\b\t\n\v\f\r"\\', strict=True))
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_NEEDS_QUOTES = re.compile('[\x00-\x1f"\\\\\x7f\ud800-\udfff]')
_PREFIXES = frozenset("abciow12")


@dataclass(slots=True)
class Headers:
    """What stands above the first hunk."""

    pair: tuple[str, str] | None = None
    """The names of the `---` and `+++` lines."""
    pair_at: int = 0
    git: tuple[str, str] | None = None
    """The names of `diff --git`, or of a rename."""
    git_at: int | None = None
    created: bool = False
    deleted: bool = False
    moved: bool = False

    def paths(self) -> tuple[str | None, str | None]:
        """Old and new path, without git's prefixes; None: `/dev/null`, or not said."""
        if self.pair:
            return _without_prefixes(*self.pair)
        if self.git is None or self.moved:
            return self.git or (None, None)
        return _without_prefixes(*self.git)


def read_headers(text: DiffText) -> tuple[Headers, int]:
    """The headers, and where the first hunk begins. Other lines above it are ignored."""
    headers, at = Headers(), 0
    while at < len(text.lines) and not text.lines[at].startswith("@@"):
        if text.is_file_header(at):
            if headers.pair:
                text.refuse_second_file(at)
            headers.pair, headers.pair_at = _pair(text, at), at
            at += 2
            continue
        line = text.lines[at].rstrip()
        if headers.pair and line and not text.closes_fence(at):
            text.refuse(at, "stands between the file header and the first @@ line")
        _read_line(headers, text, at, line)
        at += 1
    return headers, at


def quoted(name: str) -> str:
    """A name as a header holds it."""
    if not _NEEDS_QUOTES.search(name):
        return name + "\t" if " " in name else name
    return '"' + "".join(map(_escaped, name)) + '"'


def _pair(text: DiffText, at: int) -> tuple[str, str]:
    old, new = (text.lines[side][4:].rstrip("\r") for side in (at, at + 1))
    return _name(old), _name(new)


def _read_line(headers: Headers, text: DiffText, at: int, line: str) -> None:
    fence = FENCE.fullmatch(line)
    if fence:
        text.fence = fence[1]
    elif line.startswith("diff --git "):
        if headers.git_at is not None:
            text.refuse_second_file(at)
        headers.git_at, headers.git = at, _git_names(line[11:])
    elif headers.git_at is not None:
        _read_extended(headers, text, at, line)


def _read_extended(headers: Headers, text: DiffText, at: int, line: str) -> None:
    if line.startswith("new file mode"):
        headers.created = True
    elif line.startswith("deleted file mode"):
        headers.deleted = True
    elif line.startswith(("rename from ", "copy from ")):
        headers.git = _name(line.split(" ", 2)[2]), (headers.git or ("", ""))[1]
        headers.moved = True
    elif line.startswith(("rename to ", "copy to ")):
        headers.git = (headers.git or ("", ""))[0], _name(line.split(" ", 2)[2])
    elif line.startswith(("GIT binary patch", "Binary files ")):
        text.refuse(at, "is about a binary file, and only text can be patched")


def _name(rest: str) -> str:
    quoted = _QUOTED.match(rest)
    if quoted:
        return _unquoted(quoted[1])
    name, tab, _ = rest.partition("\t")
    return name if tab else name.rstrip()


def _git_names(rest: str) -> tuple[str, str] | None:
    quoted = _QUOTED.findall(rest)
    if len(quoted) == 2:
        return _unquoted(quoted[0]), _unquoted(quoted[1])
    rest = rest.rstrip()
    middle = len(rest) // 2
    old, new = rest[:middle], rest[middle + 1 :]
    if rest[middle : middle + 1] == " " and old[1:] == new[1:]:
        return old, new
    return None


def _without_prefixes(old: str, new: str) -> tuple[str | None, str | None]:
    if NOWHERE in {old, new}:
        return _path(old), _path(new)
    pair = old[:1] + new[:1]
    marked = old[1:2] == new[1:2] == "/" and pair[0] != pair[1] and _PREFIXES.issuperset(pair)
    return (old[2:], new[2:]) if marked else (old, new)


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if " " <= char <= "~":
        return char
    undecoded = "\udc80" <= char <= "\udcff"
    raw = bytes([ord(char) & 255]) if undecoded else char.encode("utf-8", "surrogatepass")
    return "".join(f"\\{byte:03o}" for byte in raw)


def _path(name: str) -> str | None:
    if name == NOWHERE:
        return None
    return name[2:] if name[:2] in ("a/", "b/") else name


def _unquoted(inner: str) -> str:
    return _ESCAPE.sub(_plain, inner)


def _plain(escape: re.Match[str]) -> str:
    if escape[2]:
        return _LETTERS[escape[2]]
    raw = bytes(int(octal, 8) & 255 for octal in escape[1].split("\\")[1:])
    return raw.decode("utf-8", "surrogateescape")
