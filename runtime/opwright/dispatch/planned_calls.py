"""Calls of planned kernels in Python alone, where every tensor is simple: what the compiled core does for all of them.

A function is written for each way to make a key, and shared by the operators that have it. It leaves to the general
function what it has not met, operands that are cast, and answers that are not as planned. One that writes in place
does so where every other tensor has memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import MethodDescriptorType
from typing import Any, Final

import numpy as np

from opwright.core import fast
from opwright.plans.forms import Forms
from opwright.plans.known import KnownForms, KnownViews
from opwright.plans.plan import Plan
from opwright.tensors.results import known_result
from opwright.tensors.tensor import Tensor

__all__ = ["planned_calls"]

Function = Callable[..., Any]
# What the key has of an argument `x`, by its letter (`KnownForms`): simple arrays lie as their shape says.
_PARTS: Final = {
    "T": "{0}_.shape, {0}_.dtype",
    "I": "None if {0} is None else tuple({0})",
    "F": "None if {0} is None else tuple({0})",
    "N": "type({0}), {0}",
    "V": "{0}",
    ".": "",
}
_SOURCE: Final = """
def make(kernel, find, learn):
    def planned({given}):
        {arrays} = {taken}
        key = {key}
        form = find(key)
        if form is None:
            return learn(key, ({given},))
        numbers = form.numbers
        answer = kernel({passed})
        if type(answer) is not ndarray:
            answer = asarray(answer)
        if answer.dtype is form.dtype and answer.base is None and {is_new}:
            made = Tensor()
            made.array = answer
            made.keys = form.keys
            made.edge = None
            made.extra = None
            return made
        return known_result(form, answer, {arrays})
    return planned
"""
_WRITING: Final = """
def make(kernel, find, learn):
    def planned({given}):
        {arrays} = {taken}
        key = {key}
        form = find(key)
        if form is None{may_share}:
            return learn(key, ({given},))
        answer = kernel({passed}, out={target}_)
        if answer is not {target}_:
            Plan(form).store(answer, {target}_)
        return {target}
    return planned
"""
_NAMES: Final = {
    "Plan": Plan, "Tensor": Tensor, "asarray": np.asarray, "known_result": known_result, "ndarray": np.ndarray, "np": np
}  # fmt: skip


def planned_calls(general: Function, forms: KnownForms | KnownViews) -> Function | None:
    """Return what serves calls of a general kernel with simple tensors; None where that is the kernel itself: one of
    several results, or of a user's kernel, whose every answer and error it looks at."""
    if fast is not None or not isinstance(forms, KnownForms) or not _is_ours(forms.kernel):
        return None
    is_one = general.__annotations__.get("return") == "Tensor"
    if not is_one or "T" not in forms.kinds or not _PARTS.keys() >= set(forms.kinds):
        return None
    if forms.writes >= 0:
        return _planned_writes(general, forms)
    straight, others = Forms(), Forms()
    passed = [place for place, kind in enumerate(forms.kinds) if kind == "."]

    def learn(key: Any, args: tuple[Any, ...]) -> Any:
        result = general(*args)
        if key not in others:
            form: Any = forms.get(forms.key_of(args))
            is_straight = form is not None and _are_floats(args, passed) and _is_straight(form)
            (straight if is_straight and result.array.strides == form.steps else others).keep(key, form)
        return result

    made: Function = _maker(forms.kinds, forms.places, forms.operands)(forms.kernel, straight.get, learn)
    return made


def _planned_writes(general: Function, forms: KnownForms) -> Function:
    """Return what serves calls of a kernel that writes in place."""
    known = Forms()

    def learn(key: Any, args: tuple[Any, ...]) -> Any:
        result = general(*args)
        form, target = forms.straight.get(forms.key_of(args)), args[forms.writes].array
        if form is not None and not form.casts and target.shape == form.shape and target.dtype is form.dtype:
            known.keep(key, form)
        return result

    made: Function = _maker(forms.kinds, forms.places, forms.operands, forms.writes)(forms.kernel, known.get, learn)
    return made


def _are_floats(args: tuple[Any, ...], places: list[int]) -> bool:
    """Whether arguments that are not in the key are numbers: how an answer lies may depend on flags."""
    return all(type(args[place]) is float for place in places)


def _is_straight(form: Any) -> bool:
    """Whether the operands are passed as they are, but for numbers, and the result is row-major."""
    return (not form.odd or not form.shape) and (not form.casts or form.numbers is not None)


def _is_ours(kernel: Any) -> bool:
    """Whether a kernel answers in one shape wherever the key is the same, and its errors say what is wrong."""
    module = (getattr(kernel, "__module__", None) or "").partition(".")[0]
    return isinstance(kernel, np.ufunc | MethodDescriptorType) or module in ("numpy", "opwright_kernels")


@lru_cache(maxsize=512)
def _maker(kinds: str, places: tuple[int, ...], operands: tuple[int, ...], writes: int = -1) -> Function:
    """Return what makes the functions of a kind of key, which write in place to the tensor at a place, if at any."""
    names = [f"x{place}" for place in range(len(kinds))]
    arrays = [f"{name}_" for name, kind in zip(names, kinds, strict=True) if kind == "T"]
    parts = [_PARTS[kind].format(name) for name, kind in zip(names, kinds, strict=True) if kind != "."]
    values = [f"{name}_" if kind == "T" else name for name, kind in zip(names, kinds, strict=True)]
    for place in operands[1:]:
        if kinds[place] == "N" and writes < 0:
            number = f"numbers[{operands.index(place) - 1}]"
            values[place] = f"{names[place]} if numbers is None else {number}"
    target = names[writes]
    owned = arrays if len(arrays) > 1 else []
    source = (_SOURCE if writes < 0 else _WRITING).format(
        target=target,
        may_share="".join(
            f" or {array}.base is not None" + f" or {array} is {target}_" * (array != f"{target}_") for array in owned
        ),
        given=", ".join(names),
        arrays=", ".join(arrays),
        taken=", ".join(f"{array}.array".replace("_", "") for array in arrays),
        key=", ".join(parts),
        passed=", ".join("np" if place < 0 else values[place] for place in places),
        is_new=" and ".join(f"answer is not {array}" for array in arrays),
    )
    found: dict[str, Function] = {}
    exec(source, dict(_NAMES), found)
    return found["make"]
