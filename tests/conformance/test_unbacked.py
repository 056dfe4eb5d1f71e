"""Programs on sizes that only data tells: they run without data wherever PyTorch's run, and what they say of shapes and
strides, at the sizes of the data, is what the program with data gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from symbolic_results import bound_by, described
from unbacked_programs import PROGRAMS, inputs

import opwright
from opwright.fake import FakeTensorMode
from opwright.symbolic import ShapeEnv

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
torch_fakes = pytest.importorskip("torch._subclasses.fake_tensor")
torch_shapes = pytest.importorskip("torch.fx.experimental.symbolic_shapes")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def without_data(m: Any, mode: Any, name: str) -> Any:
    """The program's result on fakes of the inputs, or the error."""
    given = {key: mode.from_tensor(value) for key, value in inputs(m).items()}
    with mode:
        try:
            return PROGRAMS[name](m, **given)
        except Exception as error:
            return error


def parts(result: Any) -> Iterator[Any]:
    if isinstance(result, list | tuple):
        for each in result:
            yield from parts(each)
    else:
        yield result


@pytest.mark.parametrize("name", PROGRAMS)
def test_unbacked_programs(name: str) -> None:
    env = ShapeEnv()
    found = without_data(opwright, FakeTensorMode(shape_env=env), name)
    theirs = without_data(torch, torch_fakes.FakeTensorMode(shape_env=torch_shapes.ShapeEnv()), name)
    if isinstance(theirs, Exception):
        assert isinstance(found, Exception), f"PyTorch raises {theirs!r:.200}"
        return
    if isinstance(found, Exception):
        raise found
    real = PROGRAMS[name](opwright, **inputs(opwright))
    values = bound_by(env, found, real)
    assert described(found, values) == described(real, values)
    assert env.check({key: symbol.hint for key, symbol in env.symbols.items() if symbol.hint is not None}) == []
