"""The command cleave as a process: fed while it runs. SPDX-License-Identifier: MIT"""
from __future__ import annotations

import os
import subprocess
import threading
from typing import Any, Iterator, Mapping, Optional, Sequence, Tuple, Union

PathLike = Union[str, "os.PathLike[str]"]
Environment = Optional[Mapping[str, str]]
PART = 1 << 20  # bytes that are read from a file object at a time


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


def program() -> str:
    return os.environ.get("CLEAVE", "cleave")


def start(
    words: Sequence[str], fed: bool, cwd: Optional[PathLike], env: Environment, errors: Any
) -> "subprocess.Popen[bytes]":
    expect(cwd is None or isinstance(cwd, (str, os.PathLike)), "cwd", "a path", cwd)
    expect(env is None or isinstance(env, Mapping), "env", "a mapping of texts", env)
    for name, value in (env or {}).items():
        expect(isinstance(name, str) and isinstance(value, str), "env", "texts", (name, value))
    if cwd is not None and not os.path.isdir(cwd):
        raise NotADirectoryError(f"cwd: {os.fspath(cwd)!r} is not a directory")
    try:
        return subprocess.Popen(
            [program(), *words],
            stdin=subprocess.PIPE if fed else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=cwd,
            env=None if env is None else dict(env),
        )
    except FileNotFoundError:
        raise CleaveError(
            f"there is no command '{program()}': install cleave, or let CLEAVE name it", 127
        ) from None
    except OSError as error:
        raise CleaveError(f"cannot run '{program()}': {error.strerror}", 126) from None


def communicate(
    process: "subprocess.Popen[bytes]", feeder: Optional[Feeder]
) -> Tuple[bytes, bytes]:
    """Standard output and standard error of a process, which is fed meanwhile."""
    try:
        if feeder is not None:
            feeder.start()
        both = process.communicate()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    if feeder is not None:
        feeder.finish()
    return both
