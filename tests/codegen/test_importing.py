"""Findings written as schema files: entries that our reader takes, holes for all else, and files that are there."""

from __future__ import annotations

import contextlib
import io
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from opwright_codegen.cli import main
from opwright_codegen.commands.import_ import import_files
from opwright_codegen.errors import UsageError
from opwright_codegen.importing.found import Findings, FoundOperator, Hole
from opwright_codegen.importing.registry import Listed, read_registry
from opwright_codegen.importing.report import count_lines, page
from opwright_codegen.importing.writing import derivatives_skeleton

WHERE = "PyTorch 2.13.0"
TENSOR = "(Tensor self) -> Tensor"


def listed(name: str, *keys: str, schema: str = TENSOR, tags: tuple[str, ...] = ()) -> Listed:
    return Listed(name, f"{name}{schema}", tags, frozenset(keys))


def written(folder: Path, findings: Findings, *, force: bool = False, namespace: str | None = None) -> tuple[str, str]:
    """The schema file and what the command prints."""
    out = io.StringIO()
    arguments = Namespace(output=str(folder), force=force, namespace=namespace, source="cpp")
    assert import_files(arguments, findings, out) == 0
    return (folder / "ops.yaml").read_text(encoding="utf-8"), out.getvalue()


def checked(folder: Path, *more: str) -> str:
    """What `opwright check` says, which takes the file."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["check", str(folder / "ops.yaml"), *more]) == 0
    return out.getvalue()


@pytest.mark.parametrize(
    ("keys", "has_cuda", "expected"),
    [
        (["CPU"], True, "CPU"),
        (["CPU", "Meta"], True, "CPU, Meta"),
        (["CPU", "CUDA", "Meta"], True, "CPU, CUDA, Meta"),
        (["CUDA"], True, "CUDA"),
        (["CompositeExplicitAutograd"], False, "CPU, Meta"),
        (["CompositeImplicitAutograd"], True, "CPU, CUDA, Meta"),
    ],
)
def test_kernels_of_the_registry(keys: list[str], has_cuda: bool, expected: str) -> None:
    found = read_registry([listed("ns::f.x", *keys)], WHERE, has_cuda)
    assert [each.dispatch for each in found.operators] == [{expected: "torch:ns::f.x"}]


def test_schemas_as_pytorch_prints_them() -> None:
    printed = "ns::f(Tensor($0! -> ) a, Tensor($1! -> )? b, *, ScalarType? dtype=4, MemoryFormat m=0, int n=4) -> ()"
    found = Listed.read({"name": "ns::f", "schema": printed, "tags": [], "keys": ["CPU"]})
    assert found.schema == (
        "ns::f(Tensor! a, Tensor!? b, *, ScalarType? dtype=int64, MemoryFormat m=contiguous_format, int n=4) -> ()"
    )


def holes(*found: Listed) -> list[str]:
    return [hole.kind or hole.problem for hole in read_registry(found, WHERE, False).holes]


def test_what_the_registry_lacks_is_a_hole() -> None:
    assert holes(listed("ns::f", "CPU", "Meta")) == []
    assert holes(listed("ns::f", "CPU")) == ["PyTorch has no fake of it"]
    of_values = listed("ns::f", "CPU", "Meta", tags=("dynamic_output_shape",))
    assert holes(of_values) == ["what it returns depends on values: no fake"]
    assert holes(listed("ns::f", "SparseCPU", "Autograd")) == ["no kernel for the CPU"]
    assert holes(listed("ns::f", "CompositeExplicitAutograd", schema="(int a) -> int")) == [
        "it takes no tensor and no device, which say whose kernel is called"
    ]
    assert holes(Listed("ns::f", None, (), frozenset(("CPU",)))) == [
        "it has kernels and no schema: nobody has declared it"
    ]


def test_gradients_and_rules_for_vmap_are_pytorchs() -> None:
    both = ["its gradient, if it has one, is PyTorch's alone", "its rule for vmap is PyTorch's alone"]
    assert holes(listed("ns::f", "CPU", "Meta", "Autograd", "FuncTorchBatched")) == both
    assert holes(listed("ns::f", "CompositeImplicitAutograd")) == both[:1]
    assert holes(listed("ns::f", "CPU", "Meta", "Autograd", schema="(Tensor self) -> int")) == []
    assert holes(listed("ns::f", "CPU", "Meta", "Autograd", tags=("out",))) == []


def test_what_our_reader_refuses_is_a_hole_and_no_half_entry(tmp_path: Path) -> None:
    found = [
        FoundOperator(f"ns::good{TENSOR}", "a.cpp:1"),
        FoundOperator("ns::broken(Tensor self -> Tensor", "a.cpp:2"),
        FoundOperator(f"ns::good{TENSOR}", "a.cpp:3"),
        FoundOperator(f"ns::twice.a{TENSOR}", "a.cpp:4", {"CPU": "torch:aten::"}),
        FoundOperator("ns::last(Tensor self) -> Tensor", "a.cpp:5", {"CPU": "kernel"}),
    ]
    text, said = written(tmp_path, Findings(tuple(found)))
    assert "ns::good" in text and "ns::last" in text
    assert "broken" not in text and "twice" not in text
    assert checked(tmp_path).startswith("ok: 2 operators")
    report = (tmp_path / "holes.md").read_text(encoding="utf-8")
    assert "`ns::broken`, a.cpp:2: " in report
    assert "`ns::good`, a.cpp:3: ns::good is declared twice" in report
    assert "`ns::twice.a`, a.cpp:4: torch code is expected" in report
    assert "     1  refused: kernel-form" in said


def test_more_refusals_than_one_run_reports(tmp_path: Path) -> None:
    found = [FoundOperator(f"ns::f{number}(Tensor self -> Tensor", f"a.cpp:{number}") for number in range(250)]
    _, said = written(tmp_path, Findings((*found, FoundOperator(f"ns::good{TENSOR}", "a.cpp:251"))))
    assert "1 operator\n" in said
    assert "250 holes" in said
    assert checked(tmp_path).startswith("ok: 1 operator")


def test_texts_that_yaml_reads_as_something_else(tmp_path: Path) -> None:
    schemas = [
        'ns::a(Tensor self, str s="x: y") -> Tensor',
        'ns::b(Tensor self, str s=" # no comment") -> Tensor',
        'ns::c(Tensor self, str s="a\\"b\\n") -> Tensor',
        "ns::d(Tensor(a!) self, *, int[2] size=[1, 2], float p=1e-05) -> Tensor(a!)",
        "ns::e(Tensor(a -> *) self) -> Tensor(a)[]",
    ]
    found = Findings(tuple(FoundOperator(schema, "a.cpp:1", {"CPU, Meta": "torch:a::b"}) for schema in schemas))
    text, said = written(tmp_path, found)
    assert "0 holes" in said
    assert checked(tmp_path).startswith("ok: 5 operators")
    assert "- func: ns::d(Tensor(a!) self, *, int[2] size=[1, 2], float p=1e-05) -> Tensor(a!)\n" in text


def test_tags_that_follow_or_are_not_known(tmp_path: Path) -> None:
    tags = ("inplace", "pointwise", "of_tomorrow")
    schema = "ns::f_(Tensor(a!) self) -> Tensor(a!)"
    text, _ = written(tmp_path, Findings((FoundOperator(schema, "a.cpp:1", tags=tags),)))
    assert "  tags: [pointwise]\n" in text
    assert "tags that Opwright does not know: of_tomorrow" in (tmp_path / "holes.md").read_text(encoding="utf-8")


def test_pytorchs_namespace_is_never_declared_anew(tmp_path: Path) -> None:
    found = Findings((FoundOperator(f"aten::f{TENSOR}", "a.cpp:1"), FoundOperator(f"mine::f{TENSOR}", "a.cpp:2")))
    text, _ = written(tmp_path, found)
    assert "- func: aten_ops::f(" in text and "- func: mine::f(" in text
    text, _ = written(tmp_path / "renamed", found, namespace="own")
    assert text.count("- func: own::f(") == 1  # the second is a hole
    assert "mine::f" in (tmp_path / "renamed" / "holes.md").read_text(encoding="utf-8")


def test_no_operators_at_all(tmp_path: Path) -> None:
    text, said = written(tmp_path, Findings((), (Hole("a.cpp", None, "nothing is registered"),)))
    assert text.startswith("# Made by")
    assert "ops.yaml: 0 operators" in said
    assert "- a.cpp\n" in (tmp_path / "holes.md").read_text(encoding="utf-8")


def test_files_are_replaced_by_force_alone(tmp_path: Path) -> None:
    found = Findings((FoundOperator(f"ns::f{TENSOR}", "a.cpp:1"),))
    (tmp_path / "ops.yaml").write_text("# mine\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"has ops\.yaml already, and nothing is replaced: --force replaces it"):
        written(tmp_path, found)
    assert [path.name for path in tmp_path.iterdir()] == ["ops.yaml"]
    assert (tmp_path / "ops.yaml").read_text(encoding="utf-8") == "# mine\n"
    text, _ = written(tmp_path, found, force=True)
    assert "ns::f" in text


def test_the_report_counts_by_kind() -> None:
    found = [
        Hole("a.cpp:1", "ns::f", "no kernel", "write one"),
        Hole("a.cpp:2", "ns::g", "no kernel", "write one"),
        Hole("a.cpp:3", "ns::h", "',' is expected", "hint", kind="refused: syntax"),
    ]
    assert list(count_lines(found)) == ["     2  no kernel", "     1  refused: syntax"]
    assert page(found, "Holes") == (
        "# Holes\n\n## no kernel (2)\n\nwrite one.\n\n- `ns::f`, a.cpp:1\n- `ns::g`, a.cpp:2\n\n"
        "## refused: syntax (1)\n\nhint.\n\n- `ns::h`, a.cpp:3: ',' is expected\n"
    )
    assert page([], "Holes") == "# Holes\n\nThere are none.\n"


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    try:
        status = main(["import", *arguments])
    except SystemExit as leaving:
        status = int(leaving.code or 0)
    return status, capsys.readouterr().err


@pytest.mark.skipif(find_spec("torch") is not None, reason="PyTorch is installed")
def test_without_pytorch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = failure(capsys, "torch", "aten", "-o", str(tmp_path / "made"))
    assert status == 1
    assert said.startswith("error: PyTorch's registry cannot be listed: No module named 'torch' [no-registry]\nhint: ")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "the following arguments are required: SOURCE"),
        (("torch", "-o", "x"), "the following arguments are required: NAMESPACE"),
        (("torch", "aten"), "the following arguments are required: -o/--output"),
        (("torch", "a b", "-o", "x"), "'a b' is no name of letters, digits and underscores"),
        (("torch", "aten", "-o", "x", "--as", "1"), "'1' is no name of letters, digits and underscores"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = failure(capsys, *arguments)
    assert status == 2
    assert expected in said


def test_the_skeleton_of_derivatives_names_the_arguments_of_each_operator() -> None:
    schemas = (
        "mine::scale(Tensor x, Tensor? weight=None, *, float by=2.0) -> Tensor",
        "mine::stack(Tensor[] tensors, int dim=0) -> Tensor",
        "mine::add_(Tensor(a!) input, Tensor other) -> Tensor(a!)",
    )
    skeleton = derivatives_skeleton([FoundOperator(each, WHERE) for each in schemas], "# heading\n")
    entries = yaml.safe_load(skeleton.partition("\n")[2].replace("# ", "").replace("…", "grad"))
    assert [[key for key in entry if key != "name"] for entry in entries] == [
        ["x", "weight"], ["tensors"], ["input", "other"],
    ]  # fmt: skip
    assert [entry["name"] for entry in entries] == list(schemas)
