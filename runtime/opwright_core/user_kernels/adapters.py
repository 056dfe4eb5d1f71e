"""Functions of users made into table entries: every argument positional, results checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opwright_core.arrays.devices import is_array
from opwright_core.core import fast
from opwright_core.dispatch.package.declarations import REQUIRED
from opwright_core.keys import PRE_DISPATCH
from opwright_core.keysets import KeySet
from opwright_core.tensors.tensor import Tensor, wrap, wrap_view
from opwright_core.user_kernels.copies import check_memory
from opwright_core.user_kernels.returns import return_checker

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["KeySet", "adapt_array_kernel", "adapt_boxed", "adapt_composite", "adapt_user_kernel"]

Function = Callable[..., Any]


def adapt_user_kernel(operator: Operator, function: Function) -> Function:
    """Adapt a function on Tensors, called as PyTorch calls Python kernels. Wrong results raise RuntimeError."""
    signature = operator.signature
    check = return_checker(operator, function, refuses_none=True)
    split = signature.split
    is_one = signature.returns == ("Tensor",)
    if signature.is_plain and is_one:

        def call_plain(*args: Any) -> Any:
            result = function(*args)
            return result if isinstance(result, Tensor) else check(result)

        return _compiled(call_plain, function, signature.positional, (), check)
    if signature.is_plain:
        return lambda *args: check(function(*args))

    count = signature.positional
    named = tuple(enumerate(signature.defaults))[count:]
    has_defaults = any(default is not REQUIRED for default in signature.defaults[:count])

    def call_split(*args: Any) -> Any:
        positional, keywords = split(args)
        result = function(*positional, **keywords)
        return result if is_one and isinstance(result, Tensor) else check(result)

    if has_defaults:
        return call_split

    def call(*args: Any) -> Any:
        for position, default in named:
            if args[position] is not default:
                return call_split(*args)
        result = function(*args[:count])
        return result if is_one and isinstance(result, Tensor) else check(result)

    return _compiled(call, function, count, tuple(signature.defaults[count:]), check) if is_one else call


def _compiled(call: Function, function: Function, count: int, defaults: tuple[Any, ...], check: Function) -> Function:
    """Return what does the same as `call` in the compiled core, if that runs: call `function` by position where what
    comes after `count` arguments is these defaults."""
    if fast is None:
        return call
    made: Function = fast.UserKernel(call, function, count, defaults, check, None)
    return made


def adapt_composite(operator: Operator, function: Function) -> Function:
    """Adapt a composite of a schema file: what it returns is checked."""
    check = return_checker(operator, function, refuses_none=True)

    def call(*args: Any) -> Any:
        result = function(*args)
        return result if (is_one and isinstance(result, Tensor)) or is_array(result) else check(result)

    is_one = operator.signature.returns == ("Tensor",)
    return call


def _as_it_is(result: Any) -> Any:
    return result


def adapt_boxed(operator: Operator, function: Function, keys: int) -> Function:
    """Adapt a boxed fallback: tell it the operator and the keys of the call. At PreDispatch a class or a mode says what
    the program gets, which need not be what the operator returns."""
    check = _as_it_is if keys & PRE_DISPATCH else return_checker(operator, function)
    keyset, split = KeySet(keys), operator.signature.split

    def call(*args: Any) -> Any:
        positional, keywords = split(args)
        return check(function(operator, keyset, positional, keywords))

    return call


def adapt_array_kernel(operator: Operator, function: Function) -> Function:
    """Adapt a function on arrays. It returns new arrays, views of its arguments where the schema says so, and for
    written arguments the array it was given (or None for all of them)."""
    check = return_checker(operator, function)
    signature = operator.signature
    tensors, written = signature.tensors, tuple(signature.written)
    single = len(signature.returns) == 1

    def call(*args: Any) -> Any:
        arrays = list(args)
        for position, is_list, *_ in tensors:
            value = arrays[position]
            if is_list and value is not None:
                arrays[position] = [None if item is None else item.array for item in value]
            elif value is not None:
                arrays[position] = value.array
        for position in written:
            check_memory(args[position])
        result = function(*arrays)
        if result is None and signature.written and signature.returns:
            result = tuple(None if alias is None else arrays[alias] for alias in signature.aliases)
            result = result[0] if single else result
        results = (result,) if single else tuple(result) if isinstance(result, list | tuple) else result
        if not isinstance(results, tuple):
            return check(result)
        wrapped = [wrap_result(operator, args, index, value) for index, value in enumerate(results)]
        return check(wrapped[0] if single else tuple(wrapped))

    return call


def wrap_result(operator: Operator, args: tuple[Any, ...], index: int, value: Any) -> Any:
    """Wrap a result of an array kernel as a Tensor: the argument it is, a view of the one it aliases, or a new one."""
    signature = operator.signature
    if index >= len(signature.returns) or not signature.returns[index].startswith("Tensor"):
        return value
    alias = signature.aliases[index]
    source = args[alias] if alias is not None and isinstance(args[alias], Tensor) else None
    if source is not None and value is source.array:
        return source
    if source is not None and alias in signature.written:
        raise RuntimeError(
            f"the kernel of {operator.name} must write into '{signature.names[alias or 0]}' and return that array or "
            "None; it returned another array"
        )
    if isinstance(value, list | tuple):
        return [_wrap(source, item) for item in value]
    return _wrap(source, value)


def _wrap(source: Tensor | None, value: Any) -> Any:
    if value is None or isinstance(value, Tensor):
        return value
    return wrap(value) if source is None else wrap_view(source, value)
