"""`opwright import torch`: a namespace of PyTorch's registry under another name, equal to the original."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from seeds import generator

import opwright
from opwright.testing import Sample
from opwright_codegen.cli import main
from opwright_codegen.importing.found import Hole
from opwright_codegen.importing.registry import Listed, read_registry
from opwright_codegen.importing.writing import schema_file

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

# A module of somebody who has operators of each kind. It prints, as such modules do.
LOADED = """
import torch

print("loaded")
library = torch.library.Library("kinds_of", "DEF")


def declare(schema, function, keys=("CPU", "Meta"), tags=()):
    library.define(schema, tags=tags)
    for key in keys:
        library.impl(schema.partition("(")[0], function, key)


declare("scaled(Tensor x, float by=2.0) -> Tensor", lambda x, by=2.0: x * by)
declare("scaled_(Tensor(a!) x, float by=2.0) -> Tensor(a!)", lambda x, by=2.0: x.mul_(by))
declare("scaled.out(Tensor x, float by=2.0, *, Tensor(a!) out) -> Tensor(a!)",
        lambda x, by=2.0, *, out: out.resize_(x.shape).copy_(x * by))
declare("filled(Tensor! x, Scalar value) -> ()", lambda x, value: (x.fill_(value), None)[1])
declare("halves(Tensor x) -> Tensor[]", lambda x: [x / 2, x / 2])
declare("total(Tensor[] xs, Tensor? start=None) -> Tensor",
        lambda xs, start=None: sum(xs) if start is None else sum(xs, start))
declare("noisy(Tensor x) -> Tensor", lambda x: x + torch.rand_like(x), tags=(torch.Tag.nondeterministic_seeded,))
declare("first(Tensor(a) x) -> Tensor(a)", lambda x: x[:1])
declare("long(Tensor x, *, ScalarType dtype=long) -> Tensor", lambda x, *, dtype=torch.int64: x.to(dtype))
declare("turned_(Tensor(a!) x) -> Tensor(a!)", lambda x: x.t_() if x.dim() < 3 else x.transpose_(0, 1),
        tags=(torch.Tag.inplace_view,))
declare("positions(Tensor x) -> Tensor", torch.nonzero, ("CPU",), (torch.Tag.dynamic_output_shape,))
declare("bare(Tensor x) -> Tensor", torch.neg, ("CPU",))
declare("thin(Tensor x) -> Tensor", lambda x: x.to_sparse(), ("CPU",))
declare("elsewhere(Tensor x) -> Tensor", torch.neg, ("SparseCPU",))
declare("nowhere(int n) -> int", lambda n: n, ("CompositeExplicitAutograd",))
library.define("streamed(Tensor x, Stream s) -> Tensor")
library.impl("streamed", lambda x, s: x, "CPU")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the module, what was imported of it, and its package."""
    folder: Path = tmp_path_factory.mktemp("imported")
    (folder / "kinds_module.py").write_text(LOADED, encoding="utf-8")
    with contextlib.chdir(folder):
        assert command("import", "torch", "kinds_of", "--load", "kinds_module", "-o", "made", "--as", "kinds")[0] == 0
        assert command("generate", "made/ops.yaml", "-o", "made/kinds")[0] == 0
    return folder


def command(*arguments: str) -> tuple[int, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = main(arguments)
    return status, out.getvalue()


@pytest.fixture(scope="module")
def ops(folder: Path) -> Iterator[Any]:
    sys.path[:0] = [str(folder), str(folder / "made")]
    importlib.import_module("kinds_module")
    yield importlib.import_module("kinds").ops
    del sys.path[:2]


def test_an_operator_of_each_kind_is_written(folder: Path) -> None:
    text = (folder / "made" / "ops.yaml").read_text(encoding="utf-8")
    names = [line.partition("::")[2].partition("(")[0] for line in text.splitlines() if line.startswith("- func")]
    assert names == [
        *("bare", "filled", "first", "halves", "long", "noisy", "positions", "scaled", "scaled.out", "scaled_"),
        *("streamed", "thin", "total", "turned_"),
    ]
    assert "ok: 14 operators" in command("check", str(folder / "made" / "ops.yaml"))[1]
    assert (
        "- func: kinds::noisy(Tensor x) -> Tensor\n"
        "  tags: [nondeterministic_seeded]\n"
        '  dispatch: {"CPU, Meta": "torch:kinds_of::noisy"}\n'
    ) in text
    assert '  dispatch: {CPU: "torch:kinds_of::bare"}\n' in text


def test_what_is_missing_is_said(folder: Path) -> None:
    report = (folder / "made" / "holes.md").read_text(encoding="utf-8")
    assert "## it takes no tensor and no device, which say whose kernel is called (1)" in report
    assert "- `kinds_of::elsewhere`, PyTorch " in report and ": it has kernels for SparseCPU alone\n" in report
    assert "## what it returns depends on values: no fake (1)" in report
    assert "## PyTorch has no fake of it (3)" in report


def test_imported_operators_equal_pytorchs(ops: Any) -> None:
    from opwright_bindings.torch.runtime.comparing import calls, operators_of

    found = {name: list(calls(name, "kinds_of")) for name in operators_of("kinds")}
    assert [call for each in found.values() for call in each if call.difference] == []
    assert {name for name, each in found.items() if not each} == {"kinds::thin"}


def test_a_difference_is_found(ops: Any) -> None:
    from opwright_bindings.torch.runtime.comparing import calls

    with opwright.library._scoped_library("kinds", "IMPL") as library, pytest.warns(UserWarning, match="is overridden"):
        library.impl("bare", lambda x: x, "CPU")
        found = list(calls("kinds::bare", "kinds_of", samples=[Sample((opwright.ones(2),))], situations=()))
    assert [call.difference for call in found] == [
        "the result has other values than PyTorch's: [1.0, 1.0] and [-1.0, -1.0] at first"
    ]


def test_the_written_tests_pass(folder: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "made/test_ops.py"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert "13 passed, 1 skipped" in run.stdout, run.stdout + run.stderr


def ends_after(value: int) -> Iterator[int]:
    yield value
    os.kill(os.getpid(), signal.SIGSEGV)


def fails_after(value: int) -> Iterator[int]:
    yield value
    raise ValueError("no")


def test_a_call_that_ends_the_process() -> None:
    """What is yielded before, and how it ended, though this process has threads, which a copy of it would wait for."""
    from opwright_bindings.torch.runtime.crashing import apart

    with ThreadPoolExecutor(2) as pool:
        pool.submit(int).result()
        assert apart(ends_after, 1, modules=["torch"]) == ([1], f"signal {int(signal.SIGSEGV)}")
        assert apart(range, 3, modules=["torch"]) == ([0, 1, 2], None)
        with pytest.raises(RuntimeError, match="ValueError: no"):
            apart(fails_after, 1, modules=[])
        with pytest.raises(RuntimeError, match="ModuleNotFoundError: No module named 'no_such_module'"):
            apart(range, 3, modules=["no_such_module"])


def test_a_namespace_that_nobody_registered(tmp_path: Path) -> None:
    status, said = command("import", "torch", "atenn", "-o", str(tmp_path / "made"))
    assert status == 1
    assert "PyTorch has no operators of 'atenn' [unknown-namespace]\nhint: did you mean 'aten'?" in said
    status, said = command("import", "torch", "aten", "--load", "no_such_module", "-o", str(tmp_path / "made"))
    assert status == 1
    assert "cannot be listed: No module named 'no_such_module' [no-registry]" in said
    assert not (tmp_path / "made").exists()


# One of each kind that has been found to differ from the others, beside those that are drawn.
OF_ATEN = (
    "abs_", "add.out", "bernoulli", "cat", "clamp.Tensor", "empty_like", "index.Tensor", "max.dim", "native_layer_norm",
    "normal_functional", "resize_", "scatter_add", "select.int", "split.Tensor", "sum.dim_IntList", "topk.values",
    "unbind.int", "var_mean.correction", "zeros",
)  # fmt: skip
# No operand is resized as `out=`: PyTorch resizes it, and some kernels then read memory that is freed.
NOT_RESIZED = "some elements of the input tensor and the written-to tensor refer to a single memory location"


def test_operators_of_aten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are listed; one of each kind and 20 drawn ones are generated, and called."""
    from opwright_bindings.torch.runtime.comparing import operators_of
    from opwright_bindings.torch.runtime.crashing import apart
    from opwright_bindings.torch.runtime.listing import listing

    listed = [Listed.read(each) for each in json.loads(listing("aten"))["operators"]]
    assert len(listed) > 3000
    known = {operator.name: operator for operator in read_registry(listed, "PyTorch", False).operators}
    assert len(known) > 2800
    drawn = generator("operators of aten").sample(sorted(name for name in known if "::_" not in name), 20)
    chosen = [known[name] for name in dict.fromkeys([*(f"aten::{name}" for name in OF_ATEN), *drawn])]
    file, refused = written(tmp_path, chosen)
    assert refused == ()
    assert main(["generate", str(file), "-o", str(tmp_path / "drawn_aten")]) == 0
    monkeypatch.syspath_prepend(tmp_path)
    module = "drawn_aten.kernels_cpu"
    importlib.import_module(module)
    names = operators_of("drawn_aten")
    of_kinds = [name for name in names if name.removeprefix("drawn_aten::") in OF_ATEN]
    found, ended = apart(compared, of_kinds, modules=[module])
    assert ended is None and len(found) > 90
    drawn = [name for name in names if name not in of_kinds]
    others, _ = apart(compared, drawn, modules=[module])  # a drawn one may end it
    wrong = [call for call in (*found, *others) if call.difference and NOT_RESIZED not in call.difference]
    assert wrong == []


def compared(names: list[str]) -> Iterator[Any]:
    from opwright_bindings.torch.runtime.comparing import calls

    for name in names:
        yield from calls(name, "aten", situations=("contiguous", "sliced"))


def written(folder: Path, operators: list[Any]) -> tuple[Path, tuple[Hole, ...]]:
    from opwright_codegen.importing.found import Findings

    made = schema_file(Findings(tuple(operators)), "# of aten\n", lambda _: "drawn_aten", lambda _: None)
    (folder / "ops.yaml").write_text(made.text, encoding="utf-8")
    return folder / "ops.yaml", made.holes


def test_numpy_arrays_are_written_in_place(ops: Any) -> None:
    given = np.arange(3.0)
    assert ops.scaled_(given) is given and given.tolist() == [0, 2, 4]
    ops.filled(given, 7)
    assert given.tolist() == [7, 7, 7]
    turned = opwright.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert ops.turned_(turned) is turned and turned.tolist() == [[1, 3], [2, 4]]
    view = ops.first(base := opwright.tensor([1.0, 2.0]))
    view.fill_(5)
    assert base.tolist() == [5, 2]
