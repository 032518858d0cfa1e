"""Types of what cleave reports: docs/guide/json.md describes each field. SPDX-License-Identifier: MIT"""
from __future__ import annotations

from typing import List, Optional, TypedDict


class Progress(TypedDict):
    """Progress of a run, in bytes of input, or in items."""

    elapsed_s: float
    left_s: Optional[float]  # None: not known yet
    done: float
    total: Optional[float]  # None: the input has not ended
    failed: int
    text: str  # for people


class Range(TypedDict):
    """Bytes [begin, end) of an input."""

    input: str
    begin: int
    end: int


class BadRecords(Range):
    """Records that failed, found with isolate=True."""

    first: int
    records: int


class LeftOut(TypedDict, total=False):
    """A host or worker that took no part; plans have `worker`, runs `host`."""

    host: str
    worker: str
    reason: str


class Worker(TypedDict):
    """A worker of a run."""

    name: str
    chunks: int
    units: float
    failed: int
    rests: int
    later: int
    busy_s: float
    idle_s: float
    starts_s: Optional[float]
    speed: float
    compute_latency: float
    bandwidth: Optional[float]
    latency: float


class _Optional(TypedDict, total=False):
    items: int
    weight: float
    heaviest: float
    tail_s: float


class Facts(_Optional):
    """A run. `items` is there for items; `weight`, `heaviest` and `tail_s` with weight=..."""

    command: List[str]
    inputs: List[str]
    input_bytes: Optional[float]  # None: items
    output_bytes: float
    sent_bytes: float
    chunks: int
    elapsed_s: float
    connecting_s: float
    makespan_s: float
    predicted_s: Optional[float]
    bound_s: Optional[float]
    unlimited_s: Optional[float]
    limited_by: Optional[str]
    input_s: float
    input_first_s: float
    blocked_s: float
    alone_s: Optional[float]
    speed_up: Optional[float]
    work_s: float
    starts_s: Optional[float]
    folds_s: float
    waiting_s: float
    master_s: float
    port_s: Optional[float]
    retries: int
    failed_chunks: int
    parted: int
    resumed: int
    resumed_bytes: Optional[float]
    folds: int
    lost: int
    later: int
    backups: int
    left_out: List[LeftOut]
    failed: List[Range]
    bad_records: List[BadRecords]
    left: List[Range]
    unwritten: int
    cut_bytes: float
    exit_status: int
    workers: List[Worker]


class Bound(TypedDict):
    """What no schedule can beat."""

    name: str
    value: float


class _Returns(TypedDict, total=False):
    return_start: Optional[float]
    return_end: Optional[float]


class Chunk(_Returns):
    """A chunk of a plan."""

    worker: str
    round: int
    units: float
    send_start: float
    send_end: float
    compute_start: float
    compute_end: float


class Plan(TypedDict):
    """The members that every plan of a load has."""

    policy: str
    picked: Optional[str]
    why: Optional[str]
    load: float
    seed: int
    makespan: float
    utilisation: float
    rounds: int
    bound: Bound
    over_bound: float
    optimal: bool
    proved_among: Optional[str]
    bounds: List[Bound]
    chunks: List[Chunk]
    left_out: List[LeftOut]


class Cut(TypedDict):
    """Bytes [begin, end) of an input."""

    begin: int
    end: int


class Check(TypedDict):
    """Whether a command can run on pieces of its input."""

    verdict: str  # "records", "reduce" or "no"
    reduce: Optional[str]
    cuts: int
    sample_bytes: int
    counterexample: Optional[Cut]
    message: str  # with "no", the smallest example that differs
