"""`python -m tests.bench.behaviour`: what the DynamoDB savers do of what a checkpointer has to do, on moto.

Every saver has a process that runs one behaviour after another, each on empty tables; one that takes too long ends its process and fails.
"ok": as `tests.functions.store.behaviour` claims; "fails": otherwise; "not offered": the interface has no such thing, or says it does not.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.bench.report import environment
from tests.functions.store.behaviour.catalog import BEHAVIOURS, FAILS, NOT_OFFERED, OK, outcome, subject
from tests.functions.store.behaviour.dynamo import ours
from tests.functions.store.behaviour.others import aws, first
from tests.functions.store.behaviour.stores import Store
from tests.support.moto_server import moto_server

SECONDS = 300.0
"""For one behaviour; the longest of ours takes 10 on an idle machine."""
AWS, FIRST = "langgraph-checkpoint-aws", "langgraph-checkpoint-dynamodb"

SAVERS: Mapping[str, Callable[[str], Store]] = {
    "ours": lambda endpoint: ours("ours", endpoint),
    "ours + S3": lambda endpoint: ours("ours + S3", endpoint, with_bucket=True),
    "aws": lambda endpoint: aws("aws", endpoint),
    "aws + S3": lambda endpoint: aws("aws + S3", endpoint, with_bucket=True),
    "dynamodb": lambda endpoint: first("dynamodb", endpoint),
}
DUMMY = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}

Results = Mapping[str, Mapping[str, str]]
"""Outcome by behaviour by saver."""


def serve(connection: Connection, saver: str, endpoint: str) -> None:
    """The process of one saver: receives a behaviour's name, sends (outcome, traceback)."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    while (name := connection.recv()) is not None:
        result, error = outcome(name, SAVERS[saver](endpoint))
        connection.send((result, "".join(traceback.format_exception(error)) if error else ""))


@dataclass
class Runner:
    """Runs behaviours of one saver, in another process after one that did not end."""

    saver: str
    endpoint: str
    seconds: float = SECONDS
    _process: BaseProcess | None = None
    _connection: Connection | None = None

    def run(self, name: str) -> tuple[str, str]:
        connection = self._connection or self._start()
        connection.send(name)
        if not connection.poll(self.seconds):
            self.stop()
            return FAILS, f"not done after {self.seconds:.0f} s"
        try:
            result: tuple[str, str] = connection.recv()
        except EOFError:
            self.stop()
            return FAILS, "its process ended"
        return result

    def _start(self) -> Connection:
        spawning = multiprocessing.get_context("spawn")
        self._connection, theirs = spawning.Pipe()
        self._process = spawning.Process(target=serve, args=(theirs, self.saver, self.endpoint), daemon=True)
        self._process.start()
        theirs.close()
        return self._connection

    def stop(self) -> None:
        if self._process and self._connection:
            self._process.kill()
            self._process.join()
            self._connection.close()
        self._process = self._connection = None


def measure(names: Sequence[str], savers: Sequence[str], endpoint: str, explain: bool = False, seconds: float = SECONDS) -> Results:
    results: dict[str, dict[str, str]] = {name: {} for name in names}
    for saver in savers:
        runner = Runner(saver, endpoint, seconds)
        for name in names:
            results[name][saver], error = runner.run(name)
            if explain and error:
                sys.stderr.write(f"--- {saver}: {name}: {results[name][saver]}\n{error}\n")
        runner.stop()
    return results


def table(results: Results) -> str:
    """Behaviours by what they are about, one column a saver, the totals below."""
    savers = list(next(iter(results.values())))
    width = max(len(_title(name)) for name in results) + 2
    lines, about = ["".ljust(width) + "".join(saver.ljust(13) for saver in savers)], ""
    for name, found in results.items():
        if subject(name) != about:
            about = subject(name)
            lines += ["", f"[{about}]"]
        lines.append(_title(name).ljust(width) + "".join(found[saver].ljust(13) for saver in savers))
    lines.append("")
    for kind in (OK, FAILS, NOT_OFFERED):
        counts = Counter(saver for found in results.values() for saver, result in found.items() if result == kind)
        lines.append(f"{kind}, of {len(results)}".ljust(width) + "".join(str(counts[saver]).ljust(13) for saver in savers))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _title(name: str) -> str:
    return name.replace("_", " ")


def head() -> str:
    found = environment()
    versions = {"langgraph": version("langgraph"), AWS: version(AWS), FIRST: version(FIRST), "moto": version("moto")}
    return (
        f"What DynamoDB savers do of what a checkpointer has to do: python -m tests.bench.behaviour, {found['date'][:10]}\n"
        f"{found['machine']}, Python {found['python']}, " + ", ".join(f"{name} {number}" for name, number in versions.items()) + "\n"
        f"aws: {AWS}; dynamodb: {FIRST}. What each behaviour claims is in its docstring in tests/functions/store/behaviour.\n"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.behaviour", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*BEHAVIOURS, []], help="behaviours to run (default: all)", metavar="behaviour")
    parser.add_argument("--saver", action="append", choices=list(SAVERS), help="a saver to run them against (default: all)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"for one behaviour (default {SECONDS:.0f})")
    parser.add_argument("--explain", action="store_true", help="tracebacks of what is not ok, to stderr")
    parser.add_argument("--save", type=Path, help="also write the table to this file")
    options = parser.parse_args(arguments)
    os.environ |= DUMMY
    with moto_server() as endpoint:
        results = measure(options.names or list(BEHAVIOURS), options.saver or list(SAVERS), endpoint, options.explain, options.seconds)
    text = f"{head()}\n{table(results)}"
    sys.stdout.write(text)
    if options.save:
        options.save.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
