"""Results: from what a kernel returned to what an operator returns, or to an error. The tensors among values."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

from numpy import asarray, generic, ndarray

from opwright_core.keys import DENSE_CPU
from opwright_core.plans.kernel_errors import shown, wrong_result
from opwright_core.plans.plan import Plan, cast_array
from opwright_core.plans.plan_cache import CachedSpec
from opwright_core.plans.specs import TensorSpec
from opwright_core.tensors.tensor import Tensor, new_tensor, wrap

__all__ = [
    "new_result", "new_results", "plan_of", "planned_result", "plans_of", "results_of", "wrap_list", "wrap_result",
]  # fmt: skip


def new_result(plan: Plan, returned: Any) -> Tensor:
    """Return a new tensor of what the kernel returned, as the plan says, whose keys need not be found out again.

    Raises RuntimeError for another shape than the plan's.
    """
    array = plan.lay_out(returned)
    if type(array) is not ndarray:
        return wrap(array)
    made = new_tensor()
    made.array = array
    made.keys = DENSE_CPU | plan.spec.nondense
    made.edge = None
    made.extra = None
    return made


def planned_result(
    spec: CachedSpec, returned: Any, first: Any = None, second: Any = None, third: Any = None, *others: Any
) -> Tensor:
    """Return a new CPU tensor of what a kernel returned for these operands, by a cached spec.

    Raises RuntimeError for another shape than the spec's.
    """
    if type(returned) is not ndarray and isinstance(returned, generic):
        returned = asarray(returned)
    if type(returned) is ndarray:
        if returned.dtype is spec.produces is not spec.dtype:
            returned = cast_array(returned, spec.dtype)
        if (
            returned.dtype is spec.dtype
            and (spec.is_laid_out or (returned.shape == spec.shape and spec.lies_as_planned(returned)))
            and ((base := returned.base) is None or _is_apart(base, first, second, third, *others))
            and returned is not first
            and returned is not second
            and returned is not third
            and not (others and _is_one_of(returned, others))
        ):
            made = new_tensor()
            made.array = returned
            made.keys = spec.keys
            made.edge = None
            made.extra = None
            return made
    operands = [each for each in (first, second, third, *others) if each is not None]
    return new_result(Plan(spec, operands), returned)


def _is_apart(owner: Any, *operands: Any) -> bool:
    """Whether the owner of an array's memory is none of the operands, which own theirs."""
    if type(owner) is not ndarray or owner.base is not None:
        return False
    return all(each is None or (each.base is None and each is not owner) for each in operands)


def _is_one_of(returned: Any, operands: Sequence[Any]) -> bool:
    return any(returned is each for each in operands)


def new_results(plans: Sequence[Plan], returned: Any) -> list[Tensor]:
    """Return new tensors as the plans say. Raises ContractError where the result is no list of as many."""
    return [new_result(plan, returned) for plan, returned in zip(plans, results_of(returned, len(plans)), strict=True)]


def results_of(returned: Any, count: int) -> Sequence[Any]:
    """Return a kernel's result that has to be several. Raises ContractError for what is no tuple or list of `count`."""
    if not isinstance(returned, tuple | list):
        raise wrong_result(f"must return {count} results in a tuple, but returned {shown(returned)}")
    if len(returned) != count:
        raise wrong_result(f"must return {count} results, but returned {len(returned)}")
    return returned


def wrap_result(returned: Any) -> Tensor:
    """Return a new tensor on a kernel's array. Raises ContractError for what is none."""
    try:
        return wrap(returned)
    except TypeError:
        pass
    raise wrong_result(f"must return an array, but returned {shown(returned)}")


def wrap_list(returned: Any) -> list[Tensor]:
    """Return new tensors on a kernel's arrays. Raises ContractError for what is no list of arrays."""
    if not isinstance(returned, tuple | list):
        raise wrong_result(f"must return a list of arrays, but returned {shown(returned)}")
    return [wrap_result(item) for item in returned]


def plan_of(found: Any, *operands: Any) -> Plan:
    """Return the plan that a rule given by path returned, with the kernel's operands. Raises ContractError for another
    thing."""
    if isinstance(found, Plan):
        is_as_given = len(found.given) == len(operands) and all(map(is_, found.given, operands))
        return found if is_as_given or not operands else _with_operands(found, operands)
    raise wrong_result(f"must return one Plan, but returned {shown(found)}", "rule")


def _with_operands(plan: Plan, operands: Sequence[Any]) -> Plan:
    """Return the plan of a rule that planned with some of the operands, in any order, or with none: the others go to
    the kernel as they are, and the result is where all of them are."""
    spec = plan.spec
    casts = {id(each): cast for each, cast in zip(plan.given, spec.casts or (False,) * len(plan.given), strict=True)}
    own = tuple([casts.get(id(each), False) for each in operands])
    made = TensorSpec(
        spec.shape, spec.strides, spec.dtype, spec.common, spec.compute, spec.produces, own, dims=spec.dims
    )
    made.converts = spec.converts
    return Plan(made, operands)


def plans_of(found: Any, count: int | None = None, *operands: Any) -> Sequence[Plan]:
    """Return the plans of several results, `count` or any number; the first one with the kernel's operands. Raises
    ContractError for what is none of these."""
    if not isinstance(found, tuple | list) or not all(isinstance(item, Plan) for item in found):
        raise wrong_result(f"must return a Plan for each result, but returned {shown(found)}", "rule")
    if count is not None and len(found) != count:
        raise wrong_result(f"must return {count} plans, one for each result, but returned {len(found)}", "rule")
    return [plan_of(found[0], *operands), *found[1:]] if operands else found
