"""The OpenAPI document: the run's body is read by hand, tolerantly, so its schema is added here."""

from __future__ import annotations

from typing import Any

from ag_ui.core import RunAgentInput
from fastapi import FastAPI

READ: dict[int | str, dict[str, Any]] = {
    400: {"description": "The body is not JSON."},
    413: {"description": "The body is too large."},
    422: {"description": "A field is missing or wrong."},
}
"""How a body that is read by hand is refused."""


def body_of(schema: dict[str, Any], *, required: bool = True) -> dict[str, Any]:
    """`openapi_extra` of a route that reads a JSON body by hand."""
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}}


def install(app: FastAPI) -> None:
    """Adds AG-UI's input schema to the components, once, when the document is first asked for."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        if "RunAgentInput" not in schemas:
            schema = RunAgentInput.model_json_schema(by_alias=True, ref_template="#/components/schemas/{model}")
            schemas.update(schema.pop("$defs", {}))
            schemas["RunAgentInput"] = schema
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend the document
