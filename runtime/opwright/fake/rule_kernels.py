"""Fake kernels of generated operators, made of the functions of `metas`: what a rule plans, without data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, cast

from opwright.base.out_dtypes import check_of
from opwright.fake.results import fake, fake_like, place_of
from opwright_core.arrays.dtypes import bool_
from opwright_core.dispatch.call.signature import TensorArgument
from opwright_core.dispatch.package.kernel_rows import dtype_position
from opwright_core.plans.alike import Alike
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator
    from opwright_core.dispatch.call.signature import Signature

__all__ = ["rule_kernel"]

Function = Callable[..., Any]
Maker = Callable[[Function], Function]


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
    make = _ALIKE.get((facts.letters, is_functional))
    return general, _alike(facts, signature, general) if make is None else make(facts, signature, general)


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
    count = len(signature.names)
    kinds = signature.types[: len(tensors)]  # of the tensors, where they are the first arguments
    if positions == tuple(range(count)) and kinds in _STRAIGHT:
        by_count, of_any = _STRAIGHT[kinds]
        return by_count.get(count, of_any)(meta)

    def kernel(*args: Any) -> Tensor:
        place, given = _placed(args, tensors)
        return fake(place, meta(*[given[position] for position in positions]))

    return kernel


def _of_one(meta: Function) -> Function:
    def kernel(self: Tensor, *others: Any) -> Tensor:
        array = self.array
        return fake(array.place, meta(array, *others))

    return kernel


def _unary(meta: Function) -> Function:
    def kernel(self: Tensor) -> Tensor:
        array = self.array
        return fake(array.place, meta(array))

    return kernel


def _with_option(meta: Function) -> Function:
    def kernel(self: Tensor, option: Any) -> Tensor:
        array = self.array
        return fake(array.place, meta(array, option))

    return kernel


def _with_options(meta: Function) -> Function:
    def kernel(self: Tensor, first: Any, second: Any, third: Any) -> Tensor:
        array = self.array
        return fake(array.place, meta(array, first, second, third))

    return kernel


def _of_two(meta: Function) -> Function:
    def kernel(self: Tensor, other: Tensor, *others: Any) -> Tensor:
        first, second = self.array, other.array
        return fake(place_of(first, second), meta(first, second, *others))

    return kernel


def _binary(meta: Function) -> Function:
    def kernel(self: Tensor, other: Tensor) -> Tensor:
        first, second = self.array, other.array
        return fake(place_of(first, second), meta(first, second))

    return kernel


def _binary_with_option(meta: Function) -> Function:
    def kernel(self: Tensor, other: Tensor, option: Any) -> Tensor:
        first, second = self.array, other.array
        return fake(place_of(first, second), meta(first, second, option))

    return kernel


def _of_three(meta: Function) -> Function:
    def kernel(self: Tensor, other: Tensor, last: Tensor, *others: Any) -> Tensor:
        first, second, third = self.array, other.array, last.array
        return fake(place_of(first, second, third), meta(first, second, third, *others))

    return kernel


def _of_list(meta: Function) -> Function:
    def kernel(tensors: Sequence[Tensor], *others: Any) -> Tensor:
        arrays = [item.array for item in tensors]
        return fake(place_of(*arrays), meta(arrays, *others))

    return kernel


# By the types of the first arguments, where others are no tensors and the function takes all: by how many arguments
# there are, and for any number, which takes 50 to 150 ns more.
_STRAIGHT: Final[dict[tuple[str, ...], tuple[dict[int, Maker], Maker]]] = {
    ("Tensor",): ({1: _unary, 2: _with_option, 4: _with_options}, _of_one),
    ("Tensor",) * 2: ({2: _binary, 3: _binary_with_option}, _of_two),
    ("Tensor",) * 3: ({}, _of_three),
    ("Tensor[]",): ({}, _of_list),
}


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


# -- kernels for dense tensors


def _alike_unary(facts: Alike, signature: Signature, general: Function) -> Function:
    dtypes, is_truth = facts.dtypes, facts.is_truth

    def kernel(self: Tensor) -> Any:
        array = self.array
        dtype = array.dtype
        return fake_like(array, bool_ if is_truth else dtype) if dtype in dtypes else general(self)

    return kernel


def _alike_binary(facts: Alike, signature: Signature, general: Function) -> Function:
    dtypes, is_truth = facts.dtypes, facts.is_truth

    def kernel(self: Tensor, other: Tensor) -> Any:
        first, second = self.array, other.array
        dtype = first.dtype
        if (
            second.dtype is not dtype
            or dtype not in dtypes
            or second.shape != first.shape
            or second.place is not first.place
        ):
            return general(self, other)
        return fake_like(first, bool_ if is_truth else dtype)

    return kernel


def _alike_number(facts: Alike, signature: Signature, general: Function) -> Function:
    dtypes, is_truth = facts.dtypes, facts.is_truth

    def kernel(self: Tensor, other: Any) -> Any:
        array = self.array
        dtype = array.dtype
        if dtype not in dtypes or (type(other) is not float and type(other) is not int):
            return general(self, other)
        return fake_like(array, bool_ if is_truth else dtype)

    return kernel


def _alike_binary_if_one(facts: Alike, signature: Signature, general: Function) -> Function:
    dtypes, is_truth, one = facts.dtypes, facts.is_truth, signature.defaults[2]

    def kernel(self: Tensor, other: Tensor, alpha: Any) -> Any:
        first, second = self.array, other.array
        dtype = first.dtype
        if (
            alpha != one
            or alpha is True
            or second.dtype is not dtype
            or dtype not in dtypes
            or second.shape != first.shape
            or second.place is not first.place
        ):
            return general(self, other, alpha)
        return fake_like(first, bool_ if is_truth else dtype)

    return kernel


def _alike(facts: Alike, signature: Signature, general: Function) -> Function:
    """Return what handles calls of any arguments; one that writes in place returns the first of them."""
    letters, dtypes, defaults = facts.letters, facts.dtypes, signature.defaults
    is_written = bool(signature.written)
    places = [place for place, letter in enumerate(letters) if letter == "T"]
    numbers = [place for place, letter in enumerate(letters) if letter == "N"]
    ones = [(place, defaults[place]) for place, letter in enumerate(letters) if letter == "1"]

    def kernel(*args: Any) -> Any:
        first, *others = arrays = [args[place].array for place in places]
        if (
            first.dtype not in dtypes
            or any(each.dtype is not first.dtype or each.shape != first.shape for each in others)
            or any(each.place is not first.place for each in others)
            or any(type(args[place]) is not float and type(args[place]) is not int for place in numbers)
            or any(args[place] != value or args[place] is True for place, value in ones)
            or (is_written and others and any(each.base is not None for each in arrays))
        ):
            return general(*args)
        return args[0] if is_written else fake_like(first, bool_ if facts.is_truth else first.dtype)

    return kernel


# By the letters, and whether nothing is written.
_ALIKE: Final = {
    ("T", True): _alike_unary,
    ("TT", True): _alike_binary,
    ("TN", True): _alike_number,
    ("TT1", True): _alike_binary_if_one,
}
