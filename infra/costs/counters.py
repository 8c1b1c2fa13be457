"""What one run of each agent uses, as it was measured: averages by run, and what one more token of an answer adds."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

FILE = Path(__file__).with_name("counters.json")


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Check(_Data):
    """A run with the simulated model: what was computed for it from the counters, and what the clock said."""

    predicted_seconds: float = Field(gt=0)
    measured_seconds: float = Field(gt=0)


class Run(_Data):
    """One run, warm, with a model that answers at once; a call of the store takes 8 ms.

    Tables are by name: one that is added later is billed without a change here.
    """

    runs: int = Field(gt=0, description="Runs of the conversation that these are an average of.")
    seconds: float = Field(gt=0, description="Wall of the invocation.")
    cpu_seconds: float = Field(gt=0, description="CPU of the function's process.")
    init_cpu_seconds: float = Field(ge=0, description="CPU of the process until it asks for its first event.")
    model_calls: float = Field(ge=0)
    input_tokens: float = Field(ge=0)
    output_tokens: float = Field(ge=0, description="Thinking and the arguments of tools are among them.")
    streamed_bytes: float = Field(gt=0, description="Of the response's body.")
    calls: float = Field(ge=0, description="Of DynamoDB.")
    writes: dict[str, float] = Field(description="Write units by table, its indexes included.")
    reads: dict[str, float] = Field(description="Read units by table.")
    table_bytes: float = Field(ge=0, description="That stay in the tables, as DynamoDB bills them; without the kept events.")
    event_bytes: float = Field(ge=0, description="Of kept events, which go after a day.")
    object_bytes: float = Field(ge=0, description="That stay in S3.")
    s3_puts: float = Field(ge=0, description="PUT, POST and LIST.")
    s3_gets: float = Field(ge=0, description="GET and HEAD.")
    memory_mb: float = Field(gt=0, description="Peak of the process.")
    log_lines: float = Field(ge=0)
    log_bytes: float = Field(ge=0, description="What the process wrote; Lambda's own lines are not in it.")
    check: Check


class PerToken(_Data):
    """What one more token of an answer adds."""

    cpu_seconds: float
    streamed_bytes: float = Field(gt=0)
    table_bytes: float
    event_bytes: float
    writes: float


class PerSecond(_Data):
    """What one more second of waiting for the model adds: batches of events, looks for a stop, beats of the lease."""

    calls: float = Field(ge=0)
    writes: dict[str, float] = Field(description="Write units by table.")
    reads: dict[str, float] = Field(description="Read units by table.")
    event_bytes: float = Field(description="Of batches, each of which has a key and an item's overhead.")


class Measured(_Data):
    """When, of what and on what."""

    date: str
    commit: str
    machine: str
    python: str


class Counters(_Data):
    """All of it. `token_ms` is the pace of the simulated model in the checks."""

    measured: Measured
    token_ms: int
    agents: dict[str, Run]
    per_token: PerToken
    per_second: PerSecond


@cache
def measured_counters() -> Counters:
    """Those of this version of the project. Cached: a file of the package."""
    return Counters.model_validate(json.loads(FILE.read_text(encoding="utf-8")))
