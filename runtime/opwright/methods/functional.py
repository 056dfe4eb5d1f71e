"""Functions whose signature is no operator's: the number of their results or dimensions depends on an argument. They
are PyTorch's, written over the operators, for Tensors and plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar, overload

from numpy.typing import NDArray

from opwright.namespaces import aten
from opwright.symbolic.numbers import SymInt
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import INTEGRAL, as_dtype, int64
from opwright_core.arrays.size import Size
from opwright_core.tensors.tensor import Tensor, install_methods

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod",
    "chain_matmul", "einsum", "lu", "meshgrid", "norm", "split", "stft", "tensordot", "unique", "unique_consecutive",
    "unravel_index",
]  # fmt: skip

Operand = TypeVar("Operand", Tensor, NDArray[Any])  # what comes out is of the kind that went in


@overload
def unique(
    input: Operand, sorted: bool = True, return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False, dim: int | None = None,
) -> Operand: ...  # fmt: skip
@overload
def unique(
    input: Operand, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any: ...  # fmt: skip
def unique(
    input: Any,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the unique elements in order, or the unique slices of `dim`; with them, in a tuple, where each input
    element's equal stands among them (`return_inverse`) and how often each occurs (`return_counts`)."""
    if dim is None:
        found = aten["_unique2"](input, sorted, return_inverse, return_counts)
    else:
        found = aten["unique_dim"](input, dim, sorted, return_inverse, return_counts)
    return _asked_for(found, return_inverse, return_counts)


@overload
def unique_consecutive(
    input: Operand,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Operand: ...
@overload
def unique_consecutive(
    input: Operand, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any: ...
def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return the elements without those equal to the one before, or such slices of `dim`; more as in `unique`."""
    found = aten["unique_consecutive"](input, return_inverse, return_counts, dim)
    return _asked_for(found, return_inverse, return_counts)


def _asked_for(found: tuple[Any, Any, Any], inverse: bool, counts: bool) -> Any:
    if not inverse and not counts:
        return found[0]
    return (found[0], *([found[1]] if inverse else []), *([found[2]] if counts else []))


def norm(
    input: Operand,
    p: complex | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: Operand | None = None,
    dtype: Any = None,
) -> Operand:
    """Return the vector norm of order `p` over all dimensions, or those in `dim`; "fro" is the order 2, "nuc" the
    nuclear norm of matrices.

    Raises RuntimeError for any other text, and for "fro" over more than two dimensions.
    """
    if p == "nuc":
        dims = (-2, -1) if dim is None else dim
        return aten["linalg_matrix_norm"](input, "nuc", dims, keepdim, **({} if out is None else {"out": out}))  # type: ignore[no-any-return]
    if isinstance(p, str):
        if p != "fro":
            raise RuntimeError(f"norm: p must be a number, 'fro' or 'nuc', but got {p!r}")
        if dim is not None and not isinstance(dim, int) and len(dim) > 2:
            raise RuntimeError(f"norm: the order 'fro' is for one or two dimensions, but got {len(dim)}")
    order = 2 if p is None or isinstance(p, str) else p
    options = {"dtype": dtype} if out is None else {"dtype": dtype, "out": out}
    return aten["linalg_vector_norm"](input, order, dim, keepdim, **options)  # type: ignore[no-any-return]


def stft(
    input: Operand,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Operand | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Operand:
    """Return the spectra of windows of `n_fft` elements, one every `hop_length` (a quarter of it), as columns; with
    `center` around their positions in the signal, which is padded.

    Raises RuntimeError for lengths and windows that do not fit, and where real signals come without `return_complex`.
    """
    windows = (n_fft, hop_length, win_length, window)
    options = (center, pad_mode, normalized, onesided, return_complex, align_to_window)
    return aten["stft.center"](input, *windows, *options)  # type: ignore[no-any-return]


@install_methods
class Functional:
    """The methods of Tensor for these functions, installed on it."""

    __slots__ = ()

    @overload
    def unique(
        self,
        sorted: bool = True,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: int | None = None,
    ) -> Tensor: ...
    @overload
    def unique(
        self, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
    ) -> Any: ...
    def unique(
        self: Any,
        sorted: bool = True,
        return_inverse: bool = False,
        return_counts: bool = False,
        dim: int | None = None,
    ) -> Any:
        """Call `opwright.unique`."""
        return unique(self, sorted, return_inverse, return_counts, dim)

    def unique_consecutive(
        self: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
    ) -> Any:
        """Call `opwright.unique_consecutive`."""
        return unique_consecutive(self, return_inverse, return_counts, dim)

    def stft(self: Any, n_fft: int, *arguments: Any, **options: Any) -> Tensor:
        """Call `opwright.stft`."""
        found: Tensor = stft(self, n_fft, *arguments, **options)
        return found

    def lu(self: Any, pivot: bool = True, get_infos: bool = False) -> Any:
        """Call `opwright.lu`."""
        return lu(self, pivot, get_infos)

    def norm(
        self: Any,
        p: complex | str | None = "fro",
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        dtype: Any = None,
    ) -> Tensor:
        """Call `opwright.norm`."""
        found: Tensor = norm(self, p, dim, keepdim, dtype=dtype)
        return found


@overload
def einsum(equation: str, /, *operands: Operand | Sequence[Operand]) -> Operand: ...
@overload
def einsum(*args: Any) -> Any: ...
def einsum(*args: Any) -> Any:
    """Return the sum of products that an equation in Einstein's notation says: `einsum("ij,jk->ik", a, b)`, operands
    one by one or in a list; or each operand before its labels as numbers, those of the result last: `einsum(a, [0, 1],
    b, [1, 2], [0, 2])`. Raises ValueError for fewer than two arguments."""
    from opwright_kernels.composites.einsum import equation_of_sublists

    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    equation, operands = (args[0], list(args[1:])) if isinstance(args[0], str) else equation_of_sublists(args)
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = list(operands[0])
    return aten["einsum"](equation, operands)


@overload
def tensordot(a: NDArray[Any], b: NDArray[Any], dims: Any = 2) -> NDArray[Any]: ...
@overload
def tensordot(a: Tensor, b: Tensor | NDArray[Any], dims: Any = 2) -> Tensor: ...
@overload
def tensordot(a: NDArray[Any], b: Tensor, dims: Any = 2) -> Tensor: ...
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Return the sum of products over `dims`: the last ones of `a` with the first ones of `b` where it is a number,
    else two lists of dimensions.

    Raises RuntimeError for a negative number.
    """
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(len(a.shape), len(b.shape)):
            raise RuntimeError(
                f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}, ndim_a={len(a.shape)}, "
                f"ndim_b={len(b.shape)}"
            )
        left, right = list(range(-dims, 0)), list(range(dims))
    else:
        left, right = ([each] if isinstance(each, int) else list(each) for each in dims)
    return aten["tensordot"](a, b, left, right)


def chain_matmul(*matrices: Operand | Sequence[Operand], out: Operand | None = None) -> Operand:
    """Return the product of the matrices, in the cheapest order."""
    return aten["chain_matmul"](_listed(matrices), **({} if out is None else {"out": out}))  # type: ignore[no-any-return]


def split(tensor: Operand, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Operand, ...]:
    """Return views of pieces of `dim`: of one size but for the last, or of the sizes given."""
    return tuple(aten["split"](tensor, split_size_or_sections, dim))


def broadcast_tensors(*tensors: Operand | Sequence[Operand]) -> tuple[Operand, ...]:
    """Return views of one shape, the one that the tensors broadcast to."""
    return tuple(aten["broadcast_tensors"](_listed(tensors)))


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """Return the shape that these shapes broadcast to; a number stands for a shape of one size. Raises RuntimeError
    where they do not fit, ValueError for a size below 0."""
    given = [(each,) if isinstance(each, int) else tuple(each) for each in shapes]
    if any(size < 0 for shape in given for size in shape):
        raise ValueError("Attempting to broadcast a dimension with negative length!")
    return Size(layouts.broadcast_shapes(given or [()]))


def unravel_index(indices: Operand, shape: int | Sequence[int]) -> tuple[Operand, ...]:
    """Return the positions along each dimension of positions in an array of this shape, counted row by row.

    Raises TypeError for indices that are no integers, and for a shape that holds anything else; ValueError for a size
    below 0.
    """
    if as_dtype(indices.dtype) not in INTEGRAL:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {as_dtype(indices.dtype)}")
    if not isinstance(shape, int | SymInt | Sequence):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int | SymInt) else tuple(shape)
    for size in sizes:
        if not isinstance(size, int | SymInt):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    if not sizes:
        return ()
    positions: list[Any] = []
    rest = aten["to"](indices, int64)
    for size in reversed(sizes):
        positions.insert(0, aten["remainder"](rest, size))
        rest = aten["floor_divide"](rest, size)
    return tuple(aten["unbind"](aten["stack"](positions, -1), -1))


def lu(A: Operand, pivot: bool = True, get_infos: bool = False, out: Any = None) -> tuple[Operand, ...]:
    """Return LU in one matrix, and pivots; with `get_infos` also which pivot was zero, which without raises
    RuntimeError."""
    found = aten["_lu_with_info"](A, pivot, not get_infos)[: 3 if get_infos else 2]
    if out is None:
        return tuple(found)
    if len(out) != len(found):
        raise TypeError(f"expected tuple of {len(found)} elements but got {len(out)}")
    for to, value in zip(out, found, strict=True):
        aten["copy_"](aten["resize_"](to, list(value.shape)), value)
    return out  # type: ignore[no-any-return]


def meshgrid(*tensors: Operand | Sequence[Operand], indexing: str = "ij") -> tuple[Operand, ...]:
    """Return the coordinates of the grid that vectors span, a tensor for each. `indexing`: "ij" has the first vector
    vary over the first dimension, "xy" over the second. Raises RuntimeError for any other word."""
    return tuple(aten["meshgrid"](_listed(tensors), indexing="ij" if indexing is None else indexing))


def cartesian_prod(*tensors: Operand | Sequence[Operand]) -> Operand:
    """Return all combinations of an element of each vector, one a row."""
    return aten["cartesian_prod"](_listed(tensors))  # type: ignore[no-any-return]


def block_diag(*tensors: Operand | Sequence[Operand]) -> Operand:
    """Return a matrix of the tensors along its diagonal, zero elsewhere."""
    return aten["block_diag"](_listed(tensors))  # type: ignore[no-any-return]


@overload
def atleast_1d(tensor: Operand, /) -> Operand: ...
@overload
def atleast_1d(tensors: Sequence[Operand], /) -> tuple[Operand, ...]: ...
@overload
def atleast_1d(first: Operand, second: Operand, /, *others: Operand) -> tuple[Operand, ...]: ...
def atleast_1d(*tensors: Any) -> Any:
    """Return the tensor, or a tuple of the tensors, with one dimension or more."""
    return _at_least("atleast_1d", tensors)


@overload
def atleast_2d(tensor: Operand, /) -> Operand: ...
@overload
def atleast_2d(tensors: Sequence[Operand], /) -> tuple[Operand, ...]: ...
@overload
def atleast_2d(first: Operand, second: Operand, /, *others: Operand) -> tuple[Operand, ...]: ...
def atleast_2d(*tensors: Any) -> Any:
    """Return the tensor, or a tuple of the tensors, with two dimensions or more."""
    return _at_least("atleast_2d", tensors)


@overload
def atleast_3d(tensor: Operand, /) -> Operand: ...
@overload
def atleast_3d(tensors: Sequence[Operand], /) -> tuple[Operand, ...]: ...
@overload
def atleast_3d(first: Operand, second: Operand, /, *others: Operand) -> tuple[Operand, ...]: ...
def atleast_3d(*tensors: Any) -> Any:
    """Return the tensor, or a tuple of the tensors, with three dimensions or more."""
    return _at_least("atleast_3d", tensors)


def _at_least(name: str, tensors: tuple[Any, ...]) -> Any:
    function = aten[name]
    if len(tensors) == 1 and not isinstance(tensors[0], list | tuple):
        return function(tensors[0])
    return tuple(function(_listed(tensors)))


def _listed(tensors: tuple[Any, ...]) -> list[Any]:
    """Return tensors that are passed one by one, or in one list."""
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else list(tensors)
