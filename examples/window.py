#!/usr/bin/env python3
"""A command for cleave run --persistent --window K: answers chunks in any order.

    cleave run --persistent --window 8 -N 1 -i FILE -- examples/window.py

A thread writes each chunk in upper case. Without --window it holds one chunk at a time, and its
answers have no numbers. SPDX-License-Identifier: MIT
"""
import os, sys, threading

window, lock = int(os.environ.get("CLEAVE_WINDOW", 0)), threading.Lock()

def work(number, chunk):
    answer = chunk.upper()  # takes as long as it likes
    head = (0x80 << 56 | number % 65536 << 40 if window else 0) | len(answer)
    with lock:
        sys.stdout.buffer.write(head.to_bytes(8, "big") + answer)
        sys.stdout.buffer.flush()

number, chunks = 0, sys.stdin.buffer
while head := chunks.read(8):  # the length of the chunk, the highest byte first
    chunk = chunks.read(int.from_bytes(head, "big"))
    threading.Thread(target=work, args=(number, chunk)).start()
    number += 1
