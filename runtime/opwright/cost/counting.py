"""`FlopCounterMode`: the cost of all operators that are called in a block, by operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any, Final

import numpy as np

from opwright.cost.deriving import cost_of, tensors_of_results
from opwright.cost.model import Cost, shown
from opwright.fake.arrays import meta_array, wrap_meta
from opwright.fake.modes import FakeTensorMode
from opwright.inspection.kernel_handles import COMPOSITES, handle_of
from opwright.python_dispatch import TorchDispatchMode
from opwright.pytree import tree_map
from opwright_core.arrays.devices import Device
from opwright_core.arrays.dtypes import as_dtype
from opwright_core.dispatch.call.operator import Operator
from opwright_core.tensors.tensor import Tensor

__all__ = ["FlopCounterMode", "fakes", "shape_of"]

_CPU: Final = Device("cpu")


class FlopCounterMode(TorchDispatchMode):
    """A block in which the cost of each operator that is called is counted; at its end a table is printed, if
    `display` says so.

    `custom_mapping` has formulas for operators or packets, as `register_flop_formula` takes them, for this block.
    Counts are by operator, `costs`, under the names that PyTorch has for them, too: composite operators count as what
    they call. Semantics: `torch.utils.flop_counter.FlopCounterMode`, which leaves out all but products, convolutions
    and attention.
    """

    def __init__(self, *, display: bool = True, custom_mapping: Mapping[Any, Callable[..., Any]] | None = None) -> None:
        super().__init__()
        self.display = display
        self.costs: dict[str, Cost] = {}
        self.calls: dict[str, int] = {}
        self._mapping = {getattr(each, "name", str(each)): given for each, given in (custom_mapping or {}).items()}

    def __torch_dispatch__(
        self, func: Operator, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Count a call, and return its result."""
        result = func(*args, **(kwargs or {}))
        values = func.signature.bind(tuple(args), dict(kwargs or {}))
        self.add(func, values, result)
        return result

    def add(self, operator: Operator, values: Sequence[Any], result: Any) -> None:
        """Add the cost of a call that gave this result."""
        results = tensors_of_results(result)
        given = self._mapping.get(operator.name) or self._mapping.get(operator.packet_name)
        if given is not None:
            out = results[0] if len(results) == 1 else tuple(results)
            found: Cost | None = Cost(int(given(*map(shape_of, values), out_shape=shape_of(out))), source="declared")
        else:
            found = cost_of(operator, values, results)
        if found is None:
            found = _of_parts(operator, values)
        self.costs[operator.name] = self.costs[operator.name] + found if operator.name in self.costs else found
        self.calls[operator.name] = self.calls.get(operator.name, 0) + 1

    @property
    def total(self) -> Cost:
        """Return the cost of all calls."""
        return reduce(add, self.costs.values()) if self.costs else Cost()

    def get_total_flops(self) -> int:
        """Return the operations of all calls; transcendental functions are `total.transcendentals`."""
        return self.total.flops

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """Return the operations by operator, all under `Global`: modules are not told apart."""
        return {"Global": {name: each.flops for name, each in self.costs.items()}}

    def get_table(self, depth: int | None = None) -> str:
        """Return a table of operators, the dearest first. `depth` is there for PyTorch's programs."""
        head = ("operator", "calls", "flop", "transcendental", "read", "written", "flop/B", "known by")
        rows = sorted(self.costs.items(), key=lambda each: (-each[1].flops, -each[1].bytes))
        lines = [head, *[_row(name, self.calls[name], each) for name, each in rows]]
        lines.append(_row("total", sum(self.calls.values()), self.total))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(f"{cell:{'<' if n in (0, 7) else '>'}{widths[n]}}" for n, cell in enumerate(line)).rstrip()
            for line in lines
        )

    def _switched_off(self) -> None:
        if self.display:
            print(self.get_table())


def _of_parts(operator: Operator, values: Sequence[Any]) -> Cost:
    """Return the cost of what a composite operator calls, for tensors without data."""
    mode, counter = FakeTensorMode(), FlopCounterMode(display=False)
    handle = next(filter(None, [handle_of(operator, key) for key in COMPOSITES]), None)
    if handle is None:
        return Cost(source="bytes")
    with mode, counter:
        handle.call(*fakes(list(values), mode))
    return replace(counter.total, source="parts")


def fakes(tree: Any, mode: FakeTensorMode) -> Any:
    """Return a tree of values with a fake tensor for each array and Tensor."""
    place = mode.place(_CPU)
    known: dict[int, Tensor] = {}  # what is passed twice is read once

    def fake(value: Any) -> Any:
        if isinstance(value, Tensor | np.ndarray):
            if id(value) not in known:
                known[id(value)] = made(value)
            return known[id(value)]
        return value

    def made(value: Any) -> Tensor:
        if isinstance(value, Tensor):
            return wrap_meta(meta_array(tuple(value.shape), tuple(value.stride()), value.dtype, place))
        strides = tuple([stride // value.itemsize for stride in value.strides])
        return wrap_meta(meta_array(value.shape, strides, as_dtype(value.dtype), place))

    return tree_map(fake, tree)


def _row(name: str, calls: int, each: Cost) -> tuple[str, ...]:
    numbers = (each.flops, each.transcendentals, each.read, each.written)
    return (name, str(calls), *[shown(number).strip() for number in numbers], f"{each.intensity:.2f}", each.source)


def shape_of(value: Any) -> Any:
    """Return the shape of a tensor, those of tensors in a list; what else there is as it is."""
    if isinstance(value, list | tuple):
        return type(value)([shape_of(each) for each in value])
    return tuple(value.shape) if isinstance(value, Tensor) else value
