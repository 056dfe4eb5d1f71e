"""Fake kernels of generated operators, made of the functions of `metas`: what a rule plans, without data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, cast

from opwright.fake.planned_results import fake, place_of
from opwright.fake.planned_results import fake_like as fake_like
from opwright.variants.out_dtypes import check_of
from opwright_core.arrays.dtypes import bool_ as bool_
from opwright_core.dispatch.call.signature import TensorArgument
from opwright_core.dispatch.package.kernel_rows import dtype_position
from opwright_core.plans.alike import Alike
from opwright_core.tensors.tensor import Tensor
from opwright_core.unrolling import Definition

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator
    from opwright_core.dispatch.call.signature import Signature

__all__ = ["rule_kernel"]

Function = Callable[..., Any]
_LETTERS: Final = {"Tensor": "T", "Tensor[]": "L"}
# Of tensors (T) and lists of them (L); one tensor alone is S.
_STRAIGHT: Final = Definition(
    """\
def kernel({*: x#, }):
    {T} x# = x#.array
    {L} x# = [each.array for each in x#]
    return fake({S: {T: x#}.place}{M: place_of({T: x#, |L: *x#, })}, meta({*: x#, }))
""",
    globals(),
)
# Of dense tensors of one dtype and shape, of which the first is T, others are U; of numbers (N), and arguments that
# must have their default (1). The first is written (I), or the result is of its dtype (D) or bool (B).
_ALIKE: Final = Definition(
    """\
def kernel({*: x#, }):
    {TU} a# = x#.array
    dtype = {T: a#}.dtype
    if (
        {1} x# == default# and x# is not True and
        {N} (type(x#) is float or type(x#) is int) and
        {U} a#.dtype is dtype and a#.shape == {T: a#}.shape and a#.place is {T: a#}.place and
        {U} {I: a#.base is None and {T: a#}.base is None and} True and
        dtype in dtypes
    ):
        return {I: x0}{B: fake_like({T: a#}, bool_)}{D: fake_like({T: a#}, dtype)}
    return general({*: x#, })
""",
    globals(),
)


def rule_kernel(operator: Operator, meta: Function) -> tuple[Function, Function | None]:
    """Return what handles all calls of an operator on fakes, and what handles those of dense tensors, if anything.

    `meta` takes the arguments of its parameters' names, arrays for Tensors, and returns a plan, or one for each result.
    """
    signature = operator.signature
    positions = _positions(signature, meta)
    is_functional = not signature.written
    general = _functional(signature, meta, positions) if is_functional else _writing(operator, meta, positions)
    facts: Alike | None = getattr(meta, "alike", None)
    if facts is None or (not is_functional and not _is_inplace(operator)):
        return general, None
    defaults = {f"default{at}": signature.defaults[at] for at, each in enumerate(facts.letters) if each == "1"}
    letters = facts.letters.replace("T", "U").replace("U", "T", 1)
    flag = "I" if not is_functional else "B" if facts.is_truth else "D"
    return general, _ALIKE.make(letters, flag, general=general, dtypes=facts.dtypes, **defaults)


def _positions(signature: Signature, meta: Function) -> tuple[int, ...]:
    """Return the positions of the arguments that a function takes. One whose name is taken there has `_` behind it."""
    code = cast(FunctionType, meta).__code__
    names = code.co_varnames[: code.co_argcount]
    return tuple([signature.positions[name if name in signature.positions else name.rstrip("_")] for name in names])


def _is_inplace(operator: Operator) -> bool:
    return operator.base.endswith("_") and operator.signature.written == {0}


# -- general kernels


def _functional(signature: Signature, meta: Function, positions: tuple[int, ...]) -> Function:
    tensors = signature.tensors
    if len(signature.returns) > 1:
        return _several(tensors, meta, positions)
    if signature.returns[0] != "Tensor":
        return _listed(tensors, meta, positions)
    letters = [_LETTERS.get(text, "") for text in signature.types]
    found = [each for each in letters if each]
    if positions == tuple(range(len(letters))) and len(found) == len(tensors) > 0:
        return _STRAIGHT.make(letters, "S" if found == ["T"] else "M", meta=meta)

    def kernel(*args: Any) -> Tensor:
        place, given = _placed(args, tensors)
        return fake(place, meta(*[given[position] for position in positions]))

    return kernel


def _several(tensors: Sequence[TensorArgument], meta: Function, positions: tuple[int, ...]) -> Function:
    def kernel(*args: Any) -> tuple[Tensor, ...]:
        place, given = _placed(args, tensors)
        return tuple([fake(place, plan) for plan in meta(*[given[position] for position in positions])])

    return kernel


def _listed(tensors: Sequence[TensorArgument], meta: Function, positions: tuple[int, ...]) -> Function:
    def kernel(*args: Any) -> list[Tensor]:
        place, given = _placed(args, tensors)
        return [fake(place, plan) for plan in meta(*[given[position] for position in positions])]

    return kernel


def _writing(operator: Operator, meta: Function, positions: tuple[int, ...]) -> Function:
    """Return the checks of an operator that writes: nothing is written; what the kernel would refuse is refused."""
    signature = operator.signature
    written = sorted(signature.written)
    is_inplace = operator.base.endswith("_") and not any(place >= signature.positional for place in written)
    tensors = [each for each in signature.tensors if is_inplace or each.position not in written]

    check = None if is_inplace else check_of(operator.name)
    at = -1 if is_inplace or len(written) > 1 or check is not None else dtype_position(meta, positions)

    def kernel(*args: Any) -> Any:
        _, given = _placed(args, tensors)
        found = meta(*[given[position] for position in positions])
        if at >= 0 and given[at] is None and found.dtype != args[written[0]].dtype:  # computed in that of `out`
            given[at] = args[written[0]].dtype
            found = meta(*[given[position] for position in positions])
        plans = found if len(written) > 1 else (found,)
        targets = [args[place] for place in written]
        for plan, target in zip(plans, targets, strict=True):
            if check is not None and target.dtype is not plan.dtype:
                check(plan.dtype, target.dtype)
            (plan.inplace if is_inplace else plan.target)(target)
        return targets[0] if len(targets) == 1 else tuple(targets)

    return kernel


def _placed(args: Sequence[Any], tensors: Sequence[TensorArgument]) -> tuple[Any, list[Any]]:
    """Return where results of a call are, and its arguments with the arrays of tensors."""
    given = list(args)
    arrays: list[Any] = []
    for position, is_list, _, _ in tensors:
        value = args[position]
        if is_list:
            listed = [None if item is None else item.array for item in value or ()]
            given[position] = None if value is None else listed
            arrays += listed
        else:
            array = None if value is None else value.array
            given[position] = array
            arrays.append(array)
    return place_of(*arrays), given
