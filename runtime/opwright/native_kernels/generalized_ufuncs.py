"""Generalized ufuncs of NumPy: operators on core dimensions, whose rule is `gufunc`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from opwright_core.core import fast
from opwright_core.names.late_imports import import_late
from opwright_core.native_kernels.libraries import NativeKernel
from opwright_core.plans.plan import Plan

__all__ = ["generalized_ufunc", "takes_batches"]

Operator = Any
_LETTERS: Final = "?bBhHiIlLqQefdFD"  # of the dtypes that loops are made for, in the order in which NumPy tries them


def generalized_ufunc(operator: Operator, package: str, module: str) -> np.ufunc | str:
    """Return NumPy's ufunc of an operator whose results are as `gufunc` says, or why there is none.

    An inner loop of it is one call of the operator; numbers have their defaults.
    """
    meta = _meta_of(operator, package, module)
    text = "" if meta is None else _signature_of(meta)
    if meta is None or not text:
        return "it is neither an expression with loops in C nor one whose `meta` is `gufunc`"
    if fast is None:
        return "the compiled core makes it, which does not run"
    inputs, _, output = text.partition("->")
    named = {each.strip(" ()?") for each in inputs.split(",")}
    if "|" in text or not all(each.strip(" ()?") in named or each.strip(" ()") == "" for each in output.split(",")):
        return f"NumPy's signatures have no {text!r}: sizes of the result are those of operands, which do not broadcast"
    if _has_required_numbers(operator):
        return "it computes with a number that has no default"
    core = [_sizes(each) for each in inputs.strip().strip("()").replace(" ", "").split("),(")]
    types = dict(_types(operator, meta, core, package))
    if not types:
        return "it takes no dtype that NumPy has"
    batches = _plan(meta, [(2, *sizes) for sizes in core], next(iter(types)))
    call = _one_by_one if batches is None else _whole
    made: np.ufunc = fast.gufunc(
        operator.base, operator.doc, text, len(core), b"".join(types.values()), lambda *arrays: call(operator, *arrays)
    )
    return made


def takes_batches(operator: Operator) -> bool:
    """Return whether the rule of a generated operator is `gufunc` over all its tensors, with dimensions before the
    named ones, none of which may be missing."""
    package, _, module = operator.home.module.rpartition(".ops.") if operator.home is not None else ("", "", "")
    meta = _meta_of(operator, package, module)
    text = "" if meta is None else _signature_of(meta)
    if meta is None or not text or "?" in text:
        return False
    words = [each for each in meta.__code__.co_consts if isinstance(each, tuple)]  # of calls with keywords
    is_whole = text.partition("->")[0].count("(") == len(operator.signature.tensors)
    return is_whole and not any("batched" in each for each in words)


def _meta_of(operator: Operator, package: str, module: str) -> Callable[..., Plan] | None:
    """Return the function of the package that says what results look like, or None."""
    if not package:
        return None
    try:
        metas = vars(import_late(f"{package}.metas.{module}"))
    except ModuleNotFoundError:
        return None
    found: Callable[..., Plan] | None = metas.get(f"{operator.base}_{operator.overload or 'default'}")
    return found or metas.get(operator.base)


def _signature_of(meta: Callable[..., Plan]) -> str:
    """Return the signature that a generated rule calls `gufunc` with, or ""."""
    code = getattr(meta, "__code__", None)
    if code is None or "gufunc" not in code.co_names:
        return ""
    return next((text for text in code.co_consts if isinstance(text, str) and "->" in text), "")


def _has_required_numbers(operator: Operator) -> bool:
    defaults = operator.signature.defaults
    tensors = {each.position for each in operator.signature.tensors}
    required = defaults[min(tensors)]  # what stands for no default
    return any(value is required and position not in tensors for position, value in enumerate(defaults))


def _sizes(names: str) -> tuple[int, ...]:
    """Return core dimensions of an operand, each of one element where it has no size of its own."""
    return tuple(int(each) if each.isdigit() else 1 for each in names.split(",") if each)


def _types(
    operator: Operator, meta: Callable[..., Plan], core: list[tuple[int, ...]], package: str
) -> Iterator[tuple[np.dtype[Any], bytes]]:
    """Yield dtypes of operands with NumPy's numbers of the types of a loop: those of the kernel in C, if it has one."""
    native = vars(import_late(f"{package}.native")).values() if _has_native(package) else ()
    listed = next(
        (each._dtypes for each in native if isinstance(each, NativeKernel) and each._operator == operator.name), None
    )
    for letter in _LETTERS:
        dtype = np.dtype(letter)
        plan = _plan(meta, core, dtype) if listed is None or dtype in listed else None
        if plan is not None and plan.spec.dtype.char in _LETTERS:
            yield dtype, bytes([*[dtype.num] * len(core), plan.spec.dtype.num])


def _has_native(package: str) -> bool:
    try:
        import_late(f"{package}.native")
    except ModuleNotFoundError:
        return False
    return True


def _plan(meta: Callable[..., Plan], shapes: list[tuple[int, ...]], dtype: np.dtype[Any]) -> Plan | None:
    """Return the plan of operands of these shapes; None where the rule refuses them."""
    try:
        return meta(*[np.empty(shape, dtype) for shape in shapes])
    except (RuntimeError, TypeError):
        return None


def _whole(operator: Operator, *arrays: Any) -> None:
    """Compute all elements of an inner loop at once, into the last array."""
    np.copyto(arrays[-1], operator(*arrays[:-1]))


def _one_by_one(operator: Operator, *arrays: Any) -> None:
    for at in range(len(arrays[-1])):
        *given, result = [each[at, ...] for each in arrays]  # also of no dimension
        np.copyto(result, operator(*given))
