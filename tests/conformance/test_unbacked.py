"""Programs on sizes that only data tells: they run without data wherever PyTorch's run, and what they say of shapes and
strides, at the sizes of the data, is what the program with data gives."""

from __future__ import annotations

from typing import Any

import pytest
from known_versions import oracle_version
from unbacked_programs import PROGRAMS, inputs

import opwright
from opwright.fake import FakeTensorMode
from opwright.symbolic import GuardOnDataDependentError, ShapeEnv
from opwright.testing.symbolic_results import bound_by, described

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


# What PyTorch refuses without data, though the answer does not depend on it.
ONLY_HERE = frozenset(
    (
        "rows: logsumexp",
        "rows: roll",
        "rows: pad",
        "rows: cdist",
        "rows: dropout",
        "item as an index",
    )
) | (frozenset() if (oracle_version() or (0, 0)) >= (2, 15) else {"rows: attention"})


@pytest.mark.parametrize("name", PROGRAMS)
def test_unbacked_programs(name: str) -> None:
    env = ShapeEnv()
    found = without_data(opwright, FakeTensorMode(shape_env=env), name)
    theirs = without_data(torch, torch_fakes.FakeTensorMode(shape_env=torch_shapes.ShapeEnv()), name)
    if isinstance(theirs, Exception) and name not in ONLY_HERE:
        assert isinstance(theirs, torch_shapes.GuardOnDataDependentSymNode)
        assert isinstance(found, GuardOnDataDependentError)
        assert "unbacked_programs.py" in str(found) and "u0" in str(found)
        return
    assert isinstance(theirs, Exception) == (name in ONLY_HERE)
    if isinstance(found, Exception):
        raise found
    real = PROGRAMS[name](opwright, **inputs(opwright))
    values = bound_by(env, found, real)
    assert described(found, values) == described(real, values)
    assert env.check(values) == []
    assert all(env.evaluate(each.expression, values) for each in env.deferred)
