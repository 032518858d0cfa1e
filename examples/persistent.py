#!/usr/bin/env python3
"""A command for cleave run --persistent: counts the lines of each chunk.

    cleave run --persistent -i FILE -- examples/persistent.py

SPDX-License-Identifier: MIT
"""
import sys

chunks, answers = sys.stdin.buffer, sys.stdout.buffer
while True:
    head = chunks.read(8)  # the length of the chunk, the highest byte first
    if not head:
        break
    chunk = chunks.read(int.from_bytes(head, "big"))
    answer = b"%d\n" % chunk.count(b"\n")
    answers.write(len(answer).to_bytes(8, "big") + answer)
    answers.flush()
