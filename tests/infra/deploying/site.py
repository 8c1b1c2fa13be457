"""The page and its CloudFront address, which moto's CloudFormation skips too.

Distribution, access controls, request function and header policies are resources with an address and no service behind them: moto's
CloudFront keeps too few of their settings to say back what a template asked for. The page's files are what CDK's function would make of
them: that function is Python around `aws s3 sync`, for which moto would need Docker.
"""

from __future__ import annotations

import io
import mimetypes
import zipfile
from typing import Any
from uuid import uuid4

from moto.cloudformation import parsing
from moto.core.common_models import CloudFormationModel
from moto.s3.models import FakeBucket, s3_backends

from tests.infra.deploying.cloudformation import Properties, Resource


class Distribution(Resource, CloudFormationModel):  # moto looks at direct subclasses alone
    TYPE = "AWS::CloudFront::Distribution"

    @classmethod
    def create_from_cloudformation_json(cls, resource_name: str, cloudformation_json: Properties, *_: Any, **__: Any) -> Distribution:
        id_ = uuid4().hex[:14].upper()
        return cls(id_, {"Id": id_, "DomainName": f"{id_.lower()}.cloudfront.net"})


class AccessControl(Resource, CloudFormationModel):  # moto looks at direct subclasses alone
    TYPE = "AWS::CloudFront::OriginAccessControl"

    @classmethod
    def create_from_cloudformation_json(cls, resource_name: str, cloudformation_json: Properties, *_: Any, **__: Any) -> AccessControl:
        return cls(id_ := uuid4().hex[:14].upper(), {"Id": id_})


class RequestFunction(Resource, CloudFormationModel):  # moto looks at direct subclasses alone
    TYPE = "AWS::CloudFront::Function"

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, account_id: str, *_: Any, **__: Any
    ) -> RequestFunction:
        arn = f"arn:aws:cloudfront::{account_id}:function/{cloudformation_json['Properties']['Name']}"
        return cls(arn, {"FunctionARN": arn})


class HeadersPolicy(Resource, CloudFormationModel):  # moto looks at direct subclasses alone
    TYPE = "AWS::CloudFront::ResponseHeadersPolicy"

    @classmethod
    def create_from_cloudformation_json(cls, resource_name: str, cloudformation_json: Properties, *_: Any, **__: Any) -> HeadersPolicy:
        return cls(id_ := str(uuid4()), {"Id": id_})


class PageFiles(Resource, CloudFormationModel):  # moto looks at direct subclasses alone
    """Each asset is unpacked into the bucket, the later over the earlier, with the metadata asked for; at the end they go."""

    TYPE = "Custom::CDKBucketDeployment"

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, account_id: str, *_: Any, **__: Any
    ) -> PageFiles:
        wanted, s3 = cloudformation_json["Properties"], s3_backends[account_id]["aws"]
        for bucket, key in zip(wanted["SourceBucketNames"], wanted["SourceObjectKeys"], strict=True):
            asset = s3.get_object(bucket, key)
            assert asset is not None, f"{key} was not uploaded"
            with zipfile.ZipFile(io.BytesIO(asset.value)) as packed:
                for name in (one for one in packed.namelist() if not one.endswith("/")):
                    stored = s3.put_object(wanted["DestinationBucketName"], name, packed.read(name))
                    stored.set_metadata({**wanted["SystemMetadata"], "content-type": mimetypes.guess_type(name)[0]})
        # the bucket's name as id: at the end moto resolves no references
        return cls(wanted["DestinationBucketName"], {})

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, account_id: str, *_: Any, **__: Any
    ) -> None:
        s3 = s3_backends[account_id]["aws"]
        for key in list(s3.get_bucket(resource_name).keys):
            s3.delete_object(resource_name, key)


class NotEmpty(Exception):
    """The bucket has objects; moto tries again when it has deleted what else there is."""


class Bucket(Resource, CloudFormationModel):  # moto looks at direct subclasses alone
    """moto knows this one, but leaves one with objects in silence, and goes through a stack in any order."""

    TYPE, NAMED = "AWS::S3::Bucket", "BucketName"

    @classmethod
    def create_from_cloudformation_json(  # moto's own class, with its attributes
        cls, resource_name: str, cloudformation_json: Properties, account_id: str, region_name: str, **kwargs: Any
    ) -> FakeBucket:
        return FakeBucket.create_from_cloudformation_json(resource_name, cloudformation_json, account_id, region_name, **kwargs)

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, account_id: str, *_: Any, **__: Any
    ) -> None:
        if s3_backends[account_id]["aws"].delete_bucket(resource_name) is None:
            raise NotEmpty(resource_name)


def register() -> None:
    """moto takes every `Custom::` for a function that it would have to run."""
    known = parsing.resource_class_from_type

    def resource_class_from_type(resource_type: str) -> type[CloudFormationModel]:
        return PageFiles if resource_type == PageFiles.TYPE else known(resource_type)

    parsing.resource_class_from_type = resource_class_from_type
