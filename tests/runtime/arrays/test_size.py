"""Size, the shape of a Tensor, beside PyTorch's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import opwright
from opwright import Size
from opwright.symbolic import ShapeEnv

EXPRESSIONS = (
    "S([2, 3])", "S()", "S((1, True))", "S(range(3))", "S(S([4]))", "s + (1,)", "(1,) + s", "s + s", "s * 2", "2 * s",
    "s[:1]", "s[::-1]", "s[0]", "s[-1]", "s.numel()", "S().numel()", "S([0, 3]).numel()", "s == (2, 3)", "s < (2, 4)",
    "hash(s) == hash((2, 3))", "isinstance(s, tuple)", "s.index(3)", "s.count(2)", "str(s)", "f'{s}'", "[*s]",
    "pickle.loads(pickle.dumps(s))", "copy.copy(s)", "copy.deepcopy(s)", "t.zeros(s).shape", "t.ones(s + (4,)).size()",
    "t.zeros(2, 3).size(1)", "t.ones(s).view(s[::-1]).shape", "t.ones(s).permute(1, 0).shape", "S(t.tensor([1, 2]))",
    "S([t.tensor(3)])", "{s: 1}[2, 3]", "t.ones(s).expand(S([5]) + s).shape", "S([1.5])", "S(['a'])", "S(2)", "S(1, 2)",
    "s + [1]", "s + 5", "S([None])", "s[5]",
)  # fmt: skip


def value_of(expression: str, module: Any) -> Any:
    names = {"S": module.Size, "s": module.Size([2, 3]), "t": module, "pickle": pickle, "copy": copy}
    try:
        return eval(expression, names)
    except Exception as error:
        return type(error)


@pytest.mark.oracle
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_size_does_what_pytorchs_does(expression: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    ours, theirs = value_of(expression, opwright), value_of(expression, torch)
    assert (type(ours) is Size) is (type(theirs) is torch.Size)
    assert repr(ours).replace("opwright", "torch") == repr(theirs)


def test_shapes_are_sizes() -> None:
    x = opwright.zeros(2, 3)
    assert type(x.shape) is type(x.size()) is type(x[0].shape) is Size
    assert x.shape == (2, 3) and x.shape.numel() == 6
    assert repr(x.shape) == "opwright.Size([2, 3])"
    with opwright.fake.FakeTensorMode():
        assert type(opwright.zeros(2).shape) is Size


def test_symbolic_sizes_stay_symbolic() -> None:
    env = ShapeEnv()
    mode = opwright.fake.FakeTensorMode(shape_env=env)
    fake = mode.from_tensor(opwright.zeros(4, 3))
    shape = fake.shape
    joined = shape[:1] + Size([1])
    assert type(shape) is type(joined) is Size
    assert [type(size) for size in joined] == [type(shape[0]), int]
    assert Size(shape) == shape
