"""Checkpoints without reentry, beside PyTorch's: what runs when, gradients of gradients, what must not change."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from both import check, message

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def checkpoint(lib: Any, function: Any, *args: Any, **options: Any) -> Any:
    module = importlib.import_module(f"{lib.__name__}.utils.checkpoint")
    return module.checkpoint(function, *args, **{"use_reentrant": False, **options})


def leaf(lib: Any) -> Any:
    return lib.tensor([1.0, 2.0], requires_grad=True)


def test_a_checkpointed_function_is_recorded() -> None:
    def programme(lib: Any) -> Any:
        seen, x = [], leaf(lib)

        def part(x: Any) -> Any:
            y = x * 2
            seen.append((lib.is_grad_enabled(), y.requires_grad, x.is_leaf))
            return y.sin()

        y = checkpoint(lib, part, x)
        y.sum().backward()
        return seen, y, y.grad_fn.name(), x.grad

    check(programme)


def test_gradients_within_and_gradients_of_gradients() -> None:
    def programme(lib: Any) -> Any:
        x = leaf(lib)

        def part(x: Any) -> Any:
            (grad,) = lib.autograd.grad((x * x * x).sum(), x, create_graph=True)
            return grad * x

        checkpoint(lib, part, x, early_stop=False).sum().backward()
        y = checkpoint(lib, part, x)
        (first,) = lib.autograd.grad(y.sum(), x, create_graph=True)
        (second,) = lib.autograd.grad(first.sum(), x)
        return x.grad, first, second

    check(programme)


def test_contexts_and_the_end_of_the_second_call() -> None:
    class Noting:
        def __init__(self, seen: list[str], name: str) -> None:
            self.seen, self.name = seen, name

        def __enter__(self) -> None:
            self.seen.append(f"into {self.name}")

        def __exit__(self, *error: object) -> None:
            self.seen.append(f"out of {self.name}")

    def programme(lib: Any) -> Any:
        seen: list[str] = []
        x = leaf(lib)

        def part(x: Any) -> Any:
            y = x.sin().exp()
            seen.append("computed")
            return y + 1

        for early_stop in (True, False):
            y = checkpoint(
                lib, part, x, context_fn=lambda: (Noting(seen, "first"), Noting(seen, "second")), early_stop=early_stop
            )
            seen.append("backward")
            y.sum().backward()
        return seen, x.grad

    check(programme)
    assert "only supported when use_reentrant=False" in message(
        lambda lib: checkpoint(lib, lib.sin, leaf(lib), use_reentrant=True, context_fn=lambda: (None, None))
    )


def test_passes_over_one_graph_and_nested_checkpoints() -> None:
    def programme(lib: Any) -> Any:
        calls: list[str] = []
        x = leaf(lib)

        def inner(x: Any) -> Any:
            calls.append("inner")
            return x.sin()

        def outer(x: Any, options: Any) -> Any:
            calls.append("outer")
            return checkpoint(lib, inner, x.exp()).exp() * options["scale"]

        y = checkpoint(lib, outer, x, options={"scale": x}).sum()
        y.backward(retain_graph=True)
        y.backward()
        return calls, x.grad, message_of(y.backward)

    check(programme)


def message_of(call: Any) -> str:
    with pytest.raises(RuntimeError) as caught:
        call()
    return str(caught.value)[:60]


def test_what_is_drawn_and_written_within() -> None:
    def programme(lib: Any) -> Any:
        lib.manual_seed(5)
        x, drawn = leaf(lib), []

        def part(x: Any) -> Any:
            noise = lib.rand(2)
            drawn.append(noise)
            y = x * noise
            y.mul_(x)
            return y.exp_()

        y = checkpoint(lib, part, x)
        after = lib.rand(1)
        y.sum().backward()
        with lib.no_grad():
            unrecorded = checkpoint(lib, part, x)
        plain = checkpoint(lib, part, x.detach())
        return drawn, after, x.grad, lib.rand(1), unrecorded.requires_grad, plain.requires_grad

    check(programme)


def test_calls_that_differ_are_refused() -> None:
    def twice(lib: Any, first: Any, second: Any, **options: Any) -> Any:
        ways = iter((first, second))
        checkpoint(lib, lambda x: next(ways)(x), leaf(lib), **options).sum().backward()

    assert "saved 2 in its first call, and 1" in message(lambda t: twice(t, lambda x: x.sin().exp(), lambda x: x.sin()))
    wide = "shape [4], on cpu, and was a Tensor of float32, shape [2]"
    assert wide in message(lambda t: twice(t, t.sin, lambda x: t.cat([x, x]).sin()))
    more = message(lambda t: twice(t, t.sin, lambda x: x.sin().exp().exp(), early_stop=False))
    assert "saved 1 tensors in its first call, and more" in more
    check(lambda t: twice(t, t.sin, lambda x: t.cat([x, x]).sin(), determinism_check="none"))
    check(lambda t: twice(t, t.sin, lambda x: x.sin().exp().exp()))


def test_arguments_that_were_written_to_since_are_refused() -> None:
    def programme(lib: Any) -> Any:
        x = leaf(lib) * 1
        y = checkpoint(lib, lambda x: (x * x).sin(), x)
        x.detach().mul_(2)
        y.sum().backward()

    assert "modified by an inplace operation" in message(programme)


def names(lib: Any) -> Any:
    return importlib.import_module(f"{lib.__name__}.utils.checkpoint")


def selective(lib: Any, policy: Any, **options: Any) -> Any:
    return lambda: names(lib).create_selective_checkpoint_contexts(policy, **options)


@pytest.mark.parametrize("form", ["list", "function", "bool"])
def test_results_that_a_policy_keeps_are_not_computed_again(form: str) -> None:
    def programme(lib: Any) -> Any:
        seen: list[Any] = []
        mm, sin = lib.ops.aten.mm.default, lib.ops.aten.sin.default

        def decide(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
            seen.append((op.name().split(".")[0], ctx.is_recompute, tuple(ctx.op_output.shape)))
            if form == "bool":
                return op in (mm, sin)
            policy = names(lib).CheckpointPolicy
            return policy.MUST_SAVE if op in (mm, sin) else policy.PREFER_RECOMPUTE

        x = lib.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        ran: list[int] = []

        def part(x: Any) -> Any:
            ran.append(1)
            return ((x @ x).sin() @ x).cos()

        context = selective(lib, [mm, sin] if form == "list" else decide)
        y = checkpoint(lib, part, x, context_fn=context)
        y.sum().backward()
        return seen, ran, y, x.grad

    check(programme)


def test_what_was_kept_is_given_once_and_must_not_change() -> None:
    def twice(lib: Any) -> Any:
        x = leaf(lib)
        y = checkpoint(lib, lambda x: x.sin().cos(), x, context_fn=selective(lib, [lib.ops.aten.sin.default]))
        y.sum().backward(retain_graph=True)
        y.sum().backward()

    assert "Trying to backward an extra time" in message(twice)

    def written(lib: Any, **options: Any) -> Any:
        x, kept = leaf(lib), []

        def part(x: Any) -> Any:
            kept.append(x.sin())
            return kept[0].cos().exp()

        y = checkpoint(lib, part, x, context_fn=selective(lib, [lib.ops.aten.sin.default], **options))
        with lib.no_grad():
            kept[0].mul_(2)
        y.sum().backward()
        return x.grad

    assert "has been mutated" in message(written)
    check(lambda lib: written(lib, allow_cache_entry_mutation=True))


def test_policies_are_checked() -> None:
    def of_a_packet(lib: Any) -> Any:
        return names(lib).create_selective_checkpoint_contexts([lib.ops.aten.mm])

    assert "Expected op in `op_list` to be an OpOverload" in message(of_a_packet)
    assert "must be either a function or a list" in message(
        lambda lib: names(lib).create_selective_checkpoint_contexts(3)
    )


def test_the_end_of_the_second_call_is_decided_for_a_block() -> None:
    def programme(lib: Any) -> Any:
        seen: list[Any] = []
        x = leaf(lib)

        def part(x: Any) -> Any:
            y = x.sin().cos()
            seen.append("ended")
            return y

        for block, option in ((False, True), (True, False), (None, False), (None, True)):
            if block is None:
                y = checkpoint(lib, part, x, early_stop=option)
            else:
                with names(lib).set_checkpoint_early_stop(block):
                    y = checkpoint(lib, part, x, early_stop=option)
            y.sum().backward()
            seen.append((block, option))
        return seen, x.grad

    check(programme)
