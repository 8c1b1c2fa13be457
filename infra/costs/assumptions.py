"""What is neither measured nor a price. Each can be replaced in the file of `--prices`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

HOURS = 730
"""Of a month, as AWS's calculator has it."""
SECONDS = HOURS * 3_600


class Assumptions(BaseModel):
    """The model, the traffic, and the container beside us."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    token_ms: float = Field(default=50, ge=0, description="Between two tokens of the model: Lambda is billed while it waits.")
    first_token_ms: float = Field(default=700, ge=0, description="Until a call of the model gives its first token.")
    answer_tokens: float = Field(default=500, ge=0, description="A run that calls the model gets at least so many tokens from it.")
    cold_share: float = Field(
        default=0.02, ge=0, le=1, description="Of the runs that find no warm environment. With few runs it is nearly all."
    )
    vcpu_mb: float = Field(
        default=1_769, gt=0, description="Memory at which Lambda gives a whole vCPU; below, CPU takes longer in proportion."
    )
    platform_log_bytes: float = Field(
        default=520, ge=0, description="Lambda's own two log lines of a run (platform.start, platform.report)."
    )
    log_line_bytes: float = Field(default=26, ge=0, description="That CloudWatch adds to each line.")
    log_months: float = Field(default=1, ge=0, description="That logs are kept.")
    kept_months: float = Field(default=12, ge=0, description="That threads are kept: a month pays for those of so many months.")
    peak: float = Field(default=4, ge=1, description="Busiest second beside the average one.")
    snapshot_versions: int = Field(default=1, ge=1, description="Versions of a function that are kept, each with its snapshot (SnapStart).")
    secrets: int = Field(default=0, ge=0, description="In Secrets Manager.")
    event_hours: float = Field(default=48, ge=0, description="That kept events are billed: a day, and DynamoDB may take another to delete.")
    alarm_metrics: int = Field(
        default=9,
        ge=0,
        description="Of an agent's four alarms: three look at one metric, the share of failed runs at those of six outcomes.",
    )
    metrics: int = Field(
        default=16, ge=0, description="Custom metrics of an agent that are in use: ten of a run, two of tokens, four outcomes."
    )
    busy: float = Field(default=0.5, gt=0, le=1, description="CPU that a container's tasks are kept at; they follow the average load.")
    run_mb: float = Field(default=10, ge=0, description="Memory of a run that waits in a container.")
    statements_a_vcpu: float = Field(
        default=1_000,
        gt=0,
        description="Statements a second that a vCPU of Postgres carries, one for each DynamoDB call of ours; sized for the peak.",
    )
    least_database_gb: float = Field(default=20, ge=0, description="Smallest disk of the database.")
