"""What an operator looks at: three alarms per agent, and one dashboard for the stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from constructs import Construct

from infra.deployment import Deployment

PERIOD = cdk.Duration.minutes(5)
# A run that used this share of its time is about to be cut off.
NEAR_LIMIT = 0.9


def agent_alarms(scope: Construct, agent: str, alias: lambda_.Alias, deployment: Deployment) -> list[cloudwatch.Alarm]:
    """Errors, throttles and runs near their timeout, each over five minutes; sent to the deployment's topic if it has one."""
    watched = {
        "Errors": (alias.metric_errors(period=PERIOD), 1),
        "Throttles": (alias.metric_throttles(period=PERIOD), 1),
        "Duration": (alias.metric_duration(period=PERIOD, statistic="Maximum"), deployment.timeout_of(agent) * 1000 * NEAR_LIMIT),
    }
    return [_alarm(scope, name, metric, threshold, deployment) for name, (metric, threshold) in watched.items()]


def _alarm(scope: Construct, name: str, metric: cloudwatch.Metric, threshold: float, deployment: Deployment) -> cloudwatch.Alarm:
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


class Dashboard(Construct):
    """One row per agent (calls, failures, duration), and a last one for the tables."""

    def __init__(self, scope: Construct, id_: str, *, aliases: Mapping[str, lambda_.Alias], tables: Mapping[str, dynamodb.TableV2]) -> None:
        super().__init__(scope, id_)
        self.board = cloudwatch.Dashboard(self, "Board")
        for agent, alias in aliases.items():
            self.board.add_widgets(*_agent_row(agent, alias))
        self.board.add_widgets(_units(list(tables.values())))


def _agent_row(agent: str, alias: lambda_.Alias) -> list[cloudwatch.IWidget]:
    calls = [alias.metric_invocations(period=PERIOD), alias.metric_errors(period=PERIOD), alias.metric_throttles(period=PERIOD)]
    durations = [alias.metric_duration(period=PERIOD, statistic=statistic) for statistic in ("p50", "p99", "Maximum")]
    return [
        cloudwatch.GraphWidget(title=f"{agent}: runs", left=list(calls), width=12),
        cloudwatch.GraphWidget(title=f"{agent}: duration", left=list(durations), width=12),
    ]


def _units(tables: Sequence[dynamodb.TableV2]) -> cloudwatch.IWidget:
    metrics = [m for t in tables for m in (t.metric_consumed_write_capacity_units(), t.metric_consumed_read_capacity_units())]
    return cloudwatch.GraphWidget(title="tables: consumed units", left=metrics, width=24)
