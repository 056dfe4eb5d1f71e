"""Arrays with elements written at positions along a dimension."""

from __future__ import annotations

from typing import Any

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import Along, Dim
from opwright_core.arrays.dtypes import COMPLEX, as_dtype, bool_, int32, int64
from opwright_core.arrays.sizes import holds
from opwright_core.plans.operands import NUMBERS, check_accepted, check_number
from opwright_core.plans.plan import Plan, PlanApart
from opwright_core.plans.specs import TensorSpec
from opwright_core.rules.factories import overwritten

# The kinds of dtypes that a reduction is for, where not for all.
_KINDS = {"mean": "integer floating complex", "amax": "bool integer floating", "amin": "bool integer floating"}


def scattered(
    self: Along,
    dim: Dim,
    index: Along,
    src: Along = None,
    *,
    value: complex = 0,
    reduce: str | None = None,
    choices: str = "",
) -> Plan:
    """Plan `self` with elements of `src`, or a number, at the positions along `dim` that an index of its own shape or a
    smaller one gives; contiguous.

    `choices`: the names that `reduce` may be. Raises RuntimeError where shapes, dtypes, `reduce` or the number
    (`value`) do not fit.
    """
    dim = layouts.wrap_dim(dim, self.ndim)
    if not layouts.is_empty(index.shape):
        check_index_dtype("scatter", index)
    if src is not None:
        _check_same_dtype("scatter", self, src)
    if not layouts.is_empty(index.shape):
        check_index_fits(index, self, "self", dim)
        if src is not None:
            check_index_fits(index, src, "src", -1)
    if reduce is not None and reduce not in choices.split():
        raise RuntimeError(f"reduce argument must be one of {', '.join(choices.split())}, got {reduce!r}")
    if not layouts.is_empty(index.shape):
        if reduce in _KINDS:
            check_accepted(_KINDS[reduce], as_dtype(self.dtype))
        check_number(value, as_dtype(self.dtype))
    return _rewritten(self, index) if src is None else _rewritten(self, index, src)


def check_index_dtype(name: str, index: Any) -> None:
    """Raise RuntimeError unless the index holds int32 or int64."""
    if index.dtype not in (int64, int32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index, but got {index.dtype}")


def check_index_fits(index: Any, other: Any, name: str, dim: int) -> None:
    """Raise RuntimeError unless the index is no larger than `other`, except along `dim`; 0-dim counts as one
    position."""
    if (index.ndim or 1) != (other.ndim or 1):
        error = IndexError if name == "src" and index.ndim > other.ndim else RuntimeError
        raise error(f"Index tensor must have the same number of dimensions as {name} tensor")
    for each, (want, have) in enumerate(zip(index.shape, other.shape, strict=False)):
        if each != dim and not holds(want <= have):
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than {name} {list(other.shape)}"
                + (f" apart from dimension {dim}" if dim >= 0 else "")
            )


def index_written(
    name: str,
    self: Any,
    dim: int,
    index: Any,
    source: Any,
    *,
    alpha: complex = 1,
    reduce: str | None = None,
    include_self: bool = True,
) -> Plan:
    """Plan `self` with slices of `source` written along `dim` (`index_add`, `index_reduce`); contiguous.

    Raises IndexError for an index that is no vector, RuntimeError where shapes, dtypes or `alpha` do not fit.
    """
    if reduce not in (None, "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"{name}(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    dim = layouts.wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError(f"{name}_(): Index should have dimension 1 or 0 (got {index.ndim})")
    check_index_dtype(name, index)
    _check_same_dtype(name, self, source)
    if dim and dim >= source.ndim:
        raise RuntimeError(f"{name}_(): Indexing dim {dim} is out of bounds of the source tensor")
    if not source.ndim and not holds(_length(index) == 1):
        raise IndexError(f"{name}_(): a 0-dim source goes to one place, but index has {_length(index)} elements")
    if source.ndim and not holds(_length(index) == source.shape[dim]):
        raise RuntimeError(
            f"{name}_(): Number of indices ({_length(index)}) should be equal to the size of the source along {dim}: "
            f"{list(source.shape)}"
        )
    fits = _fit_around(self, source, dim) if self.ndim and source.ndim else self.ndim == source.ndim
    if not fits:
        raise RuntimeError(_misfit(name, self, source, dim))
    if reduce is not None and not layouts.is_empty(source.shape):
        accepted = _KINDS.get(reduce) if include_self else "integer floating"
        check_accepted(accepted, as_dtype(self.dtype))
    if not layouts.is_empty(source.shape):
        check_number(alpha, as_dtype(self.dtype))
    return _rewritten(self, index, source)


def index_copied(self: Any, dim: int, index: Any, source: Any) -> Plan:
    """Plan `self` with slices of `source` instead of its own along `dim`; contiguous.

    Raises IndexError or RuntimeError where they do not fit.
    """
    dim = layouts.wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if not source.ndim and not holds(_length(index) == 1):
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {_length(index)})")
    if source.ndim != self.ndim and source.ndim and self.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. "
            f"Source dimensionality ({source.ndim}), destination dimensionality ({self.ndim})"
        )
    if index.dtype != int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {index.dtype}")
    _check_same_dtype("index_copy", self, source)
    if not _fit_around(self, source, dim):
        raise RuntimeError(_misfit("index_copy", self, source, dim))
    if source.ndim and not holds(_length(index) == source.shape[dim]):
        raise IndexError(
            f"index_copy_(): Number of indices ({_length(index)}) should be equal to source.size(dim) "
            f"({source.shape[dim]})"
        )
    return _rewritten(self, index, source)


def index_filled(self: Any, dim: int, index: Any, value: Any) -> Plan:
    """Plan `self` with a number, or a 0-dim array's, in the slices of `dim` that a vector names; strides are kept."""
    if not isinstance(value, NUMBERS) and value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if index.dtype != int64:
        raise IndexError(f"index_fill_(): Expected dtype int64 for index, but got {index.dtype}")
    is_complex = isinstance(value, complex) if isinstance(value, NUMBERS) else value.dtype in COMPLEX
    if is_complex and self.dtype not in COMPLEX:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    layouts.wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise RuntimeError("index_fill_(): Index has to be a vector/scalar")
    if isinstance(value, NUMBERS):
        check_number(value, as_dtype(self.dtype))
    return PlanApart(overwritten(self, may_overlap=True).spec, (self, index, value), apart=(index,))


def put(self: Any, index: Any, source: Any) -> Plan:
    """Plan `self` with elements of `source` at positions in the whole array; strides are kept."""
    _check_same_dtype("put", self, source)
    if index.dtype != int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {index.dtype}")
    if not holds(layouts.count(index.shape) == layouts.count(source.shape)):
        raise IndexError(
            f"put_(): Expected source and index to have the same number of elements, but got shapes "
            f"{list(source.shape)} and {list(index.shape)}"
        )
    if layouts.is_empty(self.shape) and not layouts.is_empty(index.shape):
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    return PlanApart(overwritten(self).spec, (self, index, source), apart=(index, source), beside=(self,))


def taken(self: Any, index: Any) -> Plan:
    """Plan the elements of `self` at positions in the whole array; the shape of the index, contiguous."""
    if index.dtype != int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index.dtype}")
    if layouts.is_empty(self.shape) and not layouts.is_empty(index.shape):
        raise IndexError("take(): tried to take from an empty tensor")
    spec = TensorSpec(index.shape, layouts.contiguous_strides(index.shape), as_dtype(self.dtype))
    return PlanApart(spec, (self, index), apart=(self, index))


def masked_scattered(self: Any, mask: Any, source: Any) -> Plan:
    """Plan `self` with elements of `source` where a mask is true; the two broadcast; contiguous."""
    if mask.dtype != bool_:
        raise RuntimeError(f"masked_scatter only supports boolean masks, but got mask with dtype {mask.dtype}")
    _check_same_dtype("masked_scatter", self, source)
    shape = layouts.broadcast_shapes([self.shape, mask.shape])
    spec = TensorSpec(shape, layouts.contiguous_strides(shape), as_dtype(self.dtype), pointwise=True)
    return PlanApart(spec, (self, mask, source), beside=(self, mask))


def _rewritten(self: Any, *others: Any) -> Plan:
    spec = overwritten(self, memory_format="contiguous_format").spec
    return PlanApart(spec, (self, *others), apart=others, beside=(self,))


def _length(index: Any) -> int:
    length: int = index.shape[0] if index.ndim else 1
    return length


def _check_same_dtype(name: str, self: Any, source: Any) -> None:
    if as_dtype(self.dtype) != as_dtype(source.dtype):
        raise RuntimeError(
            f"{name}_(): self and source expected to have the same dtype, but got (self) {self.dtype} "
            f"and (source) {source.dtype}"
        )


def _fit_around(self: Any, source: Any, dim: int) -> bool:
    same = layouts.same_shape
    return same(self.shape[:dim], source.shape[:dim]) and same(self.shape[dim + 1 :], source.shape[dim + 1 :])


def _misfit(name: str, self: Any, source: Any, dim: int) -> str:
    return (
        f"{name}_(): source tensor shape {list(source.shape)} must match self tensor shape {list(self.shape)}, "
        f"excluding dimension {dim}"
    )
