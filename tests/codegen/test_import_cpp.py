"""What `read_cpp` finds in sources of C++ and Python, written by the conventions of projects that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright_codegen.cli import main
from opwright_codegen.declared.declare import declare
from opwright_codegen.declared.inputs import Inputs
from opwright_codegen.errors import SchemaErrors
from opwright_codegen.importing.cpp import MAX_BYTES, read_cpp
from opwright_codegen.importing.found import Findings
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Source


def found(folder: Path, text: str, name: str = "ops.cpp", namespace: str | None = None) -> Findings:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_cpp([path], namespace)


def rows(findings: Findings) -> list[tuple[str, dict[str, str]]]:
    """The schemas, in one form, and the kernels of each."""
    return [(str(FunctionSchema.parse(each.schema)), dict(each.dispatch)) for each in findings.operators]


def holes(findings: Findings) -> list[tuple[int, str | None, str]]:
    return [(int(each.where.rpartition(":")[2]), each.operator, each.problem) for each in findings.holes]


def library(body: str) -> str:
    return f"TORCH_LIBRARY(mine, m) {{\n{body}\n}}\n"


VLLM = """\
#include "ops.h"
// ops.def("of_a_comment(Tensor x) -> Tensor");
/* TORCH_LIBRARY(old, m) { m.def("of_a_block(Tensor x) -> Tensor"); } */
TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("silu_and_mul(Tensor! result, Tensor input) -> ()");
  ops.impl("silu_and_mul", torch::kCUDA, &silu_and_mul);
  ops.def(
      "paged_attention("
      "    Tensor! out, Tensor query, int num_kv_heads,"  // it's a comment
      "    float scale, Tensor? alibi_slopes, str kv_cache_dtype) -> ()");
  ops.impl("paged_attention", torch::kCUDA, &paged_attention);
#ifdef USE_ROCM
  ops.def("rocm_only(Tensor a) -> Tensor", {at::Tag::pt2_compliant_tag});
#endif
}

TORCH_LIBRARY_EXPAND(CONCAT(TORCH_EXTENSION_NAME, _cache_ops), cache_ops) {
  cache_ops.def(R"(swap_blocks(Tensor src, Tensor! dst,
                               Tensor block_mapping) -> ())");
  cache_ops.impl("swap_blocks", torch::kCUDA, &swap_blocks);
}
REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
"""


def test_vllm_s_conventions(tmp_path: Path) -> None:
    findings = found(tmp_path, VLLM, "torch_bindings.cpp", "_C")
    assert rows(findings) == [
        ("_C::silu_and_mul(Tensor! result, Tensor input) -> ()", {"CUDA": "silu_and_mul"}),
        (
            "_C::paged_attention(Tensor! out, Tensor query, int num_kv_heads, float scale, Tensor? alibi_slopes, "
            "str kv_cache_dtype) -> ()",
            {"CUDA": "paged_attention"},
        ),
        ("_C::rocm_only(Tensor a) -> Tensor", {}),
        ("_C_cache_ops::swap_blocks(Tensor src, Tensor! dst, Tensor block_mapping) -> ()", {"CUDA": "swap_blocks"}),
    ]
    assert findings.operators[2].tags == ("pt2_compliant_tag",)
    assert [each.where.rpartition(":")[2] for each in findings.operators] == ["5", "7", "13", "18"]
    assert holes(findings) == []


def test_a_namespace_that_the_build_sets_is_that_of_the_first_file_and_a_hole(tmp_path: Path) -> None:
    findings = found(tmp_path, VLLM, "torch-bindings.cpp")
    assert [each.schema.partition("::")[0] for each in findings.operators][2:] == [
        "torch_bindings", "torch_bindings_cache_ops",
    ]  # fmt: skip
    assert [(line, each) for line, each, _ in holes(findings)] == [(4, None)]
    assert "'torch_bindings' is taken" in findings.holes[0].problem


def test_torchvision_s_conventions_over_two_files(tmp_path: Path) -> None:
    (tmp_path / "nms.cpp").write_text(
        "namespace vision { namespace ops {\n"
        "TORCH_LIBRARY_FRAGMENT(torchvision, m) {\n"
        "  m.def(TORCH_SELECTIVE_SCHEMA(\n"
        '      "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"));\n'
        "}\n}}\n"
    )
    (tmp_path / "nms_kernel.cpp").write_text(
        "TORCH_LIBRARY_IMPL(torchvision, CPU, m) {\n"
        '  m.impl(TORCH_SELECTIVE_NAME("torchvision::nms"), TORCH_FN(nms_kernel));\n'
        "}\n"
        "TORCH_LIBRARY_IMPL(torchvision, QuantizedCPU, m) {\n"
        '  m.impl(TORCH_SELECTIVE_NAME("torchvision::nms"), TORCH_FN(::vision::qnms_kernel));\n'
        "}\n"
    )
    schema = "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
    kernels = {"CPU": "nms_kernel", "QuantizedCPU": "vision::qnms_kernel"}
    for order in (("nms.cpp", "nms_kernel.cpp"), ("nms_kernel.cpp", "nms.cpp")):
        findings = read_cpp([tmp_path / name for name in order])
        assert rows(findings) == [(schema, kernels)]
        assert findings.holes == ()


def test_flash_attention_s_conventions(tmp_path: Path) -> None:
    stable = """\
STABLE_TORCH_LIBRARY(flash_attn_3, m) {
    m.def("fwd("
        "Tensor q,"
        "Tensor(k_new!)? k_new = None,"
        "bool is_causal = False,"
        "int window_size_left = -1) -> (Tensor(out!), Tensor)");
}
STABLE_TORCH_LIBRARY_IMPL(flash_attn_3, CUDA, m) {
    m.impl("fwd", TORCH_BOX(&mha_fwd));
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.doc() = "FlashAttention";
    m.def("fwd", &FLASH_NAMESPACE::mha_fwd, "Forward pass");
}
"""
    findings = found(tmp_path, stable)
    assert [dict(each.dispatch) for each in findings.operators] == [{"CUDA": "mha_fwd"}]
    assert holes(findings) == [(11, None, "functions of a pybind11 module are no operators")]


def test_sgl_kernel_s_conventions(tmp_path: Path) -> None:
    findings = found(
        tmp_path,
        """\
TORCH_LIBRARY_FRAGMENT(sgl_kernel, m) {
  m.def("get_graph_buffer_ipc_meta", &get_graph_buffer_ipc_meta);
  m.def("merge_state(Tensor v_a, Tensor! v_merged, int cuda_stream) -> ()");
  m.impl("merge_state", torch::kCUDA, &merge_state);
  m.def("dispose", &dispose);
  m.impl("dispose", c10::DispatchKey::CPU, &dispose);
}
REGISTER_EXTENSION(common_ops)
""",
    )
    assert rows(findings) == [
        ("sgl_kernel::merge_state(Tensor v_a, Tensor! v_merged, int cuda_stream) -> ()", {"CUDA": "merge_state"})
    ]
    inferred = "its schema cannot be inferred from C++: no given file declares "
    assert holes(findings) == [
        (2, "sgl_kernel::get_graph_buffer_ipc_meta", f"{inferred}get_graph_buffer_ipc_meta"),
        (5, "sgl_kernel::dispose", f"{inferred}dispose"),
    ]


@pytest.mark.parametrize(
    ("body", "schemas"),
    [
        (r'm.def("f(str s=\"a\\n\") -> ()");', ['f(str s="a\\n") -> ()']),
        ('m.def("f(int x) -> ()").def("g() -> ()");', ["f(int x) -> ()", "g() -> ()"]),
        ('m.def(R"abc(f(str s=")") -> ())abc");', ['f(str s=")") -> ()']),
        ('m.def(u8"f(Tensor x)" /* more */ " -> Tensor");', ["f(Tensor x) -> Tensor"]),
        ('m.def(std::string("f() -> ()"));', ["f() -> ()"]),
        ('m.def("f(Tensor x)\\\n -> Tensor");', ["f(Tensor x) -> Tensor"]),
        ('n.def("f() -> ()"); x.m.def("g() -> ()"); def("h() -> ()");', []),
        ("char c = '\"'; int n = 1'000; m.def(\"f() -> ()\");", ["f() -> ()"]),
        ('m.def("mine::f() -> ()");', ["f() -> ()"]),
        ('#if 0\nm.def("f() -> ()"); don\'t "\n#else\nm.def("g() -> ()");\n#endif', ["g() -> ()"]),
        ('#if 0\n#if X\n#else\n"\n#endif\n"\n#endif\nm.def("g() -> ()");', ["g() -> ()"]),
        ("auto s = R\"x(m.def(\"f() -> ()\");)x\";", []),
    ],
)  # fmt: skip
def test_texts_of_schemas(tmp_path: Path, body: str, schemas: list[str]) -> None:
    assert [each.schema.removeprefix("mine::") for each in found(tmp_path, library(body)).operators] == schemas


@pytest.mark.parametrize(
    ("body", "operator", "problem"),
    [
        ("m.def(schema);", None, "the schema is computed: no text stands here"),
        ('m.def(("f(" + rest).c_str());', None, "the schema is computed: no text stands here"),
        ('m.def("f(" ARGS ") -> ()");', None, "the schema is computed: no text stands here"),
        ('m.def("f(Tensor a"\n#ifdef X\n", int b"\n#endif\n") -> ()");', "mine::f", "stand under #if"),
        ('m.def("f(Tensr! x -> ()");', "mine::f", "expected"),
        ('m.def("yours::f() -> ()");', "yours::f", "the library is that of the namespace 'mine'"),
        ('m.def("f() -> ()"); m.def("f() -> int");', "mine::f", "its schema differs from that of"),
        ('m.impl("f", torch::kCUDA, &f);', "mine::f", "no schema of it is in the files"),
        ('m.def("f() -> ()"); m.impl("f", torch::kCPU, [](int x) { return x; });', "mine::f", "a lambda or another"),
        ('m.def("f() -> ()"); m.impl("f", torch::kCPU, a::b::c::d::f);', "mine::f", "no name that a schema file takes"),
        ('m.def("f() -> ()"); m.impl("f", torch::kNone, &f);', None, "'None' is no dispatch key"),
        ("m.fallback(torch::CppFunction::makeFallthrough());", None, "a fallback serves the operators of all"),
        ('m.class_<Stack>("Stack").def("push", &Stack::push);', None, "a custom class is no operator"),
    ],
)
def test_what_is_no_text_or_cannot_be_said_is_a_hole(
    tmp_path: Path, body: str, operator: str | None, problem: str
) -> None:
    findings = found(tmp_path, library(body))
    line, named, said = holes(findings)[-1]
    assert (line, named) == (2, operator) and problem in said


def test_kernels_and_keys(tmp_path: Path) -> None:
    body = """\
m.def("f(Tensor x) -> Tensor", &f_composite);
m.impl("f", c10::DispatchKey::CPU, TORCH_FN(my::f_cpu));
m.impl("f", at::kMPS, torch::dispatch(c10::DispatchKey::XPU, TORCH_FN(f_xpu)));
m.impl("f", torch::dispatch(c10::DispatchKey::Meta, f_meta));
}
TORCH_LIBRARY_IMPL(mine, Autograd, m) {
m.impl("f", f_autograd);
}
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
m.impl("abs.out", mine::abs_out);"""
    findings = found(tmp_path, library(body))
    assert dict(findings.operators[0].dispatch) == {
        "CompositeImplicitAutograd": "f_composite",
        "CPU": "my::f_cpu",
        "XPU": "f_xpu",
        "Meta": "f_meta",
        "Autograd": "f_autograd",
    }
    assert rows(findings)[1] == (
        "aten::abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        {"PrivateUse1": "mine::abs_out"},
    )
    assert findings.holes == ()


def test_the_only_kernel_is_said_as_schema_files_say_it(tmp_path: Path) -> None:
    """An entry without `dispatch` has a kernel of the operator's name: check refuses other ways to say so."""
    body = """m.def("f(Tensor x) -> Tensor", &f);
m.def("g(Tensor x) -> Tensor", &g_of_mine);
m.def("h(Tensor x) -> Tensor", &mine::h);"""
    findings = found(tmp_path, library(body))
    kernels = [dict(each.dispatch) for each in findings.operators]
    assert kernels == [{}, {}, {"CompositeImplicitAutograd": "mine::h"}]
    ((line, name, problem),) = holes(findings)
    assert (line, name) == (3, "mine::g") and "'g_of_mine'" in problem and "'g'" in problem
    text = "".join(f"- func: {each.schema}\n" for each in findings.operators[:2])
    last = f"- func: {findings.operators[2].schema}\n  dispatch: {{CompositeImplicitAutograd: mine::h}}\n"
    (declared,) = declare(Inputs(tmp_path, ()), [Source("ops.yaml", text + last)], binds=False).values()
    assert len(declared.all) == 3


def test_macros_and_functions_that_register(tmp_path: Path) -> None:
    text = """\
#define NS quant  // of all
#define REG(name) \\
  m.def(#name "(Tensor x) -> Tensor");
TORCH_LIBRARY(NS, m) { REG(f) m.def("g(Tensor x) -> Tensor"); helper(m); }
void helper(torch::Library& m) { m.def("h(Tensor x) -> Tensor"); m.def("own::i(Tensor x) -> Tensor"); }
void declared(torch::Library& m);
struct S { S() { m.def("j() -> ()"); } };
"""
    findings = found(tmp_path, text)
    assert [each.schema.partition("(")[0] for each in findings.operators] == ["quant::g", "own::i"]
    assert [(line, name) for line, name, _ in holes(findings)] == [(5, "h"), (2, None)]
    assert found(tmp_path, text, namespace="quant").operators[1].schema == "quant::h(Tensor x) -> Tensor"


def test_old_registries(tmp_path: Path) -> None:
    text = """\
static auto r = torch::RegisterOperators().op("old::f(Tensor x) -> Tensor", &f).op("old::g() -> int", &g);
RegisterOperators ops({Operator("ipex::norm(Tensor a, float eps) -> Tensor", [](Stack& s) {}, aliasAnalysis())});
"""
    assert [each.schema.partition("(")[0] for each in found(tmp_path, text).operators] == [
        "old::f", "old::g", "ipex::norm",
    ]  # fmt: skip


def test_a_file_without_registrations_is_a_hole(tmp_path: Path) -> None:
    for name in ("ops.cpp", "ops.py"):
        findings = found(tmp_path, "", name)
        assert not findings.operators
        assert [each.problem for each in findings.holes] == ["nothing is registered in this file"]


@pytest.mark.parametrize(
    ("name", "text", "place", "message"),
    [
        ("ops.cpp", library('m.def("f() -> ()\n);'), "2:7", "the string never ends"),
        ("ops.cpp", "int a;\n  /* no end", "2:3", "the comment never ends"),
        ("ops.cpp", 'x = R"a(b)"', "1:5", "the raw string never ends"),
        ("ops.cpp", library('m.def("f() -> ()"'), "2:6", "the bracket is never closed"),
        ("ops.cpp", library('m.def("f() -> ()"]);'), "2:6", "the bracket is never closed"),
        ("ops.py", "import torch\nx = (1,,\n", "2:8", "this is not Python: invalid syntax"),
        ("ops.py", "x = " + "-" * 100_000 + "1", "1:1", "the file nests deeper than Python's parser follows"),
        ("ops.py", "x = '\0'", "1:1", "this is not Python"),
    ],
)
def test_broken_sources_are_errors_with_a_place(tmp_path: Path, name: str, text: str, place: str, message: str) -> None:
    with pytest.raises(SchemaErrors) as caught:
        found(tmp_path, text, name)
    (error,) = caught.value.errors
    assert error.code == "source-syntax"
    assert str(error).startswith(f"{tmp_path / name}:{place}: error: {message}")


def test_files_that_cannot_be_read_are_errors_all_at_once(tmp_path: Path) -> None:
    (tmp_path / "large.cu").write_bytes(b" " * (MAX_BYTES + 1))
    (tmp_path / "lib.so").write_bytes(b"\x7fELF\xff\xfe")
    with pytest.raises(SchemaErrors) as caught:
        read_cpp([tmp_path / "missing.cpp", tmp_path, tmp_path / "large.cu", tmp_path / "lib.so"])
    codes = ["unreadable-file", "unreadable-file", "large-file", "encoding"]
    assert [each.code for each in caught.value.errors] == codes


PYTHON = '''\
import torch
import torch.library as tl
from torch.library import Library, custom_op, impl

NS = "mine"
torch.library.define("mylib::sin", "(Tensor x) -> Tensor", tags=torch.Tag.core)
lib = Library(NS, "DEF")
lib.define("add(Tensor x, " "Tensor y) -> Tensor", tags=(torch.Tag.core, torch.Tag.pointwise))
lib.define("""quantize(Tensor input,
    float scale) -> Tensor""")
lib.impl("add", my.module.add_cpu, "CPU")


@impl(lib, "add", "CUDA")
def add_cuda(x, y): ...


@torch.library.impl("mylib::sin", ["cpu", "cuda"])
def sin(x): ...


@custom_op("mylib::a", mutates_args=(), schema="(Tensor x) -> Tensor", device_types="cpu")
def a(x): ...


@torch.library.register_kernel("mylib::a", "npu")
def a_npu(x): ...


@tl.custom_op("mylib::b", mutates_args=(), schema="(Tensor x) -> Tensor")
def b(x): ...


def scoped():
    with torch.library._scoped_library("scoped", "FRAGMENT") as lib:
        lib.define("q(Tensor x) -> Tensor")


torch.library.define("new::f(Tensor x) -> Tensor")
'''


def test_python_sources(tmp_path: Path) -> None:
    findings = found(tmp_path, PYTHON, "ops.py")
    assert rows(findings) == [
        ("mylib::sin(Tensor x) -> Tensor", {"CPU": "sin", "CUDA": "sin"}),
        ("mine::add(Tensor x, Tensor y) -> Tensor", {"CPU": "add_cpu", "CUDA": "add_cuda"}),
        ("mine::quantize(Tensor input, float scale) -> Tensor", {}),
        ("mylib::a(Tensor x) -> Tensor", {"CPU": "a", "PrivateUse1": "a_npu"}),
        ("mylib::b(Tensor x) -> Tensor", {"CompositeExplicitAutograd": "b"}),
        ("scoped::q(Tensor x) -> Tensor", {}),
        ("new::f(Tensor x) -> Tensor", {}),
    ]
    assert [each.tags for each in findings.operators][:2] == [("core",), ("core", "pointwise")]
    assert findings.holes == ()


@pytest.mark.parametrize(
    ("code", "operator", "problem"),
    [
        ('torch.library.define(f"{ns}::f", "() -> ()")', None, "computed"),
        ('torch.library.define("mine::f", schema)', "mine::f", "computed"),
        ('lib.define(f"f({args}) -> ()")', None, "computed"),
        ('lib.define("f(Tensr x -> ()")', "mine::f", "expected"),
        ('torch.library.custom_op("mine::f", mutates_args=())', "mine::f", "inferred from the annotations"),
        ('torch.library.triton_op("mine::f", mutates_args={})', "mine::f", "inferred from the annotations"),
        ('direct_register_custom_op(op_name="f", op_func=f, mutates_args=[])', "f", "namespace of its library"),
        ('computed = torch.library.Library(name, "DEF"); computed.define("f() -> ()")', "f", "library is computed"),
        ('lib.define("yours::f() -> ()")', "yours::f", "the library is that of the namespace 'mine'"),
    ],
)
def test_what_python_computes_is_a_hole(tmp_path: Path, code: str, operator: str | None, problem: str) -> None:
    findings = found(tmp_path, f'import torch\nlib = torch.library.Library("mine", "DEF")\n{code}\n', "ops.py")
    ((line, named, said),) = holes(findings)
    assert (line, named) == (3, operator) and problem in said


def test_nothing_of_a_python_source_is_run(tmp_path: Path) -> None:
    found(tmp_path, f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit(3)\n", "ops.py")
    assert not (tmp_path / "ran").exists()


def test_the_command_writes_what_check_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ops.cpp").write_text(
        'TORCH_LIBRARY(mylib, m) { m.def("twice(Tensor x) -> Tensor"); m.def("other", &other); }\n'
        'TORCH_LIBRARY_IMPL(mylib, CPU, m) { m.impl("twice", &twice); }\n'
    )
    (tmp_path / "npu.yaml").write_text("backend: NPU\ncpp_namespace: at_npu\nsupported:\n- abs\n- nobody.knows\n")
    for source, file, name in (("cpp", "ops.cpp", "mylib::twice"), ("backend", "npu.yaml", "aten_ops::abs")):
        folder = tmp_path / source
        assert main(["import", source, str(tmp_path / file), "-o", str(folder)]) == 0
        assert "1 operator\n" in capsys.readouterr().out
        assert f"- func: {name}(" in (folder / "ops.yaml").read_text()
        assert "## " in (folder / "holes.md").read_text()
        assert main(["check", str(folder / "ops.yaml")]) == 0
        assert main(["import", source, str(tmp_path / file), "-o", str(folder)]) == 2
        assert "nothing is replaced" in capsys.readouterr().err
