"""The operators of all examples in PyTorch: opcheck, compiled programs, exported ones with dynamic sizes, vmap.

`python examples_in_torch.py FOLDER [--inductor]` generates the examples there, with `bindings = ["torch"]`, and prints
what fails, which operators are not checked, and how many passed. Programs of all operators, and with `--inductor` each
with its gradients, are compiled by the default backend.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[4]
# Each example with the module of its binding, and the folder that is imported from.
EXAMPLES = {
    "quickstart": ("quickstart_ops_torch", "."),
    "derivatives": ("robust_ops_torch", "."),
    "expressions": ("expression_demo_torch", "."),
    "package": ("shrink.operators_torch", "src"),
    "native": ("native_demo_torch", "."),
    "fused": ("fused_ops_torch", "."),
    "everywhere": ("everywhere_ops_torch", "."),
}
Call = tuple[tuple[Any, ...], dict[str, Any]]
STEP = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.1, "step": 2}


def calls(torch: Any) -> dict[str, Call]:
    """A call of each operator. Tensors whose first sizes are 4 are a batch."""

    def some(*sizes: int) -> Any:
        return torch.randn(*sizes, dtype=torch.float64, requires_grad=True)

    torch.manual_seed(0)
    rows, target = some(4, 6), torch.tensor([1, 0, 5, 3])
    steps = tuple(each.detach().abs() for each in (rows, some(4, 6), some(4, 6), some(4, 6)))
    out = {"out": torch.empty(4, 6, dtype=torch.float64)}
    mean, rstd = rows.detach().mean(1), rows.detach().std(1).reciprocal()
    return {
        "quickstart::hypotenuse": ((rows, some(4, 6)), {}),
        "quickstart::clip_norm": ((rows,), {}),
        "robust::huber": ((rows, some(4, 6)), {}),
        "robust::scaled_rows": ((rows, some(6)), {}),
        "robust::blend": (([rows, some(4, 6)], [some(4, 6), some(4, 6)]), {}),
        "expression_demo::axpy": ((rows, some(4, 6)), {"alpha": 2}),
        "expression_demo::axpy_": ((rows.detach().clone(), some(4, 6).detach()), {}),
        "expression_demo::axpy.out": ((rows.detach(), rows.detach()), out),
        "expression_demo::fused.out": ((rows.detach(), rows.detach(), rows.detach(), rows.detach()), out),
        "expression_demo::fused": ((rows, some(4, 6), some(6), some(4, 1)), {}),
        "expression_demo::swish": ((rows,), {"beta": 0.5}),
        "expression_demo::huber": ((rows, some(4, 6)), {}),
        "expression_demo::within": ((rows.detach(), some(4, 6).detach(), some(6).detach()), {}),
        "expression_demo::bucket": ((torch.arange(4), 3), {}),
        "shrink::soft": ((rows,), {}),
        "shrink::soft.out": ((rows.detach(),), out),
        "quickstart::hypotenuse.out": ((rows.detach(), rows.detach()), out),
        "shrink::clip_rows": ((rows,), {}),
        "native_demo::axpy": ((rows, some(4, 6)), {"alpha": 2.0}),
        "native_demo::axpy.out": ((rows.detach(), rows.detach()), out),
        "native_demo::wave": ((rows,), {"damping": 0.2}),
        "native_demo::centred_rows": ((rows, some(6)), {}),
        "native_demo::running_max": ((rows,), {}),
        "native_demo::moments": ((rows,), {}),
        "native_demo::adamw_step": (steps, {"step": 2}),
        "native_demo::adamw_step_functional": (steps, {"step": 2}),
        "native_demo::scale_": ((rows.detach().clone(), 3), {}),
        "native_demo::scale": ((rows.detach(), 3), {}),
        "native_demo::scale.out": ((rows.detach(), 3), out),
        "native_demo::nll_rows": ((rows, target), {}),
        "fused::layer_norm": ((rows, some(6), some(6)), {}),
        "fused::layer_norm_backward": (tuple(each.detach() for each in (some(4, 6), rows, mean, rstd, some(6))), {}),
        "fused::cross_entropy": ((rows, target), {}),
        "fused::cross_entropy_backward": ((some(4).detach(), rows.detach(), target, some(4).detach()), {}),
        "fused::rotary": ((some(4, 5, 6), some(5, 3).detach(), some(5, 3).detach()), {}),
        "fused::adamw_step": (steps, STEP),
        "fused::adamw_step_functional": (steps, STEP),
        "everywhere::soft_threshold": ((rows,), {"limit": 0.3}),
        "everywhere::soft_threshold_": ((rows.detach().clone(),), {}),
        "everywhere::soft_threshold.out": ((rows.detach(),), out),
        "everywhere::haversine": ((rows, some(6), some(4, 1), some(4, 6)), {}),
        "everywhere::squared_distances": ((rows, some(5, 6)), {}),
        "everywhere::standardize": ((rows,), {}),
        "everywhere::peak": ((rows, 1), {}),
        "everywhere::moving_mean": ((rows, 1), {}),
    }


def import_examples(folder: Path) -> Iterator[Any]:
    """Generate each example, and yield its binding."""
    from opwright_codegen.cli import main as opwright

    ignored = shutil.ignore_patterns("*_ops", "*_demo", "operators", "__pycache__", ".*")
    for name, (module, path) in EXAMPLES.items():
        own = folder / name
        shutil.copytree(ROOT / "examples" / name, own, ignore=ignored)
        settings = own / "pyproject.toml"
        text = settings.read_text() if settings.exists() else '[tool.opwright]\nschemas = ["ops.yaml"]\n'
        if name == "quickstart":
            text += 'output = "quickstart_ops"\nkernels = ["kernels"]\n'
        text = re.sub(r"^bindings = .*\n", "", text, flags=re.MULTILINE)
        settings.write_text(text.replace("[tool.opwright]\n", '[tool.opwright]\nbindings = ["torch"]\n'))
        sys.path.insert(0, str(own / path))
        with contextlib.chdir(own):
            assert opwright(["generate"]) == 0
            assert "native" not in text or opwright(["build"]) == 0
        sys.modules.pop("kernels", None)  # two examples have a module of that name
        yield importlib.import_module(module).binding


def tensors(value: Any, torch: Any) -> list[Any]:
    """The tensors among results or arguments."""
    if isinstance(value, (list, tuple)):
        return [found for each in value for found in tensors(each, torch)]
    return [value] if isinstance(value, torch.Tensor) else []


def total(torch: Any, result: Any) -> Any:
    """A number that all floating point results go into."""
    return sum(each.sin().sum() for each in tensors(result, torch) if each.is_floating_point())


def compiled(torch: Any, operator: Any, args: Any, kwargs: Any, **options: Any) -> None:
    """Compare a compiled program with the operator: values, and gradients where it has some."""
    options = options or {"backend": "aot_eager"}
    program = torch.compile(lambda: total(torch, operator(*args, **kwargs)), fullgraph=True, **options)
    found, expected = program(), total(torch, operator(*args, **kwargs))
    torch.testing.assert_close(found, expected)
    inputs = [each for each in tensors(args, torch) if each.requires_grad]
    if inputs and isinstance(expected, torch.Tensor) and expected.requires_grad:
        grads = [torch.autograd.grad(each, inputs, allow_unused=True) for each in (program(), expected)]
        torch.testing.assert_close(*grads)


def by_inductor(torch: Any, operator: Any, args: Any, kwargs: Any) -> None:
    """Compile a program and its gradients by the default backend, with known sizes and with symbolic ones."""
    for dynamic in (False, True):
        torch._dynamo.reset()
        compiled(torch, operator, args, kwargs, dynamic=dynamic)


def together(torch: Any, chosen: list[tuple[Any, Call]]) -> Iterator[str]:
    """Yield which operators differ in one program of all, which the default backend compiles (without loops of C++)."""
    detached = [(each, mapped(args, lambda one: one.detach(), torch), kwargs) for each, (args, kwargs) in chosen]

    def program() -> list[Any]:
        return [tensors(operator(*args, **kwargs), torch) for operator, args, kwargs in detached]

    for dynamic in (False, True):
        torch._dynamo.reset()
        found = torch.compile(program, fullgraph=True, dynamic=dynamic)()
        for (operator, *_), one, other in zip(detached, found, program(), strict=True):
            for each, wanted in zip(one, other, strict=True):
                if each.dtype != wanted.dtype or not torch.allclose(each, wanted, equal_nan=True):
                    yield f"FAILED {operator} by inductor, dynamic={dynamic}"


def exported(torch: Any, operator: Any, args: Any, kwargs: Any) -> None:
    """Export a program in which sizes of 4 are a batch of any size, and call it on twice as many."""

    class Program(torch.nn.Module):  # type: ignore[misc]
        def forward(self, *inputs: Any) -> Any:
            return operator(*inputs, **kwargs)

    given = mapped(args, lambda each: each.detach(), torch)
    batch = torch.export.Dim("batch", min=2)

    def shape(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(shape(each) for each in value)
        return ({0: batch} if value.dim() and value.shape[0] == 4 else {}) if isinstance(value, torch.Tensor) else None

    program = torch.export.export(Program(), given, dynamic_shapes=(tuple(shape(each) for each in given),))
    larger = mapped(given, lambda each: torch.cat([each, each]) if shape(each) else each, torch)
    torch.testing.assert_close(program.module()(*larger), Program()(*larger))


def batched(torch: Any, operator: Any, args: Any, kwargs: Any) -> None:
    """Compare `vmap` with a loop: over dimensions that are last, and over the first one of the first tensor alone."""
    given = mapped(args, lambda each: torch.stack([each, half(each)], -1).detach(), torch)
    dims = mapped(args, lambda each: -1, torch, lambda other: None)
    as_loop(torch, operator, given, dims, kwargs)
    place = next((at for at, each in enumerate(args) if isinstance(each, torch.Tensor)), None)
    if place is not None:
        single = [each.detach() if isinstance(each, torch.Tensor) else each for each in args]
        single[place] = torch.stack([single[place], half(single[place])])
        as_loop(torch, operator, tuple(single), tuple(0 if at == place else None for at in range(len(args))), kwargs)


def as_loop(torch: Any, operator: Any, given: Any, dims: Any, kwargs: Any) -> None:
    """Compare one call of two samples with two calls."""
    found = torch.vmap(lambda *each: operator(*each, **kwargs), in_dims=dims)(*given)
    single = [operator(*picked(given, dims, at), **kwargs) for at in range(2)]
    for one, *others in zip(*[tensors(each, torch) for each in (found, *single)], strict=True):
        torch.testing.assert_close(one, torch.stack(others))


def half(tensor: Any) -> Any:
    """Another sample, which operators take as they take the first."""
    return tensor * 0.5 if tensor.is_floating_point() else tensor


def picked(value: Any, dim: Any, at: int) -> Any:
    """The arguments of one sample."""
    if isinstance(dim, (list, tuple)):
        return type(value)(picked(each, one, at) for each, one in zip(value, dim, strict=True))
    return value if dim is None else value.select(dim, at)


def mapped(value: Any, change: Callable[[Any], Any], torch: Any, rest: Callable[[Any], Any] = lambda each: each) -> Any:
    """A structure with something else for its tensors, and for what is none."""
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(each, change, torch, rest) for each in value)
    return change(value) if isinstance(value, torch.Tensor) else rest(value)


def tangents(torch: Any, operator: Any, args: Any, kwargs: Any) -> bool:
    """Compare forward mode with differences of values, by itself and in a batch. Return False if it is refused.

    Tensors that require grad must be refused.
    """
    flat = [each.detach() for each in tensors(args, torch)]
    moved = [at for at, each in enumerate(tensors(args, torch)) if each.requires_grad]
    moved = moved or [at for at, each in enumerate(flat) if each.is_floating_point()]
    given, directions = [flat[at] for at in moved], [torch.randn_like(flat[at]) for at in moved]

    def program(*given: Any) -> list[Any]:
        replaced = iter([dict(zip(moved, given, strict=True)).get(at, each) for at, each in enumerate(flat)])
        results = operator(*mapped(args, lambda each: next(replaced), torch), **kwargs)
        return [each for each in tensors(results, torch) if each.is_floating_point()]

    def at(step: float) -> list[Any]:
        return program(*[each + step * along for each, along in zip(given, directions, strict=True)])

    if not moved or not program(*given):
        return False
    refused(torch, operator, lambda *duals: program(*[each.requires_grad_() for each in duals]), given, directions)
    try:
        found = torch.func.jvp(program, tuple(given), tuple(directions))[1]
    except NotImplementedError as error:
        assert f"{operator}: no forward formula" in str(error), error
        return False
    wanted = [(one - other) / 2e-6 for one, other in zip(at(1e-6), at(-1e-6), strict=True)]
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
    batch = [torch.stack([each, each * 2]) for each in directions]
    several = torch.vmap(lambda *along: torch.func.jvp(program, tuple(given), along)[1])(*batch)
    torch.testing.assert_close(several, [torch.stack([each, each * 2]) for each in found])
    with torch.autograd.forward_ad.dual_level():
        duals = map(torch.autograd.forward_ad.make_dual, given, directions)
        tangents_of = [torch.autograd.forward_ad.unpack_dual(each).tangent for each in program(*duals)]
    torch.testing.assert_close(tangents_of, found)
    return True


def refused(torch: Any, operator: Any, program: Any, given: Any, directions: Any) -> None:
    """Raise AssertionError unless a program of dual tensors is refused in words that name the operator."""
    with torch.autograd.forward_ad.dual_level():
        try:
            program(*map(torch.autograd.forward_ad.make_dual, given, directions))
        except NotImplementedError as error:
            assert str(operator) in str(error), error
        else:
            raise AssertionError("tensors with tangents that require grad are not refused")


def check(torch: Any, operator: Any, call: Call, *others: Any) -> Iterator[str]:
    """Yield what fails."""
    args, kwargs = call
    found = torch.library.opcheck(operator, args, kwargs, raise_exception=False)
    yield from [f"{test}: {error}" for test, error in found.items() if error != "SUCCESS"]
    if operator._schema.is_mutable:
        return  # opcheck compiles it
    for test in (compiled, exported, batched, tangents, *others):
        torch._dynamo.reset()
        try:
            if test(torch, operator, args, kwargs):
                print("tangents of", operator)
        except Exception as error:  # all that fail are shown together
            yield f"{test.__name__}: {type(error).__name__}: {error}"[:600]


def sharded(torch: Any, known: dict[str, Call]) -> Iterator[str]:
    """Yield which operators differ on DTensors, placed in all ways that their rules allow, and which of these PyTorch's
    own validator calls wrong; and how many are cut."""
    from opwright.dimensions.deriving import rule_of
    from opwright_bindings.torch.runtime import validated_shardings
    from opwright_bindings.torch.runtime.judged_shardings import judge
    from opwright_bindings.torch.runtime.values import our_tensor
    from opwright_core.dispatch.call.operator import find_operator

    cut = 0

    def values_of(operator: Any, args: Any, kwargs: Any) -> list[Any]:
        given = mapped((args, tuple(kwargs.values())), lambda each: our_tensor(each.detach().clone()), torch)
        lists = [list(value) if isinstance(value, tuple) else value for value in given[0]]
        return list(operator.signature.bind(lists, dict(zip(kwargs, given[1], strict=True))))

    calls = [(name, find_operator(name), *call) for name, call in known.items()]
    with judge() as found:
        for name, operator, args, kwargs in calls:
            values = values_of(operator, args, kwargs)
            rule = rule_of(operator, values)
            cut += len(rule.factors) > len(rule.of_kind("whole"))
            if wrong := found(operator, values)[0]:
                yield f"FAILED {name} {wrong}"
    with validated_shardings.judge():
        for name, operator, args, kwargs in calls:
            if refused := validated_shardings.verdict(operator, values_of(operator, args, kwargs), 0)[0]:
                yield f"FAILED {name} by PyTorch's validator: {refused}"
    yield f"{cut} of {len(known)} cut"


def main(folder: Path, *options: str) -> None:
    """Generate, check, and print what fails."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    import torch

    torch.set_num_threads(1)
    others = (by_inductor,) if options else ()
    given, count, passed, chosen, bindings = calls(torch), 0, 0, [], []
    inductor: Any = importlib.import_module("torch._inductor.config")
    autograd: Any = importlib.import_module("torch._functorch.config")
    inductor.fx_graph_cache = autograd.enable_autograd_cache = False
    for binding in import_examples(folder):
        bindings.append(binding)
        for name in binding._arguments:
            qualified = f"{binding.namespace}::{name}"
            if qualified not in given:
                print("NOT CHECKED", qualified)
                continue
            operator = binding.overload(name)
            wrong = list(check(torch, operator, given[qualified], *others))
            if not operator._schema.is_mutable:
                chosen.append((operator, given[qualified]))
            count += 1
            passed += not wrong
            for each in wrong:
                print("FAILED", qualified, each)
    print(*together(torch, chosen), *sharded(torch, given), sep="\n")
    print(f"{passed} of {count} passed")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
