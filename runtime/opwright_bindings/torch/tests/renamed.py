"""Operators of ours under another namespace, given to PyTorch: its own opcheck, on a sample of each.

`python renamed.py FOLDER [MOST]` generates the package there and checks some MOST operators, or all; it prints each
that fails, and how many passed. Of all, it prints those of KNOWN, too, that pass: they are to be taken out.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from examples_in_torch import batched

ROOT = Path(__file__).parents[4]
sys.path.append(str(ROOT / "tests"))
# What opcheck refuses in PyTorch, too, by the operators' names.
KNOWN = {
    "equal": "reads data, which a fake tensor does not have",
    "allclose": "reads data, which a fake tensor does not have",
    "rrelu_with_noise_functional": "random",
}


def calls(torch: Any) -> Iterator[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """Yield one call of each functional operator that has samples: of floats, where there is such a sample."""
    from declared import of_kind
    from samples import NO_SAMPLES, SAMPLES

    from opwright_codegen.schema.model import SchemaKind

    for name in of_kind(SchemaKind.FUNCTIONAL):
        base, _, overload = name.partition(".")
        packet = getattr(torch.ops.renamed, base, None)
        if name in NO_SAMPLES or name not in SAMPLES:
            continue
        if packet is None or (overload or "default") not in packet.overloads():
            continue
        given = list(SAMPLES[name]())
        operator = getattr(packet, overload or "default")
        chosen = next((each for each in given if _is_plain(each) and _is_served(operator, each, torch)), None)
        if chosen is not None:
            yield operator, chosen.args, chosen.kwargs


def _is_plain(sample: Any) -> bool:
    """Whether all arrays of a sample are of float32, with elements."""
    values = [*sample.args, *sample.kwargs.values()]
    flat = [each for value in values for each in (value if isinstance(value, (list, tuple)) else [value])]
    arrays = [each for each in flat if isinstance(each, np.ndarray)]
    return bool(arrays) and all(each.dtype == np.float32 and each.size for each in arrays) and arrays[0].ndim > 0


def _is_served(operator: Any, sample: Any, torch: Any) -> bool:
    """Whether the operator takes a sample, and gives numbers that opcheck compares: no NaN, no infinities."""
    needs = _is_differentiable(torch, operator)
    args = [tensor(torch, each, needs) for each in sample.args]
    named = {name: tensor(torch, each, needs) for name, each in sample.kwargs.items()}
    try:
        found = operator(*args, **named)
        results = list(found) if isinstance(found, (list, tuple)) else [found]
        recorded = [each.sum() for each in results if isinstance(each, torch.Tensor) and each.requires_grad]
        inputs = [each for each in args if isinstance(each, torch.Tensor)]
        if recorded and inputs:
            results += torch.autograd.grad(recorded, inputs, allow_unused=True)
    except (RuntimeError, ValueError):
        return False
    return not any(isinstance(each, torch.Tensor) and not each.isfinite().all() for each in results)


NOT_BATCHED = ("is_conj", "is_neg")  # which return no tensors


def _is_differentiable(torch: Any, operator: Any) -> bool:
    found: bool = torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), "Autograd")
    return found


def tensor(torch: Any, value: Any, requires_grad: bool = False) -> Any:
    """Return an argument of a sample as PyTorch's."""
    if isinstance(value, (list, tuple)):
        return type(value)(tensor(torch, each, requires_grad) for each in value)
    if isinstance(value, np.dtype):
        return getattr(torch, value.name)
    if not isinstance(value, np.ndarray):
        return value
    return torch.from_numpy(value.copy()).requires_grad_(requires_grad)


def check(torch: Any, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, str]:
    """Return the tests of opcheck that fail, with what they say."""
    needs = _is_differentiable(torch, operator)
    positional = tuple([tensor(torch, each, needs) for each in args])
    named = {name: tensor(torch, each, needs) for name, each in kwargs.items()}
    result = torch.library.opcheck(operator, positional, named, raise_exception=False)
    wrong = {test: f"{type(found).__name__}: {found}"[:400] for test, found in result.items() if found != "SUCCESS"}
    if operator._schema.name.partition("::")[2] not in NOT_BATCHED:
        try:
            batched(torch, operator, positional, named)
        except Exception as error:  # all that fail are shown together
            wrong["vmap"] = f"{type(error).__name__}: {error}"[:400]
    return wrong


def main(folder: Path, most: int) -> None:
    """Generate, check, and print what fails."""
    from renamed_project import write_project

    from opwright_codegen.cli import main as opwright

    write_project(folder)
    with contextlib.chdir(folder):
        assert opwright(["generate"]) == 0
    sys.path[:0] = [str(folder), str(ROOT / "tests" / "conformance")]
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    import renamed_ops_torch
    import torch

    assert renamed_ops_torch.binding.namespace == "renamed"
    torch.set_num_threads(1)
    passed = 0
    every = list(calls(torch))
    found = [each for each in every if _base(each[0]) not in KNOWN]
    step = max(1, len(found) // most)
    for operator, args, kwargs in found[::step]:
        wrong = check(torch, operator, args, kwargs)
        passed += not wrong
        if wrong:
            print("FAILED", operator, wrong)
    print(f"{passed} of {len(found[::step])} passed; {len(found)} operators have samples")
    if step == 1:
        refused = {_base(each[0]) for each in every if _base(each[0]) in KNOWN and check(torch, *each)}
        for name in KNOWN.keys() - refused:
            print("PASSES, THOUGH IT IS KNOWN NOT TO", name)


def _base(operator: Any) -> str:
    name: str = operator._schema.name.partition("::")[2]
    return name


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10_000)
