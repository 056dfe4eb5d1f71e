"""Names that a user of PyTorch expects: `make_tensor`, `set_printoptions`, small methods, beside PyTorch's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from both import check  # noqa: E402

import opwright  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

DTYPES = [
    "float32", "float64", "float16", "bfloat16", "complex64", "complex128", "int64", "int32", "int16", "int8", "uint8",
    "bool",
]  # fmt: skip
RANGES: list[tuple[Any, Any]] = [
    (None, None),
    (0, 5),
    (-3, 1),
    (2, 2),
    (5, 1),
    (1e9, 1e10),
    (float("nan"), 1),
    (0.2, 3.7),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bounds", RANGES, ids=str)
def test_tensors_for_tests(dtype: str, bounds: tuple[Any, Any]) -> None:
    def make(lib: Any, *shape: Any, **options: Any) -> Any:
        lib.manual_seed(4)
        kind = getattr(lib, dtype)
        made = lib.testing.make_tensor(*shape, dtype=kind, device="cpu", low=bounds[0], high=bounds[1], **options)
        values = (made.real if made.is_complex() else made).double()
        values = (values * 100).round()  # the last bits may differ
        return values, made.is_contiguous(), made.stride(), made.requires_grad, str(made.dtype).removeprefix("torch.")

    for shape in ((3, 4), ((2, 3),), ((),), (0, 2), (5,)):
        check(lambda lib, shape=shape: make(lib, *shape))
        check(lambda lib, shape=shape: make(lib, *shape, noncontiguous=True, exclude_zero=True))
    check(lambda lib: make(lib, 3, requires_grad=True))
    check(lambda lib: make(lib, 2, 3, 4, 5, memory_format=lib.channels_last))
    check(lambda lib: make(lib, 2, 3, 4, 5, memory_format=lib.channels_last, noncontiguous=True))


@pytest.fixture
def usual_printing() -> Iterator[None]:
    yield
    for lib in (torch, opwright):
        lib.set_printoptions(profile="default")


# (of dtypes that are not written out: theirs have longer names)
TENSORS = [
    np.float32([1.23456789, 100.0]), np.float32([1e-9, 1.0]), np.float32(range(2000)),
    np.float32([[1.5, np.nan], [np.inf, 2]]),
    np.arange(400).reshape(20, 20), np.complex64([1 + 2.123456j]),
    np.array(3.14159265, np.float32), np.array([True, False] * 40),
]  # fmt: skip


@pytest.mark.parametrize("options", [
    {}, {"precision": 2}, {"precision": 8}, {"threshold": 5}, {"edgeitems": 1, "threshold": 10}, {"linewidth": 40},
    {"sci_mode": True}, {"sci_mode": False}, {"profile": "short"}, {"profile": "full"}, {"profile": "default"},
    {"profile": "full", "precision": 1, "sci_mode": True},
], ids=str)  # fmt: skip
def test_how_tensors_are_written(options: dict[str, Any], usual_printing: None) -> None:
    for lib in (torch, opwright):
        lib.set_printoptions(**options)
    for values in TENSORS:
        theirs, ours = (repr(lib.from_numpy(values)).replace("torch.", "") for lib in (torch, opwright))
        assert ours == theirs


def test_an_unknown_profile_is_an_error() -> None:
    with pytest.raises(ValueError, match="profile is one of default, short, full, got 'long'"):
        opwright.set_printoptions(profile="long")


@pytest.mark.parametrize("dtype", DTYPES)
def test_small_methods(dtype: str) -> None:
    def programme(lib: Any) -> Any:
        x = lib.ones(2, 3).to(getattr(lib, dtype))
        y = x.new_tensor([[0, 1], [2, 3]])
        z = x.new_tensor(5, dtype=lib.float64, requires_grad=True)
        names = [str(each.dtype).removeprefix("torch.") for each in (y, z)]
        return x.ndimension(), x.is_signed(), y.shape[0], z.requires_grad, names, z, x[0, 0].is_nonzero()

    check(programme)


def test_is_nonzero_needs_one_element() -> None:
    check(lambda lib: lib.ones(2).is_nonzero())
    check(lambda lib: lib.zeros(1).is_nonzero())


# FakeTensorMode knows the numbers it was given


def fake_mode(lib: Any) -> Any:
    if lib is opwright:
        return lib.fake.FakeTensorMode()
    from torch._subclasses import FakeTensorMode

    return FakeTensorMode()


PROGRAMS: list[Any] = [
    lambda lib: lib.tensor(4.0).item(), lambda lib: int(lib.tensor(4)), lambda lib: float(lib.tensor(2)),
    lambda lib: bool(lib.tensor(True)), lambda lib: [1, 2, 3][lib.tensor(1)], lambda lib: lib.tensor(3.0).tolist(),
    lambda lib: lib.tensor([3.0]).tolist(), lambda lib: lib.tensor(4.0, requires_grad=True).item(),
    lambda lib: list(lib.div(3, 2).shape), lambda lib: str(lib.div(3, 2).dtype).removeprefix("torch."),
    lambda lib: lib.tensor([1.0, 2.0]).sum().item(), lambda lib: lib.ones(()).item(), lambda lib: lib.randn(()).item(),
    lambda lib: lib.tensor(4.0).copy_(lib.ones(())).item(), lambda lib: lib.as_tensor(3).item(),
    lambda lib: lib.tensor(4.0).view(1).item(), lambda lib: lib.tensor(4.0).detach().item(),
    lambda lib: lib.tensor([4.0])[0].item(), lambda lib: lib.tensor(4.0).expand(1, 1).squeeze().tolist(),
    lambda lib: bool(lib.tensor(True).reshape(1, 1)), lambda lib: lib.tensor(4.0).expand(3).tolist(),
    lambda lib: lib.tensor(4.0).view(1)[:0].item(),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(PROGRAMS)))
def test_numbers_in_a_fake_mode(place: int) -> None:
    def programme(lib: Any) -> Any:
        with fake_mode(lib):
            try:
                return PROGRAMS[place](lib)
            except Exception:
                return "no data"

    check(programme)


def test_a_number_whose_writes_are_counted_apart_is_not_known() -> None:
    with opwright.fake.FakeTensorMode():
        x, y = opwright.tensor(4.0), opwright.tensor(4.0)
        x.data.add_(1)
        y.add_(1)
        for written in (x, y.data, y.data.view(1)):
            with pytest.raises(opwright.DataDependentOutputError):
                written.item()


def test_a_number_that_was_written_to_is_not_known() -> None:
    with opwright.fake.FakeTensorMode() as mode:
        x = opwright.tensor(4.0)
        assert x.fake_mode is mode
        x.view(1).copy_(opwright.ones(1))
        with pytest.raises(opwright.DataDependentOutputError):
            x.item()
        with pytest.raises(opwright.DataDependentOutputError):
            x.view(1).item()
    with pytest.raises(AttributeError, match="no fake tensor"):
        _ = opwright.ones(2).fake_mode
