"""Fakes: results without data are what the real ones are."""

from __future__ import annotations

from collections.abc import Iterable

from opwright.autograd import no_grad
from opwright.errors import DataDependentOutputError, DynamicOutputShapeError
from opwright.fake import FakeTensorMode
from opwright.metadata.tags import Tag
from opwright.symbolic import ShapeEnv
from opwright_core.errors import ContractError
from opwright_gate import checking
from opwright_gate.cases import Case
from opwright_gate.comparing import shown_error
from opwright_gate.properties.property import CaseProperty, Problem
from opwright_gate.refusing import cause_of, says_what_is_demanded
from opwright_gate.samples import Samples
from opwright_gate.subjects import Answer, Subject

__all__ = ["Fakes", "SymbolicFakes", "lines_of"]

_LARGE = (33, 257, 1031)


class Fakes(CaseProperty):
    """Fakes at known sizes."""

    name, title, group = "fake-is-true", "Fakes say what results look like", "fakes"
    finds = "A fake kernel that is missing, or says another shape, dtype, stride, device or sharing than there is."
    example = "@op.register_fake\ndef _(x):\n    return opwright.empty_like(x)  # and the result is always row-major"
    mend = "Make the fake's result as the kernel makes it: `x.new_empty(shape)`, strides included."

    def cases(self, subject: Subject, samples: Samples) -> Iterable[Case]:
        """Yield calls of each dtype and layout; 0-d, empty, large ones."""
        yield from samples.bases.values()
        yield from samples.more
        yield from (case for case, error in samples.kernel_errors if isinstance(error, ContractError))
        first = samples.first
        if first is None:
            return
        for case in samples.some:
            yield case.without_dims()
            yield case.resized(dict.fromkeys(case.sizes, 0))
        for layout in subject.layouts:
            yield first.laid(layout, samples.written)
        for number in (0, 1):
            for size in first.sizes:
                yield first.resized({size: number})
            yield first.resized(dict.fromkeys(first.sizes, number))
        for large in _LARGE:
            for size in first.sizes:
                yield from first.grown({size: large})
        yield from broadcast(first, samples)
        for position, value in enumerate(first.values):
            for number in (0, 1, 7, 33) if type(value) is int else ():
                yield first.with_value(position, number)

    def problem(self, subject: Subject, case: Case) -> Problem | None:
        """Return how the fake's result differs."""
        real = subject.run(case)
        if isinstance(real.error, ContractError) and cause_of(real.error) is None and subject.fake(case).error is None:
            return Problem("fake-and-kernel", f"the kernel gives what the fake does not say: {shown_error(real.error)}")
        if real.error is not None:
            return None
        fake = subject.fake(case)
        return _problem(subject, case, fake, real, None)


def broadcast(case: Case, samples: Samples) -> Iterable[Case]:
    """Yield the call with sizes of 1 in one array each, and one of more dimensions."""
    for number, each in enumerate(case.arrays if len(case.arrays) > 1 else ()):
        count = iter(range(len(case.arrays)))
        index = tuple(slice(0, 1) for _ in each.values.shape)
        yield case.converted(
            lambda a, place, count=count, number=number, index=index: (  # type: ignore[misc]
                type(a)(a.values[index].copy()) if next(count) == number and place not in samples.written else a
            )
        )


class SymbolicFakes(CaseProperty):
    """Fakes at symbolic sizes."""

    name, title, group = "fake-is-symbolic", "Fakes work with symbolic sizes", "fakes"
    finds = "A fake kernel that raises with symbolic sizes, or says another shape or dtype for them."
    example = "@op.register_fake\ndef _(x):\n    return opwright.empty(int(x.shape[0]) * 2)  # a number for a symbol"
    mend = "Compute with `x.shape` as it is: no int(), no comparison that fixes a size."

    def applies(self, subject: Subject) -> bool | str:
        """Whether there are sizes, and a fake kernel on them."""
        if subject.origin != "opwright":
            return "PyTorch's meta kernel is asked with known sizes alone"
        return bool(subject.operator.signature.tensors)

    def cases(self, subject: Subject, samples: Samples) -> Iterable[Case]:
        """Yield calls of few dtypes."""
        yield from samples.some[:1]
        yield from samples.more[:2]

    def problem(self, subject: Subject, case: Case) -> Problem | None:
        """Return how the fake's result differs."""
        real = subject.run(case)
        if real.error is not None:
            return None
        env = ShapeEnv()
        mode = FakeTensorMode(shape_env=env)
        call = case.call(subject.operator).converted(mode.from_tensor)
        with no_grad():
            try:
                with mode:
                    fake = Answer(call, call(), None)
            except Exception as error:
                fake = Answer(call, None, error)
        if env.deferred and _is_resized(case, real):
            return None  # (it is asserted that sizes which data tells are those of what is written)
        return _problem(subject, case, fake, real, env)


def _is_resized(case: Case, real: Answer) -> bool:
    return any(
        each.tensor.shape != array.values.shape for each, array in zip(real.call.operands, case.arrays, strict=True)
    )


def _problem(subject: Subject, case: Case, fake: Answer, real: Answer, env: ShapeEnv | None) -> Problem | None:
    check = lines_of(subject, is_symbolic=env is not None)
    if fake.error is not None:
        if subject.is_missing(fake.error):
            if subject.origin == "torch" and Tag.dynamic_output_shape in subject.operator.tags:
                return None  # (only data says the shape: PyTorch's fake mode makes an unbacked size)
            why = "it has no fake kernel: nobody can say what its result looks like without data"
            return Problem("no-fake", why, check)
        if isinstance(fake.error, DataDependentOutputError | DynamicOutputShapeError):
            if checking.may_refuse(subject.operator, fake.error, env):
                return None
            return Problem("fake-reads-data", f"its fake kernel reads data: {shown_error(fake.error)}", check)
        if "called on meta tensors" in str(fake.error):
            return Problem("fake-reads-data", f"its fake kernel reads data: {shown_error(fake.error)}", check)
        if env is None and says_what_is_demanded(fake.error, subject.operator.signature.names):
            return None  # (the operator takes more than it promises)
        kind = "symbolic sizes" if env is not None else "what the operator takes"
        return Problem("fake-raises", f"its fake kernel raises with {kind}: {shown_error(fake.error)}", check)
    text = checking.difference(fake.call, fake.result, real.call, real.result, env)
    if text is None or ("lias" in text and any(not array.size for _, array in real.outputs)):
        return None  # (nobody shares memory that has no elements)
    if subject.origin == "torch":  # PyTorch's meta kernels do not know that the tensors are the CPU's
        from opwright_bindings.torch.runtime.judged_customs import fakes_agree

        if fakes_agree(subject.name, case.call(subject.operator).arguments):
            return None
    start = text.partition(" ")[0].lower()
    cause = f"fake-{start}" if start in ("shape", "dtype", "stride", "device", "rank") else "fake-differs"
    cause = "fake-shape" if cause == "fake-rank" else cause
    why = f"{'with symbolic sizes: ' if env is not None else ''}{text}"
    return Problem(cause, why, check)


def lines_of(subject: Subject, *, is_symbolic: bool) -> tuple[str, ...]:
    """Return the lines that make the call with fakes, and compare."""
    module = "opwright.fake" if subject.origin == "opwright" else "torch._subclasses.fake_tensor"
    begin = f"from {module} import FakeTensorMode"
    if is_symbolic:
        begin = f"{begin}; from opwright.symbolic import ShapeEnv"
    looks = "[*map(int, {0}.shape)], {0}.dtype" if is_symbolic else "tuple({0}.shape), {0}.dtype, {0}.stride()"
    one, other = (f"({looks.format(name)})" for name in ("fake", "result"))
    if len(subject.operator.signature.returns) != 1:
        one, other = (f"[({looks.format('each')}) for each in {name} or ()]" for name in ("fake", "result"))
    mode = f"with FakeTensorMode({'shape_env=ShapeEnv()' if is_symbolic else ''}) as mode:"
    return begin, mode, "    fake = {fake}", f"assert {one} == {other}, ({one}, {other})"
