"""Operators of the examples on four devices that XLA plays, cut at each factor of their rules, in JSON.

`python sharded_examples_jax.py` with the folders of the packages on the path. Each case is a part of one program, and
says which by a scope, so that XLA compiles twice: with Explicit axes and with Auto ones.
"""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

# Sums that XLA joins would be those of one part.
os.environ["XLA_FLAGS"] = "--xla_disable_hlo_passes=all-reduce-combiner,all-gather-combiner,cpu-all-reduce-combiner"
import jax

jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_enable_x64", True)  # classes are int64

import numpy as np  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

from opwright.dimensions.rule import DimensionRule  # noqa: E402
from opwright_bindings.jax.runtime.programs import Call  # noqa: E402
from opwright_bindings.jax.runtime.rules import rule_of_program  # noqa: E402

NAMES = {"all-gather": "gather", "all-reduce": "sum", "collective-permute": "halo", "all-to-all": "all-to-all"}
# The part that sends: its scope, or the argument that is sent, which JAX 0.12 names if nothing computes first.
PART = re.compile(r"(?:^|[/(])(?:part|given\[)(\d+)(?:_|\])")
SENT = re.compile(rf"= [^=]* ({'|'.join(NAMES)})(?:-start)?\(.*?op_name=\"([^\"]*)\"")
QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
RANDOM = np.random.default_rng(0)


def some(*shape: int) -> Any:
    return RANDOM.uniform(0.1, 1, shape).astype(np.float32)


A, B, ROW, COLUMN, LONG = some(8, 12), some(8, 12), some(12), some(8, 1), some(4, 4, 8)
TARGET = RANDOM.integers(0, 12, 8).astype(np.int64)
STEP = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.1, "step": 2}
CALLS: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("everywhere.soft_threshold", [A], {"limit": 0.3}),
    ("everywhere.haversine", [A, ROW, COLUMN, B + 1], {}),
    ("everywhere.squared_distances", [A, some(4, 12)], {}),
    ("everywhere.standardize", [A], {}),
    ("everywhere.peak", [A], {"dim": -1, "keepdim": True}),
    ("everywhere.peak", [A], {"dim": 0}),
    ("everywhere.moving_mean", [A], {"radius": 1}),
    ("native_demo.axpy", [A, ROW], {"alpha": 2.0}),
    ("native_demo.running_max", [A], {}),
    ("native_demo.moments", [A], {}),
    ("native_demo.wave", [A], {}),
    ("native_demo.centred_rows", [A, ROW], {}),
    ("native_demo.centred_rows", [LONG], {}),
    ("native_demo.adamw_step_functional", [A, B, A, B], {"step": 2}),
    ("native_demo.scale", [A], {"by": 3}),
    ("native_demo.nll_rows", [A, TARGET, ROW], {}),
    ("fused.layer_norm", [A, ROW, None], {}),
    ("fused.layer_norm_backward", [A, B, some(8), some(8), ROW], {}),
    ("fused.cross_entropy", [A, TARGET], {}),
    ("fused.cross_entropy_backward", [some(8), A, TARGET, some(8)], {}),
    ("fused.rotary", [LONG, some(4, 4), some(4, 4)], {}),
    ("expression_demo.axpy", [A, ROW], {"alpha": 2}),
    ("expression_demo.fused", [A, ROW, COLUMN, B], {}),
    ("expression_demo.swish", [A], {"beta": 0.5}),
    ("expression_demo.huber", [A, B], {}),
    ("expression_demo.within", [A, ROW, COLUMN], {}),
    ("expression_demo.bucket", [TARGET], {"buckets": 3}),
]
# What has no rule of batches, or is made of a kernel that writes.
LOOPED = ("fused.", "native_demo.moments", "native_demo.adamw", "native_demo.nll", "native_demo.scale")
# What Python computes, and XLA gathers with Auto axes: kernels in Python, or made of one that writes, and derivatives
# whose formulas call operators that XLA has no words for.
BY_PYTHON = ("everywhere.sq", "everywhere.st", "everywhere.p", "everywhere.m", "native_demo.adamw", "native_demo.scale")
OTHERS_BY_PYTHON = {
    "vmap": ("native_demo.running", "native_demo.centred"),
    "grad": ("fused.cross_entropy_backward", "native_demo.running", "native_demo.moments", "native_demo.nll"),
    "jvp": (
        *("fused.cross_entropy", "fused.layer_norm_backward"),
        *("native_demo.running", "native_demo.moments", "native_demo.centred", "native_demo.nll"),
    ),
}
MODULES = {name: f"{name if name.endswith('_demo') else f'{name}_ops'}_jax" for name in
           ("everywhere", "native_demo", "fused", "expression_demo")}  # fmt: skip


@dataclass(frozen=True)
class Part:
    """One call, transformed, and cut at a factor: `lie` says how operands lie, `wanted` how results do."""

    name: str
    what: str
    kind: str
    run: Callable[..., Any]
    arrays: Sequence[Any]
    lie: Sequence[P]
    wanted: Sequence[P]


def main() -> None:
    """Check all cuts with both kinds of axes."""
    found: list[str] = []
    count = 0
    every = [part for number, call in enumerate(CALLS) for part in parts_of(f"{number}_{call[0]}", *call)]
    by_c = [part for part in every if not is_by_python(part)]
    expected = whole(every)
    for axes, parts in ((AxisType.Explicit, every), (AxisType.Auto, by_c)):
        mesh = jax.make_mesh((4,), ("x",), axis_types=(axes,))
        given = [placed(part, mesh) for part in parts]
        with jax.set_mesh(mesh):
            compiled = jax.jit(partial(together, parts)).lower(given).compile(QUICKLY)
            results = compiled(given)
        sent: dict[int | str, set[str]] = {}
        for word, scope in SENT.findall(compiled.as_text()):
            named = PART.search(scope)
            sent.setdefault(int(named[1]) if named else scope, set()).add(NAMES[word])
        for number, (part, leaves) in enumerate(zip(parts, results, strict=True)):
            said = f"{axes.name} {part.what} of {part.name} at {part.kind}"
            own = sent.pop(number, set())
            why = (
                differences(leaves, expected[part.name, part.what]),
                misplaced(part, leaves, mesh),
                unwanted(part, own),
            )
            found += [f"{said}: {each}" for each in chain(*why)]
            count += 1
        found += [f"{axes.name}: {words} at {scope}" for scope, words in sent.items()]
    print(json.dumps({"faults": found, "count": count}))


def placed(part: Part, mesh: Any) -> list[Any]:
    pairs = zip(part.arrays, part.lie, strict=True)
    return [jax.device_put(one, NamedSharding(mesh, lies)) for one, lies in pairs]


def is_by_python(part: Part) -> bool:
    name = part.name.partition("_")[2]
    return name.startswith((*BY_PYTHON, *OTHERS_BY_PYTHON.get(part.what, ())))


def unwanted(part: Part, sent: set[str]) -> Iterator[str]:
    """Yield what is sent between devices and should not be, or is missing."""
    needed = {"sum": "sum", "max": "sum", "window": "halo"}.get(part.kind, "")
    if part.kind == "max" and part.what in ("grad", "jvp"):
        return  # the derivative of a maximum needs the whole
    if "gather" in sent or "all-to-all" in sent:
        yield f"sends {sorted(sent)}"
    if part.what == "f" and sent != {needed} - {""}:
        yield f"sends {sorted(sent)}, and not {needed!r}"


def together(parts: Sequence[Part], given: Sequence[Any]) -> list[Any]:
    found = []
    for number, (part, arrays) in enumerate(zip(parts, given, strict=True)):
        with jax.named_scope(f"part{number}_"):
            found.append(jax.tree.leaves(part.run(*arrays)))
    return found


def whole(parts: Sequence[Part]) -> dict[tuple[str, str], Any]:
    """Return the results of one device, of each call and transform once."""
    named = {(part.name, part.what): part for part in parts}
    given = [list(part.arrays) for part in named.values()]
    found = jax.jit(lambda given: together([*named.values()], given)).lower(given).compile(QUICKLY)(given)
    return dict(zip(named, found, strict=True))


def parts_of(label: str, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Iterator[Part]:
    module, _, function = name.partition(".")
    operator = getattr(importlib.import_module(MODULES[module]), function)
    arrays = [each for each in args if each is not None]

    def call(*given: Any) -> Any:
        left = iter(given)
        return operator(*[None if each is None else next(left) for each in args], **kwargs)

    rule, by = rule_of(call, arrays), [n for n, each in enumerate(arrays) if each.dtype.kind == "f"]
    cut = [factor for factor in rule.factors if rule.kind(factor).word != "whole"]
    for factor in cut:
        lie, wanted = ([P(*["x" if each == factor else None for each in own]) for own in side]
                       for side in (rule.operands, rule.results))  # fmt: skip
        made = partial(Part, label, kind=rule.kind(factor).word)
        yield made("f", run=call, arrays=arrays, lie=lie, wanted=wanted)
        if factor == cut[-1] and not name.startswith(LOOPED):
            stacked, over = [np.stack([each, each]) for each in arrays], [P(None, *each) for each in wanted]
            yield made("vmap", run=jax.vmap(call), arrays=stacked, lie=[P(None, *each) for each in lie], wanted=over)
        if by and is_derived(call, arrays, by):
            yield made("grad", run=graded(call, by), arrays=arrays, lie=lie, wanted=[lie[n] for n in by])
            if factor == cut[-1]:
                yield made("jvp", run=pushed(call, by), arrays=arrays, lie=lie, wanted=wanted)


def rule_of(call: Callable[..., Any], arrays: Sequence[Any]) -> DimensionRule:
    """Return the dimension rule of the primitive's call."""
    program = jax.make_jaxpr(call)(*arrays).eqns[-1].params["program"]
    assert isinstance(program, Call)
    return rule_of_program(program, tuple([(each.shape, each.dtype) for each in arrays]))


def graded(call: Callable[..., Any], by: Sequence[int]) -> Callable[..., Any]:
    def loss(*given: Any) -> Any:
        found = [each for each in jax.tree.leaves(call(*given)) if each.dtype.kind == "f"]
        return sum(((each**2).sum() for each in found[1:]), (found[0] ** 2).sum())

    return jax.grad(loss, tuple(by))


def pushed(call: Callable[..., Any], by: Sequence[int]) -> Callable[..., Any]:
    def run(*given: Any) -> Any:
        def of_floats(*floats: Any) -> Any:
            mixed = dict(zip(by, floats, strict=True))
            return call(*[mixed.get(n, each) for n, each in enumerate(given)])

        floats = [given[n] for n in by]
        return jax.jvp(of_floats, floats, floats)[1]

    return run


def is_derived(call: Callable[..., Any], arrays: Sequence[Any], by: Sequence[int]) -> bool:
    try:
        jax.eval_shape(graded(call, by), *arrays)
    except (NotImplementedError, IndexError):
        return False
    return True


def differences(leaves: Sequence[Any], expected: Sequence[Any]) -> Iterator[str]:
    for one, other in zip(leaves, expected, strict=True):
        if not np.allclose(one, other, rtol=1e-4, atol=1e-4, equal_nan=True):
            yield f"{np.asarray(one)} and not {np.asarray(other)}"


def misplaced(part: Part, leaves: Sequence[Any], mesh: Any) -> Iterator[str]:
    """Yield which results do not lie as the rule says; zeros lie anywhere."""
    if part.kind == "max" and part.what == "grad":
        return
    for one, wanted in zip(leaves, part.wanted, strict=True):
        if np.any(one) and not one.sharding.is_equivalent_to(NamedSharding(mesh, wanted), one.ndim):
            yield f"lies as {one.sharding.spec}, and not {wanted}"


if __name__ == "__main__":
    main()
