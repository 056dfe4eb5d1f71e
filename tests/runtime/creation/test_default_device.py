"""`with opwright.device("meta"):`, `set_default_device`, and modes that are asked about what makes tensors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import opwright
from opwright.overrides import TorchFunctionMode

CALLS: dict[str, tuple[Any, ...]] = {
    "as_tensor": (2.0,),
    "asarray": (2.0,),
    "empty_permuted": ((2, 3), (1, 0)),
    "empty_strided": ((2,), (1,)),
    "full": ((2,), 1.0),
    "linspace": (0, 1, 3),
    "logspace": (0, 1, 3),
    "randint": (3, (2,)),
    "scalar_tensor": (3.0,),
    "tensor": ([1.0],),
    "tril_indices": (2, 2),
    "triu_indices": (2, 2),
}
NAMES = (
    *CALLS, "arange", "bartlett_window", "blackman_window", "empty", "eye", "fft.fftfreq", "fft.rfftfreq",
    "hamming_window", "hann_window", "kaiser_window", "ones", "rand", "randn", "randperm", "zeros",
)  # fmt: skip


@pytest.fixture(autouse=True)
def on_the_cpu() -> Iterator[None]:
    yield
    opwright.set_default_device(None)


def made_by(name: str) -> opwright.Tensor:
    function: Any = opwright
    for part in name.split("."):
        function = getattr(function, part)
    made: opwright.Tensor = function(*CALLS.get(name, (3,)))
    return made


class Seen(TorchFunctionMode):
    """A mode that keeps the functions that it was asked about, and what they were given."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, dict[str, Any]]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append((func, dict(kwargs or {})))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", NAMES)
def test_factories_take_the_device_of_the_block(name: str) -> None:
    with opwright.device("meta") as device:
        assert device == opwright.device("meta")
        assert made_by(name).device == device
    assert made_by(name).device.type == "cpu"


def test_a_device_that_is_given_and_that_of_another_tensor_stay() -> None:
    x = opwright.ones(2)
    with opwright.device("meta"):
        assert opwright.ones(2, device="cpu").device.type == "cpu"
        assert opwright.zeros_like(x).device.type == x.new_ones(2).device.type == (x + 1).device.type == "cpu"
        assert opwright.from_numpy(np.ones(2)).device.type == opwright.FloatTensor(2).device.type == "cpu"
        assert opwright.ones(2, requires_grad=True).requires_grad


def test_blocks_nest_and_the_inner_one_counts() -> None:
    meta = opwright.device("meta")
    with meta:
        with opwright.device("cpu"):
            assert opwright.get_default_device().type == opwright.ones(1).device.type == "cpu"
        with meta, opwright.device("meta"):
            pass
        assert opwright.get_default_device() == opwright.ones(1).device == meta
    assert opwright.get_default_device().type == opwright.ones(1).device.type == "cpu"


def test_a_block_ends_with_an_error() -> None:
    with pytest.raises(ValueError, match="mine"), opwright.device("meta"):
        raise ValueError("mine")
    assert opwright.ones(1).device.type == "cpu"


def test_set_default_device_lasts_and_blocks_within_it_count() -> None:
    opwright.set_default_device("meta")
    assert opwright.get_default_device() == opwright.tensor([1.0]).device == opwright.device("meta")
    with opwright.device("cpu"):
        assert opwright.ones(1).device.type == "cpu"
    assert opwright.ones(1).device.type == "meta"
    opwright.set_default_device("cpu")
    assert opwright.ones(1).device.type == "cpu"
    opwright.set_default_device(None)
    assert opwright.get_default_device() == opwright.device("cpu")


def test_a_device_belongs_to_its_thread() -> None:
    found: list[Any] = []

    def ask() -> None:
        found.append(opwright.ones(1).device.type)
        with opwright.device("meta"):
            found.append(opwright.ones(1).device.type)

    with opwright.device("meta"):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        assert opwright.ones(1).device.type == "meta"
    assert found == ["cpu", "meta"]


def test_fake_tensors_claim_to_be_there() -> None:
    with opwright.fake.FakeTensorMode(), opwright.device("cuda"):
        assert {str(each.device) for each in (opwright.ones(2), opwright.tensor([1.0]))} == {"cuda"}


@pytest.mark.parametrize("call", [opwright.func.grad, opwright.vmap, opwright.func.functionalize])
def test_transforms_see_it(call: Callable[[Any], Any]) -> None:
    def function(x: Any) -> Any:
        assert opwright.ones(2, device=None).device.type == "meta"
        return (x * x).sum()

    with opwright.device("meta"):
        call(function)(opwright.ones(2, 3) if call is opwright.vmap else opwright.ones(3))


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Expected one of"):
        opwright.set_default_device("nowhere")


@pytest.mark.parametrize("name", [name for name in NAMES if "." not in name])
def test_modes_are_asked_about_the_function_that_was_called(name: str) -> None:
    with Seen() as seen:
        made_by(name)
    assert seen.calls == [(getattr(opwright, name), {})]


def test_modes_see_what_was_given() -> None:
    with Seen() as seen:
        opwright.tensor([1.0], dtype=opwright.float64, requires_grad=True)
        opwright.asarray([1.0], copy=True, requires_grad=False)
    assert seen.calls == [
        (opwright.tensor, {"dtype": opwright.float64, "requires_grad": True}),
        (opwright.asarray, {"copy": True, "requires_grad": False}),
    ]


def test_a_mode_may_say_something_else() -> None:
    class Twice(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {})) * 2

    with Twice():
        assert opwright.tensor([1.0, 2.0]).tolist() == [2.0, 4.0]
