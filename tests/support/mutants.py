"""Source-level mutants of a module: the same code with one single rule taken out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import Any

Edit = tuple[str, Callable[[], None], Callable[[], None]]
"""What it is called, how to do it, how to take it back."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """`name` says where and what is missing; `source` is the whole module."""

    name: str
    source: str

    def load(self) -> ModuleType:
        """The mutant as a module of its own; the original stays as it is."""
        module = ModuleType("mutant")
        exec(compile(self.source, f"<{self.name}>", "exec"), module.__dict__)
        return module


def mutants(source: str) -> Iterator[Mutant]:
    """One at a time: a statement left out, a condition forced, an operand, argument or element dropped, two elements swapped."""
    tree = ast.parse(source)
    for scope, node in _nodes(tree, "module"):
        for name, do, undo in _edits(node):
            do()
            yield Mutant(f"{scope}: {name}", ast.unparse(tree))
            undo()


def _nodes(node: ast.AST, scope: str) -> Iterator[tuple[str, ast.AST]]:
    """Everything that runs, with the function or the module's name that it is in; not what a constructor sets to empty."""
    for child in ast.iter_child_nodes(node):
        inner = scope
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            inner = child.name
        elif isinstance(child, (ast.Assign, ast.AnnAssign)) and scope == "module":
            inner = ast.unparse(child.targets[0] if isinstance(child, ast.Assign) else child.target)
        is_type = isinstance(child, ast.Subscript) and isinstance(child.slice, ast.Tuple)
        if inner != "__init__" and not is_type and not isinstance(child, (ast.Import, ast.ImportFrom)):
            yield inner, child
            yield from _nodes(child, inner)


def _edits(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, (ast.FunctionDef, ast.If, ast.For)):
        yield from _without_statements(node)
    if isinstance(node, (ast.If, ast.IfExp, ast.comprehension, ast.BoolOp)):
        yield from _other_conditions(node)
    if isinstance(node, ast.Call):
        yield from _without_elements(node.keywords)
        if isinstance(node.func, ast.Name) and node.func.id == "reversed":
            yield _replaced_field(node, "func", ast.Name("list", ast.Load()), f"not {ast.unparse(node)}")
    if isinstance(node, ast.Set) or (isinstance(node, (ast.List, ast.Tuple)) and isinstance(node.ctx, ast.Load)):
        yield from _without_elements(node.elts)
        if not isinstance(node, ast.Set):
            yield from _swapped(node.elts)
    if isinstance(node, ast.Dict):
        yield from _without_items(node)


def _without_statements(node: ast.FunctionDef | ast.If | ast.For) -> Iterator[Edit]:
    for position, statement in enumerate(node.body):
        changes = isinstance(statement, (ast.Raise, ast.Delete))
        changes = changes or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call))
        changes = changes or (isinstance(statement, ast.Assign) and not isinstance(statement.targets[0], (ast.Name, ast.Tuple)))
        if changes:
            yield _replaced(node.body, position, ast.Pass(), f"no {ast.unparse(statement)}")


def _other_conditions(node: ast.If | ast.IfExp | ast.comprehension | ast.BoolOp) -> Iterator[Edit]:
    if isinstance(node, ast.BoolOp):
        yield from _without_elements(node.values)
    elif isinstance(node, ast.comprehension):
        for position, condition in enumerate(node.ifs):
            yield _replaced(node.ifs, position, ast.Constant(True), f"any, not only {ast.unparse(condition)}")
    else:
        yield from _forced(node, "test", ast.unparse(node.test))


def _forced(node: Any, field: str, text: str) -> Iterator[Edit]:
    for value in (True, False):
        yield _replaced_field(node, field, ast.Constant(value), f"{value} for {text}")


def _without_elements(elements: list[Any]) -> Iterator[Edit]:
    for position, element in enumerate(elements):

        def do(position: int = position) -> None:
            del elements[position]

        def undo(position: int = position, element: Any = element) -> None:
            elements.insert(position, element)

        yield f"no {ast.unparse(element)}", do, undo


def _swapped(elements: list[Any]) -> Iterator[Edit]:
    for position, (one, other) in enumerate(pairwise(elements)):

        def swap(position: int = position) -> None:
            elements[position : position + 2] = elements[position : position + 2][::-1]

        yield f"{ast.unparse(other)} before {ast.unparse(one)}", swap, swap


def _without_items(node: ast.Dict) -> Iterator[Edit]:
    for position, (key, value) in enumerate(zip(list(node.keys), list(node.values), strict=True)):

        def do(position: int = position) -> None:
            del node.keys[position], node.values[position]

        def undo(position: int = position, key: Any = key, value: Any = value) -> None:
            node.keys.insert(position, key)
            node.values.insert(position, value)

        yield f"no {ast.unparse(key) if key else '**'}", do, undo


def _replaced(elements: list[Any], position: int, value: ast.AST, name: str) -> Edit:
    before = elements[position]
    return name, lambda: elements.__setitem__(position, value), lambda: elements.__setitem__(position, before)


def _replaced_field(node: Any, field: str, value: ast.AST, name: str) -> Edit:
    before = getattr(node, field)
    return name, lambda: setattr(node, field, value), lambda: setattr(node, field, before)
