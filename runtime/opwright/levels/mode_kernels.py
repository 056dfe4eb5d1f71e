"""The kernels of the keys FrontMode and BackMode, for every operator (Note [Levels] in `interpreter`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from opwright.levels.inside import InsideArray, put_inside
from opwright.levels.interpreter import Handler, Interpreter
from opwright_core.keys import FRONT_MODE
from opwright_core.state import Modes, active_modes, set_modes
from opwright_core.tensors.tensor import Tensor, wrap_view

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["back_of", "front_of", "inside_results", "mapped", "tensor_positions", "values_at"]

Function = Callable[..., Any]


def front_of(operator: Operator) -> Function:
    """Return the kernel of FrontMode: the innermost interpreter handles the call."""
    known: dict[type[Interpreter], Handler] = {}  # gone with the operator's table, so with what they were made of

    def front(*args: Any) -> Any:
        modes = active_modes()
        if modes is None or modes.top is None:
            return _call_outside(operator, modes, args)
        top: Interpreter = modes.top
        handler = known.get(type(top))
        if handler is None:
            handler = known[type(top)] = top.handler_of(operator)
        before, within = top.handled_memo
        if before is not modes:
            within = top.handled_in(modes)
        try:  # (Note [Interrupted blocks])
            set_modes(within)
            return handler(top, *args)
        finally:
            set_modes(modes)

    return front


def back_of(operator: Operator) -> Function:
    """Return the kernel of BackMode: the call goes on below the innermost interpreter, with the values."""

    plain, lists = tensor_positions(operator)
    signature, table = operator.signature, operator.table
    is_simple = signature.returns == ("Tensor",) and signature.aliases == (None,)

    def back(*args: Any) -> Any:
        modes = active_modes()
        assert modes is not None and modes.top is not None  # tensors with the key are made for its calls alone
        top: Interpreter = modes.top
        values = list(args)
        keys = 0
        for position in plain:
            value = args[position]
            if value is not None:
                array = value.array
                if isinstance(array, InsideArray) and array.level is top:
                    value = values[position] = array.value
                keys |= value.keys
        for position in lists:
            if args[position] is not None:
                values[position] = items = values_at(top, args[position])
                for value in items:
                    keys |= 0 if value is None else value.keys
        before, below = top.below_memo
        if before is not modes:
            below = top.below(modes)
        if below is not None:
            keys = (keys | below.include) & below.mask
        try:  # (Note [Interrupted blocks])
            set_modes(below)
            result = (table.get(keys) or operator.resolve(keys))(*values)
        finally:
            set_modes(modes)
        if is_simple and id(result) not in map(id, values):
            return put_inside(result, top)
        return inside_results(operator, top, args, values, result)

    return back


def tensor_positions(operator: Operator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the positions of the arguments that are tensors, and of those that are lists of tensors."""
    tensors = operator.signature.tensors
    return tuple([each.position for each in tensors if not each.is_list]), tuple(
        [each.position for each in tensors if each.is_list]
    )


def mapped(value: Any, function: Callable[[Tensor], Any]) -> Any:
    """Return an argument or a result with the function's results instead of its tensors, in lists too."""
    if isinstance(value, Tensor):
        return function(value)
    if type(value) is list or isinstance(value, tuple):
        made = [mapped(each, function) for each in value]
        return made if type(value) is list else tuple(made)
    return value


def values_at(level: Interpreter, value: Any) -> Any:
    """Return an argument with the values of the level's tensors instead of these, in lists too."""
    return mapped(value, level.out_of)


def _call_outside(operator: Operator, modes: Modes | None, args: tuple[Any, ...]) -> Any:
    """Call an operator where no transform is on: with tensors that outlived theirs, or with the key included."""
    values = [mapped(value, _out_of_closed) for value in args]
    try:
        if modes is not None:
            set_modes(Modes(modes.include & ~FRONT_MODE, modes.mask))
        return operator.call(*values)
    finally:
        set_modes(modes)


def _out_of_closed(tensor: Tensor) -> Tensor:
    """Return the value of a tensor whose transform has ended. Raises RuntimeError while it is on somewhere."""
    while isinstance(tensor.array, InsideArray):
        level: Interpreter = tensor.array.level
        if level.is_open:
            raise RuntimeError(
                f"a tensor of {level!r} is used where this transform is not on: a function that is transformed returns "
                "its tensors, it does not hand them to other threads, nor to rules that serve a call below it"
            )
        tensor = level.read(tensor, "using it after the transform has ended")
    return tensor


def inside_results(operator: Operator, level: Interpreter, args: Any, values: Any, result: Any) -> Any:
    """Return the results of a call with values as those of the call with tensors of the level: what was written is the
    argument itself, a view of a value is a view of the argument."""
    known = {id(value): each for value, each in _pairs(values, args)}
    aliases = operator.signature.aliases
    if len(aliases) == 1:
        return _inside(result, aliases[0], known, level, args)
    if isinstance(result, tuple | list) and len(result) == len(aliases):
        pairs = zip(result, aliases, strict=True)
        return tuple([_inside(each, alias, known, level, args) for each, alias in pairs])
    return _inside(result, None, known, level, args)


def _inside(value: Any, alias: int | None, known: Mapping[int, Tensor], level: Interpreter, args: Any) -> Any:
    """Return one result, or a list of them, as tensors of the level."""
    if not isinstance(value, Tensor):
        return (
            [_inside(each, alias, known, level, args) for each in value] if isinstance(value, list | tuple) else value
        )
    same = known.get(id(value))
    if same is not None:
        return same
    if alias is not None and isinstance(args[alias], Tensor):
        array = InsideArray()
        array.value, array.level, array.dim = value, level, None
        return wrap_view(args[alias], array)
    return put_inside(value, level)


def _pairs(values: Any, args: Any) -> list[tuple[Tensor, Tensor]]:
    found: list[tuple[Tensor, Tensor]] = []
    for value, arg in zip(values, args, strict=True):
        if isinstance(value, Tensor):
            found.append((value, arg))
        elif type(value) is list:
            found += [pair for pair in zip(value, arg, strict=True) if isinstance(pair[0], Tensor)]
    return found
