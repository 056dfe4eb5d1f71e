"""The binding to xarray: operators of a generated package as functions on DataArray and Dataset."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
import xarray as xr

from opwright.dimensions.layouts import fake
from opwright.fake.modes import FakeTensorMode
from opwright_bindings.frameworks import import_beside
from opwright_bindings.xarray.runtime.core import Call, Result, core_dims, result_dims
from opwright_bindings.xarray.runtime.naming import with_positions
from opwright_core.arrays.devices import is_array
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.call.packets import find_packet
from opwright_core.tensors.tensor import Tensor

__all__ = ["Binding", "Function", "open_binding"]


def open_binding(namespace: str, package: str, module: str) -> Binding:
    """Import the generated package that stands beside `module`, and return the maker of its functions."""
    return Binding(namespace, import_beside(package, module).__name__)


class Binding:
    """The operators of one namespace for xarray. `package` is the module that workers of Dask import."""

    def __init__(self, namespace: str, package: str) -> None:
        self.namespace = namespace
        self.package = package

    def function(
        self, name: str, *overloads: str, core: Mapping[str, str] | None = None, ordered: Sequence[str] = ()
    ) -> Function:
        """Return the function for the operator of that name.

        `overloads` are those that xarray is given, `core` has the names of their core dimensions, and `ordered` those
        whose results keep the order of elements along core dimensions.
        """
        return Function(self, name, overloads, core or {}, ordered)


class Function:
    """An operator on labelled arrays. Arrays of Dask are computed lazily."""

    def __init__(
        self, binding: Binding, name: str, overloads: Sequence[str], core: Mapping[str, str], ordered: Sequence[str]
    ) -> None:
        self.__name__ = name
        self._binding = binding
        self._packet = find_packet(f"{binding.namespace}::{name}")
        self._overloads = overloads
        self._core = core
        self._ordered = ordered

    def __repr__(self) -> str:
        return f"<{self._packet.name} for xarray: {', '.join(self._overloads)}>"

    def __call__(
        self,
        /,
        *args: Any,
        join: Any = "exact",
        keep_attrs: bool | str | None = None,
        input_core_dims: Sequence[Sequence[Hashable]] | None = None,
        exclude_dims: AbstractSet[Hashable] = frozenset(),
        new_dims: Sequence[Hashable] = (),
        **kwargs: Any,
    ) -> Any:
        """Return the labelled result, or a tuple of them. Of a Dataset each variable is computed.

        `join`, `keep_attrs`, `input_core_dims` and `exclude_dims` are those of xarray.apply_ufunc, and have defaults.
        `new_dims` names dimensions that no argument has. Raises what the operator raises; ValueError for dimensions
        that do not fit.
        """
        options = {"join": join, "keep_attrs": keep_attrs, "input_core_dims": input_core_dims}
        options |= {"exclude_dims": exclude_dims, "new_dims": new_dims}
        if any(isinstance(each, xr.Dataset) for each in (*args, *kwargs.values())):
            return self._of_variables(args, kwargs, options)
        call = self._bound(args, kwargs)
        return self._applied(call, join, keep_attrs, input_core_dims, exclude_dims, new_dims)

    def _of_variables(self, args: Sequence[Any], kwargs: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
        """Return a Dataset of the results for each variable; several results are a tuple of Datasets."""
        sets = [each for each in (*args, *kwargs.values()) if isinstance(each, xr.Dataset)]
        names = list(sets[0].data_vars)
        if any(set(each.data_vars) != set(names) for each in sets):
            raise ValueError(f"{self._packet.name}: the Datasets have different variables")

        def of(value: Any, name: Hashable) -> Any:
            return value[name] if isinstance(value, xr.Dataset) else value

        found = {}
        for name in names:
            named = {key: of(value, name) for key, value in kwargs.items()}
            try:
                found[name] = self(*[of(each, name) for each in args], **named, **options)
            except (TypeError, ValueError, IndexError, RuntimeError) as error:
                error.add_note(f"in the variable {name!r}")
                raise
        attrs = sets[0].attrs if _keeps_attrs(options["keep_attrs"]) else None
        if any(isinstance(each, tuple) for each in found.values()):
            rows = zip(*found.values(), strict=True)
            return tuple([xr.Dataset(dict(zip(names, row, strict=True)), attrs=attrs) for row in rows])
        return xr.Dataset(found, attrs=attrs)

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
        """Return the call of the overload that is meant."""
        given = [each for each in (*args, *kwargs.values()) if isinstance(each, xr.DataArray)]
        if not given:
            raise TypeError(f"{self._packet.name} for xarray: an argument that is a DataArray or a Dataset is expected")
        operators = [getattr(self._packet, each) for each in self._overloads]
        positional, named = with_positions(operators, args, kwargs, given[0].dims)
        mode = FakeTensorMode()
        fakes = {id(each): fake([_size(size) for size in each.shape], each.dtype, mode) for each in given}
        arrays_of = {id(fakes[id(each)]): each for each in given}
        with mode:
            shown = tuple([fakes.get(id(value), value) for value in positional])
            words = {name: fakes.get(id(value), value) for name, value in named.items()}
            operator = self._packet.resolve(shown, words)
            values = list(operator.signature.bind(shown, words))
        if _overload_of(operator) not in self._overloads:
            raise TypeError(f"{operator.name} is not given to xarray: the generated module says why")
        arrays = {position: arrays_of[id(value)] for position, value in enumerate(values) if id(value) in arrays_of}
        for each in operator.signature.tensors:
            if each.position not in arrays and values[each.position] is not None:
                arrays[each.position] = _without_dims(operator, each.position, values[each.position], given[0])
        arrays = dict(sorted(arrays.items()))
        return Call(operator, [None if position in arrays else value for position, value in enumerate(values)], arrays)

    def _applied(
        self,
        call: Call,
        join: Any,
        keep_attrs: bool | str | None,
        input_core_dims: Sequence[Sequence[Hashable]] | None,
        exclude_dims: AbstractSet[Hashable],
        new_dims: Sequence[Hashable],
    ) -> Any:
        overload = _overload_of(call.operator)
        core = core_dims(call, self._core.get(overload, ""), input_core_dims)
        call = Call(call.operator, call.values, self._aligned(call, join, exclude_dims))
        results, changed = result_dims(call, core, new_dims)
        excluded = {*exclude_dims, *changed}
        if overload not in self._ordered:
            kept = {name for each in results for name in each.core}
            excluded |= {name for names in core.values() for name in names if name in kept}
        found = xr.apply_ufunc(
            lambda *arrays: self._computed(call, arrays, results),
            *call.arrays.values(),
            input_core_dims=list(core.values()),
            output_core_dims=[each.core for each in results],
            exclude_dims=excluded,
            join=join,
            keep_attrs=keep_attrs,
            dask="allowed",
        )
        order = [*dict.fromkeys(name for array in call.arrays.values() for name in array.dims), *new_dims]
        return tuple([_in_order(each, order) for each in found]) if len(results) > 1 else _in_order(found, order)

    def _aligned(self, call: Call, join: Any, exclude: AbstractSet[Hashable]) -> dict[int, xr.DataArray]:
        """Return arrays whose indexes are aligned. Raises what xarray raises, with the operator's name."""
        try:
            arrays = xr.align(*call.arrays.values(), join=join, copy=False, exclude=exclude)
        except ValueError as error:
            raise type(error)(f"{call.operator.name}: {error}") from None
        return dict(zip(call.arrays, arrays, strict=True))

    def _computed(self, call: Call, arrays: Sequence[Any], results: Sequence[Result]) -> Any:
        """Return the results for arrays whose core dimensions come last."""
        values = list(call.values)
        for position, array in zip(call.arrays, arrays, strict=True):
            values[position] = np.asarray(array) if isinstance(array, np.generic) else array
        positional = call.operator.signature.positional
        named = dict(zip(call.operator.signature.names[positional:], values[positional:], strict=True))
        if all(is_array(values[position]) for position in call.arrays):
            found = call.operator(*values[:positional], **named)
        else:
            found = self._by_dask()(*values[:positional], **named)
        several = found if isinstance(found, (tuple, list)) else (found,)
        moved = [array.transpose(result.axes) for array, result in zip(several, results, strict=True)]
        return tuple(moved) if len(moved) > 1 else moved[0]

    def _by_dask(self) -> Any:
        """Return the function for arrays of Dask."""
        from opwright_bindings.dask.runtime import Binding as DaskBinding

        binding = DaskBinding(self._binding.namespace, self._binding.package)
        return binding.function(self.__name__, *self._overloads)


def _without_dims(operator: Operator, position: int, value: Any, beside: xr.DataArray) -> xr.DataArray:
    """Return a number, or an array without dimensions, as a labelled array. Raises TypeError for any other array."""
    array = value.array if isinstance(value, Tensor) else value
    if isinstance(array, (bool, int, float, complex)):
        array = np.asarray(array, np.result_type(array, beside.dtype))
    if getattr(array, "ndim", 0) or not hasattr(array, "dtype"):
        raise TypeError(
            f"{operator.name}: argument {operator.signature.names[position]!r} has no names of dimensions: "
            "give a DataArray"
        )
    return xr.DataArray(array)


def _in_order(array: Any, order: Sequence[Hashable]) -> Any:
    """Return an array with its dimensions in this order."""
    return array.transpose(*[name for name in order if name in array.dims])


def _overload_of(operator: Operator) -> str:
    return operator.name.partition("::")[2].partition(".")[2] or "default"


def _keeps_attrs(keep_attrs: bool | str | None) -> bool:
    options: Any = xr.get_options
    return options()["keep_attrs"] is True if keep_attrs is None else keep_attrs not in (False, "drop")


def _size(size: float) -> int:
    return 7 if size != size else int(size)  # nan: a size that Dask does not know
