"""The command cleave, called and its JSON read. SPDX-License-Identifier: MIT"""
from __future__ import annotations

import json
import keyword
import os
import re
import shlex
import tempfile
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union, cast

from ._facts import Check, Facts, Plan
from ._process import CleaveError, Environment, Feeder, PathLike, Show, communicate, expect, shown, start


@dataclass
class Result:
    """The result of a run."""

    status: int
    facts: Facts = field(default_factory=lambda: cast(Facts, {}))  # {}: the run did not begin
    output: Optional[bytes] = None  # None: it is in the file that was asked for
    messages: str = ""  # standard error


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
                words.append(f"{flag}{between}{_text(one, name)}")
        else:
            words.append(f"{flag}{between}{_text(value, name)}")
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


def _text(value: Any, name: str) -> str:
    """A text, path, number or bytes as a text."""
    expect(isinstance(value, (str, bytes, os.PathLike, int, float)), name, "texts or numbers", value)
    text = os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else str(value)
    if "\0" in text:
        raise ValueError(f"{name}: expected texts without the character NUL, got {text!r}")
    return text


def _words(command: Union[str, Sequence[Any]]) -> List[str]:
    """A line for the shell is one word; words of a list reach the program unchanged."""
    if isinstance(command, str):
        return ["--", command]
    if callable(command):
        raise TypeError(
            "command: expected a line or a list of words, got a function: cleave.map runs it for "
            "each item, and a script that ends in cleave.worker(function) for chunks"
        )
    expect(isinstance(command, (list, tuple)), "command", "a line or a list of words", command)
    if not command:
        raise ValueError("command: expected at least one word, got none")
    return ["--quote", "--", *(_text(word, "command") for word in command)]


def call(*words: str, **options: Any) -> Dict[str, Any]:
    """The JSON of any verb: ``call("policies")``, ``call("replay", "run.trace")``."""
    process = start([*words, "--json", *_options(options)], False)
    out, messages = communicate(process)
    if process.returncode != 0:
        raise CleaveError(_arguments(messages), process.returncode)
    result: Dict[str, Any] = json.loads(out)
    return result


def plan(what: str = "load", **options: Any) -> Plan:
    """A plan: ``plan("load", platform="p.yaml", load="20 GB")``, reduce, streams, items or loads.

    The type of the result is that of a load; the others have the fields of docs/guide/json.md.
    """
    return cast(Plan, call("plan", what, **options))


def simulate(what: str = "load", **options: Any) -> Dict[str, Any]:
    """Simulated runs: ``simulate("load", platform="p.yaml", load=2000, error=0.2, runs=100)``."""
    return call("simulate", what, **options)


def compare(what: str = "load", **options: Any) -> Dict[str, Any]:
    """All policies side by side: ``compare("load", platform="p.yaml", load=2000)["rows"]``."""
    return call("compare", what, **options)


def check(
    command: Union[str, Sequence[Any]],
    *,
    input: Any,
    cwd: Optional[PathLike] = None,
    env: Environment = None,
    **options: Any,
) -> Check:
    """Whether a command can run on pieces of this input: verdict "records", "reduce" or "no".

    ``reduce`` of the result is the argument for ``run``: ``run(command, input=..., reduce="sum")``.
    ``input`` is what ``run`` takes, and options are those of ``cleave check``: ``sample``, ``split``.
    """
    called = _words(command)[1 if isinstance(command, str) else 2:]
    if not isinstance(command, str) and shlex.join(called) != " ".join(called):
        called = [shlex.join(called)]  # for the shell, which finds the words again
    words, data = _inputs(input)
    words = ["check", "-q", "--json", *words, *_options(options), "--", *called]
    process = start(words, data is not None, cwd, env)
    out, messages = communicate(process, Feeder(process, data, "input") if data is not None else None)
    if not out:
        raise CleaveError(_arguments(messages), process.returncode)
    result: Check = {**json.loads(out), "message": messages}
    return result


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def _inputs(given: Any) -> Tuple[List[str], Any]:
    """Words that name files, or what is fed: bytes, a file object or an iterable of bytes."""
    if given is None or isinstance(given, (bytes, bytearray, memoryview)):
        return [], given if given is None else [given]
    if _is_path(given):
        given = [given]
    if isinstance(given, (list, tuple)) and any(_is_path(name) for name in given):
        for name in given:
            expect(_is_path(name), "input", "paths only, or bytes only", name)
        return [f"--input={os.fspath(name)}" for name in given], None
    expect(
        hasattr(given, "read") or hasattr(given, "__iter__"),
        "input", "a path, several paths, bytes, a file object or an iterable of bytes", given,
    )
    return [], given


def _listed(items: Iterable[Any]) -> Iterator[bytes]:
    for item in items:
        yield os.fsencode(_text(item, "items")) + b"\0"


def _made_in(folder: str) -> Optional[bytes]:
    """The output, or what there is of it where something failed."""
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as made:
            return made.read()
    return None


def run(
    command: Union[str, Sequence[Any]],
    *,
    input: Any = None,
    items: Optional[Iterable[Any]] = None,
    output: Optional[PathLike] = None,
    check: bool = True,
    cwd: Optional[PathLike] = None,
    env: Environment = None,
    progress: Show = False,
    **options: Any,
) -> Result:
    """Run a command over an input, in chunks, or once for each of some items.

    ``command`` is a list of words, which no shell reads, or a line for a shell. ``input`` is a
    path, several paths, bytes, a file object of bytes, or an iterable of bytes; the last two are
    streamed by another thread. ``items`` is an iterable of texts, paths and numbers; it is streamed
    as well. ``output`` is a path; without it the output is in the result. ``cwd`` and ``env`` are
    those of the command. ``progress=True`` shows progress on standard error; a function gets it as
    a dict, at most five times a second, in another thread. A run that fails is a CleaveError,
    unless ``check`` is false.
    """
    show = shown(progress)
    called = _words(command)
    words, data = _inputs(input)
    name = "input"
    expect(output is None or _is_path(output), "output", "a path", output)
    if items is not None:
        expect(
            hasattr(items, "__iter__") and not isinstance(items, (str, bytes)),
            "items", "an iterable of texts", items,
        )
        if data is not None:
            raise ValueError("items and an input of bytes cannot both be given")
        words += ["--null", "--arg-file=-"]
        data = _listed(items)
        name = "items"
    with tempfile.TemporaryDirectory(prefix="cleave-") as folder:
        path = os.fspath(output) if output is not None else os.path.join(folder, "out")
        words = ["run", "--json", f"--output={path}", *words, *_options(options)]
        words += [] if show is None else ["--progress=json"]
        process = start(words + called, data is not None, cwd, env)
        feeder = Feeder(process, data, name) if data is not None else None
        out, messages = communicate(process, feeder, show)
        result = Result(process.returncode, messages=messages)
        if out:
            result.facts = json.loads(out)
        if output is None:
            result.output = _made_in(folder)
            result.messages = "\n".join(
                line for line in result.messages.splitlines() if folder not in line
            )
    if check and result.status != 0:
        raise CleaveError(_arguments(result.messages), result.status, result)
    return result
