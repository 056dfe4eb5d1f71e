"""Calls of NumPy's functions for the differential test: the lines of `numpy_calls.txt`, with the arrays that they name.

`{a,b}` stands for a line with each of them, `{UNARY}` for one with each name of a table below; `|` in them is a comma.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import seeds

_RANDOM = seeds.numpy_generator(43)
_F, _G, _T = _RANDOM.uniform(0.1, 0.9, (3, 4)), _RANDOM.uniform(0.1, 0.9, (3, 4)), _RANDOM.uniform(size=(2, 3, 4))
_I = _RANDOM.integers(-5, 6, (3, 4))
_NAMES: dict[str, Any] = {
    "np": np,
    "F": _F,  # floats
    "G": _G,
    "T": _T,  # of three dimensions
    "S": _RANDOM.uniform(0.1, 0.9, (4, 4)) + 4 * np.eye(4),  # regular
    "I": _I,  # integers
    "P": np.abs(_I) + 1,  # positive ones
    "N": _RANDOM.integers(0, 5, 12),  # places
    "O": np.argsort(_F, axis=1),
    "B": _F > 0.5,
    "C": _F + 1j * _G,
    "V": np.array([3.0, 1.0, 2.0, 1.0, np.nan, -0.0]),
    "SMALL": np.array([1, 2, 250], np.uint8),
    "HALF": _F.astype(np.float16),
    "SINGLE": _F.astype(np.float32),
    "EMPTY": np.zeros(0),
    "ROWLESS": np.zeros((0, 3)),
    "POINT": np.array(0.5),
}
_TABLES = {
    "UNARY": (
        "absolute,arccos,arcsin,arcsinh,arctan,arctanh,cbrt,ceil,conjugate,cos,cosh,deg2rad,degrees,exp,exp2,expm1,"
        "fabs,floor,isfinite,isinf,isnan,log,log10,log1p,log2,logical_not,negative,positive,rad2deg,radians,"
        "reciprocal,rint,sign,signbit,sin,sinh,spacing,sqrt,square,tan,tanh,trunc"
    ),
    "REAL": (
        "absolute,arccosh,arcsinh,arctan,cbrt,ceil,conjugate,cos,cosh,deg2rad,exp,exp2,expm1,fabs,floor,isfinite,"
        "isinf,isnan,log,log10,log1p,log2,logical_not,negative,positive,rad2deg,reciprocal,rint,sign,signbit,sin,sinh,"
        "spacing,sqrt,square,tan,tanh,trunc"
    ),
    "BINARY": (
        "add,arctan2,copysign,divide,equal,float_power,floor_divide,fmax,fmin,fmod,greater,greater_equal,heaviside,"
        "hypot,less,less_equal,logaddexp,logaddexp2,logical_and,logical_or,logical_xor,maximum,minimum,multiply,"
        "nextafter,not_equal,power,remainder,subtract"
    ),
    "INTEGERS": "bitwise_and,bitwise_or,bitwise_xor,gcd,lcm,left_shift,right_shift",
    "REDUCTIONS": "all,any,max,mean,min,prod,std,sum,var,median,ptp,nansum,nanmean,nanmax,count_nonzero",
}


class Call(NamedTuple):
    """A call: its text, the function and the arguments."""

    text: str
    function: Any
    args: tuple[Any, ...]
    options: dict[str, Any]


def _lines(text: str) -> Iterator[str]:
    """Yield a line with each choice of each pair of braces."""
    found = re.search(r"\{(.*?)\}", text)
    if found is None:
        yield text.replace("|", ", ")
        return
    for choice in _TABLES.get(found[1], found[1]).split(","):
        yield from _lines(text[: found.start()] + choice + text[found.end() :])


def _call(text: str) -> Call:
    function, arguments = text.split("(", 1)

    def parts(*args: Any, **options: Any) -> Call:
        return Call(text, eval(function, _NAMES), args, options)

    made: Call = eval(f"parts({arguments}", {**_NAMES, "parts": parts})
    return made


_TEXT = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
CALLS = [_call(line) for text in _TEXT.splitlines() for line in _lines(text)]
