"""`python -m infra.local.store_process FOLDER PREFIX`: DynamoDB and S3 over HTTP on 127.0.0.1, kept in FOLDER ("" keeps nothing).

Makes the tables (their names begin with PREFIX) and the bucket if they are not there. Prints one JSON line when it is ready
(`{"address", "records"}`) or cannot be (`{"error"}`), and ends when its stdin does.
"""

from __future__ import annotations

import json
import sys
import threading
import traceback
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from infra.local.compaction import compact, is_data
from infra.local.journal import DamagedJournal, Journal, Record
from infra.local.journaled import JournaledApp
from infra.local.leash import Leash
from infra.local.lock import FolderInUse, lock_folder
from infra.local.partitions import read_partitions_alone
from infra.local.store import BUCKET, REGION

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication
    from werkzeug.serving import BaseWSGIServer


ADDRESS = "address"
"""File of the data folder that says the host:port of the store that has the folder, for `agents threads`."""


class UnplayableJournal(Exception):
    """A record was acknowledged when it was written and is refused now (another emulator version, an edited file)."""


def main() -> None:
    Leash()
    folder = Path(sys.argv[1]) if sys.argv[1] else None
    try:
        with lock_folder(folder) if folder else nullcontext():
            app, records = restore(emulator(), Journal(folder / "journal.jsonl")) if folder else (JournaledApp(emulator(), None), 0)
            server = listen(app)
            # a daemon: it must not keep the process alive when what follows fails
            serving = threading.Thread(target=server.serve_forever, daemon=True)
            serving.start()
            address = f"127.0.0.1:{server.port}"
            create(address, sys.argv[2])
            if folder:
                (folder / ADDRESS).write_text(address, encoding="utf-8")
            say({"address": address, "records": records})
            serving.join()
    except (FolderInUse, DamagedJournal, UnplayableJournal, OSError) as exc:
        say({"error": str(exc)})
        sys.exit(1)
    except Exception as exc:  # noqa: BLE001 - the parent waits for a line: whatever went wrong, one has to come
        traceback.print_exc()
        say({"error": f"{type(exc).__name__}: {exc}"})
        sys.exit(1)


def say(line: dict[str, object]) -> None:
    print(json.dumps(line), flush=True)


def emulator() -> WSGIApplication:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

    read_partitions_alone()
    app: WSGIApplication = DomainDispatcherApplication(create_backend_app)
    return app


def restore(emulator: WSGIApplication, journal: Journal) -> tuple[JournaledApp, int]:
    """Plays the journal, compacts it, and goes on writing to it → the app and how many records were played."""
    app = JournaledApp(emulator, journal)
    definitions: list[Record] = []
    played = 0
    for record in journal.records():
        played += 1
        status = app.play(record)
        if not status.startswith("2"):
            raise UnplayableJournal(f"{journal.path}, line {played}: the emulator answered {status}")
        if not is_data(record):
            definitions.append(record)
    journal.rewrite(compact(definitions, app))
    return app, played


def listen(app: WSGIApplication) -> BaseWSGIServer:
    from moto.moto_server.werkzeug_app import MotoRequestHandler
    from werkzeug.serving import make_server

    class QuietHandler(MotoRequestHandler):
        disable_nagle_algorithm = True

        def log_request(self, code: object = "-", size: object = "-") -> None:
            """A line per request is noise here."""

    return make_server("127.0.0.1", 0, app, threaded=True, request_handler=QuietHandler)


def create(address: str, table_prefix: str) -> None:
    """Makes what the functions need."""
    import boto3

    from functions.store.tables import create_tables

    session = boto3.Session(aws_access_key_id="local", aws_secret_access_key="local", region_name=REGION)
    endpoint = f"http://{address}"
    s3 = session.client("s3", endpoint_url=endpoint)
    if BUCKET not in [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]:
        s3.create_bucket(Bucket=BUCKET)
    create_tables(session.client("dynamodb", endpoint_url=endpoint), table_prefix)


if __name__ == "__main__":
    main()
