"""`python -m tests.retrieval [--json] [--misses]`: how well the labelled questions are answered, without a key.

For words alone, for the hashing embedder beside them, and for that one alone: recall@5 (the labelled section is among the five chunks), the
share of questions whose best score is over the threshold, with and without an answer; for kb offline: the share of its answers whose
citations are right, and of those that cite the labelled section.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys

from tests.retrieval.measure import WAYS, Measured, answers, knowledge_of, measured

COLUMNS = ("recall@5", "first", "over, answerable", "over, not answerable")


async def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.retrieval", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--misses", action="store_true", help="print the questions that are not answered right")
    options = parser.parse_args(argv)
    found = {way: await measured(await knowledge_of(way)) for way in WAYS}
    offline = await answers(await knowledge_of("words"))
    if options.json:
        print(json.dumps({way: one.shares for way, one in found.items()} | {"kb offline": offline}, ensure_ascii=False, indent=2))
        return
    print(f"{'':<16}" + "".join(f"{title:>22}" for title in COLUMNS))
    for way, one in found.items():
        print(f"{way:<16}" + "".join(f"{one.shares[title]:>22.3f}" for title in COLUMNS))
        if options.misses:
            print_misses(one)
    print("kb offline: " + ", ".join(f"{title} {share:.3f}" for title, share in offline.items()))


def print_misses(one: Measured) -> None:
    for title, questions in one.misses.items():
        print(f"  {title}: {'; '.join(questions)}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
