"""A file as lines: LF, CRLF and CR alone each end one."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property

_ENDING = re.compile(r"(\r\n|\r|\n)")


class FileLines:
    """The lines of a text, with and without their endings."""

    def __init__(self, text: str) -> None:
        if "\r" in text:
            parts = _ENDING.split(text)
            keys, endings = parts[::2], parts[1::2]
            # `Counter` keeps the order of the file, so the first of two equals wins.
            self.ending = Counter(endings).most_common(1)[0][0]
        else:
            keys, endings, self.ending = text.split("\n"), None, "\n"
        self.is_terminated = not keys[-1]
        """Whether the last line has an ending; a file without lines counts as if it had."""
        if self.is_terminated:
            keys.pop()
        self.keys = keys
        """The lines without endings."""
        self._endings = endings

    @cached_property
    def pieces(self) -> list[str]:
        """The lines with endings; one that is missing is there all the same."""
        if self._endings is None:
            return [key + "\n" for key in self.keys]
        endings = self._endings if self.is_terminated else [*self._endings, self.ending]
        return [key + ending for key, ending in zip(self.keys, endings, strict=True)]

    def joined(self, pieces: list[str]) -> str:
        """Pieces as a text that ends as this one does."""
        if not self.is_terminated and pieces:
            pieces[-1] = pieces[-1].removesuffix("\n").removesuffix("\r")
        return "".join(pieces)
