"""Transforms: batches, autocast, traced and functionalised calls give what plain calls give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from opwright.amp import autocast
from opwright.batching.rule_lookup import kind_of_rule
from opwright.batching.tables import REGISTERED
from opwright.func import vmap
from opwright_core.arrays.dtypes import bfloat16, float16, float32
from opwright_core.tensors.tensor import Tensor, wrap
from opwright_gate import checking
from opwright_gate.cases import Case
from opwright_gate.comparing import close, shown_error
from opwright_gate.properties.batches import batch_problem
from opwright_gate.properties.gradient_calls import (
    gradients_of,
    has_formula,
    incoming_for,
    inputs_of,
    leaves,
    results_of,
)
from opwright_gate.properties.property import Problem, Property
from opwright_gate.samples import Samples
from opwright_gate.subjects import Subject
from opwright_gate.variations import DIMS, variations
from opwright_gate.verdicts import Verdict

__all__ = ["Autocast", "Batches", "OfOurs", "Traced"]

# What `vmap` does without a rule of the operator's own.
_WITHOUT_RULES: Final = ("refused", "random", "inplace_view", "loop", "decomposed")


class OfOurs(Property):
    """A question about transforms of ours."""

    def applies(self, subject: Subject) -> bool | str:
        """Whether the operator is one of ours."""
        return True if subject.origin == "opwright" else "transforms of PyTorch are not asked"


class Batches(OfOurs):
    """Rules for `vmap`."""

    name, title, group = "batches-like-a-loop", "vmap gives what a loop gives", "transforms"
    finds = "A rule for vmap that is wrong for a batch of one argument, at another dimension, or at two levels."
    example = "def rule(info, in_dims, x):\n    return x.sum(-1), 0  # in_dims may be 1"
    mend = "Move the batch dimension to the front first: `x.movedim(in_dims[0], 0)`."

    def applies(self, subject: Subject) -> bool | str:
        """Whether a rule of its own is registered."""
        if subject.origin != "opwright":
            from opwright_bindings.torch.runtime.judged_customs import has_rule

            return has_rule(subject.name) or "it has no rule of its own"
        if subject.operator.signature.written:
            return REGISTERED.find(subject.name) is not None
        return kind_of_rule(subject.operator) not in _WITHOUT_RULES

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict where a rule is wrong."""
        if subject.origin != "opwright":
            yield from self._of_torch(subject, samples)
            return
        if REGISTERED.find(subject.name) is None:
            yield from self._by_family(subject, samples)
            return
        for case in [*samples.some, *samples.more]:
            try:
                checking.check_vmap(case.call(subject.operator))
            except Exception as error:
                yield self.broken(subject, case, Problem("vmap-wrong", str(error).partition("\n")[0]))
                return
            text = _two_levels(subject, case)
            if text is not None:
                yield self.broken(subject, case, Problem("vmap-wrong", text))
                return

    def _of_torch(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        from opwright_bindings.torch.runtime.judged_customs import vmap_problem

        for case in () if samples.why_unstable else [*samples.some, *samples.more]:
            text = vmap_problem(subject.name, case.call(subject.operator).arguments)
            if text is not None:
                yield self.broken(subject, case, Problem("vmap-wrong", text))
                return

    def _by_family(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict where the rule of a family, which a schema file names, is another than a loop."""
        if samples.why_unstable or samples.first is None:
            return
        has_dims = any(name in DIMS for name in subject.operator.signature.names)
        turned = variations(subject.operator, samples.first) if has_dims else ()
        for case in [*samples.some, *samples.more, *turned]:
            text = batch_problem(subject, case)
            if text is not None:
                yield self.broken(subject, case, Problem("vmap-wrong", text))
                return


def _two_levels(subject: Subject, case: Case) -> str | None:
    """Return how a batch of batches differs from the loop, for each dimension of the first Tensor."""
    call = case.call(subject.operator)
    first = next((each for each in call.operands if each.tensor.dim() < 4), None)
    if first is None or not isinstance(call.arguments[first.position], Tensor) or subject.draws_random_numbers:
        return None
    array = np.asarray(first.tensor.numpy(force=True))
    batch = np.stack([np.stack([array, array[::-1] if array.ndim else array])] * 2)

    def one(tensor: Tensor) -> Any:
        return subject.operator.call(*call.with_argument(first.position, tensor).arguments)

    results = [
        [subject.operator.call(*call.with_argument(first.position, wrap(batch[i, j])).arguments) for j in (0, 1)]
        for i in (0, 1)
    ]
    for dim in range(array.ndim + 1):
        moved = wrap(np.ascontiguousarray(np.moveaxis(batch, (0, 1), (0, dim + 1))))
        try:
            found = vmap(vmap(one, in_dims=dim))(moved)
        except Exception as error:
            return f"two levels of vmap, the inner at {dim}, raise: {shown_error(error)}"
        for i in (0, 1):
            for j in (0, 1):
                wanted = checking.results_of(subject.operator, results[i][j])
                got = checking.results_of(subject.operator, found)
                for got_one, want in zip(got, wanted, strict=True):
                    if not close(got_one.tensor.numpy(force=True)[i, j], want.tensor.numpy(force=True)):
                        return f"two levels of vmap, the inner at {dim}, give another {want.name}"
    return None


class Autocast(OfOurs):
    """Regions of autocast."""

    name, title, group = "autocast-is-told", "Fakes are right in regions of autocast", "transforms"
    finds = "A fake kernel whose dtype is another within a region of autocast than the real one's."
    example = 'op.register_autocast("cpu", opwright.bfloat16)  # and the kernel returns float32 always'
    mend = "Make the kernel return the dtype of its arguments, or the fake that of the kernel."

    def applies(self, subject: Subject) -> bool | str:
        """Whether the operator is one of ours, or one of PyTorch's that says to what it casts."""
        if subject.origin == "opwright":
            return True
        from opwright_bindings.torch.runtime.judged_customs import has_casts

        return has_casts(subject.name) or "it says nothing about autocast"

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for each lower dtype."""
        case = samples.floats.get(float32)
        if case is None:
            return
        if subject.origin != "opwright":
            from opwright_bindings.torch.runtime.judged_customs import autocast_problem

            text = autocast_problem(subject.name, case.call(subject.operator).arguments)
            if text is not None:
                yield self.broken(subject, case, Problem("autocast-dtype", text))
            return
        for dtype in (bfloat16, float16):
            with autocast("cpu", dtype):
                real, fake = subject.run(case), subject.fake(case)
            if real.error is not None:
                outside = subject.run(case)
                if outside.error is None:
                    why = f"it raises in a region of autocast to {dtype}: {shown_error(real.error)}"
                    yield self.broken(subject, case, Problem("autocast-raises", why))
                    return
                continue
            if fake.error is not None:
                continue
            text = checking.difference(fake.call, fake.result, real.call, real.result, None)
            if text is not None:
                yield self.broken(subject, case, Problem("autocast-dtype", f"in autocast to {dtype}: {text}"))
                return


def _call(subject: Subject, case: Case) -> checking.Call:
    """Return the call, with a backward pass if there is a formula, which takes what the operator does."""
    is_recorded = not subject.operator.signature.written and has_formula(subject, case)
    return leaves(subject, case) if is_recorded and _goes_back(subject, case) else case.call(subject.operator)


def _goes_back(subject: Subject, case: Case) -> bool:
    """Whether a backward pass that nobody traces raises nothing: what it raises is said elsewhere."""
    call = leaves(subject, case)
    try:
        results = results_of(call)
        gradients_of(results, inputs_of(call), incoming_for(results))
    except Exception:
        return False
    return True


class Traced(OfOurs):
    """Traced calls: forward, backward, functionalised writes."""

    name, title, group = "traces-and-replays", "Traced calls give what calls give", "transforms"
    finds = "A call or its backward pass that reads data while it is traced, or whose graph gives something else."
    example = "def backward(ctx, g):\n    return g * float(g.sum())  # a number of this trace alone"
    mend = "Make the backward pass of operators; read no values."

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for the first call whose trace differs."""
        if samples.why_unstable or not subject.has_fake:
            yield self.undecided(subject, samples.why_unstable or "it has no fake kernel", "not-comparable")
            return
        for case in [*samples.some[:1], *samples.more[:1]]:
            if subject.fake(case).error is not None:
                continue
            try:
                checking.check_dynamic(_call(subject, case))
            except Exception as error:
                text = str(error).partition("\n")[0]
                if isinstance(error, NotImplementedError) or "not implemented" in text:
                    continue
                yield self.broken(subject, case, Problem("trace-differs", text or type(error).__name__))
                return
