"""The local stack's emulator in this process. Needs no test runner: the benchmarks use it too."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from infra.local.journaled import JournaledApp
from infra.local.store_process import emulator, listen


@contextmanager
def moto_server() -> Iterator[str]:
    """Its address. It is the local stack's, one request at a time: moto alone checks a condition and writes in two steps, so that of
    sixteen conditional updates at once several succeed."""
    server = listen(JournaledApp(emulator(), None))
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    yield f"http://127.0.0.1:{server.port}"
    server.shutdown()
    serving.join()
