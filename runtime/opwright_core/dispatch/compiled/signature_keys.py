"""The signature keys of calls that the compiled core handles by itself (`fast/call/signature_key.c`).

A signature key is how an operator was called: which arguments by position, which by name, and of what exact types.
Where nothing has to be converted, and types alone say which overload is meant, calls with that key go to the kernel in
the operator's table at once. The generated function handles all others, and the first with each key.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from opwright_core.arrays.size import Size
from opwright_core.core import fast
from opwright_core.dispatch.call.conversion import base_type, is_int_list
from opwright_core.dispatch.call.operator import Operator
from opwright_core.errors import ArgumentError
from opwright_core.keys import ARRAYS, AUTOGRAD, CPU_ALONE, DENSE_CPU, GRAD, INFERENCE, NONDENSE, TRACKED, VIEW
from opwright_core.state import MODES
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright_core.dispatch.call.packets import Packet
    from opwright_core.dispatch.package.generated import Overloaded

__all__ = ["fast", "packet_stub", "plan", "stub"]

Function = Callable[..., Any]
Plan = tuple[dict[int, Function], tuple[Any, ...], tuple[int, ...], tuple[int, ...], tuple[Any, ...], Any]

# What a key takes for an argument: `KIND_TENSOR` and so on in C, by `NUMBERS` of opwright_build.py.
(_TENSOR, _ARRAY, _INT, _FLOAT, _BOOL, _SAME, _INTS, _TENSORS, _EXCHANGED, _ARRAYS,
 _PLACES, _FLOATS, _WRITTEN, _REST, _REPEATED) = range(15)  # fmt: skip
_MOST_REPEATED: Final = 8
_GUESTS: Final = (_EXCHANGED, _WRITTEN)
_SIZED: Final = re.compile(rf"(?:int|SymInt)\[([1-{_MOST_REPEATED}])\]\??")  # a list that one int may stand for
_EXACT: Final = {Tensor: _TENSOR, np.ndarray: _ARRAY, int: _INT, float: _FLOAT, bool: _BOOL}
if fast is not None:
    fast.configure(
        Tensor=Tensor, ndarray=np.ndarray, MODES=MODES, ARRAYS=ARRAYS, DENSE_CPU=DENSE_CPU, GRAD=GRAD, VIEW=VIEW,
        NONDENSE=NONDENSE, AUTOGRAD=AUTOGRAD, INFERENCE=INFERENCE, TRACKED=TRACKED, CPU_ALONE=CPU_ALONE,
    )  # fmt: skip
_OBJECTS: Final = ("ScalarType", "Layout", "MemoryFormat", "str", "Device")  # of which some are given again and again


def stub(function: Function, callee: Operator | Overloaded, *, gives_tuples: bool = False) -> Function:
    """Return what is called for a generated function: it, or what handles common calls instead. One that
    `gives_tuples` does so where the operator returns a list."""
    if fast is None:
        return function
    return fast.Stub(function, functools.partial(_plan_of_tuples if gives_tuples else plan, callee))  # type: ignore[no-any-return]


def packet_stub(packet: Packet) -> Function | None:
    """Return what handles common calls of a packet without a generated function. There must be a core."""
    assert fast is not None

    def call(*args: Any, **kwargs: Any) -> Any:
        return packet.call(args, kwargs)

    def plan_of_meant(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan | None:
        return plan(packet.resolve(args, kwargs), args, kwargs)

    return fast.Stub(call, plan_of_meant)  # type: ignore[no-any-return]


def plan(callee: Operator | Overloaded, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan | None:
    """Return the key of a call: the operator's table, all its arguments, and for each given one its kind, its position
    and the object where it has to be that one; and the class of several results. None where the call has no key.

    Raises ArgumentError.
    """
    if _is_warned_of(callee, args, kwargs):
        return None
    try:
        return _plan(callee, args, kwargs, len(args))
    except ArgumentError:
        return _plan(callee, args, kwargs, _ints_at_the_end(args))


def _is_warned_of(callee: Operator | Overloaded, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a Tensor whose gradient ends there stands for a number: to bind such a call again would warn again."""
    operators = (callee,) if isinstance(callee, Operator) else callee.operators
    given: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
    recorded = [(position, value) for position, value in given if isinstance(value, Tensor)]
    return any(
        Tensor.requires_grad.__get__(value) and not any(_takes_tensor(operator, position) for operator in operators)
        for position, value in recorded
    )


def _takes_tensor(operator: Operator, position: int | str) -> bool:
    signature = operator.signature
    at = signature.positions.get(position, -1) if isinstance(position, str) else position
    end = len(signature.types) if isinstance(position, str) else signature.positional
    return 0 <= at < end and base_type(signature.types[at]) == "Tensor"


def _plan_of_tuples(callee: Operator | Overloaded, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan | None:
    """Return the key of a call that gives a tuple where the operator returns a list."""
    found = plan(callee, args, kwargs)
    return found if found is None or found[-1] is not None else (*found[:-1], tuple)


def _plan(callee: Operator | Overloaded, args: tuple[Any, ...], kwargs: dict[str, Any], rest: int) -> Plan | None:
    """Return the key where the arguments from `rest` on are one list, as functions take it."""
    gathered = args if rest == len(args) else (*args[:rest], list(args[rest:]))
    operator = callee if isinstance(callee, Operator) else _meant(callee, gathered, kwargs)
    if operator is None:
        return None
    signature = operator.signature
    values = tuple(signature.bind(gathered, kwargs))
    named = [(signature.positions.get(name, -1), value) for name, value in kwargs.items()]
    alone = [*enumerate(args[:rest]), *named]
    if any(position < 0 for position, _ in named) or not _is_rest_of(operator, rest, args):
        return None
    found = [_kind(operator, position, value) for position, value in alone]
    if None in found or not _are_together(operator, found) or any(not _is_passed_on(v, values[at]) for at, v in alone):
        return None
    gathered_at = [(rest, value) for value in args[rest:]]
    kinds = [*found[:rest], *[_REST for _ in gathered_at], *found[rest:]]
    given = [*alone[:rest], *gathered_at, *alone[rest:]]
    positions = tuple([position for position, _ in given])
    blank = tuple([None if position in positions else value for position, value in enumerate(values)])
    own = tuple([kind for kind in kinds if kind is not None])
    same = tuple([v if k == _SAME else type(v) if k in _GUESTS else None for k, (_, v) in zip(own, given, strict=True)])
    return operator.table, blank, own, positions, same, operator.result


def _ints_at_the_end(args: tuple[Any, ...]) -> int:
    """Return where the ints begin that end the arguments."""
    position = len(args)
    while position and type(args[position - 1]) is int:
        position -= 1
    return position


def _is_rest_of(operator: Operator, rest: int, args: tuple[Any, ...]) -> bool:
    """Whether nothing is gathered, or the last list that the operator takes by position."""
    signature = operator.signature
    return rest == len(args) or (rest == signature.positional - 1 and signature.types[rest] in ("int[]", "SymInt[]"))


def _meant(callee: Overloaded, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operator | None:
    """Return the operator of a name that a call means, if a generated package declares it."""
    found = callee.packet.resolve(args, kwargs)
    return found if found in callee.operators else None


def _kind(operator: Operator, position: int, value: Any) -> int | None:
    """Return what a key has for a value, None where no key has it."""
    text = operator.signature.types[position]
    is_tensor = base_type(text) == "Tensor"
    if value is None:
        return _SAME if text.endswith("?") else None
    if type(value) in (list, tuple, Size):
        kinds = {*map(type, value)} if type(value) is list else {None}
        if is_tensor and "?" in text:
            return _PLACES if text == "Tensor?[]" and kinds <= {Tensor, type(None)} else None
        if is_tensor:
            return _TENSORS if kinds <= {Tensor} else _ARRAYS if kinds == {np.ndarray} else None
        if base_type(text) == "float":
            return _FLOATS if "[" in text and kinds <= {float} else None
        return _INTS if base_type(text) in ("int", "SymInt") and "[" in text and is_int_list(list(value)) else None
    if is_tensor:
        guest = _WRITTEN if position in operator.signature.written else _EXCHANGED
        kind = guest if _is_exchanged(type(value)) else _EXACT.get(type(value))
        return kind if kind in (_TENSOR, _ARRAY, *_GUESTS) and "[" not in text else None
    if base_type(text) in _OBJECTS and "[" not in text:
        return _SAME
    if type(value) is int and (sized := _SIZED.fullmatch(text)):
        return _REPEATED + int(sized[1]) - 1
    return _EXACT.get(type(value)) if type(value) in (int, float, bool) and "[" not in text else None


def _are_together(operator: Operator, kinds: list[int | None]) -> bool:
    """Whether the core takes these kinds in one call: Tensors or arrays alone, or both where nothing is written, which
    the core makes Tensors of; no lists then, and no arrays of other libraries."""
    tensors, arrays = {_TENSOR, _TENSORS, _PLACES}.intersection(kinds), {_ARRAY, _ARRAYS, *_GUESTS}.intersection(kinds)
    lists = {_TENSORS, _PLACES, _ARRAYS, *_GUESTS}.intersection(kinds)
    return not (tensors and arrays and (operator.signature.written or lists))


def _is_exchanged(kind: type) -> bool:
    """Whether a class itself offers DLPack's C exchange API, or is PyTorch's; those derived from it may lack data."""
    is_pytorchs = (kind.__module__, kind.__name__) in (("torch", "Tensor"), ("torch.nn.parameter", "Parameter"))
    return is_pytorchs or ("__dlpack_c_exchange_api__" in vars(kind) and kind is not Tensor)


def _is_passed_on(value: Any, bound: Any) -> bool:
    """Whether kernels receive the value as it is given, or the list that it stands for."""
    if type(bound) is not list:
        return bound is value
    return bound == (list(value) if type(value) in (list, tuple, Size) else [value] * len(bound))
