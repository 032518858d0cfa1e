"""cleave from Python: run commands and functions over large inputs, plan, be a persistent command.

SPDX-License-Identifier: MIT
"""
from ._async import imap_async, map_async, run_async
from ._command import Result, call, check, compare, plan, run, simulate
from ._facts import Check, Facts, Plan, Progress
from ._map import ItemError, imap, map
from ._process import CleaveError
from ._worker import Later, worker

__version__ = "0.2.0"
__all__ = [
    "Check", "CleaveError", "Facts", "ItemError", "Later", "Plan", "Progress", "Result",
    "call", "check", "compare", "imap", "imap_async", "map", "map_async", "plan", "run", "run_async",
    "simulate", "worker",
]
