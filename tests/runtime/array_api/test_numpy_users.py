"""What users of NumPy and of other libraries try first: it works, or the error says what to write."""

from __future__ import annotations

import inspect
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable
from math import isnan
from typing import Any

import numpy as np
import pytest

import opwright
from opwright.names.numpy_names import HERE


def matrix() -> Any:
    return opwright.tensor([[1.26, 2.0], [3.0, 4.0]])


def test_methods_of_numpys_arrays() -> None:
    x = opwright.arange(6.0).reshape(2, 3).t().requires_grad_()
    copied = x.copy()
    assert (copied.stride(), copied.tolist()) == ((2, 1), x.tolist())
    copied.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[1.0, 1.0]] * 3
    assert x.astype(np.float64).dtype == x.astype("float64").dtype == opwright.float64
    assert x.astype(opwright.float32, copy=False) is x
    assert x.astype(opwright.float32) is not x


def test_constants() -> None:
    assert (opwright.pi, opwright.e, opwright.inf, opwright.newaxis) == (np.pi, np.e, np.inf, None)
    assert isnan(opwright.nan)
    assert opwright.ones(2)[opwright.newaxis].shape == (1, 2)


@pytest.mark.parametrize("name", HERE)
def test_names_of_numpy_say_what_stands_here(name: str) -> None:
    assert hasattr(np, name)
    with pytest.raises(AttributeError) as caught:
        getattr(opwright, name)
    assert str(caught.value) == f"module 'opwright' has no attribute {name!r}; for NumPy's {name} there is {HERE[name]}"
    assert eval(HERE[name], {"opwright": opwright, "x": matrix()}) is not None


@pytest.mark.parametrize("name", ["compile", "cond", "map", "scan", "while_loop"])
def test_names_of_pytorch_that_need_none_here(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}'; .*\bhere\b|opwright\.vmap does that"):
        getattr(opwright, name)


def test_names_that_have_no_counterpart() -> None:
    with pytest.raises(AttributeError, match=r"NumPy's polyfit has no counterpart here: numpy.polyfit takes x"):
        _ = opwright.polyfit


ERRORS: dict[str, tuple[Callable[[], Any], str]] = {
    "a list": (lambda: opwright.add([1, 2], 3), r"got list \[1, 2\]; numpy.asarray\(...\) makes an array of it"),
    "a number": (lambda: opwright.sqrt(2), r"got int 2; numpy.asarray\(...\) makes an array of it"),
    "texts": (lambda: opwright.sign(np.array(["a"])), r"complex64, complex128\.\n"),  # and no function makes an array
    "a list of lists": (lambda: opwright.cat([[1], [2]]), r"element 0 is list \[1\]; numpy.asarray\(...\) makes"),
    "decimals": (lambda: matrix().round(1), r"'decimals' is keyword-only: round\(self, decimals=1\)\n"),
    "steps": (lambda: opwright.linspace(0, 1), r"argument 'steps' \(position 2\); NumPy's default is steps=50\n"),
    "dot of matrices": (
        lambda: matrix().dot(matrix()),
        "1 dimension, but has 2; matmul takes matrices, too",
    ),
    "hypot of ints": (
        lambda: opwright.hypot(opwright.tensor([3]), opwright.tensor([4])),
        r"not implemented for int64: expected a dtype of these: floating; convert it first, for example to float32",
    ),
    "mean of ints": (lambda: opwright.tensor([1, 2]).mean(), "Got: int64; dtype='float32' says which"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_to_write(name: str) -> None:
    call, message = ERRORS[name]
    with pytest.raises((RuntimeError, TypeError), match=message):
        call()


class Foreign:
    """An array of another library, which calls it Tensor."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()

    def __repr__(self) -> str:
        return "tensor([1., 1.])"


Foreign.__qualname__, Foreign.__module__ = "Tensor", "torch"


def test_arrays_of_other_libraries_are_named_in_full() -> None:
    message = r"got a torch.Tensor and a Tensor: .* numpy.from_dlpack\(...\) makes an array of one, without a copy"
    with pytest.raises(opwright.ArgumentError, match=message):
        opwright.add(opwright.ones(2), Foreign([1.0, 1.0]))
    assert opwright.sqrt(Foreign([1.0, 4.0])).tolist() == [1.0, 2.0]
    assert opwright.cat([Foreign([1.0])]).tolist() == [1.0]
    assert opwright.from_dlpack(Foreign([1.0, 4.0])).sqrt().tolist() == [1.0, 2.0]


@pytest.mark.oracle
def test_arrays_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    assert isinstance(opwright.sqrt(torch.ones(2)), torch.Tensor)
    with pytest.raises(opwright.ArgumentError, match=r"got a torch.Tensor and a Tensor"):
        opwright.add(torch.ones(2), opwright.ones(2))


@pytest.mark.once
def test_python_itself_suggests_methods() -> None:
    """The interpreter looks among the names of a tensor if there are at most 750, and looking up costs no call."""
    assert len(dir(opwright.ones(2))) <= 750
    assert "__getattr__" not in vars(opwright.Tensor)
    program = "import opwright; opwright.ones(2).sofmax(0)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert re.search(r"'Tensor' object has no attribute 'sofmax'\. Did you mean:? '\.?softmax'", run.stderr)


@pytest.mark.parametrize(
    "function", [np.sum, np.mean, np.argmax, np.any, np.all, np.squeeze, np.sqrt, np.exp, np.round]
)
def test_functions_of_numpy(function: Callable[..., Any]) -> None:
    found = function(matrix())
    assert isinstance(found, opwright.Tensor)
    np.testing.assert_allclose(found.numpy(), function(matrix().numpy()))


def test_numpy_takes_tensors() -> None:
    x = matrix()
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert np.array(x, np.float64).dtype == np.float64
    assert np.concatenate([x, x]).shape == (4, 2)
    assert np.linalg.norm(x) == pytest.approx(np.linalg.norm(x.numpy()))


def test_help_says_what_serves_a_function() -> None:
    text = pydoc.render_doc(opwright.softmax, renderer=pydoc.plaintext)
    assert "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor" in text
    assert "Written over other operators; declared at schemas/nn.yaml:" in text
    assert "Kernels for CPU, CUDA" in (inspect.getdoc(opwright.mm) or "")
