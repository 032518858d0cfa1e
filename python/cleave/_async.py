"""The calls for programs with an event loop. SPDX-License-Identifier: MIT

Each call runs in a thread. If its task is cancelled, the command ends before the task does.
"""
from __future__ import annotations

import asyncio
import contextvars
from typing import (
    Any, AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, List, Sequence, TypeVar, Union,
)

from ._command import Result, run
from ._map import imap
from ._process import STOP, Stop

T = TypeVar("T")
R = TypeVar("R")


async def _in_thread(stop: Stop, function: Callable[..., T], *args: Any, **options: Any) -> T:
    def call() -> T:
        STOP.set(stop)
        return function(*args, **options)

    context = contextvars.copy_context()
    future = asyncio.get_running_loop().run_in_executor(None, context.run, call)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        stop()
        await asyncio.wait([future])
        future.exception()  # it is expected
        raise


async def run_async(command: Union[str, Sequence[Any]], **options: Any) -> Result:
    """As ``run``."""
    return await _in_thread(Stop(), run, command, **options)


def _pulled(items: AsyncIterable[T], loop: asyncio.AbstractEventLoop) -> Iterator[T]:
    """Items of an asynchronous iterable, for the thread that feeds workers."""
    source = items.__aiter__()

    async def take() -> Any:
        try:
            return await source.__anext__()
        except StopAsyncIteration:
            return source

    while (item := asyncio.run_coroutine_threadsafe(take(), loop).result()) is not source:
        yield item


async def imap_async(
    function: Callable[[T], R], iterable: Union[Iterable[T], AsyncIterable[T]], **options: Any
) -> AsyncIterator[R]:
    """As ``imap``; the iterable may be asynchronous."""
    stop, end = Stop(), object()
    if isinstance(iterable, AsyncIterable):
        iterable = _pulled(iterable, asyncio.get_running_loop())
    results = imap(function, iterable, **options)
    try:
        while (result := await _in_thread(stop, next, results, end)) is not end:
            yield result  # type: ignore[misc]
    finally:
        stop()
        await _in_thread(stop, results.close)  # type: ignore[attr-defined]


async def map_async(
    function: Callable[[T], R], iterable: Union[Iterable[T], AsyncIterable[T]], **options: Any
) -> List[R]:
    """As ``map``; the iterable may be asynchronous."""
    return [result async for result in imap_async(function, iterable, **options)]
