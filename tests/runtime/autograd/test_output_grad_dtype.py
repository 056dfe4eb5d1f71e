"""Functions that say in which dtype `backward` gets its gradients, `ctx.set_output_grad_dtype`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from known_versions import oracle_version

import opwright


def seen(library: Any, dtypes: tuple[str | None, ...], given: str | None, forward: Callable[[Any, Any], Any]) -> Any:
    """Return the dtypes that `backward` gets for a bfloat16 output, that of the gradient, or what is raised."""
    arrived: list[list[str | None]] = []
    named = {None: None, "float": "float"} | {
        each: getattr(library, each) for each in ("float32", "float64", "bfloat16", "int64")
    }

    class Declared(library.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_output_grad_dtype(*(named[each] for each in dtypes))
            return forward(ctx, x)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            arrived.append([None if each is None else name_of(each.dtype) for each in grads])
            return grads[0]

    x = library.ones(2, dtype=library.bfloat16, requires_grad=True)
    try:
        y = Declared.apply(x)
        y = y[0] if isinstance(y, tuple) else y
        if given is None:
            y.sum().backward()
        else:
            y.backward(library.ones(2, dtype=named[given]))
    except RuntimeError as error:
        return str(error).split(":")[0][:60]
    return *arrived, name_of(x.grad.dtype)


def name_of(dtype: Any) -> str:
    return str(getattr(dtype, "name", dtype)).removeprefix("torch.")


def alone(ctx: Any, x: Any) -> Any:
    return x.clone()


def twice(ctx: Any, x: Any) -> Any:
    ctx.set_output_grad_dtype(None)
    return x.clone()


def beside_a_constant(ctx: Any, x: Any) -> Any:
    results = x.clone(), x.clone()
    ctx.mark_non_differentiable(results[1])
    return results


def beside_a_text(ctx: Any, x: Any) -> Any:
    return x.clone(), "text"


def beside_another(ctx: Any, x: Any) -> Any:
    return x.clone(), x.clone()


COUNT = "set_output_grad_dtype expected the number of declarations to"
CONCRETE = "set_output_grad_dtype"
CASES = [
    (("float32",), None, alone, (["float32"], "bfloat16")),
    (("bfloat16",), "float32", alone, (["bfloat16"], "bfloat16")),
    ((None,), None, alone, (["bfloat16"], "bfloat16")),
    ((None,), "float32", alone, (["float32"], "bfloat16")),
    (("float64",), "float32", alone, (["float64"], "bfloat16")),
    (("float32", "float64"), None, beside_another, (["float32", "bfloat16"], "bfloat16")),
    (("float32", None), None, beside_a_constant, (["float32", "bfloat16"], "bfloat16")),
    (("float32", None), None, beside_a_text, (["float32", None], "bfloat16")),
    (("float32", "float32"), None, beside_a_constant, CONCRETE),
    (("float32", "float32"), None, beside_a_text, CONCRETE),
    ((), None, alone, COUNT),
    (("float32", "float32"), None, alone, COUNT),
    ((None,), None, twice, "set_output_grad_dtype can only be called once"),
    (("float",), None, alone, "set_output_grad_dtype expects each declaration to be a dtype"),
]  # fmt: skip


@pytest.mark.parametrize(("dtypes", "given", "forward", "wanted"), CASES)
def test_gradients_arrive_as_declared(dtypes: Any, given: Any, forward: Any, wanted: Any) -> None:
    found = seen(opwright, dtypes, given, forward)
    assert found == (wanted if isinstance(wanted, tuple) else wanted[:60])


def test_whole_numbers_are_refused() -> None:
    """Where PyTorch fails an assertion of its own."""
    assert "expects each declaration" in seen(opwright, ("int64",), None, alone)


@pytest.mark.oracle
def test_pytorch_does_the_same() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    if (oracle_version() or (0, 0)) < (2, 14):
        assert not hasattr(torch.autograd.function.FunctionCtx, "set_output_grad_dtype")
        return
    for dtypes, given, forward, wanted in CASES:
        found = seen(torch, dtypes, given, forward)
        assert found == wanted or (isinstance(found, str) and found[:50] == wanted[:50]), (dtypes, given, forward)
