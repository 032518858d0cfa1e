"""The side of a command that cleave run --persistent feeds. SPDX-License-Identifier: MIT"""
from __future__ import annotations

import asyncio
import inspect
import os
import queue
import sys
import threading
import traceback
from typing import Any, Awaitable, BinaryIO, Callable, Coroutine, List, Optional, Set, Union

FAILED = b"\xff" * 8
MOST = 1 << 48  # bytes of a chunk: more is text that was read as a length
NUMBERED = 0x80
BYTES, REFUSED, LATER = 0, 1, 2  # kinds of answers: the first byte without NUMBERED

Answer = Union[bytes, str, None]
Function = Callable[[bytes], Union[Answer, Awaitable[Answer]]]


class Later(Exception):
    """Raised for a chunk: not now. It is asked again, and this worker rests for that time."""

    __module__ = "cleave"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"later, in {seconds:g} s")
        self.seconds = seconds


class Refused(Exception):
    """Raised for a chunk that fails: one line on standard error, without a traceback."""


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


def _next_chunk(chunks: BinaryIO) -> Optional[bytes]:
    """None: there are no more."""
    head = _read(chunks, 8)
    if not head:
        return None
    length = int.from_bytes(head, "big")
    if len(head) < 8 or length > MOST:
        raise EOFError(
            f"expected chunks after their lengths, as 'cleave run --persistent' sends them, got {head!r}"
        )
    chunk = _read(chunks, length)
    if len(chunk) < length:
        raise EOFError(f"a chunk of {length} bytes ends after {len(chunk)}")
    return chunk


def _good(text: object) -> bytes:
    if not isinstance(text, (bytes, str, type(None))):
        raise TypeError(f"answer: expected bytes, text or None, got {type(text).__name__}")
    return text.encode() if isinstance(text, str) else text or b""


def _head(kind: int, number: Optional[int], value: int) -> bytes:
    if number is None:
        return FAILED if kind == REFUSED else bytes([kind]) + value.to_bytes(7, "big")
    return bytes([NUMBERED | kind]) + (number % 65536).to_bytes(2, "big") + value.to_bytes(5, "big")


def _refused(error: Exception, number: Optional[int]) -> bytes:
    """The answer for a chunk whose function has raised an exception."""
    if isinstance(error, Later):
        return _head(LATER, number, max(0, round(error.seconds * 1000)))
    if isinstance(error, Refused):
        sys.stderr.write(f"{error}\n")
    else:
        traceback.print_exception(type(error), error, error.__traceback__)
    return _head(REFUSED, number, 0)


async def _await(answer: Awaitable[Answer]) -> Answer:
    return await answer


class _Answers:
    """Writes answers; several threads may."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.lock = threading.Lock()

    def put(self, frame: bytes) -> None:
        with self.lock:
            self.stream.write(frame)
            self.stream.flush()


def _frame(function: Function, chunk: bytes, number: Optional[int]) -> bytes:
    try:
        text = function(chunk)
        if inspect.isawaitable(text):
            text = asyncio.run(_await(text))
        reply = _good(text)
    except Exception as error:  # whatever it is, it is about this chunk
        return _refused(error, number)
    return _head(BYTES, number, len(reply)) + reply


def _serve_threads(function: Function, window: int, chunks: BinaryIO, answers: _Answers) -> None:
    """At most `window` threads, which are started when they are needed."""
    waiting: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
    idle = threading.Semaphore(0)
    threads: List[threading.Thread] = []

    def work() -> None:
        while (task := waiting.get()) is not None:
            number, chunk = task
            answers.put(_frame(function, chunk, number))
            idle.release()

    number = 0
    while (chunk := _next_chunk(chunks)) is not None:
        if not idle.acquire(blocking=len(threads) == window):
            threads.append(threading.Thread(target=work, name=f"cleave-{len(threads)}", daemon=True))
            threads[-1].start()
        waiting.put((number, chunk))
        number += 1
    for _ in threads:
        waiting.put(None)
    for thread in threads:
        thread.join()


async def _serve_tasks(function: Any, window: int, chunks: BinaryIO, answers: _Answers) -> None:
    """Coroutines of one loop; a thread reads, and answers are written as they are ready."""
    room = asyncio.Semaphore(window)
    tasks: Set["asyncio.Task[None]"] = set()
    loop = asyncio.get_running_loop()

    async def work(number: int, chunk: bytes) -> None:
        try:
            reply = _good(await function(chunk))
            frame = _head(BYTES, number, len(reply)) + reply
        except Exception as error:
            frame = _refused(error, number)
        await loop.run_in_executor(None, answers.put, frame)
        room.release()

    number = 0
    while True:
        await room.acquire()
        chunk = await loop.run_in_executor(None, _next_chunk, chunks)
        if chunk is None:
            break
        made: Coroutine[Any, Any, None] = work(number, chunk)
        task = loop.create_task(made)
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        number += 1
    await asyncio.gather(*tasks)


def _room(window: Optional[int]) -> int:
    """How many chunks to hold: what cleave gives, and no more than the caller wants; 0: one."""
    if window is not None and (type(window) is not int or window < 1):
        raise ValueError(f"window: expected a number of at least 1, got {window!r}")
    given = os.environ.get("CLEAVE_WINDOW", "")
    if not given.isdigit():
        return 0
    return min(int(given), window or int(given))


def worker(
    answer: Function,
    *,
    window: Optional[int] = None,
    chunks: Optional[BinaryIO] = None,
    answers: Optional[BinaryIO] = None,
) -> None:
    """Answer every chunk of standard input by ``answer(chunk)``, until there are no more.

    ``answer`` may be a coroutine function. With ``cleave run --window K`` up to K chunks are
    answered at the same time, at most ``window`` of them: a coroutine function by tasks of one
    loop, another one by threads.

    An exception fails the chunk: it is shown on standard error and the next one is asked
    for. ``cleave.Later(seconds)`` is no failure: the chunk is asked again, and the worker rests.
    What is printed goes to standard error, as standard output is taken.
    """
    room = _room(window)
    if chunks is None:
        if sys.stdin.isatty():
            sys.exit(f"start it with: cleave run --persistent -i FILE -- {sys.argv[0]}")
        chunks = sys.stdin.buffer
    if answers is None:
        # Keep the pipe for answers alone.
        answers = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
    out = _Answers(answers)
    if room == 0:
        while (chunk := _next_chunk(chunks)) is not None:
            out.put(_frame(answer, chunk, None))
    elif inspect.iscoroutinefunction(answer):
        asyncio.run(_serve_tasks(answer, room, chunks, out))
    else:
        _serve_threads(answer, room, chunks, out)
