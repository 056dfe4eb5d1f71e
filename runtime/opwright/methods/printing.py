"""The text of a tensor: `tensor([[1., 2.]], dtype=float64)`, laid out as PyTorch lays it out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from opwright.names.late_bound import late_bound
from opwright_core.arrays.devices import backend_of
from opwright_core.arrays.dtypes import COMPLEX, FLOATING, bool_, dtype_name, get_default_dtype, int64, to_complex
from opwright_core.keys import FRONT_MODE, META, TANGENT
from opwright_core.tensors.tensor import Tensor, install_methods

Values = np.ndarray[Any, Any]


@dataclass(slots=True)
class PrintOptions:
    """Settings of how tensors are written: digits, elements from which on a tensor is shortened, elements shown at each
    end, length of lines, and whether numbers are written with an exponent (None: where that is shorter)."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


options: Final = PrintOptions()
_PROFILES: Final = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are written, in all threads; `profile` ("default", "short", "full") sets all but `sci_mode` and
    comes first. What is left out stays, but `sci_mode`, which without a value is chosen by the numbers. Raises
    ValueError for an unknown profile."""
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"profile is one of {', '.join(_PROFILES)}, got {profile!r}")
        chosen = _PROFILES[profile]
        options.precision, options.threshold = chosen.precision, chosen.threshold
        options.edgeitems, options.linewidth = chosen.edgeitems, chosen.linewidth
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in given.items():
        if value is not None:
            setattr(options, name, value)
    options.sci_mode = sci_mode


class Numbers:
    """The form of the real numbers of one tensor: all in one style, at one width."""

    def __init__(self, values: Values) -> None:
        self.floating = values.dtype.kind == "f"
        finite = values[np.isfinite(values) & (values != 0)] if self.floating else values.reshape(-1)
        self.style = self._style(finite) if self.floating else ""
        self.width = max((len(self.text(value)) for value in finite.tolist()), default=0)
        self.width = max(self.width, 1)

    @staticmethod
    def _style(finite: Values) -> str:
        if finite.size == 0:
            return ".0f"
        size = np.abs(finite)
        smallest, largest = float(size.min()), float(size.max())
        whole = bool(np.all(finite == np.ceil(finite)))
        is_wide = largest / smallest > 1000 or largest > 1e8 or (not whole and smallest < 1e-4)
        if is_wide if options.sci_mode is None else options.sci_mode:
            return f".{options.precision}e"
        return ".0f" if whole else f".{options.precision}f"

    def text(self, value: Any) -> str:
        """Return one number, as wide as it comes out."""
        if not self.floating:
            return str(value)
        written = format(value, self.style)
        return written + "." if self.style == ".0f" and math.isfinite(value) else written

    def padded(self, value: Any) -> str:
        """Return one number at the common width."""
        return self.text(value).rjust(self.width)


class ComplexNumbers:
    """The form of complex numbers: both parts in a style of their own."""

    def __init__(self, values: Values) -> None:
        self.real = Numbers(values.real)
        self.imag = Numbers(values.imag)
        self.width = self.real.width + self.imag.width + 1

    def padded(self, value: complex) -> str:
        """Return one number at the common width."""
        imag = (self.imag.padded(value.imag) + "j").lstrip()
        return self.real.padded(value.real) + ("" if imag[0] in "+-" else "+") + imag


def format_tensor(tensor: Tensor) -> str:
    """Return the `repr` of a tensor. Of more than 1,000 elements, each dimension's three first and last are shown."""
    if tensor.keys & FRONT_MODE and (shown := late_bound.levels().text_of(tensor)):
        return shown
    if tensor.keys & META:
        return _format_without_data(tensor)
    prefix = _opening(tensor, "tensor(")
    backend = backend_of(tensor.array)
    values = backend.to_numpy(tensor.array)
    notes = [f"device='{tensor.device}'"] if tensor.device.type != "cpu" else []
    usual = (get_default_dtype(), to_complex(get_default_dtype()), int64, bool_)
    if values.size == 0:
        body = "[]"
        notes += [f"size={tuple(values.shape)}"] if values.ndim != 1 else []
        notes += [f"dtype={dtype_name(tensor.dtype)}"] if tensor.dtype != get_default_dtype() else []
    else:
        body = _body(values, len(prefix))
        notes += [f"dtype={dtype_name(tensor.dtype)}"] if tensor.dtype not in usual else []
    return _with_notes(prefix + body, [*notes, *_gradient_notes(tensor)], len(prefix))


def format_values(tensor: Tensor) -> str:
    """Return the values of a tensor as `repr` writes them; of one without data, or of a transform, its `repr`."""
    if tensor.keys & (FRONT_MODE | META):
        return format_tensor(tensor)
    values = backend_of(tensor.array).to_numpy(tensor.array)
    return _body(values, 0) if values.size else "[]"


def format_html(tensor: Tensor) -> str:
    """Return what notebooks show: the facts of a tensor as a table, and its values."""
    from opwright.inspection.html_tables import escape, html_table  # for notebooks alone

    shape = f"[{', '.join(map(str, tensor.shape))}]"
    facts = {"shape": shape, "dtype": dtype_name(tensor.dtype), "device": str(tensor.device)}
    facts["requires_grad"] = str(tensor.requires_grad)
    if tensor.grad_fn is not None:
        facts["grad_fn"] = tensor.grad_fn.name().rpartition("::")[2]
    return f"{html_table('', [*facts], [[*facts.values()]])}<pre>{escape(format_values(tensor))}</pre>"


def _format_without_data(tensor: Tensor) -> str:
    """Return everything but the values: `tensor(..., device='meta', size=(2, 3))`, `FakeTensor(..., size=(2, 3))`."""
    prefix = _opening(tensor, "tensor(" if tensor.is_meta else "FakeTensor(")
    notes = [f"device='{tensor.device}'"] if tensor.device.type != "cpu" else []
    notes.append(f"size={_sizes(tensor.shape)}")
    notes += [f"dtype={dtype_name(tensor.dtype)}"] if tensor.dtype != get_default_dtype() else []
    return _with_notes(f"{prefix}...", [*notes, *_gradient_notes(tensor)], len(prefix))


def _opening(tensor: Tensor, plain: str) -> str:
    kind = type(tensor)
    is_plain = kind is Tensor or kind.__module__ == "torch.nn.parameter"  # (as PyTorch prints its Parameters)
    return plain if is_plain else f"{kind.__name__}("


def _sizes(shape: tuple[Any, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _gradient_notes(tensor: Tensor) -> list[str]:
    tangent = _tangent_note(tensor) if tensor.keys & TANGENT else []
    node = tensor.grad_fn
    if node is not None:
        return [f"grad_fn=<{node.name().rpartition('::')[2]}>", *tangent]
    return [*(["requires_grad=True"] if tensor.requires_grad else []), *tangent]


def _tangent_note(tensor: Tensor) -> list[str]:
    tangent = late_bound.gradients().current_tangent(tensor)
    return [] if tangent is None else [f"tangent={format_tensor(tangent)}"]


def _body(values: Values, indent: int) -> str:
    summarize = values.size > options.threshold
    if values.dtype in FLOATING:
        values = values.astype(np.float64)
    shown = _edges(values) if summarize else values
    numbers = ComplexNumbers(shown) if values.dtype in COMPLEX else Numbers(shown)
    return _nested(values, numbers, indent, summarize)


def _edges(values: Values) -> Values:
    for axis, size in enumerate(values.shape):
        if size > 2 * options.edgeitems:
            values = np.take(values, [*range(options.edgeitems), *range(size - options.edgeitems, size)], axis)
    return values


def _nested(values: Values, numbers: Numbers | ComplexNumbers, indent: int, summarize: bool) -> str:
    if values.ndim == 0:
        return numbers.padded(values.item())
    if values.ndim == 1:
        return _line(values, numbers, indent, summarize)
    parts = _shown(values, summarize)
    rows = ["..." if part is None else _nested(part, numbers, indent + 1, summarize) for part in parts]
    return "[" + ("," + "\n" * (values.ndim - 1) + " " * (indent + 1)).join(rows) + "]"


def _shown(values: Values, summarize: bool) -> Iterator[Any]:
    """Yield the parts along the first dimension; None stands for those left out."""
    if not summarize or len(values) <= 2 * options.edgeitems:
        yield from values
        return
    yield from values[: options.edgeitems]
    yield None
    yield from values[-options.edgeitems :]


def _line(values: Values, numbers: Numbers | ComplexNumbers, indent: int, summarize: bool) -> str:
    words = [" ..." if value is None else numbers.padded(value.item()) for value in _shown(values, summarize)]
    fitting = max(1, (options.linewidth - indent) // (numbers.width + 2))
    lines = [", ".join(words[start : start + fitting]) for start in range(0, len(words), fitting)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _with_notes(text: str, notes: list[str], indent: int) -> str:
    length = len(text) - text.rfind("\n") + 1
    for note in notes:
        if length + len(note) + 2 > options.linewidth:
            text += ",\n" + " " * indent + note
            length = indent + len(note)
        else:
            text += ", " + note
            length += len(note) + 2
    return text + ")"


@install_methods
class Printable:
    """The text forms of Tensor."""

    __slots__ = ()

    def __repr__(self: Any) -> str:
        return format_tensor(self)

    def _repr_html_(self: Any) -> str | None:
        kind: Any = type(self)
        return format_html(self) if kind.__repr__ is Tensor.__repr__ else None  # a class with a text of its own has it

    def __format__(self: Any, spec: str) -> str:
        has_text = type(self) is not Tensor or self.keys & META  # what `str` gives is all that can be said of it
        if self.ndim == 0 and not self.is_meta and (spec or not has_text):
            return format(self.item(), spec)
        if spec:
            raise TypeError("unsupported format string passed to Tensor.__format__")
        return str(self)
