"""cleave from Python does what the command does. SPDX-License-Identifier: MIT"""
import asyncio
import contextlib
import email.utils
import hashlib
import http.server
import importlib.util
import io
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile
from pathlib import Path
from typing import Any, AsyncIterator, Awaitable, Callable, Dict, Iterator, List, Set, Tuple, Union
from unittest import mock

TOP = os.environ.get("CLEAVE_SOURCE_DIR") or os.path.join(os.path.dirname(__file__), "..", "..")
sys.path.insert(0, os.path.join(TOP, "python"))

import cleave  # noqa: E402

UNEQUAL = os.path.join(TOP, "examples", "unequal.yaml")


def frame(data: bytes) -> bytes:
    return len(data).to_bytes(8, "big") + data


class Worker(unittest.TestCase):
    def answers(
        self, answer: Callable[[bytes], Union[bytes, str, None, Awaitable[bytes]]], data: bytes
    ) -> bytes:
        out = io.BytesIO()
        cleave.worker(answer, chunks=io.BytesIO(data), answers=out)
        return out.getvalue()

    def test_frames(self) -> None:
        made = self.answers(bytes.upper, frame(b"one\n") + frame(b"") + frame(b"two\n"))
        self.assertEqual(made, frame(b"ONE\n") + frame(b"") + frame(b"TWO\n"))

    def test_texts_and_nothing(self) -> None:
        self.assertEqual(self.answers(lambda c: "é", frame(b"x")), frame("é".encode()))
        self.assertEqual(self.answers(lambda c: None, frame(b"x")), frame(b""))

    def test_an_exception_fails_its_chunk_only(self) -> None:
        def divide(chunk: bytes) -> str:
            return str(6 // int(chunk))

        old, sys.stderr = sys.stderr, io.StringIO()
        try:
            made = self.answers(divide, frame(b"3") + frame(b"0") + frame(b"2"))
            self.assertIn("ZeroDivisionError", sys.stderr.getvalue())
        finally:
            sys.stderr = old
        self.assertEqual(made, frame(b"2") + b"\xff" * 8 + frame(b"3"))

    def test_a_chunk_that_is_cut_short(self) -> None:
        with self.assertRaises(EOFError):
            self.answers(bytes.upper, frame(b"whole") + (9).to_bytes(8, "big") + b"part")


    def test_coroutines_and_bad_answers(self) -> None:
        async def upper(chunk: bytes) -> bytes:
            return chunk.upper()

        self.assertEqual(self.answers(upper, frame(b"a")), frame(b"A"))
        old, sys.stderr = sys.stderr, io.StringIO()
        try:
            self.assertEqual(self.answers(len, frame(b"a")), b"\xff" * 8)  # type: ignore[arg-type]
            self.assertIn("answer: expected bytes, text or None, got int", sys.stderr.getvalue())
        finally:
            sys.stderr = old


def square(item: int) -> int:
    if item == 13:
        raise ValueError("unlucky")
    if item == 99:
        os._exit(3)
    return item * item


def begin(mark: str) -> None:
    Path(mark).touch()
    time.sleep(600)


async def after(item: int) -> int:
    return item + 1


class Map(unittest.TestCase):
    def test_results_are_in_order(self) -> None:
        self.assertEqual(cleave.map(square, range(200, 500), workers=2),
                         [i * i for i in range(200, 500)])
        self.assertEqual(sorted(cleave.map(square, [3, 1, 2], workers=2, ordered=False)), [1, 4, 9])
        self.assertEqual(cleave.map(after, [1, 2], workers=1, chunksize=2), [2, 3])
        self.assertEqual(cleave.map(square, [], workers=1), [])
        self.assertEqual(cleave.map(str.upper, ["é\n", ""], workers=1), ["É\n", ""])

    def test_hosts(self) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("workers:\n  - {name: a, speed: 1, bandwidth: 1, slots: 2, command: env}\n")
            file.flush()
            self.assertEqual(cleave.map(square, range(5), hosts=file.name), [0, 1, 4, 9, 16])

    def test_results_come_while_items_do(self) -> None:
        seen: List[int] = []

        def items() -> Iterator[int]:
            yield 2
            while not seen:
                time.sleep(0.01)
            yield 3

        for result in cleave.imap(square, items(), workers=1):
            seen.append(result)
        self.assertEqual(seen, [4, 9])

    def test_a_caller_that_stops_ends_the_workers(self) -> None:
        for result in cleave.imap(square, itertools.count(100), workers=1):
            self.assertEqual(result, 10000)
            break

    def test_exceptions(self) -> None:
        with self.assertRaisesRegex(ValueError, "unlucky") as caught:
            cleave.map(square, [1, 13, 2], workers=1)
        assert isinstance(caught.exception.__cause__, cleave.ItemError)
        self.assertEqual(caught.exception.__cause__.index, 1)
        self.assertIn('raise ValueError("unlucky")', str(caught.exception.__cause__))
        for ordered in (True, False):
            got: List[Any] = cleave.map(square, [1, 13, 99, 2], workers=1, ordered=ordered,
                                        return_exceptions=True)
            self.assertEqual(sorted(i for i in got if isinstance(i, int)), [1, 4])
            self.assertEqual({type(i) for i in got}, {int, ValueError, cleave.ItemError})
        self.assertIsInstance(cleave.map(square, [99], return_exceptions=True)[0], cleave.ItemError)

    def test_bad_arguments(self) -> None:
        with self.assertRaisesRegex(TypeError, "function: expected a function, got int"):
            cleave.map(3, [1])  # type: ignore[arg-type,var-annotated]
        with self.assertRaisesRegex(TypeError, "iterable: expected an iterable, got int"):
            cleave.map(square, 3)  # type: ignore[arg-type]
        with self.assertRaisesRegex(cleave.CleaveError, "did you mean '--split'"):
            cleave.map(square, [1], spilt="x")
        if importlib.util.find_spec("cloudpickle") is None:
            with self.assertRaisesRegex(TypeError, "at the top level of a module"):
                cleave.map(lambda item: item, [1])

        def breaks() -> Iterator[int]:
            yield 1
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            cleave.map(square, breaks(), workers=1)


class Command(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.numbers = os.path.join(self.folder, "numbers")
        with open(self.numbers, "w") as file:
            file.writelines(f"{i}\n" for i in range(5000))

    def test_chunks(self) -> None:
        done = cleave.run(["cat"], input=self.numbers, workers=2, block="4k")
        with open(self.numbers, "rb") as file:
            self.assertEqual(done.output, file.read())
        self.assertEqual(done.facts["exit_status"], 0)
        self.assertGreater(done.facts["chunks"], 1)
        self.assertEqual(len(done.facts["workers"]), 2)

    def test_backups(self) -> None:
        hangs = f"cat; ! mkdir {self.folder}/taken 2>/dev/null || kill -STOP $$"
        line = ["sh", "-c", hangs]
        done = cleave.run(line, input=self.numbers, workers=2, block="4k", backups="auto")
        with open(self.numbers, "rb") as file:
            self.assertEqual(done.output, file.read())
        self.assertGreater(done.facts["backups"], 0)
        done = cleave.run(line, input=self.numbers, workers=2, backups="off")
        self.assertEqual(done.facts["backups"], 0)
        with self.assertRaisesRegex(cleave.CleaveError, "backups: expected auto, on or off"):
            cleave.run(line, input=self.numbers, backups="never")

    def test_bytes_and_a_file(self) -> None:
        path = os.path.join(self.folder, "out")
        done = cleave.run(["tr", "a", "b"], input=b"a\na\n", output=path)
        self.assertIsNone(done.output)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"b\nb\n")

    def test_items(self) -> None:
        done = cleave.run(["echo", "[{}]"], items=["a b", "c\nd"], workers=2)
        self.assertEqual(done.output, b"[a b]\n[c\nd]\n")
        done = cleave.run(["echo"], items=[1, 2.5, Path("a/b"), b"c"], j=1)
        self.assertEqual(done.output, b"1\n2.5\na/b\nc\n")
        self.assertEqual(len(done.facts["workers"]), 1)

    def test_a_function_is_no_command(self) -> None:
        with self.assertRaisesRegex(TypeError, "cleave.map runs it"):
            cleave.run(len, input=self.numbers)  # type: ignore[arg-type]

    def test_a_list_is_words_and_a_text_is_a_line(self) -> None:
        run = cleave.run
        self.assertEqual(run(["sh", "-c", "exit 3"], items=[1], check=False).status, 1)
        self.assertEqual(run(["echo", "$(id -u)", "|", "{}"], items=["x"]).output, b"$(id -u) | x\n")
        self.assertEqual(run(["echo", "a  b", ";", "echo"], input=b"x\n").output, b"a  b ; echo\n")
        self.assertEqual(run("tr a b | cat", input=b"a\n").output, b"b\n")
        with self.assertRaisesRegex(ValueError, "command: expected at least one word"):
            run([], input=b"x\n")
        with self.assertRaisesRegex(TypeError, "command: expected texts or numbers, got NoneType"):
            run(["echo", None], input=b"x\n")
        # A single word is a program.
        self.assertEqual(cleave.run("echo x {}", items=["y"]).output, b"x y\n")
        counted = cleave.run("wc -l <{}", input=self.numbers, cat=True, block="10MB").output
        self.assertEqual(counted, cleave.run(["wc", "-l"], input=self.numbers, block="10MB").output)
        self.assertIsNotNone(cleave.run("cat", input=self.numbers).output)

    def test_streams(self) -> None:
        lines = (b"%d\n" % i for i in range(100000))
        counted = cleave.run("wc -c", input=lines, workers=2).output or b""
        self.assertEqual(sum(int(n) for n in counted.split()), 588890)
        with open(self.numbers, "rb") as file:
            file.readline()
            self.assertEqual((cleave.run(["cat"], input=file).output or b"")[:4], b"1\n2\n")
        self.assertEqual(cleave.run(["cat"], input=io.BytesIO(b"a\nb\n")).output, b"a\nb\n")
        self.assertEqual(cleave.run(["cat"], input=[b"a\n", b"b\n"]).output, b"a\nb\n")
        self.assertEqual(cleave.run(["echo"], items=(i for i in range(3))).output, b"0\n1\n2\n")

        def breaks() -> Iterator[bytes]:
            yield b"1\n"
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            cleave.run(["cat"], input=breaks())
        # A command that ends before it has read all does not hold up the run.
        self.assertEqual(cleave.run("head -n 1", input=[b"1\n"] * 100000, block="10MB").status, 0)

    def test_bad_types_are_refused_by_name(self) -> None:
        bad: List[Tuple[Dict[str, Any], str]] = [
            ({"input": 3}, "input: expected a path, .*, got int"),
            ({"input": ["a", b"b"]}, "input: expected paths only, or bytes only, got bytes"),
            ({"input": io.StringIO("x")}, "input: expected bytes, got str"),
            ({"items": "abc"}, "items: expected an iterable of texts, got str"),
            ({"items": [None]}, "items: expected texts or numbers, got NoneType"),
            ({"input": b"x", "output": 4}, "output: expected a path, got int"),
            ({"input": b"x", "cwd": 4}, "cwd: expected a path, got int"),
            ({"input": b"x", "env": ["a"]}, "env: expected a mapping of texts, got list"),
            ({"input": b"x", "env": {"a": 1}}, "env: expected texts, got tuple"),
            ({"input": b"x", "split": b"a".join}, "split: expected texts or numbers, got builtin"),
        ]
        for arguments, message in bad:
            with self.assertRaisesRegex(TypeError, message):
                cleave.run(["cat"], **arguments)
        with self.assertRaisesRegex(ValueError, "items: expected texts without the character NUL"):
            cleave.run(["echo"], items=["a\0b"])

    def test_folder_and_environment(self) -> None:
        env = {"MARK": "here", "PATH": os.environ["PATH"]}
        done = cleave.run("pwd; echo $MARK", input=b"x\n", cwd=self.folder, env=env)
        self.assertEqual(done.output, os.fsencode(os.path.realpath(self.folder)) + b"\nhere\n")
        with self.assertRaisesRegex(NotADirectoryError, "cwd: '/nowhere' is not a directory"):
            cleave.run(["cat"], input=b"x", cwd="/nowhere")

    def test_a_persistent_command(self) -> None:
        command = os.path.join(self.folder, "count.py")
        with open(command, "w") as file:
            file.write(
                f"import sys\nsys.path.insert(0, {os.path.join(TOP, 'python')!r})\nimport cleave\n"
                "def count(chunk):\n    print('not an answer')\n"
                "    return '%d\\n' % chunk.count(b'\\n')\n"
                "cleave.worker(count)\n"
            )
        done = cleave.run(
            [sys.executable, command], input=self.numbers, persistent=True, workers=2, block="8k"
        )
        self.assertEqual(sum(int(n) for n in (done.output or b"").split()), 5000)
        # Without persistent=True it would take text for a length.
        with self.assertRaisesRegex(cleave.CleaveError, "as 'cleave run --persistent' sends"):
            cleave.run([sys.executable, command], input=self.numbers, workers=1, block="1M")

    def test_messages_name_arguments(self) -> None:
        for said, named in (
            ("--fetch: expected --size BYTES", "fetch: expected size BYTES"),
            ("cleave: --max-record is too small", "cleave: max_record is too small"),
            ("--arg-file or -i FILE, not -o", "items or input FILE, not output"),
            ("use --pin=cores, or --return NAME", "use pin=cores, or return_ NAME"),
            ("'--fetch' is not known; see 'cleave run --help'", None),
            ("don't use --halt", "don't use halt"),
            ("a/--x, x--y, a-i, --, - and -v stay", None),
        ):
            self.assertEqual(cleave._command._arguments(said), said if named is None else named)

    def test_a_refused_argument_has_its_name(self) -> None:
        with self.assertRaisesRegex(cleave.CleaveError, "^cleave: commutative needs reduce CMD$"):
            cleave.run(["cat"], input=self.numbers, commutative=True)
        with self.assertRaisesRegex(cleave.CleaveError, "expected load or lifespan, got both"):
            cleave.plan("load", platform=UNEQUAL, load=1, lifespan=1)

    def test_what_fails_is_told(self) -> None:
        with self.assertRaises(cleave.CleaveError) as caught:
            cleave.run(["false"], input=self.numbers, workers=1)
        self.assertEqual(caught.exception.status, 1)
        self.assertIn("exited with status 1", str(caught.exception))
        assert caught.exception.result is not None
        self.assertEqual(caught.exception.result.facts["exit_status"], 1)
        done = cleave.run(["false"], input=self.numbers, workers=1, check=False)
        self.assertEqual(done.status, 1)
        # What commands have written is there, and nothing is said of files that are not.
        done = cleave.run("echo {}; test {} != 2", items=[1, 2, 3], check=False)
        self.assertEqual((done.status, done.output), (1, b"1\n2\n3\n"))
        self.assertNotIn("was not made", done.messages)
        self.assertIn("item 2", done.messages)
        with self.assertRaisesRegex(cleave.CleaveError, "did you mean '--split'"):
            cleave.run(["cat"], input=self.numbers, spilt="csv")

    def test_a_command_that_is_not_there(self) -> None:
        old = os.environ.get("CLEAVE")
        os.environ["CLEAVE"] = "/nowhere/cleave"
        try:
            with self.assertRaisesRegex(cleave.CleaveError, "install cleave"):
                cleave.plan("load", platform=UNEQUAL, load=1)
            os.environ["CLEAVE"] = self.numbers
            with self.assertRaisesRegex(cleave.CleaveError, "Permission denied"):
                cleave.plan("load", platform=UNEQUAL, load=1)
        finally:
            del os.environ["CLEAVE"]
            if old is not None:
                os.environ["CLEAVE"] = old

    def test_plans(self) -> None:
        plan = cleave.plan("load", platform=UNEQUAL, load=2000, policy="umr")
        self.assertEqual(plan["policy"], "umr")
        self.assertGreaterEqual(plan["makespan"], plan["bound"]["value"])
        tree = cleave.plan("reduce", nodes=8, transfer=1, compute=1)
        self.assertEqual(tree["length"], 5.0)
        with self.assertRaisesRegex(cleave.CleaveError, "expected"):
            cleave.plan("load", platform=UNEQUAL, load=-1)


class Shown(unittest.TestCase):
    def test_progress_of_a_run(self) -> None:
        seen: List[cleave.Progress] = []

        def lines() -> Iterator[bytes]:
            yield b"1\n"
            while not seen:
                time.sleep(0.01)
            yield b"2\n"

        done = cleave.run(["cat"], input=lines(), progress=seen.append)
        self.assertEqual(done.output, b"1\n2\n")
        self.assertEqual(done.messages, "")
        self.assertEqual(set(seen[0]), set(cleave.Progress.__annotations__))
        self.assertIsNone(seen[0]["total"])

    def test_an_exception_of_the_function_ends_the_run(self) -> None:
        def fail(progress: cleave.Progress) -> None:
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            cleave.run(["sleep", "600"], input=b"x\n", progress=fail)
        with self.assertRaisesRegex(KeyError, "mine"):
            cleave.map(square, [1, 2], progress=fail)
        with self.assertRaisesRegex(TypeError, "progress: expected True, False or a function, got int"):
            cleave.run(["cat"], input=b"", progress=3)  # type: ignore[arg-type]

    def test_progress_of_items(self) -> None:
        seen: List[cleave.Progress] = []
        cleave.map(square, [1, 13, 2], progress=seen.append, return_exceptions=True)
        self.assertEqual((seen[-1]["done"], seen[-1]["total"], seen[-1]["failed"]), (3, 3, 1))
        self.assertRegex(seen[-1]["text"], "^3 of 3 items in .* s, 1 failed$")

    def test_a_line_is_drawn_and_erased(self) -> None:
        told: cleave.Progress = {"elapsed_s": 1.0, "left_s": None, "done": 1, "total": 4, "failed": 0, "text": "x"}
        for terminal, drawn in ((True, "\r 25%  x\r       \r"), (False, " 25%  x\n")):
            with mock.patch("sys.stderr", io.StringIO()) as screen:
                with mock.patch.object(screen, "isatty", lambda on=terminal: on):
                    bar = cleave._process.Bar()
                    bar(told)
                    if not terminal:
                        bar({**told, "elapsed_s": 10.9})
                    cleave._process.close(bar)
                    self.assertEqual(screen.getvalue(), drawn)


class Loop(unittest.TestCase):
    def test_calls_run_at_the_same_time(self) -> None:
        async def both() -> List[Any]:
            return list(await asyncio.gather(
                cleave.run_async(["cat"], input=b"a\n"), cleave.map_async(square, [2, 3])))

        done, squares = asyncio.run(both())
        self.assertEqual((done.output, squares), (b"a\n", [4, 9]))

    def test_a_cancelled_task_ends_its_command(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            mark = os.path.join(folder, "begun")

            async def cancel(coroutine: Any) -> None:
                task = asyncio.ensure_future(coroutine)
                while not os.path.exists(mark) and not task.done():
                    await asyncio.sleep(0.01)
                os.unlink(mark)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task

            before = threading.active_count()
            asyncio.run(cancel(cleave.run_async(f"touch {mark}; sleep 600", input=b"x\n")))
            asyncio.run(cancel(cleave.map_async(begin, [mark])))
            self.assertLessEqual(threading.active_count(), before)

    def test_items_that_come_later(self) -> None:
        async def items() -> AsyncIterator[int]:
            for item in (1, 2):
                await asyncio.sleep(0)
                yield item

        async def first() -> int:
            async for result in cleave.imap_async(square, items(), workers=1):
                return result
            return -1

        self.assertEqual(asyncio.run(cleave.map_async(square, items())), [1, 4])
        self.assertEqual(asyncio.run(first()), 1)

        async def broken() -> AsyncIterator[int]:
            yield 1
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            asyncio.run(cleave.map_async(square, broken()))


class Facts(unittest.TestCase):
    """The types name the members that are there."""

    def same(self, facts: Any, kind: Any, optional: Set[str] = frozenset()) -> None:  # type: ignore[assignment]
        self.assertEqual(set(facts) | optional, set(kind.__annotations__) | set(facts) & optional)

    def test_runs(self) -> None:
        facts = cleave._facts
        done = cleave.run("grep -q 7 || exit 3", input=b"1\n7\n2\n", isolate=True, check=False)
        weights = {"items", "weight", "heaviest", "tail_s"}
        self.same(done.facts, cleave.Facts, weights)
        self.same(done.facts["workers"][0], facts.Worker)
        self.same(done.facts["failed"][0], facts.Range)
        self.same(done.facts["bad_records"][0], facts.BadRecords)
        done = cleave.run(["cat"], input=b'{"n": 1}\n', split="jsonl", weight=".n")
        self.same(done.facts, cleave.Facts, {"items"})
        done = cleave.run(["echo"], items=["a"])
        self.same(done.facts, cleave.Facts, weights - {"items"})

    def test_plans_and_checks(self) -> None:
        plan = cleave.plan(platform=UNEQUAL, load=2000)
        self.assertEqual(set(cleave.Plan.__annotations__) - set(plan), set())
        self.same(plan["chunks"][0], cleave._facts.Chunk, {"return_start", "return_end"})
        self.same(cleave.check(["wc", "-l"], input=b"a\nb\n"), cleave.Check)

    def test_a_check_of_what_cannot_be_checked(self) -> None:
        with self.assertRaisesRegex(cleave.CleaveError, "no-file"):
            cleave.check(["cat"], input="no-file")


class Guide(unittest.TestCase):
    def test_the_examples_print_their_comments(self) -> None:
        page = (Path(TOP) / "docs" / "guide" / "python.md").read_text()
        blocks = re.findall(r"```python\n(.*?)```", page, re.S)
        self.assertGreaterEqual(len(re.findall(r"print\(.*\)  # ", page)), 34)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([cleave._process.program(), "sample"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
            for number, block in enumerate(blocks):
                path = os.path.join(folder, f"example_{number}.py")
                Path(path).write_text(block)
                env = {**os.environ, "PYTHONPATH": os.path.join(TOP, "python")}
                done = subprocess.run([sys.executable, path], cwd=folder, env=env, text=True, capture_output=True)
                expected = re.findall(r"print\(.*\)  # (.*)", block)
                with self.subTest(example=block):
                    self.assertEqual((done.stdout.splitlines(), done.returncode), (expected, 0), done.stderr)


class Package(unittest.TestCase):
    def test_versions_are_those_of_the_command(self) -> None:
        with open(os.path.join(TOP, "include", "cleave", "version.h")) as file:
            found = re.search('CLEAVE_VERSION "(.*)"', file.read())
        assert found is not None
        version = found.group(1)
        self.assertEqual(cleave.__version__, version)
        with open(os.path.join(TOP, "python", "pyproject.toml")) as file:
            self.assertIn(f'\nversion = "{version}"\n', file.read())

    @unittest.skipUnless(shutil.which("mypy"), "mypy is not there")
    def test_types(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                ["mypy", "--strict", "--scripts-are-modules", "--cache-dir", folder, "python/cleave",
                 "python/tests/test_cleave.py", "tools/make-wheel"],
                check=True, cwd=TOP,
            )

    def test_a_wheel_with_the_command(self) -> None:
        build = os.environ.get("CLEAVE_BUILD_DIR", os.path.join(TOP, "build"))
        machine = os.uname().machine
        if not os.path.exists(os.path.join(build, "cleave-portable")):
            self.skipTest("cleave-portable is not built")
        if importlib.util.find_spec("ensurepip") is None:
            self.skipTest("this Python cannot make a folder of its own with pip")
        maker = [sys.executable, os.path.join(TOP, "tools", "make-wheel")]
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.check_output([*maker, folder, machine, build], text=True).strip()
            self.assertIn(f"-py3-none-manylinux_2_17_{machine}.musllinux_1_1_{machine}.whl", made)
            again = subprocess.check_output([*maker, folder + "/again", machine, build], text=True).strip()
            self.assertEqual(Path(made).read_bytes(), Path(again).read_bytes())
            other = {"x86_64": "aarch64", "aarch64": "x86_64"}.get(machine, "sparc")
            for words, said in (([other, build], f"expected a program for {other}|expected one of"),
                                (["sparc", build], "expected one of x86_64, aarch64, got 'sparc'"),
                                ([machine, folder], "no cleave-portable; build the target")):
                done = subprocess.run([*maker, folder, *words], text=True, capture_output=True)
                self.assertRegex(done.stderr, f"^make-wheel: .*({said})")
            strange = Path(folder) / "strange" / "cleave-portable"  # the head of a program
            strange.parent.mkdir()
            strange.write_bytes(b"\x7fELF".ljust(18, b"\0") + (62 if other == "x86_64" else 183).to_bytes(2, "little"))
            for name in ("x86_64", "aarch64"):
                done = subprocess.run([*maker, folder, name, str(strange.parent)], text=True, capture_output=True)
                self.assertEqual(done.returncode == 0, name == other, done.stderr)
            home = os.path.join(folder, "home")
            subprocess.run([sys.executable, "-m", "venv", home], check=True)
            python = os.path.join(home, "bin", "python")
            env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
            subprocess.run([python, "-m", "pip", "-q", "install", "--no-index", made], check=True, env=env,
                           stderr=subprocess.DEVNULL)
            code = ("import cleave, cleave._process as p; print(p.program()); "
                    "print(cleave.run('wc -l', input=b'a\\n' * 1000, reduce='sum').output)")
            said = subprocess.check_output([python, "-I", "-c", code], text=True, env=env)
            self.assertEqual(said, f"{os.path.realpath(home)}/bin/cleave\nb'1000\\n'\n")
            said = subprocess.check_output([os.path.join(home, "bin", "cleave"), "--version"], text=True)
            self.assertIn(cleave.__version__, said)

    def test_a_wheel(self) -> None:
        sums = set()
        for _ in range(2):
            with tempfile.TemporaryDirectory() as folder:
                made = subprocess.check_output(
                    [sys.executable, os.path.join(TOP, "tools", "make-wheel"), folder], text=True
                ).strip()
                with open(made, "rb") as file:
                    sums.add(hashlib.sha256(file.read()).hexdigest())
                # It can be used as it is.
                said = subprocess.check_output(
                    [sys.executable, "-I", "-c",
                     f"import sys; sys.path.insert(0, {made!r}); import cleave; "
                     "print(cleave.__version__, cleave.__file__)"], text=True)
                self.assertIn(f"{cleave.__version__} {made}", said)
                with zipfile.ZipFile(made) as wheel:
                    names = wheel.namelist()
                    self.assertIn("cleave/py.typed", names)
                    record = wheel.read(names[-1]).decode()
                    self.assertEqual(record.count("\n"), len(names))
        self.assertEqual(len(sums), 1)


def heads(data: bytes) -> Dict[int, Tuple[int, bytes]]:
    """Number, kind and bytes of numbered answers."""
    found = {}
    while data:
        kind, number = data[0], int.from_bytes(data[1:3], "big")
        value = int.from_bytes(data[3:8], "big")
        size = value if kind == 0x80 else 0
        found[number] = (kind, data[8:8 + size] if kind == 0x80 else data[3:8])
        data = data[8 + size:]
    return found


class Window(unittest.TestCase):
    def answers(self, answer: Callable[[bytes], Any], data: bytes, **options: Any) -> bytes:
        out = io.BytesIO()
        with mock.patch.dict(os.environ, CLEAVE_WINDOW="4"), contextlib.redirect_stderr(io.StringIO()):
            cleave.worker(answer, chunks=io.BytesIO(data), answers=out, **options)
        return out.getvalue()

    def test_functions_run_in_threads_at_the_same_time(self) -> None:
        met = threading.Barrier(4, timeout=60)

        def upper(chunk: bytes) -> bytes:
            met.wait()
            return chunk.upper()

        made = heads(self.answers(upper, b"".join(frame(b"%d a" % i) for i in range(8))))
        self.assertEqual(made, {i: (0x80, b"%d A" % i) for i in range(8)})

    def test_coroutines_run_in_one_loop(self) -> None:
        held = []

        async def upper(chunk: bytes) -> bytes:
            held.append(chunk)
            while len(held) < 4:
                await asyncio.sleep(0.001)
            return chunk.upper()

        made = heads(self.answers(upper, b"".join(frame(b"%d a" % i) for i in range(8))))
        self.assertEqual(made, {i: (0x80, b"%d A" % i) for i in range(8)})

    def test_no_more_than_the_window(self) -> None:
        running: List[int] = [0, 0]
        lock = threading.Lock()

        def count(chunk: bytes) -> None:
            with lock:
                running[0] += 1
                running[1] = max(running)
            time.sleep(0.001)
            with lock:
                running[0] -= 1

        self.answers(count, frame(b"x") * 50, window=2)
        self.assertLessEqual(running[1], 2)
        for bad in (0, -1, "2", 1.5):
            with self.assertRaisesRegex(ValueError, "window: expected a number of at least 1"):
                self.answers(count, b"", window=bad)

    def test_failures_and_later(self) -> None:
        def fail(chunk: bytes) -> bytes:
            if chunk == b"later":
                raise cleave.Later(2.5)
            return b"%d" % (6 // int(chunk))

        async def fail_soon(chunk: bytes) -> bytes:
            return fail(chunk)

        for function in (fail, fail_soon):
            made = heads(self.answers(function, frame(b"3") + frame(b"0") + frame(b"later")))
            self.assertEqual(made, {0: (0x80, b"2"), 1: (0x81, bytes(5)),
                                    2: (0x82, (2500).to_bytes(5, "big"))})

    def test_later_without_a_window(self) -> None:
        def later(chunk: bytes) -> bytes:
            raise cleave.Later(1)

        out = io.BytesIO()
        cleave.worker(later, chunks=io.BytesIO(frame(b"x")), answers=out)
        self.assertEqual(out.getvalue(), b"\2" + (1000).to_bytes(7, "big"))


class Endpoint(http.server.BaseHTTPRequestHandler):
    """Answers what the prompt asks for."""

    protocol_version = "HTTP/1.1"
    asked: List[str] = []
    connections: Set[Any] = set()
    headers_seen: List[str] = []

    def do_POST(self) -> None:
        prompt = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["prompt"]
        self.asked.append(prompt)
        self.connections.add(self.client_address)
        self.headers_seen.append(self.headers.get("X-Key", ""))
        first = self.asked.count(prompt) == 1
        if prompt.startswith("limit") and first:
            self.reply(429, b"", ("Retry-After", "0.05"))
        elif prompt.startswith("busy") and first:
            self.reply(503, b"", ("Retry-After", email.utils.formatdate(time.time() - 5)))
        elif prompt.startswith("error"):
            self.reply(500, b"no such model\nmore\n")
        elif prompt.startswith("slow"):
            time.sleep(3)
            self.close_connection = True
        elif prompt.startswith("cut"):
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"half")
            self.close_connection = True
        elif prompt.startswith("noise"):
            self.wfile.write(b"this is no HTTP\r\n\r\n")
            self.close_connection = True
        elif prompt.startswith("text"):
            self.reply(200, b"two\nlines\n")
        elif prompt.startswith("pretty"):
            self.reply(200, json.dumps({"answer": "x"}, indent=2).encode())
        else:
            self.reply(200, json.dumps({"answer": prompt.upper()}).encode())

    def reply(self, status: int, body: bytes, *headers: Tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


class Http(unittest.TestCase):
    def setUp(self) -> None:
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1?a=b"
        Endpoint.asked.clear()
        Endpoint.connections.clear()
        Endpoint.headers_seen.clear()

    def tearDown(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def post(self, prompts: List[str], *words: str, **options: Any) -> cleave.Result:
        records = "".join(json.dumps({"prompt": prompt}) + "\n" for prompt in prompts)
        env = {**os.environ, "PYTHONPATH": os.path.join(TOP, "python"), "KEY": "secret"}
        return cleave.run([sys.executable, "-m", "cleave.http", self.url, *words],
                          input=records.encode(), persistent=True, workers=1, split="lines",
                          check=False, env=env, **{"window": 4, "records": 1, "block": 1, **options})

    def test_answers_come_in_order_and_connections_are_kept(self) -> None:
        prompts = [f"word {i}" for i in range(100)]
        done = self.post(prompts)
        self.assertEqual((done.output or b"").decode().splitlines(),
                         [json.dumps({"answer": prompt.upper()}) for prompt in prompts])
        self.assertLessEqual(len(Endpoint.connections), 4)
        self.assertEqual(len(Endpoint.asked), 100)

    def test_later_is_no_failure(self) -> None:
        done = self.post(["a", "limit 1", "busy 1", "b"])
        self.assertEqual(done.status, 0, done.messages)
        self.assertEqual((done.output or b"").count(b"\n"), 4)
        self.assertEqual(Endpoint.asked.count("limit 1"), 2)
        self.assertGreaterEqual(done.facts["later"], 2)

    def test_records_fail_alone_and_are_asked_once(self) -> None:
        bad = ["error 1", "cut 1", "noise 1", "text 1", "slow 1"]
        done = self.post([*bad, "a", "pretty", "b"], "--timeout", "1")
        self.assertEqual(done.status, 1)
        self.assertEqual((done.output or b"").decode(), '{"answer": "A"}\n{"answer":"x"}\n{"answer": "B"}\n')
        self.assertEqual(sorted(Endpoint.asked), sorted([*bad, "a", "pretty", "b"]))
        for text in ("status 500: no such model", "no response within 1 s",
                     "expected JSON or one line, got several lines"):
            self.assertIn(text, done.messages)

    def test_options(self) -> None:
        env = {**os.environ, "PYTHONPATH": os.path.join(TOP, "python"), "KEY": "secret"}
        done = cleave.run([sys.executable, "-m", "cleave.http", self.url, "--field", "prompt",
                           "--header", "X-Key: $KEY", "--window", "1"],
                          input=b"plain text\nmore text\n", persistent=True, records=1, block=1, window=3, split="lines",
                          workers=1, env=env)
        self.assertIn(b'{"answer": "PLAIN TEXT"}', done.output or b"")
        self.assertEqual(set(Endpoint.headers_seen), {"secret"})

    def test_chunks_of_several_records_are_refused(self) -> None:
        done = self.post(["a", "b"], records=2)
        self.assertEqual(done.status, 1)
        self.assertIn("expected chunks of one record (-N 1), got 2 records", done.messages)
        self.assertEqual(Endpoint.asked, [])

    def test_bad_arguments(self) -> None:
        for words, said in (
            (["ftp://x/"], "expected http://HOST/PATH"),
            (["http://x/", "--timeout", "0"], "expected a number above 0, got '0'"),
            (["http://x/", "--window", "none"], "expected a number of at least 1, got 'none'"),
            (["http://x/", "--header", "nothing"], "expected 'NAME: VALUE', got 'nothing'"),
        ):
            done = subprocess.run([sys.executable, "-m", "cleave.http", *words], text=True,
                                  capture_output=True, cwd=os.path.join(TOP, "python"))
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)

    def test_no_endpoint_fails_each_record(self) -> None:
        self.server.server_close()
        done = self.post(["a", "b"])
        self.assertEqual(done.status, 1)
        self.assertRegex(done.messages, "Connection(Refused|Reset)Error")

    def test_retry_after_is_a_number_or_a_date(self) -> None:
        from cleave.http import retry_after_s

        self.assertEqual(retry_after_s("2.5", 0), 2.5)
        self.assertEqual(retry_after_s("Thu, 01 Jan 1970 00:00:09 GMT", 2), 7)
        self.assertEqual(retry_after_s("-1", 0), 0)
        self.assertEqual(retry_after_s("9" * 30, 0), 24 * 3600)
        for bad in (None, "", "soon", "nan", "inf"):
            self.assertIsNone(retry_after_s(bad, 0))


if __name__ == "__main__":
    unittest.main()
