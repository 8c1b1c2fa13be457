"""One streamed response on its way to the Runtime API: a chunked POST that is opened by its first byte and may end in trailers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from functions.runtime.failure import ERROR_BODY_TRAILER, ERROR_TYPE_HEADER
from functions.runtime.wire import Answer, connect, hang_up, read_answer, request_head

HEADERS = {
    "Content-Type": "application/vnd.awslambda.http-integration-response",
    "Lambda-Runtime-Function-Response-Mode": "streaming",
    "Transfer-Encoding": "chunked",
    "Trailer": f"{ERROR_TYPE_HEADER}, {ERROR_BODY_TRAILER}",
}
"""What makes a post a stream with an HTTP head: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-custom.html."""


class UploadBroken(ConnectionResetError):
    """Lambda takes no more of this response. An `OSError`, which is how an ASGI server says that the client is gone (spec 2.4)."""


def frame(part: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(part), part)


class Upload:
    """`write` as often as there are bytes, `end` once, `close` always. Nothing is sent, and `/error` stays legal, before the first `write`.

    Raises `UploadBroken` from `write` and `end` once the connection is lost or Lambda has answered before the end (410: timed out).
    """

    def __init__(self, address: str, path: str, headers: Mapping[str, str]) -> None:
        self._address = address
        self._head = request_head("POST", path, address, {**HEADERS, **headers})
        self._opening = asyncio.Lock()
        self._writer: asyncio.StreamWriter | None = None
        self._answering: asyncio.Task[Answer] | None = None
        self._ended = False

    async def write(self, *parts: bytes) -> None:
        """Sends each part as one chunk; waits while Lambda takes no more (2 MB/s after the first 6 MB)."""
        await self._send(b"".join(map(frame, parts)))

    async def end(self, trailers: Mapping[str, str] | None = None) -> None:
        """Sends the last chunk, with trailers if the stream failed. Does not wait for Lambda's answer."""
        lines = "".join(f"{name}: {value}\r\n" for name, value in (trailers or {}).items())
        self._ended = True
        await self._send(b"0\r\n" + lines.encode("latin-1") + b"\r\n")

    async def close(self) -> Answer | None:
        """Waits for the answer to a response that has ended; drops one that has not. None if there was nothing to answer or nobody to."""
        if self._writer is None or self._answering is None:
            return None
        if not self._ended:
            self._writer.transport.abort()
        await asyncio.wait({self._answering})
        return None if self._answering.exception() else self._answering.result()

    async def _send(self, data: bytes) -> None:
        writer = await self._open()
        self._check()
        writer.write(data)
        try:
            await writer.drain()
        except ConnectionError as exc:
            self._check()
            raise UploadBroken(f"the connection to the Runtime API was lost: {exc}") from exc

    async def _open(self) -> asyncio.StreamWriter:
        if self._writer is not None:
            return self._writer
        # locked: two tasks of an app may send at once, and the first one's bytes must come first
        async with self._opening:
            if self._writer is None:
                reader, self._writer = await connect(self._address)
                self._writer.write(self._head)
                self._answering = asyncio.create_task(self._listen(reader, self._writer))
            return self._writer

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Answer:
        """Lambda's answer. One that comes before the end means it reads no more, so a waiting `write` is woken by dropping the line."""
        try:
            return await read_answer(reader)
        finally:
            if not self._ended:
                writer.transport.abort()
            await hang_up(writer)

    def _check(self) -> None:
        if self._answering is None or not self._answering.done() or self._ended:
            return
        error = self._answering.exception()
        raise UploadBroken(str(error) if error else f"Lambda answered {self._answering.result().status} before the response ended")
