"""Honesty: the work is done when a call returns, by the operator itself, and nothing that judges is changed."""

from __future__ import annotations

import re
import sys
import sysconfig
import time
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

import numpy as np

from opwright_gate import checking
from opwright_gate.cases import Array, Case
from opwright_gate.comparing import difference, shown_error
from opwright_gate.properties.property import Problem, Property
from opwright_gate.samples import Samples
from opwright_gate.states import patched_at_import
from opwright_gate.subjects import Subject
from opwright_gate.verdicts import Verdict

__all__ = ["Finished", "NothingHidden", "Own", "Unpatched"]

_WAIT = 0.02
# Code that is no kernel's: Python's and NumPy's own, whose errors say nothing, and the gate.
_STANDARD = sysconfig.get_path("stdlib")
_LIBRARY = re.compile(r"^<(frozen|__array_function__)|[/\\](numpy|torch|opwright(_\w+)?)[/\\]")


class Finished(Property):
    """Results at return, a little later, and at the end."""

    name, title, group = "finished-at-return", "The work is done at return", "honesty"
    finds = "A result that is another some time after the call returned: a thread still writes it."
    example = "threading.Thread(target=lambda: np.sin(x, out=out)).start()\nreturn out"
    mend = "Wait for the work before returning."

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict where a result changes later, arguments where these do."""
        held = []
        for case in [*samples.some, *samples.more]:
            call = case.call(subject.operator)
            answer = subject.run_call(call)
            if answer.error is None:
                tensors = [
                    each.tensor for each in (*checking.results_of(subject.operator, answer.result), *call.operands)
                ]
                held.append((case, tensors, _hashes(tensors)))
        time.sleep(_WAIT)
        for case, tensors, before in held:
            if _hashes(tensors) != before:
                why = "a result or an argument is another 20 ms after the call returned"
                check = ("first = result.numpy().copy()", "import time; time.sleep(.1)", "print(first, result)")
                yield self.broken(subject, case, Problem("unfinished-at-return", why, check))
                return
        for case, answer in samples.answers[:4]:
            later = answer.outputs
            if not subject.operator.signature.written and samples.kept.get(id(case)) not in (None, _hashed(later)):
                why = "the result of the first call is another now: later calls write to it"
                yield self.broken(subject, case, Problem("result-overwritten", why))
                return


def _hashes(tensors: list[Any]) -> list[int]:
    return [hash(each.numpy(force=True).tobytes()) for each in tensors]


def _hashed(outputs: Any) -> int:
    return hash(tuple(np.asarray(array).tobytes() for _, array in outputs))


class Own(Property):
    """The reference, not called by the kernel."""

    name, title, group = "computes-itself", "Computes, and does not call the reference", "honesty"
    finds = "A kernel that calls the reference which it is to be compared with, also where an exception hides it."
    example = "def kernel(x):\n    try:\n        return fast(x)\n    except Exception:\n        return reference(x)"
    mend = "Compute it, or raise."

    def applies(self, subject: Subject) -> bool | str:
        """Whether there is a reference that is a function of Python."""
        return _code_of(subject) is not None

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict where a call runs the reference."""
        code = _code_of(subject)
        for case in [*samples.some, *samples.more]:
            call = case.call(subject.operator)
            seen: list[str] = []

            def watch(frame: FrameType, event: str, _: Any, seen: list[str] = seen) -> None:
                if event == "call" and frame.f_code is code:
                    seen.append(frame.f_code.co_name)

            before = sys.getprofile()
            sys.setprofile(watch)
            try:
                subject.run_call(call)
            finally:
                sys.setprofile(before)
            if seen:
                why = f"its kernel calls the reference {seen[0]}, with which it is compared"
                yield self.broken(subject, case, Problem("calls-reference", why))
                return


def _code_of(subject: Subject) -> CodeType | None:
    found = getattr(getattr(subject.reference, "function", None), "__code__", None)
    return found if isinstance(found, CodeType) else None


class NothingHidden(Property):
    """Errors that a kernel catches, and what it returns then."""

    name, title, group = "hides-no-error", "Raises where it cannot compute", "honesty"
    finds = "A kernel that catches an error and returns what does not depend on its arguments."
    example = "try:\n    return np.linalg.inv(x)\nexcept Exception:\n    return np.zeros_like(x)"
    mend = "Let the error through, or raise one that says what is demanded."

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict where calls with other numbers catch an error and give the same."""
        for case in [*samples.some, *samples.more]:
            if samples.why_unstable or not any(each.values.dtype.kind == "f" for each in case.arrays):
                continue
            other = case.converted(_others)
            (error, first), (again, second) = _caught(subject, case), _caught(subject, other)
            if error is None or again is None or not first or not all(map(_is_constant, first)):
                continue
            if difference(first, second, exact=True) is None:
                why = f"it catches {shown_error(error)} and returns the same number everywhere, whatever it was given"
                yield self.broken(subject, case, Problem("swallowed-error", why))
                return


def _is_constant(output: tuple[str, np.ndarray[Any, Any]]) -> bool:
    """Whether all elements of an output are one number, and there are several."""
    array = output[1]
    return array.size > 1 and array.tobytes() == array.ravel()[:1].tobytes() * array.size


def _others(value: Array, _: int) -> Array:
    array = value.values
    return Array((array * 0.5 + 0.25).astype(array.dtype)) if array.dtype.kind == "f" else value


def _caught(subject: Subject, case: Case) -> tuple[Exception | None, Any]:
    """Return an error that Python code outside of Opwright caught in a call, and the outputs of the call."""
    found: list[Exception] = []

    def watch(frame: FrameType, event: str, argument: Any) -> Any:
        file = frame.f_code.co_filename
        if event == "call":
            is_standard = file.startswith(_STANDARD) and "-packages" not in file
            return None if is_standard or _LIBRARY.search(file) else watch
        if event == "exception" and not found:
            found.append(argument[1])
        return watch

    call, before = case.call(subject.operator), sys.gettrace()
    sys.settrace(watch)
    try:
        answer = subject.run_call(call)
    finally:
        sys.settrace(before)
    return (found[0] if found and answer.error is None else None), answer.outputs


class Unpatched(Property):
    """Clocks and checks, as they were before the operators were loaded."""

    name, title, group = "patches-nothing", "Leaves clocks and checks alone", "honesty"
    finds = "A module that replaces what times or judges calls when it is imported: `time.perf_counter`, `np.allclose`."
    example = "time.perf_counter = lambda: 0.0"
    mend = "Do not."

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict where something was replaced."""
        found = patched_at_import()
        if found:
            why = f"importing the operators replaced {', '.join(found[:3])}"
            yield self.broken(subject, samples.first, Problem("judge-patched", why))
