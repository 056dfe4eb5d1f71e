"""`vmap` itself: trees of arguments in, trees of results out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, ParamSpec, TypeVar, get_args

from opwright.batching.batching import Batching, Randomness
from opwright.names.lazy_docstrings import wraps
from opwright.namespaces import aten
from opwright.pytree import TreeSpec, root_of, tree_flatten, tree_unflatten
from opwright_core.arrays.devices import as_device, shape_of
from opwright_core.random_state.generator import Generator, generator_of
from opwright_core.tensors.tensor import Tensor

__all__ = ["vmap"]

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")
Dims = Any  # an int, None, or a tree of them


def vmap(
    func: Callable[P, R], in_dims: Dims = 0, out_dims: Dims = 0, randomness: Randomness = "error", *,
    chunk_size: int | None = None,
) -> Callable[P, R]:  # fmt: skip
    """Return the function that computes `func` for a batch of samples in one call.

    `in_dims` says which dimension of each argument counts the samples, None for arguments that are the same for all: an
    int for all arguments, or a tree of the structure of the arguments, of which a leaf may stand for a subtree.
    `out_dims` says where results have that dimension, None for what is the same for all samples, a tensor or not.
    Arguments by name are the same for all. Random operators raise an error, or draw `different` numbers for samples, or
    the `same`. With `chunk_size` so many samples are computed at a time. Raises ValueError where dimensions and
    arguments do not fit. Semantics: `torch.func.vmap`.
    """
    if randomness not in get_args(Randomness):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and (type(chunk_size) is not int or chunk_size < 1):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0, got {chunk_size!r}")

    is_flat = type(in_dims) is int or (type(in_dims) is tuple and all(_is_dim(each) for each in in_dims))
    is_simple = is_flat and type(out_dims) is int and chunk_size is None

    @wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if is_simple:
            dims = (in_dims,) * len(args) if type(in_dims) is int else in_dims
            if (size := _size_of(args, dims)) is not None:
                return _simple(func, dims, out_dims, args, kwargs, size, randomness)
        call = _Call(func, in_dims, out_dims, args, kwargs)
        if chunk_size is None or chunk_size >= call.size:
            return call.whole(randomness)
        return call.in_chunks(chunk_size, randomness)

    return wrapped


def _is_dim(dim: Dims) -> bool:
    return dim is None or type(dim) is int


def _size_of(args: tuple[Any, ...], dims: tuple[int | None, ...]) -> int | None:
    """Return the number of samples where all arguments are tensors with their dimension, and agree; else None."""
    if len(args) != len(dims):
        return None
    size = None
    for each, dim in zip(args, dims, strict=True):
        if type(each) is not Tensor:
            return None
        if dim is None:
            continue
        shape = shape_of(each.array)
        if not -len(shape) <= dim < len(shape) or (size is not None and size != shape[dim]):
            return None
        size = shape[dim]
    return size


def _simple(
    func: Function,
    dims: tuple[int | None, ...],
    out_dim: int,
    args: tuple[Any, ...],
    kwargs: Any,
    size: int,
    randomness: Randomness,
) -> Any:
    """Return what `_Call` gives where arguments are tensors and the dimensions numbers."""
    with Batching(size, randomness) as level:
        pairs = zip(args, dims, strict=True)
        given = [each if dim is None else level.put(each, dim % each.ndim) for each, dim in pairs]
        output = func(*given, **kwargs)
        results, spec = ([output], None) if type(output) is Tensor else tree_flatten(output)
        values = [_value_of(func, level, each, out_dim) for each in results]
    if spec is None:
        return _placed(values[0], out_dim)
    return tree_unflatten([_placed(each, out_dim) for each in values], spec)


class _Call:
    """One call: its arguments taken apart, and the dimensions that count samples."""

    def __init__(self, func: Function, in_dims: Dims, out_dims: Dims, args: tuple[Any, ...], kwargs: Any) -> None:
        self.func = func
        self.out_dims = out_dims
        self.leaves, self.spec = tree_flatten(args)
        self.dims = self._dims(in_dims, args)
        self.kwargs = kwargs
        self.size = self._size()

    @property
    def name(self) -> str:
        """Return how errors name the function."""
        return _name_of(self.func)

    def _dims(self, in_dims: Dims, args: tuple[Any, ...]) -> list[int | None]:
        if not isinstance(in_dims, int | tuple) or isinstance(in_dims, bool):
            raise ValueError(
                f"vmap({self.name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially "
                f"nested) tuple matching the structure of inputs, got: {type(in_dims)}."
            )
        if not args:
            raise ValueError(
                f"vmap({self.name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to "
                "vmap over a function with no inputs. The latter is unsupported."
            )
        flat = _broadcast(in_dims, self.spec)
        if flat is None:
            raise ValueError(
                f"vmap({self.name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure of "
                f"`inputs`. in_dims has structure {tree_flatten(in_dims)[1]} but inputs has structure {self.spec}."
            )
        return [self._checked(in_dims, *pair) for pair in zip(self.leaves, flat, strict=True)]

    def _checked(self, in_dims: Dims, value: Any, dim: Any) -> int | None:
        if dim is None:
            return None
        if type(dim) is int and isinstance(value, Tensor) and -value.ndim <= dim < value.ndim:
            return dim % value.ndim
        about = f"vmap({self.name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for"
        if type(dim) is not int:
            raise ValueError(f"{about} an input but in_dim must be either an integer dimension or None.")
        if not isinstance(value, Tensor):
            raise ValueError(
                f"{about} an input but the input is of type {type(value)}. We cannot vmap over non-Tensor arguments, "
                "please use None as the respective in_dim"
            )
        raise ValueError(
            f"{about} some input, but that input is a Tensor of dimensionality {value.ndim} so expected in_dim to "
            f"satisfy -{value.ndim} <= in_dim < {value.ndim}."
        )

    def _size(self) -> int:
        sizes = [v.shape[dim] for v, dim in zip(self.leaves, self.dims, strict=True) if dim is not None]
        if not sizes:
            raise ValueError(
                f"vmap({self.name}, ...)(<inputs>): at least one Tensor must have a dimension that counts samples: "
                "every in_dim is None"
            )
        if len(set(sizes)) > 1:
            raise ValueError(
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
                f"mapped dimension in vmap({self.name})"
            )
        size: int = sizes[0]
        return size

    def whole(self, randomness: Randomness) -> Any:
        """Return the results of all samples at once."""
        leaves, spec, dims = self._run(self.leaves, self.size, randomness)
        return tree_unflatten([_placed(each, dim) for each, dim in zip(leaves, dims, strict=True)], spec)

    def in_chunks(self, count: int, randomness: Randomness) -> Any:
        """Return the results of all samples, of which `count` are computed at a time."""
        parts: list[list[Any]] = []
        spec: TreeSpec | None = None
        dims: list[int | None] = []
        states = self._random_states() if randomness == "same" else []
        for start in range(0, self.size, count):
            taken = min(count, self.size - start)
            leaves = [_part(v, dim, start, taken) for v, dim in zip(self.leaves, self.dims, strict=True)]
            for generator, state in states:
                generator.set_state(state)
            found, spec, dims = self._run(leaves, taken, randomness)
            parts.append(found)
        assert spec is not None  # there is at least one sample
        whole = [
            each[0] if dim is None else aten["cat.default"](list(each), 0)
            for *each, dim in zip(*parts, dims, strict=True)
        ]
        return tree_unflatten([_placed(each, dim) for each, dim in zip(whole, dims, strict=True)], spec)

    def _random_states(self) -> list[tuple[Generator, Any]]:
        """Return the generators that the samples may draw from, and where each stands."""
        devices = {each.device for each in self.leaves if isinstance(each, Tensor)}
        return [(each, each.get_state()) for each in map(generator_of, {as_device("cpu"), *devices})]

    def _run(
        self, leaves: Sequence[Any], size: int, randomness: Randomness
    ) -> tuple[list[Any], TreeSpec, list[int | None]]:
        """Return the results, in which the samples come first, their structure, and where the samples are to be."""
        with Batching(size, randomness) as level:
            given = [v if dim is None else level.put(v, dim) for v, dim in zip(leaves, self.dims, strict=True)]
            results, spec = tree_flatten(self.func(*tree_unflatten(given, self.spec), **self.kwargs))
            dims = self._out_dims(spec)
            values = [_value_of(self.func, level, each, dim) for each, dim in zip(results, dims, strict=True)]
        return values, spec, dims

    def _out_dims(self, spec: TreeSpec) -> list[int | None]:
        out_dims = self.out_dims
        is_one = spec.is_leaf() and type(out_dims) is tuple and len(out_dims) == 1  # a result stands for a tuple of it
        flat = list(out_dims) if is_one else _broadcast(out_dims, spec)
        if flat is None:
            raise ValueError(
                f"vmap({self.name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the "
                f"structure of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has "
                f"structure {spec}."
            )
        for each in flat:
            if each is not None and type(each) is not int:
                raise ValueError(
                    f"vmap({self.name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                    f"collection of ints representing where in the outputs the vmapped dimension should appear."
                )
        return flat


def _value_of(func: Function, level: Batching, output: Any, dim: int | None) -> Any:
    """Return the value of a result, its samples first; itself for None, whatever it is. Raises ValueError for what is
    no tensor, and for what differs from sample to sample where it should not."""
    if dim is None:
        if level.is_batched(output):
            name = _name_of(func)
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return output
    if not isinstance(output, Tensor):
        name = _name_of(func)
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(output)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    found = level.front(output)
    return level.repeated(output) if found is None else found


_ATOMS: Final = (int, type(None))


def _broadcast(dims: Dims, spec: TreeSpec) -> list[Any] | None:
    """Return a dimension for each leaf of a structure, of which a leaf of `dims` may stand for a part; None where the
    two do not fit."""
    if isinstance(dims, _ATOMS):
        return [dims] * spec.num_leaves
    kind, context, children = root_of(dims)
    if kind is None:
        return [dims] * spec.num_leaves
    if len(children) != len(spec.children) or kind is not spec.type or context != spec.context:
        return None
    found: list[Any] = []
    for child, part in zip(children, spec.children, strict=True):
        each = _broadcast(child, part)
        if each is None:
            return None
        found += each
    return found


def _part(value: Any, dim: int | None, start: int, count: int) -> Any:
    return value if dim is None else aten["narrow.default"](value, dim, start, count)


def _placed(value: Any, dim: int | None) -> Any:
    """Return a result with the samples in another dimension than the first."""
    if dim is None or dim == 0:
        return value
    if not -value.ndim <= dim < value.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-value.ndim}, {value.ndim - 1}], but got {dim})"
        )
    return aten["movedim.int"](value, 0, dim)


def _name_of(func: Function) -> str:
    return getattr(func, "__name__", None) or repr(func)
