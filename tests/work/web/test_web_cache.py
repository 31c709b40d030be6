"""How long and for whom pages are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from whence.shapes.web import PUBLIC, HostPolicy
from whence.work.web.cache import Page, PageCache, page_key

PAGE = Page("# a", "A", "https://example.org/a", ("careful",))


class Clock:
    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


@pytest.mark.parametrize("kept_on_disk", [False, True])
def test_a_page_lives_for_its_time(tmp_path: Path, kept_on_disk: bool) -> None:
    clock = Clock()
    cache = PageCache(ttl_s=300, now=clock, directory=tmp_path if kept_on_disk else None)
    cache.put("k", PAGE)
    clock.at += 299.9
    assert cache.get("k") == PAGE
    clock.at += 0.2
    assert cache.get("k") is None
    assert list(tmp_path.iterdir()) == []


def test_the_page_used_longest_ago_goes_first() -> None:
    cache = PageCache(entries=2)
    cache.put("a", PAGE)
    cache.put("b", PAGE)
    cache.get("a")
    cache.put("c", PAGE)

    assert [key for key in "abc" if cache.get(key)] == ["a", "c"]


def test_another_process_finds_the_page_in_the_directory(tmp_path: Path) -> None:
    PageCache(directory=tmp_path / "deep" / "er").put("k", PAGE)

    assert PageCache(directory=tmp_path / "deep" / "er").get("k") == PAGE
    assert PageCache(directory=tmp_path / "other").get("k") is None


def test_a_page_that_another_process_fetched_anew_is_found(tmp_path: Path) -> None:
    clock = Clock()
    mine, theirs = (PageCache(directory=tmp_path, now=clock) for _ in range(2))
    mine.put("k", PAGE)
    clock.at += 400
    theirs.put("k", PAGE)

    assert mine.get("k") == PAGE


@pytest.mark.parametrize(
    "junk", [b"", b"{", b"[]", b'{"at": 1}', b'{"at": "x", "page": {}}', b"\xff\xfe", b"null"]
)
def test_a_damaged_entry_is_as_good_as_none(tmp_path: Path, junk: bytes) -> None:
    (tmp_path / "k").write_bytes(junk)

    assert PageCache(directory=tmp_path).get("k") is None


def test_a_directory_that_cannot_be_used_is_done_without(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    cache = PageCache(directory=blocked)
    cache.put("k", PAGE)

    assert cache.get("k") == PAGE


def test_pages_are_kept_apart_by_address_form_and_policy() -> None:
    narrow = HostPolicy(hosts=("example.org",))
    keys = {
        page_key("https://a/", PUBLIC),
        page_key("https://a/#L1", PUBLIC),
        page_key("https://a/", PUBLIC, "text"),
        page_key("https://a/", narrow),
        page_key("https://a/", HostPolicy(networks=("10.0.0.0/8",))),
        page_key("https://a/", HostPolicy(proxy=True)),
    }

    assert len(keys) == 6
    assert page_key("https://a/", HostPolicy(hosts=("x", "y"))) == page_key(
        "https://a/", HostPolicy(hosts=("y", "x"))
    )
