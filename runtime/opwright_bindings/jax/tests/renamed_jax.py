"""Operators of ours under another namespace, given to JAX: each transform on a sample of each.

`python renamed_jax.py FOLDER [MOST]` generates the package there and checks some MOST operators; it prints each that
fails, and how many passed.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[4]
sys.path.append(str(ROOT / "tests"))
DIMS = 6  # choices of dimensions of batches for one operator
# What JAX's numerical derivatives are not those of.
NOT_NUMERICAL = {
    "cholesky": "it reads one triangle of a symmetric matrix",
    "linalg_cholesky": "it reads one triangle of a symmetric matrix",
    "linalg_cholesky_ex": "it reads one triangle of a symmetric matrix",
    "_linalg_eigh": "it reads one triangle of a symmetric matrix",
    "linalg_eigh": "it reads one triangle of a symmetric matrix",
    "linalg_eigvalsh": "it reads one triangle of a symmetric matrix",
    "linalg_eig": "eigenvectors have any phase",
    "log_sigmoid_forward": "its second result has no derivative, and changes",
    "remainder": "a sample is near a step",
    "cosine_embedding_loss": "its targets are signs",
}
# What no tracing framework can have: results whose shape, or whether there is an error, depends on data.
READ_DATA = frozenset(("combinations", "ctc_loss", "linalg_matrix_rank", "repeat_interleave"))
# What of a result is not the same for a sample and in a batch, in PyTorch, too.
NOT_BY_SAMPLE = {
    "_linalg_det": "the factors are those of the transposed matrix where that lies dense",
    "_linalg_slogdet": "the factors are those of the transposed matrix where that lies dense",
}


@dataclass(frozen=True)
class Case:
    """A call of one operator: as a function of its arrays, by JAX and by us."""

    name: str
    by_jax: Callable[..., Any]
    by_us: Callable[..., Any]
    arrays: list[Any]
    is_smooth: bool


def cases(module: Any, most: int) -> Iterator[Case]:
    """Yield a case of some operators that JAX is given and that have samples."""
    from declared import of_kind
    from samples import NO_SAMPLES, SAMPLES

    from opwright_codegen.schema.model import SchemaKind

    functions = {each.__name__: each for each in vars(module).values() if type(each).__name__ == "Function"}
    found = []
    for name in of_kind(SchemaKind.FUNCTIONAL):
        base, _, overload = name.partition(".")
        is_given = base in functions and (overload or "default") in functions[base].overloads
        if is_given and base not in READ_DATA and name in SAMPLES and name not in NO_SAMPLES:
            found.append(name)
    for name in found[:: max(1, len(found) // most)]:
        case = _chosen(name, functions[name.partition(".")[0]], SAMPLES[name]())
        if case is not None:
            yield case


def _chosen(name: str, function: Any, samples: Any) -> Case | None:
    """Return the case of the first sample with derivatives; without one, of the first that the operator takes."""
    from opwright_core.dispatch.call.operator import find_operator

    operator, chosen = find_operator(f"renamed::{name}"), None
    for sample in samples:
        case = _case(name, function, operator, sample)
        if case is not None and case.is_smooth:
            return case
        chosen = chosen or case
    return chosen


def _case(name: str, function: Any, operator: Any, sample: Any) -> Case | None:
    """Return the case of a sample, in float64; None for one that the operator does not take, or without elements."""
    import opwright

    arrays: list[Any] = []
    shown = [_slots(value, arrays) for value in sample.args]
    named = {key: _slots(value, arrays) for key, value in sample.kwargs.items()}
    if not arrays or not all(each.size and each.dtype.itemsize != 2 for each in arrays):
        return None  # (threads of XLA flush small numbers of half to zero)

    def filled(call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: call(
            *[_filled(value, given) for value in shown], **{key: _filled(each, given) for key, each in named.items()}
        )

    by_us = filled(operator)
    tensors = [opwright.tensor(each) for each in arrays]
    smooth = [each.requires_grad_() for each in tensors if each.dtype == np.float64]
    try:
        results = flat(by_us(*tensors))
        recorded = [each.sum() for each in results if each.requires_grad]
        grads = opwright.autograd.grad(recorded, smooth, allow_unused=True) if recorded else []
    except Exception:  # of the kinds that operators raise
        return None
    values = [each.detach().numpy() for each in (*results, *grads) if each is not None]
    is_smooth = bool(recorded) and len(recorded) == len(results) and all(np.isfinite(each).all() for each in values)
    is_known = name.partition(".")[0] in NOT_NUMERICAL
    return Case(name, filled(function), by_us, arrays, is_smooth and len(smooth) == len(tensors) and not is_known)


def _slots(value: Any, arrays: list[Any]) -> Any:
    if isinstance(value, np.ndarray):
        arrays.append(value.astype(np.float64) if value.dtype == np.float32 else value)
        return slice(len(arrays) - 1)
    return [_slots(each, arrays) for each in value] if isinstance(value, (list, tuple)) else value


def _filled(value: Any, given: Any) -> Any:
    if isinstance(value, slice):
        return given[value.stop]
    return [_filled(each, given) for each in value] if isinstance(value, list) else value


def flat(result: Any) -> list[Any]:
    """Return results one by one."""
    return list(result) if isinstance(result, (list, tuple)) else [result]


def check(case: Case) -> None:
    """Raise AssertionError for the first transform that gives something else than the operator."""
    import jax

    import opwright

    expected = [each.numpy() for each in flat(case.by_us(*[opwright.tensor(each) for each in case.arrays]))]
    for transform in (lambda call: call, jax.jit):
        for one, other in zip(flat(transform(case.by_jax)(*case.arrays)), expected, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(np.asarray(one), other)
    for one, other in zip(flat(jax.eval_shape(case.by_jax, *case.arrays)), expected, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
    _check_batches(case)
    if case.is_smooth:
        from jax.test_util import check_grads

        check_grads(case.by_jax, tuple(case.arrays), 2, rtol=1e-2, atol=1e-2)


def _check_batches(case: Case) -> None:
    """Check batches of each operand, or of some, at each dimension: operands then differ in rank."""
    import jax

    if case.name in NOT_BY_SAMPLE:
        return
    choices = itertools.product(*[[None, *range(each.ndim + 1)] for each in case.arrays])
    found = [dims for dims in choices if any(dim is not None for dim in dims)]
    for dims in found[:: max(1, len(found) // DIMS)]:
        pairs = list(zip(case.arrays, dims, strict=True))
        batches = [each if dim is None else np.stack([each, np.flip(each)], dim) for each, dim in pairs]
        try:
            samples = [flat(case.by_jax(*_sample(batches, dims, place))) for place in range(2)]
        except Exception:  # the other sample is none that the operator takes
            continue
        together = flat(jax.vmap(case.by_jax, in_axes=dims)(*batches))
        for place, sample in enumerate(samples):
            for one, other in zip(together, sample, strict=True):
                shown = np.asarray(one)[place]
                np.testing.assert_allclose(shown, np.asarray(other), rtol=1e-7, atol=1e-9, err_msg=str(dims))


def _sample(batches: list[Any], dims: Any, place: int) -> list[Any]:
    return [
        each if dim is None else np.ascontiguousarray(np.take(each, place, dim))
        for each, dim in zip(batches, dims, strict=True)
    ]


def main(folder: Path, most: int) -> None:
    """Generate, check, and print what fails."""
    from renamed_project import write_project

    from opwright_codegen.cli import main as opwright

    write_project(folder, "jax")
    with contextlib.chdir(folder):
        assert opwright(["generate"]) == 0
    sys.path[:0] = [str(folder), str(ROOT / "tests" / "conformance")]
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    import jax

    jax.config.update("jax_enable_x64", True)
    import renamed_ops_jax

    count = passed = smooth = 0
    for case in cases(renamed_ops_jax, most):
        count += 1
        try:
            check(case)
        except Exception as error:  # all that fail are shown together
            print("FAILED", case.name, type(error).__name__, str(error)[:400])
        else:
            passed += 1
            smooth += case.is_smooth
    print(f"{passed} of {count} passed, {smooth} of them with derivatives")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10_000)
