"""An HTTP server of the old streamable protocol, by hand: sessions, credentials, trouble.

Arguments: a port, then `key=value`.
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

OPTIONS = dict(word.split("=", 1) for word in sys.argv[2:])
SESSIONS: set[str] = set()
TOOLS = [
    {"name": "ask", "description": "Asks.", "inputSchema": {"type": "object", "properties": {}}},
    {"name": "forget", "description": "Forgets.", "inputSchema": {"type": "object"}},
    {"name": "cut", "description": "Hangs up.", "inputSchema": {"type": "object"}},
    {"name": "expire", "description": "Expires.", "inputSchema": {"type": "object"}},
    {"name": "huge", "description": "65 MB.", "inputSchema": {"type": "object"}},
    {"name": "mirror", "description": "What it was sent.", "inputSchema": {"type": "object"}},
    {"name": "busy", "description": "Status 503.", "inputSchema": {"type": "object"}},
]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send(405)

    def do_DELETE(self) -> None:
        while "clings" in OPTIONS:
            time.sleep(60)
        SESSIONS.discard(self.headers.get("mcp-session-id", ""))
        self._send(200)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        message = json.loads(body)
        if "log" in OPTIONS:
            kept = {"path": self.path, "headers": dict(self.headers.items()), "message": message}
            with Path(OPTIONS["log"]).open("a", encoding="utf-8") as log:
                log.write(json.dumps(kept) + "\n")
        if "token" in OPTIONS and self.headers.get("authorization") != f"Bearer {OPTIONS['token']}":
            said = json.dumps({"error": "invalid_token"}).encode() if "json" in OPTIONS else b""
            return self._send(401, said, **{"content-type": "application/json"})
        if "absent" in OPTIONS:
            return self._send(404)
        if "client" in OPTIONS:
            query = dict(parse_qsl(urlsplit(self.path).query))
            if query != {"client_id": OPTIONS["client"], "client_secret": "s3cret"}:
                return self._send(403)
        if "redirect" in OPTIONS:
            return self._send(307, location=OPTIONS["redirect"])
        if "id" not in message:
            return self._send(202)
        return self._answer(message)

    def _answer(self, message: dict[str, Any]) -> None:
        method, session = message["method"], self.headers.get("mcp-session-id", "")
        if method == "initialize":
            SESSIONS.add(f"s{len(SESSIONS)}")
            info = {"name": "web", "version": "1"}
            result: dict[str, Any] = {"protocolVersion": "2025-06-18", "serverInfo": info,
                                      "capabilities": {"tools": {}}}  # fmt: skip
            return self._reply(message, result, session=f"s{len(SESSIONS) - 1}")
        if session not in SESSIONS:
            return self._send(404 if session else 400)
        if method == "tools/list":
            return self._reply(message, {"tools": TOOLS})
        name = message["params"]["name"]
        if name == "forget":
            SESSIONS.clear()
        if name == "cut":
            self.close_connection = True
            self.connection.close()
            return None
        if name == "expire":
            SESSIONS.clear()
            return self._send(404)
        if name == "huge":
            return self._send(200, b" " * 68_000_000, **{"content-type": "application/json"})
        if name == "mirror":
            name = f"{dict(self.headers.items())} {self.path}"
        if name == "busy":
            return self._send(503)
        return self._reply(message, {"content": [{"type": "text", "text": name}]})

    def _reply(self, message: dict[str, Any], result: dict[str, Any], session: str = "") -> None:
        answer = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
        more = {"mcp-session-id": session} if session else {}
        if "sse" in OPTIONS:
            body, kind = f"event: message\ndata: {answer}\n\n", "text/event-stream"
        else:
            body, kind = answer, "application/json"
        self._send(200, body.encode(), **{"content-type": kind}, **more)

    def _send(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Nothing is said."""


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
