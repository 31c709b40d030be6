"""How long and for whom pages are kept."""

from __future__ import annotations

from whence.shapes.web import PUBLIC, HostPolicy
from whence.work.web.cache import Page, PageCache, page_key

PAGE = Page("# a", "A", "https://example.org/a", ("careful",))


class Clock:
    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


def test_a_page_lives_for_its_time() -> None:
    clock = Clock()
    cache = PageCache(ttl_s=300, now=clock)
    cache.put("k", PAGE)
    clock.at += 299.9
    assert cache.get("k") == PAGE
    clock.at += 0.2
    assert cache.get("k") is None


def test_the_page_used_longest_ago_goes_first() -> None:
    cache = PageCache(entries=2)
    cache.put("a", PAGE)
    cache.put("b", PAGE)
    cache.get("a")
    cache.put("c", PAGE)

    assert [key for key in "abc" if cache.get(key)] == ["a", "c"]


def test_pages_are_kept_apart_by_address_form_and_policy() -> None:
    narrow = HostPolicy(hosts=("example.org",))
    keys = {
        page_key("https://a/", PUBLIC, "markdown"),
        page_key("https://a/#L1", PUBLIC, "markdown"),
        page_key("https://a/", PUBLIC, "text"),
        page_key("https://a/", narrow, "markdown"),
        page_key("https://a/", HostPolicy(networks=("10.0.0.0/8",)), "markdown"),
    }

    assert len(keys) == 5
    assert page_key("https://a/", HostPolicy(hosts=("x", "y")), "text") == page_key(
        "https://a/", HostPolicy(hosts=("y", "x")), "text"
    )
