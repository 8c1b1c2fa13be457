"""What an operator looks at: four alarms per agent, and one dashboard for the stack, of Lambda's own metrics and the agents'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from constructs import Construct

from functions.observing import names
from functions.observing.names import Metric
from infra.deployment import Deployment

PERIOD = cdk.Duration.minutes(5)
SECONDS = 300
# A run that used this share of its time is about to be cut off.
NEAR_LIMIT = 0.9
# Percent of an agent's runs that may fail, once there are so many in five minutes that a percentage says something.
FAILING = 20
LEAST_RUNS = 5


@dataclass(frozen=True, slots=True)
class _Metrics:
    """The agents' own, of one namespace."""

    namespace: str

    def one(self, metric: Metric, statistic: str, *, label: str | None = None, **dimensions: str) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace=self.namespace, metric_name=metric.name, dimensions_map=dimensions, statistic=statistic, label=label, period=PERIOD
        )

    def _search(self, metric: Metric, statistic: str, more: str = "") -> str:
        """Over all agents, whichever there are."""
        shape = ",".join((f'"{self.namespace}"', *metric.dimensions[0]))
        return f"""SEARCH('{{{shape}}} MetricName="{metric.name}"{more}', '{statistic}', {SECONDS})"""

    def each(self, metric: Metric, statistic: str = "Sum") -> cloudwatch.MathExpression:
        """A line for each set of dimensions."""
        return cloudwatch.MathExpression(expression=self._search(metric, statistic), label="", period=PERIOD)

    def all(self, metric: Metric, dimension: str = "", value: str = "") -> cloudwatch.MathExpression:
        """One line for all agents."""
        more = f' {dimension}="{value}"' if dimension else ""
        return cloudwatch.MathExpression(expression=f"SUM({self._search(metric, 'Sum', more)})", label=value or metric.name, period=PERIOD)

    def per_run(self, metric: Metric, divisor: int = 1) -> cloudwatch.MathExpression:
        share = f"SUM({self._search(metric, 'Sum')}) / SUM({self._search(names.RUNS, 'Sum')}) / {divisor}"
        return cloudwatch.MathExpression(expression=share, label=metric.name, period=PERIOD)

    def tokens(self) -> cloudwatch.MathExpression:
        both = f"SUM({self._search(names.INPUT_TOKENS, 'Sum')}) + SUM({self._search(names.OUTPUT_TOKENS, 'Sum')})"
        return cloudwatch.MathExpression(expression=both, label="tokens", period=PERIOD)


def _metrics_of(stack: str) -> _Metrics:
    return _Metrics(names.namespace_of(stack))


def agent_alarms(scope: Construct, agent: str, alias: lambda_.Alias, deployment: Deployment) -> list[cloudwatch.Alarm]:
    """Errors, throttles, runs near their timeout and the share of failed runs, over five minutes; sent to the deployment's topic if it has
    one. Lambda's own errors are environments that broke: a run that failed has answered with RUN_ERROR."""
    watched: dict[str, tuple[cloudwatch.IMetric, float]] = {
        "Errors": (alias.metric_errors(period=PERIOD), 1),
        "Throttles": (alias.metric_throttles(period=PERIOD), 1),
        "Duration": (alias.metric_duration(period=PERIOD, statistic="Maximum"), deployment.timeout_of(agent) * 1000 * NEAR_LIMIT),
        "FailedRuns": (_failing(_metrics_of(deployment.stack), agent), FAILING),
    }
    return [_alarm(scope, name, metric, threshold, deployment) for name, (metric, threshold) in watched.items()]


def _alarm(scope: Construct, name: str, metric: cloudwatch.IMetric, threshold: float, deployment: Deployment) -> cloudwatch.Alarm:
    alarm = cloudwatch.Alarm(
        scope,
        f"{name}Alarm",
        metric=metric,
        threshold=threshold,
        evaluation_periods=1,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
    )
    if deployment.alarm_topic:
        alarm.add_alarm_action(actions.SnsAction(sns.Topic.from_topic_arn(scope, f"{name}Topic", deployment.alarm_topic)))
    return alarm


def _failing(drawn: _Metrics, agent: str) -> cloudwatch.MathExpression:
    """Percent of the agent's runs that failed, each where it ended; 0 while there are few. An outcome that did not occur has no data."""
    runs = {outcome: drawn.one(names.RUNS, "Sum", agent=agent, outcome=outcome) for outcome in names.OUTCOMES if outcome != names.CONTINUED}
    everything = " + ".join(f"FILL({outcome}, 0)" for outcome in runs)
    share = f"IF({everything} >= {LEAST_RUNS}, 100 * FILL({names.ERROR}, 0) / ({everything}), 0)"
    return cloudwatch.MathExpression(expression=share, using_metrics=dict(runs), label=f"{agent}: failed runs, %", period=PERIOD)


class Dashboard(Construct):
    """All agents together, a row for each (calls, outcomes, times), and a last one for the tables."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        stack: str,
        aliases: Mapping[str, lambda_.Alias],
        tables: Mapping[str, dynamodb.TableV2],
        memory: Mapping[str, int],
    ) -> None:
        super().__init__(scope, id_)
        drawn = _metrics_of(stack)
        self.board = cloudwatch.Dashboard(self, "Board")
        self.board.add_widgets(
            _graph("runs by how they ended", [drawn.all(names.RUNS, "outcome", outcome) for outcome in names.OUTCOMES], stacked=True),
            _graph("time to first token, median by agent (ms)", [drawn.each(names.FIRST_TOKEN, "p50")]),
            _graph(
                "tokens by agent and model: in (left), out (right)", [drawn.each(names.INPUT_TOKENS)], [drawn.each(names.OUTPUT_TOKENS)]
            ),
        )
        self.board.add_widgets(
            _graph("what costs: GB-seconds (left), tokens (right)", [_gb_seconds(aliases, memory)], [drawn.tokens()]),
            _graph("tool calls, tool errors, questions", [drawn.all(m) for m in (names.TOOL_CALLS, names.TOOL_ERRORS, names.INTERRUPTS)]),
            _graph(
                "checkpoints of a run: calls (left), KB written and read (right)",
                [drawn.per_run(names.CHECKPOINT_CALLS)],
                [drawn.per_run(names.CHECKPOINT_WRITTEN, 1_000), drawn.per_run(names.CHECKPOINT_READ, 1_000)],
            ),
        )
        for agent, alias in aliases.items():
            self.board.add_widgets(*_agent_row(drawn, agent, alias))
        self.board.add_widgets(_units(list(tables.values())))


def _agent_row(drawn: _Metrics, agent: str, alias: lambda_.Alias) -> list[cloudwatch.IWidget]:
    calls = [alias.metric_invocations(period=PERIOD), alias.metric_errors(period=PERIOD), alias.metric_throttles(period=PERIOD)]
    outcomes = [drawn.one(names.RUNS, "Sum", label=outcome, agent=agent, outcome=outcome) for outcome in names.OUTCOMES]
    first = [
        drawn.one(metric, statistic, label=f"{label} {statistic}", agent=agent)
        for metric, label in ((names.FIRST_EVENT, "event"), (names.FIRST_TOKEN, "token"))
        for statistic in ("p50", "p99")
    ]
    durations = [alias.metric_duration(period=PERIOD, statistic=statistic) for statistic in ("p50", "p99", "Maximum")]
    cold = [drawn.one(names.COLD_STARTS, "Sum", label="cold starts", agent=agent)]
    return [
        _graph(f"{agent}: runs", [*calls, *cold], width=6),
        _graph(f"{agent}: how they ended", outcomes, width=6, stacked=True),
        _graph(f"{agent}: first event and first token (ms)", first, width=6),
        _graph(f"{agent}: duration", durations, width=6),
    ]


def _graph(
    title: str,
    left: Sequence[cloudwatch.IMetric],
    right: Sequence[cloudwatch.IMetric] = (),
    *,
    width: int = 8,
    stacked: bool = False,
) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(left), right=list(right), width=width, stacked=stacked, period=PERIOD)


def _gb_seconds(aliases: Mapping[str, lambda_.Alias], memory: Mapping[str, int]) -> cloudwatch.MathExpression:
    """What Lambda bills, but for its inits: milliseconds of all runs by the memory of their function (MB)."""
    durations = {f"d{number}": alias.metric_duration(period=PERIOD, statistic="Sum") for number, alias in enumerate(aliases.values())}
    billed = " + ".join(f"FILL({name}, 0) * {memory[agent]}" for name, agent in zip(durations, aliases, strict=True))
    return cloudwatch.MathExpression(
        expression=f"({billed}) / 1024 / 1000", using_metrics=dict(durations), label="GB-seconds", period=PERIOD
    )


def _units(tables: Sequence[dynamodb.TableV2]) -> cloudwatch.IWidget:
    metrics = [m for t in tables for m in (t.metric_consumed_write_capacity_units(), t.metric_consumed_read_capacity_units())]
    return cloudwatch.GraphWidget(title="tables: consumed units", left=metrics, width=24)
