"""`python -m infra.local.child MODULE …`: a worker process before and while it is a function.

It imports the modules first and only then asks who it is: its environment comes as one JSON line on stdin. From there it is
what Lambda runs: `functions.runtime` with the app that `_HANDLER` names.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import sys

from infra.local.leash import Leash

LINGERS = 1.0
"""Seconds that a worker whose runtime has ended waits for the news that its parent is gone."""


def main() -> None:
    leash = Leash()
    for module in sys.argv[1:]:
        importlib.import_module(module)
    variables = json.loads(leash.line())
    os.environ.clear()
    os.environ.update(variables)
    # a plain command line for the app, and the module itself in `__main__`, as `python -m functions.runtime` has it
    sys.argv[1:] = []
    try:
        runpy.run_module("functions.runtime", run_name="__main__", alter_sys=True)
    finally:
        leash.linger(LINGERS)


if __name__ == "__main__":
    main()
