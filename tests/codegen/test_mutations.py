"""One mistake put into a schema file that is right: refused at its place, harmless, or named when called."""

from __future__ import annotations

import contextlib
import re
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import seeds
from pipeline import Run, assert_refused, generate_project, imported, new_namespace

from opwright.testing import Sample, opcheck_all
from opwright.testing.arguments import draw
from opwright_core.arrays.dtypes import float32, int64
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.tables import registry

SCHEMAS = """\
- func: NS::plus(Tensor x, Tensor y, Scalar by=1) -> Tensor
  variants: function
  meta: pointwise(x, y)
  dispatch:
    CPU: xp.add(x, y * by)
  autogen: plus.out
- func: NS::total(Tensor x, int? dim=None, bool keepdim=False) -> Tensor
  meta: reduce(x, dim, keepdim, kind="int_to_long")
  dispatch:
    CPU: xp.sum(x, axis=dim, keepdims=keepdim)
- func: NS::scaled(Tensor x, float by) -> Tensor
  meta: like(x)
  dispatch:
    CPU: scaled_rows
- func: NS::product(Tensor x, Tensor y) -> Tensor
  meta: gufunc("(m,k),(k,n)->(m,n)", x, y)
  dispatch:
    CPU: xp.matmul(x, y)
- func: NS::joined(Tensor[] xs, int dim=0) -> Tensor
  meta: cat(xs, dim)
  dispatch:
    CPU: xp.concatenate(xs, axis=dim)
- func: NS::both(Tensor x, Tensor y) -> (Tensor, Tensor)
  meta: like(x), like(y)
  dispatch:
    CPU: xp.negative(x), xp.positive(y)
- func: NS::maybe(Tensor x, Tensor? bias=None) -> Tensor
  meta: pointwise(x, bias)
  dispatch:
    CPU: x if bias is None else xp.add(x, bias)
- func: NS::turned(Tensor(a) x) -> Tensor(a)
  meta: view
  dispatch:
    CPU: x.T
- func: NS::tripled(Tensor x, int times=3) -> Tensor
  dispatch:
    CompositeImplicitAutograd: x * times
- func: NS::split(Tensor x, int count) -> (Tensor, Tensor)
  meta: like(x), like(x)
  dispatch:
    CPU: PACKAGE.kernels:halves
- func: NS::filled_(Tensor(a!) x, Scalar value) -> Tensor(a!)
  dispatch:
    CPU: filled_
- func: NS::smooth(Tensor x) -> Tensor
  meta: pointwise(x, kind="int_to_float")
  tags: pointwise
  dispatch:
    CPU: xp.tanh(x)
- func: NS::limited(Tensor x, Scalar? low=None, Scalar? high=None) -> Tensor
  meta: like(x)
  dispatch:
    CPU: x if low is None else xp.maximum(x, low)
- func: NS::rows(Tensor x, int[] at) -> Tensor
  dispatch:
    CPU: xp.take(x, at, 0)
"""
DERIVATIVES = """\
- name: NS::smooth(Tensor x) -> Tensor
  x: grad * (1 - result * result)
"""
KERNELS = """
def scaled_rows(x, by):
    return x * x.dtype.type(by)


def halves(x, count):
    return x - count, x + count


def filled_(x, value):
    x[...] = value
"""


def _swaps(line: str, at: int, choices: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """The line with one word replaced, from column `at`."""
    for word, others in choices.items():
        for match in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", line[at:]):
            start, end = at + match.start(), at + match.end()
            yield from (line[:start] + other + line[end:] for other in others)


def _schemas(line: str) -> Iterator[str]:
    """Mistakes in the text of a schema: arguments, types, annotations, results."""
    head, inside, results = (
        line.partition("(")[0],
        line.partition("(")[2].rpartition(") ->")[0],
        line.rpartition("->")[2],
    )
    arguments = inside.split(", ")

    def with_arguments(changed: list[str]) -> str:
        return f"{head}({', '.join(changed)}) ->{results}"

    for i, argument in enumerate(arguments):
        kind, _, name = argument.partition("=")[0].rpartition(" ")
        rest = argument[len(kind) + 1 + len(name) :]
        yield with_arguments(arguments[:i] + arguments[i + 1 :])
        yield with_arguments([*arguments, argument])
        yield with_arguments([*arguments, f"{kind} {name}2"])
        yield with_arguments([*arguments[:i], f"{kind} {name}2{rest}", *arguments[i + 1 :]])
        for other in ("Tensor", "Tensor?", "Tensor[]", "Tensor?[]", "int", "Scalar", "int[]", "str", "bool", "float?"):
            if other != kind:
                yield with_arguments([*arguments[:i], f"{other} {name}", *arguments[i + 1 :]])
        for alias in ("Tensor(a)", "Tensor(a!)", "Tensor(b)", "Tensor(b!)"):
            if kind.startswith("Tensor") and alias != kind:
                yield with_arguments([*arguments[:i], f"{alias} {name}", *arguments[i + 1 :]])
        for default in ("None", "1", "1.5", "'a'", "[]", "True", "x", "inf"):
            yield with_arguments([*arguments[:i], f"{kind} {name}={default}", *arguments[i + 1 :]])
    if len(arguments) > 1:
        yield with_arguments(arguments[::-1])
        yield with_arguments([arguments[0], "*", *arguments[1:]])
    kinds = ("Tensor", "(Tensor, Tensor)", "(Tensor, Tensor, Tensor)", "Tensor[]", "()", "int", "Tensor(a)")
    yield from (f"{head}({inside}) -> {other}" for other in kinds if other != results.strip())


RULES = {
    "pointwise": ("like", "reduce", "cat", "pointwis", "view", "gufunc", "empty", "empty_like", "same_dtypes"),
    "reduce": ("like", "pointwise", "cat"),
    "like": ("pointwise", "cat", "reduce", "empty"),
    "cat": ("pointwise", "like", "reduce"),
    "gufunc": ("pointwise", "like", "cat"),
    "view": ("like(x)", "pointwise(x)", "veiw"),
    "x": ("y", "z", "xs", "x, x", "x[0]", "[x]", "3", "None", "x.shape"),
    "y": ("x", "by", "2", "[y]"),
    "xs": ("xs[0]", "dim", "[xs]", "xs, xs"),
    "bias": ("x", "[bias]", "3"),
    "dim": ("keepdim", "1.5", "x", "'a'"),
    "keepdim": ("dim", "3", "x"),
    '"int_to_long"': ('"int_to_lon"', "3", "x"),
    '"int_to_float"': ('"bool"', '"default"', '"flaot"', "x", "3"),
    "(m,k)": ("(m)", "(k,m)", "(m,k"),
}
KERNEL = {
    **{f"xp.{name}": ("xp.sine", "xp.add", "xp.tanh", "xp.sum", "xp.divmod", "xp.pi", "xp.random", "xp.shape")
       for name in ("add", "sum", "matmul", "concatenate", "negative", "tanh")},
    "x": ("y", "z", "[x]", "(x, x)", "x.shape", "x.nope", "None", "'a'", "x[0]", "x[9]"),
    "y": ("x", "by"),
    "xs": ("xs[0]", "xs[9]", "dim"),
    "axis": ("axes", "dim"),
    "keepdims": ("keepdim",),
    "T": ("Q", "shape", "sum()", "copy()", "kind", "real", "nope()"),
    "times": ("time", "x", "None"),
    "scaled_rows": ("scaled_row", "halves", "filled_", "PACKAGE.kernels:scaled_rows", "PACKAGE.kernel:scaled_rows"),
    "PACKAGE.kernels:halves": ("PACKAGE.kernels:half", "PACKAGE.kernels:scaled_rows", "halves", "no_such:halves"),
    "filled_": ("filled", "halves", "scaled_rows"),
    "low": ("high", "lo", "None", "[low]", "'a'"),
    "is None": ("is not None", "== 0", "< 0"),
    "at": ("x", "None", "'a'", "at[9]", "0.5"),
    "CPU": ("CUP", "Meta", "CompositeImplicitAutograd", "CompositeExplicitAutograd", "AutogradCPU", "CPU, Meta"),
    "CompositeImplicitAutograd": ("CPU", "CompositeExplicitAutograd", "Meta"),
}  # fmt: skip
OTHER = {
    "pointwise": ("pointwis", "view_copy", "[pointwise, core]", "3", "nondeterministic_seeded"),
    "plus.out": ("plus.outt", "plus_.out", "plus_", "total.out", "plus"),
    "function": ("method", "functon"),
    "grad": ("grads", "x", "3", "None", "[grad]", "(grad, grad)", "'a'", "grad.shape", "grad.sum()"),
    "result": ("results", "result0", "x", "result.T", "result.nope"),
    "smooth": ("smoth", "plus"),
    "x": ("y", "self", "x, x"),
}


@dataclass(frozen=True)
class Mutation:
    """A small mistake: what it is, of which operator, and the schemas and the derivatives with it."""

    what: str
    operator: str
    schemas: str
    derivatives: str


def mutations() -> list[Mutation]:
    """All of them, each line of the schemas and the derivatives in turn."""
    found = []
    operator = ""
    lines, gradients = SCHEMAS.splitlines(keepends=True), DERIVATIVES.splitlines(keepends=True)
    for i, line in enumerate(lines):
        key = line.strip("- ").partition(":")[0]
        at = line.index(":") + 1
        if line.startswith("-"):
            operator = line.partition("::")[2].partition("(")[0]
        made = [""] if not line.startswith("-") else list(_schemas(line.rstrip("\n")))
        table = {"func": {}, "meta": RULES, "CPU": KERNEL, "CompositeImplicitAutograd": KERNEL}.get(key, OTHER)
        made += _swaps(line, 0 if table is KERNEL else at, table)
        for text in made:
            text = text and text.rstrip("\n") + "\n"
            changed = "".join([*lines[:i], text, *lines[i + 1 :]])
            found.append(Mutation(f"{line.strip()} -> {text.strip()}", operator, changed, DERIVATIVES))
    for i, line in enumerate(gradients):
        for text in ["", *_swaps(line, 0, OTHER)]:
            changed = "".join([*gradients[:i], text, *gradients[i + 1 :]])
            found.append(Mutation(f"{line.strip()} -> {text.strip()}", "smooth", SCHEMAS, changed))
    return list(dict.fromkeys(found))


def _run(folder: Path, schemas: str, derivatives: str) -> tuple[Run, str]:
    """Generate the files in a folder of their own, in a namespace of their own."""
    namespace = new_namespace()
    package = f"pipeline{int(namespace.removeprefix('pipeline')) + 1}_functions"
    text = schemas.replace("NS", namespace).replace("PACKAGE", package)
    return generate_project(folder, text, derivatives.replace("NS", namespace), KERNELS), namespace


# Mistakes of Python, not of arrays: nothing that a schema file says may come to these.
_PYTHONS = (NameError, AttributeError, AssertionError, RecursionError, SyntaxError, ImportError, SystemError)


def _raw(error: BaseException, operator: Operator) -> str:
    """The error, where it does not name the operator, or is Python's own about our code; "" where it is neither."""
    text = "\n".join((str(error), *getattr(error, "__notes__", ())))
    last = traceback.extract_tb(error.__traceback__)[-1]
    statement = last.line or ""
    is_worded = "/opwright/" in last.filename and statement.startswith(("raise ", "check("))
    is_ours = "/opwright/" in last.filename and "kernel(" not in statement  # a kernel in C has no line of its own
    is_pythons = (
        not is_worded
        and "/numpy/" not in last.filename
        and (isinstance(error, _PYTHONS) or "'NoneType'" in text or is_ours)
    )
    if (operator.name in text or f"{operator.base}(" in text) and not is_pythons:
        return ""
    return f"{type(error).__name__}: {text} at {Path(last.filename).name}:{last.lineno} {statement}"


def _called(operator: Operator) -> list[str]:
    """What is wrong with the errors of some calls, backward passes and tests of `opcheck` among them."""
    errors = []
    for number, dtype in ((0, float32), (1, float32), (2, int64)):
        args, kwargs = draw(operator, dtype, "contiguous", seeds.generator(number))
        if operator.name.endswith("smooth") and number == 0:
            args = [a.requires_grad_() if hasattr(a, "requires_grad_") and not a.requires_grad else a for a in args]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = operator(*args, **kwargs)
                if getattr(result, "requires_grad", False):
                    result.sum().backward()
        except Exception as error:
            errors.append(error)
        if number == 1:
            failures = opcheck_all(operator, given=[Sample(tuple(args), kwargs)], raise_exception=False)
            errors += [failure.error for failure in failures]
    return [text for text in (_raw(error, operator) for error in errors) if text]


def outcome(folder: Path, schemas: str, derivatives: str, of: str = "") -> list[str]:
    """What is not allowed of what came of it, as far as operators are called that begin so."""
    run, namespace = _run(folder, schemas, derivatives)
    if run.status:
        assert_refused(run)
        return [] if _CARET.search(run.stderr) else [f"no caret: {run.stderr}"]
    found = []
    with imported(run):
        for name, operator in list(registry.operators.items()):
            if name.startswith(f"{namespace}::{of}"):
                found += [f"{name}: {text}" for text in _called(operator)]
    return found


_CARET = re.compile(r"^ *\^+$", re.MULTILINE)
# What is still open, by the text of the mutation, and why.
OPEN = {
    "meta: pointwise(x, y) -> ": "a wrong `out` of a composite: PyTorch's own words, which name no operator",
}
ALL = [each for each in mutations() if each.what not in OPEN]
SAMPLE = seeds.generator(10).sample(ALL, 120)


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_the_file_without_mistakes_works(tmp_path: Path) -> None:
    run, namespace = _run(tmp_path, SCHEMAS, DERIVATIVES)
    with imported(run):
        for name, operator in list(registry.operators.items()):
            if name.startswith(f"{namespace}::") and not name.endswith("rows"):  # whose drawn indices are out of range
                assert any(_works(operator, number) for number in range(20)), name


def _works(operator: Operator, number: int) -> bool:
    """Whether a call works: what is drawn for operands that have to fit need not fit."""
    args, kwargs = draw(operator, float32, "contiguous", seeds.generator(number))
    try:
        operator(*args, **kwargs)
    except (RuntimeError, IndexError):
        return False
    return True


@pytest.mark.parametrize("number", range(len(SAMPLE)))
def test_a_mistake_is_refused_or_named(number: int, tmp_path: Path) -> None:
    mutation = SAMPLE[number]
    with contextlib.chdir(tmp_path):
        assert outcome(tmp_path, mutation.schemas, mutation.derivatives, mutation.operator) == [], mutation.what
