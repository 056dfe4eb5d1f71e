"""Checks of the lines of an entry of derivatives.yaml against its operator's inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opwright_codegen.derivatives.derivative import Derivative
from opwright_codegen.derivatives.entries import Entry, Line
from opwright_codegen.errors import SchemaError, nearest
from opwright_codegen.schema.model import FunctionSchema, SchemaKind

__all__ = [
    "check_arguments", "check_forward", "check_line", "check_outputs", "gradient_problems", "has_mixed_outputs",
]  # fmt: skip

_AUTOMATIC = ("auto_linear", "auto_element_wise")


def check_arguments(entry: Entry, schema: FunctionSchema) -> None:
    """Raise SchemaError for an argument that has the name of what formulas see besides."""
    for argument in schema.arguments:
        if argument.name in ("grad_input_mask", "result"):
            message = f"{schema.name} has an argument {argument.name!r}, a name that formulas have already"
            raise SchemaError("hidden-name", message, entry.name.span, "rename the argument in the schema")


def check_outputs(entry: Entry, schema: FunctionSchema) -> None:
    """Raise SchemaError for an `output_differentiability` that does not fit the outputs."""
    count = len(schema.returns)
    outputs = f"{count} output" + ("s" if count != 1 else "")
    if entry.conditions and (len(entry.conditions) != 1 or count != 1):
        message = f"a condition is for an operator with one output, and {schema.name} has {count}"
        raise SchemaError("output-differentiability", message, entry.outputs_span, "write True or False for each")
    if entry.booleans is not None and len(entry.booleans) != count:
        message = f"{len(entry.booleans)} values for {outputs}"
        raise SchemaError("output-differentiability", message, entry.outputs_span, "write one for each output")
    if entry.booleans is not None and not all(entry.booleans) and schema.kind is SchemaKind.INPLACE:
        message = f"{schema.name} is in-place: what it writes to stays differentiable"
        raise SchemaError("output-differentiability", message, entry.outputs_span, "leave output_differentiability out")


def check_line(line: Line, schema: FunctionSchema, given: dict[str, Line]) -> bool:
    """Whether the line is about outputs. Raises SchemaError for what is no input or output, or was there before.

    `given` has the lines before this one by their names, and gets this one.
    """
    inputs = {argument.name: argument for argument in schema.arguments}
    outputs = schema.output_names
    for name in line.names:
        known = (*inputs, *outputs)
        if name.text not in known:
            near = nearest(name.text, known)
            hint = f"did you mean {near!r}?" if near else f"inputs: {', '.join(inputs)}; outputs: {', '.join(outputs)}"
            message = f"{schema.name} has no input or output {name.text!r}"
            raise SchemaError("unknown-variable", message, name.span, hint)
        if name.text in given or name.text in [other.text for other in line.names if other is not name]:
            message = f"{name.text!r} is given twice"
            raise SchemaError("duplicate-variable", message, name.span, "each input and output has one formula")
        if name.text in inputs and name.text in [result.name for result in schema.returns]:
            message = f"{name.text!r} is both an argument and a result of {schema.name}"
            raise SchemaError("ambiguous-variable", message, name.span, "give the result another name in the schema")
    kinds = {name.text in inputs for name in line.names}
    if len(kinds) > 1:
        message = "inputs and outputs do not share a formula"
        raise SchemaError("mixed-variables", message, line.names[0].span, "write a line for each")
    is_forward = not kinds.pop()
    given |= {name.text: line for name in line.names}
    for name in line.names:
        has_formula = not is_forward and line.text.text.strip().lower() != "non_differentiable"
        if has_formula and not inputs[name.text].type.is_tensor_like:
            message = f"{name.text!r} is a {inputs[name.text].type}, which has no gradient"
            raise SchemaError("not-a-tensor", message, name.span, "leave the line out")
    return is_forward


def check_forward(line: Line, lines: Sequence[Line], derivatives: Sequence[Derivative]) -> None:
    """Raise SchemaError for an automatic formula where it does not apply."""
    word = line.text.text.strip()
    if word not in _AUTOMATIC:
        return
    if len(lines) > 1 or len(line.names) > 1:
        message = f"{word} is for one differentiable output"
        raise SchemaError(word.replace("_", "-"), message, line.text.span, "write a formula for each output")
    inputs = [name for derivative in derivatives for name in derivative.inputs]
    if not inputs:
        message = f"{word} needs an input with a gradient"
        raise SchemaError(word.replace("_", "-"), message, line.text.span, "give the formula of an input, too")
    if word == "auto_element_wise" and len(inputs) != 1:
        message = f"auto_element_wise is for one differentiable input, not {len(inputs)}"
        hint = f"write a formula over {', '.join(f'{name}_t' for name in inputs)}"
        raise SchemaError("auto-element-wise", message, line.text.span, hint)


def gradient_problems(schema: FunctionSchema, derivatives: Sequence[Derivative]) -> Iterator[SchemaError]:
    """Yield what is wrong with how the formulas of an entry call gradients: all in one way."""
    first: dict[str, Derivative] = {}
    for derivative in derivatives:
        for name in derivative.gradient_names:
            first.setdefault(name if name in ("grad", "grads") else "grad_NAME", derivative)
    if len(first) > 1:
        ways = " and ".join(sorted(first))
        message = f"the formulas of {schema.name} mix {ways}"
        hint = "grad is the gradient of the first output alone; with several, write grads[i] or grad_NAME for all"
        yield SchemaError("mixed-gradients", message, list(first.values())[-1].text.span, hint)
    used = {position for derivative in derivatives for position in derivative.gradients}
    if set(first) == {"grads"} and len(used) == 1 and len(schema.returns) > 1 and _only_first(derivatives):
        if schema.returns[used.pop()].type.is_list_like:
            return
        message = f"of the gradients of {schema.name}, grads[0] alone is used"
        hint = "write grad if the first output alone is differentiable"
        yield SchemaError("only-first-gradient", message, first["grads"].text.span, hint)


def has_mixed_outputs(schema: FunctionSchema, outputs: Sequence[int]) -> bool:
    """Whether a list is among several outputs that can have gradients."""
    return len(outputs) > 1 and any(schema.returns[position].type.is_list_like for position in outputs)


def _only_first(derivatives: Sequence[Derivative]) -> bool:
    texts = [derivative.text.text for derivative in derivatives]
    return sum(text.count("grads") for text in texts) == sum(text.count("grads[0]") for text in texts)
