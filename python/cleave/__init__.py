"""cleave from Python: run commands over a large input, plan, and be a persistent command.

SPDX-License-Identifier: MIT
"""
from ._command import CleaveError, Result, call, plan, run
from ._worker import worker

__version__ = "0.2.0"
__all__ = ["CleaveError", "Result", "call", "plan", "run", "worker"]
