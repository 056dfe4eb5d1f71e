"""`opcheck_all`: the tests of an operator with arguments that are drawn from its schema."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from opwright.autograd import enable_grad
from opwright.errors import OpCheckError
from opwright.library.custom_ops import CustomOpDef
from opwright.testing import Sample, samples
from opwright_core.arrays.dtypes import COMPLEX, FLOATING
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.call.packets import Packet
from opwright_core.tensors.tensor import Tensor
from opwright_gate.checking.calls import Call, results_of
from opwright_gate.checking.registration import differentiable, gradients, incoming_gradients
from opwright_gate.checking.running import operator_of, run_test, tests_of

__all__ = ["Failure", "draw_samples", "opcheck_all"]

_MOST_SHOWN = 20


@dataclass(frozen=True)
class Failure:
    """A test that failed, the arguments that it failed with, and its error."""

    test: str
    sample: Sample
    error: Exception

    def __str__(self) -> str:
        shown = str(self.error).replace("\n", "\n    ")
        return f"{self.test} with {self.sample}:\n    {type(self.error).__name__}: {shown}"


def opcheck_all(
    op: Operator | Packet | CustomOpDef[..., Any] | str,
    *,
    test_utils: str | Sequence[str] | None = None,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
    given: Iterable[Sample] | None = None,
) -> list[Failure]:
    """Check as `opcheck` does, with arguments drawn from the schema, of all dtypes and layouts that the operator takes,
    or those `given`; where it is differentiable, with Tensors that require grad.

    Returns what failed, and raises OpCheckError with all of it unless `raise_exception` is false; also where no
    arguments are found that the operator takes.
    """
    operator = operator_of(op)
    found = draw_samples(operator) if given is None else list(given)
    if not found:
        raise OpCheckError(
            f"opcheck_all({operator.name}): no arguments were found that the operator takes: give some, "
            "given=[opwright.testing.Sample((x, 2.0))]"
        )
    failures = []
    for sample in found:
        for test in tests_of(operator, test_utils):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of drawn values, such as a logarithm of zero
                    run_test(operator, test, sample.args, sample.kwargs, atol=atol, rtol=rtol)
            except Exception as error:
                failures.append(Failure(test, sample, error))
    if failures and raise_exception:
        raise OpCheckError(_listed(operator, failures, len(found)))
    return failures


def _listed(operator: Operator, failures: list[Failure], count: int) -> str:
    """Return the text of all failures, those of one test with one message once."""
    groups: dict[tuple[str, str], list[Failure]] = {}
    for failure in failures:
        groups.setdefault((failure.test, f"{type(failure.error).__name__}: {failure.error}"), []).append(failure)
    lines = [f"opcheck_all({operator.name}): {len(failures)} tests failed, with {count} samples"]
    for group in list(groups.values())[:_MOST_SHOWN]:
        lines.append(str(group[0]))
        if len(group) > 1:
            lines.append(f"    … and {len(group) - 1} more like it, {group[1].test} with {group[1].sample} for one")
    more = len(failures) - sum(map(len, list(groups.values())[:_MOST_SHOWN]))
    return "\n".join(lines + [f"… and {more} more"] * (more > 0))


def draw_samples(operator: Operator) -> list[Sample]:
    """Return arguments that an operator takes. A fake kernel has no say where nothing passes it: it may be wrong."""
    found = list(samples(operator)) or list(samples(operator, by_fakes=False))
    return [_with_gradients(operator, sample) for sample in found]


def _with_gradients(operator: Operator, sample: Sample) -> Sample:
    """Return the sample with Tensors that require grad, if the operator can then be differentiated."""

    def convert(tensor: Tensor) -> Tensor:
        is_real = tensor.dtype in FLOATING or tensor.dtype in COMPLEX
        return tensor.detach().requires_grad_() if is_real else tensor

    if operator.signature.written:
        return sample
    leaves = sample.converted(convert)
    with enable_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call = Call.of(operator, leaves.args, leaves.kwargs).copied(may_require_grad=True)
            results = differentiable(results_of(operator, call()))
            if results:
                gradients(call, results, incoming_gradients(results))
        except NotImplementedError:  # no formula for some input
            return sample
        except Exception:
            return leaves
    return leaves if results else sample
