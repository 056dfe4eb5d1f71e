"""`cost`: errors with carets, the texts that are generated, and expressions counted by numbers that count."""

from __future__ import annotations

import contextlib
import io
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from pipeline import generate, imported, new_namespace

import opwright
from opwright_codegen.cli import main
from opwright_codegen.expressions.functions import FUNCTIONS
from opwright_codegen.expressions.numpy_form import numpy_form
from opwright_codegen.formula.ast import Kind, Reference, rewrite
from opwright_codegen.formula.emit import emit
from opwright_codegen.kernel_choices.operations import TRANSCENDENTAL, operations_of_expression
from opwright_codegen.read.files import read_text

pytestmark = pytest.mark.once
EXAMPLES = Path(__file__).parents[2] / "examples"

WRONG = [  # the line, the column under which the caret stands, the message, and the code
    ("cost: 3 * n * k", 17, "'k' is neither a dimension nor an argument", "cost-name"),
    ("cost: 3 * a", 13, "'a' is a tensor, and no number", "cost-name"),
    ('cost: "3 * a"', 14, "'a' is a tensor, and no number", "cost-name"),
    ("cost: 3 * numl(a)", 13, "there is no function 'numl'", "cost-name"),
    ("cost: numel(n)", 15, "numel() takes a tensor", "cost-name"),
    ("cost: n, exponentials=n", 25, "'exponentials' is no part of a cost", "cost-form"),
    ("cost: n, m", 12, "more than one number of operations", "cost-form"),
    ("cost: read=n", 14, "operations come first", "cost-form"),
    ("cost: n + a.size(0)", 13, "this is no number of operations", "cost-form"),
    ("cost: n | m", 9, "this is no number of operations", "cost-form"),
    ("cost: n +", 12, "", ""),
]
RIGHT = {
    "cost: 3 * n * m * d": "batches(a, 2, b, 2) * (3 * size(a, -2) * size(b, -2) * size(a, -1))",
    "cost: n, transcendentals=n * radius": (
        "batches(a, 2, b, 2) * size(a, -2), transcendentals=batches(a, 2, b, 2) * (size(a, -2) * radius)"
    ),
    "cost: 2 * numel(a) if radius > 1 else 0, read=nbytes(result)": (
        "2 * numel(a) if radius > 1 else 0, read=nbytes(result)"
    ),
}


def generated(folder: Path, lines: list[str], names: str = "n d, m d -> n m; d sum") -> tuple[int, str, str]:
    """The status of `generate` for an operator with each of these lines, what it says, and the table it writes."""
    entries = [
        f"- func: costly::f{n}(Tensor a, Tensor b, int radius) -> Tensor\n  {line}\n  dims: {names}\n"
        f'  meta: pointwise(a, b)\n  dispatch: {{CPU: "a + b"}}\n'
        for n, line in enumerate(lines)
    ]
    (folder / "ops.yaml").write_text("".join(entries), encoding="utf-8")
    (folder / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "costly_ops"\n')
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = main(["generate"])
    table = folder / "costly_ops" / "costs.py"
    return status, out.getvalue(), table.read_text(encoding="utf-8") if table.is_file() else ""


def test_wrong_ones_are_shown_where_they_stand(tmp_path: Path) -> None:
    status, said, _ = generated(tmp_path, [line for line, *_ in WRONG])
    assert status == 1
    for number, (_, column, message, code) in enumerate(WRONG):
        place = f"ops.yaml:{5 * number + 2}:{column}: error: {message}"
        assert place in said and re.search(rf"{re.escape(place)}[^\n]*\[{code or '.*'}\]", said), f"{place}\n{said}"
    written = "- func: costly::f_(Tensor(a!) a) -> Tensor(a!)\n  cost: numel(a)\n"
    written += "  dispatch: {CompositeImplicitAutograd: a.neg_()}\n"
    (tmp_path / "ops.yaml").write_text(written, encoding="utf-8")
    error = io.StringIO()
    with contextlib.chdir(tmp_path), contextlib.redirect_stderr(error):
        assert main(["check"]) == 1
    assert "costly::f_ writes to its arguments" in error.getvalue()


def test_texts_have_sizes_for_names_of_dimensions(tmp_path: Path) -> None:
    status, said, table = generated(tmp_path, [*RIGHT])
    assert status == 0, said
    found: dict[str, Any] = {}
    exec(table, found)
    assert [each.removeprefix("declared: ") for each in found["COSTS"].values()] == [*RIGHT.values()]
    _, _, table = generated(tmp_path, ["cost: d"], "v d, ... -> ... d; v whole")
    assert '"declared: batches(a, 2, b, 0) * size(a, -1)"' in table


class Counted:
    """A number that counts operations with it; `xp` are functions that count."""

    operations: ClassVar[list[int]] = [0, 0]
    seen: ClassVar[set[Any]] = set()
    dtype = None

    def __init__(self, text: Any) -> None:
        self.text = text

    def astype(self, dtype: Any) -> Counted:
        return self


def _count(of: int, name: str) -> Any:
    """Return a function that counts its calls, those of equal operands once."""

    def call(*operands: Any) -> Any:
        if any(isinstance(each, Counted) for each in operands):
            made = Counted((name, *[each.text if isinstance(each, Counted) else each for each in operands]))
            Counted.operations[of] += made.text not in Counted.seen
            Counted.seen.add(made.text)
            return made
        return 1

    return call


SIGNS = "add sub mul truediv floordiv mod neg and or xor lshift rshift invert lt le gt ge eq ne"
for _name in SIGNS.split():
    setattr(Counted, f"__{_name}__", _count(0, _name))
    setattr(Counted, f"__r{_name}__", _count(0, f"r{_name}"))
Counted.__pow__ = _count(1, "pow")  # type: ignore[attr-defined]


class Functions:
    """The array module."""

    def __getattr__(self, name: str) -> Any:
        return (lambda x: x) if name == "positive" else _count(name in TRANSCENDENTAL, name)


def _special(xp: Any, *operands: Any) -> Any:
    return _count(1, "special")(*operands)


def test_numbers_that_count_agree_with_the_model() -> None:
    compared = 0
    for name in ("expressions", "everywhere"):
        for operator in read_text((EXAMPLES / name / "ops.yaml").read_text(encoding="utf-8")).operators.values():
            if operator.expression is None:
                continue

            def named(part: Any) -> Any:
                """Functions that NumPy has not as one of the module's."""
                is_ours = isinstance(part, Reference) and part.kind is Kind.FUNCTION
                return Reference(Kind.ARGUMENT, "special") if is_ours else None

            text = emit(rewrite(numpy_form(operator.expression), named))
            values = {each.name: 3 for each in operator.schema.arguments} | {
                each: Counted(each) for each in operator.expression.tensors
            }
            Counted.operations, Counted.seen = [0, 0], set()
            known = {"xp": Functions(), "special": _special, "math": SimpleNamespace(math=math)}
            eval(text, known, values)
            assert tuple(Counted.operations) == operations_of_expression(operator.expression.root), text
            compared += 1
    assert compared >= 8


def test_each_function_of_expressions_is_computed_once_for_each_operand() -> None:
    for function in FUNCTIONS.values():
        assert all(len(re.findall(rf"\b{letter}\b", function.array)) <= 1 for letter in "xyz"), function.name


WRITING = """
- func: NS::fade(Tensor self) -> Tensor
  meta: pointwise(self)
  dispatch: {CPU: "self * 0.5 + 1"}
  autogen: fade_, fade.out
- func: NS::alone_(Tensor(a!) self) -> Tensor(a!)
  meta: pointwise(self)
  dispatch: {CPU: "self * 0.5 + 1"}
- func: NS::mixed(Tensor(a!) x, Tensor y) -> ()
  dispatch: {CPU: fill}
  autogen: mixed_functional
- func: NS::both(Tensor(a!) x, Tensor(b!) y) -> ()
  autogen: both_functional
  dims: ..., ... -> ..., ...
  dispatch: {CPU: fill}
"""


def test_what_is_written_is_counted(tmp_path: Path) -> None:
    """Whether it is returned or not: bytes were 0 for operators that return nothing."""
    space = new_namespace()
    kernels = "def fill(x, y):\n    x[...] = y\n"
    with imported(generate(tmp_path, WRITING.replace("NS", space), kernels=kernels)):
        ops, x, y = getattr(opwright.ops, space), opwright.ones(10), opwright.ones(10)
        for operator, args, read, written in (
            (ops.fade.default, (x,), 40, 40),
            (ops.fade_.default, (x,), 40, 40),
            (ops.alone_.default, (x,), 40, 40),
            (ops.mixed.default, (x, y), 80, 40),
            (ops.both.default, (x, y), 80, 80),
        ):
            found = operator.cost(*args)
            assert (found.read, found.written) == (read, written), operator
        assert ops.fade_.default.cost(x) == ops.fade.default.cost(x) == ops.fade.out.cost(x, out=y)


@pytest.mark.parametrize(
    ("kernel", "flops", "transcendentals"),
    [
        ("xp.exp(x) * xp.exp(x) - y", 2, 1),
        ("xp.exp(x - y) + xp.exp(y - x)", 3, 2),
        ("(x - y) * (x - y) + (x - y)", 3, 0),
        ("xp.where(x > y, x - y, y - x) * (x - y)", 5, 0),
        ("-x * -x + y", 3, 0),
    ],
)
def test_equal_parts_are_counted_once(tmp_path: Path, kernel: str, flops: int, transcendentals: int) -> None:
    ways = {"inline": f"  meta: pointwise(x, y)\n  dispatch: {{CPU: '{kernel}'}}\n"}
    ways["expression"] = f"  kernel: {kernel.replace('xp.', '')}\n  dtypes: float32\n"
    for name, text in ways.items():
        folder, space = tmp_path / name, new_namespace()
        folder.mkdir()
        with imported(generate(folder, f"- func: {space}::f(Tensor x, Tensor y) -> Tensor\n{text}")):
            found = getattr(opwright.ops, space).f.default.cost(opwright.ones(10), opwright.ones(10))
            assert (found.flops, found.transcendentals) == (10 * flops, 10 * transcendentals), name
