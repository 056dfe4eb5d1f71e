"""`_check` and its like, beside PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest

import opwright

pytest.importorskip("torch")
from both import check, message, outcome
from known_versions import oracle_version

pytestmark = pytest.mark.oracle
CHECKS = ["_check", "_check_index", "_check_value", "_check_type", "_check_not_implemented"]


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("condition", [True, False, 1, None, 2.0, "yes"])
def test_conditions(name: str, condition: Any) -> None:
    check(lambda lib: getattr(lib, name)(condition))
    check(lambda lib: getattr(lib, name)(condition, lambda: 5))
    if (oracle_version() or (0, 0)) >= (2, 15):
        check(lambda lib: getattr(lib, name)(condition, "a text"))


@pytest.mark.parametrize("name", CHECKS)
def test_the_message_is_what_the_callable_returns(name: str) -> None:
    assert message(lambda lib: getattr(lib, name)(False, lambda: ["what", 1])) == "['what', 1]"


@pytest.mark.parametrize("name", CHECKS)
def test_the_message_may_be_a_text(name: str) -> None:
    with pytest.raises((RuntimeError, LookupError, ValueError, TypeError), match="a text"):
        getattr(opwright, name)(False, "a text")
    getattr(opwright, name)(True, "a text")


def test_a_message_is_not_made_where_nothing_is_wrong() -> None:
    check(lambda lib: lib._check(True, lambda: 1 / 0))
    check(lambda lib: lib._check(False, lambda: 1 / 0))


def test_tensors_are_conditions_of_their_own_function() -> None:
    check(lambda lib: lib._check(lib.tensor(True)))
    check(lambda lib: lib._check_tensor_all(lib.tensor([True, True])))
    check(lambda lib: lib._check_tensor_all(lib.tensor([True, False]), lambda: "no"))
    check(lambda lib: lib._check_tensor_all(lib.ones(2)))
    check(lambda lib: lib._check_tensor_all(True))
    check(lambda lib: lib._check_tensor_all_with(KeyError, lib.tensor([False])))


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("size, most", [(0, None), (3, None), (-1, None), (3, 2), (3, 3)])
def test_sizes(size: int, most: int | None) -> None:
    check(lambda lib: lib._check_is_size(size))
    check(lambda lib: lib._check_is_size(size, max=most))


def test_assert() -> None:
    check(lambda lib: lib._assert(True, "fine"))
    check(lambda lib: lib._assert(lib.tensor(1), "fine"))
    assert outcome(lambda lib: lib._assert(lib.tensor(0), "wrong"), opwright) == ("raises", "AssertionError")
    check(lambda lib: lib._assert(False, "wrong"))


def symbolic(lib: Any) -> tuple[Any, Any]:
    if lib is opwright:
        return lib.symbolic.ShapeEnv(), lib.fake.FakeTensorMode
    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    return ShapeEnv(), FakeTensorMode


@pytest.mark.parametrize("name", CHECKS)
def test_unbacked_conditions_are_known_from_there_on(name: str) -> None:
    def programme(lib: Any) -> Any:
        env, mode = symbolic(lib)
        with mode(shape_env=env):
            n = lib.tensor([4]).clone().sum().item()
            getattr(lib, name)(n >= 2, lambda: "small")
            getattr(lib, name)(n < 10)
            return [bool(n > 1), bool(n < 20), bool(n != 0)]

    check(programme)


@pytest.mark.parametrize("name", CHECKS)
def test_what_is_known_to_be_wrong_raises_at_once(name: str) -> None:
    def programme(lib: Any) -> Any:
        env, mode = symbolic(lib)
        with mode(shape_env=env):
            n = lib.tensor([4]).clone().sum().item()
            lib._check(n >= 2)
            getattr(lib, name)(n < 1)

    assert check(programme)[0] == "raises"


def test_sizes_of_inputs_are_guarded() -> None:
    env = opwright.symbolic.ShapeEnv()
    x = opwright.fake.FakeTensorMode(shape_env=env).from_tensor(opwright.ones(5))
    opwright._check(x.shape[0] > 3)
    assert any("3" in str(guard) for guard in env.guards)
    with pytest.raises(IndexError, match="no"):
        opwright._check_index(x.shape[0] > 7, lambda: "no")
