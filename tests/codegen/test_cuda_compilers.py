"""What compilers for GPUs say of generated CUDA sources: NVRTC from its wheel, which needs no driver, and nvcc.

Without NVRTC (`pip install --group cuda-tests`) and without nvcc nothing here runs; continuous integration has NVRTC.
"""

from __future__ import annotations

import ctypes
import keyword
import re
import shutil
import subprocess
import sysconfig
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import rendered_cases

from opwright_codegen.cli import main
from opwright_codegen.expressions.functions import FUNCTIONS, OPERATORS, UNARY, Result

pytestmark = pytest.mark.once  # the command compiles, and calls nothing

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "native"
NVCC = shutil.which("nvcc")


def native(name: str, case: str = "cuda") -> Path:
    """A file of a case's package."""
    return rendered_cases.package_of(case) / "native" / name


def nvrtc() -> Any:
    """Return NVRTC's library; None where it is not installed."""
    try:
        files = metadata.files("nvidia-cuda-nvrtc") or ()
    except metadata.PackageNotFoundError:
        return None
    found = next((file for file in files if re.search(r"libnvrtc\.so", file.name)), None)
    return None if found is None else ctypes.CDLL(str(found.locate()))


NVRTC = nvrtc()
needs_cpp = pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")
needs_one = pytest.mark.skipif(NVRTC is None and NVCC is None, reason="needs NVRTC: pip install --group cuda-tests")


def compiled_by_nvrtc(text: str, *options: str) -> tuple[str, set[str]]:
    """Return what NVRTC says, and the kernels that the program has."""
    program = ctypes.c_void_p()
    assert NVRTC.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"made.cu", 0, None, None) == 0
    given = (ctypes.c_char_p * (len(options) + 1))(b"--std=c++17", *(option.encode() for option in options))
    status = NVRTC.nvrtcCompileProgram(program, len(given), given)
    log, made = (_text_of(program, what) for what in ("ProgramLog", "PTX"))
    NVRTC.nvrtcDestroyProgram(ctypes.byref(program))
    return log, set() if status else set(re.findall(r"\.entry (\w+)", made))


def _text_of(program: Any, what: str) -> str:
    size = ctypes.c_size_t()
    if getattr(NVRTC, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) or not size.value:
        return ""
    text = ctypes.create_string_buffer(size.value)
    getattr(NVRTC, f"nvrtcGet{what}")(program, text)
    return text.value.decode()


def compiled_by_nvcc(text: str, folder: Path, *options: str) -> tuple[str, set[str]]:
    """Return what nvcc says, and the kernels that the program has."""
    (folder / "made.cu").write_text(text, encoding="utf-8")
    headers = ("-I", str(native("")), "-isystem", sysconfig.get_path("include"))
    command = [str(NVCC), "-std=c++17", "-ptx", *options, *headers, "made.cu", "-o", "made.ptx"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    made = (folder / "made.ptx").read_text() if done.returncode == 0 else ""
    return done.stdout + done.stderr, set(re.findall(r"\.entry (\w+)", made))


def sayings(text: str, folder: Path, *options: str) -> list[tuple[str, set[str]]]:
    """What each compiler that there is says."""
    found = [compiled_by_nvrtc(text, *options)] if NVRTC is not None else []
    return found + ([compiled_by_nvcc(text, folder, *options)] if NVCC is not None else [])


@needs_one
@pytest.mark.parametrize(
    "name, options, kernels",
    [
        ("csrc_axpy.cu", ("--use_fast_math", "-DFACTOR=2"), {"axpy_f32", "axpy_f64"}),
        ("csrc_rows.cu", (), {"row_sums_f32", "row_sums_f64"}),
        (
            "csrc_every.cu",
            (),
            {f"blend_{end}" for end in ("f32", "f64", "i16")}
            | {f"scale_{end}" for end in ("f32", "f64", "i64", "c64", "c128", "b8", "u8")},
        ),
    ],
)
def test_sources_of_the_case(tmp_path: Path, name: str, options: tuple[str, ...], kernels: set[str]) -> None:
    """Hostile text of the schema is no code: kernels are those of the project, and nothing is warned of."""
    text = native(name).read_text(encoding="utf-8")
    for log, found in sayings(text, tmp_path, *options):
        assert log == ""
        assert found == kernels


# NVRTC of CUDA 13.0 has no `offsetof`.
PLACE = """
#ifdef __CUDACC_RTC__
#define PLACE(type, member) __INTADDR__(&((type *)0)->member)
#else
#define PLACE(type, member) __builtin_offsetof(type, member)
#endif"""


@needs_one
def test_values_are_laid_out_as_they_are_packed(tmp_path: Path) -> None:
    """Numbers that may be left out, and lists, for every dtype: their sizes, and where the mark is."""
    np = pytest.importorskip("numpy")
    from opwright.cuda_kernels.launches import packed_list, packed_optional, packed_sizes

    checks, dtypes = (
        [PLACE],
        ["bool", "uint8", "int16", "int32", "uint64", "float32", "float64", "complex64", "complex128"],
    )
    given = [packed_optional(None, "scalar", np.dtype(dtype)) for dtype in dtypes]
    given += [next(packed_list([], sort)) for sort in ("float", "int", "bool")]
    for kind, value in given:
        place = value.dtype.fields["is_there"][1]
        checks.append(f'static_assert(sizeof({kind}) == {value.nbytes}, "size");')
        checks.append(f'static_assert(PLACE({kind}, is_there) == {place}, "mark");')
    checks.append(f'static_assert(sizeof(opwright_sizes) == {packed_sizes(()).nbytes}, "size");')
    text = native("csrc_every.cu").read_text(encoding="utf-8")
    for log, kernels in sayings("\n".join([text, *checks]), tmp_path):
        assert log == ""
        assert kernels


@needs_one
def test_expressions_of_the_case(tmp_path: Path) -> None:
    """For each dtype a kernel over dense operands, and one that walks others; text of the schema is no code."""
    found = {}
    for path in sorted(native("", "expressions").glob("*.loops.cu")):
        for log, kernels in sayings(as_compiled(path), tmp_path, "--fmad=false"):
            assert log == ""
            found[path.name.split(".")[0]] = kernels
    dtypes = {"axpy": "f16 bf16 f32 f64 i64", "spread": "f16 bf16 f32 f64", "bits": "u8 i16 u64", "either": "f32",
              "truth": "b8"}  # fmt: skip
    assert found == {
        name: {f"loop_{name}_{dtype}{end}" for dtype in suffixes.split() for end in ("", "_strided")}
        for name, suffixes in dtypes.items()
    }


def as_compiled(path: Path) -> str:
    """The text that `CudaSource` makes of the file of an expression."""
    return "\n".join(each.read_text(encoding="utf-8") for each in (path.with_name("device.elements.cu"), path))


@needs_one
def test_every_function_of_expressions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that compute a kind of dtypes, in one expression of values and one of truths."""
    monkeypatch.chdir(tmp_path)
    entries = []
    for kind, dtypes in (("f", "bfloat16, float64"), ("i", "int8, uint64"), ("b", "bool")):
        known = [each for each in FUNCTIONS.values() if kind in each.kinds]
        for sort, sign in (("values", "+"), ("truths", "|")):
            texts = [
                _call(each.name, each.count, kind) for each in known if (each.result is Result.TRUTH) == (sign == "|")
            ]
            text = f" {sign} ".join(texts)
            entries.append(
                f"- func: all::{sort}_{kind}(Tensor x, Tensor y) -> Tensor\n  kernel: '{text}'\n  dtypes: {dtypes}\n"
            )
    Path("ops.yaml").write_text("".join(entries))
    assert main(["generate", "ops.yaml", "-o", "all_ops"]) == 0
    native = tmp_path / "all_ops" / "native"
    paths = sorted(native.glob("*.loops.cu"))
    text = "\n".join(path.read_text() for path in (native / "device.elements.cu", *paths))
    log, kernels = sayings(text, tmp_path, "--fmad=false")[0]
    assert log == ""
    assert len(kernels) == 2 * 2 * (2 + 2 + 1)


def _call(name: str, count: int, kind: str) -> str:
    """A call of a function of expressions, or its sign between operands."""
    if name == "power" and kind == "i":
        return "x ** 2"
    operands = ["x == y", "x", "y"] if name == "where" else ["x", "y", "x"][:count]
    sign = next((sign for sign, named in (UNARY if count == 1 else OPERATORS).items() if named == name), None)
    if sign is None:
        return f"{name}({', '.join(operands)})"
    return f"({sign}x)" if count == 1 else f"(x {sign} y)"


@needs_one
def test_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "project"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("native_demo", "__pycache__"))
    monkeypatch.chdir(folder)
    assert main(["generate"]) == 0
    found = set()
    for path in sorted((folder / "native_demo" / "native").glob("csrc_*.cu")):
        for log, kernels in sayings(path.read_text(encoding="utf-8"), tmp_path):
            assert log == ""
            found |= kernels
    assert found == {"axpy_f32", "axpy_f64", "moments_f32", "moments_f64"}


@needs_one
def test_the_example_of_fused_operators_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All its sources, as they stand in the package."""
    folder = tmp_path / "fused"
    shutil.copytree(EXAMPLE.with_name("fused"), folder, ignore=shutil.ignore_patterns("fused_ops", "__pycache__", ".*"))
    monkeypatch.chdir(folder)
    assert main(["generate"]) == 0
    found = set()
    for path in sorted((folder / "fused_ops" / "native").glob("csrc_*.cu")):
        for log, kernels in sayings(path.read_text(encoding="utf-8"), tmp_path):
            assert log == ""
            found |= kernels
    names = ("layer_norm", "layer_norm_backward", "cross_entropy", "cross_entropy_backward", "rotary", "adamw_step")
    assert found == {f"{name}_{dtype}" for name in names for dtype in ("f32", "f64")}


@needs_one
@pytest.mark.parametrize(
    "old, new, said",
    [
        ("int64_t i = first_of_thread()", "int64_t i = first()", r"csrc/axpy\.cu\(8\): error: .*\"first\""),
        ("return (int64_t)blockIdx.x", "return blockIdy.x", r"csrc/shared\.cuh\(5\): error: .*\"blockIdy\""),
        ("double alpha, float *out)\n{", "float alpha, float *out)\n{", r"axpy_f32 has another prototype in demo_cu"),
        ("__global__ void axpy_f64(", 'extern "C" __global__ void axpy_f64(int, ', r"csrc/axpy\.cu\(17\): error"),
    ],
    ids=["a name", "an included file", "another type", "linkage"],
)  # fmt: skip
def test_errors_are_at_lines_of_the_project(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = native("csrc_axpy.cu").read_text(encoding="utf-8")
    head, body = text.split('#line 1 "csrc/axpy.cu"')
    assert old in body
    for log, kernels in sayings(f'{head}#line 1 "csrc/axpy.cu"{body.replace(old, new)}', tmp_path):
        assert re.search(said, log), log
        assert not kernels


# What C++ and CUDA have of their own, where it may be an argument of an operator.
WORDS = """
alignas alignof asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await co_return
co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do double
dynamic_cast else enum explicit export extern final float for friend goto if import in inline int long module mutable
namespace new noexcept nullptr operator or_eq override private protected public register reinterpret_cast requires
restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local throw try
typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq and_eq not_eq n
stream int64_t uint8_t size_t float2 double2 dim3 opwright_sizes threadIdx blockIdx warpSize cudaStream_t NULL errno I
linux
x x_shape x_ndim out out_strides __global _Bool
"""


@needs_cpp
@pytest.mark.parametrize("form, convention", [("raw", "elementwise"), ("raw", "strided"), ("nvcc", "contiguous")])
def test_any_name_of_an_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, convention: str) -> None:
    """Names that mean something in C++ or CUDA are others in prototypes: headers compile, for each dtype."""
    known = [word for word in WORDS.split() if not keyword.iskeyword(word)]
    entries, functions = [], []
    for place, word in enumerate(known):
        entries.append(
            f"- func: demo::f{place}(Tensor {word}, int other) -> Tensor\n  meta: like({word})\n"
            f"  dispatch: {{CUDA: '{form}:f.cu::f{place}'}}\n  convention: {convention}\n  dtypes: float32, complex64\n"
        )
        functions += [f"f{place}_f32", f"f{place}_c64"]
    monkeypatch.chdir(tmp_path)
    Path("ops.yaml").write_text("".join(entries), encoding="utf-8")
    Path("f.cu").write_text("// the functions, as far as this test goes\n" + "\n".join(functions), encoding="utf-8")
    assert main(["generate", "ops.yaml", "-o", "words_ops"]) == 0
    header = tmp_path / "words_ops" / "native" / "demo_cuda.h"
    stand_in = HERE.parent / "cupy_stand_in" / "cuda_on_cpu.h"
    command = ["c++", "-std=c++20", "-fsyntax-only", "-x", "c++", "-include", str(stand_in), str(header)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for log, _ in sayings(header.read_text(encoding="utf-8"), tmp_path):
        assert log == ""


@needs_one
def test_headers_and_host_functions(tmp_path: Path) -> None:
    """The header is read by NVRTC, and by nvcc with the shims and the project's functions."""
    header = native("demo_cuda.h").read_text(encoding="utf-8")
    for log, _ in sayings(header, tmp_path):
        assert log == ""
    if NVCC is not None:
        own = HERE / "cases" / "cuda" / "csrc"
        for path in (native("demo_cuda_shims.cu"), own / "words.cu", own / "host.cu"):
            log, found = compiled_by_nvcc(path.read_text(encoding="utf-8"), tmp_path, "-Xcompiler", "-Wall,-Wextra")
            assert log == ""
            assert all(re.search("twice|blend|add|swapped", name) for name in found)
