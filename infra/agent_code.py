"""What a function runs: its bundle as a zip, or, where that is over what Lambda takes from one, as a container image."""

from __future__ import annotations

from typing import Any

from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from graphs.catalog import AGENTS
from infra.bundle import BOOTSTRAP, MANIFEST, TASK_ROOT, manifest_of
from infra.combinations import ECR_IMAGE
from infra.deployment import Deployment

HANDLER = "functions.entry.app"


def code_of_function(scope: Construct, agent: str, deployment: Deployment) -> dict[str, Any]:
    """The properties of `lambda_.Function` that say what it runs: code, handler, runtime and, for a zip, SnapStart.

    Without its bundle the template is whole, so that it can be read and tested; `infra.app.main` refuses it.
    """
    if (image := _image(scope, agent, deployment)) is not None:
        # SnapStart takes no images
        return {"code": image, "handler": lambda_.Handler.FROM_IMAGE, "runtime": lambda_.Runtime.FROM_IMAGE}
    snap_start = lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if deployment.snap_start else None
    return {"code": _zip(agent, deployment), "handler": HANDLER, "runtime": lambda_.Runtime.PYTHON_3_13, "snap_start": snap_start}


def variables_of_code(agent: str, deployment: Deployment) -> dict[str, str]:
    """What starts our loop instead of Lambda's. An image starts it by itself (`infra/images`)."""
    return {} if is_image(agent, deployment) else {"AWS_LAMBDA_EXEC_WRAPPER": f"{TASK_ROOT}/{BOOTSTRAP.as_posix()}"}


def is_image(agent: str, deployment: Deployment) -> bool:
    """By its URI, or for want of another way."""
    return agent in deployment.images or not AGENTS[agent].fits_zip


def _image(scope: Construct, agent: str, deployment: Deployment) -> lambda_.Code | None:
    """The image of that URI, or one that the CDK's command line builds with Docker when it deploys. Synthesis needs no Docker."""
    if agent in deployment.images:
        return _in_ecr(scope, deployment.images[agent])
    folder = deployment.bundle_of(agent)
    if AGENTS[agent].fits_zip or manifest_of(folder) is None:
        return None
    return lambda_.Code.from_asset_image(str(folder), platform=ecr_assets.Platform.LINUX_ARM64, exclude=[MANIFEST])


def _in_ecr(scope: Construct, uri: str) -> lambda_.Code:
    found = ECR_IMAGE.fullmatch(uri)
    if found is None:
        raise ValueError(f"{uri!r} is no image in ECR")
    name = found["name"]
    arn = f"arn:aws:ecr:{found['region']}:{found['account']}:repository/{name}"
    repository = ecr.Repository.from_repository_attributes(scope, "Repository", repository_arn=arn, repository_name=name)
    return lambda_.Code.from_ecr_image(repository, tag_or_digest=found["tag"] or found["digest"])


def _zip(agent: str, deployment: Deployment) -> lambda_.Code:
    folder = deployment.bundle_of(agent)
    if manifest_of(folder) is None:
        return lambda_.Code.from_inline("raise RuntimeError('this function was deployed without its bundle')")
    # a new manifest of the same files is not a new version
    return lambda_.Code.from_asset(str(folder), exclude=[MANIFEST])
