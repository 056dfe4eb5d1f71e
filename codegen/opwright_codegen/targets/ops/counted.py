"""Overloads told apart by how many arguments are passed by position: `x.sum()`, `x.sum(0)`.

Where several take as many, the exact types of arguments may tell: each of the other overloads refuses one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.schema.types import BaseType, ListType, OptionalType, Type
from opwright_codegen.views.layout import condition
from opwright_codegen.views.names import BuiltinNames, returns_list
from opwright_codegen.views.operators import OperatorView

__all__ = ["Branch", "counted_branches"]


_NUMBERS: Final = ("float", "int")


@dataclass(frozen=True, slots=True)
class Branch:
    """An overload of a packet: the line that tests for it, and the statement that calls its stub."""

    test: str
    call: str


@dataclass(slots=True)
class _Run:
    """A run of counts that follow each other and mean the same."""

    overload: OperatorView
    tests: tuple[str, ...]
    first: int
    last: int


def counted_branches(group: Sequence[OperatorView], builtins: BuiltinNames) -> Iterator[Branch]:
    """Yield the branches of a packet in the order they are asked, over `args` and their number `count`. Those with
    `out=`, which is a keyword, are no candidates."""
    overloads = [o for o in group if o.operator.kind is not SchemaKind.OUT]
    if any(o.is_generic for o in overloads):
        return
    most = max([_positional(o) for o in overloads], default=0)
    runs: list[_Run] = []
    for count in range(1, most + 1):
        for overload, tests in _told(overloads, count, builtins):
            same = next((r for r in runs if r.overload is overload and r.tests == tests and r.last == count - 1), None)
            if same is None:
                runs.append(_Run(overload, tests, count, count))
            else:
                same.last = count
    for run in runs:
        counts = f"count == {run.first}" if run.first == run.last else f"{run.first} <= count <= {run.last}"
        call = f"{run.overload.function}(*args)"
        returned = f"{builtins['tuple']}({call})" if returns_list(run.overload.schema) else call
        yield Branch(condition([counts, *run.tests], "and", 8), f"return {returned}")


def _told(
    overloads: Sequence[OperatorView], count: int, builtins: BuiltinNames
) -> Iterator[tuple[OperatorView, tuple[str, ...]]]:
    """Yield the overloads that so many arguments mean, each with the further tests that it takes."""
    candidates = [o for o in overloads if _fewest(o) <= count <= _positional(o)]
    for position, overload in enumerate(candidates):
        # A later overload with the same types would not be asked.
        later = [o for o in candidates[position + 1 :] if _types(o, count) != _types(overload, count)]
        others = [*candidates[:position], *later]
        if not others:
            yield overload, ()
            return
        tests = _tests(_types(overload, count), [_types(o, count) for o in others], builtins)
        if tests:
            yield overload, tests


def _tests(types: Sequence[Type], others: Sequence[Sequence[Type]], builtins: BuiltinNames) -> tuple[str, ...]:
    """Return the tests of an overload's types where others have another type, which tell that it is meant; none where
    they do not tell."""
    kinds = {
        position: _kinds(type)
        for position, type in enumerate(types)
        if any(other[position] != type for other in others)
    }
    if not all(kinds.values()) or not all(_is_refused(kinds, other) for other in others):
        return ()
    if _NUMBERS in kinds.values() and str(types[0]) == "Tensor":
        kinds[0] = ("Tensor",)  # two numbers are for the overload that takes tensors: div(3, 2)
    return tuple(
        [_test(f"{builtins['type']}(args[{position}])", found, builtins) for position, found in sorted(kinds.items())]
    )


def _test(found: str, kinds: Sequence[str], builtins: BuiltinNames) -> str:
    text = " or ".join(f"{found} is {kind if kind == 'Tensor' else builtins[kind]}" for kind in kinds)
    return f"({text})" if len(kinds) > 1 else text


def _is_refused(kinds: Mapping[int, Sequence[str]], types: Sequence[Type]) -> bool:
    """Whether arguments of these types refuse values of these kinds, at one position at least."""
    return any(all(_refuses(types[position], kind) for kind in found) for position, found in kinds.items())


def _types(view: OperatorView, count: int) -> list[Type]:
    return [p.argument.type for p in view.parameters[:count]]


def _positional(view: OperatorView) -> int:
    return sum(not p.argument.kwarg_only for p in view.parameters)


def _fewest(view: OperatorView) -> int:
    """Return how many arguments must be passed by position; more than there can be if one must be named."""
    required = [i for i, p in enumerate(view.parameters) if p.default is None]
    return 1 + max(required, default=-1)


def _kinds(type: Type) -> tuple[str, ...]:
    """Return the types whose values surely are such an argument: builtin ones, and Tensor."""
    match type:
        case OptionalType(elem):
            return _kinds(elem)
        case BaseType("int" | "SymInt"):
            return ("int",)
        case BaseType("Tensor"):
            return ("Tensor",)
        case BaseType("Scalar"):
            return _NUMBERS
        case ListType(BaseType("int" | "SymInt"), size):
            return ("list",) if size is None else ("int", "list")
        case _:
            return ()


def _refuses(type: Type, kind: str) -> bool:
    """Whether no value of the type is such an argument, or not if another overload takes it: a number is no tensor
    then, a tensor no number, and an int (`x.std(0)`) no bool."""
    match type:
        case OptionalType(elem):
            return _refuses(elem, kind)
        case BaseType("Tensor" | "Scalar") if kind == "Tensor":
            return str(type) == "Scalar"
        case BaseType("Tensor" | "str" | "ScalarType"):
            return True
        case BaseType("Any" | "t"):
            return False
        case BaseType("bool"):
            return kind in ("int", "list")
        case BaseType():
            return kind == "list"
        case ListType(elem, None):
            return kind == "int"
        case _:
            return False
