"""Tensor subclasses and dispatch modes on generated operators."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from handlers import Log, Wrapper

import opwright
from opwright import Tensor
from opwright.fake import FakeTensorMode


class Derived(Wrapper):
    """Asked before its base."""

    __slots__ = ()
    calls: ClassVar[list[str]] = []


def test_subclasses_come_before_their_bases() -> None:
    asked: list[type] = []

    class Base(Wrapper):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            asked.append(cls)
            assert types == (Below, Base)
            return NotImplemented

    class Below(Base):
        pass

    first, second = Base(opwright.ones(1)), Below(opwright.ones(1))
    with pytest.raises(TypeError, match=r"returned NotImplemented: Tensor subclass .*Below, Tensor subclass .*Base"):
        first + second
    assert asked == [Below, Base]


def test_in_place_operators_return_the_argument() -> None:
    x = Wrapper(opwright.tensor([1.0, 2.0]))
    assert x.add_(1) is x
    assert x.elem.tolist() == [2.0, 3.0]
    out = Wrapper(opwright.empty(2))
    assert opwright.add(x, x, out=out) is out
    assert out.elem.tolist() == [4.0, 6.0]
    x.unsqueeze_(0)
    assert x.shape == x.elem.shape == (1, 2)


def test_views_share_their_bases_storage() -> None:
    x = Wrapper(opwright.zeros(2, 3))
    view = x.t()
    assert view._base is x and view._version == x._version
    view.add_(1)
    assert x.elem.tolist() == [[1.0] * 3] * 2


def test_reading_an_element_is_dispatched() -> None:
    assert Wrapper(opwright.tensor([3.0])).item() == 3.0
    with Log() as mode:
        opwright.tensor(2.0).item()
    assert mode.log[-1][1] == "aten._local_scalar_dense.default"


def test_below_autograd_and_the_default_handler() -> None:
    class Own(Tensor):
        """Has data; looks at calls and leaves them to the class it derives from."""

        seen: ClassVar[list[str]] = []

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            cls.seen.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs)

    base = opwright.tensor([1.0, 2.0])
    x = Tensor._make_subclass(Own, base)
    assert type(x + 1) is Tensor and Own.seen == ["aten.add.Scalar"]
    assert x.add_(1) is x and base.tolist() == [2.0, 3.0]
    assert repr(x) == "Own([2., 3.])"
    assert type(x.t()) is Tensor and not x.t().keys & opwright.dispatch.KeySet("Python").bits


def test_results_of_a_subclass_without_a_handler_are_of_it() -> None:
    class Named(Tensor):
        name = "a"

    x = opwright.ones(2).as_subclass(Named)
    assert type(x) is Named and type(x + x) is Named and x.add_(1) is x
    with pytest.raises(TypeError, match="Named must define __torch_dispatch__"):
        Tensor._make_wrapper_subclass(Named, (2,))
    with pytest.raises(TypeError, match="Named is made from a Tensor, got list"):
        Tensor._make_subclass(Named, [1.0])  # type: ignore[arg-type]


def test_as_subclass_keeps_the_place_in_the_graph() -> None:
    class Named(Tensor):
        pass

    x = opwright.ones(2).requires_grad_()
    y = x.as_subclass(Named)
    assert y.requires_grad and y.is_leaf and Tensor._make_subclass(Named, x).requires_grad is False
    assert Tensor._make_subclass(Named, x, True).requires_grad


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_instances_with_their_attributes(again: Callable[[Any], Any]) -> None:
    x = Derived(opwright.tensor([1.0, 2.0])).requires_grad_()
    y = again(x)
    assert type(y) is Derived and y.elem.tolist() == [1.0, 2.0] and y.requires_grad and y is not x
    assert type(y + y) is Derived


def test_fake_tensors_and_modes() -> None:
    with Log() as mode, FakeTensorMode():
        x = opwright.empty(2, 3)
        y = x @ x.t()
    assert y.shape == (2, 2) and opwright.fake.is_fake(y)
    assert [name for _, name, *_ in mode.log] == ["aten.empty.memory_format", "aten.t.default", "aten.mm.default"]
    with FakeTensorMode(), Log() as mode:
        assert opwright.fake.is_fake(opwright.ones(2) + 1)
    assert len(mode.log) == 2
    assert type(Wrapper(y) + 1) is Wrapper


def test_a_mode_without_tensors_sees_factories() -> None:
    with Log() as mode:
        opwright.zeros(2, dtype=opwright.int64)
    assert mode.log == [("", "aten.zeros.default", 1, {"dtype": opwright.int64})]
