"""Every formula of schemas/derivatives.yaml against PyTorch, on the samples of its operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from differentiating import (
    DIFFERENT,
    NOT_COMPARED,
    as_tuple,
    call_named,
    case_names,
    chosen,
    config,
    derivatives,
    evaluate,
    flattened,
    named_arguments,
    overload,
    tensors_of,
)
from sampling import COMPLEX128, FLOAT64, Sample, make

import opwright
from opwright_codegen.derivative_model import Derivative, Differentiability, ForwardDerivative
from opwright_codegen.read import read
from opwright_codegen.schema import SchemaKind

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import copied, numpy_of, to_opwright, to_torch  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

DIFFERENT_TANGENTS: list[tuple[str, Callable[[Sample], bool], str]] = [
    ("fmax", lambda one: True, "PyTorch takes the tangent of other where both are equal, and the gradient to self"),
    ("fmin", lambda one: True, "likewise"),
    ("logit", lambda one: len(one.args) > 1 and one.args[1] is not None and one.args[1] < 0, "0 in PyTorch for NaN"),
    ("median", lambda one: not one.args[0].size, "NaN, as it is itself; 0 in PyTorch"),
    ("nanmedian", lambda one: not one.args[0].size, "NaN, as it is itself; 0 in PyTorch"),
    ("silu", lambda one: one.args[0].dtype == COMPLEX128, "PyTorch forgets to conjugate"),
    ("scatter_reduce.two", lambda one: one.args[4] == "prod", "PyTorch loses the tangent of a product"),
    ("triangular_solve", lambda one: one.kwargs.get("transpose", False), "PyTorch does not transpose the tangent"),
    ("logsumexp", lambda one: not one.args[0].size, "of nothing it is a constant, -inf; NaN in PyTorch"),
    ("logcumsumexp", lambda one: bool((np.abs(one.args[0]) > 100).any()), "weights underflow in PyTorch, to 0 or 0/0"),
]


class Case:
    """One call under PyTorch and under us: arguments, results, and cotangents of those that can have gradients."""

    def __init__(self, name: str, entry: Differentiability, sample: Sample) -> None:
        self.entry = entry
        self.schema = entry.operator.schema
        self.arrays = named_arguments(self.schema, sample)
        self.mine = {key: to_opwright(copied(value)) for key, value in self.arrays.items()}
        self.results = as_tuple(call_named(overload(opwright, name), self.schema, self.mine))
        self.theirs = {key: to_torch(copied(value)) for key, value in self.arrays.items()}
        self.leaves = {}
        known = {key for derivative in entry.derivatives if derivative.reason is None for key in derivative.inputs}
        for key in sorted(known):
            for number, tensor in enumerate(tensors_of(self.theirs[key])):
                if tensor.is_floating_point() or tensor.is_complex():
                    self.leaves[key, number] = tensor.requires_grad_()
        self.name = name

    def their_gradients(self, cotangents: dict[int, np.ndarray]) -> dict[tuple[str, int], Any]:
        results = as_tuple(call_named(overload(torch, self.name), self.schema, self.theirs))
        flat = flattened(results)
        for ours, theirs in zip(flattened(self.results), flat, strict=True):
            if not np.allclose(ours.array, numpy_of(theirs), equal_nan=True):
                raise ValueError("another of several results")  # such as eigenvectors of another sign
        chosen = [(number, result) for number, result in enumerate(flat) if number in cotangents]
        chosen = [(number, result) for number, result in chosen if result.requires_grad]
        if not chosen or not self.leaves:
            return {}
        given = [torch.from_numpy(np.ascontiguousarray(cotangents[number])).reshape(r.shape) for number, r in chosen]
        found = torch.autograd.grad([r for _, r in chosen], list(self.leaves.values()), given, allow_unused=True)
        return dict(zip(self.leaves, found, strict=True))

    def values(self) -> dict[str, Any]:
        return self.mine | dict(zip(self.schema.output_names, self.results, strict=False))


def reduced(gradient: Any, like: np.ndarray) -> np.ndarray:
    """What a wrapper makes of a formula's value: summed to the shape of the input, of its kind of dtype."""
    array = np.asarray(gradient.array if isinstance(gradient, opwright.Tensor) else gradient)
    extra = array.ndim - like.ndim
    array = array.sum(axis=tuple(range(extra))) if extra > 0 else array
    axes = tuple(a for a, (have, want) in enumerate(zip(array.shape, like.shape, strict=True)) if have != want)
    array = array.sum(axis=axes, keepdims=True) if axes else array
    assert array.shape == like.shape
    return array.real if array.dtype.kind == "c" and like.dtype.kind != "c" else array


def our_gradients(case: Case, derivative: Derivative, cotangents: dict[int, np.ndarray]) -> dict[tuple[str, int], Any]:
    """The gradients of the derivative's inputs by its formula."""
    grads: list[Any] = []
    flat = 0
    for place, result in enumerate(case.results):
        parts = result if isinstance(result, list | tuple) else [result]
        tensors = [
            opwright.from_numpy(cotangents[flat + n].copy()) if flat + n in cotangents else None
            for n in range(len(parts))
        ]
        flat += len(parts)
        if place in case.entry.differentiable_outputs:
            grads.append((place, tensors if isinstance(result, list | tuple) else tensors[0]))
    values = case.values()
    if len(grads) == 1 and isinstance(grads[0][1], list):
        values["grads"] = grads[0][1]
    else:
        values["grads"] = [each for _, each in grads]
    values["grad"] = grads[0][1] if grads else None
    for place, each in grads:
        values[f"grad_{case.schema.returns[place].name}"] = each
    values["grad_input_mask"] = [case.arrays[name] is not None for name in derivative.inputs]
    for saved in (*derivative.saved_inputs, *derivative.saved_outputs):
        if saved.fact is not None and values[saved.of] is not None:
            values[saved.name] = evaluate(saved.fact, values)
    with opwright.no_grad():
        found = evaluate(derivative.formula, values)
    gradients = (found,) if len(derivative.inputs) == 1 else tuple(found)
    return {
        (name, number): each
        for name, gradient in zip(derivative.inputs, gradients, strict=True)
        for number, each in enumerate(gradient if isinstance(gradient, list | tuple) else [gradient])
    }


def problems(name: str, entry: Differentiability, sample: Sample) -> Iterator[str | None]:
    """What differs in each gradient; None where nothing does."""
    try:
        case = Case(name, entry, sample)
    except Exception:
        return  # a sample of an error
    cotangents = {}
    flat = 0
    for place, result in enumerate(case.results):
        for part in result if isinstance(result, list | tuple) else [result]:
            if place in entry.differentiable_outputs and part.array.dtype.kind in "fc":
                cotangents[flat] = make(tuple(part.shape), part.array.dtype, seed=3)
            flat += 1
    if not cotangents:
        return
    try:
        expected = case.their_gradients(cotangents)
    except Exception:
        return
    for derivative in entry.derivatives:
        if derivative.reason is not None or not any((key, 0) in case.leaves for key in derivative.inputs):
            continue
        for (key, number), gradient in our_gradients(case, derivative, cotangents).items():
            if (key, number) not in case.leaves:
                continue
            like = numpy_of(case.leaves[key, number])
            wanted = expected.get((key, number))
            wanted = np.zeros_like(like) if wanted is None else wanted.resolve_conj().numpy(force=True)
            ours = np.zeros_like(like) if gradient is None else reduced(gradient, like)
            scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)
            same = np.allclose(ours, wanted, rtol=1e-9, atol=1e-10 * scale, equal_nan=True)
            problem = f"{sample}: gradient of {key} {ours.tolist()!r:.200}, not {wanted.tolist()!r:.200}"
            yield None if same else problem


@pytest.mark.parametrize("name", case_names())
def test_gradients(name: str) -> None:
    if name in NOT_COMPARED:
        pytest.skip(NOT_COMPARED[name])
    entry = derivatives().find(f"aten::{name}")
    assert entry is not None
    tried = [problem for sample in chosen(name) for problem in problems(name, entry, sample)]
    found = [problem for problem in tried if problem is not None]
    if found:
        pytest.fail(f"{len(found)} differences\n" + "\n".join(found[:6]), pytrace=False)
    is_left_out = any(other == name for other, *_ in DIFFERENT)
    if not tried and not is_left_out and any(derivative.reason is None for derivative in entry.derivatives):
        pytest.fail("no sample has a gradient to compare", pytrace=False)


def our_tangents(case: Case, forward: ForwardDerivative, tangents: Mapping[str, Any]) -> list[Any]:
    """The tangents of the formula's outputs."""
    values = case.values()
    values |= {f"{name}_p": values[name] for name in forward.primals}
    values |= {f"{name}_t": to_opwright(tangents[name]) for name in forward.tangents}
    found = evaluate(forward.formula, values)
    return list(found) if isinstance(found, list | tuple) else [found]


def tangent_problems(name: str, entry: Differentiability, sample: Sample) -> Iterator[str | None]:
    """What differs in the tangent of each output from PyTorch's."""
    forward_ad = torch.autograd.forward_ad
    try:
        case = Case(name, entry, sample)
        tangents = {key: tangent_of(case.arrays[key]) for key in entry.differentiable_inputs}
        with forward_ad.dual_level():
            duals = {key: dual(case.theirs[key], tangents.get(key)) for key in case.theirs}
            results = as_tuple(call_named(overload(torch, name), case.schema, duals))
            for ours, theirs in zip(flattened(case.results), flattened(results), strict=True):
                if not np.allclose(ours.array, numpy_of(forward_ad.unpack_dual(theirs).primal), equal_nan=True):
                    return
            wanted = [
                [forward_ad.unpack_dual(part).tangent for part in (each if isinstance(each, list | tuple) else [each])]
                for each in results
            ]
    except Exception:
        return
    places = {output: place for place, output in enumerate(case.schema.output_names)}
    for forward in entry.forward:
        if any(tangents[key] is None for key in forward.tangents):
            continue
        expected = [each for output in forward.outputs for each in wanted[places[output]]]
        for ours, theirs in zip(our_tangents(case, forward, tangents), expected, strict=True):
            if theirs is None:
                continue
            right = theirs.resolve_conj().resolve_neg().numpy(force=True)
            left = np.broadcast_to(ours.array, right.shape)
            scale = np.abs(right[np.isfinite(right)]).max(initial=1.0)
            same = np.allclose(left, right, rtol=1e-9, atol=1e-10 * scale, equal_nan=True)
            problem = f"{sample}: tangent {left.tolist()!r:.200}, not {right.tolist()!r:.200}"
            yield None if same else problem


def tangent_of(value: Any) -> Any:
    """Numbers of the argument's shape; None where it has no tangent."""
    if isinstance(value, list):
        found = [tangent_of(each) for each in value]
        return None if any(each is None for each in found) else found
    if not isinstance(value, np.ndarray) or value.dtype not in (FLOAT64, COMPLEX128):
        return None
    return make(value.shape, value.dtype, seed=5)


def dual(value: Any, tangent: Any) -> Any:
    if tangent is None:
        return value
    if isinstance(value, list):
        return [dual(*each) for each in zip(value, tangent, strict=True)]
    return torch.autograd.forward_ad.make_dual(value.detach(), torch.from_numpy(tangent))


@pytest.mark.parametrize("name", case_names())
def test_tangents(name: str) -> None:
    entry = derivatives().find(f"aten::{name}")
    assert entry is not None
    if name in NOT_COMPARED or not entry.forward:
        pytest.skip(NOT_COMPARED.get(name, "it has no forward formula"))
    samples = chosen(name)
    for other, is_different, _ in DIFFERENT_TANGENTS:
        samples = [one for one in samples if other != name or not is_different(one)]
    tried = [problem for sample in samples for problem in tangent_problems(name, entry, sample)]
    found = [problem for problem in tried if problem is not None]
    if found:
        pytest.fail(f"{len(found)} differences\n" + "\n".join(found[:6]), pytrace=False)


def test_every_name_resolves() -> None:
    for by_key in derivatives().entries.values():
        for entry in by_key.values():
            written: tuple[Derivative | ForwardDerivative, ...] = (*entry.derivatives, *entry.forward)
            assert all(each.formula is not None for each in written), entry.operator.name


def test_every_operator_has_derivatives_or_a_reason() -> None:
    """Operators made of others have those of their parts; the rest have an entry, be it one that says no."""
    settings = config()
    missing = [
        name
        for name, operator in read(settings.schemas, settings.tags).operators.items()
        if operator.kind is SchemaKind.FUNCTIONAL
        and not operator.generated
        and not any("Implicit" in key for key, _ in operator.dispatch)
        and any(argument.type.is_tensor_like for argument in operator.schema.arguments)
        and any(result.type.is_tensor_like for result in operator.schema.returns)
        and name not in derivatives().entries
    ]
    assert missing == []
