"""A failure as Lambda wants to read it: a type of its pattern and a JSON document that fits where it is sent."""

from __future__ import annotations

import base64
import json
import re
import traceback
from dataclasses import dataclass

TRAILER_JSON_LIMIT = 2900
"""Bytes of JSON in a trailer. Base64 makes 3.9 KB of it; a trailer block over 4,096 bytes makes AWS reset the connection and kill
the environment (Go's `net/http` limit), and an ordinary traceback is longer."""
REPORT_JSON_LIMIT = 64 * 1024
"""Bytes of JSON in a posted error. Lambda takes more; nobody reads more."""
ERROR_TYPE_HEADER = "Lambda-Runtime-Function-Error-Type"
ERROR_BODY_TRAILER = "Lambda-Runtime-Function-Error-Body"

_NOT_LETTERS = re.compile(r"[^A-Za-z]+")


def error_type(exc: BaseException) -> str:
    """`Function.<ClassName>`, letters only: other types are replaced by `Runtime.Unknown` (`(Runtime|Function)\\.[A-Z][a-zA-Z]+`)."""
    name = _NOT_LETTERS.sub("", type(exc).__name__)
    return f"Function.{name[0].upper()}{name[1:]}" if len(name) > 1 else "Function.Error"


@dataclass(frozen=True, slots=True)
class Failure:
    """One error to report: `type` of AWS's pattern, a message, stack lines from the outermost call to the innermost."""

    type: str
    message: str
    stack: tuple[str, ...] = ()

    @classmethod
    def of(cls, exc: BaseException, type: str | None = None) -> Failure:
        """An exception with its traceback; `type` where the runtime knows a better one than the class name."""
        return cls(type or error_type(exc), str(exc), tuple(traceback.format_tb(exc.__traceback__)))

    def as_json(self, limit: int = REPORT_JSON_LIMIT) -> bytes:
        """`{"errorType", "errorMessage", "stackTrace"}` in at most `limit` bytes: outer frames go first, then the message's end."""
        stack = list(self.stack)
        while len(data := self._encode(self.message, stack)) > limit and stack:
            del stack[0]
        message = self.message
        while len(data) > limit and message:
            # every character is at least one byte of JSON, so this never takes too little and soon ends
            message = message[: max(0, min(len(message) - 1, len(message) * limit // len(data) - 1))]
            data = self._encode(message + "…", stack)
        return data

    def as_trailers(self) -> dict[str, str]:
        """The two HTTP trailers that tell Lambda a stream failed."""
        body = base64.b64encode(self.as_json(TRAILER_JSON_LIMIT)).decode()
        return {ERROR_TYPE_HEADER: self.type, ERROR_BODY_TRAILER: body}

    def _encode(self, message: str, stack: list[str]) -> bytes:
        return json.dumps({"errorType": self.type, "errorMessage": message, "stackTrace": stack}).encode()
