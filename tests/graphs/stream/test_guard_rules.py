"""Each rule of the guard as one row, and the proof that the rows are enough: without any single rule one of them fails."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from graphs.stream import lifecycle
from tests.support.guard_script import play
from tests.support.mutants import Mutant, mutants

KINDS = ("text", "think", "span", "call", "step", "agent")

RULES: Mapping[str, tuple[str, str]] = {
    **{f"{k}: a life": (f"+{k} m, -{k} m", f"+{k} m, -{k} m") for k in KINDS},
    **{f"{k}: not opened twice": (f"+{k} m, +{k} m, +{k} n", f"+{k} m, !, +{k} n") for k in KINDS},
    **{f"{k}: not ended before it starts": (f"-{k} m", "!") for k in KINDS},
    **{f"{k}: not ended twice": (f"+{k} m, -{k} m, -{k} m", f"+{k} m, -{k} m, !") for k in KINDS},
    **{f"{k}: not opened again": (f"+{k} m, -{k} m, +{k} m", f"+{k} m, -{k} m, !") for k in KINDS if k != "step"},
    **{f"{k}: closed at the end": (f"+{k} m, close, close", f"+{k} m, -{k} m") for k in KINDS},
    **{f"{k}: closed before the terminal event": (f"+{k} m, finished", f"+{k} m, -{k} m, finished") for k in KINDS},
    **{f"{k}: what was closed at the end stays closed": (f"+{k} m, close, +{k} m", f"+{k} m, -{k} m, !") for k in KINDS if k != "step"},
    "a node may run again": ("+step s, -step s, +step s", "+step s, -step s, +step s"),
    "a step ends by whom it was begun": (
        "+step s@a, -step s@b, -step s, -step s@a, +step t, -step t@a, -step t",
        "+step s@a, !, !, -step s@a, +step t, !, -step t",
    ),
    "a sub-agent may fail": ("+agent a, xagent a, xagent a", "+agent a, xagent a, !"),
    **{f"{k}: goes on": (f"+{k} m, .{k} m", f"+{k} m, .{k} m") for k in ("text", "think", "call")},
    **{f"{k}: does not go on before it starts": (f".{k} m, 0{k} m", "!, !") for k in ("text", "think", "call")},
    **{f"{k}: does not go on after its end": (f"+{k} m, -{k} m, .{k} m", f"+{k} m, -{k} m, !") for k in ("text", "think", "call")},
    **{f"{k}: says nothing where nothing is said": (f"+{k} m, 0{k} m", f"+{k} m") for k in ("text", "think", "call")},
    **{
        f"{k}: goes on and ends under its own name, or none": (
            f"+{k} m@a, .{k} m@b, -{k} m@b, .{k} m@a, .{k} m, -{k} m, +{k} n, .{k} n@b, -{k} n@b, -{k} n, +{k} o@a, -{k} o@a",
            f"+{k} m@a, !, !, .{k} m@a, .{k} m, -{k} m, +{k} n, !, !, -{k} n, +{k} o@a, -{k} o@a",
        )
        for k in ("text", "think", "call")
    },
    "ids are told apart": ("+text m, .text n, -text n", "+text m, !, !"),
    "kinds are told apart": ("+text m, +think m, -text m, .think m", "+text m, +think m, -text m, .think m"),
    "the order of closing": (
        "+agent a, +step s, +call c, +text m, +span p, +think r, close",
        "+agent a, +step s, +call c, +text m, +span p, +think r, -think r, -span p, -text m, -call c, -step s, -agent a",
    ),
    "the innermost closes first": ("+step s, +step s/t, close", "+step s, +step s/t, -step s/t, -step s"),
    "inner sub-agents close first": ("+agent a, +agent b@a, close", "+agent a, +agent b, -agent b, -agent a"),
    "a closing event names its owner": (
        "+text m@a, +think r@a, +span p@a, +call c@a, +step s@a, close",
        "+text m@a, +think r@a, +span p@a, +call c@a, +step s@a, -think r@a, -span p@a, -text m@a, -call c@a, -step s@a",
    ),
    "a sub-agent takes what it owns with it": (
        "+agent a, +text m@a, +think r@a, +span p@a, +call c@a, +step s@a, +text other, +text its@b, "
        "-agent a, .text m, .text other, .text its",
        "+agent a, +text m@a, +think r@a, +span p@a, +call c@a, +step s@a, +text other, +text its@b, "
        "-think r@a, -span p@a, -text m@a, -call c@a, -step s@a, -agent a, !, .text other, .text its",
    ),
    "inner sub-agents end with the outer": (
        "+agent a, +agent b@a, +agent c@b, +agent d, +text m@c, +text n@a, -agent a, .text m, +agent c, -agent d, close",
        "+agent a, +agent b, +agent c, +agent d, +text m@c, +text n@a, -text m@c, -agent c, -agent b, -text n@a, -agent a, !, !, -agent d",
    ),
    "what went with a sub-agent stays closed": ("+agent a, +text m@a, -agent a, +text m", "+agent a, +text m@a, -text m@a, -agent a, !"),
    "a failed one too": ("+agent a, +text m@a, xagent a", "+agent a, +text m@a, -text m@a, xagent a"),
    "only sub-agents own": ("+text a, +call c@a, -text a, .call c", "+text a, +call c@a, -text a, .call c"),
    "done": ("+agent a, close", "+agent a, -agent a"),
    "suspended": ("+agent a, close suspended", "+agent a, -agent a suspended"),
    "failed": ("+agent a, +text m, close failed", "+agent a, +text m, -text m, xagent a"),
    "a result": ("+call c, -call c, result c", "+call c, -call c, result c"),
    "a result ends its call": ("+call c, result c, .call c", "+call c, -call c, result c, !"),
    "the end that a result brings names the call's owner": ("+call c@a, result c", "+call c@a, -call c@a, result c"),
    "one result": ("+call c, -call c, result c, result c", "+call c, -call c, result c, !"),
    "no result of no call": ("result c", "!"),
    "a message is no call": ("+text m, result m", "+text m, !"),
    "a call that has its result does not start again": ("+call c, result c, +call c", "+call c, -call c, result c, !"),
    "history: a call that waits": ("know c, +call c, result c, result c", "!, result c, !"),
    "history: a call that is done": ("know c answered, +call c, result c", "!, !"),
    "history: a call is no message": ("know c answered, +text c", "+text c"),
    "history: nothing is appended to a message": ("know message m, +text m, +think m, +text n, +span m", "!, !, +text n, +span m"),
    "what is open": (
        "open text m, +text m, open text m, open text n, open reasoning m, -text m, open text m",
        "not open text m, +text m, open text m, not open text n, not open reasoning m, -text m, not open text m",
    ),
    "what goes on belongs to who started it": (
        "+text m@a, ~.text m@b, ~.text m, ~-text m@b, +step s, ~-step s@b, +call c@b, ~.call c, ~.text m@b, ~custom",
        "+text m@a, .text m@a, .text m@a, -text m@a, +step s, -step s, +call c@b, .call c@b, !, custom",
    ),
    "a sub-agent's end is its own": ("+agent a@b, ~-agent a, ~xagent a", "+agent a, -agent a, !"),
    "what needs no guard passes": ("custom", "custom"),
    "nothing after the end": ("finished, custom, +text m, finished, error", "finished, !, !, !, !"),
    "nothing after an error": ("error, custom, finished", "error, !, !"),
    "an error closes too": ("+text m, error", "+text m, -text m, error"),
    "the server alone starts a run": ("started, custom", "!, custom"),
}


@pytest.mark.parametrize("rule", RULES)
def test_rules(rule: str) -> None:
    """What is offered, and what passes."""
    offered, passed = RULES[rule]
    assert play(lifecycle, offered) == passed


ALIKE: Mapping[str, str] = {}
"""Mutants that do the same as the original, and why."""


def killers(module: ModuleType) -> list[str]:
    return [rule for rule, (offered, passed) in RULES.items() if play(module, offered) != passed]


def verdict(mutant: Mutant) -> str | None:
    """The first row that fails, or how the mutant breaks before any of them; None if it lives."""
    try:
        module = mutant.load()
    except Exception as error:  # noqa: BLE001 - a mutant may fail in any way
        return f"(import: {type(error).__name__})"
    return next(iter(killers(module)), None)


@pytest.mark.long
def test_no_rule_can_be_taken_out() -> None:
    """Every mutant of the guard, one rule missing in each, is killed by a row; `-s` or a failure shows the table."""
    source = Path(lifecycle.__file__).read_text("utf-8")
    table = {mutant.name: verdict(mutant) for mutant in mutants(source)}
    for name, killed_by in table.items():
        print(f"{name[:110]:<110} → {killed_by or 'LIVES'}")
    print(f"{len(table)} mutants, {sum(v is not None for v in table.values())} killed")
    assert len(table) > 80
    assert [name for name, killed_by in table.items() if killed_by is None and name not in ALIKE] == []
    assert [name for name in ALIKE if table.get(name, "gone") is not None] == []
