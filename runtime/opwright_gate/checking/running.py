"""`opcheck`: the tests of one operator with the arguments of one call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from opwright.batching.tables import REGISTERED
from opwright.errors import OpCheckError
from opwright.library.custom_ops import CustomOpDef
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.dispatch.call.packets import Packet, find_packet
from opwright_gate.checking.calls import Call
from opwright_gate.checking.dynamic import check_dynamic
from opwright_gate.checking.fakes import check_fake
from opwright_gate.checking.registration import check_registration
from opwright_gate.checking.schema import check_schema
from opwright_gate.checking.vmap import check_vmap

__all__ = ["opcheck", "operator_of", "run_test", "tests_of"]

_DEFAULT: Final = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
_PLAIN: Final[dict[str, Callable[[Call], None]]] = {
    "test_schema": check_schema,
    "test_autograd_registration": check_registration,
    "test_faketensor": check_fake,
}
_TOLERANT: Final[dict[str, Callable[..., None]]] = {
    "test_aot_dispatch_dynamic": check_dynamic,
    "test_aot_dispatch_static": functools.partial(check_dynamic, is_dynamic=False),
    "test_vmap": check_vmap,
}
_ALL: Final = (*_PLAIN, *_TOLERANT)


def opcheck(
    op: Operator | Packet | CustomOpDef[..., Any] | str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] | None = None,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, str | Exception]:
    """Test that an operator does what it is declared and registered to do, with these arguments; "SUCCESS" for each
    test, or its exception unless `raise_exception`.

    `op` is an operator, a packet of one overload, a custom operator, or the name of any. The tests, and the names that
    `test_utils` takes (one, several, "ALL"): `test_schema` (writes and shared memory are those declared, and those
    declared happen), `test_autograd_registration` (gradients come from a formula at an Autograd key, and fit),
    `test_faketensor` (results without data look like the real ones), `test_aot_dispatch_dynamic` (so do gradients;
    layouts do not matter), and `test_vmap` where there is a rule. NaN equals NaN; `atol` and `rtol` are those of
    `assert_close`. Arguments are copied, never written. Those that require grad test gradients.

    Raises OpCheckError for the first test that fails, ValueError for what is no operator or test, RuntimeError for a
    packet of several overloads. Semantics: `torch.library.opcheck`.
    """
    if (rtol is None) != (atol is None):
        raise ValueError("opcheck: rtol and atol must both be given, or neither")
    operator = operator_of(op)
    results: dict[str, str | Exception] = {}
    for test in tests_of(operator, test_utils):
        try:
            run_test(operator, test, args, kwargs, atol=atol, rtol=rtol)
            results[test] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck({operator.name}): {test} failed: {error}") from error
            results[test] = error
    return results


def run_test(
    operator: Operator,
    test: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    atol: float | None = None,
    rtol: float | None = None,
) -> None:
    """Run one test, which raises what is wrong. Arguments without data have nothing to be compared: they pass."""
    call = Call.of(operator, args, kwargs or {})
    if call.is_without_data:
        return
    if test in _PLAIN:
        _PLAIN[test](call)
    else:
        _TOLERANT[test](call, atol=atol, rtol=rtol)


def operator_of(op: object) -> Operator:
    """Return the one operator that is meant. Raises ValueError for what is none, RuntimeError for several."""
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, str):
        base, _, overload = op.partition("::")[2].partition(".")
        op = find_operator(op.removesuffix(".default")) if overload else find_packet(op) if base else op
    if isinstance(op, Packet):
        if len(op.operators) != 1:
            raise RuntimeError(
                f"opcheck tests one operator, and {op.name} has the overloads {', '.join(op.overloads())}: give it one "
                f"of them, opwright.ops.{op}.{op.overloads()[0]}"
            )
        return next(iter(op.operators.values()))
    if not isinstance(op, Operator):
        raise ValueError(
            "opcheck expects an operator (opwright.ops.aten.sin.default), a packet of one overload, a custom operator, "
            f"or a name (aten::sin), got {type(op).__name__} {op!r:.80}"
        )
    return op


def tests_of(operator: Operator, test_utils: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the tests that are asked for; None stands for the usual ones. Raises ValueError."""
    if test_utils is None:
        return _DEFAULT if REGISTERED.find(operator.name) is None else (*_DEFAULT, "test_vmap")
    if test_utils == "ALL":
        return _ALL
    asked = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    unknown = [test for test in asked if test not in _ALL]
    if unknown:
        raise ValueError(f"opcheck: test_utils={unknown[0]!r} is no test; there are {', '.join(_ALL)}")
    return asked
