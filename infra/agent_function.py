"""One agent on Lambda: function, version, alias, streaming URL, and a role that may do what it needs and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from functions.observing.names import namespace_of
from functions.store.tables import KNOWLEDGE_FOLDER, TABLES
from graphs.catalog import AGENTS
from infra.acknowledging import NAG, accept
from infra.agent_code import code_of_function, is_image, variables_of_code
from infra.deployment import Deployment
from infra.model_access import INVOKE_ACTIONS, decrypting, invoked_arns, read_arns
from infra.observability import agent_alarms

ALIAS = "live"
MOST_EVENT_AGE = 60
"""Seconds: Lambda's least, and `functions.runs.continuing.TAKEN_ON_WITHIN`."""
TABLE_ACTIONS = ("BatchGetItem", "BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem")
OBJECT_ACTIONS = ("DeleteObject", "GetObject", "PutObject")
READING_ACTIONS = ("GetObject",)
# What a browser sends to an agent: AG-UI's POST, and SigV4's own headers where the URL is signed.
ALLOWED_HEADERS = (
    "accept",
    "authorization",
    "content-type",
    "idempotency-key",
    "last-event-id",
    "prefer",
    "x-amz-content-sha256",
    "x-amz-date",
    "x-amz-security-token",
)
_METHODS = (lambda_.HttpMethod.GET, lambda_.HttpMethod.POST, lambda_.HttpMethod.PATCH, lambda_.HttpMethod.DELETE)
_RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}


@dataclass(frozen=True, slots=True)
class Stores:
    """What every agent of the stack shares."""

    tables: Mapping[str, dynamodb.TableV2]
    bucket: s3.Bucket

    @property
    def table_arns(self) -> list[str]:
        """Every table and every index, each by its name."""
        indexes = [f"{table.table_arn}/index/{index.name}" for key, table in self.tables.items() for index in TABLES[key].local_indexes]
        return [*(table.table_arn for table in self.tables.values()), *indexes]


class AgentFunction(Construct):
    """`url` is the agent's address: an AG-UI client POSTs to it and reads the events as they are made."""

    def __init__(self, scope: Construct, agent: str, deployment: Deployment, stores: Stores) -> None:
        super().__init__(scope, agent)
        self.agent = agent
        self._deployment = deployment
        self.log_group = self._log_group()
        self.role = self._role(stores)
        self.function = self._function(stores)
        self.alias = self.function.add_alias(ALIAS)
        self.url = self.alias.add_function_url(
            auth_type=lambda_.FunctionUrlAuthType.AWS_IAM if deployment.signed_urls else lambda_.FunctionUrlAuthType.NONE,
            invoke_mode=lambda_.InvokeMode.RESPONSE_STREAM,
            cors=_cors(deployment.cors_origins),
        )
        self._may_go_on()
        agent_alarms(self, agent, self.alias, deployment)
        self._acknowledge(stores)

    def _may_go_on(self) -> None:
        """A run that outlasts its invocation: the function sends itself an event. Nobody else is given that. One that waits longer than its
        run's lease is of no use any more. Lambda's own guard would take the sixteenth hop for a loop that got out of hand."""
        self.alias.configure_async_invoke(max_event_age=cdk.Duration.seconds(MOST_EVENT_AGE), retry_attempts=2)
        # a policy of its own: in the role's default one the function would wait for itself
        iam.Policy(self, "GoOn", statements=[_may("lambda", ["InvokeFunction"], [self.alias.function_arn])], roles=[self.role])

    def _log_group(self) -> logs.LogGroup:
        removal = cdk.RemovalPolicy.RETAIN if self._deployment.keeps_data else cdk.RemovalPolicy.DESTROY
        return logs.LogGroup(self, "Logs", retention=_RETENTION[self._deployment.retention_days], removal_policy=removal)

    def _role(self, stores: Stores) -> iam.Role:
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        self.log_group.grant_write(role)
        role.add_to_policy(_may("dynamodb", TABLE_ACTIONS, stores.table_arns))
        for folder, actions in self._folders().items():
            role.add_to_policy(_may("s3", actions, [stores.bucket.arn_for_objects(f"{folder}/*")]))
        # without it S3 answers 403 where an object is gone, and a thread's objects could not be listed to delete them
        role.add_to_policy(_may("s3", ["ListBucket"], [stores.bucket.bucket_arn]))
        for action, arns in self._readable().items():
            role.add_to_policy(iam.PolicyStatement(actions=[action], resources=arns))
        if keys := self._deployment.kms_keys:
            role.add_to_policy(iam.PolicyStatement(**decrypting(keys, cdk.Stack.of(self).url_suffix)))
        if models := self._models():
            role.add_to_policy(_may("bedrock", INVOKE_ACTIONS, models))
        return role

    def _folders(self) -> dict[str, tuple[str, ...]]:
        """What the agent may do with the bucket's objects: its threads' payloads are its own; knowledge is written where it is imported,
        and read where it is asked."""
        spec, prefix = AGENTS[self.agent], self._deployment.table_prefix
        folders: dict[str, tuple[str, ...]] = {f"{prefix}checkpoints": OBJECT_ACTIONS}
        if "knowledge" in spec.parts:
            folders[f"{prefix}{KNOWLEDGE_FOLDER}"] = OBJECT_ACTIONS if "documents" in spec.routes else READING_ACTIONS
        return folders

    def _readable(self) -> dict[str, list[str]]:
        stack = cdk.Stack.of(self)
        return read_arns(self._deployment.secrets, stack.partition, stack.region, stack.account)

    def _models(self) -> list[str]:
        stack = cdk.Stack.of(self)
        return [arn for model in self._invoked() for arn in invoked_arns(model, stack.partition, stack.region, stack.account)]

    def _invoked(self) -> tuple[str, ...]:
        """The chat model, and what knowledge is embedded with."""
        wanted = self._deployment
        return (wanted.model, wanted.embeddings) if "knowledge" in AGENTS[self.agent].parts else (wanted.model,)

    def _function(self, stores: Stores) -> lambda_.Function:
        wanted = self._deployment
        return lambda_.Function(
            self,
            "Function",
            description=AGENTS[self.agent].description,
            architecture=lambda_.Architecture.ARM_64,
            **code_of_function(self, self.agent, wanted),
            role=self.role,
            environment=self._environment(stores),
            memory_size=wanted.memory_of(self.agent),
            timeout=cdk.Duration.seconds(wanted.timeout_of(self.agent)),
            reserved_concurrent_executions=wanted.concurrency_of(self.agent),
            log_group=self.log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            # metrics are lines without a level, which Lambda takes for INFO: a higher one, ours alone to keep, would drop them
            application_log_level_v2=lambda_.ApplicationLogLevel.DEBUG if wanted.log_level == "DEBUG" else lambda_.ApplicationLogLevel.INFO,
            system_log_level_v2=lambda_.SystemLogLevel.INFO,
            tracing=lambda_.Tracing.ACTIVE if wanted.tracing == "xray" else None,
            layers=self._layers(),
            recursive_loop=lambda_.RecursiveLoop.ALLOW,
        )

    def _layers(self) -> list[lambda_.ILayerVersion] | None:
        """An image takes none."""
        if is_image(self.agent, self._deployment):
            return None
        arns = self._deployment.layers
        return [lambda_.LayerVersion.from_layer_version_arn(self, f"Layer{number}", arn) for number, arn in enumerate(arns)] or None

    def _acknowledge(self, stores: Stores) -> None:
        bucket = cdk.Stack.of(self).get_logical_id(cast(s3.CfnBucket, stores.bucket.node.default_child))
        for folder in self._folders():
            accept(self.role, f"{NAG}IAM5[Resource::<{bucket}.Arn>/{folder}/*]", "Object names below the folder are made at run time.")
        for arn in (
            arn for model in self._invoked() for arn in invoked_arns(model, "<AWS::Partition>", "<AWS::Region>", "<AWS::AccountId>")
        ):
            if "*" in arn:
                accept(self.role, f"{NAG}IAM5[Resource::{arn}]", "An inference profile sends the call to a region of AWS's choice.")
        if self._deployment.tracing == "xray":
            accept(self.role, f"{NAG}IAM5[Resource::*]", "X-Ray's actions know no resources.")
        if is_image(self.agent, self._deployment):
            return
        accept(self.function, f"{NAG}L1", "The version that the locked wheels, their .pyc and the cold start are tested with.")
        if self._deployment.snap_start:
            accept(
                self.function, "Annotation::@aws-cdk/aws-lambda:snapStartRequirePublish", "The alias publishes a version at every change."
            )

    def _environment(self, stores: Stores) -> dict[str, str]:
        wanted = self._deployment
        return {
            **wanted.environment,
            **variables_of_code(self.agent, wanted),
            "AGENTS_NAME": self.agent,
            "AGENTS_MODEL": wanted.model,
            "AGENTS_EMBEDDINGS": wanted.embeddings,
            "AGENTS_SAMPLE_KNOWLEDGE": str(wanted.sample_knowledge).lower(),
            "AGENTS_TABLE_PREFIX": wanted.table_prefix,
            "AGENTS_BUCKET": stores.bucket.bucket_name,
            "AGENTS_AUTH": wanted.auth,
            "AGENTS_TTL_DAYS": str(wanted.ttl_days),
            "AGENTS_METRICS_NAMESPACE": namespace_of(wanted.stack),
            # INFO and DEBUG are Lambda's own log level, which can be changed without a deploy
            **({"AGENTS_LOG_LEVEL": wanted.log_level} if wanted.log_level in ("WARN", "ERROR") else {}),
            **self._token_rules(),
            **({"AGENTS_SECRETS": json.dumps(wanted.secrets, sort_keys=True)} if wanted.secrets else {}),
        }

    def _token_rules(self) -> dict[str, str]:
        wanted = self._deployment
        if wanted.auth != "jwt":
            return {}
        rules = {"ISSUER": wanted.jwt_issuer, "AUDIENCE": wanted.jwt_audience, "JWKS_URL": wanted.jwt_jwks_url}
        return {f"AGENTS_JWT_{name}": value for name, value in rules.items() if value}


def _may(service: str, actions: Sequence[str], resources: Sequence[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=[f"{service}:{action}" for action in actions], resources=list(resources))


def _cors(origins: Sequence[str]) -> lambda_.FunctionUrlCorsOptions | None:
    """CORS lives on the URL alone: a second answer from the app would double the headers. OPTIONS is Lambda's own business."""
    if not origins:
        return None
    return lambda_.FunctionUrlCorsOptions(
        allowed_origins=list(origins),
        allowed_methods=list(_METHODS),
        allowed_headers=list(ALLOWED_HEADERS),
        exposed_headers=["x-amzn-requestid"],
        max_age=cdk.Duration.days(1),
    )
