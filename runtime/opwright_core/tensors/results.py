"""The way from a kernel's answer to what an operator returns, or to an error; the tensors among values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy import asarray, generic, ndarray

from opwright_core.keys import DENSE_CPU
from opwright_core.plans.forms import Form
from opwright_core.plans.kernel_errors import shown, wrong_result
from opwright_core.plans.plan import Plan
from opwright_core.plans.plan_cache import KnownForm
from opwright_core.tensors.tensor import Tensor, wrap

__all__ = ["known_result", "new_result", "new_results", "plan_of", "plans_of", "results_of", "wrap_list", "wrap_result"]


def new_result(plan: Plan, answer: Any) -> Tensor:
    """Return a new tensor of the answer as the plan says, whose keys need not be found out again.

    Raises RuntimeError if the answer has another shape.
    """
    array = plan.lay_out(answer)
    if type(array) is not ndarray:
        return wrap(array)
    made = Tensor()
    made.array = array
    made.keys = DENSE_CPU | plan.form.odd
    made.edge = None
    made.extra = None
    return made


def known_result(
    form: KnownForm, answer: Any, first: Any = None, second: Any = None, third: Any = None, *others: Any
) -> Tensor:
    """Return a new tensor of the answer of a kernel that got these operands as they are, on the CPU.

    Raises RuntimeError if the answer has another shape than the form.
    """
    if type(answer) is not ndarray and isinstance(answer, generic):
        answer = asarray(answer)
    if (
        type(answer) is ndarray
        and answer.dtype is form.dtype
        and answer.shape == form.shape
        and (form.is_laid_out or form.lies_as_planned(answer))
        and answer.base is None
        and answer is not first
        and answer is not second
        and answer is not third
        and not (others and _is_one_of(answer, others))
    ):
        made = Tensor()
        made.array = answer
        made.keys = form.keys
        made.edge = None
        made.extra = None
        return made
    operands = [each for each in (first, second, third, *others) if each is not None]
    return new_result(Plan(form, operands), answer)


def _is_one_of(answer: Any, operands: Sequence[Any]) -> bool:
    return any(answer is each for each in operands)


def new_results(plans: Sequence[Plan], answers: Any) -> list[Tensor]:
    """Return new tensors as the plans say. Raises ContractError where the answer is no list of as many."""
    return [new_result(plan, answer) for plan, answer in zip(plans, results_of(answers, len(plans)), strict=True)]


def results_of(answer: Any, count: int) -> Sequence[Any]:
    """Return a kernel's answer that has to be several. Raises ContractError for what is no tuple or list of `count`."""
    if not isinstance(answer, tuple | list):
        raise wrong_result(f"must return {count} results in a tuple, but returned {shown(answer)}")
    if len(answer) != count:
        raise wrong_result(f"must return {count} results, but returned {len(answer)}")
    return answer


def wrap_result(answer: Any) -> Tensor:
    """Return a new tensor on a kernel's array. Raises ContractError for what is none."""
    try:
        return wrap(answer)
    except TypeError:
        pass
    raise wrong_result(f"must return an array, but returned {shown(answer)}")


def wrap_list(answer: Any) -> list[Tensor]:
    """Return new tensors on a kernel's arrays. Raises ContractError for what is no list of arrays."""
    if not isinstance(answer, tuple | list):
        raise wrong_result(f"must return a list of arrays, but returned {shown(answer)}")
    return [wrap_result(item) for item in answer]


def plan_of(found: Any, *operands: Any) -> Plan:
    """Return what a rule given by path returned, with the kernel's operands. Raises ContractError for another thing."""
    if isinstance(found, Plan):
        return found if len(found.given) == len(operands) or not operands else _with_operands(found, operands)
    raise wrong_result(f"must return one Plan, but returned {shown(found)}", "rule")


def _with_operands(plan: Plan, operands: Sequence[Any]) -> Plan:
    """Return the plan of a rule that planned with some of the operands, or with none: the others go to the kernel as
    they are, and the result is where all of them are."""
    form = plan.form
    casts = {id(each): cast for each, cast in zip(plan.given, form.casts or (False,) * len(plan.given), strict=True)}
    own = tuple([casts.get(id(each), False) for each in operands])
    made = Form(form.shape, form.strides, form.dtype, form.common, form.compute, form.produces, own, dims=form.dims)
    made.converts = form.converts
    return Plan(made, operands)


def plans_of(found: Any, count: int | None = None, *operands: Any) -> Sequence[Plan]:
    """Return the plans of several results, `count` or any number; the first one with the kernel's operands. Raises
    ContractError for what is none of these."""
    if not isinstance(found, tuple | list) or not all(isinstance(item, Plan) for item in found):
        raise wrong_result(f"must return a Plan for each result, but returned {shown(found)}", "rule")
    if count is not None and len(found) != count:
        raise wrong_result(f"must return {count} plans, one for each result, but returned {len(found)}", "rule")
    if operands and (first := plan_of(found[0], *operands)) is not found[0]:
        return [first, *found[1:]]
    return found
