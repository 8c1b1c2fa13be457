"""The resource types of our template that moto's CloudFormation skips: tables, function URLs, aliases, alarms.

Each is made through moto's own backend of its service, so what the service says of it afterwards is what a template asked for. Import
registers them: moto finds its models by subclass, in caches that have to be emptied.
"""

from __future__ import annotations

from typing import Any

from moto.awslambda.models import LambdaVersion, lambda_backends
from moto.cloudformation import parsing
from moto.cloudwatch.models import cloudwatch_backends
from moto.core.common_models import CloudFormationModel
from moto.dynamodb.models import dynamodb_backends

Properties = dict[str, Any]


class Resource:
    """A resource whose attributes are known when it was made. `id` is what `Ref` gives."""

    TYPE = ""
    NAMED = ""

    def __init__(self, id: str, attributes: dict[str, Any]) -> None:
        self.physical_resource_id = id
        self._attributes = attributes

    @classmethod
    def cloudformation_type(cls) -> str:
        return cls.TYPE

    @classmethod
    def cloudformation_name_type(cls) -> str:
        return cls.NAMED

    @classmethod
    def has_cfn_attr(cls, attr: str) -> bool:
        return True

    def get_cfn_attribute(self, attribute_name: str) -> Any:
        return self._attributes[attribute_name]


class GlobalTable(Resource, CloudFormationModel):  # moto looks at direct subclasses alone
    TYPE, NAMED = "AWS::DynamoDB::GlobalTable", "TableName"

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, account_id: str, region_name: str, **kwargs: Any
    ) -> GlobalTable:
        wanted = cloudformation_json["Properties"]
        (replica,) = [one for one in wanted["Replicas"] if one["Region"] == region_name]
        backend = dynamodb_backends[account_id][region_name]
        table = backend.create_table(
            name=resource_name,
            schema=wanted["KeySchema"],
            attr=wanted["AttributeDefinitions"],
            indexes=wanted.get("LocalSecondaryIndexes", []),
            global_indexes=wanted.get("GlobalSecondaryIndexes", []),
            throughput=None,
            streams=None,
            billing_mode=wanted["BillingMode"],
            sse_specification=wanted.get("SSESpecification"),
            tags=replica.get("Tags"),
            deletion_protection_enabled=replica["DeletionProtectionEnabled"],
            warm_throughput=None,
        )
        backend.update_time_to_live(resource_name, wanted["TimeToLiveSpecification"])
        backend.update_continuous_backups(resource_name, replica["PointInTimeRecoverySpecification"])
        return cls(table.name, {"Arn": table.table_arn})

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, account_id: str, region_name: str
    ) -> None:
        dynamodb_backends[account_id][region_name].delete_table(name=resource_name)


class FunctionUrl(Resource, CloudFormationModel):  # moto looks at direct subclasses alone
    TYPE = "AWS::Lambda::Url"

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, account_id: str, region_name: str, **kwargs: Any
    ) -> FunctionUrl:
        wanted = dict(cloudformation_json["Properties"])
        url = lambda_backends[account_id][region_name].create_function_url_config(wanted.pop("TargetFunctionArn"), wanted)
        return cls(url.function.function_arn, {"FunctionUrl": f"{url.url}/", "FunctionArn": url.function.function_arn})


class Alias(Resource, CloudFormationModel):  # moto looks at direct subclasses alone
    TYPE, NAMED = "AWS::Lambda::Alias", "Name"

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, account_id: str, region_name: str, **kwargs: Any
    ) -> Alias:
        wanted = cloudformation_json["Properties"]
        backend = lambda_backends[account_id][region_name]
        alias = backend.create_alias(wanted["Name"], wanted["FunctionName"], str(wanted["FunctionVersion"]), "", "")
        return cls(alias.arn, {"AliasArn": alias.arn})


class Alarm(Resource, CloudFormationModel):  # moto looks at direct subclasses alone
    TYPE, NAMED = "AWS::CloudWatch::Alarm", "AlarmName"

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, account_id: str, region_name: str, **kwargs: Any
    ) -> Alarm:
        wanted = cloudformation_json["Properties"]
        alarm = cloudwatch_backends[account_id][region_name].put_metric_alarm(
            name=resource_name,
            # none of the three where it is made of several metrics
            namespace=wanted.get("Namespace", ""),
            metric_name=wanted.get("MetricName", ""),
            comparison_operator=wanted["ComparisonOperator"],
            evaluation_periods=wanted["EvaluationPeriods"],
            period=wanted.get("Period", 0),
            threshold=wanted["Threshold"],
            statistic=wanted.get("Statistic"),
            description="",
            dimensions=wanted.get("Dimensions", []),
            alarm_actions=wanted.get("AlarmActions", []),
            treat_missing_data=wanted.get("TreatMissingData"),
        )
        return cls(alarm.name, {"Arn": alarm.alarm_arn})

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, account_id: str, region_name: str
    ) -> None:
        cloudwatch_backends[account_id][region_name].delete_alarms([resource_name])


class Version(Resource, CloudFormationModel):
    """moto knows this one, but not its number."""

    TYPE = "AWS::Lambda::Version"

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, account_id: str, region_name: str, **kwargs: Any
    ) -> Version:
        made = LambdaVersion.create_from_cloudformation_json(resource_name, cloudformation_json, account_id, region_name, **kwargs)
        return cls(f"{cloudformation_json['Properties']['FunctionName']}:{made.version}", {"Version": str(made.version)})


def register() -> None:
    """From now on moto makes these: the last class of a type counts."""
    for known in (parsing.get_model_list, parsing.get_model_map, parsing.get_name_type_map):
        known.cache_clear()
