"""The libraries whose arrays operators take, told by the types of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from opwright_core.arrays.devices import Array, is_array
from opwright_core.late_bound import has_library, late_bound
from opwright_core.tensors.tensor import Tensor

__all__ = ["Kind", "kind_of", "pytorch_taker"]


def _nothing(value: Any, array: Any) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Kind:
    """A library of arrays: how one is taken, and how a result is given back.

    `take` returns an array over the same memory, which is read-only where nobody may write to it. `give` makes an array
    of the library, told a result and the arrays of the caller. `problem` says why an array cannot be taken, or is
    empty. `is_recorded`: the library itself has to see the call, for gradients or a program that it traces. `mark`
    tells it that an array was written, by way of the one that was taken.
    """

    name: str
    take: Callable[[Any], Array]
    give: Callable[[Array, Sequence[Any]], Any]
    problem: Callable[[Sequence[Any]], str] = lambda values: ""
    is_recorded: Callable[[Any], bool] = lambda value: False
    binding: str = ""
    mark: Callable[[Any, Array], None] = _nothing


# Where the kind of a class is found, by its library and, where not all of its classes are arrays, its name.
_HOMES: Final = {
    "torch.Tensor": "frameworks.PYTORCH",
    "jax.Array": "frameworks.JAX",
    "jax.Tracer": "frameworks.JAX",
    "jaxlib.Array": "frameworks.JAX",
    "mlx.array": "frameworks.MLX",
    "xarray.DataArray": "labelled.XARRAY",
    "xarray.Variable": "labelled.XARRAY",
    "pandas.Series": "labelled.PANDAS",
    "pandas.DataFrame": "labelled.PANDAS",
    "pandas.Index": "labelled.PANDAS",
}
_LAZY: Final = ("dask.", "sparse.")  # whose arrays a conversion would compute, or fill
_known: dict[type, Kind | None] = {}


def kind_of(value: Any) -> Kind | None:
    """Return the kind of another library's array; None for tensors, plain arrays, and all that is no array."""
    kind = type(value)
    try:
        return _known[kind]
    except KeyError:
        found = None if isinstance(value, Tensor | np.ndarray | np.generic) or is_array(value) else _found(kind)
    if len(_known) < 1024:
        _known[kind] = found
    return found


def pytorch_taker() -> Callable[[Any], Array]:
    """Return the function that takes a tensor of a PyTorch without DLPack's API in C. The compiled core asks for it."""
    return late_bound.tools().pytorch_taker()


def _found(kind: type) -> Kind | None:
    for base in kind.__mro__:
        library = base.__module__.partition(".")[0]
        name = base.__name__.rpartition(".")[2]  # JAX's is called `jaxlib._jax.Array`
        home = _HOMES.get(f"{library}.{name}")
        if home is not None:
            return late_bound.tools().kind_of_arrays(home) if has_library() else None
        if f"{library}." in _LAZY:
            return None
    if hasattr(kind, "__dlpack__") or hasattr(kind, "__array__"):
        return late_bound.tools().kind_of_protocols(kind) if has_library() else None
    return None
