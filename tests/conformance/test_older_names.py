"""Attributes that programs give to tensors, and names of before dtypes, beside PyTorch's: the same calls in both."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opwright

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

CALLS: dict[str, Callable[[Any], Any]] = {
    "sizes": lambda lib: lib.FloatTensor(2, 3).shape,
    "nothing": lambda lib: lib.FloatTensor().shape,
    "a Size": lambda lib: lib.DoubleTensor(lib.Size([2, 3])).shape,
    "a list": lambda lib: lib.FloatTensor([1, 2]),
    "Tensor of sizes": lambda lib: (tuple(lib.Tensor(2, 3).shape), str(lib.Tensor(2, 3).dtype)[-7:]),
    "Tensor of a list": lambda lib: lib.Tensor([[1], [2]]),
    "ints": lambda lib: lib.LongTensor([[1, 2], [3, 4]]),
    "an array": lambda lib: lib.DoubleTensor(np.arange(3)),
    "bytes": lambda lib: lib.ByteTensor([1, 0]),
    "bools": lambda lib: lib.BoolTensor([True, False]),
    "a tensor": lambda lib: lib.FloatTensor(lib.ones(2)),
    "a size of NumPy": lambda lib: lib.IntTensor(np.int64(3)).shape,
    "type": lambda lib: [x.type() for x in (lib.ones(1), lib.ones(1).double(), lib.ones(1).long(), lib.ones(1).bool())],
    "type of bfloat16": lambda lib: lib.ones(1).bfloat16().type(),
    "type of complex": lambda lib: lib.ones(1).to(lib.complex64).type(),
    "to a type": lambda lib: lib.ones(2).type(lib.DoubleTensor),
    "to a named type": lambda lib: lib.ones(2).type("torch.IntTensor"),
    "to a dtype": lambda lib: lib.ones(2).type(lib.int8),
    "instances": lambda lib: [
        isinstance(lib.ones(1), kind) for kind in (lib.FloatTensor, lib.DoubleTensor, lib.Tensor)
    ],
    "the type's name": lambda lib: str(lib.FloatTensor),
    "new": lambda lib: [lib.ones(2).int().new([1.5, 2]), lib.ones(2).double().new(2, 3).shape, lib.ones(2).new().shape],
    "set_": lambda lib: lib.ones(2).set_(lib.arange(6.0)),
    "set_, nothing": lambda lib: lib.ones(2).set_().shape,
    "set_, a part": lambda lib: lib.ones(2).set_(lib.arange(6.0).untyped_storage(), 1, (2, 2), (2, 1)),
    "set_ shares": lambda lib: _set_shares(lib),
    "kinds": lambda lib: [getattr(lib.ones(1), f"is_{kind}") for kind in ("sparse", "quantized", "nested", "mkldnn")],
    "is_shared": lambda lib: lib.ones(1).is_shared(),
    "another dtype": lambda lib: lib.ones(2).set_(lib.ones(2).double()),
    "a leaf": lambda lib: lib.ones(2, requires_grad=True).set_(lib.ones(2)),
    "a float": lambda lib: lib.FloatTensor(2.5),
    "Tensor of a float": lambda lib: lib.Tensor(2.5),
    "a size and a float": lambda lib: lib.FloatTensor(2, 3.0),
    "a text": lambda lib: lib.FloatTensor("a"),
    "another type": lambda lib: lib.FloatTensor(lib.arange(3)),
    "no type": lambda lib: lib.ones(2).type("FloatTensor"),
    "cdist by words": lambda lib: [
        lib.cdist(lib.arange(6.0).reshape(2, 3), lib.ones(2, 3), compute_mode=way)
        for way in ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    ],
    "cdist by another word": lambda lib: lib.cdist(lib.ones(1, 1), lib.ones(1, 1), compute_mode="fast"),
    "embedding_bag in the former order": lambda lib: lib.nn.functional.embedding_bag(
        lib.ones(3, 2), lib.tensor([0, 1]), lib.tensor([0])
    ),
    "a negative size": lambda lib: lib.FloatTensor(-1),
}


def _set_shares(lib: Any) -> Any:
    x, y = lib.ones(2), lib.arange(6.0)
    x.set_(y)
    x[0] = 7
    return y


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return (str(value.dtype).removeprefix("torch."), value.tolist()) if hasattr(value, "tolist") else value


def _outcome(call: Callable[[Any], Any], lib: Any) -> Any:
    try:
        return _plain(call(lib))
    except Exception as error:
        return type(error).__name__


@pytest.mark.filterwarnings("ignore:.*rgument.*order:UserWarning", "ignore:.*order of arguments:UserWarning")
@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_answered_as_by_pytorch(name: str) -> None:
    assert _outcome(CALLS[name], opwright) == _outcome(CALLS[name], torch)


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "detach": lambda x: x.detach(),
    "clone": lambda x: x.clone(),
    "data": lambda x: x.data,
    "itself": lambda x: x.add_(1),
}


@pytest.mark.parametrize("name", COPIES)
def test_attributes_are_kept_where_pytorch_keeps_them(name: str) -> None:
    def found(lib: Any) -> Any:
        x = lib.ones(2)
        x.note, x.other = ["kept"], {"a": 1}
        made = COPIES[name](x)
        return dict(vars(made)), getattr(made, "note", None) is x.note

    assert found(opwright) == found(torch)
