"""The CDK app. `build_app()` is the one way in: `cdk synth`, `cdk deploy` and the tests get the same template from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from infra.bundle import shortfall
from infra.deployment import Deployment, project_context
from infra.model_access import require_access
from infra.toolchain import use_node

if TYPE_CHECKING:
    import aws_cdk as cdk

# What the CLI adds by itself and refuses to see in cdk.json; the tests find resources by their path.
CLI_CONTEXT = {"aws:cdk:enable-path-metadata": True, "aws:cdk:enable-asset-metadata": True}


def build_app(context: Mapping[str, Any] | None = None, *, outdir: str | None = None) -> cdk.App:
    """The app with one `AgentStack`. `context` goes over cdk.json's, and `cdk -c key=value` over both; its keys are `Deployment`'s fields.

    `outdir` is where `app.synth()` writes (default: the CLI's choice, else a temporary folder).
    Raises `pydantic.ValidationError` naming a wrong key, `ValueError` for a model that the function could not use (`infra.model_access`),
    `ToolMissing` without Node.
    """
    use_node()
    # here, not above: importing aws_cdk starts Node
    import aws_cdk as cdk
    from cdk_nag import AwsSolutionsChecks

    from infra.stack import AgentStack

    app = cdk.App(context=CLI_CONTEXT | project_context() | dict(context or {}), outdir=outdir, analytics_reporting=False)
    deployment = _deployment(app)
    require_access(deployment.model, deployment.secrets)
    AgentStack(app, deployment)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return app


def _deployment(app: cdk.App) -> Deployment:
    chosen = {key: app.node.try_get_context(key) for key in Deployment.model_fields}
    return Deployment.model_validate({key: value for key, value in chosen.items() if value is not None})


def require_bundles(app: cdk.App) -> None:
    """A function without its code must not reach AWS: raises `SystemExit` with what is missing and the command that makes it."""
    wanted = _deployment(app)
    bundled = [agent for agent in wanted.agents if agent not in wanted.images]
    problems = [problem for agent in bundled if (problem := shortfall(agent, wanted.bundle_of(agent), wanted.model, wanted.auth))]
    if problems:
        raise SystemExit("\n".join(problems))


def main() -> None:
    """What the CDK CLI runs."""
    app = build_app()
    require_bundles(app)
    app.synth()


if __name__ == "__main__":
    main()
