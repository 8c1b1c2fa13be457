"""README's tables and its picture, as the command makes them."""

from __future__ import annotations

import re
from pathlib import Path

from infra.costs.bill import Terms
from infra.costs.comparison import SCALES
from infra.costs.counters import measured_counters
from infra.costs.plot import svg
from infra.costs.prices import DEFAULT_REGION, prices_of
from infra.costs.report import Report, limits_text, meeting, months_table, report_of, runs_table
from infra.costs.usage import usage_of
from infra.deployment import Deployment, project_context

ROOT = Path(__file__).parents[3]
README, PICTURE = ROOT / "README.md", ROOT / ".github/images/cost.svg"
_BLOCK = re.compile(r"(?<=<!-- agents cost -->\n).*?(?=\n<!-- end -->)", re.DOTALL)


def report() -> Report:
    """What `agents cost` without options reports."""
    counters, deployment = measured_counters(), Deployment.model_validate(project_context())
    terms = Terms(prices_of(DEFAULT_REGION), agents=len(counters.agents))
    usages = {agent: usage_of(agent, counters, terms.given, deployment.memory_of(agent)) for agent in counters.agents}
    return report_of(usages, SCALES, terms, counters.measured)


def block(made: Report) -> str:
    """The parts of the command's output that README shows."""
    parts = "\n\n".join([runs_table(made), months_table(made), meeting(made), limits_text(made)])
    return f"```\n{parts}\n```"


def shown(text: str) -> str:
    """The block that README has. Raises `ValueError` if it has none."""
    if found := _BLOCK.search(text):
        return found[0]
    raise ValueError("README has no block between `<!-- agents cost -->` and `<!-- end -->`")


def write() -> None:
    """Puts both where they belong."""
    made = report()
    text = README.read_text(encoding="utf-8")
    README.write_text(text.replace(shown(text), block(made)), encoding="utf-8")
    PICTURE.write_text(svg(made), encoding="utf-8", newline="\n")
