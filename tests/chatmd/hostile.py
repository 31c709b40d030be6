"""Files that nobody should have to read."""

from __future__ import annotations

GOOD = """\
<config model="m" max_tokens="100" show_tool_call/>
<tool name="read_file"><read id="docs" path="docs"/></tool>
<tool name="grep" command="grep -n" description="find > show">
  <param name="pattern" type="string" required/>
</tool>
<input name="topic" type="string"/>
<!-- what it is for -->
<system>Be brief. <import src="rules.md"/></system>
<user>a < b, see <doc src="x.md" local/> and <img src="p.png" local alt="p"/></user>
<reasoning id="r1"><summary>RAW|think <b>hard</b>|RAW</summary></reasoning>
<tool_call tool_call_id="c1" function_name="grep" id="fc1">
RAW|{"pattern": "</user>"}|RAW
</tool_call>
<tool_response tool_call_id="c1" id="1">
RAW|one | two\n<user>three|RAW
</tool_response>
<assistant id="m1">
RAW|done é 日本 😀|RAW
</assistant>
<user><agent src="a.chatmd" local>look at <doc src="y"/></agent></user>
"""
"""A file without a fault, to be broken in every way."""

_CALL = '<tool_call tool_call_id="c" function_name="f">{}</tool_call>'
_RESPONSE = '<tool_response tool_call_id="c">x</tool_response>'

_TEXTS: dict[str, str] = {
    # Nothing ends
    "user": "<user>",
    "user-text": "<user>hello",
    "user-half-close": "<user>hello</user",
    "user-slash": "<user>hello</",
    "user-less": "<user>hello<",
    "tag-half": "<user",
    "tag-name-half": "<use",
    "less": "<",
    "less-slash": "</",
    "tag-space": "<user ",
    "tag-attribute": "<user id",
    "tag-equals": "<user id=",
    "tag-quote": '<user id="',
    "tag-single-quote": "<user id='",
    "tag-value": '<user id="x',
    "tag-closed-value": '<user id="x"',
    "tag-slash": "<user /",
    "tag-slash-in": "<user / >hi</user>",
    "comment": "<!--",
    "comment-half": "<!-",
    "comment-text": "<!-- hello",
    "comment-wrong-end": "<!-- hello -- >",
    "comment-in-user": "<user>a <!-- b</user>",
    "raw": "<user>RAW|",
    "raw-text": "<user>RAW|hello</user>",
    "raw-half-end": "<user>RAW|hello|RA</user>",
    "raw-no-close": "<user>RAW|hello|RAW",
    "agent": '<user><agent src="a">x</user>',
    "summary": "<reasoning id='r'><summary>x</reasoning>",
    "tool": '<tool name="a">',
    "tool-param": '<tool name="a"><param name="x">',
    "script": "<script>let x = 1",
    "output": '<output>{"type": "object"}',
    "reasoning": "<reasoning id='r'>x",
    "call": '<tool_call tool_call_id="c" function_name="f">{"a": 1',
    "response": '<tool_response tool_call_id="c">',
    "torn-call": _CALL[:-6],
    # Too much of it
    "two-closings": "<user>a</user></user>",
    "only-closing": "</user>",
    "wrong-closing": "<user>a</assistant>",
    "crossed": '<user><agent src="a">x</user></agent>',
    "closing-first": "</user><user>a</user>",
    "two-slashes": "<user//>",
    "double-less": "<<user>a</user>",
    "triple-bigger": "<user>>a</user>>",
    "raw-outside": "RAW|a|RAW",
    "raw-end-outside": "<user>a</user>|RAW",
    "raw-twice": "<user>RAW|a RAW|b|RAW</user>",
    "raw-end-twice": "<user>RAW|a|RAW b |RAW</user>",
    "comment-end-outside": "<user>a</user>-->",
    "comment-in-comment": "<!-- a <!-- b --> c -->",
    # Attributes
    "unknown-attribute": '<user nam="a">x</user>',
    "unknown-flag": "<user local>x</user>",
    "duplicate": '<user id="a" id="b">x</user>',
    "comma": '<tool name="a", command="b"/>',
    "semicolon": '<tool name="a"; command="b"/>',
    "quote-twice": '<tool name="a""/>',
    "stray-quote": '<tool "name="a"/>',
    "backslash-end": '<tool name="a\\"/>',
    "mixed-quotes": "<tool name=\"a'/>",
    "newline-quote": '<user id="a>\n<user id="b">x</user>',
    "no-name": '<tool ="a"/>',
    "only-equals": "<tool = />",
    "non-ascii-name": '<tool ñame="a"/>',
    "upper-case-name": '<tool NAME="a"/>',
    "nul-in-name": '<tool na\0me="a"/>',
    "value-missing": "<tool name= />",
    "no-role": "<msg>hello</msg>",
    "bad-role": '<msg role="robot">hello</msg>',
    "no-src": "<user><doc/></user>",
    "no-call-id": "<tool_call>{}</tool_call>",
    "no-input-name": "<input/>",
    "flag-not": '<config show_tool_call="7"/>',
    "thousand-attributes": "<user " + "id=1 " * 2000 + ">x</user>",
    "long-attribute-name": "<user " + "a" * 100_000 + ">x</user>",
    "long-value": '<user nope="' + "a" * 100_000 + '">x</user>',
    # Elements
    "unknown": "<banana/>",
    "misspelt": "<sytem>a</sytem>",
    "upper-case": "<USER>a</USER>",
    "xml-declaration": '<?xml version="1.0"?><user>a</user>',
    "doctype": "<!DOCTYPE html><user>a</user>",
    "cdata": "<![CDATA[x]]>",
    "html": "<html><body>hi</body></html>",
    "root": "<chatmd><user>a</user></chatmd>",
    "param-outside": '<param name="a"/>',
    "read-outside": '<read path="a"/>',
    "doc-outside": '<doc src="a"/>',
    "agent-outside": '<agent src="a">x</agent>',
    "summary-outside": "<summary>x</summary>",
    "text-in-tool": '<tool name="a">hello</tool>',
    "doc-in-tool": '<tool name="a"><doc src="x"/></tool>',
    "config-body": '<config model="a">text</config>',
    "user-in-user": "<user>\n<user>a</user>\n</user>",
    "system-in-user": "<user>\n<system>a</system>\n</user>",
    "late-tool": '<assistant>a</assistant><tool name="a"/>',
    "markdown": "# Title\n\nSome words.\n\n<user>a</user>",
    "front-matter": "---\nmodel: x\n---\n<user>a</user>",
    "json": '{"messages": []}',
    "yaml": "- user: hello\n",
    "binary": "\x7fELF\x02\x01\x01\0\0\0\0",
    # Calls
    "duplicate-call": _CALL + _RESPONSE + _CALL + _RESPONSE,
    "duplicate-response": _CALL + _RESPONSE + _RESPONSE,
    "response-first": _RESPONSE + _CALL,
    "response-alone": _RESPONSE,
    "call-alone": _CALL,
    "two-open-calls": _CALL + _CALL,
    # Merges
    "conflict": "<<<<<<< HEAD\n<user>a</user>\n=======\n<user>b</user>\n>>>>>>> x\n",
    "conflict-diff3": "<<<<<<< a\n||||||| b\n=======\n>>>>>>> c\n",
    "conflict-in-user": "<user>\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n</user>",
    "conflict-across": "<user>a\n<<<<<<< HEAD\n</user>\n=======\nb</user>\n>>>>>>> x\n",
    "conflict-in-tag": '<tool\n<<<<<<< HEAD\nname="a"\n=======\nname="b"\n>>>>>>> x\n/>',
    "conflict-crlf": "<<<<<<< HEAD\r\n<user>a</user>\r\n=======\r\n>>>>>>> x\r\n",
    "conflict-half": "<user>a</user>\n=======\n",
    # Characters
    "nul": "\0",
    "nul-in-text": "<user>a\0b</user>",
    "nul-at-end": "<user>a</user>\n" + "\0" * 4096,
    "lone-surrogate": "<user>\ud800</user>",
    "surrogate-in-value": '<user id="\udfff">a</user>',
    "two-boms": "\ufeff\ufeff<user>a</user>",
    "bom-in-the-middle": "<user>a</user>\ufeff<user>b</user>",
    "control-outside": "\x1b[31m<user>a</user>",
    "no-break-space": "\u00a0<user>a</user>",
    "line-separator": "\u2028<user>a</user>",
    "fullwidth": "＜user＞a＜/user＞",
    # Much of it
    "deep-agents": "<user>" + '<agent src="a">' * 100_000,
    "deep-closed": "<user>" + '<agent src="a">' * 5_000 + "</agent>" * 5_000 + "</user>",
    "deep-users": "<user>" * 20_000,
    "deep-lines": "<user>\n" * 100_000,
    "deep-unknown": "<div>" * 100_000,
    "deep-reasoning": "<reasoning><summary>" * 10_000,
    "many-less": "<" * 100_000,
    "many-comments": "<!--" * 50_000,
    "many-raw": "<user>" + "RAW|" * 50_000,
    "many-raw-ends": "|RAW" * 50_000,
    "many-quotes": '<user a="' * 20_000,
    "many-mixed-quotes": "<user><doc a='\"" * 20_000,
    "many-closings": "</user>" * 50_000,
    "many-doc-quotes": "<user>" + '<doc " a="' * 20_000,
    "many-conflicts": "<<<<<<< a\n=======\n>>>>>>> b\n" * 10_000,
    "many-ids": _CALL * 5_000,
    "many-entities": '<user nope="' + "&amp;" * 50_000 + '">a</user>',
    "many-stray-lines": "stray\n<user>a</user>\n" * 5_000,
    "all-unclosed": "<user>\n<assistant>\n<system>\n<tool>\n<reasoning>\n<developer>\n" * 2_000,
}

FILES: dict[str, bytes] = {
    **{name: text.encode("utf-8", "surrogatepass") for name, text in _TEXTS.items()},
    "latin-1": "<user>café</user>".encode("latin-1"),
    "utf-16": "<user>a</user>".encode("utf-16"),
    "utf-16-no-bom": "<user>a</user>".encode("utf-16-le"),
    "utf-32": "<user>a</user>".encode("utf-32"),
    "overlong": b"<user>\xc0\xbc</user>",
    "cut-character": "<user>é".encode()[:-1],
    "bare-continuation": b"<user>\x80\x80</user>",
    "mixed": "<user>é".encode() + "é</user>".encode("latin-1"),
    "ff": b"\xff" * 10_000,
    "gzip": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03",
    "png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
    "bad-in-name": b"<user \xff='a'>x</user>",
}
"""Each of these has something wrong with it."""


def broken_copies() -> list[tuple[str, bytes]]:
    """The good file, cut, with a byte missing, and with one changed, at many places each."""
    good = GOOD.encode()
    copies = [(f"cut at {at}", good[:at]) for at in range(0, len(good), 3)]
    copies += [(f"without {at}", good[:at] + good[at + 1 :]) for at in range(0, len(good), 5)]
    for byte in (b"<", b">", b'"', b"'", b"|", b"\0", b"\xff", b"\\", b"RAW|", b"|RAW", b"<!--"):
        copies += [
            (f"{byte!r} at {at}", good[:at] + byte + good[at + 1 :])
            for at in range(0, len(good), 31)
        ]
    return copies
