"""PyTorch's own derivatives.yaml: what we read in it is what torchgen reads, entry by entry."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from opwright_codegen.derivatives.derivative import DerivativeSet, Differentiability, ForwardKind
from opwright_codegen.derivatives.files import read_derivatives
from opwright_codegen.read.files import read
from opwright_codegen.schema.names import AUTOGRAD_KEYS

torchgen = pytest.importorskip("torchgen", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle

FOLDER = Path(torchgen.__file__).parent / "packaged" if hasattr(torchgen, "__file__") else Path()
NATIVE = FOLDER / "ATen" / "native"


@cache
def ours() -> DerivativeSet:
    operators = read([NATIVE / "native_functions.yaml"], NATIVE / "tags.yaml")
    return read_derivatives(FOLDER / "autograd" / "derivatives.yaml", operators)


@cache
def written() -> list[dict[str, Any]]:
    """Return the entries of the file, as YAML."""
    found: list[dict[str, Any]] = yaml.safe_load((FOLDER / "autograd" / "derivatives.yaml").read_text(encoding="utf-8"))
    return found


@cache
def theirs() -> dict[str, dict[str, Any]]:
    """Without the copying counterparts of views, which torchgen gives the formulas of the views."""
    from torchgen.packaged.autograd.load_derivatives import load_derivatives

    paths = [FOLDER / "autograd" / "derivatives.yaml", NATIVE / "native_functions.yaml", NATIVE / "tags.yaml"]
    infos, _ = load_derivatives(*map(str, paths))
    known = ours().entries
    return {f"aten::{func.name}": by_key for func, by_key in infos.items() if f"aten::{func.name}" in known}


def pairs() -> list[tuple[str, Differentiability, Any]]:
    return [
        (f"{name} for {key}", found, theirs()[name][key])
        for name, by_key in ours().entries.items()
        for key, found in by_key.items()
    ]


def name_of(saved: Any) -> str:
    name = saved.nctype.name
    return name if isinstance(name, str) else name.name


def test_every_entry_is_read() -> None:
    assert set(ours().entries) == {f"aten::{entry['name'].partition('(')[0]}" for entry in written()}
    assert set(theirs()) == set(ours().entries)
    assert {name: set(found) for name, found in ours().entries.items()} == {
        name: set(found) for name, found in theirs().items()
    }


def test_the_keys_are_torchgens() -> None:
    from torchgen.model import AUTOGRAD_KEYS as their_keys

    assert set(AUTOGRAD_KEYS) >= set(their_keys)


def test_inputs_with_formulas() -> None:
    for where, found, info in pairs():
        assert list(found.differentiable_inputs) == [a.name for a in info.args_with_derivatives], where
        inputs = [derivative.inputs for derivative in found.derivatives]
        assert sorted(inputs) == sorted(d.var_names for d in info.derivatives), where
        assert sorted(found.non_differentiable) == sorted(info.non_differentiable_arg_names), where


def test_what_is_saved() -> None:
    for where, found, info in pairs():
        by_inputs = {derivative.var_names: derivative for derivative in info.derivatives}
        for derivative in found.derivatives:
            other = by_inputs[derivative.inputs]
            assert {s.name for s in derivative.saved_inputs} == {name_of(s) for s in other.saved_inputs}, where
            assert {s.name for s in derivative.saved_outputs} == {name_of(s) for s in other.saved_outputs}, where
        assert {s.name for s in found.saved_inputs} == {name_of(s) for s in info.all_saved_inputs}, where
        assert {s.name for s in found.saved_outputs} == {name_of(s) for s in info.all_saved_outputs}, where


def test_gradients() -> None:
    for where, found, info in pairs():
        for derivative in found.derivatives:
            other = next(d for d in info.derivatives if d.var_names == derivative.inputs)
            assert {n for n in derivative.gradient_names if n not in ("grad", "grads")} == other.named_gradients, where


def test_differentiable_outputs() -> None:
    from torchgen import local
    from torchgen.api.autograd import NativeFunctionWithDifferentiabilityInfo, gen_differentiable_outputs

    for where, found, info in pairs():
        function = NativeFunctionWithDifferentiabilityInfo(info.func, {found.key: info}, None)
        with local.parametrize(use_const_ref_for_mutable_tensors=False, use_ilistref_for_tensor_lists=False):
            expected = [output.name for output in gen_differentiable_outputs(function, found.key)]
        assert len(found.differentiable_outputs) == len(expected), where
        given = found.output_differentiability
        assert (None if given is None else list(given)) == info.output_differentiability, where
        conditions = None if found.condition is None else [found.condition.text]
        assert conditions == info.output_differentiability_conditions, where


def test_forward_formulas() -> None:
    for where, found, info in pairs():
        by_outputs = {forward.var_names: forward for forward in info.forward_derivatives}
        assert {forward.outputs for forward in found.forward} == set(by_outputs), where
        for forward in found.forward:
            other = by_outputs[forward.outputs]
            assert set(forward.tangents) == set(other.required_inputs_fw_grad), where
            assert set(forward.primals) == set(other.required_inputs_primal), where


def test_how_much_lies_in_our_language() -> None:
    """A share, not a promise: C++ that happens to be Python, too."""
    found = [found for by_key in ours().entries.values() for found in by_key.values()]
    backward = [derivative for each in found for derivative in each.derivatives]
    forward = [f for each in found for f in each.forward if f.kind is ForwardKind.WRITTEN]
    assert len(backward) == sum(len(info.derivatives) for _, _, info in pairs())
    assert sum(derivative.formula is not None for derivative in backward) > 0.8 * len(backward)
    assert sum(each.formula is not None for each in forward) > 0.6 * len(forward) > 150
