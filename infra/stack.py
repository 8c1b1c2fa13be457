"""The stack: tables and bucket that all agents share, one function with a streaming URL per agent, a dashboard, and the URLs as outputs."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_s3 as s3
from constructs import Construct

from functions.store.tables import TABLES, LocalIndex, TableSchema
from infra.acknowledging import NAG, accept
from infra.agent_function import AgentFunction, Stores
from infra.deployment import Deployment
from infra.listing import PREFIX
from infra.observability import Dashboard
from infra.site import Site


class AgentStack(cdk.Stack):
    """`agents` maps each agent of the deployment to its function."""

    def __init__(self, scope: Construct, deployment: Deployment) -> None:
        super().__init__(scope, deployment.stack, description="LangGraph agents on Lambda function URLs: AG-UI events over SSE.")
        self._deployment = deployment
        self._removal = cdk.RemovalPolicy.RETAIN if deployment.keeps_data else cdk.RemovalPolicy.DESTROY
        self.tables = {key: self._table(key, schema) for key, schema in TABLES.items()}
        self.bucket = self._bucket()
        stores = Stores(self.tables, self.bucket)
        self.agents = {agent: AgentFunction(self, agent, deployment, stores) for agent in deployment.agents}
        aliases = {name: agent.alias for name, agent in self.agents.items()}
        memory = {name: deployment.memory_of(name) for name in self.agents}
        Dashboard(self, "Dashboard", stack=deployment.stack, aliases=aliases, tables=self.tables, memory=memory)
        self.site = Site(self, "Site", deployment, {name: agent.url for name, agent in self.agents.items()}) if deployment.site else None
        self._outputs()

    def _table(self, key: str, schema: TableSchema) -> dynamodb.TableV2:
        """The table that `functions.store.tables.create_tables` would make, and what only AWS has: backups and a lock against deletion."""
        return dynamodb.TableV2(
            self,
            key.capitalize(),
            table_name=f"{self._deployment.table_prefix}{key}",
            partition_key=_text(schema.partition_key),
            sort_key=_text(schema.sort_key),
            local_secondary_indexes=[_local_index(index) for index in schema.local_indexes] or None,
            time_to_live_attribute=schema.ttl,
            billing=dynamodb.Billing.on_demand(),
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(point_in_time_recovery_enabled=schema.backed_up),
            deletion_protection=self._deployment.keeps_data,
            removal_policy=self._removal,
        )

    def _bucket(self) -> s3.Bucket:
        """Payloads too large for an item. The saver deletes them with their thread: an age limit would cut into threads that live on."""
        bucket = s3.Bucket(
            self,
            "Payloads",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            lifecycle_rules=[s3.LifecycleRule(id="abandoned-uploads", abort_incomplete_multipart_upload_after=cdk.Duration.days(1))],
            removal_policy=self._removal,
        )
        reason = "Only the functions' roles reach it, and each logs its requests; CloudTrail data events give an audit where one is due."
        accept(bucket, f"{NAG}S1", reason)
        return bucket

    def _outputs(self) -> None:
        for name, agent in self.agents.items():
            # behind CloudFront the function's own address answers nobody else
            value = f"{self.site.url}{PREFIX}{name}/" if self.site else agent.url.url
            cdk.CfnOutput(self, f"{name}Url", value=value, description=f"Where {name} is called")
        if self.site:
            cdk.CfnOutput(self, "pageUrl", value=self.site.url, description="The page that talks to the agents")
        for key, table in self.tables.items():
            cdk.CfnOutput(self, f"{key}Table", value=table.table_name)
        cdk.CfnOutput(self, "payloadsBucket", value=self.bucket.bucket_name)


def _text(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)


def _local_index(index: LocalIndex) -> dynamodb.LocalSecondaryIndexProps:
    return dynamodb.LocalSecondaryIndexProps(
        index_name=index.name, sort_key=_text(index.sort_key), projection_type=dynamodb.ProjectionType.ALL
    )
