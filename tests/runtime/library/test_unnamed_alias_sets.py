"""What is written in an alias set without a name, `Tensor!`, is served as what is written in one that has a name."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import opwright
from opwright import Tensor
from opwright.errors import OpCheckError
from opwright.func import functionalize
from opwright.fx.experimental.proxy_tensor import make_fx
from opwright.library import Library, opcheck
from opwright.namespaces import ops

_names = (f"unnamed{number}" for number in itertools.count())
_NAMED = "scale(Tensor(a!) x, Tensor(b!)? log, int(c!)? n=2, *, Tensor(d!)[] parts=[], Tensor(e!)? best=None) -> Tensor"
_UNNAMED = "scale(Tensor! x, Tensor!? log, int!? n=2, *, Tensor![] parts=[], Tensor!? best=None) -> Tensor"
_LONGER = _NAMED.replace("a!", "x_out!").replace("d!", "The_parts!")
BOTH = pytest.mark.parametrize("schema", [_NAMED, _UNNAMED, _LONGER])


@pytest.fixture
def lib() -> Iterator[Library]:
    library = Library(next(_names), "DEF")
    yield library
    library.destroy()


def _scale(x: Tensor, log: Tensor | None, n: int = 2, *, parts: Any = (), best: Tensor | None = None) -> Tensor:
    x.mul_(n)
    if log is not None:
        log.add_(x.sum())
    for part in parts:
        part.fill_(1)
    if best is not None:
        best.copy_(x.max())
    return x + 1


def _defined(lib: Library, schema: str) -> Any:
    lib.define(schema)
    lib.impl("scale", _scale, "CPU")
    lib.register_fake("scale", lambda x, log, n=2, *, parts=(), best=None: x.new_empty(x.shape))
    return getattr(ops, lib.ns).scale


@BOTH
def test_writes_are_counted(lib: Library, schema: str) -> None:
    scale = _defined(lib, schema)
    x, log, part, best = opwright.ones(3), opwright.zeros(()), opwright.zeros(2), opwright.zeros(())
    assert scale(x, log, 3, parts=[part], best=best).tolist() == [4, 4, 4]
    assert (x.tolist(), log.item(), part.tolist(), best.item()) == ([3, 3, 3], 9, [1, 1], 3)
    # once by the kernel's own operators, once by the operator
    assert [each._version for each in (x, log, part, best)] == [2, 2, 2, 2]
    array = np.ones(3)
    assert scale(array, None).tolist() == [3, 3, 3]
    assert array.tolist() == [2, 2, 2]


@BOTH
def test_a_leaf_is_not_written(lib: Library, schema: str) -> None:
    with pytest.raises(RuntimeError, match="writes to argument 'x': a leaf"):
        _defined(lib, schema)(opwright.ones(3, requires_grad=True), None)


@BOTH
def test_a_saved_tensor_that_was_written_is_told_of(lib: Library, schema: str) -> None:
    x = opwright.ones(3, requires_grad=True) * 1
    y = x.exp()
    with opwright.no_grad():
        _defined(lib, schema)(opwright.ones(3), y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@BOTH
def test_functional_programs_write_nothing(lib: Library, schema: str) -> None:
    scale = _defined(lib, schema)

    def program(x: Tensor) -> Tensor:
        log = opwright.zeros(())
        return scale(x.clone(), log, 4) + log

    assert functionalize(program)(opwright.ones(3)).tolist() == program(opwright.ones(3)).tolist() == [17, 17, 17]
    recorded = make_fx(functionalize(program))(opwright.ones(3))
    assert recorded(opwright.ones(2)).tolist() == [13, 13]


@BOTH
def test_writes_stay_in_recorded_programs(lib: Library, schema: str) -> None:
    scale = _defined(lib, schema)

    def program(x: Tensor) -> Tensor:
        log = opwright.zeros(())
        scale(x.clone(), log)
        return log

    recorded = make_fx(program)(opwright.ones(3))
    assert recorded.graph.eliminate_dead_code() in (True, False)
    recorded.recompile()
    assert recorded(opwright.ones(3)).item() == 6


@BOTH
def test_opcheck_finds_what_it_declares(lib: Library, schema: str) -> None:
    opcheck(_defined(lib, schema).default, (opwright.ones(3), opwright.zeros(())), {"parts": [opwright.zeros(2)]})


@pytest.mark.parametrize("mark", ["(a!)", "!"])
def test_opcheck_finds_what_is_not_written_and_what_is_returned(lib: Library, mark: str) -> None:
    lib.define(f"kept(Tensor{mark} x) -> ()")
    lib.impl("kept", lambda x: None, "CPU")
    with pytest.raises(OpCheckError, match=r"declared to write to argument 'x', and does not.*write `Tensor x`"):
        opcheck(getattr(ops, lib.ns).kept.default, (opwright.ones(3),))
    lib.define(f"given(Tensor{mark} x) -> Tensor")
    lib.impl("given", lambda x: x.add_(1), "CPU")
    with pytest.raises(OpCheckError, match=r"write `Tensor\(a!\) x` and `-> Tensor\(a!\)` in its schema"):
        opcheck(getattr(ops, lib.ns).given.default, (opwright.ones(3),))


@pytest.mark.parametrize("mark", ["(a!)", "!"])
def test_a_number_is_declared_and_not_written(lib: Library, mark: str) -> None:
    """Nobody can write to it: it is an effect that programs keep."""
    lib.define(f"count(int{mark} handle, int{mark}? n=None) -> ()")
    seen: list[int] = []
    lib.impl("count", lambda handle, n=None: seen.append(handle), "CompositeExplicitAutograd")
    count = getattr(ops, lib.ns).count

    def program(x: Tensor) -> Tensor:
        count(3)
        return x * 2

    assert functionalize(program)(opwright.ones(1)).tolist() == [2]
    recorded = make_fx(program)(opwright.ones(1))
    recorded.graph.eliminate_dead_code()
    recorded.recompile()
    seen.clear()
    recorded(opwright.ones(1))
    assert seen == [3]
    opcheck(count.default, (3,))
    assert count.default._schema.is_mutable


@pytest.mark.oracle
def test_what_the_schema_says(lib: Library) -> None:
    schema = _defined(lib, _UNNAMED).default._schema
    assert str(schema) == f"{lib.ns}::{_UNNAMED}"
    infos = [argument.alias_info for argument in schema.arguments]
    sets = [sorted(info.before_set) for info in infos]
    assert sets == [["$0"], ["$1"], ["$2"], [], ["$4"]]  # that of a list's elements is not shown
    assert [info.is_write for info in infos] == [True] * 5
    torch = pytest.importorskip("torch")
    theirs = torch._C.parse_schema(_UNNAMED.replace("=[]", ""))  # it reads no list as a default of tensors
    assert [sorted(a.alias_info.before_set) for a in theirs.arguments] == sets
    assert [a.alias_info.after_set for a in theirs.arguments] == [info.after_set for info in infos]
    assert [a.is_out for a in theirs.arguments] == [a.is_out for a in schema.arguments]
