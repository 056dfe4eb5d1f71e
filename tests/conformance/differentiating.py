"""What formulas of schemas/derivatives.yaml are tried with: their entries, their operators' samples in 64 bits, what is
left out of comparisons with PyTorch and why."""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import sweeps
from declared import aten, operators
from excuses import Table
from known_versions import OLDER, WITHOUT_GRADIENT
from samples import SAMPLES
from sampling import COMPLEX128, FLOAT64, Sample

import opwright
import opwright_kernels.gradients
from opwright_codegen.derivatives.derivative import DerivativeSet
from opwright_codegen.formula.emit import Spelling, emit
from opwright_codegen.schema.model import FunctionSchema, SchemaKind

# Operators whose gradients are not compared, and why.
NOT_COMPARED = {
    "native_dropout": "its mask is drawn",
    **dict.fromkeys(
        ["bernoulli", "bernoulli.p", "bernoulli.Tensor", "geometric", "poisson", "random.from", "normal_functional"],
        "its numbers are drawn",
    ),
    **dict.fromkeys(["normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor"], "its numbers are drawn"),
    **dict.fromkeys(WITHOUT_GRADIENT, "not differentiable in PyTorch before 2.15"),
    **dict.fromkeys(["copy", "remainder.Scalar_Tensor"], "PyTorch has no gradient for it"),
    **dict.fromkeys(["scatter.reduce", "scatter.value_reduce"], "PyTorch has no gradient for it"),
    **dict.fromkeys(["linspace.Tensor_Tensor", "linspace.Tensor_Scalar", "linspace.Scalar_Tensor"], "likewise"),
    **dict.fromkeys(["logspace.Tensor_Tensor", "logspace.Tensor_Scalar", "logspace.Scalar_Tensor"], "likewise"),
    "view_as_complex_copy": "its samples are of float32; the formula is that of view_as_complex",
    "polar": "PyTorch gives negative radii the gradient of positive ones",
    "hardsigmoid": "PyTorch's sixth is that of float32",
    "rrelu_with_noise_functional": "its noise is drawn",
    **dict.fromkeys(
        ["silu_backward", "mish_backward", "logit_backward", "hardsigmoid_backward", "native_group_norm_backward"],
        "PyTorch differentiates what it is made of instead; gradcheck and second derivatives of the forward compare it",
    ),
    "hardswish_backward": "PyTorch's third is that of float32",
    "digamma": "PyTorch's trigamma has 9 digits",
    "polygamma": "PyTorch's trigamma has 9 digits",
}


def is_singular(matrix: np.ndarray) -> bool:
    """Whether a matrix among these has no inverse."""
    is_square = matrix.ndim >= 2 and matrix.shape[-1] == matrix.shape[-2]
    return is_square and bool((np.linalg.det(matrix) == 0).any())


def is_square(sample: Sample) -> bool:
    """Whether a sample is of square matrices, or of an error."""
    shape = sample.args[0].shape
    return len(shape) < 2 or shape[-1] == shape[-2]


# Samples whose gradients differ on purpose, and why.
DIFFERENT = Table.of(
    "differentiating.DIFFERENT",
    beyond_factors=lambda one: one.args[1:] == (True,) and not is_square(one),
    beyond_factors_by_default=lambda one: one.args[1:] != (False,) and not is_square(one),
    beyond_some_factors=lambda one: one.args[1:] == (False,) and not is_square(one),
    integer_exponent=lambda one: one.args[1].dtype.kind == "i",
    singular=lambda one: is_singular(one.args[0]),
    far_out=lambda one: bool((np.abs(one.args[0]) > 1e10).any()),
    complex_correction=lambda one: one.args[0].dtype == COMPLEX128 and (one.kwargs.get("correction") or 0) > 1,
    empty=lambda one: not one.args[0].size,
    at_0_or_1=lambda one: bool(np.isin(one.args[0], (0, 1)).any()),
    by_frequency=lambda one: one.args[4],
    smaller_product=lambda one: one.args[4] == "prod" and one.args[2].shape != one.args[3].shape,
    complex_alpha=lambda one: isinstance(one.kwargs.get("alpha"), complex),
)
SAMPLES_OF_EACH = 12


def derivatives() -> DerivativeSet:
    found = aten().derivatives
    assert found is not None
    return found


@cache
def functions() -> SimpleNamespace:
    package = opwright_kernels.gradients
    found: dict[str, Any] = {}
    for module in pkgutil.iter_modules(package.__path__):
        found |= vars(importlib.import_module(f"{package.__name__}.{module.name}"))
    return SimpleNamespace(**found)


def evaluate(formula: Any, values: Mapping[str, Any]) -> Any:
    """The formula's value, with operators and backward functions behind it."""
    renamed = {name: f"values['{name}']" for name in values}
    text = emit(formula, Spelling(function="gradients.", arguments=renamed))
    names = {"values": values, "ops": opwright.ops.aten, "gradients": functions(), "math": math}
    return eval(text, names | {"dtypes": opwright})


def case_names() -> list[str]:
    """The operators with entries; in-place variants with an entry of their own are compared with the functional one."""
    known = aten().operators.operators
    names = (name for name in derivatives().entries if known[name].kind is not SchemaKind.INPLACE)
    return sorted(name.removeprefix("aten::") for name in names)


def composites() -> list[str]:
    """Functional operators made of others, whose derivatives are those of their parts."""
    return sorted(
        name.removeprefix("aten::")
        for name, operator in aten().operators.operators.items()
        if operator.kind is SchemaKind.FUNCTIONAL
        and name not in derivatives().entries
        and any("Implicit" in key for key, _ in operator.dispatch)
        and any(result.type.is_tensor_like for result in operator.schema.returns)
    )


def schema_of(name: str) -> FunctionSchema:
    return operators()[name].schema


def inputs_of(name: str) -> list[str]:
    """The arguments that have a gradient, or, of a composite, may have one."""
    entry = derivatives().find(f"aten::{name}")
    if entry is None:
        return [argument.name for argument in schema_of(name).arguments if argument.type.is_tensor_like]
    known = [derivative for derivative in entry.derivatives if derivative.reason is None]
    return [name for derivative in known for name in derivative.inputs]


def widened(sample: Sample, name: str) -> Sample | None:
    """The sample in 64 bits, where gradients can be told apart from rounding; None where they cannot be told at all.

    Integers of samples without other numbers become floats where gradients are asked for.
    """
    arrays = [each for each in leaves([*sample.args, *sample.kwargs.values()]) if isinstance(each, np.ndarray)]
    if any(not np.isfinite(array.astype(np.complex128)).all() for array in arrays if array.dtype.kind in "fcV"):
        return None
    dtypes = [value for value in (*sample.args, *sample.kwargs.values()) if isinstance(value, np.dtype)]
    if any(dtype.kind in "fcV" and dtype not in (FLOAT64, COMPLEX128) for dtype in dtypes):
        return None
    is_whole = all(array.dtype.kind in "iu" for array in arrays)
    names = [argument.name for argument in schema_of(name).arguments]
    entry = derivatives().find(f"aten::{name}")
    wanted = () if entry is None else entry.differentiable_inputs

    def wide(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [wide(name, each) for each in value]
        if not isinstance(value, np.ndarray):
            return value
        kind = "f" if is_whole and name in wanted else value.dtype.kind
        return cast(value, COMPLEX128 if kind == "c" else FLOAT64) if kind in "fcV" else value

    args = tuple(wide(name, value) for name, value in zip(names, sample.args, strict=False))
    return Sample(args, {name: wide(name, value) for name, value in sample.kwargs.items()})


def cast(value: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The array in another dtype, under strides of as many elements."""
    if not value.size or any(step % value.itemsize for step in value.strides):
        return value.astype(dtype)
    strides = [step // value.itemsize * dtype.itemsize for step in value.strides]
    extent = 1 + sum((n - 1) * step for n, step in zip(value.shape, strides, strict=True)) // dtype.itemsize
    view = np.lib.stride_tricks.as_strided(np.zeros(extent, dtype), value.shape, strides)
    view[...] = value
    return view


def leaves(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from leaves(value)
        else:
            yield value


def named_arguments(schema: FunctionSchema, sample: Sample) -> dict[str, Any]:
    """The arguments of the sample by name, with defaults."""
    found = {argument.name: value for argument, value in zip(schema.arguments, sample.args, strict=False)}
    found |= sample.kwargs
    for argument in schema.arguments:
        if argument.name not in found:
            found[argument.name] = None if argument.default is None else default(argument)
    for argument in schema.arguments:
        listed = argument.type.list_type
        if listed is not None and listed.size and isinstance(found[argument.name], int):
            found[argument.name] = [found[argument.name]] * listed.size
    return found


def default(argument: Any) -> Any:
    value = argument.default.value
    if isinstance(value, bool | int | float | str | complex) or value is None:
        return value
    if isinstance(value, tuple | list):
        return list(value)
    return {"Mean": 1, "Sum": 2}.get(getattr(value, "name", str(value)), value)


def overload(root: Any, name: str) -> Any:
    base, _, rest = name.partition(".")
    return getattr(getattr(root.ops.aten, base), rest or "default")


def call_named(function: Any, schema: Any, values: Mapping[str, Any]) -> Any:
    positional = [values[argument.name] for argument in schema.positional]
    return function(*positional, **{argument.name: values[argument.name] for argument in schema.kwarg_only})


def as_tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def tensors_of(value: Any) -> list[Any]:
    values = value if isinstance(value, list | tuple) else [value]
    return [each for each in values if hasattr(each, "is_floating_point")]


def flattened(results: tuple[Any, ...]) -> list[Any]:
    """Results one by one, without those that are None: gradients that a backward operator was not asked for."""
    parts = (each for result in results for each in (result if isinstance(result, list | tuple) else [result]))
    return [each for each in parts if each is not None]


# Operators that take the samples of others.
SAMPLES_OF = {"_native_batch_norm_legit": "native_batch_norm", "_safe_softmax": "softmax.int"}


def unfiltered(name: str) -> list[Sample]:
    """All samples of an operator in 64 bits, also those at which PyTorch differs."""
    return list({str(sample): sample for sample in one_by_one(name)}.values())


def one_by_one(name: str) -> Iterator[Sample]:
    """The same, some of them more than once, made as they are asked for: most of the time goes into making them."""
    tried = (widened(sample, name) for sample in SAMPLES.get(SAMPLES_OF.get(name, name), lambda: ())())
    return (sample for sample in tried if sample is not None)


def chosen(name: str) -> list[Sample]:
    """Some samples of an operator that are to be compared with PyTorch: those that may differ come last."""
    found = unfiltered(name)
    if "batch_norm" in name:  # PyTorch divides by zero, and ends
        found = [one for one in found if one.args[0].size]
    return [one for samples in parted(found, name, DIFFERENT) for one in sweeps.spread(samples, SAMPLES_OF_EACH)]


def parted(samples: list[Sample], name: str, *tables: Table) -> tuple[list[Sample], list[Sample]]:
    """The samples at which an operator is as PyTorch's, and those at which a table says that it may differ."""
    pairs = [(one, any(table.is_about(name, one) for table in (*tables, OLDER))) for one in samples]
    return [one for one, is_odd in pairs if not is_odd], [one for one, is_odd in pairs if is_odd]


def unexpected(problems: Iterable[str | None], name: str, sample: Sample, *tables: Table) -> list[str | None]:
    """The problems of a sample, with None for those that a table excuses as for what is alike."""
    return [
        None if problem is None or any(table.covers(name, problem, sample) for table in (*tables, OLDER)) else problem
        for problem in problems
    ]
