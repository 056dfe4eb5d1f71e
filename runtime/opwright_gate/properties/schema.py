"""Schema truth: a call writes to what its declaration says, and its results lie where it says."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from opwright.metadata.tags import Tag
from opwright.metadata.view_layouts import share_memory
from opwright_core.dispatch.package.declarations import REQUIRED
from opwright_core.keys import DispatchKey
from opwright_gate import checking
from opwright_gate.cases import Array, Case
from opwright_gate.comparing import difference, shown_error
from opwright_gate.properties.property import CaseProperty, Problem, Property
from opwright_gate.refusing import cause_of
from opwright_gate.samples import Samples
from opwright_gate.subjects import Answer, Subject
from opwright_gate.verdicts import Verdict

__all__ = ["Aliases", "DeclaredWrites", "Defaults", "Writes", "differ"]


def _memory_cases(subject: Subject, samples: Samples) -> Iterator[Case]:
    """Yield calls of each kind of dtype, in each layout, with special values, and others."""
    yield from samples.some
    yield from samples.more
    if samples.first is not None:
        for layout in subject.layouts:
            yield samples.first.laid(layout, samples.written)
        yield from samples.special(samples.first)
        yield from samples.first.grown(dict(zip(samples.first.sizes, (9, 11, 6, 5), strict=False)))


class Writes(CaseProperty):
    """Undeclared writes."""

    name, title, group = "writes-as-declared", "Writes only what it is declared to write", "schema"
    finds = "An argument, or a byte around it, that a call changes and the declaration does not mark with `!`."
    example = "def kernel(x):\n    x[x < 0] = 0\n    return x * 2  # declared f(Tensor x) -> Tensor"
    mend = "Write to a copy, or declare the write: `Tensor(a!) x`, `mutates_args={'x'}`."

    def cases(self, subject: Subject, samples: Samples) -> Iterable[Case]:
        """Yield calls of each dtype and layout, and with special values."""
        return _memory_cases(subject, samples)

    def problem(self, subject: Subject, case: Case) -> Problem | None:
        """Return the argument that was written to, or the memory beside it."""
        call = case.call(subject.operator)
        contents, around = checking.Contents(call.operands), [_base_bytes(each) for each in call.operands]
        shapes = [each.tensor.shape for each in call.operands]
        subject.run_call(call)
        names = subject.operator.signature.names
        for operand in contents.changed():
            if operand.position not in subject.operator.signature.written:
                name = names[operand.position]
                check = (f"# {operand.name} is another now: compare it with a copy of before",)
                before = (f"kept = {name}.copy()",) if isinstance(case.values[operand.position], Array) else ()
                check = (f"assert np.array_equal({name}, kept, equal_nan=True), {name}",) if before else check
                why = f"it writes to {operand.name}, and its declaration does not say so"
                return Problem("undeclared-write", why, check, before)
        for operand, bytes_before, shape in zip(call.operands, around, shapes, strict=True):
            if operand.position in subject.operator.signature.written and operand.tensor.shape != shape:
                continue  # (it was resized, and may be in other memory)
            after = _base_bytes(operand)
            if operand.position not in subject.operator.signature.written:
                is_wrong = after != bytes_before
            else:
                is_wrong = _gaps(operand, after) != _gaps(operand, bytes_before)
            if is_wrong:
                return Problem("write-outside", f"it writes to memory around {operand.name}, between its elements")
        return None


def _base_bytes(operand: checking.Operand) -> bytes:
    """Return the whole memory that an array is a part of."""
    array = operand.tensor.array
    while isinstance(array, np.ndarray) and isinstance(array.base, np.ndarray):
        array = array.base
    return array.tobytes() if isinstance(array, np.ndarray) else b""


def _gaps(operand: checking.Operand, whole: bytes) -> bytes:
    """Return the memory around and between the elements of an array, in bytes."""
    array = operand.tensor.array
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    if base is array or not base.flags.c_contiguous:
        return b""
    at = np.full(array.shape, array.ctypes.data - base.ctypes.data, np.int64)
    for dim, (size, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        at += (np.arange(size) * stride).reshape([-1 if each == dim else 1 for each in range(array.ndim)])
    keep = np.ones(len(whole), bool)
    for byte in range(array.itemsize):
        keep[(at + byte).ravel()] = False
    return np.frombuffer(whole, np.uint8)[keep].tobytes()


class DeclaredWrites(Property):
    """Declared writes that are not made."""

    name, title, group = "declared-writes-happen", "Writes what it is declared to write", "schema"
    finds = "An argument that is declared to be written, and that no call with any values changes."
    example = "def kernel(x, out):\n    return np.sin(x)  # declared f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"
    mend = "Write to the argument (`out[...] = `), or declare it without `!`."

    def applies(self, subject: Subject) -> bool | str:
        """Whether something is declared to be written, by values."""
        if subject.returns_what_memory_held or Tag.inplace_view in subject.operator.tags:
            return False
        return bool(subject.operator.signature.written)

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for each argument that nothing changes."""
        if samples.first is None:
            return
        written = samples.first.call(subject.operator).written
        waiting = dict.fromkeys(each.name for each in written if each.tensor.numel())
        for case in [*_memory_cases(subject, samples), *_flipped(samples)]:
            if not waiting:
                return
            if _has_floats(samples.first) and not _has_floats(case):
                continue  # (what is written for integers alone is not written)
            call = case.call(subject.operator)
            contents = checking.Contents(call.operands)
            if subject.run_call(call).error is None:
                for each in contents.changed():
                    waiting.pop(each.name, None)
        for name in waiting:
            why = f"it is declared to write to {name}, and does not, whatever is in it"
            yield self.broken(subject, samples.first, Problem("write-not-made", why))


def _has_floats(case: Case) -> bool:
    return any(each.values.dtype.kind not in "biu" for each in case.arrays)


def _flipped(samples: Samples) -> Iterator[Case]:
    """Yield calls with each bool, and each mask of results, the other way: some operators write in training alone."""
    for case in samples.some[:1]:
        for position, value in enumerate(case.values):
            if isinstance(value, bool):
                yield case.with_value(position, not value)
            elif isinstance(value, list) and value and all(isinstance(each, bool) for each in value):
                yield case.with_value(position, [not each for each in value])


class Aliases(CaseProperty):
    """Results in the memory of arguments or of each other."""

    name, title, group = "aliases-as-declared", "Results lie where they are declared to lie", "schema"
    finds = "A result in the memory of an argument or of another result that is declared new, or a view that is none."
    example = "def kernel(x):\n    return np.ascontiguousarray(x)  # x itself, where x is contiguous already"
    mend = "Return a copy (`x.copy()`), or declare the view: `f(Tensor(a) x) -> Tensor(a)`."

    def cases(self, subject: Subject, samples: Samples) -> Iterable[Case]:
        """Yield calls of each dtype and layout, with special values, and with sizes of 1."""
        yield from samples.bases.values()
        yield from [case for case, _ in samples.breaches[:4]]
        yield from _memory_cases(subject, samples)
        if samples.first is not None:
            sizes = {size for each in samples.first.arrays for size in each.values.shape}
            yield samples.first.resized(dict.fromkeys(sizes, 1))

    def problem(self, subject: Subject, case: Case) -> Problem | None:
        """Return the results that share memory otherwise than declared."""
        answer = subject.run(case)
        if answer.error is not None:
            cause = cause_of(answer.error)
            if cause == "undeclared-alias" and "or other returns" in str(answer.error):  # (PyTorch does not say which)
                from opwright_bindings.torch.runtime.judged_customs import results_share_memory

                is_of_results = results_share_memory(subject.name, case.call(subject.operator).arguments)
                cause = "outputs-share-memory" if is_of_results else cause
            return None if cause is None else Problem(cause, shown_error(answer.error))
        declared = subject.declared
        if declared.is_composite:
            return None
        found = _alias_problem(subject, answer)
        if found is not None:
            return found
        told = next(iter(checking.shared_answers(case.call(subject.operator), declared)), None)
        return None if told is None else Problem("undeclared-alias", told.partition("\n")[0])


def _alias_problem(subject: Subject, answer: Answer) -> Problem | None:
    declared, operands = subject.declared, answer.call.operands
    results = checking.results_of(subject.operator, answer.result)
    for result in results:
        met = [each for each in operands if share_memory(result.tensor, each.tensor)]
        may = [each for each in operands if declared.may_share(result.position, each.position)]
        if met and not may and result.tensor.numel():
            why = f"{result.name} lies in the memory of {met[0].name}, and is declared new"
            name = subject.operator.signature.names[met[0].position]
            one = len(subject.operator.signature.returns) == 1
            check = (f"assert not np.shares_memory(result.numpy(), {name})",) if one else ()
            return Problem("undeclared-alias", why, check)
        alias = subject.operator.signature.aliases[result.position]
        if may and not met and result.tensor.numel() and alias not in subject.operator.signature.written:
            return Problem("view-not-made", f"{result.name} is declared to be a view of {may[0].name}, and is none")
        if (
            may
            and alias in subject.operator.signature.written
            and not any(result.tensor is each.tensor for each in may)
        ):
            return Problem("view-not-made", f"{result.name} is declared to be {may[0].name} itself, and is not")
    for number, one_result in enumerate(results):
        for other in results[:number]:
            if share_memory(one_result.tensor, other.tensor) and not declared.may_meet(
                one_result.position, other.position
            ):
                why = f"{other.name} and {one_result.name} share memory, and are declared to be two"
                return Problem(
                    "outputs-share-memory", why, ("assert not np.shares_memory(*map(np.asarray, result[:2]))",)
                )
    return None


class Defaults(Property):
    """Defaults of kernels beside those of the declaration."""

    name, title, group = "defaults-as-declared", "Kernels have the defaults of the declaration", "schema"
    finds = "A kernel whose parameter has another default than the declaration: it is called without what is default."
    example = "def kernel(x, eps=1e-3): ...  # declared f(Tensor x, float eps=1e-5) -> Tensor"
    mend = "Give the kernel the declaration's default, or none."

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for each kernel and parameter."""
        signature = subject.operator.signature
        for function in _functions(subject):
            try:
                parameters = list(inspect.signature(function).parameters.values())
            except (TypeError, ValueError):
                continue
            by_name = {each.name: each for each in parameters}
            for position, (name, default) in enumerate(zip(signature.names, signature.defaults, strict=True)):
                found = by_name.get(name)
                if found is None and position < min(signature.positional, len(parameters)):
                    found = parameters[position]
                if default is REQUIRED or found is None or found.default is inspect.Parameter.empty:
                    continue
                if differ(found.default, default):
                    why = f"{function.__name__} has {name}={found.default!r}, and the declaration {name}={default!r}"
                    yield self.broken(subject, samples.first, Problem("default-differs", why))
                    return
        if not samples.why_unstable and not signature.written:
            yield from self._by_values(subject, samples)

    def _by_values(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict where a kernel whose parameters have no names (`*args`) gives something else when it is told
        the defaults: a call leaves them out."""
        signature, case = subject.operator.signature, samples.first
        defaults = [(place, each) for place, each in enumerate(signature.defaults) if each is not REQUIRED]
        if case is None or not defaults:
            return
        for place, default in defaults:
            case = case.with_value(place, default)
        for function in _functions(subject, of_fakes=False):
            kinds = {each.kind for each in inspect.signature(function).parameters.values()}
            if inspect.Parameter.VAR_POSITIONAL not in kinds:
                continue
            left_out, call = subject.run(case), case.call(subject.operator)
            if left_out.error is not None:
                continue
            count = signature.positional
            named = dict(zip(signature.names[count:], call.arguments[count:], strict=True))
            try:
                told = Answer(call, function(*call.arguments[:count], **named), None)
                text = difference(told.outputs, left_out.outputs)
            except Exception:
                continue  # (it takes its arguments in another way)
            if text is not None:
                why = f"told its declaration's defaults, {function.__name__} gives something else than without: {text}"
                yield self.broken(subject, case, Problem("default-differs", why))
                return


def _functions(subject: Subject, *, of_fakes: bool = True) -> Iterator[Any]:
    """Yield the functions of Python that are registered, and what they stand for; those of fake kernels, too."""
    if subject.origin == "torch":
        from opwright_bindings.torch.runtime.judged_customs import function_behind

        function = function_behind(subject.name)
        if function is not None:
            yield function
        return
    for key, registered in subject.operator.registrations.items():
        for each in registered[-1:] if of_fakes or key is not DispatchKey.Meta else ():
            kernel = each.kernel
            for _ in range(4):
                if inspect.isfunction(kernel):
                    yield kernel
                names = ("function", "_function", "__wrapped__")
                inner = next((found for name in names if (found := getattr(kernel, name, None)) is not None), None)
                if inner is None:
                    break
                kernel = inner


def differ(one: Any, other: Any) -> bool:
    """Whether two defaults are surely not the same."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return list(one) != list(other)
    if isinstance(one, list | tuple) or isinstance(other, list | tuple):
        return False
    if isinstance(one, int | float | bool | str) or one is None:
        return bool(one != other) and not (one is None and other is REQUIRED)
    return False
