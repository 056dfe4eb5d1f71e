"""Every operator by itself, functionalised: it gives what the eager call gives, writes the same to its arguments, and
nothing that is called for it writes but at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sweeps
from declared import functional_of, of_kind, operators
from excuses import Known, Table
from faking import Call, called, converted_call, operator, with_own_memory
from functionalizing import differences, functionalized, wrong_calls
from samples import SAMPLES, sampled, samples_of
from sampling import Sample

import opwright
from opwright.functionalize.viewing import how_undone
from opwright.functionalize.ways import way_of
from opwright_codegen.schema.model import SchemaKind
from opwright_core.arrays import layouts

pytestmark = pytest.mark.filterwarnings("ignore")

WRITING = sampled(SchemaKind.INPLACE, SchemaKind.MUTABLE)
FUNCTIONAL = [name for name in sampled(SchemaKind.FUNCTIONAL) if name in SAMPLES]

# What only memory that nobody wrote shows.
UNINITIALISED = (
    "empty.memory_format", "empty_strided", "empty_permuted", "empty_like", "new_empty", "new_empty_strided",
)  # fmt: skip
# On arrays on the fast path, and by operators else: sums are taken in another order.
ROUNDED = ("scaled_dot_product_attention", "_scaled_dot_product_attention_math")
# Where the functional call says or does something else, and why; `described` says how what is written to lies.
KNOWN = Table(
    "test_functionalize_operators.KNOWN",
    Known("rrelu_with_noise", "^strided: strides", "the functional variant's are those of its operand"),
    Known(
        "masked_fill_.(Scalar|Tensor)",
        "^overlapping itself: (RuntimeError.*several elements are one place|argument: values)",
        "what overlaps itself is not written to",
    ),
)
# Views that strides undo: no operator is their inverse.
BY_STRIDES = ("aten::unfold",)
# Views that go by others: `numpy_T` by `permute`, those that give several by views that give one.
BY_OTHERS = (
    "aten::numpy_T", "aten::_reshape_alias", "aten::split.Tensor", "aten::split_with_sizes", "aten::unbind.int",
)  # fmt: skip


def our_call(one: Sample) -> Call:
    return converted_call((list(one.args), one.kwargs), lambda array: opwright.from_numpy(with_own_memory(array)))


def problems(name: str, ours: Call, eager: Call, remove: str = "mutations") -> Iterator[str]:
    function = operator(name)
    opwright.manual_seed(0)
    expected = called(function, eager)
    opwright.manual_seed(0)
    found, recorder = functionalized(lambda args, named: function(*args, **named), ours, remove)
    with_strides = remove == "mutations"
    yield from differences(found, expected, with_strides=with_strides, is_exact=name not in ROUNDED)
    if not isinstance(expected, Exception):
        yield from (f"argument: {each}" for each in differences(ours, eager))
        yield from wrong_calls(recorder, ours, remove)


def described(ours: Call) -> str:
    """How the first argument lies in memory."""
    shape, strides = tuple(ours[0][0].shape), ours[0][0].stride()
    if layouts.is_contiguous(shape, strides):
        return "row-major"
    is_repeated = any(size > 1 and stride == 0 for size, stride in zip(shape, strides, strict=True))
    return "overlapping itself" if is_repeated else "strided"


def _is_known(name: str, ours: Call, problem: str) -> bool:
    return isinstance(ours[0][0], opwright.Tensor) and KNOWN.covers(name, f"{described(ours)}: {problem}")


def check(name: str, every: list[tuple[Call, Call]], remove: str = "mutations") -> None:
    found = [
        f"{name}{ours}: {problem}"
        for ours, eager in every
        for problem in problems(name, ours, eager, remove)
        if not _is_known(name, ours, problem)
    ]
    if found:
        pytest.fail(f"{len(found)} differences\n" + "\n".join(found[:8]), pytrace=False)


@sweeps.over(WRITING)
def test_what_writes(name: str) -> None:
    check(name, [(our_call(one), our_call(one)) for one in sweeps.spread(samples_of(name), 5)])


@sweeps.over([name for name in FUNCTIONAL if name not in UNINITIALISED])
def test_what_does_not_write(name: str) -> None:
    check(name, [(our_call(one), our_call(one)) for one in sweeps.spread(samples_of(name), 2)])


@sweeps.over(of_kind(SchemaKind.OUT))
@pytest.mark.calls
def test_out(name: str) -> None:
    """Into tensors that fit, with gaps, and into empty ones, which grow."""
    if functional_of(name) in UNINITIALISED:
        return
    written = [argument.name for argument in operators()[name].schema.out_arguments]
    every = []
    for number, one in enumerate(sweeps.spread(samples_of(name), 2)):
        results = called(operator(functional_of(name)), our_call(one))
        results = list(results) if isinstance(results, tuple) else [results]
        if all(isinstance(result, opwright.Tensor) for result in results):
            every.append((_with_out(one, written, results, number % 2), _with_out(one, written, results, number % 2)))
    check(name, every)


def _with_out(one: Sample, written: list[str], results: list[Any], is_empty: int) -> Call:
    args, named = our_call(one)
    outs = {
        name: opwright.empty([0], dtype=result.dtype)
        if is_empty
        else opwright.from_numpy(np.zeros((*result.shape, 2), result.dtype)[..., 0])
        for name, result in zip(written, results, strict=False)
    }
    return args, {**named, **outs}


def views() -> list[str]:
    return [name for name in FUNCTIONAL if any(each is not None for each in operator(name).signature.aliases)]


@sweeps.over([*views(), *(name for name in WRITING if "inplace_view" in operator(name).tags)])
def test_without_views(name: str) -> None:
    check(name, [(our_call(one), our_call(one)) for one in sweeps.spread(samples_of(name), 3)], "mutations_and_views")


def test_the_table_of_ways(capsys: pytest.CaptureFixture[str]) -> None:
    """Print which way operators go, and how views are undone: `pytest -s tests/conformance -k table_of_ways`. No
    operator of ATen writes to clones for want of a functional variant."""
    ways = Counter[tuple[str, str]]()
    undone = {}
    for name in operators():
        each = operator(name)
        word = way_of(each).word
        ways["writes" if each.signature.written else "functional", word] += 1
        if word == "view" or each.name in BY_OTHERS:
            undone[each.name] = how_undone(each)
    with capsys.disabled():
        for (kind, word), count in sorted(ways.items()):
            print(f"{kind:12}{word:12}{count:6}")
        for name, undo in undone.items():
            print(f"{name:26}{'by strides' if undo is None else undo.__qualname__.split('.')[0].strip('_')}")
    assert ways["writes", "clones"] == 0
    assert {name for name, undo in undone.items() if undo is None} == {*BY_STRIDES, *BY_OTHERS}
