"""`<input>` and `<output>`: what an agent takes and gives, as JSON Schema."""

from __future__ import annotations

from typing import Any

from whence.chatmd.suggest import quoted
from whence.declare.report import Report
from whence.declare.shorthand import compile_schema
from whence.declare.type_text import Schema
from whence.declare.typed import object_of, read_params
from whence.declare.values import text
from whence.errors import InvalidArgs
from whence.shapes.declaration import Interface
from whence.shapes.document import Document, Element


def read_interface(document: Document, report: Report) -> Interface:
    """The interface that a file declares; without `<input>` it takes one text."""
    inputs = read_params(document.tagged("input"), report)
    outputs = list(document.tagged("output"))
    output = _output(outputs[0], report) if outputs else None
    for extra in outputs[1:]:
        line = report.line(outputs[0].span)
        message = f"There is an <output> on line {line} already."
        report.error("duplicate-output", extra, message, "Describe the answer once.")
    if not inputs:
        return Interface(output_schema=output)
    return Interface(object_of(inputs), inputs, output)


def _output(element: Element, report: Report) -> Schema | None:
    import jsonschema_rs

    written = [part.strip() for part in (element.get("schema") or "", element.text)]
    given = [part for part in written if part]
    if len(given) != 1:
        what = "is given twice" if given else "is missing"
        hint = 'Write it in the attribute, schema="{title: string}", or between the tags.'
        report.error("bad-schema", element, f"The schema of the answer {what}.", hint)
        return None
    try:
        schema = compile_schema(_json_or_shorthand(given[0]))
        jsonschema_rs.Draft202012Validator(schema, offline=True)
    except InvalidArgs as error:
        report.relay("bad-schema", element, error, at="schema")
        return None
    except (ValueError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
        reason = quoted(str(error).partition("\n")[0])
        message = f"The schema of the answer cannot be used: {reason}."
        hint = "Write JSON Schema 2020-12, without references to other documents."
        report.error("bad-schema", element, message, hint, at="schema")
        return None
    said = text(element, "description")
    return {**schema, "description": said} if said else schema


def _json_or_shorthand(written: str) -> Any:
    """JSON where it is JSON; `"a" | "b"` and `{title: string}` are not."""
    import json

    try:
        loaded = json.loads(written)
    except (ValueError, RecursionError):
        return written
    return loaded if isinstance(loaded, dict | bool) else written
