"""`repr` of tensors, by example and against PyTorch on random values."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import seeds

from opwright_core.arrays import dtypes
from opwright_core.tensors.tensor import wrap


@pytest.mark.parametrize(
    "array, text",
    [
        (np.array([1.0, 2.5], np.float32), "tensor([1.0000, 2.5000])"),
        (np.array([1.0, -2.0], np.float32), "tensor([ 1., -2.])"),
        (np.array([[1, 20]]), "tensor([[ 1, 20]])"),
        (np.array(1.5), "tensor(1.5000, dtype=float64)"),
        (np.array([True, False]), "tensor([ True, False])"),
        (np.zeros((2, 0), np.float32), "tensor([], size=(2, 0))"),
        (np.zeros(0, np.int8), "tensor([], dtype=int8)"),
        (np.array([1.0, np.inf, np.nan], np.float32), "tensor([1., inf, nan])"),
        (np.array([1e-5, 1.0], np.float32), "tensor([1.0000e-05, 1.0000e+00])"),
        (np.array([1 + 2j], np.complex64), "tensor([1.+2.j])"),
        (np.array([1.5], dtypes.bfloat16), "tensor([1.5000], dtype=bfloat16)"),
        (np.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    ],
)
def test_examples(array: np.ndarray, text: str) -> None:
    assert repr(wrap(array)) == text


@pytest.mark.oracle
@pytest.mark.parametrize(
    "text",
    [
        lambda t: f"{t.tensor(3)} {t.tensor(2.5)} {t.tensor(True)} {t.tensor(1j)}",
        lambda t: "{} {:5} {!r} {!s}".format(*[t.tensor(3)] * 4),
        lambda t: format(t.tensor(3.0)) + f"{t.tensor(1 / 3)} {t.tensor(1 / 3, dtype=t.bfloat16)}",
        lambda t: f"{t.tensor(2.5, requires_grad=True) * 2} {t.tensor(float('nan'))}",
        lambda t: f"{t.ones(1)} {t.ones(2, 0)}" + "%s" % t.tensor(3),  # noqa: UP031
        lambda t: f"{t.ones((), device='meta')}",
        lambda t: f"{t.tensor(3, device='meta'):d}",
        lambda t: f"{t.ones(1):d}",
        lambda t: _seen(t.func.grad, t.tensor(2.0)),
        lambda t: _seen(t.func.functionalize, t.tensor(2.0)),
        lambda t: _seen(t.vmap, t.ones(2)),
    ],
)
def test_formats_are_of_the_number(text: Any) -> None:
    pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    from both import check

    check(text)


def _seen(transform: Any, x: Any) -> list[str]:
    seen: list[str] = []

    def noting(value: Any) -> Any:
        seen.append(f"{value} {value:.2f}")
        return value * 2

    transform(noting)(x)
    return seen


def test_notes() -> None:
    x = wrap(np.zeros(1, np.float32)).requires_grad_()
    assert repr(x) == "tensor([0.], requires_grad=True)"
    assert str(x) == repr(x)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["float32", "float64", "int64", "int32", "bool", "float16", "bfloat16", "complex64"])
def test_equals_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    rng = seeds.generator(name)
    torch.manual_seed(0)
    for _ in range(150):
        shape = [rng.choice([1, 2, 3, 5, 8, 40]) for _ in range(rng.randint(0, 3))]
        values = torch.randn(shape, dtype=torch.float64) * 10 ** rng.randint(-6, 9)
        match rng.randint(0, 3):
            case 0:
                values = torch.floor(torch.randn(shape) * 30).double()
            case 1:
                values = values * 10 ** torch.randint(-3, 3, shape).double()
            case 2:
                odd = torch.tensor(rng.choice([float("nan"), float("inf"), -float("inf"), 0.0]), dtype=torch.float64)
                values = torch.where(torch.rand(shape) < 0.2, odd, values)
        if name == "complex64":
            values = torch.complex(values, -values / 3)
        theirs = values.to(getattr(torch, name))
        bits = theirs.view(torch.int16).numpy().view(dtypes.bfloat16) if name == "bfloat16" else theirs.numpy()
        # `dtype=torch.int32` is longer than `dtype=int32`: where the note starts a new line differs by that alone.
        expected = re.sub(r",\s+dtype=torch\.", ", dtype=", repr(theirs))
        assert re.sub(r",\s+dtype=", ", dtype=", repr(wrap(bits))) == expected
