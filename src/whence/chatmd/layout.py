"""The canonical layout of an agent file: tags written one way, one blank line between blocks.

Text is never touched: only opening tags and the white space between top-level elements change, and
what comes out means exactly what went in.
"""

from __future__ import annotations

from whence.chatmd.grammar import DECLARATIONS, ELEMENTS
from whence.chatmd.parse import parse
from whence.chatmd.render import escape
from whence.chatmd.scan import to_bytes
from whence.errors import ParseError
from whence.shapes.document import Comment, Document, Element, Node, Stray


def layout(source: bytes) -> bytes:
    """The file in canonical layout.

    Raises:
        ParseError: it has errors; a file that is not understood is not rewritten.
    """
    document = parse(source)
    if document.errors:
        first = document.errors[0]
        raise ParseError(
            f"line {first.line}, column {first.column}: {first.message}",
            "Correct the errors first; `whence check` lists them.",
        )
    eol = b"\r\n" if b"\r\n" in source[:4096] else b"\n"
    mark = b"\xef\xbb\xbf" if source.startswith(b"\xef\xbb\xbf") else b""
    out = mark + _joined(document, eol)
    if not _same(document, parse(out)):
        raise ParseError("this file cannot be laid out without changing it", "Leave it as it is.")
    return out


def _joined(document: Document, eol: bytes) -> bytes:
    out: list[bytes] = []
    before: Node | None = None
    for node in document.nodes:
        if before is not None:
            out.append(eol if _belong_together(before, node) else eol * 2)
        out.append(_written(document.source, node))
        before = node
    return b"".join(out) + (eol if out else b"")


def _belong_together(one: Node, other: Node) -> bool:
    """Declarations of one kind, and a comment and what it comments, stand close."""
    if isinstance(one, Comment):
        return True
    if isinstance(one, Element) and isinstance(other, Element):
        return one.tag == other.tag and one.tag in DECLARATIONS
    return False


def _written(source: bytes, node: Node) -> bytes:
    if not isinstance(node, Element):
        return source[node.span.start : node.span.end]
    opening = _opening(node)
    if node.body is None:
        return opening + b"/>"
    body = source[node.body.start : node.body.end]
    if ELEMENTS[node.tag].void or (node.tag == "tool" and not node.parts):
        return opening + b"/>"
    return opening + b">" + body + to_bytes(f"</{node.tag}>")


def _opening(element: Element) -> bytes:
    words = [f"<{element.tag}"]
    for name, value in element.attributes.items():
        words.append(name if value is None else f'{name}="{escape(value)}"')
    return to_bytes(" ".join(words))


def _same(one: Document, other: Document) -> bool:
    mine = [node for node in one.nodes if not isinstance(node, Stray)]
    return mine == [node for node in other.nodes if not isinstance(node, Stray)]
