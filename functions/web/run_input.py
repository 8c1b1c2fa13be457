"""A request body → `RunAgentInput`. Material the protocol does not know is left out, as AG-UI asks; what is wrong is named, not echoed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ag_ui.core import RunAgentInput
from pydantic import ValidationError
from starlette.requests import Request

from functions.web.problems import Problem

MAX_ID_CHARS = 256
MAX_MESSAGES = 10_000
MAX_DEPTH = 128
"""Lists and objects inside each other. A checkpoint cannot hold much more, and an answer that it cannot hold would be lost."""
ROLES = frozenset({"developer", "system", "assistant", "user", "tool", "reasoning"})
PARTS = frozenset({"text", "image", "audio", "video", "document"})
SOURCES = frozenset({"data", "url", "file"})
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_NOT_IN_A_PATH = re.compile(r"[/\\?#]|\A\.\.?\Z")


async def read_run_input(request: Request, max_bytes: int) -> RunAgentInput:
    """
    Raises:
        Problem: 413 over `max_bytes`; 400 not JSON; 422 a field is missing or has the wrong form.
    """
    return parse_run_input(await read_json(request, max_bytes))


async def read_body(request: Request, max_bytes: int) -> bytes:
    """
    Raises:
        Problem: 413 over `max_bytes`.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > max_bytes:
        raise _too_large(max_bytes)
    body = await request.body()
    if len(body) > max_bytes:
        raise _too_large(max_bytes)
    return body


async def read_json(request: Request, max_bytes: int, *, empty: bool = False) -> Any:
    """`empty`: no body at all is an empty object."""
    body = await read_body(request, max_bytes)
    if empty and not body.strip():
        return {}
    try:
        parsed = json.loads(body, parse_constant=_no_constant, parse_int=_whole, parse_float=_finite)
        if _depth(parsed) > MAX_DEPTH:
            raise RecursionError
        return parsed
    except RecursionError:
        raise Problem(400, "BAD_INPUT", "The body is nested too deeply.") from None
    except ValueError as error:
        raise Problem(400, "BAD_INPUT", f"The body is not JSON: {_where(error)}.") from error


def parse_run_input(raw: Any) -> RunAgentInput:
    if not isinstance(raw, Mapping):
        raise Problem(422, "BAD_INPUT", "The body must be a JSON object, a RunAgentInput.")
    _reject_surrogates(raw)
    try:
        parsed = RunAgentInput.model_validate(_known_material(raw))
    except ValidationError as error:
        raise Problem(422, "BAD_INPUT", _first_problem(error)) from error
    check_thread_id(parsed.thread_id)
    check_id("runId", parsed.run_id)
    if len(parsed.messages) > MAX_MESSAGES:
        raise Problem(413, "BAD_INPUT", f"messages: at most {MAX_MESSAGES} are taken at once.")
    return parsed


def frontend_of(raw: Mapping[str, Any]) -> tuple[frozenset[str], str | None]:
    """The names of the client's own tools and the protocol version in a body, as a RunAgentInput has them; anything else is not there."""
    tools, version = raw.get("tools"), raw.get("protocolVersion")
    names = [tool.get("name") for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else []
    return frozenset(name for name in names if isinstance(name, str)), version if isinstance(version, str) else None


def check_id(name: str, value: str) -> None:
    """
    Raises:
        Problem: empty, longer than 256 characters, or with control characters.
    """
    if not value.strip() or len(value) > MAX_ID_CHARS or _CONTROL.search(value):
        raise Problem(422, "BAD_INPUT", f"{name} must be 1 to {MAX_ID_CHARS} printable characters.")


def check_thread_id(value: str) -> None:
    """A thread that can be run can be read too: its id is one segment of `/threads/{threadId}/…`, which clients and proxies normalise.

    Raises:
        Problem: as `check_id`, or with `/`, `\\`, `?` or `#`, or `.` or `..` alone.
    """
    check_id("threadId", value)
    if _NOT_IN_A_PATH.search(value):
        raise Problem(422, "BAD_INPUT", "threadId must not hold any of / \\ ? #, nor be . or .., since it is part of a URL.")


def _known_material(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Unknown roles, parts and null lists are left out; everything else goes on to validation."""
    known = {k: v for k, v in raw.items() if v is not None or k in ("threadId", "runId", "messages")}
    messages = known.get("messages")
    if isinstance(messages, list):
        known["messages"] = [_known_parts(m) for m in messages if not isinstance(m, dict) or _one_of(ROLES, m.get("role"))]
    return known


def _known_parts(message: Any) -> Any:
    if not isinstance(message, dict):
        return message
    known = {k: v for k, v in message.items() if v is not None}
    if isinstance(known.get("content"), list):
        known["content"] = [part for part in known["content"] if _is_known_part(part)]
    elif "content" not in known and message.get("role") in ("user", "tool"):
        known["content"] = message.get("content")
    return known


def _is_known_part(part: Any) -> bool:
    if not isinstance(part, dict) or not _one_of(PARTS, part.get("type")):
        return False
    source = part.get("source")
    return part["type"] == "text" or (isinstance(source, dict) and _one_of(SOURCES, source.get("type")))


def _one_of(names: frozenset[str], value: Any) -> bool:
    """A list or an object cannot even be looked up in a set."""
    return isinstance(value, str) and value in names


def _reject_surrogates(raw: Mapping[str, Any]) -> None:
    try:
        json.dumps(raw, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise Problem(422, "BAD_INPUT", "The body holds a lone surrogate (half of a character), which is not text.") from error
    except RecursionError:
        raise Problem(400, "BAD_INPUT", "The body is nested too deeply.") from None


def _whole(digits: str) -> int:
    """What a checkpoint can hold: msgpack has no integer beyond 64 bits."""
    number = int(digits)
    if not -(2**63) <= number < 2**64:
        raise ValueError("a whole number has more than 64 bits")
    return number


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _depth(value: Any) -> int:
    """Levels of lists and objects, counted without recursion; stops when it is too many."""
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [inner for outer in level for inner in _inside(outer)]
    return depth


def _inside(value: Any) -> Iterable[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [item for item in inner if isinstance(item, (dict, list))]


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def _where(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno} column {error.colno}"
    return "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"


def _too_large(max_bytes: int) -> Problem:
    return Problem(413, "BODY_TOO_LARGE", f"The body is larger than {max_bytes} bytes.")
