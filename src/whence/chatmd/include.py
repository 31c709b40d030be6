"""Imports: a file in the place of the element that names it, and where each byte came from.

At the top level the imported file is ChatMD, and its elements stand there as if they had been
written there. Inside a message it may be ChatMD, of whose messages the words and documents are
taken, or plain text, which stays text, whatever it looks like. Reading files is the caller's: this
module is handed a function for it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from whence.chatmd.parse import parse
from whence.chatmd.scan import to_bytes, to_text
from whence.errors import WhenceError
from whence.shapes.dataclass import dataclass
from whence.shapes.document import (
    STRAY,
    Diagnostic,
    Document,
    Element,
    Severity,
    Span,
    places,
)

DEEPEST = 32
"""How deep imports may nest."""
LARGEST = 64_000_000
"""Bytes of a file with all its imports."""

_BOM = b"\xef\xbb\xbf"
_MESSAGES = frozenset({"msg", "user", "system", "developer", "assistant"})
_CONTENT = frozenset({"doc", "img", "agent", "import"})

ReadFile: TypeAlias = Callable[[str, str], tuple[str, bytes]]
"""`(src, importing file)` → the file's own path and its bytes. Raises WhenceError."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the expanded text, and the file that it came from."""

    start: int
    path: str
    offset: int


@dataclass(frozen=True, slots=True)
class Located:
    """A diagnostic and the file that it is about."""

    path: str
    diagnostic: Diagnostic


@dataclass(frozen=True, slots=True)
class Expanded:
    """A document with its imports in place."""

    path: str
    document: Document
    pieces: tuple[Piece, ...]
    problems: tuple[Located, ...]
    """What was wrong with the imports themselves."""
    sources: dict[str, bytes]
    """Every file that was read, by its path."""

    def origin(self, offset: int) -> tuple[str, int]:
        """The file, and the offset there, of a byte of the expanded text."""
        at = bisect_right(self.pieces, offset, key=lambda piece: piece.start) - 1
        piece = self.pieces[max(at, 0)]
        return piece.path, offset - piece.start + piece.offset

    def diagnostics(self, more: Iterable[Diagnostic] = ()) -> list[Located]:
        """Every problem of the file and of what it imports, each where a person finds it."""
        found = [self._moved(diagnostic) for diagnostic in (*self.document.diagnostics, *more)]
        return [*self.problems, *found]

    def _moved(self, diagnostic: Diagnostic) -> Located:
        path, offset = self.origin(diagnostic.span.start)
        if len(self.pieces) == 1:
            return Located(path, diagnostic)
        length = diagnostic.span.end - diagnostic.span.start
        return Located(path, _placed(self.sources[path], Span(offset, offset + length), diagnostic))


def expand(source: bytes, path: str, read: ReadFile, known_as: str | None = None) -> Expanded:
    """The document with every import replaced by what it names.

    `known_as` is the name under which `read` would give the file itself, where it is another.
    """
    expander = _Expander(read, {path: source}, known_as or path)
    expander.file(source, path, (path,), "")
    text = b"".join(expander.out)
    document = parse(text)
    pieces = tuple(expander.pieces) or (Piece(0, path, 0),)
    return Expanded(path, document, pieces, tuple(expander.problems), expander.sources)


class _Expander:
    """Writes the expanded text, one stretch after the other."""

    def __init__(self, read: ReadFile, sources: dict[str, bytes], root: str) -> None:
        self.read = read
        self.sources = sources
        self.root = root
        self.out: list[bytes] = []
        self.size = 0
        self.pieces: list[Piece] = []
        self.problems: list[Located] = []
        self.namespaces: set[str] = set()

    def file(self, source: bytes, path: str, within: tuple[str, ...], namespace: str) -> None:
        """A ChatMD file, its imports expanded."""
        everything = [Span(0, len(source))]
        self._stretches(source, path, within, namespace, everything, in_message=False)

    def _stretches(
        self,
        source: bytes,
        path: str,
        within: tuple[str, ...],
        namespace: str,
        stretches: Iterable[Span],
        *,
        in_message: bool,
    ) -> None:
        found = list(_imports(source, namespace))
        starts = [element.span.start for element, _ in found]
        for number, (at, last) in enumerate(stretches):
            if number:
                self.copy(b"\n", path, at)
            for element, is_inside in found[bisect_left(starts, at) : bisect_left(starts, last)]:
                start, end = element.span
                self.copy(source[at:start], path, at)
                at = end  # noqa: PLW2901 - how far it is copied
                if element.tag == "import":
                    inside = in_message or is_inside
                    self.imported(element, path, within, in_message=inside, namespace=namespace)
                else:
                    self.copy(_renamed(source[start:end], element, namespace), path, start)
            self.copy(source[at:last], path, at)

    def imported(
        self,
        element: Element,
        path: str,
        within: tuple[str, ...],
        *,
        in_message: bool,
        namespace: str,
    ) -> None:
        """What one `<import>` stands for; a problem leaves nothing in its place."""
        src = element.get("src")
        if not src:
            said = "This import names no file."
            self.problem(path, element, "unreadable-import", said, 'Write src="…".')
            return
        try:
            found, content = self.read(src, path)
        except WhenceError as error:
            self.problem(path, element, "unreadable-import", error.message, error.suggestion)
            return
        below = self._namespace(element, path, namespace)
        if found in (*within, self.root):
            chain = " → ".join((*within, found))
            self.problem(
                path,
                element,
                "import-cycle",
                f"The import leads back: {chain}.",
                "Break the circle.",
            )
        elif len(within) >= DEEPEST or self.size + len(content) > LARGEST:
            self.problem(
                path, element, "import-too-deep",
                f"Imports nest more than {DEEPEST} deep, or come to over {LARGEST} bytes.",
                "Import less, or write the text where it is needed.",
            )  # fmt: skip
        else:
            self.sources.setdefault(found, content)
            if not in_message:
                text = content.removeprefix(_BOM)
                self.file(text, found, (*within, found), below)
            elif _is_chatmd(content):
                self._words(element, path, content.removeprefix(_BOM), found, within, below)
            else:
                from whence.chatmd.render import raw

                self.copy(to_bytes(raw(to_text(content))), found, 0)

    def _words(
        self,
        element: Element,
        path: str,
        content: bytes,
        found: str,
        within: tuple[str, ...],
        namespace: str,
    ) -> None:
        """Of a ChatMD file what can stand in a message: words, documents, pictures, agents."""
        stretches: list[Span] = []
        for node in parse(content).nodes:
            if not isinstance(node, Element):
                continue
            if node.tag in _MESSAGES:
                stretches += [node.body] if node.body else ()
            elif node.tag in _CONTENT:
                stretches.append(node.span)
            else:
                said = f"<{node.tag}> of {found} cannot stand in a message."
                hint = "Import the file outside of it."
                self.problem(path, element, "unreadable-import", said, hint)
        self._stretches(content, found, (*within, found), namespace, stretches, in_message=True)

    def _namespace(self, element: Element, path: str, outer: str) -> str:
        own = element.get("namespace")
        if own is None:
            return outer
        name = f"{outer}{own}:"
        if not own.replace("_", "").replace("-", "").isalnum():
            self.problem(
                path, element, "bad-namespace", f"{own!r} cannot be a namespace.",
                "Use letters, digits, `_` and `-`.",
            )  # fmt: skip
        elif name in self.namespaces:
            self.problem(
                path, element, "duplicate-namespace", f"The namespace {own!r} is used twice.",
                "Give each import a namespace of its own.",
            )  # fmt: skip
        self.namespaces.add(name)
        return name

    def copy(self, text: bytes, path: str, offset: int) -> None:
        """Add a stretch of one file."""
        if text:
            self.pieces.append(Piece(self.size, path, offset))
            self.out.append(text)
            self.size += len(text)

    def problem(self, path: str, element: Element, code: str, said: str, suggestion: str) -> None:
        """Remember what is wrong with an import, where it stands."""
        blank = Diagnostic(Severity.ERROR, code, said, suggestion, element.span, 0, 0, "")
        self.problems.append(Located(path, _placed(self.sources[path], element.span, blank)))


def _imports(source: bytes, namespace: str) -> Iterator[tuple[Element, bool]]:
    """Every import in order, and whether it is in a message; under a namespace, scripts too."""
    if not namespace and b"<import" not in source:
        return
    wanted = ("import", "script") if namespace else ("import",)
    for element in parse(source).tagged(*wanted, "msg", "user", "system", "developer"):
        if element.tag in wanted:
            yield element, False
        else:
            yield from ((child, True) for child in _below(element) if child.tag == "import")


def _below(element: Element) -> Iterator[Element]:
    for child in element.children:
        yield child
        yield from _below(child)


def _is_chatmd(content: bytes) -> bool:
    """Whether a file is made of elements; prose that happens to hold a tag is not."""
    document = parse(content)
    return len(document.nodes) > 0 and not any(True for _ in document.nodes.where(STRAY))


def _renamed(source: bytes, element: Element, namespace: str) -> bytes:
    name = element.get("id")
    if name is None:
        return source
    from whence.chatmd.render import escape

    old = to_bytes(f'"{escape(name)}"')
    return source.replace(old, to_bytes(f'"{escape(namespace + name)}"'), 1)


def _placed(source: bytes, span: Span, diagnostic: Diagnostic) -> Diagnostic:
    line, column, text = next(places(source, (span.start,)))
    return Diagnostic(
        diagnostic.severity, diagnostic.code, diagnostic.message, diagnostic.suggestion,
        span, line, column, text,
    )  # fmt: skip
