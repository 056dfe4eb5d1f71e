"""Tensors over one memory that are pickled, saved or copied together: they share memory afterwards, too."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest

import opwright


def saved(value: Any) -> Any:
    file = io.BytesIO()
    opwright.save(value, file)
    file.seek(0)
    return opwright.load(file, weights_only=False)


def assigned(x: Any) -> Any:
    y = opwright.zeros(2)
    y.data = x
    return y


ALIASES = {
    "view": lambda x: x.view(-1),
    "slice": lambda x: x[:],
    "detach": lambda x: x.detach(),
    "data": lambda x: x.data,
    "data of data": lambda x: x.data.data,
    "copy": copy.copy,
    "assigned data": assigned,
    "leaf": lambda x: x.detach().requires_grad_(),
}


@pytest.mark.parametrize("name", ALIASES)
@pytest.mark.parametrize("again", [lambda v: pickle.loads(pickle.dumps(v)), copy.deepcopy, saved])
@pytest.mark.parametrize("make", [lambda: opwright.arange(4.0), lambda: opwright.arange(6.0).reshape(2, 3).t()[0]])
def test_aliases_share_memory_after_a_round_trip(name: str, again: Any, make: Any) -> None:
    x = make()
    first, second = again((x, ALIASES[name](x)))
    first[0] = 99.0
    assert second[0].item() == 99.0
    assert x[0].item() == 0.0
    assert (first._version > 0) and second.tolist()[1:] == x.tolist()[1:]


def test_pickles_of_one_tensor_share_nothing() -> None:
    x = opwright.arange(4.0)
    data = pickle.dumps(x)
    first, second = pickle.loads(data), pickle.loads(data)
    first[0] = 99.0
    assert (second[0].item(), x[0].item()) == (0.0, 0.0)
