"""`whence call --network`: which servers a call may ask."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.cli.conftest import Command


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<main><h1>Kettles</h1></main>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.requirement("ochat:web-policy")
def test_a_server_of_this_machine_is_asked_only_where_it_is_named(
    whence: Command, port: int
) -> None:
    url = json.dumps({"url": f"http://127.0.0.1:{port}/", "why": "Learn about kettles from here"})
    call = ("call", "webpage_to_markdown", url, "--allow", "webpage_to_markdown")

    refused = whence(*call)
    fetched = whence(*call, "--network", f"127.0.0.1:{port}")

    assert refused.code == 1
    assert refused.json["error"]["code"] == "PERMISSION_DENIED"
    assert fetched.json["result"] == "# Kettles"
