"""Errors before a stream: a status and `{"error": {"code", "message"}}`, never a stack trace or an echo of the input. A busy thread's has
`runId` too, the run that has it; one for a caller's limit has `limit`, its name."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from functions.runs.errors import RunRejected
from functions.runs.lease import RunInProgress
from functions.web.limits import LimitExceeded

log = logging.getLogger(__name__)

CODES = {401: "UNAUTHORIZED", 403: "FORBIDDEN", 404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED", 413: "BODY_TOO_LARGE", 422: "BAD_INPUT"}


class Problem(Exception):
    """An answer with an error status."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers or {}


def install(app: FastAPI) -> None:
    """Every way a request can fail ends in the same body."""
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(RunRejected, _problem)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(Exception, _unexpected)


def answer(status: int, code: str, message: str, **more: str) -> JSONResponse:
    log.log(logging.INFO if status < 500 else logging.WARNING, "request refused: %d %s", status, code)
    return JSONResponse({"error": {"code": code, "message": message, **more}}, status_code=status)


async def _problem(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, (Problem, RunRejected))
    more, headers = {}, error.headers if isinstance(error, Problem) else {}
    if isinstance(error, RunInProgress):
        more = {"runId": error.run_id}
    elif isinstance(error, LimitExceeded):
        more, headers = {"limit": error.limit}, {"Retry-After": str(error.retry_after)}
    refused = answer(error.status, error.code, error.message, **more)
    refused.headers.update(headers)
    return refused


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    refused = answer(error.status_code, CODES.get(error.status_code, "HTTP_ERROR"), str(error.detail))
    refused.headers.update(error.headers or {})  # a 405 names what is allowed
    return refused


async def _validation(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    return answer(422, "BAD_INPUT", f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}")


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    log.error("request failed: %s %s", request.method, request.url.path, exc_info=error)
    return answer(500, "INTERNAL", "The request failed. Its log entry has the reason.")
