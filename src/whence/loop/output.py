"""An answer as a value of the agent's output schema. Pure."""

from __future__ import annotations

import msgspec

from whence.shapes.json import JSONObject, JSONValue


def read_output(text: str, schema: JSONObject) -> tuple[JSONValue, str]:
    """The value of an answer, and what is wrong with it."""
    import jsonschema_rs

    written = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        value = msgspec.json.decode(written)
    except msgspec.DecodeError as error:
        return None, f"Answer with JSON alone that fits the output schema: {error}."
    validator = jsonschema_rs.Draft202012Validator(dict(schema), offline=True)
    found = next(validator.iter_errors(value), None)
    return value, f"Answer with JSON that fits the output schema: {found.message}" if found else ""
