"""A worker that posts each record to an HTTP endpoint: ``python -m cleave.http URL``.

    cleave run --persistent --window 8 -N 1 --split jsonl -i records.jsonl -- \\
        python3 -m cleave.http http://localhost:8000/score

Each line is a record. A line that is a JSON object or another JSON value is the body of a POST;
with --field NAME it is the value of NAME in a JSON object. The response becomes one line. Status
429 or 503 is no failure: the record is asked again after the time of Retry-After. Any other
status outside 200 to 299, a timeout, or a broken response fails the record. No request is sent twice.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import argparse
import email.utils
import http.client
import json
import math
import os
import select
import socket
import ssl
import sys
import threading
import time
import urllib.parse
from typing import Dict, List, Optional, Tuple

from ._worker import Later, Refused, worker

LATER = (429, 503)  # Too Many Requests, Service Unavailable
PART = 1 << 16  # bytes of a response that are read at a time
LONGEST_S = 24 * 3600.0
FIRST_S, MOST_S = 1.0, 64.0  # rest without Retry-After: doubled until an answer comes


def retry_after_s(text: Optional[str], now_s: float) -> Optional[float]:
    """Seconds of a header Retry-After: a number or a date; None: it is neither."""
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - now_s
        except (TypeError, ValueError, IndexError):
            return None
    return min(max(0.0, seconds), LONGEST_S) if math.isfinite(seconds) else None


def one_line(response: bytes) -> bytes:
    """The response as one line: JSON without line ends, or a text of one line."""
    text = response.strip()
    if b"\n" in text or b"\r" in text:
        try:
            text = json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")).encode()
        except ValueError:
            raise Refused("expected JSON or one line, got several lines") from None
    return text + b"\n"


class Endpoint:
    """Connections to an endpoint, one for each thread."""

    def __init__(
        self, url: str, field: Optional[str], headers: Dict[str, str], timeout_s: float
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"expected http://HOST/PATH or https://HOST/PATH, got '{url}'")
        self.host: str = parts.hostname
        self.port = parts.port
        self.tls = parts.scheme == "https"
        self.path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self.field = field
        self.headers = {"Content-Type": "application/json", **headers}
        self.timeout_s = timeout_s
        self.kept = threading.local()
        self.lock = threading.Lock()
        self.rests = 0  # in a row
        self.until_s = 0.0  # no request is sent before this time

    def body(self, line: bytes) -> bytes:
        """What is posted for a line."""
        if self.field is None:
            try:
                json.loads(line)
            except ValueError:
                raise Refused(f"expected JSON, or --field NAME for text, got {line[:40]!r}") from None
            return line
        try:
            value = json.loads(line)
        except ValueError:
            value = line.decode(errors="replace")
        if isinstance(value, dict) and self.field in value:
            return line
        return json.dumps({self.field: value}, ensure_ascii=False).encode()

    def connection(self) -> http.client.HTTPConnection:
        made: Optional[http.client.HTTPConnection] = getattr(self.kept, "connection", None)
        if made is None:
            if self.tls:
                made = http.client.HTTPSConnection(
                    self.host, self.port, timeout=self.timeout_s, context=ssl.create_default_context()
                )
            else:
                made = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout_s)
            self.kept.connection = made
        return made

    def exchange(self, body: bytes) -> Tuple[int, Optional[str], bytes]:
        """Status, Retry-After and body of the response."""
        connection = self.connection()
        end_s = time.monotonic() + self.timeout_s
        parts = []
        # The endpoint has closed a kept connection. A request is never sent twice: it may cost money.
        if connection.sock is not None and select.select([connection.sock], [], [], 0)[0]:
            connection.close()
        try:
            connection.request("POST", self.path, body, self.headers)
            response = connection.getresponse()
            while part := response.read1(PART):
                parts.append(part)
                if time.monotonic() > end_s:
                    raise socket.timeout
            response.close()
            if response.length:  # the connection was closed before
                raise http.client.IncompleteRead(b"".join(parts), response.length)
        except BaseException:
            connection.close()
            raise
        return response.status, response.getheader("Retry-After"), b"".join(parts)

    def rest_s(self, told: Optional[str]) -> float:
        seconds = retry_after_s(told, time.time())
        with self.lock:
            self.rests += 1
            if seconds is None:
                seconds = min(FIRST_S * 2.0 ** min(self.rests - 1, 9), MOST_S)
            self.until_s = max(self.until_s, time.monotonic() + seconds)
            return seconds

    def ask(self, line: bytes) -> bytes:
        """The response to a record; raises Refused or Later."""
        left_s = self.until_s - time.monotonic()
        if left_s > 0:
            raise Later(left_s)
        try:
            status, told, response = self.exchange(self.body(line))
        except socket.timeout:
            raise Refused(f"no response within {self.timeout_s:g} s") from None
        except (OSError, http.client.HTTPException) as error:
            raise Refused(f"{type(error).__name__}: {error}") from None
        if status in LATER:
            raise Later(self.rest_s(told))
        with self.lock:
            self.rests = 0
        if not 200 <= status < 300:
            said = response[:80].decode(errors="replace").split("\n")[0].strip()
            raise Refused(f"status {status}: {said}" if said else f"status {status}")
        return one_line(response)


def answer(endpoint: Endpoint, chunk: bytes) -> bytes:
    """The response to the record of a chunk. Of several records a good one could be paid twice."""
    lines = [line for line in chunk.splitlines() if line.strip()]
    if len(lines) > 1:
        raise Refused(f"cleave.http: expected chunks of one record (-N 1), got {len(lines)} records")
    try:
        return b"".join(endpoint.ask(line) for line in lines)
    except Refused as error:
        raise Refused(f"cleave.http: {error}") from None


def _header(text: str) -> Tuple[str, str]:
    name, sign, value = text.partition(":")
    if not sign or not name.strip():
        raise argparse.ArgumentTypeError(f"expected 'NAME: VALUE', got '{text}'")
    return name.strip(), os.path.expandvars(value.strip())


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got '{text}'")
    return value


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, got '{text}'")
    return int(text)


def main(words: Optional[List[str]] = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python3 -m cleave.http",
        description="Post each JSON record of standard input to an HTTP endpoint: a command for "
        "'cleave run --persistent --window K -N 1 -i FILE -- python3 -m cleave.http URL'.",
    )
    parser.add_argument("url", metavar="URL")
    parser.add_argument("--field", metavar="NAME", help="post {NAME: record} for each record")
    parser.add_argument(
        "--header", metavar="'NAME: VALUE'", action="append", default=[], type=_header,
        help="send this header; $VARIABLES in the value come from the environment",
    )
    parser.add_argument(
        "--timeout", metavar="S", default=60.0, type=_positive,
        help="a record fails if the endpoint is silent for S seconds (default: 60)",
    )
    parser.add_argument(
        "--window", metavar="K", type=_count,
        help="hold at most K records at a time (default: --window of cleave run)",
    )
    told = parser.parse_args(words)
    try:
        endpoint = Endpoint(told.url, told.field, dict(told.header), told.timeout)
    except ValueError as error:
        parser.error(str(error))
    worker(lambda chunk: answer(endpoint, chunk), window=told.window)


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):
        sys.exit(1)
