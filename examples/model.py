#!/usr/bin/env python3
"""A stand-in for a model on a GPU: loads once, then answers {"prompt": TEXT} in upper case.

    cleave run --persistent --window 32 -N 1 -i FILE -- examples/model.py

SPDX-License-Identifier: MIT
"""
import json, time

import cleave

time.sleep(0.2)  # the model is loaded


def answer(record: bytes) -> str:
    return json.dumps({"answer": json.loads(record)["prompt"].upper()}) + "\n"


cleave.worker(answer, window=32)
