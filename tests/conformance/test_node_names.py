"""`grad_fn.name()` is PyTorch's, for every operator that has an entry in schemas/derivatives.yaml."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from differentiating import derivatives, overload
from excuses import Known, Table
from known_versions import WITHOUT_GRADIENT
from samples import SAMPLES
from sampling import Sample

import opwright

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import copied, to_opwright, to_torch  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

# What PyTorch has no gradient for: its nodes are called NotImplemented, or there is none.
WITHOUT = (
    *WITHOUT_GRADIENT, "_linalg_eigvals", "histogram.bins_tensor",
    "histogram.bin_ct", "linspace.Tensor_Tensor", "linspace.Tensor_Scalar", "linspace.Scalar_Tensor",
    "logspace.Tensor_Tensor", "logspace.Tensor_Scalar", "logspace.Scalar_Tensor", "bernoulli.p", "normal_functional",
    "floor_divide", "floor_divide.Scalar", "detach_copy", "binomial", "bincount", "remainder.Scalar_Tensor", "copy",
    "scatter.reduce", "scatter.value_reduce", "_ctc_loss_backward", "linalg_ldl_solve",
    "silu_backward", "mish_backward", "logit_backward", "hardsigmoid_backward", "native_group_norm_backward",
    "_scaled_dot_product_flash_attention_for_cpu_backward",
)  # fmt: skip
DIFFERENT = Table(
    "test_node_names.DIFFERENT", Known("numpy_T", "PermuteBackward0", "a composite in PyTorch, of permute")
)
NAMES = [name.removeprefix("aten::") for name in derivatives().entries]


def tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, opwright.Tensor | torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from tensors(each)


def names(operator: Callable[..., Any], sample: Sample, convert: Callable[[Any], Any]) -> list[str | None]:
    """Those of the nodes that a call makes whose floating-point arguments require grad."""
    args = [convert(copied(value)) for value in sample.args]
    kwargs = {key: convert(copied(value)) for key, value in sample.kwargs.items()}
    for tensor in tensors([*args, *kwargs.values()]):
        if tensor.is_floating_point() or tensor.is_complex():
            tensor.requires_grad_()
    results = tensors([operator(*args, **kwargs)])
    return [None if result.grad_fn is None else result.grad_fn.name() for result in results]


@pytest.mark.parametrize("name", [name for name in NAMES if name in SAMPLES and name not in WITHOUT])
def test_functional(name: str) -> None:
    for sample in list(SAMPLES[name]())[:3]:
        try:
            theirs = names(overload(torch, name), sample, to_torch)
        except (RuntimeError, TypeError, ValueError, IndexError):
            continue
        if any(theirs):
            ours = names(overload(opwright, name), sample, to_opwright)
            assert ours == theirs or DIFFERENT.covers(name, f"{theirs}"), f"{sample}: {ours}, not {theirs}"


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "remainder", "fmod", "where"])
def test_with_numbers(name: str) -> None:
    def programme(t: Any) -> list[str]:
        x = t.ones(2, requires_grad=True)
        calls = [x.gt(0), x, 2.0] if name == "where" else [x, 2.0]
        found = [getattr(t, name)(*calls)]
        if name != "where":
            found.append(getattr(x.clone(), f"{name}_")(2.0))
        return [each.grad_fn.name() for each in found]

    assert programme(opwright) == programme(torch)


def test_operators_of_python() -> None:
    def programme(t: Any) -> list[str]:
        x = t.ones(2, requires_grad=True)
        found = [
            x * 2,
            2 * x,
            x + 1,
            1 + x,
            x - 1,
            1 - x,
            x / 2,
            2 / x,
            x**2,
            2**x,
            -x,
            x % 2,
            x @ x,
            x[0],
            x[None],
            abs(x),
        ]
        return [each.grad_fn.name() for each in found]

    assert programme(opwright) == programme(torch)
