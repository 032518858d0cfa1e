"""cleave from Python does what the command does. SPDX-License-Identifier: MIT"""
import hashlib
import importlib.util
import io
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile
from pathlib import Path
from typing import Any, Awaitable, Callable, Dict, Iterator, List, Tuple, Union

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
                ["mypy", "--strict", "--cache-dir", folder, os.path.join(TOP, "python", "cleave")],
                check=True,
            )

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


if __name__ == "__main__":
    unittest.main()
