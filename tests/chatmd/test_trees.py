"""Any tree becomes text and the same tree again."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from tests.chatmd.trees import trees
from whence.chatmd.parse import parse
from whence.chatmd.render import render_element
from whence.shapes.document import Element, Node


@given(trees)
@settings(
    max_examples=1000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_any_tree_is_written_and_read_as_the_same_tree(nodes: list[Node]) -> None:
    assert list(parse("".join(map(written, nodes))).nodes) == nodes


def written(node: Node) -> str:
    text = render_element(node) if isinstance(node, Element) else f"<!--{node.text}-->"
    return text + "\n"
