"""The Runtime API's calls in plain Python on asyncio streams. Docs: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html.

Every call has a connection of its own: nothing can go stale while the environment is frozen or cloned by SnapStart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from functions.runtime.failure import ERROR_TYPE_HEADER, Failure
from functions.runtime.upload import Upload
from functions.runtime.wire import Answer, connect, hang_up, read_answer, request_head

BASE = "/2018-06-01/runtime"


class RuntimeApiError(Exception):
    """The Runtime API refused a call that the environment cannot go on without."""


@dataclass(frozen=True, slots=True)
class Received:
    """One event as `next` gave it: its bytes and the headers that came with it, names in lower case."""

    request_id: str
    payload: bytes
    headers: Mapping[str, str]


class RuntimeClient:
    """Calls of one environment. Keeps no state between calls, so several invocations may be answered at once."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def next(self) -> Received:
        """Waits, however long, for the next event. Raises `RuntimeApiError` if refused, `OSError` if the Runtime API is gone."""
        answer = await self._expect(200, "GET", "/invocation/next")
        return Received(answer.headers["lambda-runtime-aws-request-id"], answer.body, answer.headers)

    def response(self, received: Received) -> Upload:
        """A stream that answers one event; nothing is sent before its first byte."""
        return Upload(self._address, f"{BASE}/invocation/{received.request_id}/response", _echo(received))

    async def error(self, received: Received, failure: Failure) -> Answer:
        """Reports that an event failed. Legal only before its response has begun. 410: the invocation had timed out already."""
        return await self._report(f"/invocation/{received.request_id}/error", failure, _echo(received))

    async def init_error(self, failure: Failure) -> Answer:
        """Reports that the environment cannot start; the process exits afterwards."""
        return await self._report("/init/error", failure, {})

    async def restore_next(self) -> None:
        """SnapStart: returns in every clone of the snapshot that Lambda takes while this call waits."""
        await self._expect(200, "GET", "/restore/next")

    async def restore_error(self, failure: Failure) -> Answer:
        """SnapStart: reports that a restored environment cannot go on; the process exits afterwards."""
        return await self._report("/restore/error", failure, {})

    async def _report(self, path: str, failure: Failure, headers: Mapping[str, str]) -> Answer:
        fields = {"Content-Type": "application/vnd.aws.lambda.error+json", ERROR_TYPE_HEADER: failure.type, **headers}
        return await self._call("POST", path, fields, failure.as_json())

    async def _expect(self, status: int, method: str, path: str) -> Answer:
        answer = await self._call(method, path, {}, b"")
        if answer.status != status:
            raise RuntimeApiError(f"{method} {path}: {answer.status} {answer.body[:500].decode(errors='replace')}")
        return answer

    async def _call(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        reader, writer = await connect(self._address)
        try:
            length = {"Content-Length": str(len(body))} if method == "POST" else {}
            writer.write(request_head(method, BASE + path, self._address, {**headers, **length}) + body)
            return await read_answer(reader)
        finally:
            await hang_up(writer)


def _echo(received: Received) -> dict[str, str]:
    """The invocation's second id, which must be given back where `next` gave one."""
    value = received.headers.get("lambda-runtime-invocation-id")
    return {"Lambda-Runtime-Invocation-Id": value} if value else {}
