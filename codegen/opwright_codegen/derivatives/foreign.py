"""Formulas in C++, read as far as their text shows: for files of PyTorch, which are read as data.

Names and facts are those of torchgen, so that what it saves can be compared with what we find.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from opwright_codegen.derivatives.derivative import Derivative, ForwardDerivative, ForwardKind, Saved
from opwright_codegen.errors import SchemaError
from opwright_codegen.formula.ast import Formula
from opwright_codegen.formula.parser import parse
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Text

__all__ = ["ForeignFormulas", "gradient_positions", "mentions", "refuse_sizes", "saved_of"]

# What stands for one fact about an argument, and the name under which that is saved; in the order in which they apply.
_FACTS = (
    (r"{}.sym_sizes\(\)", "_sym_sizes"),
    (r"{}->sym_sizes\(\)", "_sym_sizes_opt"),
    (r"{}.sym_blocksize\(\)", "_self_sym_blocksize_opt"),
    (r"{}.options\(\)", "_options"),
    (r"zeros_like\({}\)", "_info"),
    (r"{}.sym_size\((-?\w+)\)", "_sym_argsize_"),
    (r"{}.numel\(\)", "_numel"),
    (r"{}.sym_numel\(\)", "_sym_numel"),
    (r"to_args_sizes\({}\)", "_args_sizes"),
    (r"to_args_sizes_symint\({}\)", "_args_sizes_symint"),
    (r"to_args_scalartypes\({}\)", "_args_scalartypes"),
    (r"TensorGeometry\({}\)", "_geometry"),
    (r"{}.scalar_type\(\)", "_scalar_type"),
    (r"{}.dim\(\)", "_dim"),
    (r"{}.sym_strides\(\)", "_sym_strides"),
    (r"{}.layout\(\)", "_layout"),
    (r"{}.is_conj\(\)", "_conjugate"),
)
_PLAIN_SIZES = (
    (re.compile(r"(?:\.|->)sizes\(\)"), "sym_sizes()", "shape"),
    (re.compile(r"(?:\.|->)size\((-?\d+)\)"), "sym_size(…)", "shape[…]"),
    (re.compile(r"(?:\.|->)strides\(\)"), "sym_strides()", "stride()"),
)
_NOT_IMPLEMENTED = re.compile(r'not_implemented\("([^"]*)"\)')
_GRADIENT = re.compile(r"(?:^|\W)grads\[(\d+)\]")


def refuse_sizes(text: Text, *, is_ours: bool) -> None:
    """Raise SchemaError for a size that cannot be symbolic, and say how to ask for one that can."""
    for pattern, symbolic, ours in _PLAIN_SIZES:
        found = pattern.search(text.text)
        if found is not None:
            span = text.span
            if len(span.text) == len(text.text):
                span = span.sub(found.start(), found.end())
            asked = found[0].removeprefix("->").removeprefix(".")
            message = f"{asked} is no symbolic size, in the formula {text.text!r}"
            raise SchemaError("fixed-size", message, span, f"write .{ours if is_ours else symbolic}")


def mentions(formula: str, name: str) -> bool:
    """Whether the text has `name` as a word."""
    return re.search(rf"(?:^|\W){re.escape(name)}(?:$|\W)", formula) is not None


def gradient_positions(formula: str) -> list[int]:
    """Return the `i` of each `grads[i]`."""
    return [int(position) for position in _GRADIENT.findall(formula)]


def saved_of(formula: str, names: Iterable[str]) -> tuple[str, tuple[Saved, ...]]:
    """Return what the text needs of these values, and the text with each fact replaced by its saved name."""
    found: list[Saved] = []
    for name in names:
        for pattern, suffix in _FACTS:
            found += _facts(formula, name, pattern, suffix)
            formula = re.sub(pattern.format(name), lambda m, n=name, s=suffix: _saved_name(n, s, m), formula)  # type: ignore[misc]
        if mentions(formula, name):
            found.append(Saved(name, name))
    return formula, tuple({saved.name: saved for saved in found}.values())


def _facts(formula: str, name: str, pattern: str, suffix: str) -> Iterator[Saved]:
    for match in re.finditer(pattern.format(name), formula):
        yield Saved(_saved_name(name, suffix, match, is_field=True), name, match[0])


def _saved_name(name: str, suffix: str, match: re.Match[str], *, is_field: bool = False) -> str:
    if suffix == "_info" and not is_field:
        return f"{name}_info.zeros()"
    return name + suffix + (match[1].replace("-", "minus_") if match.re.groups else "")


class ForeignFormulas:
    """The reader of formulas of a file of PyTorch: what lies outside our language stays text."""

    def derivative(
        self, schema: FunctionSchema, inputs: tuple[str, ...], text: Text, outputs: tuple[int, ...]
    ) -> Derivative:
        """Return the gradients of `inputs` by the formula `text`."""
        refuse_sizes(text, is_ours=False)
        formula = _parsed(text)
        short, saved_inputs = saved_of(text.text, [argument.name for argument in schema.arguments])
        short, saved_outputs = saved_of(short, schema.output_names)
        named = {
            position: f"grad_{schema.returns[position].name}" for position in outputs if schema.returns[position].name
        }
        names = {name for name in ("grad", "grads", *named.values()) if mentions(short, name)}
        indexed = gradient_positions(short)
        for index in indexed:
            if index >= len(schema.returns):
                message = f"grads[{index}] is of no output: there are {len(schema.returns)}"
                raise SchemaError("gradient-index", message, text.span)
        found = {outputs[index] for index in indexed if index < len(outputs)}
        found |= {position for position, name in named.items() if name in names}
        if "grads" in names and not indexed:
            found |= set(outputs)
        if "grad" in names:
            found |= set(outputs[:1])
        reason = _NOT_IMPLEMENTED.fullmatch(text.text.strip())
        return Derivative(
            inputs,
            text,
            formula,
            saved_inputs,
            saved_outputs,
            tuple(sorted(found)),
            frozenset(names),
            mentions(text.text, "grad_input_mask"),
            reason[1] if reason else None,
        )

    def forward(
        self, schema: FunctionSchema, outputs: tuple[str, ...], text: Text, derivatives: tuple[Derivative, ...]
    ) -> ForwardDerivative:
        """Return the tangents of `outputs` by the formula `text`."""
        given = {name for derivative in derivatives for name in derivative.inputs}
        is_foreach = schema.name.base.startswith("_foreach_")
        inputs = [a for a in schema.arguments if a.name in given and (is_foreach or not a.type.is_list_like)]
        names = [argument.name for argument in inputs]
        match text.text.strip():
            case "auto_linear":
                every = tuple(argument.name for argument in schema.arguments if argument.name in given)
                return ForwardDerivative(outputs, text, ForwardKind.LINEAR, None, every)
            case "auto_element_wise":
                every = tuple(argument.name for argument in schema.arguments)
                backward = derivatives[0].text.text
                primals = tuple(name for name in names if mentions(backward, name) or mentions(backward, f"{name}_p"))
                return ForwardDerivative(outputs, text, ForwardKind.ELEMENT_WISE, None, every, primals)
            case formula:
                ambiguous = next((name for name in names if mentions(formula, name)), None)
                if ambiguous is not None:
                    hint = f"{ambiguous}_p is its value, {ambiguous}_t its tangent"
                    message = f"{ambiguous!r} alone says too little here"
                    raise SchemaError("ambiguous-input", message, text.span, hint)
                tangents = tuple(name for name in names if mentions(formula, f"{name}_t"))
                primals = tuple(name for name in names if mentions(formula, f"{name}_p"))
                results = tuple(name for name in schema.output_names if mentions(formula, name))
                kind = ForwardKind.WRITTEN
                return ForwardDerivative(outputs, text, kind, _parsed(text), tangents, primals, results)

    def check_condition(self, schema: FunctionSchema, text: Text) -> None:
        """Accept any text: a condition in C++ stays text."""


def _parsed(text: Text) -> Formula | None:
    try:
        return parse(text)
    except SchemaError:
        return None
