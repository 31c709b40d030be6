"""Searches in Python, for machines without ripgrep: finds the same hits, somewhat slower."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from typing import Any

import re2

from whence.errors import InvalidArgs
from whence.work.lexical.hits import (
    AROUND,
    NOTHING_SEARCHED,
    Found,
    Hit,
    Query,
    bad_pattern,
    binary,
    found,
    literally,
    partly_binary,
    readable,
    timed_out,
)
from whence.work.lexical.text import Piece, Text, is_whole, read_head, with_newlines
from whence.work.lexical.walk import OPENING, Walk


async def search(query: Query) -> Found:
    """What a thread finds; it ends soon after nobody waits for it any more."""
    abandoned = threading.Event()
    try:
        return await asyncio.to_thread(_Scan(query, abandoned).run)
    finally:
        abandoned.set()


class _Scan:
    """One search, file by file."""

    def __init__(self, query: Query, abandoned: threading.Event) -> None:
        self._query = query
        self._abandoned = abandoned
        self._deadline = time.monotonic() + query.timeout_s
        self._search = _compiled(query).search
        self._is_literal = literally(query.pattern) == query.pattern and "\r" not in query.pattern
        self._walk = Walk(query)
        self._warnings = self._walk.warnings
        self._hits: list[Hit] = []

    def run(self) -> Found:
        searched = False
        for path in self._walk.files():
            searched = True
            try:
                self._scan_file(path)
            except OSError as error:
                self._walk.note_unreadable(path, error)
            if self._is_over():
                break
        if not searched and self._query.glob is not None:
            self._warnings.append(NOTHING_SEARCHED)
        return found(self._query, self._hits, self._warnings, "python")

    def _is_over(self) -> bool:
        if time.monotonic() > self._deadline:
            raise timed_out(self._query, len(self._hits))
        return len(self._hits) > self._query.cap or self._abandoned.is_set()

    def _scan_file(self, path: bytes) -> None:
        fd = os.open(path, OPENING)
        try:
            head = read_head(fd)
            if is_whole(head):
                self._scan_whole(path, head)
            else:
                self._scan_text(path, Text(fd, head, any_ends=self._is_literal))
        finally:
            os.close(fd)

    def _scan_whole(self, path: bytes, data: bytes) -> None:
        if not self._is_literal:
            data = with_newlines(data, is_last=True)
        if self._search(data) is not None:
            self._scan_piece(path, Piece(data, 0, len(data), 1))

    def _scan_text(self, path: bytes, text: Text) -> None:
        before = len(self._hits)
        for piece in text.pieces():
            self._scan_piece(path, piece)
            if self._is_over():
                return
        if text.is_cut and len(self._hits) > before:
            self._warnings.append(partly_binary(self._query.shown(path)))
        if text.is_binary and self._query.is_file:
            self._warnings.append(binary(self._query.shown(path)))

    def _scan_piece(self, path: bytes, piece: Piece) -> None:
        data, position, stop, number = piece
        counted = 0
        while position < stop and len(self._hits) <= self._query.cap:
            match = self._search(data, position, stop)
            if match is None:
                return
            at = match.start()
            begin = max(data.rfind(b"\n", position, at) + 1, position)
            if begin >= stop:  # matched the nothing after the last newline
                return
            number += data.count(b"\n", counted, begin)
            counted = begin
            end = _line_end(data, at)
            line, context = readable(data[begin:end]), _around(data, begin, end)
            self._hits.append(Hit(self._query.shown(path), number, line, context))
            position = end + 1


def _line_end(data: bytes, position: int) -> int:
    end = data.find(b"\n", position)
    return len(data) if end < 0 else end


def _around(data: bytes, begin: int, end: int) -> tuple[str, ...]:
    """The lines before and after one, in order."""
    before: list[str] = []
    while begin > 0 and len(before) < AROUND:
        above = data.rfind(b"\n", 0, begin - 1) + 1
        before.insert(0, readable(data[above : begin - 1]))
        begin = above
    after: list[str] = []
    while end + 1 < len(data) and len(after) < AROUND:
        below = _line_end(data, end + 1)
        after.append(readable(data[end + 1 : below]))
        end = below
    return (*before, *after)


def _compiled(query: Query) -> Any:
    # Even for plain text this is faster than `bytes.find`.
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.never_nl = True
    try:
        return re2.compile(f"(?m){query.pattern}", options)
    except re2.error as error:
        raise _refusal(query, error) from error


def _refusal(query: Query, error: Exception) -> InvalidArgs:
    said = error.args[0]
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    reason = text.replace("(?m)", "", 1)
    fragment = reason.rpartition(": ")[2]
    position = query.pattern.find(fragment) if fragment else -1
    return bad_pattern(query, reason, None if position < 0 else position)
