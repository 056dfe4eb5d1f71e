"""`test_aot_dispatch_dynamic`: a call gives the same on copies without gaps, and its results and gradients look without
data as they do with.

It is to become: the call traced and functionalised equals the call. That is what copies and fakes stand in for.
"""

from __future__ import annotations

import warnings
from typing import Any

from opwright.autograd import enable_grad, no_grad
from opwright.errors import ContractError, DataDependentOutputError, DynamicOutputShapeError
from opwright.fake import FakeTensorMode
from opwright.symbolic import ShapeEnv
from opwright.tags import Tag
from opwright.tensors.results import share_memory
from opwright.tensors.tensor import Tensor
from opwright.testing.checking.calls import Call, Operand, drawing_again, results_of
from opwright.testing.checking.comparison import difference, tensor_difference
from opwright.testing.checking.fakes import call_fake, may_refuse
from opwright.testing.checking.registration import gradients, incoming_gradients
from opwright.testing.closeness import TOLERANCES, assert_close
from opwright.testing.symbolic_results import bound_by

__all__ = ["check_dynamic"]


def check_dynamic(call: Call, *, is_dynamic: bool = True, atol: float | None = None, rtol: float | None = None) -> None:
    """Raise ContractError where the call depends on more than its arguments' values, or where results and gradients
    without data, with symbolic sizes if `is_dynamic`, are others; what the call, its fake kernel and its formula
    raise."""
    _check_values(call, atol, rtol)
    _check_without_data(call, ShapeEnv() if is_dynamic else None)


def _check_values(call: Call, atol: float | None, rtol: float | None) -> None:
    """Check that results and writes are the same where arguments lie one after the other in memory of their own."""
    with no_grad():
        given = call.copied()
        wanted = _run(given)
        if Tag.nondeterministic_seeded in call.operator.tags:
            return
        compact = call.copied()
        if not _is_shared(compact):
            compact = compact.converted(lambda tensor: tensor.clone(memory_format=None).contiguous())
        found = _run(compact)
        results = zip(_outputs(given, wanted), _outputs(compact, found), strict=True)
        for one, other in results:
            relative, absolute = rtol, atol
            if absolute is None and one.tensor.dtype in TOLERANCES:  # sums are in another order
                relative, absolute = (10 * each for each in TOLERANCES[one.tensor.dtype])
            try:
                assert_close(other.tensor, one.tensor, atol=absolute, rtol=relative, equal_nan=True)
            except AssertionError as error:
                raise ContractError(
                    f"{call.operator.name}: {one.name} depends on more than the values of its arguments: with copies "
                    "of them that lie without gaps it is another. (Is a layout taken for granted? An operator that "
                    f"draws random numbers has the tag nondeterministic_seeded.)\n{error}"
                ) from error


def _run(call: Call) -> Any:
    with drawing_again(call):
        return call()


def _outputs(call: Call, result: Any) -> list[Operand]:
    return [*results_of(call.operator, result), *call.written]


def _is_shared(call: Call) -> bool:
    """Whether Tensors of the call share memory, or are one: copies one by one would be another call."""
    return any(
        share_memory(one.tensor, other.tensor)
        for place, one in enumerate(call.operands)
        for other in call.operands[:place]
    )


def _check_without_data(call: Call, env: ShapeEnv | None) -> None:
    """Check forward and backward of fakes against those of real Tensors."""
    with enable_grad():
        real = _unwritten_leaves(call.copied(may_require_grad=True))
        wanted = _run(real)
        mode = FakeTensorMode(shape_env=env)
        original = call.copied(may_require_grad=True)
        fake = _unwritten_leaves(original.converted(mode.from_tensor))
        try:
            found = call_fake(fake, mode)
        except (DataDependentOutputError, DynamicOutputShapeError) as error:
            if may_refuse(call.operator, error, env):
                return
            raise
        problem = difference(fake, found, real, wanted, env)
        problem = problem or _gradient_difference(real, wanted, fake, found, mode)
    if problem is not None:
        raise ContractError(f"{call.operator.name} without data: {problem}")


def _gradient_difference(real: Call, wanted: Any, fake: Call, found: Any, mode: FakeTensorMode) -> str | None:
    """Return how the gradients of a backward pass without data differ."""
    inputs = _gradients(real, wanted)
    if not inputs:
        return None
    try:
        with mode:
            others = _gradients(fake, found)
    except DataDependentOutputError as error:
        raise ContractError(
            f"the backward pass of {real.operator.name} reads data, and cannot run without: it is to be made of "
            f"operators, or of a custom operator of its own\n{error}"
        ) from error
    values = {} if mode.shape_env is None else bound_by(mode.shape_env, found, wanted)
    for (operand, gradient), (_, other) in zip(inputs, others, strict=True):
        name = f"the gradient of {operand.name}"
        if gradient is None or other is None:
            if gradient is not other:
                which = "with data" if other is None else "without data"
                return f"{name} is there only in a backward pass {which}"
            continue
        one, two = (Operand(name, operand.position, each.contiguous()) for each in (other, gradient))
        problem = tensor_difference(one, two, values)
        if problem is not None:
            return problem
    return None


def _gradients(call: Call, result: Any) -> list[tuple[Operand, Tensor | None]]:
    results = [each for each in results_of(call.operator, result) if each.tensor.requires_grad]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of operators without formulas
        return gradients(call, results, incoming_gradients(results)) if results else []


def _unwritten_leaves(call: Call) -> Call:
    """Return the call with results of leaves where it writes to leaves that require grad, as functionalised ones do."""
    leaves = [each.tensor for each in call.written if each.tensor.requires_grad and each.tensor.is_leaf]

    def convert(tensor: Tensor) -> Tensor:
        return tensor.clone() if any(tensor is leaf for leaf in leaves) else tensor

    return call.converted(convert) if leaves else call
