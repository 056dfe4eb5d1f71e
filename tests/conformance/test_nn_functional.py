"""`opwright.nn.functional` against `torch.nn.functional`: values, dtypes, shapes, strides, errors, signatures."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from samples_functional import FUNCTIONS
from sampling import FLOATS, Sample

import opwright
from opwright.nn import functional

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from exactness import is_as_exact  # noqa: E402
from known_differences import is_known  # noqa: E402
from oracle import call, copied, difference, to_opwright, to_torch  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def theirs(name: str) -> Any:
    return getattr(torch.nn.functional, name)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name: str, dtype: np.dtype) -> None:
    found = []
    for one in FUNCTIONS[name](dtype=dtype):
        opwright.manual_seed(7)
        torch.default_generator.manual_seed(7)
        mine = call(getattr(functional, name), own(one), to_opwright)
        other = call(theirs(name), own(one), to_torch)
        problem = difference(mine, other)
        if problem is None or is_known(name, one, problem):
            continue
        if not (problem.startswith("values") and is_as_exact(name, one, mine, other, theirs(name))):
            found.append(f"{name}{one}: {problem}")
    if found:
        pytest.fail(f"{len(found)} differences\n" + "\n".join(found[:12]), pytrace=False)


def own(one: Sample) -> Sample:
    """The same call on memory of its own, which it may write to."""
    return Sample(tuple(map(copied, one.args)), {key: copied(value) for key, value in one.kwargs.items()})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures(name: str) -> None:
    """The parameters are PyTorch's, in its order, with its defaults."""
    try:
        wanted = inspect.signature(theirs(name)).parameters.values()
    except ValueError:  # a builtin
        return
    if any(each.kind is each.VAR_POSITIONAL for each in wanted):
        return
    given = inspect.signature(getattr(functional, name)).parameters.values()
    assert [(each.name, each.kind, each.default) for each in given] == [
        (each.name, each.kind, each.default) for each in wanted
    ]


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name.endswith(("_loss", "entropy", "div"))])
def test_another_reduction_is_an_error_that_says_what_there_is(name: str) -> None:
    one = next(iter(FUNCTIONS[name](dtype=np.dtype("float32"))))
    with pytest.raises(ValueError, match=r"'average'.*'none', 'mean' and 'sum'"):
        getattr(functional, name)(*one.args, **{**one.kwargs, "reduction": "average"})


def test_every_function_is_tested() -> None:
    names = {name for name in dir(functional) if not name.startswith("_") and callable(getattr(functional, name))}
    others = {f"{name}{end}" for name in FUNCTIONS for end in ("_with_indices", "_")}
    assert names - set(FUNCTIONS) <= others


@pytest.mark.parametrize("name", ["relu", "elu", "selu", "celu", "leaky_relu", "rrelu", "hardtanh", "threshold"])
def test_functions_in_place(name: str) -> None:
    one = next(iter(FUNCTIONS[name](dtype=np.dtype("float32"))))
    mine, other = call(getattr(functional, f"{name}_"), own(one), to_opwright), call(theirs(name), one, to_torch)
    assert difference(mine, other) is None


def test_in_place_returns_the_input() -> None:
    x = opwright.tensor([-1.0, 2.0])
    assert functional.relu(x, inplace=True) is x
    assert x.tolist() == [0.0, 2.0]


def test_plain_arrays() -> None:
    found = functional.cross_entropy(np.eye(3, dtype=np.float32), np.arange(3))
    assert type(found) is np.ndarray and found.dtype == np.float32


@pytest.mark.parametrize("in_place", [False, True])
def test_random_slopes_are_written_into_the_noise(in_place: bool) -> None:
    array = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
    name = "rrelu_with_noise_" if in_place else "rrelu_with_noise"
    mine, noise = opwright.from_numpy(array.copy()), opwright.zeros([3, 4])
    other, their_noise = torch.from_numpy(array.copy()), torch.zeros(3, 4)
    opwright.manual_seed(3)
    torch.default_generator.manual_seed(3)
    found = getattr(opwright.ops.aten, name)(mine, noise, 0.1, 0.4, True)
    wanted = getattr(torch.ops.aten, name)(other, their_noise, 0.1, 0.4, True)
    assert difference([found, noise, mine], [wanted, their_noise, other]) is None
    assert (found is mine) is in_place
