"""cleave from Python: run commands and functions over large inputs, plan, be a persistent command.

SPDX-License-Identifier: MIT
"""
from ._command import Result, call, plan, run
from ._map import ItemError, imap, map
from ._process import CleaveError
from ._worker import Later, worker

__version__ = "0.2.0"
__all__ = [
    "CleaveError", "ItemError", "Later", "Result", "call", "imap", "map", "plan", "run", "worker",
]
