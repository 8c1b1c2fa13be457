"""The page's files on their bucket, put there by CDK's own function at each deploy: CloudFormation cannot write objects."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_deployment as deployment_
from constructs import Construct

from infra.acknowledging import NAG, accept
from infra.deployment import Deployment
from infra.listing import listed


class PageFiles(Construct):
    """The files of `page`, and `config.json` with the agents of the deployment."""

    def __init__(self, scope: Construct, id_: str, deployment: Deployment, page: Path, bucket: s3.Bucket) -> None:
        super().__init__(scope, id_)
        config = {"agents": [listed(agent, model=deployment.model, auth=deployment.auth) for agent in deployment.agents]}
        log_group = logs.LogGroup(self, "Logs", retention=logs.RetentionDays.ONE_WEEK, removal_policy=cdk.RemovalPolicy.DESTROY)
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        log_group.grant_write(role)
        deployment_.BucketDeployment(
            self,
            "Deployment",
            sources=[deployment_.Source.asset(str(page)), deployment_.Source.json_data("config.json", config)],
            destination_bucket=bucket,
            cache_control=[deployment_.CacheControl.no_cache()],
            retain_on_delete=False,  # an empty bucket goes with the stack
            memory_limit=256,
            role=role,
            log_group=log_group,
        )
        _acknowledge(self, role, bucket)


# What CDK's own code, `aws s3 sync`, is granted; exact objects cannot be named, their number is the page's.
_WILDCARDS = ("Action::s3:GetBucket*", "Action::s3:GetObject*", "Action::s3:List*", "Action::s3:Abort*", "Action::s3:DeleteObject*")


def _acknowledge(scope: Construct, role: iam.Role, bucket: s3.Bucket) -> None:
    stack = cdk.Stack.of(scope)
    page = stack.get_logical_id(cast(s3.CfnBucket, bucket.node.default_child))
    assets = f"arn:<AWS::Partition>:s3:::cdk-{cdk.DefaultStackSynthesizer.DEFAULT_QUALIFIER}-assets-<AWS::AccountId>-<AWS::Region>"
    for wildcard in (*_WILDCARDS, f"Resource::<{page}.Arn>/*", f"Resource::{assets}/*"):
        accept(
            role, f"{NAG}IAM5[{wildcard}]", "CDK's own deployment function: it reads the bootstrap's assets and writes the page's bucket."
        )
    for child in stack.node.children:
        if child.node.id.startswith("Custom::CDKBucketDeployment"):
            accept(child, f"{NAG}L1", "CDK's own deployment function: its runtime is the one that this CDK's code is made for.")
