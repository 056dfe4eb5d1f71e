"""Operators of PyTorch as kernels of ours: tensors on the same memory, what is written arrives in the caller's arrays.

Note [Calling PyTorch]
Arrays become PyTorch's tensors without a copy, but for those that it cannot have: read-only ones, and those with
negative strides. A result that PyTorch declares to be an argument is the Tensor that was given. One on the memory of an
argument is a view of it. An `out` of another shape is resized as ours are. Arrays without data are PyTorch's meta
tensors, so that its own meta kernel says what results look like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import torch

from opwright.fake.arrays import MetaArray, meta_array, wrap_meta
from opwright.fake.modes import new_place
from opwright.metadata.view_layouts import become_view
from opwright.variants.writing import write_out
from opwright_bindings.torch.runtime.values import our_dtype, our_tensor, torch_dtype, torch_tensor
from opwright_core.arrays import formats
from opwright_core.arrays.devices import Device
from opwright_core.random_state.generator import Generator
from opwright_core.tensors.tensor import Tensor, wrap_view

__all__ = ["function_of", "has_known_layout", "in_own_memory", "overload_named", "theirs_of"]

_LAYOUTS: Final = {formats.Layout.strided: torch.strided}
_FORMATS: Final = {
    formats.MemoryFormat.contiguous_format: torch.contiguous_format,
    formats.MemoryFormat.preserve_format: torch.preserve_format,
    formats.MemoryFormat.channels_last: torch.channels_last,
    formats.MemoryFormat.channels_last_3d: torch.channels_last_3d,
}
_Pair = tuple[Tensor, torch.Tensor | None]  # ours, and what was given to PyTorch
_FIXED: Final = "not resizable"  # what PyTorch says of memory that is not its own


def function_of(name: str) -> Callable[..., Any]:
    """Return what calls PyTorch's operator of that name. Raises RuntimeError where it has none."""
    return _Call(overload_named(name))


def overload_named(name: str) -> torch._ops.OpOverload:
    """Return PyTorch's operator `NAMESPACE::NAME.OVERLOAD`. Raises RuntimeError where it has none."""
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    try:
        found: torch._ops.OpOverload = getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")
    except AttributeError:
        raise RuntimeError(f"PyTorch has no operator {name}: import the module that registers it first") from None
    return found


class _Call:
    """One operator of PyTorch, called with all its arguments in order."""

    def __init__(self, overload: torch._ops.OpOverload) -> None:
        schema = overload._schema
        self._overload = overload
        self._keywords = [each.name for each in schema.arguments if each.kwarg_only]
        self._positional = len(schema.arguments) - len(self._keywords)
        self._written = [_is_written(each) for each in schema.arguments]
        sets = [_written_set(each) for each in schema.arguments]
        own = [_written_set(each) for each in schema.returns]
        self._draws = torch.Tag.nondeterministic_seeded in overload.tags
        self._moves_views = torch.Tag.inplace_view in overload.tags
        self._given = [sets.index(each) if each is not None and each in sets else None for each in own]

    def __call__(self, *values: Any) -> Any:
        """Return the results as ours. Raises what PyTorch raises, and TypeError for what it does not have."""
        if len(values) != len(self._written):
            raise RuntimeError(f"{self._overload} takes {len(self._written)} arguments, and {len(values)} are declared")
        with torch.no_grad():
            theirs = [theirs_of(value) for value in values]
            state = torch.default_generator.get_state() if self._draws else None
            try:
                results = self._run(theirs)
            except RuntimeError as error:
                if _FIXED not in str(error):
                    raise
                if state is not None:  # as if it had drawn nothing
                    torch.default_generator.set_state(state)
                pairs = zip(map(theirs_of, values), self._written, strict=True)
                theirs = [in_own_memory(their) if is_written else their for their, is_written in pairs]
                results = self._run(theirs)
            self._write_back(values, theirs)
            return self._ours(results, values, theirs)

    def _run(self, theirs: Sequence[Any]) -> Any:
        keywords = dict(zip(self._keywords, theirs[self._positional :], strict=True))
        return self._overload(*theirs[: self._positional], **keywords)

    def _write_back(self, values: Sequence[Any], theirs: Sequence[Any]) -> None:
        """Write what was written to a copy, or to an `out` of another shape, to the caller's arrays; and the state of
        generators."""
        for value, their, is_written in zip(values, theirs, self._written, strict=True):
            if isinstance(value, Generator):
                value.set_state(np.array(their.get_state().numpy()))
            elif is_written:
                pairs = zip(value, their, strict=True) if isinstance(value, list) else [(value, their)]
                for ours, tensor in pairs:
                    if ours is not None:
                        self._update(ours, tensor)

    def _update(self, ours: Tensor, tensor: torch.Tensor) -> None:
        array = ours.array
        if self._moves_views and _is_on(tensor, ours):
            become_view(ours, _new(tensor, [(ours, tensor)]))
        elif isinstance(array, MetaArray):
            if tuple(tensor.shape) != tuple(array.shape):
                write_out(self._overload._schema.name, ours, _new(tensor, [(ours, None)]))
        elif tuple(tensor.shape) != array.shape:
            write_out(self._overload._schema.name, ours, our_tensor(tensor))
        elif tensor.data_ptr() != _address(array):
            array[...] = our_tensor(tensor).array

    def _ours(self, results: Any, values: Sequence[Any], theirs: Sequence[Any]) -> Any:
        pairs = list(_pairs(values, theirs))
        count = len(self._given)
        if not count:
            return None
        if count == 1:
            return self._result(results, self._given[0], values, pairs)
        return tuple([self._result(r, place, values, pairs) for r, place in zip(results, self._given, strict=True)])

    def _result(self, result: Any, place: int | None, values: Sequence[Any], pairs: Sequence[_Pair]) -> Any:
        if place is not None and values[place] is not None:
            return values[place]
        return _ours(result, pairs)


def _is_on(tensor: torch.Tensor, ours: Tensor) -> bool:
    """Whether PyTorch's tensor for one of ours still lies in its memory."""
    if isinstance(ours.array, MetaArray):
        return True
    return bool(np.may_share_memory(our_tensor(tensor).array, ours.array))


def _is_written(argument: torch.Argument) -> bool:
    return bool(argument.alias_info is not None and argument.alias_info.is_write)


def _written_set(argument: torch.Argument) -> frozenset[str] | None:
    info = argument.alias_info
    return frozenset(info.before_set) if info is not None and info.is_write else None


def theirs_of(value: Any) -> Any:
    """Return an argument of ours as PyTorch's, tensors on the same memory."""
    match value:
        case Tensor():
            return _meta(value.array) if isinstance(value.array, MetaArray) else torch_tensor(value)
        case list() | tuple():
            return [theirs_of(each) for each in value]
        case np.dtype():
            return torch_dtype(value)
        case Device():
            return torch.device(str(value))
        case formats.Layout():
            return _LAYOUTS[value]
        case formats.MemoryFormat():
            return _FORMATS[value]
        case Generator():
            made = torch.Generator()
            made.set_state(torch.from_numpy(np.array(value.get_state())))
            return made
        case np.generic():
            return value.item()
    return value


def in_own_memory(tensor: Any) -> Any:
    """Return a copy of a tensor, or of those of a list, on memory that PyTorch may resize."""
    if isinstance(tensor, list):
        return [in_own_memory(each) for each in tensor]
    return tensor.clone() if isinstance(tensor, torch.Tensor) else tensor


def _meta(array: MetaArray) -> torch.Tensor:
    numbers = [*array.shape, *array.strides]
    if not all(type(each) is int for each in numbers):
        raise NotImplementedError("PyTorch's meta kernel is asked with known sizes alone: declare `meta:`")
    strides = [stride // array.itemsize for stride in array.strides]
    return torch.empty_strided(list(array.shape), strides, dtype=torch_dtype(array.dtype), device="meta")


def _ours(result: Any, given: Sequence[_Pair]) -> Any:
    if isinstance(result, torch.Tensor):
        return _new(result, given)
    if isinstance(result, (list, tuple)):
        return [_ours(each, given) for each in result]
    return our_dtype(result) if isinstance(result, torch.dtype) else result


def _new(result: torch.Tensor, given: Sequence[_Pair]) -> Tensor:
    """Return a result as ours: a view of the argument whose memory it shares."""
    if not has_known_layout(result):
        raise TypeError(f"Opwright has no tensors of layout {'nested' if result.is_nested else result.layout}")
    if result.device.type == "meta":
        return _without_data(result, given)
    made = our_tensor(result.resolve_conj().resolve_neg())
    base = next((each for each, _ in given if np.may_share_memory(each.array, made.array)), None)
    return made if base is None else wrap_view(base, made.array)


def has_known_layout(tensor: torch.Tensor) -> bool:
    """Whether a tensor of PyTorch lies in memory as ours do: neither sparse nor nested."""
    return tensor.layout == torch.strided and not tensor.is_nested


def _without_data(result: torch.Tensor, given: Sequence[_Pair]) -> Tensor:
    shape, strides, dtype = tuple(result.shape), tuple(result.stride()), our_dtype(result.dtype)
    memory = result.untyped_storage()._cdata
    for ours, their in given:
        if their is not None and their.untyped_storage()._cdata == memory:
            offset = ours.array.offset + result.storage_offset() * result.itemsize
            view = ours.array.lying(shape, [stride * result.itemsize for stride in strides], offset)
            view.dtype = dtype
            return wrap_view(ours, view)
    place = given[0][0].array.place if given else new_place()
    return wrap_meta(meta_array(shape, strides, dtype, place))


def _pairs(values: Sequence[Any], theirs: Sequence[Any]) -> Iterator[_Pair]:
    """Yield each tensor of the arguments with PyTorch's."""
    for value, their in zip(values, theirs, strict=True):
        if isinstance(value, Tensor):
            yield value, their
        elif isinstance(value, list | tuple):
            yield from _pairs(value, their)


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])
