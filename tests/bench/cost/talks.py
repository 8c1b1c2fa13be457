"""A typical conversation with each agent: what the counters are an average of, by run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from infra.cli.ask import options_of, payload_of, resolved

PARAGRAPHS = (
    "Our team keeps its notes in one shared folder,and most of them are actually quite old by now. Nobody knows which of them still hold.",
    "In order to find what one needs it is necessary to open many files. This costs a lot of time, and the same questions are asked again.",
    "We propose that every note gets an owner and a date of review. A note that nobody wants to own is removed after three months.",
    "The first review takes two afternoons. After that it is basically an hour a month, which is less than what searching costs today.",
)
DOCUMENT = "\n\n".join(["# Notes that can be trusted", *PARAGRAPHS * 2]) + "\n"
"""What writer and editorChat work on: about 1,100 characters."""


@dataclass(frozen=True, slots=True)
class Talk:
    """Texts said one after the other on one thread; a question that the agent asks is answered by one more run."""

    texts: tuple[str, ...]
    state: dict[str, Any] = field(default_factory=dict)
    documents: dict[str, bytes] = field(default_factory=dict)
    """Imported first, into the base that the state names; by file name."""


TALKS = {
    "reactAgent": Talk(
        (
            "How many days of annual leave do I have?",
            "What does the policy say about travel expenses?",
            "Ask me for a topic, then search for it",
        )
    ),
    "dev": Talk(("start demo",)),
    "kb": Talk(
        ("How many days may be carried over?", "When must a trip's claim be filed?", "Who approves leave of more than ten days?"),
        {"kbId": "handbook"},
        {
            "leave.md": b"# Leave\n\n## Carrying over\n\nFive days may be carried over to the next year, until the end of March.\n\n"
            b"## Approval\n\nLeave of more than ten days is approved by the head of the department.\n",
            "travel.md": b"# Travel\n\n## Claims\n\nA trip's claim must be filed within thirty days of its end.\n",
        },
    ),
    "tushare": Talk(("贵州茅台最近一个月的走势", "600036.SH 最近三天的量价")),
    "writer": Talk(("Polish the document",), {"documentBaseline": DOCUMENT}),
    "editorChat": Talk(("Why is the second paragraph weak?", "Polish the document"), {"documentBaseline": DOCUMENT}),
}
"""By agent; all that fit a zip are here."""
CALL = "model call "
"""Before the JSON of a line on stdout that is the measurement's own (`tests.bench.cost.app`)."""
COUNTING = (100, 1_100)
"""Numbers that reactAgent counts to, to find what one more token of an answer costs."""

PAUSED = 400
"""The same with a model that pauses: twenty seconds."""


def answer(interrupt: dict[str, Any]) -> dict[str, Any]:
    """The `resume` entry for a question: the first option, or a few words."""
    payload = payload_of(interrupt)
    values = [value for _label, value in options_of(payload)]
    # of what `dev` offers, the way with the most questions
    first = next((value for value in ("hitlDemo", *values) if value in values), "close the order")
    answers: dict[str, dict[str, Any]] = {
        "input": {"value": "close the order"},
        "select": {"value": first},
        "multiSelect": {"values": [first]},
        "modal": {"action": first},
        "approval": {"approved": True},
        "unlock": {},
    }
    return resolved(interrupt["id"], answers[str(payload["type"])])
