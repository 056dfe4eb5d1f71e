"""Every operator under `vmap` gives what it gives for one sample after the other: values, dtypes, shapes, gradients."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import sweeps
from declared import of_kind, operators
from same_families import differing
from samples import NO_SAMPLES, SAMPLES, samples_of
from vmapping import Case, cases, empty_problem, gradient_problem, operator, problem

import opwright
from opwright.batching.rule_lookup import kind_of_rule
from opwright_codegen.schema.model import SchemaKind
from opwright_core.keys import DispatchKey

pytestmark = pytest.mark.filterwarnings("ignore")

# Operators without a rule: they are called for each sample, after a warning.
LOOPS = {
    "embedding_renorm": "rows of a table are scaled in place, once for each index: nothing is shared by samples",
    "embedding_renorm_": "as embedding_renorm",
    "histc": "the range of the bins is that of a sample's own elements",
    "histogram.bin_ct": "as histc",
    "histogram.bins_tensor": "edges of bins differ from sample to sample",
    "_histogramdd_from_bin_cts": "as histc",
    "_histogramdd_from_bin_tensors": "as histogram.bins_tensor",
    "multi_margin_loss": "old, rare, and over classes that each row has its own of",
    "multilabel_margin_loss_forward": "as multi_margin_loss: labels end where a row says",
}
# Errors by nature: what they ask of a sample is one answer for all, or results that differ in shape.
REFUSED = ("data-dependent", "dynamic shape", "not batched over in this vmap", ".tolist() of a batched tensor")
NO_TENSORS = (
    "is_conj", "is_neg", "is_floating_point", "is_complex", "sym_numel", "sym_size.int", "sym_storage_offset",
    "sym_stride.int",
)  # fmt: skip
RANDOM = "nondeterministic_seeded"
OPTION = "alpha=True"  # refused for numbers, but by the quick kernels of simple tensors


def names(*kinds: SchemaKind) -> list[str]:
    """Operators with samples whose results do not depend on chance, or on memory that nobody wrote."""
    found = []
    for name in of_kind(*kinds):
        one = operator(name)
        has_samples = name in SAMPLES or _functional(name) in SAMPLES
        is_set = not name.startswith(("empty", "new_empty", "resize", "rand"))
        if has_samples and is_set and name not in NO_SAMPLES and RANDOM not in one.tags and one.signature.tensors:
            found.append(name)
    return found


def _functional(name: str) -> str:
    base, _, overload = name.partition(".")
    return f"{base.removesuffix('_')}{'.' + overload if overload else ''}"


def calls(name: str, most: int) -> Iterator[Case]:
    """Yield at most so many samples of the operator, in all ways to batch their tensors."""
    is_inplace = operators()[name].schema.kind is SchemaKind.INPLACE
    try:
        samples = samples_of(name)
    except KeyError:
        return
    samples = [each for each in samples if OPTION not in str(each)]
    for sample in sweeps.spread(samples, most)[:most]:
        if not is_inplace or isinstance(sample.args[0], np.ndarray):
            yield from (case for case in cases(name, sample, is_inplace) if case.dims)


def wrong_of(name: str, most: int, levels: int = 1) -> list[str]:
    if name in NO_TENSORS:
        return []
    found = [problem(case, levels=levels) for case in calls(name, most)]
    return [each for each in found if each is not None and not any(text in each for text in REFUSED)]


FEW, MANY = 2, 40
ONCE = pytest.mark.once  # rules are Python in both modes; without the core, `test_the_loop` tells


@sweeps.over(names(SchemaKind.FUNCTIONAL, SchemaKind.INPLACE))
def test_the_loop(name: str) -> None:
    wrong = wrong_of(name, FEW)
    assert not wrong, "\n".join(wrong)


@sweeps.over(names(SchemaKind.FUNCTIONAL, SchemaKind.INPLACE))
@pytest.mark.calls
@ONCE
def test_two_levels(name: str) -> None:
    wrong = wrong_of(name, 1, levels=2)
    assert not wrong, "\n".join(wrong)


# Without samples: the part that is not computed looks like that of one sample; a loop has nothing to look at.
NOT_EMPTY = ("linalg_qr", "multilabel_margin_loss", *LOOPS)


@sweeps.over(names(SchemaKind.FUNCTIONAL, SchemaKind.INPLACE))
@pytest.mark.calls
@ONCE
def test_no_samples(name: str) -> None:
    if name in (*NOT_EMPTY, *NO_TENSORS):
        return
    found = [empty_problem(case) for case in calls(name, 1)]
    wrong = [each for each in found if each is not None and not any(text in each for text in REFUSED)]
    assert not wrong, "\n".join(wrong)


@sweeps.over(names(SchemaKind.FUNCTIONAL))
@ONCE
def test_gradients(name: str) -> None:
    wrong = gradients_wrong(name, 1)
    assert not wrong, "\n".join(wrong)


def gradients_wrong(name: str, most: int) -> list[str]:
    whole = [case for case in calls(name, most) if all(dim == 0 for dim in case.dims)]
    found = [gradient_problem(case) for case in whole]
    return [each for each in found if each is not None and not any(text in each for text in REFUSED)]


@sweeps.over(names(SchemaKind.FUNCTIONAL, SchemaKind.INPLACE))
@ONCE
@pytest.mark.slow
def test_many_samples(name: str) -> None:
    wrong = [*wrong_of(name, MANY), *wrong_of(name, MANY // 4, levels=2), *gradients_wrong(name, MANY // 4)]
    assert not wrong, "\n".join(wrong)


def kinds() -> dict[str, list[str]]:
    """All operators of aten but out variants, by where their batching rule comes from."""
    found = defaultdict(list)
    for name in of_kind(SchemaKind.FUNCTIONAL, SchemaKind.INPLACE):
        one = operator(name)
        found[kind_of_rule(one) if one.signature.tensors else "no tensors"].append(name)
    return found


def test_table() -> None:
    """Where rules come from; `pytest -s -k table` prints it."""
    found = kinds()
    width = max(map(len, found))
    print()
    for kind, members in sorted(found.items(), key=lambda item: -len(item[1])):
        print(f"{kind:{width}} {len(members):5}  {' '.join(members[:6])} …")
    for name, reason in LOOPS.items():
        print(f"loop: {name}: {reason}")
    assert set(found["loop"]) == set(LOOPS)
    assert len(LOOPS) <= 25


# Operators with a derivative that `vmap` does not use: it differentiates the operators that they are composed of.
DIFFERENTIATED_BY_PARTS = {
    "copies": "a view and its copy: both derivatives are those of the view",
    "gradients": "backward operators: second derivatives of their forward ones go through the same parts",
    "numbers": "their numbers are read: a batch is refused",
    "parts": "the parts have finite derivatives wherever it has: `test_gradients_where_samples_are_equal`",
}
NUMBERS = frozenset(f"{name}.{overload}" for name in ("linspace", "logspace")
                    for overload in ("Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor"))  # fmt: skip
PARTS: dict[str, Callable[[Any], Any]] = {
    "dist": lambda x: sum(opwright.dist(x, x.detach(), p=p) for p in (0, 0.5, 1, 2, 3, np.inf)),
    "renorm": lambda x: opwright.renorm(x, 2, 0, 1) + opwright.renorm(x, 1, 0, 0.5),
    "binary_cross_entropy_with_logits": lambda x: opwright.nn.functional.binary_cross_entropy_with_logits(
        x, x.detach()
    ),
    "soft_margin_loss": lambda x: opwright.nn.functional.soft_margin_loss(x, x.detach()),
    "native_batch_norm": lambda x: opwright.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)[0] ** 2,
    "_native_batch_norm_legit_no_training": lambda x: opwright.ops.aten._native_batch_norm_legit_no_training(
        x, None, None, opwright.zeros(3, dtype=x.dtype), opwright.ones(3, dtype=x.dtype), 0.1, 1e-5
    )[0],
    "_convolution": lambda x: opwright.nn.functional.conv1d(x[None], x[None]),
    "max_pool2d_with_indices_backward": lambda x: opwright.nn.functional.max_pool2d(x[None], 2),
    "grid_sampler_2d": lambda x: opwright.grid_sampler_2d(x[None, None], x[None, None, :, :2], 0, 0, False),
    "grid_sampler_3d": lambda x: opwright.grid_sampler_3d(x[None, None, None], x[None, None, None], 0, 0, False),
    "affine_grid_generator": lambda x: opwright.nn.functional.affine_grid(
        x[None, :2], [1, 1, 2, 2], align_corners=False
    ),
    "linalg_pinv.atol_rtol_tensor": opwright.linalg.pinv,
    "_euclidean_dist": lambda x: opwright.ops.aten._euclidean_dist(x, x.detach()),
}


def test_what_is_differentiated_by_parts() -> None:
    """Parts may have no derivative where the operator has one: each such operator is named, and tried there."""
    found = set()
    for name in of_kind(SchemaKind.FUNCTIONAL):
        one = operator(name)
        if DispatchKey.Autograd in one.registrations and one.signature.tensors and kind_of_rule(one) == "decomposed":
            found.add(name)
    copies = {name for name in found if name.partition(".")[0].endswith(("_copy", "_reshape_alias"))}
    gradients = {name for name in found - set(PARTS) if name.endswith(("_backward", "_backward_data"))}
    assert found - copies - gradients - NUMBERS <= set(PARTS)
    assert found >= NUMBERS


@sweeps.over(PARTS)
def test_gradients_where_samples_are_equal(name: str) -> None:
    """Zeros, ones and large numbers: distances are 0 and values equal there, where quotients and roots end."""
    for fill in (0.0, 1.0, 1e3):
        given = opwright.full((2, 3, 3), fill, dtype=opwright.float64)
        wanted = opwright.stack([opwright.func.grad(lambda x: PARTS[name](x).sum())(each) for each in given])
        through = given.clone().requires_grad_()
        opwright.vmap(PARTS[name])(through).sum().backward()
        within = opwright.vmap(opwright.func.grad(lambda x: PARTS[name](x).sum()))(given)
        for found in (through.grad, within):
            np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-9, atol=1e-9)


def test_a_loop_warns_once() -> None:
    x = opwright.rand(2, 8)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        opwright.vmap(lambda row: opwright.multi_margin_loss(row, opwright.tensor([1])))(x)
        opwright.vmap(lambda row: opwright.multi_margin_loss(row, opwright.tensor([1])))(x)
    assert sum("multi_margin_loss" in str(each.message) for each in seen) <= 1


def test_out_variants_are_refused() -> None:
    assert {kind_of_rule(operator(name)) for name in of_kind(SchemaKind.OUT)} == {"refused"}
    out = opwright.zeros(3)
    with pytest.raises(RuntimeError, match="out= variants"):
        opwright.vmap(lambda row: opwright.sin(row, out=out))(opwright.ones(2, 3))


def test_generated_families_are_those_of_run_time() -> None:
    """A formula that is given at run time tells the family that it tells in a schema file, for all of aten."""
    count, wrong = differing()
    assert wrong == []
    assert count > 1200
