"""Calls with PyTorch's tensors in the compiled core, by DLPack's C exchange API: what is used again, told, written."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opwright
from opwright.errors import ArgumentError
from opwright.library import custom_op

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle
aten = opwright.ops.aten
seen: list[Any] = []


@custom_op("exchanged::hostile", mutates_args=())
def hostile(x: np.ndarray, how: str) -> np.ndarray:
    """Do with the array what a kernel should not, and return twice its values."""
    made: np.ndarray = x * 2
    if how == "keep":
        seen.append(x)
    elif how == "view":
        seen.append(x[1:])
    elif how == "weak":
        seen.append(weakref.ref(x))
    elif how == "memory":
        seen.append(memoryview(x))
    elif how == "shape":
        x.shape = (2, -1)
    elif how == "dtype":
        x.dtype = np.int32  # type: ignore[misc]
    elif how == "flags":
        x.flags.writeable = False
    elif how == "again":
        hostile(torch.ones(6), "keep")
    elif how == "raise":
        raise ValueError("hostile")
    return made


def tensors() -> list[Any]:
    """Return tensors that are plain memory, and others that lie otherwise or have bits that PyTorch reads."""
    x, z = torch.arange(12.0), torch.randn(6, dtype=torch.complex64)
    made = [x, x.reshape(3, 4).t(), x[::2], x[:1].expand(5), torch.ones(()), x.detach(), torch.tensor([1.0, -2.0]),
            z, z.conj(), z.conj().imag, -z.real, z.imag, torch.ones(0, 3), x[3:], x.to(torch.float64)]  # fmt: skip
    return [*made, torch.nn.Parameter(x, requires_grad=False), x.as_strided((3, 3), (1, 1))]


def test_every_layout_gives_what_pytorch_gives_again_and_again() -> None:
    for _ in range(4):
        for x in tensors():
            for name in ("neg", "add", "sum", "unsqueeze"):
                args = {"add": (x, x), "unsqueeze": (x, 0)}.get(name, (x,))
                found, wanted = getattr(opwright, name)(*args), getattr(torch, name)(*args)
                assert type(found) is torch.Tensor
                assert found.dtype == wanted.dtype and torch.allclose(found, wanted.resolve_conj().resolve_neg()), (
                    name,
                    x,
                )


@pytest.mark.filterwarnings("ignore:Setting the (shape|dtype) on a NumPy array:DeprecationWarning")
def test_arrays_that_kernels_kept_or_changed_are_not_used_again() -> None:
    for how in ("keep", "view", "weak", "memory", "shape", "dtype", "flags", "again", "raise"):
        for round_ in range(4):
            x = torch.arange(6.0) + round_
            seen.clear()
            if how == "raise":
                with pytest.raises(ValueError, match="hostile"):
                    hostile(x, how)
            else:
                assert torch.equal(hostile(x, how), x * 2), how
            kept = list(seen)
            for other in (torch.full((6,), 9.0), torch.ones(2, 3), torch.zeros(6, dtype=torch.float64)):
                assert torch.equal(hostile(other, ""), other * 2), how
            if how in ("keep", "view", "memory"):
                values = x.numpy()[1:] if how == "view" else x.numpy()
                assert np.array_equal(np.asarray(kept[0]), values), how
            if how == "weak":
                assert kept[0]() is None  # what was dropped is not seen to live on
        seen.clear()


def test_threads_do_not_share_arrays() -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        x = torch.full((16,), float(number))
        for _ in range(500):
            if not torch.equal(opwright.add(x, x), x + x) or hostile(x, "").tolist() != [2.0 * number] * 16:
                wrong.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_what_is_written_is_the_callers_and_counts_once() -> None:
    for _ in range(3):
        x = torch.arange(6.0)
        for function, wanted in ((lambda t: aten.mul_(t, 2.0), x * 2), (aten.exp_, torch.exp(x)), (aten.zero_, x * 0)):
            for given in (x.clone(), torch.nn.Parameter(x.clone()), torch.stack([x, x], 1)[:, 0]):
                version = given._version
                with torch.no_grad():
                    assert function(given) is given
                assert torch.allclose(given, wanted)
                assert given._version == version + 1
        out = torch.empty(6)
        assert opwright.exp(x, out=out) is out and out._version == 1
        assert torch.allclose(out, torch.exp(x))


def test_what_is_written_to_conjugates_and_negatives_arrives() -> None:
    """The array is a copy then, whose values were lost."""
    for _ in range(3):
        z = torch.tensor([1 + 2j, 3 - 1j])
        part, conjugate = z.conj().imag, z.conj()
        assert aten.mul_(part, 2.0) is part
        assert z.tolist() == [1 + 4j, 3 - 2j] and part.tolist() == [-4.0, 2.0]
        assert aten.add_(conjugate, torch.tensor([1j, 0j])) is conjugate
        assert z.tolist() == [1 + 3j, 3 - 2j]


def test_without_grad_mode_tensors_that_require_grad_are_taken() -> None:
    x, weight = torch.ones(3), torch.nn.Parameter(torch.full((3,), 2.0))
    for _ in range(3):
        with torch.no_grad():
            found = opwright.mul(x, weight)
            assert found.tolist() == [2.0, 2.0, 2.0] and not found.requires_grad
            assert opwright.add(weight, weight).tolist() == [4.0, 4.0, 4.0]
        for args in ((x, weight), (weight, x), (weight, weight)):
            with pytest.raises(ArgumentError, match="requires grad"):
                opwright.mul(*args)


def test_without_the_exchange_calls_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.Tensor, "__dlpack_c_exchange_api__")
    double: Callable[..., Any] = custom_op("exchanged::double", mutates_args=())(doubled)
    for x in tensors() * 2:
        assert torch.equal(double(x), 2 * x)
    x = torch.ones(3, requires_grad=True)
    for _ in range(3):
        with pytest.raises(ArgumentError, match="requires grad"):
            double(x)


def doubled(x: np.ndarray) -> np.ndarray:
    """Return twice the values."""
    made: np.ndarray = x * 2
    return made
