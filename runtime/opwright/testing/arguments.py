"""Arguments of one call, drawn for an operator from their declared types and what their names suggest.

A draw need not fit the operator: the sampler keeps those that do.
"""

from __future__ import annotations

import math
import re
from random import Random
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from opwright.creation.construction import from_numpy
from opwright.testing.layouts import MIXED, make_tensor
from opwright_core.arrays.dtypes import COMPLEX, FLOATING, DType, as_dtype, bool_, float32, float64, int64
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
    "equation": ("ij,jk->ik", "ij->ji", "...i,...i->..."), "interpolation": ("linear", "nearest"), "p": ("fro", "nuc"),
}  # fmt: skip
_CHANNELS: Final = ("running_mean", "running_var", "save_mean", "save_invstd", "save_var", "HxW")
_OF_CHANNELS: Final = (*_CHANNELS, "weight", "bias")
_WITHOUT_DIMENSIONS: Final = ("start", "end", "q")
_SHARES: Final = ("std", "p", "q", "prob", "random_samples")  # numbers between 0 and 1
_SORTED: Final = ("boundaries", "sorted_sequence")
_OF_SHARES: Final = re.compile("bernoulli|poisson|multinomial|binomial|binary_cross_entropy(?!_with)")
# Lists of images, with the numbers that they are drawn from.
_IMAGE_LISTS: Final = {
    "kernel_size": (1, 2, 3), "stride": (1, 1, 2), "padding": (0, 0, 1), "dilation": (1,), "output_size": (1, 2, 3),
    "output_padding": (0,),
}  # fmt: skip
_OTHERS: Final = (float32, float64, int64, bool_)  # dtypes of the other tensors of a call that mixes them
_OFTEN: Final = 0.7


class _Draw:
    """The arguments of one call. Sizes come from few numbers, so that tensors often fit together."""

    def __init__(self, operator: Operator, dtype: DType, situation: str, random: Random) -> None:
        self._operator = operator
        self._dtype = dtype
        self._situation = situation
        self._random = random
        self._sizes = random.choice(((2, 3), (3, 2), (2,), (3,), (4, 2, 3)))
        self._names = {argument.name for argument in operator.arguments}
        self._image = image_dims(operator)
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
        if self._image and self._often():
            shape = [self._random.choice(self._sizes) for _ in range(self._image + self._random.choice((1, 2, 2)))]
        if self._situation in ("empty", "size 1"):
            shape[self._random.randrange(len(shape))] = 0 if self._situation == "empty" else 1
        return tuple(shape)

    def _value(self, name: str, text: str, default: Any) -> Any:
        base = text.rstrip("?")
        if base != text and default is REQUIRED and not self._often():
            return None
        if text.startswith("Tensor") and "[]" in text:
            return [self._tensor(name, same=True) for _ in range(self._random.choice((1, 2, 3)))]
        if base == "Tensor":
            return self._tensor(name)
        if "[" in base:
            return self._list(name, base)
        match base:
            case "int" | "SymInt":
                return self._int(name)
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

    def _often(self) -> bool:
        return self._random.random() < _OFTEN

    def _int(self, name: str) -> int:
        shape = self._shape
        if name in ("N", "C", "HxW", "group") and len(shape) > 1 and "HxW" in self._names:
            return {"N": shape[0], "C": shape[1], "HxW": math.prod(shape[2:])}.get(name, 1)
        return self._random.choice((0, 1) if name.endswith("_mode") else (0, 1, -1, 2, 3))

    def _tensor(self, name: str, same: bool = False) -> Any:
        first, self._tensors = self._tensors == 0, self._tensors + 1
        shape = self._shape if first or same or self._random.random() < 0.5 else self._related_shape()
        named = self._shape_of(name)
        if named is not None and self._often():
            shape = named
        dtype, high = self._dtype, 4
        if name in self._always:
            dtype, high = self._always[name], 2
        elif not first or name in (*POSITIONS, *_TRUTHS):
            if any(word in name for word in _TRUTHS):
                dtype = bool_
            elif any(word in name for word in POSITIONS) and (name != "target" or self._often()):  # or numbers
                dtype, high = int64, 2
            elif self._situation == MIXED:
                dtype = self._random.choice(_OTHERS)
        layout = self._situation if first or self._random.random() < 0.5 else "contiguous"
        if layout == "expanded" and self._operator.signature.positions[name] in self._operator.signature.written:
            layout = "contiguous"  # nothing is written to an expanded Tensor
        made = make_tensor(shape, dtype, layout, self._random, high=high)
        if name == "offsets" and len(shape) == 1:
            return from_numpy(np.arange(shape[0]))
        if name in _SORTED and shape and dtype not in COMPLEX:
            return from_numpy(np.sort(made.numpy()))
        is_share = name in _SHARES or _OF_SHARES.search(self._operator.name)
        return made.abs() / 4 if is_share and dtype in FLOATING else made

    def _shape_of(self, name: str) -> tuple[int, ...] | None:
        """Return the shape that an argument of this name mostly has, None where it says nothing."""
        shape = self._shape
        if name in _OF_CHANNELS and not self._names.isdisjoint(_CHANNELS):
            return shape[1:2]
        if name in _WITHOUT_DIMENSIONS:
            return ()
        if "offsets" in self._names:
            return {"weight": (4, 3), "indices": (3,), "offsets": (2,), "per_sample_weights": (3,)}.get(name)
        return (*shape[:2], self._image) if name == "random_samples" else None

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
        count = re.search(r"\[(\d+)\]", base)
        if count is not None and base.startswith("bool"):
            return [self._often() for _ in range(int(count[1]))]
        if self._image and self._often():
            length = int(count[1]) if count else self._image
            if name == "input_size":
                return [*self._shape[:2], *[random.choice((1, 2, 3)) for _ in range(length - 2)]]
            if name == "output_size" and "input_size" in self._names:
                return [*self._shape[2:]]
            if name in _IMAGE_LISTS:
                return [random.choice(_IMAGE_LISTS[name]) for _ in range(length)]
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


def image_dims(operator: Operator) -> int:
    """Return how many dimensions images have, as its name or the length of a list says, 0 where nothing does."""
    named = re.search(r"([123])d(?![a-z])", operator.name)
    if named is not None:
        return int(named[1])
    for name, text, *_ in operator.arguments:
        count = re.search(r"\[(\d+)\]", text)
        if name == "kernel_size" and count is not None:
            return int(count[1])
    return 0


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
