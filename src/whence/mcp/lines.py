"""A line that a program wrote, as messages of the protocol."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from whence.mcp.faults import UNREADABLE

if TYPE_CHECKING:
    from mcp_types import JSONRPCMessage

_ID = re.compile(rb'"id"\s*:\s*([0-9]{1,18}|"[^"\\]{1,100}")')
_ANSWER = re.compile(rb'"(?:result|error)"\s*:')
_SHOWN = 100


def read_line(line: bytes) -> list[JSONRPCMessage]:
    """The messages of a line: one, those of a batch, or none where it holds something else.

    Half characters are replaced. A broken answer that names its request becomes an error of that
    request, so that nobody waits for another one.
    """
    from mcp_types import jsonrpc_message_adapter

    try:
        return [jsonrpc_message_adapter.validate_json(line, by_name=False)]
    except ValueError:
        pass
    try:
        loaded = json.loads(line.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return _broken(line)
    values = loaded if isinstance(loaded, list) else [loaded]
    return [message for value in values for message in _mended(value)]


def _mended(value: Any) -> list[JSONRPCMessage]:
    from mcp_types import jsonrpc_message_adapter

    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    try:
        return [jsonrpc_message_adapter.validate_json(text, by_name=False)]
    except ValueError:
        return _broken(text)


def _broken(text: bytes) -> list[JSONRPCMessage]:
    from mcp_types import ErrorData, JSONRPCError

    named = _ID.search(text)
    if named is None or b'"jsonrpc"' not in text or not _ANSWER.search(text):
        return []
    said = text[:_SHOWN].decode("utf-8", "replace")
    error = ErrorData(code=UNREADABLE, message=f"it begins with {said}")
    return [JSONRPCError(jsonrpc="2.0", id=json.loads(named[1]), error=error)]
