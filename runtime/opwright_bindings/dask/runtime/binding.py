"""The binding to Dask: operators of a generated package as functions on Dask's arrays, block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dask.array as da
import numpy as np

from opwright.dimensions.deriving import cut_of
from opwright.dimensions.families import Along, Everything, Family, Labels, Product, Reducing
from opwright.dimensions.layouts import results, without_labels
from opwright.dimensions.windows import Windows
from opwright.dimensions.written import ByText
from opwright.fake.modes import FakeTensorMode
from opwright_bindings.dask.runtime.combining import combined, product, reduced_loss
from opwright_bindings.dask.runtime.costs import annotated
from opwright_bindings.dask.runtime.graphs import Cut, backward, blocks
from opwright_bindings.dask.runtime.tasks import Call
from opwright_bindings.fakes import check_arrays, fake
from opwright_bindings.frameworks import import_beside
from opwright_core.arrays.devices import is_array
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.call.packets import Packet, find_packet
from opwright_core.tensors.tensor import Tensor

__all__ = ["Binding", "Function", "open_binding"]

_UNKNOWN = 7  # stands for a size that Dask does not know, where overloads are told apart


def open_binding(namespace: str, package: str, module: str) -> Binding:
    """Import the generated package that stands beside `module`, and return what gives Dask its operators."""
    return Binding(namespace, import_beside(package, module).__name__)


class Binding:
    """The operators of one namespace for Dask. `package` is the module that workers import."""

    def __init__(self, namespace: str, package: str) -> None:
        self.namespace = namespace
        self.package = package

    def function(self, name: str, *overloads: str) -> Function:
        """Return the function that calls the operator of that name, of which Dask is given these overloads."""
        return Function(find_packet(f"{self.namespace}::{name}"), overloads, self.package)


class Function:
    """An operator on Dask's arrays: it builds a graph, whose tasks call the operator on blocks.

    Arrays of NumPy and Tensors are taken, too. Errors of shapes and dtypes are raised at once.
    """

    def __init__(self, packet: Packet, overloads: Sequence[str], package: str) -> None:
        self.__name__ = packet.base
        self._packet = packet
        self._overloads = overloads
        self._package = package

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return Dask's array, or a tuple of them, for the operator's results."""
        operator, family, arrays, values = self._bound(args, kwargs)
        with annotated(operator, arrays, values):
            return self._graph(operator, family, arrays, values)

    def _graph(self, operator: Operator, family: Family, arrays: dict[int, da.Array], values: list[Any]) -> Any:
        if isinstance(family, Reducing) and arrays and values[family.reduction] in (1, 2):
            (reduced,) = self._cut(operator, family, arrays, values).results
            single = [0 if position == family.reduction else value for position, value in enumerate(values)]
            cut = self._cut(operator, family, arrays, single)
            losses = blocks(self._call(operator, arrays, single), cut)
            return reduced_loss(losses, values[family.reduction], reduced.dtype)
        call = self._call(operator, arrays, values)
        found = None
        if isinstance(family, (Along, Everything)) and family.combines and len(arrays) == 1:
            found = combined(operator, family, call, next(iter(arrays.values())))
        if found is not None:
            return found
        cut = self._cut(operator, family, arrays, values)
        if isinstance(family, (Product, ByText)):
            found = product(call, cut, family)
        return blocks(call, cut) if found is None else found

    def gradients(self, grad: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the gradient of each tensor argument, given those of the results (a tuple, if there are several).

        What is no floating point number has None. Raises TypeError for an operator that is not computed by blocks.
        """
        operator, family, arrays, values = self._bound(args, kwargs)
        cut = self._cut(operator, family, arrays, values)
        grads = [_array(each) for each in (grad if isinstance(grad, (tuple, list)) else (grad,))]
        with annotated(operator, arrays, values, backward=True):
            return backward(self._call(operator, arrays, values), cut, grads)

    def __repr__(self) -> str:
        return f"<{self._packet.name} for Dask: {', '.join(name or 'default' for name in self._overloads)}>"

    def _bound(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Operator, Family, dict[int, da.Array], list[Any]]:
        """Return the overload that is meant, its family, its tensors by position, and all arguments."""
        given = {id(value): _array(value) for value in (*args, *kwargs.values()) if _is_array(value)}
        mode = FakeTensorMode()
        fakes = {key: fake(_known(array.shape), array.dtype, mode) for key, array in given.items()}
        arrays_of = {id(fakes[key]): array for key, array in given.items()}
        with mode:
            shown = tuple([fakes.get(id(value), value) for value in args])
            named = {name: fakes.get(id(value), value) for name, value in kwargs.items()}
            operator = self._packet.resolve(shown, named)
            values = list(operator.signature.bind(shown, named))
            check_arrays(operator, values)
        overload = operator.name.partition("::")[2].partition(".")[2] or "default"
        if overload not in self._overloads:
            raise TypeError(f"{operator.name} is not given to Dask: the generated module says why")
        family = cut_of(operator)
        arrays = {position: arrays_of[id(value)] for position, value in enumerate(values) if id(value) in arrays_of}
        return (
            operator,
            family,
            arrays,
            [None if position in arrays else value for position, value in enumerate(values)],
        )

    def _call(self, operator: Operator, arrays: Mapping[int, Any], values: Sequence[Any]) -> Call:
        return Call(self._package, operator.name, tuple(values), tuple(arrays))

    def _cut(self, operator: Operator, family: Family, arrays: Mapping[int, da.Array], values: Sequence[Any]) -> Cut:
        """Return how arrays are cut. What the operator does not take by blocks it is given whole."""
        tensors = {position: (array.shape, array.dtype) for position, array in arrays.items()}
        shapes = {position: array.shape for position, array in arrays.items()}
        labels: Labels = family.labels(shapes, values)
        found = results(operator, values, tensors, labels)
        if found is not None and isinstance(family, Windows):
            return Cut(dict(arrays), labels, found, family.operand, family.spans(shapes, values))
        if found is None:
            labels = without_labels(labels)
            found = results(operator, values, tensors, labels)
        assert found is not None
        return Cut(dict(arrays), labels, found)


def _is_array(value: Any) -> bool:
    return isinstance(value, (da.Array, Tensor)) or is_array(value)


def _array(value: Any) -> da.Array:
    if isinstance(value, da.Array):
        return value
    return da.asarray(value.array if isinstance(value, Tensor) else value)


def _known(shape: Sequence[float]) -> list[int]:
    return [_UNKNOWN if np.isnan(size) else int(size) for size in shape]
