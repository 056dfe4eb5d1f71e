"""Dispatch modes and Tensor subclasses, on operators defined by hand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from handlers import Log, Wrapper

import opwright
from opwright import Tensor
from opwright.library import Library
from opwright.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode,
    _get_current_dispatch_mode_stack,
)
from opwright_core.dispatch.call.operator import Operator

Maker = Callable[[str], Operator]
ONE = opwright.tensor([1.0])  # made outside of modes, which would see it


class Declines(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


@pytest.fixture
def double(define: Any) -> Iterator[Operator]:
    operator = define("double(Tensor x, int n=1, *, float scale=1.0) -> Tensor")
    library = Library(define.namespace, "IMPL", "CPU")
    library.impl("double", lambda x, n=1, *, scale=1.0: opwright.from_numpy(x.numpy() * 2 * n * scale))
    yield operator
    library.destroy()


def test_a_mode_sees_what_is_called_in_its_block_alone(double: Operator) -> None:
    x = opwright.tensor([1.0])
    with Log() as mode:
        assert double(x).item() == 2
        assert double(x, 1, scale=2.0).item() == 4
        assert double(x, n=3).item() == 6
    double(x)
    name = str(double)
    calls = [(n, *rest) for n, *rest in mode.log if not rest[0].startswith("aten._local")]
    assert calls == [("", name, 1, {}), ("", name, 1, {"scale": 2.0}), ("", name, 2, {})]


def test_a_mode_sees_what_is_made_of_data_and_may_exchange_it() -> None:
    class Negates(Log):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return super().__torch_dispatch__(func, types, args, kwargs).neg()

    with Log() as mode:
        made = opwright.tensor([1.0, 2.0])
        opwright.ones(2).new_tensor(3)
        opwright.as_tensor([1])
    assert [name for _, name, *_ in mode.log] == [
        "aten.lift_fresh.default", "aten.ones.default", "aten.lift_fresh.default", "aten.lift_fresh.default",
    ]  # fmt: skip
    assert made._base is None and made.is_leaf and made.requires_grad_().requires_grad
    with Negates():
        assert opwright.tensor([1.0, 2.0]).numpy().tolist() == [-1.0, -2.0]


def test_modes_nest_and_are_off_in_their_own_handler(double: Operator) -> None:
    log: list[Any] = []
    outer, inner = Log("outer", log), Log("inner", log)
    with outer, inner:
        assert _get_current_dispatch_mode_stack() == [outer, inner]
        double(ONE)
        assert _get_current_dispatch_mode() is inner
    assert [name for name, *_ in log] == ["inner", "outer"]
    assert _get_current_dispatch_mode() is None


def test_a_mode_may_be_entered_within_itself(double: Operator) -> None:
    mode = Log()
    with mode, mode:
        double(ONE)
    assert len(mode.log) == 2


def test_within_a_handler_the_mode_may_be_entered_again(double: Operator) -> None:
    class Twice(Log):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.log.append(str(func))
            if len(self.log) > 1:
                return func(*args, **kwargs)
            with self:
                return func(*args, **kwargs)

    with Twice() as mode:
        double(ONE)
    assert mode.log == [str(double)] * 2


def test_an_exception_leaves_everything_as_it_was(double: Operator) -> None:
    class Fails(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise KeyError("from the handler")

    x = opwright.tensor([1.0])
    outer = Log()
    with pytest.raises(KeyError, match="from the handler"), outer, Fails():
        double(x)
    assert _get_current_dispatch_mode() is None and opwright.dispatch.keys(x) == opwright.dispatch.KeySet(x.keys)
    with outer:
        with pytest.raises(KeyError), Fails():
            double(x)
        double(x)
    assert len(outer.log) == 1


def test_left_in_another_order() -> None:
    first, second = Log(), Log()
    first.__enter__()
    second.__enter__()
    with pytest.raises(RuntimeError, match="is not the innermost block"):
        first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    first.__exit__(None, None, None)


def test_disabling_modes(double: Operator) -> None:
    with Log() as mode:
        with _disable_current_modes() as were:
            double(ONE)
            assert were == [mode] and _get_current_dispatch_mode_stack() == []
        assert mode.log == []
        double(ONE)
    assert len(mode.log) == 1


def test_a_mode_is_its_threads(double: Operator) -> None:
    with Log() as mode:
        thread = threading.Thread(target=lambda: double(ONE))
        thread.start()
        thread.join()
    assert mode.log == []


def test_nobody_handles_it(double: Operator) -> None:
    with pytest.raises(TypeError, match=rf"Multiple dispatch failed for {double.name}: .*mode <.*Declines"), Declines():
        double(ONE)


def test_a_mode_without_a_handler(double: Operator) -> None:
    message = "TorchDispatchMode must define __torch_dispatch__"
    with pytest.raises(NotImplementedError, match=message), TorchDispatchMode():
        double(ONE)


def test_what_a_handler_returns_is_checked(double: Operator) -> None:
    class Wrong(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "text"

    with pytest.raises(RuntimeError, match="must return Tensor, but returned str 'text'"), Wrong():
        double(ONE)


def test_plain_arrays_reach_modes_as_tensors(double: Operator) -> None:
    array = opwright.tensor([1.0]).numpy()
    with Log() as mode:
        assert type(double(array)) is type(array)
    assert len(mode.log) == 1


def test_a_wrapper_looks_like_its_tensor(double: Operator) -> None:
    x = Wrapper(opwright.tensor([[1.0, 2.0]]))
    assert isinstance(x, Tensor) and (x.shape, x.dtype, str(x.device)) == ((1, 2), opwright.float32, "cpu")
    result = double(x, 2)
    assert type(result) is Wrapper and result.elem.tolist() == [[4.0, 8.0]]
    assert double.base in Wrapper.calls[-1]
    assert repr(x) == "Wrapper(..., size=(1, 2))"
    with pytest.raises(opwright.DataDependentOutputError):
        x.numpy()


def test_a_mode_is_asked_before_subclasses_and_may_decline(double: Operator) -> None:
    x = Wrapper(opwright.tensor([1.0]))
    seen: list[Any] = []

    class Sees(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(types)
            return NotImplemented if types else func(*args, **kwargs)

    with Sees():
        assert type(double(x)) is Wrapper
    assert seen == [(Wrapper,), ()]


def test_the_key_without_anyone_to_ask(double: Operator) -> None:
    with opwright.dispatch.include_keys("Python"):
        assert double(ONE).tolist() == [2.0]


def test_nothing_is_loaded_for_who_uses_none() -> None:
    import subprocess
    import sys

    code = "import sys, opwright; opwright.ones(2) + 1; print([m for m in sys.modules if 'python_dispatch' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_rule_stands_in_for_the_handler_of_exactly_its_class(double: Operator) -> None:
    class Below(Log):
        pass

    library = Library(double.namespace, "FRAGMENT")
    x = opwright.tensor([1.0])

    @opwright.library.register_torch_dispatch(double.name, Log, lib=library)
    def rule(mode: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        assert isinstance(mode, Log) and func is double and types == ()
        return func(*args, **kwargs) + 100

    assert double(x).tolist() == [2.0]
    with Log() as mode:
        assert double(x).tolist() == [102.0]
    assert mode.log == []
    with Below():
        assert double(x).tolist() == [2.0]
    with pytest.raises(opwright.RegistrationError, match="Log already has a __torch_dispatch__ rule for"):
        opwright.library.register_torch_dispatch(double, Log, lambda *args: None)
    library.destroy()
    with Log():
        assert double(x).tolist() == [2.0]


def test_a_rule_for_a_subclass(double: Operator) -> None:
    library = Library(double.namespace, "FRAGMENT")
    x = Wrapper(opwright.tensor([1.0]))
    opwright.library.register_torch_dispatch(double, Wrapper, lambda cls, func, types, args, kwargs: cls, lib=library)
    with pytest.raises(RuntimeError, match=r"must return Tensor, but returned type <class .*Wrapper"):
        double(x)
    del library
    assert type(double(x)) is Wrapper


def test_rules_it_refuses(double: Operator) -> None:
    register = opwright.library.register_torch_dispatch
    with pytest.raises(TypeError, match="for a TorchDispatchMode or a Tensor subclass with __torch_dispatch__, not "):
        register(double, Tensor, print)
    with pytest.raises(TypeError, match="a rule must be callable, got int 3"):
        register(double, Log, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is no qualified name of an operator"):
        register("double", Log, print)
    library = Library(double.namespace, "FRAGMENT")
    library.destroy()
    with pytest.raises(opwright.RegistrationError, match="was destroyed"):
        register(double, Log, print, lib=library)
    with Log() as mode:
        double(ONE)
    assert len(mode.log) == 1
