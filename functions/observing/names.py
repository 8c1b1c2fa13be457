"""The metrics as data: what the functions write, the dashboard draws and README.md lists. Imports nothing."""

from __future__ import annotations

from dataclasses import dataclass

NAMESPACE = "AgentFunctions"
"""Of every metric, in CloudWatch; a stack's own is below it (`namespace_of`)."""
OTHER = "other"
"""Instead of a code or model that is not ours: a dimension's values are a closed list, for each new one is a metric that costs."""


def namespace_of(stack: str) -> str:
    """Two stacks in one account and region have metrics of their own."""
    return f"{NAMESPACE}/{stack}"


@dataclass(frozen=True, slots=True)
class Metric:
    """`unit` as CloudWatch spells it; `dimensions`: the sets that it is written under."""

    name: str
    unit: str
    dimensions: tuple[tuple[str, ...], ...]
    meaning: str


_AGENT = (("agent",),)

RUNS = Metric(
    "Runs", "Count", (("agent", "outcome"), ("agent", "outcome", "code")), "Runs by how they ended; with a code, where `RUN_ERROR` had one."
)
COLD_STARTS = Metric("ColdStarts", "Count", _AGENT, "1 for the first run of an environment, else 0.")
DURATION = Metric("RunDuration", "Milliseconds", _AGENT, "From the request to the run's last event.")
FIRST_EVENT = Metric("TimeToFirstEvent", "Milliseconds", _AGENT, "From the request to `RUN_STARTED`.")
FIRST_TOKEN = Metric(
    "TimeToFirstToken", "Milliseconds", _AGENT, "From the request to the first piece of text, thinking or tool arguments; only if any came."
)
TOOL_CALLS = Metric("ToolCalls", "Count", _AGENT, "Calls of tools that the run made, the client's own included.")
TOOL_ERRORS = Metric("ToolErrors", "Count", _AGENT, "Tools' results that are errors.")
INTERRUPTS = Metric("Interrupts", "Count", _AGENT, "Questions that the run ended with.")
CHECKPOINT_CALLS = Metric(
    "CheckpointCalls",
    "Count",
    _AGENT,
    "Calls to DynamoDB and S3 for the thread: checkpoints, lease, claims; not kept events and looks for a stop.",
)
CHECKPOINT_WRITTEN = Metric("CheckpointBytesWritten", "Bytes", _AGENT, "Bodies of those calls' requests, as sent.")
CHECKPOINT_READ = Metric("CheckpointBytesRead", "Bytes", _AGENT, "Bodies of those calls' answers.")
INPUT_TOKENS = Metric(
    "InputTokens", "Count", (("agent", "model"),), "Tokens that the model read, those from its provider's cache included."
)
OUTPUT_TOKENS = Metric("OutputTokens", "Count", (("agent", "model"),), "Tokens that the model wrote, thinking included.")

METRICS = (
    RUNS,
    COLD_STARTS,
    DURATION,
    FIRST_EVENT,
    FIRST_TOKEN,
    TOOL_CALLS,
    TOOL_ERRORS,
    INTERRUPTS,
    CHECKPOINT_CALLS,
    CHECKPOINT_WRITTEN,
    CHECKPOINT_READ,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
)

SUCCESS, INTERRUPT, STOPPED, REJECTED, ERROR, ABORTED = "success", "interrupt", "stopped", "rejected", "error", "aborted"
CONTINUED = "continued"
OUTCOMES = {
    SUCCESS: "the run ended well",
    INTERRUPT: "it asks a person, and waits",
    STOPPED: "its user stopped it",
    REJECTED: "its stream refused it: a wrong answer to a question; a request that HTTP refuses is no run",
    ERROR: "it failed; `code` says how",
    CONTINUED: "it goes on in another invocation, which tells how it ended",
    ABORTED: "it was cut off before its last event",
}
