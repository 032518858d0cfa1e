"""The command cleave, called and its JSON read. SPDX-License-Identifier: MIT"""
from __future__ import annotations

import json
import keyword
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Optional, Sequence, Union

PathLike = Union[str, "os.PathLike[str]"]


class CleaveError(Exception):
    """The command failed: its message and its exit status.

    The message names arguments (``fetch``) for options (``--fetch``). ``result`` is the result
    of a run that began.
    """

    __module__ = "cleave"

    def __init__(self, text: str, status: int, result: Optional["Result"] = None) -> None:
        super().__init__(text)
        self.status = status
        self.result = result


@dataclass
class Result:
    """The result of a run."""

    status: int
    facts: Dict[str, Any] = field(default_factory=dict)  # the JSON of cleave run
    output: Optional[bytes] = None  # None: it is in the file that was asked for
    messages: str = ""  # standard error


def _program() -> str:
    return os.environ.get("CLEAVE", "cleave")


def _options(options: Dict[str, Any]) -> List[str]:
    """Words for the command line: name_of=value is --name-of=value, j=4 is -j4."""
    words: List[str] = []
    for name, value in options.items():
        name = name.strip("_").replace("_", "-")
        flag, between = ("-" + name, "") if len(name) == 1 else ("--" + name, "=")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, (list, tuple)):
            for one in value:
                words.append(f"{flag}{between}{_text(one)}")
        else:
            words.append(f"{flag}{between}{_text(value)}")
    return words


# Options whose arguments have another name here; letters are options with one name only.
_ARGUMENTS = {
    "--arg-file": "items",
    "--null": "items",
    "-a": "items",
    "-i": "input",
    "-j": "workers",
    "-o": "output",
}
_OPTION = re.compile(r"(?<!\w)'[^']*'|(?<![\w/-])(?:--[a-z]+(?:-[a-z]+)*|-[aijo])(?![\w-])")


def _arguments(text: str) -> str:
    """Options in a message as arguments of this package: --max-record is max_record.

    Text in single quotes, such as a command to type, is unchanged.
    """

    def name(found: "re.Match[str]") -> str:
        option = found.group()
        if option.startswith("'"):
            return option
        argument = _ARGUMENTS.get(option, option.lstrip("-").replace("-", "_"))
        return argument + "_" if keyword.iskeyword(argument) else argument

    return _OPTION.sub(name, text)


def _text(value: Any) -> str:
    return os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else str(value)


def _words(command: Union[str, Sequence[Any]]) -> List[str]:
    if isinstance(command, str):
        return [command]
    if callable(command):
        raise TypeError(
            "command: expected its words, got a function: put it into a script that ends in "
            "cleave.worker(function), and run that with persistent=True"
        )
    return [_text(word) for word in command]


def _refuse_line(command: Union[str, Sequence[Any]]) -> None:
    """A command that gets chunks is a program and its arguments; no shell parts a line."""
    if isinstance(command, str) and " " in command.strip() and shutil.which(command) is None:
        raise ValueError(
            f"command: expected its words, {command.split()}, or a line for a shell, "
            f"{['sh', '-c', command]}, got {command!r}"
        )


def _start(words: Sequence[str], data: Optional[bytes]) -> "subprocess.CompletedProcess[bytes]":
    try:
        return subprocess.run(
            [_program(), *words],
            input=data,
            stdin=subprocess.DEVNULL if data is None else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            check=False,
        )
    except FileNotFoundError:
        raise CleaveError(
            f"there is no command '{_program()}': install cleave, or let CLEAVE name it", 127
        ) from None
    except OSError as error:
        raise CleaveError(f"cannot run '{_program()}': {error.strerror}", 126) from None


def _said(done: "subprocess.CompletedProcess[bytes]") -> str:
    return done.stderr.decode(errors="replace").strip()


def call(*words: str, **options: Any) -> Dict[str, Any]:
    """The JSON of any verb: ``call("simulate", "load", platform="p.yaml", load=2000)``."""
    done = _start([*words, "--json", *_options(options)], None)
    if done.returncode != 0:
        raise CleaveError(_arguments(_said(done)), done.returncode)
    result: Dict[str, Any] = json.loads(done.stdout)
    return result


def plan(what: str = "load", **options: Any) -> Dict[str, Any]:
    """A plan: ``plan("load", platform="p.yaml", load="20 GB")``, reduce, streams or items."""
    return call("plan", what, **options)


def _inputs(
    given: Union[None, bytes, PathLike, Sequence[PathLike]]
) -> "tuple[List[str], Optional[bytes]]":
    if given is None:
        return [], None
    if isinstance(given, bytes):
        return [], given
    if isinstance(given, (str, os.PathLike)):
        given = [given]
    return [f"--input={os.fspath(name)}" for name in given], None


def _made_in(folder: str) -> Optional[bytes]:
    """The output, or what there is of it where something failed."""
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as made:
            return made.read()
    return None


def run(
    command: Union[str, Sequence[Any]],
    *,
    input: Union[None, bytes, PathLike, Sequence[PathLike]] = None,
    items: Optional[Iterable[Any]] = None,
    output: Optional[PathLike] = None,
    check: bool = True,
    **options: Any,
) -> Result:
    """Run a command over an input, in chunks, or once for each of some items.

    ``input`` is a file, several, or bytes. ``output`` is a file; without it the output is in
    the result. A run that fails is a CleaveError, unless ``check`` is false. Items may be
    texts, paths and numbers.
    """
    called = _words(command)
    if items is None and not options.get("cat"):
        _refuse_line(command)
    words, data = _inputs(input)
    if items is not None:
        if data is not None:
            raise ValueError("items and an input of bytes cannot both be given")
        words += ["--null", "--arg-file=-"]
        data = b"".join(os.fsencode(_text(item)) + b"\0" for item in items)
    with tempfile.TemporaryDirectory(prefix="cleave-") as folder:
        path = os.fspath(output) if output is not None else os.path.join(folder, "out")
        words = ["run", "--json", f"--output={path}", *words, *_options(options), "--"]
        done = _start(words + called, data)
        result = Result(done.returncode, messages=_said(done))
        if done.stdout:
            result.facts = json.loads(done.stdout)
        if output is None:
            result.output = _made_in(folder)
            result.messages = "\n".join(
                line for line in result.messages.splitlines() if folder not in line
            )
    if check and done.returncode != 0:
        raise CleaveError(_arguments(result.messages), done.returncode, result)
    return result
