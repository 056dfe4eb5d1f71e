"""The ways that operators go at the level of `functionalize`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from opwright.functionalize.interpreter import Functionalization, on_shadows, tensors_in
from opwright.functionalize.memory import Memory, array_of
from opwright.functionalize.resizing import resize
from opwright.functionalize.viewing import call_view, shadows_of
from opwright.functionalize.views import has_strides
from opwright.functionalize.writes import Writing
from opwright.inspection.kernel_handles import KernelHandle
from opwright.levels.interpreter import Handler
from opwright.levels.mode_kernels import mapped
from opwright.namespaces import aten
from opwright.variants.functional_variants import Variant, functional_variant, view_of
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.dispatch.registry.tables import registry
from opwright_core.keys import DispatchKey
from opwright_core.tensors.tensor import Tensor

__all__ = ["Way", "way_of"]


class Way(NamedTuple):
    """The way of an operator: a word for it, and what handles its calls."""

    word: str
    handler: Handler


def way_of(operator: Operator) -> Way:
    """Return the way of an operator.

    `registered`: a kernel at the key Functionalize. `shape`: it gives a tensor another shape in place. `variant`: the
    functional variant computes new values. `composed`: it is made of other operators, each of which comes here.
    `clones`: it has no functional variant, and writes to clones. `view`: one view or several. `value`: it makes new
    tensors, from values.
    """
    if (kernel := _handle(operator, DispatchKey.Functionalize)) is not None:
        return Way("registered", _composed(kernel))
    signature = operator.signature
    if (special := _SPECIAL.get(operator.name)) is not None:
        return Way("shape" if signature.written else "value", special)
    if signature.written and (variant := functional_variant(operator)) is not None and operator.home is not None:
        return Way("variant", _by_variant(operator, variant))
    if (parts := _parts(operator)) is not None:
        return Way("composed", _composed(parts))
    if "inplace_view" in operator.tags:
        return Way("shape", _in_place(operator))
    if signature.written:
        return Way("clones", _on_clones(operator))
    if any(alias is not None for alias in signature.aliases):
        return Way("view", _views(operator))
    return Way("value", _on_values(operator))


def _handle(operator: Operator, key: DispatchKey, runtime: DispatchKey | None = None) -> KernelHandle | None:
    with registry.lock:
        known = operator.registrations.get(key)
    return KernelHandle(operator, runtime or key, known[-1]) if known else None


# What is composed although autograd has formulas for it: the operators that it calls say what it writes.
_COMPOSED: Final = frozenset(("aten::native_batch_norm", "aten::resize_as_"))


def _parts(operator: Operator) -> KernelHandle | None:
    """Return the kernel by which an operator is made of others, if nothing else handles it."""
    if operator.name in _COMPOSED:
        return _handle(operator, DispatchKey.CompositeExplicitAutograd, DispatchKey.CPU)
    with registry.lock:
        is_composed = operator.entry(DispatchKey.AutogradCPU).rule == "math kernel"
    implicit = DispatchKey.CompositeImplicitAutograd
    return _handle(operator, implicit, DispatchKey.AutogradCPU) if is_composed else None


def _composed(kernel: KernelHandle) -> Handler:
    return lambda level, *args: kernel.call(*args)


def _on_values(operator: Operator) -> Handler:
    tensors = [each.position for each in operator.signature.tensors]

    def handler(level: Functionalization, *args: Any) -> Any:
        values = [mapped(value, level.value) for value in args]
        result = level.call(operator.call, *values)
        is_known = not any(_is_drifted(level, each) for position in tensors for each in tensors_in(args[position]))
        return level.results(result, args, values, None if is_known else shadows_of(level, operator, args))

    return handler


def _is_drifted(level: Functionalization, tensor: Tensor) -> bool:
    """Whether the value lies otherwise than the eager tensor: so may what is made of it."""
    array = tensor.array
    if not level.is_own(tensor) or array.shadow is None:
        return False
    return not has_strides(array.held, array.shadow.stride())


def _by_variant(operator: Operator, variant: Variant) -> Handler:
    signature = operator.signature
    out = min(signature.written)

    def handler(level: Functionalization, *args: Any) -> Any:
        writing = Writing(level, operator, args)
        writing.check()
        found = variant.operator.call(*variant.arguments(args, out))
        results = [found] if len(variant.results) == 1 else list(found)
        for position, result in zip(variant.results, results, strict=True):
            if position is not None and result is not None:  # (a mask may leave it out)
                _write_all(level, writing, args, args[position], result)
        return _answer(operator, args, results)

    return handler


def _write_all(level: Functionalization, writing: Writing, args: Any, written: Any, new: Any) -> None:
    """Give a tensor, or each of a list, the new value that a tensor of the level has."""
    for tensor, made in zip(tensors_in(written), tensors_in(new), strict=True):
        value = level.value(made)
        is_own = level.is_own(made) and not array_of(made).steps
        if not is_own or any(made is each for arg in args for each in tensors_in(arg)):
            value = level.call(aten["clone.default"], value)  # the memory must be nobody else's
        writing.write(tensor, value)


def _answer(operator: Operator, args: Any, results: Any) -> Any:
    """Return the results of a call that writes: what it wrote is the argument itself."""
    aliases = operator.signature.aliases
    if not aliases or not operator.signature.returns:
        return None
    made = [args[alias] if alias is not None else result for alias, result in zip(aliases, results, strict=False)]
    return made[0] if len(made) == 1 else tuple(made)


def _on_clones(operator: Operator) -> Handler:
    """Handle an operator without functional variant: it writes to clones, and these are the new values. Of a memory
    that several operands have, the whole is cloned, and the operands are views of that."""
    written = sorted(operator.signature.written)

    def handler(level: Functionalization, *args: Any) -> Any:
        writing = Writing(level, operator, args)
        writing.check()
        wholes = {id(each): (each, level.call(aten["clone.default"], each.value)) for each in writing.shared()}
        if wholes and level.removes_views:
            raise RuntimeError(
                f"functionalize: operands of {operator.name}, which has no functional variant, share memory that it "
                "writes: without views it cannot be called on a clone of that. clone() one of them"
            )
        values = [mapped(value, lambda each: _operand(level, each, wholes)) for value in args]
        own = _clone_rest(level, args, values, written, wholes)
        result = level.call(operator.call, *values)
        for memory, whole in wholes.values():
            memory.become(whole)
        for tensor, value in own:
            writing.write(tensor, value)
        results = result if isinstance(result, tuple) else [result]
        return _answer(operator, args, [level.results(each, args, values) for each in results])

    return handler


_Wholes = dict[int, tuple[Memory, Tensor]]


def _operand(level: Functionalization, tensor: Tensor, wholes: _Wholes) -> Tensor:
    if not level.has_memory(tensor):
        return tensor
    array = array_of(level.inner(tensor))
    known = wholes.get(id(array.memory))
    return array.value if known is None else level.replay(known[1], array.steps)


def _clone_rest(
    level: Functionalization, args: Sequence[Any], values: list[Any], written: Sequence[int], wholes: _Wholes
) -> list[tuple[Tensor, Tensor]]:
    """Put clones instead of written values whose memory nothing else has; return these, with their tensors."""
    found: list[tuple[Tensor, Tensor]] = []

    def clone(tensor: Tensor, value: Tensor) -> Tensor:
        if id(array_of(level.inner(tensor)).memory) in wholes:
            return value
        found.append((tensor, level.call(aten["clone.default"], value)))
        return found[-1][1]

    for position in written:
        value, arg = values[position], args[position]
        if isinstance(value, Tensor):
            values[position] = clone(arg, value)
        elif value is not None:
            values[position] = [
                each if each is None else clone(own, each) for own, each in zip(arg, value, strict=True)
            ]
    return found


def _views(operator: Operator) -> Handler:
    return lambda level, *args: call_view(level, operator, args)


def _in_place(operator: Operator) -> Handler:
    """Handle an operator that gives a tensor another shape, `t_`: the tensor becomes the view that `t` makes."""
    view = view_of(operator)
    if view is None:
        return _refused(operator, f"there is no operator {operator.base.removesuffix('_')} that makes a view")

    def handler(level: Functionalization, *args: Any) -> Any:
        inner = level.inner(args[0])
        shadow = level.shadow(inner)
        made = array_of(call_view(level, view, args))
        on_shadows(operator.call, shadow, *args[1:])
        array = array_of(inner)
        array.steps, array.held, array.seen = made.steps, made.held, made.seen
        return args[0]

    return handler


def _refused(operator: Operator, reason: str) -> Handler:
    def handler(level: Functionalization, *args: Any) -> Any:
        raise RuntimeError(f"functionalize: {operator.name} has no functional form: {reason}")

    return handler


def _lift_fresh(level: Functionalization, *args: Any) -> Any:
    return level.fresh(level.call(aten["clone.default"], level.value(args[0])))


def _as_view(name: str) -> Handler:
    """Handle an operator that shares memory although its schema does not say so: as the view that it is."""
    return lambda level, *args: call_view(level, find_operator(name), args)


_SPECIAL: Final[dict[str, Handler]] = {
    "aten::resize_": resize,
    "aten::lift_fresh": _lift_fresh,
    "aten::_unsafe_view": _as_view("aten::view"),
    "aten::unsafe_split.Tensor": _as_view("aten::split.Tensor"),
    "aten::unsafe_split_with_sizes": _as_view("aten::split_with_sizes"),
}
