"""The command cleave as a process: fed while it runs. SPDX-License-Identifier: MIT"""
from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import subprocess
import sys
import threading
from contextvars import ContextVar
from typing import Any, Callable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._facts import Progress

PathLike = Union[str, "os.PathLike[str]"]
Environment = Optional[Mapping[str, str]]
Show = Union[bool, Callable[[Progress], Any]]  # progress=True, or a function
PART = 1 << 20  # bytes that are read from a file object at a time
REPORT = b'{"progress":'  # start of a line of --progress json
LOG_S = 10.0  # seconds between lines of progress if nothing can be redrawn


class CleaveError(Exception):
    """The command failed: its message and its exit status.

    The message names arguments (``fetch``) for options (``--fetch``). ``result`` is the result
    of a run that began.
    """

    __module__ = "cleave"

    def __init__(self, text: str, status: int, result: Any = None) -> None:
        super().__init__(text)
        self.status = status
        self.result = result


def expect(holds: bool, name: str, expected: str, got: Any) -> None:
    """Refuse the argument `name` unless the condition holds."""
    if not holds:
        raise TypeError(f"{name}: expected {expected}, got {type(got).__name__}")


def _parts(stream: Any) -> Iterator[Any]:
    """What a file object or an iterable gives."""
    if hasattr(stream, "read"):
        while part := stream.read(PART):
            yield part
    else:
        yield from stream


class Feeder(threading.Thread):
    """Writes an iterable of bytes, or what a file object has, to the standard input of a process.

    The iterable is consumed in this thread, no faster than the process reads. If it raises an
    exception, the process is ended, and `finish` raises it again.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", data: Any, name: str) -> None:
        super().__init__(name="cleave-feeder", daemon=True)
        assert process.stdin is not None
        self.process = process
        self.pipe, process.stdin = process.stdin, None
        self.data = data
        self.what = name
        self.wrong: Optional[BaseException] = None

    def run(self) -> None:
        pipe = self.pipe
        try:
            for part in _parts(self.data):
                expect(isinstance(part, (bytes, bytearray, memoryview)), self.what, "bytes", part)
                pipe.write(part)
                if not hasattr(self.data, "read"):
                    pipe.flush()
        except BrokenPipeError:
            pass  # it needs no more, or has failed and says why
        except BaseException as error:  # whatever it is, it belongs to the caller
            self.wrong = error
            self.process.terminate()
        finally:
            try:
                pipe.close()
            except BrokenPipeError:
                pass

    def finish(self) -> None:
        """The process has ended: raise what the iterable has raised."""
        self.join(1)  # an iterable that waits for something is not waited for
        if self.wrong is not None:
            raise self.wrong


class Bar:
    """Progress on standard error: a line that is redrawn on a terminal and in a notebook."""

    def __init__(self) -> None:
        self.redraws = sys.stderr.isatty() or "ipykernel" in sys.modules
        self.wide = 0
        self.next_s = 0.0

    def __call__(self, progress: Progress) -> None:
        text = progress["text"]
        if progress["total"]:
            text = f"{100 * progress['done'] / progress['total']:3.0f}%  {text}"
        if self.redraws:
            sys.stderr.write(f"\r{text:{self.wide}}")
            self.wide = len(text)
        elif progress["elapsed_s"] >= self.next_s:
            sys.stderr.write(f"{text}\n")
            self.next_s = progress["elapsed_s"] + LOG_S
        sys.stderr.flush()

    def close(self) -> None:
        if self.wide:
            sys.stderr.write(f"\r{'':{self.wide}}\r")
            sys.stderr.flush()


class Reader(threading.Thread):
    """Reads standard error of a process: messages are kept, lines of progress go to `show`.

    With `others`, lines that are not messages of cleave go to that function. If `show` raises an
    exception, the process is ended, and `finish` raises it again.
    """

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        show: Optional[Callable[[Progress], Any]] = None,
        others: Optional[Callable[[str], Any]] = None,
    ) -> None:
        super().__init__(name="cleave-reader", daemon=True)
        assert process.stderr is not None
        self.process = process
        self.pipe = process.stderr
        self.show = show
        self.others = others
        self.kept: List[str] = []
        self.wrong: Optional[BaseException] = None
        self.start()

    def run(self) -> None:
        with self.pipe:
            for line in self.pipe:
                if self.show is not None and line.startswith(REPORT):
                    self.tell(self.show, line)
                    continue
                text = line.decode(errors="replace")
                if self.others is not None and not text.startswith("cleave: "):
                    self.others(text)
                else:
                    self.kept.append(text)

    def tell(self, show: Callable[[Progress], Any], line: bytes) -> None:
        try:
            show(json.loads(line)["progress"])
        except BaseException as error:  # whatever it is, it belongs to the caller
            self.wrong = error
            self.show = lambda _: None
            self.process.terminate()

    def finish(self) -> str:
        """The process has ended: its messages."""
        self.join()
        if self.wrong is not None:
            raise self.wrong
        return "".join(self.kept).strip()


def shown(progress: Show) -> Optional[Callable[[Progress], Any]]:
    """The function that gets progress."""
    if progress is True:
        return Bar()
    expect(progress is False or callable(progress), "progress", "True, False or a function", progress)
    return progress or None


def close(show: Optional[Callable[[Progress], Any]]) -> None:
    if isinstance(show, Bar):
        show.close()


class Stop:
    """Ends the process of a call in another thread."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.asked = False
        self.process: "Optional[subprocess.Popen[bytes]]" = None

    def own(self, process: "subprocess.Popen[bytes]") -> None:
        with self.lock:
            self.process = process
            if self.asked:
                process.terminate()

    def __call__(self) -> None:
        with self.lock:
            self.asked = True
            if self.process is not None:
                self.process.terminate()


STOP: "ContextVar[Optional[Stop]]" = ContextVar("cleave.stop", default=None)


@functools.lru_cache(maxsize=None)
def installed() -> str:
    """The command of the wheel that this package comes from, or the name to search for."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        own = importlib.metadata.distribution("cleave")
    except importlib.metadata.PackageNotFoundError:
        return "cleave"
    for file in own.files or ():
        path = os.path.normpath(str(file.locate()))
        if file.name == "cleave" and str(own.locate_file("")) == here and os.access(path, os.X_OK):
            return path
    return "cleave"


def program() -> str:
    return os.environ.get("CLEAVE") or installed()


def start(
    words: Sequence[str], fed: bool, cwd: Optional[PathLike] = None, env: Environment = None
) -> "subprocess.Popen[bytes]":
    expect(cwd is None or isinstance(cwd, (str, os.PathLike)), "cwd", "a path", cwd)
    expect(env is None or isinstance(env, Mapping), "env", "a mapping of texts", env)
    for name, value in (env or {}).items():
        expect(isinstance(name, str) and isinstance(value, str), "env", "texts", (name, value))
    if cwd is not None and not os.path.isdir(cwd):
        raise NotADirectoryError(f"cwd: {os.fspath(cwd)!r} is not a directory")
    stop = STOP.get()
    try:
        process = subprocess.Popen(
            [program(), *words],
            stdin=subprocess.PIPE if fed else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=None if env is None else dict(env),
        )
        if stop is not None:
            stop.own(process)
        return process
    except FileNotFoundError:
        raise CleaveError(
            f"there is no command '{program()}': install cleave, or let CLEAVE name it", 127
        ) from None
    except OSError as error:
        raise CleaveError(f"cannot run '{program()}': {error.strerror}", 126) from None


def communicate(
    process: "subprocess.Popen[bytes]",
    feeder: Optional[Feeder] = None,
    show: Optional[Callable[[Progress], Any]] = None,
) -> Tuple[bytes, str]:
    """Standard output and messages of a process, which is fed meanwhile."""
    assert process.stdout is not None
    reader = Reader(process, show)
    try:
        if feeder is not None:
            feeder.start()
        with process.stdout:
            out = process.stdout.read()
        process.wait()
        reader.join()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    finally:
        close(show)
    if feeder is not None:
        feeder.finish()
    return out, reader.finish()
