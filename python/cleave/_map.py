"""Python functions over items, by persistent workers. SPDX-License-Identifier: MIT

A record is a line: base64 of a pickled item. The worker answers each by a line: base64 of a pickled
(number, good, value). `cleave run --persistent` shares the lines over the workers.
"""
from __future__ import annotations

import base64
import importlib
import inspect
import os
import pickle
import runpy
import subprocess
import sys
import time
import traceback
import types
from typing import (
    Any, Callable, Dict, Iterable, Iterator, List, Optional, Set, Sized, Tuple, TypeVar,
)

from ._command import _arguments, _options
from ._facts import Progress
from ._process import (
    CleaveError, Environment, Feeder, PathLike, Reader, Show, close, expect, shown, start,
)
from ._worker import worker

T = TypeVar("T")
R = TypeVar("R")

MOST = 100_000  # characters of a pickled function: an argument of a command
MAIN = "__cleave_main__"  # the name of the program's module in workers


class ItemError(Exception):
    """An item failed: its number, from 0, and what its worker printed of the exception.

    It is the ``__cause__`` of an exception of the function, and is raised itself if the worker
    ended without an answer.
    """

    __module__ = "cleave"

    def __init__(self, text: str, index: int) -> None:
        super().__init__(text)
        self.index = index


# --- the worker --------------------------------------------------------------------------


def _load_main(path: str) -> None:
    """Let functions of the program's own file be found, without running its last part."""
    module = types.ModuleType(MAIN)
    module.__dict__.update(runpy.run_path(path, run_name=MAIN))
    sys.modules["__main__"] = sys.modules[MAIN] = module


def _answer(function: Callable[[Any], Any], line: bytes) -> bytes:
    index, item = -1, None
    try:
        index, item = pickle.loads(base64.b64decode(line))
        value = function(item)
        if inspect.isawaitable(value):
            import asyncio

            async def wait(result: Any = value) -> Any:
                return await result

            value = asyncio.run(wait())
        reply = pickle.dumps((index, True, value))
    except Exception as error:
        text = traceback.format_exc()
        try:
            reply = pickle.dumps((index, False, (error, text)))
            pickle.loads(reply)
        except Exception:
            reply = pickle.dumps((index, False, (RuntimeError(repr(error)), text)))
    return base64.b64encode(reply) + b"\n"


def serve(blob: str) -> None:
    """Answer chunks of records until there are no more. `blob` is made by `_function_blob`."""
    told: Dict[str, Any] = pickle.loads(base64.b64decode(blob))
    sys.path[:] = told["path"] + [name for name in sys.path if name not in told["path"]]
    if told["main"] is not None:
        _load_main(told["main"])
    function = pickle.loads(told["function"])
    worker(lambda chunk: b"".join(_answer(function, line) for line in chunk.splitlines()))


# --- the caller --------------------------------------------------------------------------


def _pickled(function: Callable[..., Any]) -> bytes:
    try:
        return pickle.dumps(function)
    except Exception as error:
        try:
            cloudpickle = importlib.import_module("cloudpickle")
        except ImportError:
            name = getattr(function, "__qualname__", repr(function))
            raise TypeError(
                f"function: expected a function that workers can import, got {name}: define it at "
                "the top level of a module, or install cloudpickle"
            ) from error
        made: bytes = cloudpickle.dumps(function)
        return made


def _function_blob(function: Callable[..., Any]) -> str:
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    made = _pickled(function)
    told = {
        "path": [os.path.abspath(name) for name in sys.path],
        "main": os.path.abspath(main) if main and b"__main__" in made else None,
        "function": made,
    }
    blob = base64.b64encode(pickle.dumps(told)).decode()
    if len(blob) > MOST:
        raise TypeError(f"function: expected at most {MOST} bytes when pickled, got {len(blob)}")
    return blob


class _Lines:
    """The items as lines, counted."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.items = items
        self.count = 0

    def __iter__(self) -> Iterator[bytes]:
        for item in self.items:
            line = base64.b64encode(pickle.dumps((self.count, item))) + b"\n"
            self.count += 1
            yield line


def _lost(index: int, errors: Reader) -> Tuple[bool, Any]:
    said = "; ".join(line.strip() for line in errors.kept[-3:])
    return False, (ItemError(f"item {index}: its worker gave no answer{': ' + said if said else ''}",
                             index), None)


def _replies(
    process: "subprocess.Popen[bytes]",
    feeder: Feeder,
    lines: _Lines,
    errors: Reader,
    ordered: bool,
) -> Iterator[Tuple[int, bool, Any]]:
    """(number, good, value) of every item, also of those without an answer."""
    seen: Set[int] = set()
    due = 0
    assert process.stdout is not None
    for line in process.stdout:
        index, good, value = pickle.loads(base64.b64decode(line))
        while ordered and due < index:
            yield (due, *_lost(due, errors))
            due += 1
        due = index + 1
        seen.add(index)
        yield index, good, value
    process.wait()
    errors.join(1)
    feeder.finish()
    if process.returncode not in (0, 1):  # 1: items without an answer
        raise CleaveError(_arguments("".join(errors.kept).strip()), process.returncode)
    for index in range(due if ordered else 0, lines.count):
        if ordered or index not in seen:
            yield (index, *_lost(index, errors))


def imap(
    function: Callable[[T], R],
    iterable: Iterable[T],
    *,
    workers: Optional[int] = None,
    ordered: bool = True,
    chunksize: int = 1,
    return_exceptions: bool = False,
    cwd: Optional[PathLike] = None,
    env: Environment = None,
    progress: Show = False,
    **options: Any,
) -> Iterator[R]:
    """Results of ``function(item)`` for each item, as they come: see ``map``.

    The iterable is consumed by another thread, as workers take items. If the caller stops to
    iterate, the workers end. ``progress=True`` shows progress on standard error; a function gets
    it as a dict, in the thread that iterates, before the results of its items.
    """
    show = shown(progress)
    expect(callable(function), "function", "a function", function)
    expect(hasattr(iterable, "__iter__"), "iterable", "an iterable", iterable)
    expect(workers is None or type(workers) is int, "workers", "a number", workers)
    expect(type(chunksize) is int, "chunksize", "a number", chunksize)
    if chunksize < 1 or (workers is not None and workers < 1):
        raise ValueError("chunksize, workers: expected at least 1")
    python = "python3" if "hosts" in options or "slurm" in options else sys.executable
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    code = f"import sys; sys.path.insert(0, {here!r}); from cleave._map import serve; serve(sys.argv[1])"
    words = ["run", "-q", "--persistent", "--split=lines", "--block=1", *_options(options)]
    words += [] if chunksize == 1 else [f"--records={chunksize}"]
    words += [] if ordered else ["--unordered"]
    words += [] if workers is None else [f"-j{workers}"]
    words += ["--quote", "--", python, "-c", code, _function_blob(function)]
    total = len(iterable) if isinstance(iterable, Sized) else None
    told = None if show is None else _Count(show, total)
    return _iterate(words, iterable, ordered, return_exceptions, cwd, env, told)


class _Count:
    """Counts results, and shows that at most five times a second, and at the end."""

    def __init__(self, show: Callable[[Progress], Any], total: Optional[int]) -> None:
        self.show = show
        self.total = total
        self.done = self.failed = 0
        self.from_s = self.next_s = time.monotonic()

    def add(self, good: bool) -> None:
        self.done += 1
        self.failed += not good
        now_s = time.monotonic()
        if now_s < self.next_s and self.done != self.total:
            return
        self.next_s = now_s + 0.2
        elapsed_s = now_s - self.from_s
        left_s = None if self.total is None else elapsed_s / self.done * (self.total - self.done)
        text = f"{self.done} of {self.total} items" if self.total is not None else f"{self.done} items"
        text += f" in {elapsed_s:.1f} s"
        text += f", {left_s:.1f} s to go" if left_s else ""
        text += f", {self.failed} failed" if self.failed else ""
        self.show({"elapsed_s": elapsed_s, "left_s": left_s, "done": self.done, "total": self.total,
                   "failed": self.failed, "text": text})


def _iterate(
    words: List[str],
    iterable: Iterable[Any],
    ordered: bool,
    return_exceptions: bool,
    cwd: Optional[PathLike],
    env: Environment,
    count: Optional[_Count],
) -> Iterator[Any]:
    lines = _Lines(iterable)
    process = start(words, True, cwd, env)
    feeder = Feeder(process, lines, "iterable")
    errors = Reader(process, others=sys.stderr.write)
    try:
        feeder.start()
        for index, good, value in _replies(process, feeder, lines, errors, ordered):
            if count is not None:
                count.add(good)
            if not good:
                error, text = value
                if text is not None:
                    error.__cause__ = ItemError(f"item {index}:\n{text}", index)
                if not return_exceptions:
                    raise error
                value = error
            yield value
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
        if count is not None:
            close(count.show)


def map(function: Callable[[T], R], iterable: Iterable[T], **options: Any) -> List[R]:
    """The list of ``function(item)`` for each item, by processes that stay.

    The function has to be importable by them: at the top level of a module or of the program's own
    file. It may be a coroutine function. An exception of an item is raised here; its cause is an
    ItemError with the number of the item and the traceback of the worker. With
    ``return_exceptions=True`` exceptions are in the list instead. ``ordered=False`` gives results
    as they come, ``chunksize`` is the number of items that a worker gets at a time, and other
    options are those of ``cleave run``: ``workers``, ``hosts``, ``retries``, ``timeout`` (of a
    chunk). Hosts need this package, and the function, for their ``python3``.
    """
    return list(imap(function, iterable, **options))
