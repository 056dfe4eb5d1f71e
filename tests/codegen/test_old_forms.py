"""Former versions of operators: their calls served with a warning, saved graphs upgraded, and what is refused."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pipeline import generate, imported

import opwright
from opwright.fx import GraphModule, from_json, to_json
from opwright.fx.experimental.proxy_tensor import make_fx
from opwright.fx.json_values import JSONFormatError
from opwright_codegen.errors import SchemaErrors
from opwright_codegen.read.files import read_text

ENTRY = """
- func: former::soft(Tensor self, Scalar {0}) -> Tensor
  variants: function, method
  meta: pointwise(self)
  dispatch: {{CPU: "self - {1}"}}
{2}"""
FIRST = ENTRY.format("lambd=0.5", "lambd", "")
THIRD = """\
  upgrade:
    2: self.soft(threshold=lambd)
    3: self.soft(limit=threshold)
    4: {from: "soft(Tensor self, Scalar limit=0.5) -> Tensor", call: self.soft(limit=limit)}
"""
DEPRECATED = """
- func: former::gone(Tensor self) -> Tensor
  meta: pointwise(self)
  deprecated: {since: 1.1, use: soft, message: it was slow}
  dispatch: {CPU: "2 * self"}
"""


def test_a_graph_runs_after_two_renames_and_a_changed_default(tmp_path: Path) -> None:
    x = opwright.tensor([1.0, 2.0])
    with imported(generate(tmp_path, FIRST)):
        soft = opwright.ops.former.soft
        graph = make_fx(lambda x: soft(soft(x), lambd=0.25) + 1)(x)
        text, expected = to_json(graph), graph(x)
        pickled = pickle.dumps(graph)
    assert json.loads(text)["operators"]["former::soft"] == {
        "version": 1,
        "schema": "(Tensor self, Scalar lambd=0.5) -> Tensor",
    }
    with imported(generate(tmp_path, ENTRY.format("limit=1.0", "limit", THIRD))), warnings.catch_warnings():
        warnings.simplefilter("error")
        found = from_json(text)
        assert found.code.count("limit = 0.5") == found.code.count("limit = 0.25") == 1
        assert found(x).tolist() == expected.tolist()
        assert pickle.loads(pickled).code == copy.deepcopy(found).code == found.code
        again = to_json(found)
        assert json.loads(again)["operators"]["former::soft"]["version"] == 4
        assert from_json(again).code == found.code
    with imported(generate(tmp_path, ENTRY.format("limit=1.0", "limit", ""))):
        with pytest.raises(JSONFormatError, match="calls former::soft of version 1"):
            pickle.loads(pickled)
        with pytest.raises(JSONFormatError) as raised:
            from_json(text)
        for part in (
            "calls former::soft of version 1",
            "here it is version 1",
            "'lambd' is gone",
            "upgrade: {2: {from",
        ):
            assert part in str(raised.value)
        with pytest.raises(JSONFormatError, match=r"(?s)of version 4.*here it is version 1.*Install the release"):
            from_json(again.replace("(Tensor self, Scalar limit=1.0)", "(Tensor self, Scalar limit=1.0, int x=1)"))
    said = r"'lambd' was left out, whose default was 0\.5 and is 1\.0 now"
    with imported(generate(tmp_path, ENTRY.format("lambd=1.0", "lambd", ""))), pytest.raises(ValueError, match=said):
        from_json(text)
    with pytest.raises(JSONFormatError, match="saved with version 1 of former::soft, calls an op"):
        from_json(text)


def test_saved_operators_of_strangers() -> None:
    text = to_json(make_fx(lambda x: x + 1)(opwright.tensor([1.0])))
    wrongs: tuple[Any, ...] = (
        [],
        {"a": 1},
        {"a": {"version": 0, "schema": "() -> ()"}},
        {"a": {"version": True, "schema": "x"}},
    )
    for wrong in wrongs:
        with pytest.raises(JSONFormatError, match="operators: "):
            from_json(json.dumps(json.loads(text) | {"operators": wrong}))
    broken = {"aten::add.Scalar": {"version": 1, "schema": "(Tensor self"}}
    with pytest.raises(JSONFormatError, match=r"the schema of aten::add\.Scalar cannot be read"):
        from_json(json.dumps(json.loads(text) | {"operators": broken}))
    before = {key: value for key, value in json.loads(text).items() if key != "operators"}
    assert isinstance(from_json(json.dumps(before)), GraphModule)


def test_former_calls_are_served_with_a_warning(tmp_path: Path) -> None:
    """By every way to call, each time, at the caller's line; the present form warns of nothing."""
    with imported(
        generate(tmp_path, (ENTRY.format("limit=1.0", "limit", THIRD) + DEPRECATED).replace("former", "served"))
    ):
        x = opwright.tensor([1.0, 2.0], requires_grad=True)
        former = opwright.ops.served
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                assert former.soft(x, lambd=0.25).tolist() == [0.75, 1.75]
            assert former.soft(x, threshold=0.5).tolist() == [0.5, 1.5]
            assert x.soft(lambd=0.25).tolist() == [0.75, 1.75]  # type: ignore[attr-defined]
            np.testing.assert_array_equal(former.soft(np.ones(2), lambd=0.25), [0.75, 0.75])
            assert opwright.vmap(lambda x: former.soft(x, lambd=0.5))(x).tolist() == [0.5, 1.5]
            assert former.gone(x).tolist() == [2.0, 4.0]
            assert len(caught) >= 8
            assert {warning.filename for warning in caught} == {__file__}
            assert {warning.category for warning in caught} == {DeprecationWarning}
            told = [str(warning.message) for warning in caught]
            assert "version 1 of served::soft, which is written soft(self, limit=lambd) now" in told[0]
            assert "Deprecated since 1.1: use soft: it was slow." in former.gone.default.doc
            assert told[-1] == "served::gone is deprecated: since 1.1: use soft: it was slow"
            del caught[:]
            former.soft(x)
            former.soft(x, limit=0.5)
            assert caught == []
        with pytest.warns(DeprecationWarning):
            graph = make_fx(lambda x: former.soft(x, lambd=0.25))(x)
        assert "served.soft.default(x_1, 0.25)" in graph.code


@pytest.mark.parametrize("by", ["autogen", "hand"])
def test_former_calls_of_variants_are_served(by: str, tmp_path: Path) -> None:
    """What is written is what is returned, and a gradient flows through it, once warned for a call."""
    entry = ENTRY.format("limit=1.0", "limit", "  upgrade:\n    2: self.soft(limit=lambd)\n").replace("former", by)
    variants = "  autogen: soft_, soft.out\n"
    if by == "hand":
        variants = (
            "- func: hand::soft_(Tensor(a!) self, Scalar limit=1.0) -> Tensor(a!)\n  variants: method, function\n"
            "- func: hand::soft.out(Tensor self, Scalar limit=1.0, *, Tensor(a!) out) -> Tensor(a!)\n"
        )
    with imported(generate(tmp_path, entry + variants)):
        operators, x, out = getattr(opwright.ops, by), opwright.tensor([1.0, 2.0]), opwright.empty(2)
        with pytest.warns(DeprecationWarning, match=r"version 1 of \w+::soft_, which is .* soft_\(self, limit=lambd\)"):
            assert operators.soft_(x, lambd=0.25) is x
        with pytest.warns(DeprecationWarning, match=r"soft\.out, which is written soft\(self, limit=lambd, out=out\)"):
            assert operators.soft(x, lambd=0.25, out=out) is out
        with pytest.warns(DeprecationWarning) as caught:
            x.soft_(lambd=0.25)  # type: ignore[attr-defined]
        assert (x.tolist(), out.tolist(), len(caught)) == ([0.5, 1.5], [0.5, 1.5], 1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert operators.soft_(x, limit=0.5) is x and operators.soft(x, limit=0.5, out=out) is out


ALONE = """
- func: {0}::soft.out(Tensor self, Scalar limit=1.0, *, Tensor(a!) out) -> Tensor(a!)
  dispatch: {{CPU: "hostile_kernels:soft"}}
  upgrade: {{2: "soft(self, limit=lambd)"}}
- func: {0}::hard_(Tensor(a!) self, Scalar limit=1.0) -> Tensor(a!)
  dispatch: {{CPU: "hostile_kernels:hard"}}
  upgrade:
    2: {{from: "hard_(Tensor(a!) self, int bound, Scalar? lambd=None) -> Tensor(a!)", call: "hard_(self, bound)"}}
- func: {0}::both.out(Tensor self, Scalar limit=1.0, *, Tensor(a!) out) -> Tensor(a!)
  upgrade: {{2: "both(self, limit=bound)"}}
- func: {0}::both(Tensor self, Scalar limit=1.0) -> Tensor
  meta: pointwise(self)
  dispatch: {{CPU: "self - limit"}}
  upgrade: {{2: "both(self, limit=lambd)"}}
"""
WRITING = """
import numpy as np
def soft(self, limit, out): np.subtract(self, limit, out=out)
def hard(self, limit): self -= limit
"""


def test_former_calls_of_what_only_writes_are_served(tmp_path: Path) -> None:
    """Operators declared as an out or in-place variant alone, and a variant whose former names are its own; of arrays,
    too, each call warns once."""
    with imported(generate(tmp_path, ALONE.format("alone"), kernels=WRITING)):
        operators = opwright.ops.alone
        for ones in (opwright.ones, np.ones):
            x, out = ones(2), ones(2)
            for call, given, said, expected in (
                (operators.soft, {"lambd": 0.25, "out": out}, "soft(self, limit=lambd, out=out)", 0.75),
                (operators.both, {"bound": 0.5, "out": out}, "both(self, limit=bound, out=out)", 0.5),
                (operators.both, {"lambd": 0.75}, "both(self, limit=lambd)", 0.25),
                (operators.hard_, {"bound": 3}, "hard_(self, limit=bound)", -2.0),
            ):
                with pytest.warns(DeprecationWarning) as caught:
                    found = call(x, **given)
                assert found.tolist() == [expected] * 2, said
                assert len(caught) == 1 and f"which is written {said} now" in str(caught[0].message)
                assert caught[0].filename == __file__


# Each version's call is put into the next one's: without a limit this has 2**39 parts.
DOUBLED = "\n    ".join(
    f"{version}: {{from: 'soft(Tensor self, Scalar limit) -> Tensor', call: self.soft(limit + limit)}}"
    for version in range(2, 41)
)
WRONG = [
    ("2: twice(self)", "upgrade-call", "one call of soft is expected"),
    ("2: self.soft(limit=self.sin())", "upgrade-call", "more than arithmetic"),
    ("2: self.soft(bound=lambd)", "upgrade-call", "has no argument 'bound'"),
    ("2: self.soft(lambd, limit=lambd)", "upgrade-call", "is given twice"),
    ("2: self.soft(1, 2, 3)", "upgrade-call", "takes 2 arguments by position, and 4 are given"),
    ("3: self.soft(limit=lambd)", "upgrade-version", "version 2 is expected here"),
    ("2: self.soft(limit=2 * lambd)", "upgrade-from", "does not follow from '2 * lambd'"),
    ("2: {from: 'hard(Tensor self) -> Tensor', call: self.soft()}", "upgrade-from", "hard is not demo::soft"),
    ("2: {from: 'soft(Tensor self) -> Tensor', call: self.soft(limit=a)}", "upgrade-call", "'a' is no argument of it"),
    ("2: self.soft(limit='x')", "upgrade-call", "is no value of 'limit', which is declared Scalar"),
    ("2: {from: 'soft(Tensor self) -> int', call: self.soft(1)}", "upgrade-from", "returns or writes other than"),
    ("2: {from: 'soft(Tensor(a!) self) -> Tensor(a!)', call: self.soft(1)}", "upgrade-from", "returns or writes other"),
    (DOUBLED, "upgrade-call", "more than 1,000 parts"),
    ("2: {from: 'soft(Tensor self) -> Tensor'}", "missing-key", "the upgrade has no 'call'"),
]


def test_wrong_upgrades_are_told_where_they_stand() -> None:
    for line, code, message in WRONG:
        text = f"- func: demo::soft(Tensor self, Scalar limit) -> Tensor\n  upgrade:\n    {line}\n"
        with pytest.raises(SchemaErrors) as raised:
            read_text(text)
        (error,) = raised.value.errors
        assert error.code == code, (line, str(error))
        assert message in error.message
        assert error.span is not None and error.span.line >= 3
