"""no_grad, enable_grad, set_grad_enabled, inference_mode against PyTorch."""

from __future__ import annotations

import threading
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from both import check, message  # noqa: E402
from wrappers import recorded  # noqa: E402, F401

import opwright  # noqa: E402
from opwright_core.state import active_modes  # noqa: E402

pytestmark = pytest.mark.oracle


def test_what_requires_grad_in_which_mode() -> None:
    def programme(t: Any) -> Any:
        x = t.ones(2).requires_grad_()
        seen = [(x * 2.0).requires_grad, t.is_grad_enabled()]
        with t.no_grad():
            seen += [(x * 2.0).requires_grad, t.is_grad_enabled(), x.requires_grad]
            with t.enable_grad():
                seen += [(x * 2.0).requires_grad, t.is_grad_enabled()]
                with t.set_grad_enabled(False):
                    seen += [(x * 2.0).requires_grad]
            seen += [(x * 2.0).requires_grad]
        seen += [(x * 2.0).requires_grad]
        return seen

    check(programme)


def test_set_grad_enabled_acts_at_once() -> None:
    def programme(t: Any) -> Any:
        seen = []
        t.set_grad_enabled(False)
        seen.append(t.is_grad_enabled())
        t.set_grad_enabled(True)
        seen.append(t.is_grad_enabled())
        with t.set_grad_enabled(False):
            seen.append(t.is_grad_enabled())
        seen.append(t.is_grad_enabled())

        @t.set_grad_enabled(False)
        def inner() -> bool:
            return t.is_grad_enabled()  # type: ignore[no-any-return]

        return [*seen, inner(), t.is_grad_enabled(), inner()]

    check(programme)


def test_decorators() -> None:
    def programme(t: Any) -> Any:
        @t.no_grad()
        def called(depth: int) -> list[bool]:
            return [t.is_grad_enabled(), *(called(depth - 1) if depth else [])]

        @t.no_grad
        def bare() -> Any:
            return t.is_grad_enabled()

        @t.inference_mode()
        def inferring() -> Any:
            return t.is_inference_mode_enabled(), t.ones(1).is_inference()

        @t.no_grad()
        def values() -> Any:
            try:
                got = yield t.is_grad_enabled()
                yield t.is_grad_enabled(), got
            except ValueError:
                yield "caught", t.is_grad_enabled()
            return 5

        generator = values()
        seen = [next(generator), t.is_grad_enabled(), generator.send(7), t.is_grad_enabled()]
        seen += [generator.throw(ValueError()), t.is_grad_enabled()]
        try:
            next(generator)
        except StopIteration as stop:
            seen.append(stop.value)
        return called(2), bare(), inferring(), seen, called.__name__, t.is_grad_enabled()

    check(programme)


def test_modes_end_with_an_exception_and_nest_in_themselves() -> None:
    def programme(t: Any) -> Any:
        seen = []
        mode = t.no_grad()
        try:
            with mode:
                seen.append(t.is_grad_enabled())
                raise ValueError
        except ValueError:
            seen.append(t.is_grad_enabled())
        return seen

    check(programme)
    assert active_modes() is None
    switch = opwright.no_grad()
    with switch, switch:
        assert not opwright.is_grad_enabled()
    assert opwright.is_grad_enabled()
    assert active_modes() is None


def test_a_mode_is_the_threads_own() -> None:
    seen = []
    with opwright.no_grad():
        thread = threading.Thread(target=lambda: seen.append(opwright.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_inference_tensors() -> None:
    def programme(t: Any) -> Any:
        x = t.ones(2).requires_grad_()
        normal = t.ones(2)
        with t.inference_mode():
            made, computed, view = t.ones(2), x * 2.0, normal.view(2)
            seen = [made.is_inference(), computed.is_inference(), computed.requires_grad, view.is_inference()]
            seen += [t.tensor([1.0]).is_inference(), made.view(2).is_inference(), x.is_inference()]
            made.add_(t.ones(2))
            normal.add_(t.ones(2))
            with t.inference_mode(False):
                seen += [t.ones(1).is_inference(), t.is_grad_enabled(), t.is_inference_mode_enabled()]
            seen += [t.is_inference_mode_enabled(), t.is_grad_enabled()]
        seen += [(made + t.ones(2)).is_inference(), made.view(2).is_inference(), (x + made).requires_grad]
        return seen, made, normal

    check(programme)


def inferred(t: Any) -> Any:
    with t.inference_mode():
        return t.ones(2)


def test_errors_of_inference_tensors() -> None:
    assert "Inplace update" in message(lambda t: inferred(t).mul_(t.ones(2)))
    assert "saved for backward" in message(lambda t: inferred(t) * t.ones(2).requires_grad_())
    assert "version counter" in message(lambda t: inferred(t)._version)
    assert "requires_grad" in message(lambda t: inferred(t).requires_grad_())
    check(lambda t: inferred(t).clone().requires_grad_().requires_grad)


def test_a_view_made_in_inference_mode_is_not_written_outside() -> None:
    def programme(t: Any) -> Any:
        x = t.ones(2, 2).requires_grad_() * 1.0
        with t.inference_mode():
            view = x.select(0, 0)
        view.mul_(t.ones(2))

    assert "inference mode" in message(programme)
