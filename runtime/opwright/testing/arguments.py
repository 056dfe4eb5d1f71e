"""Arguments of one call, drawn for an operator from their declared types and what their names suggest.

A draw need not fit the operator: the sampler keeps those that do.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

from opwright.testing.layouts import make_tensor
from opwright_core.arrays.dtypes import DType, as_dtype, bool_, float32, float64, int64
from opwright_core.dispatch.package.declarations import REQUIRED

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["POSITIONS", "WORDS", "declared_dtypes", "draw"]

POSITIONS: Final = ("index", "indices", "target", "sorter", "boundaries_index", "position", "label", "idx")
_TRUTHS: Final = ("mask", "condition", "attn_mask")
WORDS: Final = {
    "reduction": ("mean", "sum"), "reduce": ("sum", "amax", "add", "multiply"), "approximate": ("none", "tanh"),
    "rounding_mode": ("floor", "trunc"), "mode": ("constant", "reflect"), "padding": ("same", "valid"),
    "indexing": ("ij", "xy"), "side": ("left", "right"), "ord": ("fro", "nuc"), "UPLO": ("L", "U"),
    "equation": ("ij,jk->ik", "ij->ji", "...i,...i->..."), "interpolation": ("linear", "nearest"),
}  # fmt: skip


class _Draw:
    """The arguments of one call. Sizes come from few numbers, so that tensors often fit together."""

    def __init__(self, operator: Operator, dtype: DType, situation: str, random: Random) -> None:
        self._operator = operator
        self._dtype = dtype
        self._situation = situation
        self._random = random
        self._sizes = random.choice(((2, 3), (3, 2), (2,), (3,), (4, 2, 3)))
        self._shape = self._first_shape()
        self._tensors = 0
        self._always = dtypes_of_arguments(operator)

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        operator = self._operator
        args, kwargs, is_short = [], {}, False
        for position, (name, text, _, default, is_keyword_only) in enumerate(operator.arguments):
            keeps_default = default is not REQUIRED and self._random.random() < (0.7 if "Tensor" in text else 0.5)
            if is_keyword_only:
                if not keeps_default:
                    kwargs[name] = self._value(name, text, default)
            elif is_short or (keeps_default and position >= self._fewest()):
                is_short = True  # the rest have their defaults; what is required by name comes yet
            else:
                args.append(default if keeps_default else self._value(name, text, default))
        return args, kwargs

    def _fewest(self) -> int:
        positional = [each for each in self._operator.arguments if not each.is_keyword_only]
        return sum(argument.default is REQUIRED for argument in positional)

    def _first_shape(self) -> tuple[int, ...]:
        if self._situation == "0-dim":
            return ()
        shape = [self._random.choice(self._sizes) for _ in range(self._random.choice((1, 2, 2, 3, 3, 4, 5)))]
        if self._situation in ("empty", "size 1"):
            shape[self._random.randrange(len(shape))] = 0 if self._situation == "empty" else 1
        return tuple(shape)

    def _value(self, name: str, text: str, default: Any) -> Any:
        base = text.rstrip("?")
        if text.startswith("Tensor") and "[]" in text:
            return [self._tensor(name, same=True) for _ in range(self._random.choice((1, 2, 3)))]
        if base == "Tensor":
            return self._tensor(name)
        if "[" in base:
            return self._list(name, base)
        match base:
            case "int" | "SymInt":
                return self._random.choice((0, 1, -1, 2, 3))
            case "float":
                return self._random.choice((0.5, 1.0, 0.1))
            case "bool":
                return self._random.random() < 0.5
            case "Scalar" | "number":
                return self._random.choice((2, 0.5, 3, -1, True))
            case "ScalarType":
                return self._random.choice((self._dtype, float32, float64, int64))
            case "str":
                return self._random.choice(WORDS.get(name, ("" if default is REQUIRED else default,)))
        return None if default is REQUIRED else default

    def _tensor(self, name: str, same: bool = False) -> Any:
        first, self._tensors = self._tensors == 0, self._tensors + 1
        shape = self._shape if first or same or self._random.random() < 0.5 else self._related_shape()
        dtype, high = self._dtype, 4
        if name in self._always:
            dtype, high = self._always[name], 2
        elif not first or name in (*POSITIONS, *_TRUTHS):
            if any(word in name for word in _TRUTHS):
                dtype = bool_
            elif any(word in name for word in POSITIONS):
                dtype, high = int64, 2
        layout = self._situation if first or self._random.random() < 0.5 else "contiguous"
        if layout == "expanded" and self._operator.signature.positions[name] in self._operator.signature.written:
            layout = "contiguous"  # nothing is written to an expanded Tensor
        return make_tensor(shape, dtype, layout, self._random, high=high)

    def _related_shape(self) -> tuple[int, ...]:
        """Return a shape that may go with the first one: part of it, with sizes of 1, a factor of a product, or any."""
        shape, random = self._shape, self._random
        match random.randrange(6):
            case 0:
                return shape[random.randrange(len(shape) + 1) :]
            case 1:
                return tuple(random.choice((1, size)) for size in shape)
            case 2:
                return (*shape[:-2], *shape[-1:], random.choice(self._sizes))
            case 3:
                return (random.choice(self._sizes), *shape[-1:])
            case 4:
                return shape[:1]
            case _:
                return tuple(random.choice(self._sizes) for _ in range(random.randrange(4)))

    def _list(self, name: str, base: str) -> list[Any]:
        random, ndim = self._random, len(self._shape)
        if base.startswith(("float", "Scalar")):
            return [random.choice((0.5, 1.0, 2.0))] * random.choice((1, 2, max(ndim - 2, 1)))
        if base.startswith("bool"):
            return [random.random() < 0.5 for _ in range(random.choice((1, 2)))]
        if "size" in name or "shape" in name:
            return random.choice(
                (
                    [*self._shape],
                    [-1],
                    [*self._shape][::-1],
                    [2, *self._shape],
                    [2, 3],
                    [*self._shape[-1:]],
                    [3],
                    [2] * max(ndim - 2, 1),
                )
            )
        if "dim" in name:
            order = list(range(ndim))
            random.shuffle(order)
            return random.choice((order, [0], [-1], order[:2], [0, -1]))
        length = random.choice((1, 2, 3, ndim, max(ndim - 2, 1), 2 * ndim))
        return [random.choice((1, 1, 1, 2, 0, 3))] * length


def declared_dtypes(operator: Operator) -> tuple[DType, ...]:
    """Return the dtypes that an operator's declaration lists, none where it lists none: it may take others, too, which
    its `meta` casts to them."""
    return tuple(map(as_dtype, operator.dtypes.partition(";")[0].split()))


def dtypes_of_arguments(operator: Operator) -> dict[str, DType]:
    """Return the arguments that are always of one dtype, with it."""
    pairs = (each.strip().split(": ") for each in operator.dtypes.split(";")[1:])
    return {name: as_dtype(dtype) for name, dtype in pairs}


def draw(operator: Operator, dtype: DType, situation: str, random: Random) -> tuple[list[Any], dict[str, Any]]:
    """Return positional and keyword arguments."""
    return _Draw(operator, dtype, situation, random).arguments()
