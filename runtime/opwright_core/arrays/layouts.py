"""Arithmetic on shapes and strides: broadcasting, contiguity, and the strides PyTorch's TensorIterator gives a result.

Strides count elements, never bytes. No arrays here: the same rules are for NumPy, CuPy and metadata alone. Sizes and
strides may be symbolic: Note [Undecided comparisons].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from opwright_core.arrays.sizes import at_least_one, check, guard_or_true, shown, shown_shape

Shape = tuple[int, ...]

# Note [Undecided comparisons]
# Sizes that only data tells (unbacked SymInts) are compared here by the same code as ints. Where nothing known decides
# a comparison, one that a module of this mark makes is False, as by `guard_or_false`, instead of an error. So each is
# written such that False is the result that is right for every value: `stride == step`, not `stride != step`.
UNDECIDED_IS_FALSE = True


def contiguous_strides(shape: Shape) -> Shape:
    """Return row-major strides; a dimension of size 0 counts as 1, as in PyTorch."""
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size or at_least_one(size)
    return tuple(reversed(strides))


def ordered_strides(shape: Shape, order: Sequence[int]) -> Shape:
    """Return dense strides, dimensions in `order`, slowest first; sizes of 0 are not 1, as in TensorIterator."""
    strides = [0] * len(shape)
    step = 1
    for dim in reversed(order):
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def channels_last_strides(shape: Shape) -> Shape:
    """Return strides of a (N, C, H, W) or (N, C, D, H, W) array stored with its channels last."""
    strides = [0] * len(shape)
    step = 1
    for dim in _channels_first(len(shape)):
        strides[dim] = step
        step *= shape[dim] or at_least_one(shape[dim])
    return tuple(strides)


def is_contiguous(shape: Shape, strides: Shape) -> bool:
    """Whether the elements lie in row-major order without gaps; dimensions of size 1 may have any stride."""
    if 0 in shape:
        return True
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 1:
            continue
        if stride == step:
            step *= size
        else:
            return type(step) is not int and _is_packed(shape, strides, range(len(shape) - 1, -1, -1))
    return True


def _is_packed(shape: Shape, strides: Shape, dims: Iterable[int]) -> bool:
    """Whether the strides are those of a new array with these dimensions, fastest first: no size counts as 0."""
    step = 1
    for dim in dims:
        if shape[dim] == 1:
            continue
        if strides[dim] == step:
            step *= at_least_one(shape[dim])
        else:
            return False
    return True


def is_channels_last(shape: Shape, strides: Shape) -> bool:
    """Whether a 4-d or 5-d array is contiguous with its channels last."""
    if len(shape) not in (4, 5):
        return False
    step = 1
    dims = _channels_first(len(shape))
    for dim in dims:
        if shape[dim] == 1:
            continue
        if strides[dim] == step:
            step *= shape[dim]
        else:
            return type(step) is not int and _is_packed(shape, strides, dims)
    return True


def is_empty(shape: Shape) -> bool:
    """Whether there are no elements."""
    return any(size == 0 for size in shape)


def is_dense(shape: Shape, strides: Shape) -> bool:
    """Whether the elements fill a block of memory, each position once, in some order of the dimensions."""
    # As in PyTorch: sizes below 2 sort last and decide nothing, so that an array with a size of 0 fails only by its
    # other strides.
    step = 1
    for stride, size in sorted((stride, size) for stride, size in zip(strides, shape, strict=True) if not size < 2):
        if stride == step:
            step *= size
        else:
            # Strides that only data tells have no order: two that are common need none.
            symbolic = type(step) is not int or type(stride) is not int
            return symbolic and any(_is_packed(shape, strides, dims) for dims in _common_orders(len(shape)))
    return True


def _common_orders(ndim: int) -> Iterator[Sequence[int]]:
    """Yield the order of dimensions, fastest first, of contiguous and of channels-last arrays."""
    yield range(ndim - 1, -1, -1)
    if ndim in (4, 5):
        yield _channels_first(ndim)


def _channels_first(ndim: int) -> Sequence[int]:
    return (1, *range(ndim - 1, 1, -1), 0)


def may_overlap_itself(shape: Shape, strides: Shape) -> bool:
    """Whether two indices surely reach one element: a stride of 0 in a dimension larger than 1 (PyTorch's test)."""
    if is_dense(shape, strides):
        return False
    return any(stride == 0 and size > 1 for size, stride in zip(shape, strides, strict=True))


def broadcast_shapes(shapes: Sequence[Shape]) -> Shape:
    """Return the shape that all broadcast to. Raises RuntimeError naming sizes and dimension, as PyTorch does."""
    result = shapes[0]
    for shape in shapes[1:]:
        # The lengths first: tuples of different lengths still compare their items, which is a guard for symbolic ones.
        if len(result) != len(shape) or result != shape:
            result = _broadcast_pair(result, shape)
    return result


def _broadcast_pair(first: Shape, second: Shape) -> Shape:
    ndim = max(len(first), len(second))
    result = [1] * (ndim - len(first)) + list(first)
    for position in range(1, len(second) + 1):
        a, b = result[-position], second[-position]
        if a == b or b == 1:
            continue
        result[-position] = b if a == 1 else _broadcast_size(a, b, ndim - position)
    return tuple(result)


def _broadcast_size(a: int, b: int, dim: int) -> int:
    """Return the size two sizes broadcast to. Neither is known to be 1: they must be equal, a known one is taken."""
    check(
        a == b,
        lambda: f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}",
    )
    return b if type(b) is int else a


def check_countable(shape: Shape, itemsize: int) -> None:
    """Raise RuntimeError for a shape that no array has: of too many dimensions, or of more bytes than can be counted.

    Dimensions of size 0 count as 1, as they do in NumPy.
    """
    if len(shape) > _MAX_DIMS:
        raise RuntimeError(f"a tensor has at most {_MAX_DIMS} dimensions, but the shape {list(shape)} has {len(shape)}")
    if math.prod([max(size, 1) for size in shape]) * itemsize >= 1 << 63:
        raise RuntimeError(
            f"Storage size calculation overflowed: {shown_shape(shape)} elements of {itemsize} bytes are more than "
            "2**63 - 1"
        )


_MAX_DIMS = 64  # NumPy's


def same_shape(first: Shape, second: Shape) -> bool:
    """Whether two shapes are equal. Where only data could tell, they are taken to be (`sizes.check`)."""
    if len(first) != len(second):
        return False
    if first == second:
        return True
    if not all(guard_or_true(a == b) for a, b in zip(first, second, strict=True)):
        return False
    for a, b in zip(first, second, strict=True):
        check(a == b, lambda: f"expected shapes {list(first)} and {list(second)} to be equal")
    return True


def pointwise_strides(shape: Shape, operands: Sequence[tuple[Shape, Shape]]) -> Shape:
    """Return the strides of a pointwise result of `shape`, from its operands' (shape, strides), () for numbers.

    TensorIterator (CPU): operands of one shape that are all contiguous, all channels-last, or all dense with the same
    strides hand their layout on; otherwise the dimensions are sorted by the operands' strides, the first operand that
    can tell deciding.
    """
    first = operands[0][1]
    if all(len(sizes) == len(shape) and sizes == shape for sizes, _ in operands):
        if all(is_contiguous(*operand) for operand in operands):
            return contiguous_strides(shape)
        if len(shape) == 4 and all(is_channels_last(*operand) for operand in operands):
            return channels_last_strides(shape)
        if is_dense(*operands[0]) and all(strides == first for _, strides in operands):
            return first
    if len(shape) < 2:
        return contiguous_strides(shape)
    order = _slowest_first(shape, [_expanded(shape, *operand) for operand in operands])
    if order == list(range(len(shape))):
        return contiguous_strides(shape)
    return ordered_strides(shape, order)


def _expanded(shape: Shape, sizes: Shape, strides: Shape) -> Shape:
    """Return an operand's strides over the result, without signs: 0 where it is repeated."""
    missing = len(shape) - len(sizes)
    return (0,) * missing + tuple(
        (abs(stride) if shape[missing + dim] == 1 else 0) if size == 1 else abs(stride)
        for dim, (size, stride) in enumerate(zip(sizes, strides, strict=True))
    )


def _slowest_first(shape: Shape, rows: list[Shape]) -> list[int]:
    # An insertion sort that stops at ties, not sorted(): the comparison is no order (0 tells nothing), and PyTorch's
    # result depends on it.
    order = list(range(len(shape) - 1, -1, -1))
    for start in range(1, len(shape)):
        moving = start
        for other in range(start - 1, -1, -1):
            comparison = _compare(shape, rows, order[other], order[moving])
            if comparison > 0:
                order[other], order[moving] = order[moving], order[other]
                moving = other
            elif comparison < 0:
                break
    return order[::-1]


def _compare(shape: Shape, rows: list[Shape], inner: int, outer: int) -> int:
    for row in rows:
        a, b = row[inner], row[outer]
        if a == 0 or b == 0:
            continue
        if a == b:
            if shape[inner] > shape[outer]:
                return 1
        elif a < b:
            return -1
        elif b < a or b <= at_least_one(a):
            return 1
        elif a <= at_least_one(b):  # u0 beside 1: as if no size were 0
            return -1
    return 0


def wrap_dim(dim: int, ndim: int) -> int:
    """Return a dimension counted from the front; a 0-dim array has one, named 0 or -1.

    Raises IndexError with PyTorch's text.
    """
    bound = ndim or 1
    if not -bound <= dim < bound:
        expected = f"expected to be in range of [{-bound}, {bound - 1}], but got {shown(dim)}"
        raise IndexError(f"Dimension out of range ({expected})")
    return dim % bound


def existing_dim(dim: int, ndim: int) -> int:
    """Return a dimension counted from the front. Raises IndexError out of range, and where there is none."""
    if ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, ndim)


def count(shape: Sequence[int]) -> int:
    """Return the number of elements."""
    total = 1
    for size in shape:
        total *= size
    return total


def surely_empty(shape: Sequence[int]) -> bool:
    """Whether a size is 0; a symbolic one is not asked."""
    return any(type(size) is int and size == 0 for size in shape)


def span(shape: Shape, strides: Shape) -> tuple[int, int]:
    """Return offsets from the first element to the lowest and the highest one, (0, -1) for an empty array."""
    low = high = 0
    for size, stride in zip(shape, strides, strict=True):
        if size == 0:
            return 0, -1
        if stride < 0:
            low += (size - 1) * stride
        else:
            high += (size - 1) * stride
    return low, high
