"""A question, as the person who is to answer it must see it."""

from __future__ import annotations

import msgspec

from whence.shapes.approval import Question
from whence.shapes.glyph import visible, visible_lines

_ONE_SCREEN = 1_500
"""Characters of a question that a person surely sees at once."""


def shown(question: Question) -> list[str]:
    """What a person must see before answering; nothing in it can steer the terminal.

    Words of a model stand behind a label or a bar, so that they cannot pass for the question.
    """
    arguments = msgspec.json.encode(question.arguments).decode()
    lines = [visible(f"{question.tool} {arguments}")]
    lines += [f"  runs:   │ {line}" for line in visible_lines(question.command or "")]
    lines += [f"  why:    {visible(question.why)}", f"  asking: {visible(question.reason)}"]
    lines += [f"          │ {line}" for line in visible_lines(question.difference)]
    if question.rule:
        lines.append(f"  rule:   {visible(question.rule)}")
    size = sum(map(len, lines))
    if size > _ONE_SCREEN:
        lines.append(f"  note:   this question has {size} characters; read it from its beginning")
    return lines
