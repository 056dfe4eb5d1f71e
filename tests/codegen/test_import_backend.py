"""What `read_backend` finds in files of the forms that backends have, and what is said of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright_codegen.errors import SchemaErrors
from opwright_codegen.importing.backends import read_backend
from opwright_codegen.importing.found import Findings
from opwright_codegen.read.files import read_text

STUBS = """\
backend: XLA
cpp_namespace: torch_xla
full_codegen:
  - abs
ir_gen:
  - abs
supported:
  - add.out
  - view
  - func: copy_
    device_check: NoCheck
  - no_such_operator
symint:
  - view
autograd:
  - max_pool3d
"""
NPU = """\
backend: NPU
class_name: Native
cpp_namespace: at_npu::native
supported: [abs, copy_memory_]
custom:
  - func: copy_memory_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)
    device_check: NoCheck
  - func: empty_with_format(int[] size, *, int acl_format=2) -> Tensor
    dispatch:
      CompositeExplicitAutograd: empty_with_format
    tags: nondeterministic_seeded
  - func: broken(Tensr! x -> Tensor
  - {}
unheard_of: [abs]
"""
VERSIONS = """\
all_version: [v2.1, v2.2, v2.3]
official:
  - func: abs(Tensor self) -> Tensor
    acl_op: all_version
    op_api: [v2.2, newest]
  - func: stft(Tensor self, int n_fft) -> Tensor
    op_api: [v2.1, v2.2]
  - func: stft(Tensor self, int n_fft, bool? align_to_window=None) -> Tensor
    op_api: v2.3
    sparse: v2.3
custom:
  - func: npu_gather_backward(Tensor grad, SymInt[] self_size) -> Tensor
    op_api: all_version
  - func: old(Tensor x) -> Tensor
    op_api: 'v2.1, v2.2'
autograd:
  - func: abs(Tensor self) -> Tensor
    op_api: all_version
symint:
  - func: npu_gather_backward(Tensor grad, SymInt[] self_size) -> Tensor
    op_api: all_version
quant:
  - func: int_repr(Tensor self) -> Tensor
"""
GAUDI = """\
# Fields: guid, out_ids, …
abs:
  guid: abs_fwd
  out_ids: [0]
as_strided:
  override_fn: as_strided_hpu
no_such_operator:
  guid: none
quantize_per_tensor:
  custom_op_schema: "quantized_decomposed::quantize_per_tensor(Tensor input, float scale) -> Tensor"
  op_backend: QuantizePerTensor
odd: text
bad:
  override_fn: __import__('os')
"""
EXECUTORCH = """\
- op: abs.out
  kernels:
    - arg_meta: null
      kernel_name: torch::executor::abs_out
    - arg_meta: [float]
      kernel_name: torch::executor::abs_out_float
- op: full_like.out
  dispatch: {}
  tags: nondeterministic_seeded
  kernels:
    - arg_meta: null
      kernel_name: torch::executor::full_like_out
- func: my_ops::mul3.out(Tensor input, *, Tensor(a!) output) -> Tensor(a!)
  kernels:
    - arg_meta: null
      kernel_name: custom::mul3_out_impl # comment
- func: add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU: torch::executor::add_out
- kernels: []
"""
FORMS = {"stubs": STUBS, "npu": NPU, "versions": VERSIONS, "gaudi": GAUDI, "executorch": EXECUTORCH}


def found(folder: Path, text: str, namespace: str | None = None) -> Findings:
    path = folder / "functions.yaml"
    path.write_text(text, encoding="utf-8")
    return read_backend(path, namespace)


def rows(findings: Findings) -> dict[str, dict[str, str]]:
    return {each.schema.partition("(")[0]: dict(each.dispatch) for each in findings.operators}


def holes(findings: Findings) -> list[tuple[int, str | None, str]]:
    return [(int(each.where.rpartition(":")[2]), each.operator, each.problem) for each in findings.holes]


def test_lists_of_stubs(tmp_path: Path) -> None:
    findings = found(tmp_path, STUBS)
    assert rows(findings) == {
        "aten::add.out": {"XLA": "torch_xla::XLANativeFunctions::add_out"},
        "aten::view": {"XLA": "torch_xla::XLANativeFunctions::view_symint"},
        "aten::copy_": {"XLA": "torch_xla::XLANativeFunctions::copy_"},
        "aten::abs": {"XLA": "torch_xla::XLANativeFunctions::abs"},
        "aten::max_pool3d": {"AutogradXLA": "torch_xla::XLANativeFunctions::max_pool3d"},
    }
    assert findings.operators[1].schema == "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)"
    assert [each.where.rpartition(":")[2] for each in findings.operators] == ["8", "9", "10", "4", "16"]
    assert holes(findings) == [(12, "aten::no_such_operator", "no schema of it is in the files or known here")]


def test_operators_of_the_backend_s_own(tmp_path: Path) -> None:
    findings = found(tmp_path, NPU)
    assert rows(findings) == {
        "npu::copy_memory_": {"PrivateUse1": "at_npu::native::Native::copy_memory_"},
        "npu::empty_with_format": {"CompositeExplicitAutograd": "empty_with_format"},
        "aten::abs": {"PrivateUse1": "at_npu::native::Native::abs"},
    }
    assert findings.operators[1].tags == ("nondeterministic_seeded",)
    assert [(line, name) for line, name, _ in holes(findings)] == [
        (1, None), (5, None), (12, "npu::broken"), (13, None), (14, None),
    ]  # fmt: skip
    said = [problem for _, _, problem in holes(findings)]
    assert said[0] == "'NPU' has no dispatch key of its own: PrivateUse1 is taken"
    assert said[1] == "no namespace is said for the backend's own operators: 'npu' is taken"
    assert said[3:] == [
        "the name or the schema of an operator is expected, not a mapping",
        "the section 'unheard_of' is not read",
    ]
    other = found(tmp_path, NPU, "mine")
    assert [name for name in rows(other) if name.startswith("mine::")] == [
        "mine::copy_memory_",
        "mine::empty_with_format",
    ]
    assert len(other.holes) == len(findings.holes) - 1


def test_entries_with_versions(tmp_path: Path) -> None:
    findings = found(tmp_path, VERSIONS, "npu")
    assert rows(findings) == {
        "aten::abs": {"PrivateUse1": "op_plugin::abs", "AutogradPrivateUse1": "op_plugin::abs"},
        "aten::stft": {"PrivateUse1": "op_plugin::stft", "SparsePrivateUse1": "op_plugin::stft"},
        "npu::npu_gather_backward": {"PrivateUse1": "op_plugin::npu_gather_backward"},
        "aten::int_repr": {"PrivateUse1": "op_plugin::int_repr"},
    }
    assert "align_to_window" in findings.operators[1].schema
    assert holes(findings) == [
        (6, "stft", "its versions, v2.1, v2.2, end before the newest: it is left out"),
        (14, "old", "its versions, v2.1, v2.2, end before the newest: it is left out"),
    ]


def test_the_table_of_gaudi(tmp_path: Path) -> None:
    findings = found(tmp_path, GAUDI)
    assert rows(findings) == {
        "aten::abs": {"HPU": "abs"},
        "aten::as_strided": {"HPU": "as_strided_hpu"},
        "quantized_decomposed::quantize_per_tensor": {"HPU": "quantize_per_tensor"},
    }
    assert [(line, name) for line, name, _ in holes(findings)] == [
        (7, "aten::no_such_operator"), (12, "odd"), (13, "aten::bad"),
    ]  # fmt: skip


def test_a_kernel_that_is_no_name_never_becomes_code(tmp_path: Path) -> None:
    findings = found(tmp_path, "abs:\n  override_fn: __import__('os').getcwd()\n")
    assert rows(findings) == {"aten::abs": {}}
    assert "no name that a schema file takes" in findings.holes[0].problem


def test_lists_of_executorch(tmp_path: Path) -> None:
    findings = found(tmp_path, EXECUTORCH)
    assert rows(findings) == {
        "aten::abs.out": {"CPU": "torch::executor::abs_out"},
        "aten::full_like.out": {"CPU": "torch::executor::full_like_out"},
        "my_ops::mul3.out": {"CPU": "custom::mul3_out_impl"},
        "aten::add.out": {"CPU": "torch::executor::add_out"},
    }
    assert [(line, name) for line, name, _ in holes(findings)] == [(5, "aten::abs.out"), (20, None)]


@pytest.mark.parametrize("form", FORMS)
def test_a_backend_s_file_is_no_schema_file_and_one_error_says_so(form: str) -> None:
    with pytest.raises(SchemaErrors) as caught:
        read_text(FORMS[form], "their.yaml")
    (error,) = caught.value.errors
    assert error.code == "backend-file"
    assert error.message.startswith("this is no schema file, but a ")
    assert error.hint == "opwright import backend their.yaml -o FOLDER"
    assert error.span is not None and error.span.text in ("backend", "all_version", "abs", "op")


@pytest.mark.parametrize(
    "text", ["func: f(Tensor self) -> Tensor", "a: {b: c}", "text", "{}", "- kernels: [f]\n- func: f() -> ()"]
)
def test_other_files_keep_their_errors(text: str) -> None:
    with pytest.raises(SchemaErrors) as caught:
        read_text(text)
    assert "backend-file" not in [each.code for each in caught.value.errors]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("- func: mine::f(Tensor x) -> Tensor", "no-backend-file", "it is a schema file already"),
        ("- name: abs(Tensor self) -> Tensor\n  self: grad", "no-backend-file", "it looks like derivatives.yaml"),
        ("- tag: core\n  desc: all", "no-backend-file", "it lists tags"),
        ("{}", "no-backend-file", "it holds a mapping of another form"),
        ("[]", "no-backend-file", "it holds a list of another form"),
        ("text", "no-backend-file", "it holds the text 'text' of another form"),
        ("", "empty-file", "the file is empty"),
        ("backend: &a XLA\nsupported: *a", "yaml-alias", "the alias *a is not read"),
        ("backend: !!python/object:os.system XLA", "yaml-tag", "is not read"),
        ("backend: XLA\nbackend: XLA", "duplicate-key", "the key 'backend' appears twice"),
        ("backend: 'XLA", "yaml-syntax", "a quote or a bracket is never closed"),
        ("backend: " + "[" * 200, "too-deep", "nested more than 100 levels deep"),
    ],
)
def test_what_is_no_backend_s_file_is_said_in_a_line(tmp_path: Path, text: str, code: str, message: str) -> None:
    with pytest.raises(SchemaErrors) as caught:
        found(tmp_path, text)
    errors = [each for each in caught.value.errors if each.code == code]
    assert len(errors) == 1
    assert message in str(errors[0])
    assert errors[0].span is not None


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SchemaErrors, match="cannot read"):
        read_backend(tmp_path / "missing.yaml")


NAMES = """\
- func: sgn.out
- func: abs
  device_guard: True
- func: amax.out
  dispatch:
    PrivateUse1: AMaxOut
- func: no_such_operator
"""


def test_lists_of_names_have_the_schemas_of_pytorch_and_one_error_in_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "musa.yaml"
    path.write_text(NAMES)
    findings = read_backend(path)
    assert [(each.name, dict(each.dispatch)) for each in findings.operators] == [
        ("aten::sgn.out", {"PrivateUse1": "sgn_out"}),
        ("aten::abs", {"PrivateUse1": "abs"}),
        ("aten::amax.out", {"PrivateUse1": "AMaxOut"}),
    ]
    assert [each.operator for each in findings.holes] == ["aten::no_such_operator"]
    path.write_text(NAMES + "".join(f"- func: name{i}.out\n" for i in range(300)) + "- func: f(Tensor x) -> Tensor\n")
    with pytest.raises(SchemaErrors) as caught:
        read_text(path.read_text(), str(path))
    (error,) = caught.value.errors
    assert error.code == "backend-file" and error.hint == f"opwright import backend {path} -o FOLDER"


def test_a_single_name_is_a_schema_that_is_not_finished() -> None:
    with pytest.raises(SchemaErrors) as caught:
        read_text("- func: scale\n")
    assert [each.code for each in caught.value.errors] == ["schema-syntax"]
