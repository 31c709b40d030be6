"""Files on GitHub: taken from the raw host, cut to the lines that the address names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from whence.errors import InvalidArgs
from whence.work.web.fence import fenced
from whence.work.web.markdown import Converted

_LINES = re.compile(r"L(\d{1,9})(?:C\d+)?(?:-L?(\d{1,9})(?:C\d+)?)?")
_MARKDOWN = frozenset({"md", "markdown", "mdown", "mkdn"})
_LANGUAGES = {
    "py": "python", "pyi": "python", "ml": "ocaml", "mli": "ocaml", "js": "javascript",
    "mjs": "javascript", "ts": "typescript", "rs": "rust", "rb": "ruby", "sh": "bash",
    "yml": "yaml", "h": "c", "cc": "cpp", "hpp": "cpp", "cs": "csharp", "kt": "kotlin",
    "hs": "haskell", "ex": "elixir", "pl": "perl", "tex": "latex",
}  # fmt: skip
_HOSTS = frozenset({"github.com", "www.github.com"})


@dataclass(frozen=True, slots=True)
class Blob:
    """A file in a repository, and which of its lines are wanted."""

    raw_url: str
    name: str
    first: int | None = None
    last: int | None = None


def blob_of(url: str) -> Blob | None:
    """The file that `https://github.com/OWNER/REPO/blob/REF/PATH` shows; None for other pages.

    The fragments `#L10`, `#L10-L80`, `#L10-80` and `#L10C1-L20C5` name lines, whole ones.
    """
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or parts.netloc.lower() not in _HOSTS:
        return None
    names = parts.path.strip("/").split("/", 3)
    if len(names) < 4 or names[2] != "blob" or "/" not in names[3]:
        return None
    owner, repository, _, rest = names
    raw_url = f"https://raw.githubusercontent.com/{owner}/{repository}/{rest}"
    name = unquote(rest.rpartition("/")[2])
    found = _LINES.fullmatch(parts.fragment)
    if found is None:
        return Blob(raw_url, name)
    ends = sorted((int(found[1]), int(found[2] or found[1])))
    return Blob(raw_url, name, max(ends[0], 1), max(ends[1], 1))


def shown(blob: Blob, text: str) -> Converted:
    """The wanted lines, numbered and in a fence with the language; Markdown files as they are.

    Raises:
        InvalidArgs: The file ends before the first wanted line.
    """
    lines = text.removesuffix("\n").split("\n") if text else []
    first, last = blob.first or 1, blob.last or len(lines)
    if blob.first is not None and first > len(lines):
        raise InvalidArgs(
            f"{blob.name} has {len(lines)} lines, and line {first} was asked for",
            "Ask for lines that exist, or leave the fragment out to see all of them.",
        )
    wanted = [line.removesuffix("\r") for line in lines[first - 1 : last]]
    warnings = (f"{blob.name} ends at line {len(lines)}.",) if last > len(lines) else ()
    suffix = blob.name.rpartition(".")[2].lower() if "." in blob.name else ""
    if suffix in _MARKDOWN:
        return Converted("\n".join(wanted), blob.name, warnings)
    numbered = "\n".join(f"{number}. {line}" for number, line in enumerate(wanted, first))
    return Converted(fenced(numbered, _LANGUAGES.get(suffix, suffix)), blob.name, warnings)
