"""Values to text that reads back as the same values.

Text goes into RAW blocks. What could not stay whole in one (a RAW marker, control characters, much
of it) becomes a payload: a file that stands beside the transcript and that the text names. Nothing
is written here; `append` does that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from whence.chatmd.grammar import ELEMENTS, ROLES
from whence.chatmd.scan import to_bytes
from whence.chatmd.suggest import closest, shown
from whence.errors import InvalidArgs
from whence.shapes.dataclass import dataclass
from whence.shapes.document import Element, Part, Text

INLINE_BYTES = 65_536
"""A longer text is stored beside the file."""

PAYLOADS = "./.chatmd/"
"""Where payloads are, as seen from the transcript."""

_ATTRIBUTE_NAME = re.compile(r"[A-Za-z0-9_:-]+\Z")
# No RAW marker even here: the end of a file is told from its markers alone.
_ESCAPED = re.compile(r"[&<>\"\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]|\\\Z|\|(?=RAW)|(?<=RAW)\|")
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_MARKERS = re.compile(r"<|RAW\||\|RAW|\ARAW")
_HAZARD = re.compile(r"RAW\||\|RAW|\ARAW|[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
# Cuts through every marker, so that no block contains one.
_CUT = re.compile(r"(?:(?<=\|R)|(?<=\AR))(?=AW)|(?<=RA)(?=W\|)")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
SUFFIXES = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/bmp": "bmp",
    "image/svg+xml": "svg",
}


@dataclass(frozen=True, slots=True)
class Payload:
    """A file that belongs to a transcript."""

    path: str
    """As the transcript names it, e.g. `./.chatmd/call_1.tool-call.3f2a….json`."""
    data: bytes


@dataclass(frozen=True, slots=True)
class Rendered:
    """Text for a transcript, and the payloads that must be there before it."""

    text: bytes
    payloads: tuple[Payload, ...] = ()

    def __add__(self, other: Rendered) -> Rendered:
        return Rendered(self.text + other.text, self.payloads + other.payloads)


@dataclass(frozen=True, slots=True)
class Picture:
    """An image in a message or a response."""

    data: bytes
    media_type: str = "image/png"


Content: TypeAlias = "str | Sequence[str | Picture | Element]"


def render_message(  # noqa: PLR0913 - the attributes of the element, by name
    role: str,
    content: Content,
    *,
    id: str | None = None,
    status: str | None = None,
    phase: str | None = None,
    name: str | None = None,
    type: str | None = None,
    native: str | None = None,
) -> Rendered:
    """A message: text, images and elements such as `<doc>`, in one element of its role."""
    if role not in ROLES:
        near = closest(role, ROLES)
        hint = f"Did you mean {near}?" if near else f"Use one of: {', '.join(ROLES)}."
        raise InvalidArgs(f"There is no role {shown(role)}.", hint)
    names = _Names(id or role, role, "txt")
    attributes = {
        "id": id, "status": status, "phase": phase, "name": name, "type": type, "native": native
    }  # fmt: skip
    return _element(role, attributes, content, names, inline=True)


def render_tool_call(  # noqa: PLR0913 - the attributes of the element, by name
    id: str,
    name: str,
    arguments: str,
    *,
    item_id: str | None = None,
    custom: bool = False,
    inline: bool = True,
    native: str | None = None,
) -> Rendered:
    """A call; its arguments are stored beside the file unless `inline` (`show_tool_call`)."""
    attributes = {
        "type": "custom_tool_call" if custom else None,
        "tool_call_id": id,
        "function_name": name,
        "id": item_id,
        "native": native,
    }
    names = _Names(id, "tool-call", "txt" if custom else "json")
    return _element("tool_call", attributes, arguments, names, inline=inline)


def render_tool_response(  # noqa: PLR0913 - the attributes of the element, by name
    id: str,
    content: Content,
    *,
    item_id: str | None = None,
    custom: bool = False,
    inline: bool = True,
    status: str | None = None,
    native: str | None = None,
) -> Rendered:
    """What came of a call; stored beside the file unless `inline`. Images are always stored."""
    attributes = {
        "type": "custom_tool_call" if custom else None,
        "tool_call_id": id,
        "id": item_id,
        "status": status,
        "native": native,
    }
    names = _Names(id, "tool-call-result", "txt")
    return _element("tool_response", attributes, content, names, inline=inline)


def render_reasoning(  # noqa: PLR0913 - the attributes of the element, by name
    id: str | None,
    summaries: Iterable[str],
    *,
    texts: Iterable[str] = (),
    encrypted: str | None = None,
    status: str | None = None,
    protocol: str | None = None,
    native: str | None = None,
) -> Rendered:
    """What a model thought: summaries, and the thoughts themselves where they are shown."""
    attributes = {
        "id": id, "status": status, "encrypted": encrypted, "protocol": protocol, "native": native
    }  # fmt: skip
    opening = _tag("reasoning", attributes)
    shown = [("summary_text", text) for text in summaries]
    shown += [("reasoning_text", text) for text in texts]
    inside = "".join(f'<summary type="{kind}">\n{raw(text)}\n</summary>\n' for kind, text in shown)
    return Rendered(to_bytes(f"{opening}>\n{inside}</reasoning>\n"))


def render_element(element: Element) -> str:
    """One element with everything inside it, in one text.

    Raises:
        InvalidArgs: The element could not be read back, e.g. because of a tag that is unknown.
    """
    rule = ELEMENTS.get(element.tag)
    if rule is None:
        raise InvalidArgs(f"There is no element <{shown(element.tag)}>.", "Use a known one.")
    opening = _tag(element.tag, element.attributes, flags=True)
    if rule.void and element.parts:
        raise InvalidArgs(f"<{element.tag}> has no body.", "Leave its parts empty.")
    if not element.parts and (rule.void or element.tag in ("tool", "agent", "script", "output")):
        return f"{opening}/>"
    inside = "".join(_part(part, element.tag) for part in element.parts)
    return f"{opening}>{inside}</{element.tag}>"


def raw(text: str) -> str:
    """Text in RAW blocks; a marker inside it is cut in two, and reads back whole."""
    return "\n".join(f"RAW|{piece}|RAW" for piece in _CUT.split(text))


def escape(value: str) -> str:
    """The value of an attribute as it stands between double quotes."""
    return _ESCAPED.sub(lambda found: _entity(found.group()), value)


def _entity(character: str) -> str:
    return _NAMED.get(character) or f"&#x{ord(character):X};"


def _tag(tag: str, attributes: Mapping[str, str | None], *, flags: bool = False) -> str:
    """An opening tag without its end; None is a name alone or, without flags, nothing."""
    written = [f"<{tag}"]
    for name, value in attributes.items():
        if not _ATTRIBUTE_NAME.match(name):
            raise InvalidArgs(
                f"{shown(name)} cannot be the name of an attribute.",
                "Use letters, digits, `_`, `-` and `:`.",
            )
        if value is not None:
            written.append(f'{name}="{escape(value)}"')
        elif flags:
            written.append(name)
    return " ".join(written)


def _part(part: Part, around: str) -> str:
    if isinstance(part, Text):
        return raw(part.text) if _MARKERS.search(part.text) else part.text
    if part.tag not in ELEMENTS[around].children:
        raise InvalidArgs(
            f"<{shown(part.tag)}> inside <{around}> would be read as text.",
            f"Inside are only: {' '.join(sorted(ELEMENTS[around].children)) or 'text'}.",
        )
    return render_element(part)


@dataclass(frozen=True, slots=True)
class _Names:
    """How the payloads of one element are called: whose, what, which, and in what form."""

    owner: str
    kind: str
    suffix: str

    def payload(self, data: bytes, kind: str | None = None, suffix: str | None = None) -> Payload:
        from hashlib import sha256

        # It lets two transcripts share a folder, even if a provider repeats its ids.
        digest = sha256(data).hexdigest()[:16]
        owner = _UNSAFE.sub("_", self.owner)[:64] or "unnamed"
        name = f"{owner}.{kind or self.kind}.{digest}.{suffix or self.suffix}"
        return Payload(PAYLOADS + name, data)


def _element(
    tag: str,
    attributes: Mapping[str, str | None],
    content: Content,
    names: _Names,
    *,
    inline: bool,
) -> Rendered:
    opening = _tag(tag, attributes)
    if isinstance(content, str) and inline and _stays(content):
        return Rendered(to_bytes(f"{opening}>\n{raw(content)}\n</{tag}>\n"))
    inside, payloads = _pieces(
        [content] if isinstance(content, str) else content, tag, names, inline
    )
    return Rendered(to_bytes(f"{opening}>{inside}</{tag}>\n"), payloads)


def _stays(text: str) -> bool:
    return (
        len(text) <= INLINE_BYTES
        and not _HAZARD.search(text)
        and len(to_bytes(text)) <= INLINE_BYTES
    )


def _pieces(
    content: Iterable[str | Picture | Element], tag: str, names: _Names, inline: bool
) -> tuple[str, tuple[Payload, ...]]:
    """Several parts; of two texts in a row the second is stored, or they would be read as one."""
    written: list[str] = []
    payloads: list[Payload] = []
    after_text = False
    for piece in content:
        is_text = isinstance(piece, str)
        if isinstance(piece, Element):
            written.append(_part(piece, tag))
        elif isinstance(piece, str) and inline and not after_text and _stays(piece):
            written.append(raw(piece))
        else:
            payload = _payload(piece, names)
            payloads.append(payload)
            name = "doc" if is_text else "img"
            written.append(f'<{name} src="{escape(payload.path)}" local/>')
            is_text = False
        after_text = is_text
    return "".join(written), tuple(payloads)


def _payload(piece: str | Picture, names: _Names) -> Payload:
    if isinstance(piece, str):
        return names.payload(to_bytes(piece))
    suffix = SUFFIXES.get(piece.media_type)
    if suffix is None:
        raise InvalidArgs(
            f"{shown(piece.media_type)} is not a kind of image that can be stored.",
            f"Use one of: {', '.join(SUFFIXES)}.",
        )
    return names.payload(piece.data, "image", suffix)
