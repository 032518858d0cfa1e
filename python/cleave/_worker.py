"""The side of a command that cleave run --persistent feeds. SPDX-License-Identifier: MIT"""
from __future__ import annotations

import asyncio
import inspect
import os
import sys
import traceback
from typing import Awaitable, BinaryIO, Callable, Optional, Union

FAILED = b"\xff" * 8
MOST = 1 << 48  # bytes of a chunk: more is text that was read as a length

Answer = Union[bytes, str, None]


def _read(stream: BinaryIO, count: int) -> bytes:
    """Exactly so many bytes; fewer only at the end."""
    parts = []
    while count > 0:
        part = stream.read(count)
        if not part:
            break
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


async def _wait(answer: Awaitable[Answer]) -> Answer:
    return await answer


def worker(
    answer: Callable[[bytes], Union[Answer, Awaitable[Answer]]],
    *,
    chunks: Optional[BinaryIO] = None,
    answers: Optional[BinaryIO] = None,
) -> None:
    """Answer every chunk of standard input by ``answer(chunk)``, until there are no more.

    ``answer`` may be a coroutine function.

    An exception fails the chunk: it is shown on standard error and the next one is asked
    for. What is printed on the way goes to standard error, as standard output is taken.
    """
    if chunks is None:
        if sys.stdin.isatty():
            sys.exit(f"start it with: cleave run --persistent -i FILE -- {sys.argv[0]}")
        chunks = sys.stdin.buffer
    if answers is None:
        # Keep the pipe for answers alone.
        answers = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
    while True:
        head = _read(chunks, 8)
        if not head:
            break
        length = int.from_bytes(head, "big")
        if len(head) < 8 or length > MOST:
            raise EOFError(
                "expected chunks behind their lengths, as 'cleave run --persistent' sends "
                f"them, got {head!r}"
            )
        chunk = _read(chunks, length)
        if len(chunk) < length:
            raise EOFError(f"a chunk of {length} bytes ends after {len(chunk)}")
        try:
            text = answer(chunk)
            if inspect.isawaitable(text):
                text = asyncio.run(_wait(text))
            if not isinstance(text, (bytes, str, type(None))):
                raise TypeError(f"answer: expected bytes, text or None, got {type(text).__name__}")
            reply = text.encode() if isinstance(text, str) else text or b""
            frame = len(reply).to_bytes(8, "big") + reply
        except Exception:  # whatever it is, it is about this chunk
            traceback.print_exc()
            frame = FAILED
        answers.write(frame)
        answers.flush()
