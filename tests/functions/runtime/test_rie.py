"""Our runtime on AWS's own Runtime Interface Emulator (Linux only, see conftest): a second opinion beside our fake."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from functions.runtime.cycle import SEPARATOR
from tests.support import rie
from tests.support.events import url_event

REPO = Path(__file__).parents[3]
SCRIPT = """#!/bin/sh
cd "{repo}" && exec "{python}" -m functions.runtime
"""


@pytest.fixture
def bootstrap(tmp_path: Path) -> Path:
    """The runtime as an executable, which is what the emulator starts."""
    script = tmp_path / "bootstrap"
    script.write_text(SCRIPT.format(repo=REPO, python=sys.executable))
    script.chmod(0o755)
    return script


async def answer(emulator: rie.Rie, path: str, **changes: Any) -> tuple[int, dict[str, Any], bytes]:
    """HTTP status of the invoke, prelude, body: the emulator gives back the post as it was."""
    status, posted = await emulator.invoke(json.dumps(url_event(path, **changes)).encode())
    prelude, separator, body = posted.partition(SEPARATOR)
    assert separator == SEPARATOR, posted
    return status, json.loads(prelude), body


async def test_aws_accepts_our_posts(bootstrap: Path, tmp_path: Path) -> None:
    """One environment, no restart: a stream, a failure with the longest trailers, a bad request, a foreign event, a stream again."""
    event_stream = {"statusCode": 200, "headers": {"content-type": "text/event-stream"}, "cookies": []}
    stream = (200, event_stream, b"".join(b"data: %d\n\n" % number for number in range(4)))
    async with rie.emulator(bootstrap, tmp_path, {"_HANDLER": "tests.support.plain_app.app"}) as emulator:
        assert await answer(emulator, "/spread") == stream
        assert await answer(emulator, "/mid") == (200, {"statusCode": 200, "headers": {}, "cookies": []}, b"one")
        assert (await answer(emulator, "/", body="!", isBase64Encoded=True))[1]["statusCode"] == 400
        _, error = await emulator.invoke(b"[]")
        assert json.loads(error)["errorType"] == "Runtime.UnsupportedEvent"
        assert await answer(emulator, "/spread") == stream
        log = emulator.log
    assert (log.count("INIT RTDONE"), log.count("INVOKE RTDONE(status: success")) == (1, 5)
    # what a wrong order of calls, a truncated post or too long a trailer would leave in it
    assert not [word for word in ("PANIC", "truncated", "InvalidStateTransition", "Runtime exited") if word in log]
