"""`python -m tests.abuse`: the attacks, and what came of each. Kept in `results/abuse.txt`; the exit status is 1 if one worked."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.abuse.attacks import ATTACKS, Attack
from tests.abuse.ground import ground
from tests.support.moto_server import moto_server

RESULTS = Path(__file__).parent / "results" / "abuse.txt"


def main() -> int:
    lines, worked = [], 0
    with moto_server() as endpoint:
        for name, attack in ATTACKS.items():
            told, held = _tried(endpoint, attack)
            worked += not held
            lines.append(
                f"{name.replace('_', ' ')}: {'held' if held else 'WORKED'}\n    {' '.join((attack.__doc__ or '').split())}\n    {told}\n"
            )
            sys.stdout.write(lines[-1])
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(f"{len(lines)} attacks, {worked} worked\n\n" + "\n".join(lines), encoding="utf-8")
    return 1 if worked else 0


def _tried(endpoint: str, attack: Attack) -> tuple[str, bool]:
    with ground(endpoint) as place:
        try:
            return asyncio.run(attack(place)), True  # type: ignore[arg-type]  # a coroutine function's result is a coroutine
        except AssertionError as error:
            return str(error), False


if __name__ == "__main__":
    sys.exit(main())
