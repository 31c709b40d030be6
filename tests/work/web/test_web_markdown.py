"""HTML to Markdown: good pages, bad pages and pages made to hurt."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.errors import QuotaExceeded, Unavailable
from whence.work.web import markdown as module
from whence.work.web.guard import tangle
from whence.work.web.markdown import to_markdown


def md(html: str, url: str = "https://example.org/dir/page.html") -> str:
    converted = to_markdown(html, url=url)
    assert converted.warnings == ()
    return converted.markdown


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<h1>Title</h1><p>Text</p>", "# Title\n\nText"),
        ("<ul><li>one<li>two</ul>", "- one\n- two"),
        ("<code>a`b</code>", "``a`b``"),
        ('<a href="/x">a]b</a>', "[a\\]b](https://example.org/x)"),
        ("<ol start=3><li>c<li>d</ol>", "3. c\n4. d"),
        ("<ul><li>a<ul><li>b</ul></ul>", "- a\n  * b"),
        ("<p>a</p><hr><p>b</p>", "a\n\n---\n\nb"),
        ("<img src=i.png alt=pic>", "![pic](https://example.org/dir/i.png)"),
        ("<b>bold</b> and <i>it</i>", "**bold** and *it*"),
        ("<blockquote><p>q</blockquote>", "> q"),
        ("<p>a<br>b", "a  \nb"),
        ("<b>x<table><tr><th>a<tr><td>1</table></b>", "x\n\n| a |\n| --- |\n| 1 |"),
        ("<i><pre>code</pre></i>", "```\ncode\n```"),
    ],
)
def test_the_elements_of_a_text(html: str, expected: str) -> None:
    assert md(html) == expected


def test_a_list_item_keeps_its_paragraphs() -> None:
    assert md("<ol start=2><li><p>a</p><p>b</p><li>c</ol>") == "2. a\n\n   b\n\n3. c"


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("other.html?q=1#part", "https://example.org/dir/other.html?q=1#part"),
        ("../up", "https://example.org/up"),
        (" /blank\n", "https://example.org/blank"),
        ("\n https://other.test/", "https://other.test/"),
        ("//cdn.test/x", "https://cdn.test/x"),
        ("#here", "https://example.org/dir/page.html#here"),
        ("?next=2", "https://example.org/dir/page.html?next=2"),
        ("mailto:a@b.test", "mailto:a@b.test"),
    ],
)
def test_links_are_absolute(href: str, expected: str) -> None:
    assert md(f'<p><a href="{href}" title="tip">x</a>') == f"[x]({expected})"


def test_a_base_element_counts_also_when_it_stands_outside_of_the_content() -> None:
    html = '<head><base href="/b/"></head><body><main><a href=x>x</a></main>'

    assert md(html) == "[x](https://example.org/b/x)"


def test_a_link_that_runs_a_script_is_only_its_text() -> None:
    assert md('<p><a title=x href=" JavaScript:alert(1)">click <b>me</b></a>') == "click **me**"


def test_tables_have_equal_rows_and_escaped_bars() -> None:
    html = (
        "<table><tr><th>a|b<th>c</tr><tr><td>1<br>2<td><pre>x\ny</pre></tr>"
        "<tr><td rowspan=2>s<td></tr><tr><td>e</tr></table>"
    )

    rows = md(html).splitlines()

    assert rows[0] == "| a\\|b | c |"
    assert set(rows[1]) <= set("|- ")
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3}


def test_a_fence_is_longer_than_what_it_holds() -> None:
    assert md("<pre>```\ninner\n```</pre>") == "````\n```\ninner\n```\n````"


@pytest.mark.parametrize(
    "html",
    [
        '<div class="highlight-python notranslate"><div><pre><span>x</span>=1</pre></div></div>',
        '<div class="highlight highlight-source-python"><pre>x=1</pre></div>',
        '<pre class="language-python"><code>x=1</code></pre>',
        '<pre><code class="language-python">x=1</code></pre>',
        '<div class="language-python rouge"><div><pre><code>x=1</code></pre></div></div>',
        '<pre class="brush: python">x=1</pre>',
    ],
)
def test_the_language_of_code_is_found_wherever_the_highlighter_put_it(html: str) -> None:
    assert md(html) == "```python\nx=1\n```"


def test_code_without_a_language_has_none() -> None:
    assert md('<div class="highlight-default"><pre>x</pre></div>') == "```\nx\n```"


def test_only_the_content_is_kept() -> None:
    html = """<html><head><title> A
      title </title><style>p{}</style></head><body>
      <header><h1>Site</h1></header><nav>menu</nav><div role=navigation>crumbs</div>
      <main><article><header><h1>Story</h1></header>
      <p>Said <span hidden>no</span><span>it</span>.</p>
      <h2>Part<a class=headerlink href=#p>¶</a></h2><button>Buy</button><aside>ad</aside>
      <aside role="doc-footnote">note</aside><section><aside>box</aside></section>
      <svg><script>alert(1)</script><text>s</text></svg>
      <form><p>kept<input value=z></form><iframe src=x></iframe></article></main>
      <aside>more</aside><footer>imprint</footer><script>evil()</script></body></html>"""

    converted = to_markdown(html)

    assert converted.title == "A title"
    assert converted.markdown == "# Story\n\nSaid it.\n\n## Part\n\nnote\n\nbox\n\nkept"


def test_without_a_main_element_the_page_is_taken_without_its_frame() -> None:
    html = "<header>top</header><nav>menu</nav><h1>T</h1><p>text</p><footer>end</footer>"

    assert md(html) == "# T\n\ntext"


def test_several_articles_are_all_kept() -> None:
    assert md("<article><p>a</article><article><p>b</article>") == "a\n\nb"


def test_the_longest_of_several_main_elements_is_the_content() -> None:
    assert md("<main>x</main><main><p>the long one</main>") == "the long one"


def test_an_empty_main_element_gives_way_to_the_page() -> None:
    assert md("<main></main><div><p>text</div>") == "text"


def test_what_only_looks_like_surroundings_is_given_as_text() -> None:
    converted = to_markdown("<body aria-hidden=true><nav><p>all <b>there</b> is</nav>")

    assert converted.markdown == "all\nthere\nis"
    assert "without layout" in converted.warnings[0]


@pytest.mark.parametrize("html", ["", "<html></html>", "<div id=root></div><script>go()</script>"])
def test_a_page_without_text_says_so(html: str) -> None:
    converted = to_markdown(html)

    assert converted.markdown == ""
    assert "no text" in converted.warnings[0]


@pytest.mark.parametrize(
    ("html", "kept"),
    [
        ("<p>a<b>b<p>c</b>d", "c"),
        ("<table><p>x</table><td>y", "y"),
        ("<div><span>text</div></span></p>", "text"),
        ("text <unknown-tag>more", "more"),
        ("<p a='\">x", ""),
        ("<p>a < b && c > d", "a < b && c"),
        ("\0\0<p>nul\0</p>", "nul"),
        ("</body></html><p>after", "after"),
        ("<![CDATA[x]]><?php echo ?><p>y", "y"),
        ("<p>\ud800lone", "lone"),
        ("<html hidden><body><p>x", "x"),
    ],
)
def test_malformed_html_is_read_as_well_as_it_can_be(html: str, kept: str) -> None:
    assert kept in to_markdown(html).markdown


HOSTILE = {
    "30k nested divs": "<div>" * 30_000 + "hello" + "</div>" * 30_000,
    "a million nested divs": "<div>" * 1_000_000 + "hello",
    "upper case": "<DIV>" * 100_000 + "hello",
    "nested lists": "<ul><li>" * 20_000 + "hello",
    "deep spans with wrong ends": "<span>" * 20_000 + "hello" + "</x>" * 20_000,
    "unclosed formatting": "<p>"
    + "".join(f"<b id=x{n}>" for n in range(5_000))
    + "</p><p>hello" * 5_000,
    "200k attributes": "<p " + " ".join(f"a{n}=1" for n in range(200_000)) + ">hello",
    "many long tags": ("<p " + " ".join(f"a{n}" for n in range(3_000)) + ">hello") * 100,
    "a wide and tall table": "<table><tr>"
    + "<td>x</td>" * 20_000
    + "</tr>"
    + "<tr><td>hello</td></tr>" * 20_000
    + "</table>",
    "many columns in one": "<table>" + "<tr><td colspan=1000>hello</td></tr>" * 10_000 + "</table>",
    "lines deep in lists": "<ul><li>" * 90 + "<li>hello" * 50_000,
    "lines deep in quotations": "<blockquote>" * 150 + "<p>hello" * 20_000,
    "nested tables": "<table><tr><td>" * 10_000 + "hello",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_pages_that_defeat_parsers_are_given_as_text(name: str) -> None:
    converted = to_markdown(HOSTILE[name])

    assert converted.markdown.split("\n")[-1] == "hello"
    assert len(converted.markdown) <= len(HOSTILE[name])
    assert "without layout" in converted.warnings[0]


@pytest.mark.parametrize(
    "html",
    [
        "<p>x</p>" * 50_000,
        "<ul>" + "<li>x" * 50_000 + "</ul>",
        "<table>" + "<tr><td>a<td>b" * 20_000 + "</table>",
        "<p>" + "<b>x</b> <i>y</i> <code class=a>z</code>" * 10_000,
        "<br>" * 50_000 + "x",
        '<p>x<img src="data:image/png;base64,' + "A/b+" * 100_000 + '">',
        "<div><font>x</div>" * 500,
    ],
)
def test_large_pages_as_they_should_be_are_not_suspected(html: str) -> None:
    assert tangle(html.encode()) is None


def test_more_than_30_megabytes_are_refused() -> None:
    with pytest.raises(QuotaExceeded, match="30000000 bytes"):
        to_markdown("x" * (module.MOST_HTML + 1))


def test_inline_pictures_are_only_their_description() -> None:
    assert md('<p><img alt="a chart" src="data:image/png;base64,AAAA">') == "a chart"


@pytest.mark.parametrize("library", ["selectolax.lexbor", "html_to_markdown"])
def test_a_missing_library_names_the_extra(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)

    with pytest.raises(Unavailable, match=library.split(".", maxsplit=1)[0]) as caught:
        to_markdown("<p>x")

    assert "pip install whence[web]" in caught.value.suggestion


TAGS = """p b div ul li table tr td pre main article a span nav svg script select option template
math blockquote dl dt dd br h1 base body html head title frameset plaintext""".split()
PIECES = st.sampled_from(
    [
        *(f"<{tag}>" for tag in TAGS),
        *(f"</{tag}>" for tag in TAGS),
        *"<!-- --> <td\tcolspan=9> <a\thref=x> ``` | \\ & &lt; &#xD800; \0 \ufffd".split(" "),
        "word ",
        "\n",
    ]
)


@settings(deadline=None, max_examples=300)
@given(st.lists(PIECES | st.text(max_size=5), max_size=60))
def test_no_soup_of_tags_raises(pieces: list[str]) -> None:
    converted = to_markdown("".join(pieces), url="https://example.org/")

    assert converted.markdown == converted.markdown.strip()
    converted.markdown.encode()
