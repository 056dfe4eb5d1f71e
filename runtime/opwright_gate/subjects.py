"""Subjects of the gate: what is judged, by one interface, whoever made it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from opwright.autograd import no_grad
from opwright.errors import FakeKernelError
from opwright.fake import FakeTensorMode
from opwright.metadata.tags import Tag
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.dispatch.registry.tables import registry
from opwright_core.errors import DispatchError
from opwright_core.keys import DispatchKey
from opwright_core.texts.dispatch_errors import missing
from opwright_gate import checking
from opwright_gate.allocating import Overrun, guarded_results
from opwright_gate.cases import LAYOUTS, MOST, Case
from opwright_gate.meanings import reference_of
from opwright_gate.references import Reference
from opwright_gate.watching import note, note_again

__all__ = ["Answer", "Subject", "subjects_of"]


class Answer(NamedTuple):
    """The outcome of one call: its result and the call that was made, or what it raised."""

    call: checking.Call
    result: Any
    error: Exception | None

    @property
    def outputs(self) -> list[tuple[str, np.ndarray[Any, Any]]]:
        """Return the arrays of results and of what was written, with their names, copied."""
        if self.error is not None:
            return []
        found = [*checking.results_of(self.call.operator, self.result), *self.call.written]
        return [(each.name, np.array(each.tensor.numpy(force=True))) for each in found]


@dataclass(frozen=True)
class Subject:
    """An operator to be judged: one of ours, or one of ours that stands for another framework's."""

    name: str
    operator: Operator
    modules: tuple[str, ...] = ()  # what a program imports first, to have it
    call_text: str = ""  # what a program calls
    origin: str = "opwright"
    backend: str = "CPU"

    @property
    def layouts(self) -> tuple[str, ...]:
        """Return the layouts that its arrays may have: PyTorch has neither negative strides nor read-only memory."""
        left_out = ("backwards", "read-only", "misaligned") if self.origin == "torch" else ()
        return tuple(each for each in LAYOUTS if each not in left_out)

    @property
    def drawn_as(self) -> str:
        """Return the name that arguments are drawn by: one for all mutants of an operator."""
        return _MUTANT.sub(r"\1", self.operator.name)

    @property
    def draws_random_numbers(self) -> bool:
        """Whether its values cannot be compared."""
        return bool({Tag.nondeterministic_seeded} & set(self.operator.tags))

    @property
    def returns_what_memory_held(self) -> bool:
        """Whether its results are memory that nobody has written, by its name."""
        return self.name.partition("::")[2].startswith(("empty", "new_empty"))

    @property
    def means_a_layout(self) -> bool:
        """Whether it is told sizes and strides of memory: what lies otherwise is something else."""
        return {"size", "stride"} <= {*self.operator.signature.names}

    @property
    def declared(self) -> checking.Declared:
        """Return the alias sets of arguments and results."""
        return checking.Declared(self.operator)

    @property
    def reference(self) -> Reference | None:
        """Return the function that says what its values mean, None where nobody says."""
        return reference_of(self.operator, self.name)

    @property
    def has_fake(self) -> bool:
        """Whether there is a fake kernel: one is registered, or made of what the schema file says."""
        keys = (DispatchKey.Meta, DispatchKey.CompositeImplicitAutograd, DispatchKey.CompositeExplicitAutograd)
        return any(self.operator.registrations.get(key) for key in keys)

    def grown(self, case: Case, sizes: Mapping[int, int], most: int = MOST) -> Iterator[Case]:
        """Yield the resized call, if none of its arrays has more elements than `most`, nor its results many more."""
        for found in case.grown(sizes, most):
            fake = self.fake(found)
            results = checking.results_of(self.operator, fake.result) if fake.error is None else []
            if sum(each.tensor.numel() for each in results) <= _MOST_OF_RESULTS:
                yield found

    def run(self, case: Case) -> Answer:
        """Return what one call gives, in new memory, with the same random numbers each time."""
        note(case)
        call = case.call(self.operator)
        if not case.guarded:
            return self.run_call(call)
        try:
            with guarded_results(at_end=case.guarded == "flush to the end"):
                return self.run_call(call)
        except Overrun as error:
            return Answer(call, None, error)

    def run_call(self, call: checking.Call) -> Answer:
        """Return what a call gives that has been made already."""
        note_again()
        with warnings.catch_warnings(), no_grad(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                if self.draws_random_numbers:
                    with checking.drawing_again(call):
                        return Answer(call, call(), None)
                return Answer(call, call(), None)
            except Exception as error:
                return Answer(call, None, error)

    def refusal(self, case: Case) -> Exception | None:
        """Return what a call raises."""
        return self.run(case).error

    def fake(self, case: Case) -> Answer:
        """Return what a call gives without data."""
        mode = FakeTensorMode()
        with warnings.catch_warnings(), no_grad():
            warnings.simplefilter("ignore")
            call = case.call(self.operator).converted(mode.from_tensor)
            try:
                with mode:
                    return Answer(call, call(), None)
            except Exception as error:
                return Answer(call, None, error)

    def refusal_of_fake(self, case: Case) -> Exception | None:
        """Return what a call without data raises, None where only data tells."""
        error = self.fake(case).error
        if isinstance(error, FakeKernelError) or self.is_missing(error):
            return None
        return error

    def is_missing(self, error: Exception | None) -> bool:
        """Whether an error says that there is no fake kernel."""
        if self.origin == "torch" and isinstance(error, RuntimeError):
            return any(text in str(error) for text in _NO_META)
        if not isinstance(error, DispatchError):
            return False
        return str(error) == str(missing(self.operator, DispatchKey.Meta, 0)) or "fake kernel" in str(error)


_MUTANT: Final = re.compile(r"^(mutants::m\d+)_\d+")
_MOST_OF_RESULTS: Final = 1 << 18  # elements, where sizes are large
_TORCH: Final = "torch:"
_NO_META: Final = ("no fake impl registered", "no fake impl or Meta kernel", "'Meta' backend")


def subjects_of(target: str, modules: tuple[str, ...] = ()) -> Iterator[Subject]:
    """Yield the operators of a target: `NAMESPACE`, `NAMESPACE::NAME`, `NAMESPACE::NAME.OVERLOAD`, with `torch:` before
    it for PyTorch's. Raises ValueError where there is none."""
    if target.startswith(_TORCH):
        from opwright_bindings.torch.runtime.judging import torch_subjects

        yield from (
            Subject(name, operator, modules, text, "torch")
            for name, operator, text in torch_subjects(target.removeprefix(_TORCH))
        )
        return
    names = names_of(target)
    if not names:
        raise ValueError(f"there is no operator {target}: name a namespace or an operator, and import what defines it")
    for name in names:
        yield Subject(name, find_operator(name), modules, _call_text(name))


def names_of(target: str) -> list[str]:
    """Return the names of the operators that a target means, sorted."""
    namespace, _, base = target.partition("::")
    with registry.lock:
        known = sorted(registry.operators)
    if not base:
        return [name for name in known if name.startswith(f"{namespace}::")]
    wanted = target.removesuffix(".default")
    exact = [name for name in known if name == wanted]
    return exact or [name for name in known if name.startswith(f"{wanted}.")]


def _call_text(name: str) -> str:
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    return f"opwright.ops.{namespace}.{base}.{overload or 'default'}"
