"""CUDA files that schemas name: which may be, what of them is read, and what is said of others."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

import pytest
from pipeline import Run, assert_refused, generate

from opwright_codegen.cli import main

FUNCTIONS = "__global__ void f_f32(int64_t n, const float *x, float *out);\n"


def entry(kernel: str, more: str = "") -> str:
    keys = "  meta: like(x)\n  convention: elementwise\n  dtypes: float32\n"
    return f"- func: cuda_files::f(Tensor x) -> Tensor\n{keys}  dispatch: {{CUDA: '{kernel}'}}\n{more}"


@pytest.mark.parametrize(
    "kernel, said",
    [
        ("raw:/etc/passwd::f", "is no path below the project or the schema's folder"),
        ("raw:../f.cu::f", "is no path below the project or the schema's folder"),
        ("nvcc:csrc/../../f.cu::f", "is no path below the project or the schema's folder"),
        ("raw:csrc::f", "there is no file 'csrc'"),
        ("raw:csrc/g.cu::f", "there is no file 'csrc/g.cu'"),
        (f"raw:{'a' * 300}.cu::f", "there is no file"),
        (f"raw:{'a/' * 3000}b.cu::f", "there is no file"),
        ("raw:pipe.cu::f", "there is no file"),
        ("raw:latin.cu::f", "latin.cu is not UTF-8 text"),
        ("raw:zero.cu::f", "zero.cu is no text: it has a zero byte"),
        ("raw:csrc/f.cu::g", "csrc/f.cu has no function 'g_f32', which a kernel 'g' has for its dtype"),
        ("raw:comment.cu::f", "comment.cu has no function 'f_f32'"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, kernel: str, said: str) -> None:
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc" / "f.cu").write_text(FUNCTIONS)
    (tmp_path / "latin.cu").write_bytes(b"// \xe4\n")
    (tmp_path / "zero.cu").write_bytes(b"f_f32\0")
    (tmp_path / "comment.cu").write_text('// f_f32\n/* f_f32 */ const char *text = "f_f32";\n')
    os.mkfifo(tmp_path / "pipe.cu")
    run = generate(tmp_path, entry(kernel))
    assert_refused(run)
    assert said in run.stderr


def test_hints_name_what_is_near(tmp_path: Path) -> None:
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc" / "scale.cu").write_text(FUNCTIONS.replace("f_f32", "scale_f32"))
    assert "hint: did you mean csrc/scale.cu?" in generate(tmp_path, entry("raw:csrc/scal.cu::f")).stderr
    assert "hint: did you mean 'scale_f32'?" in generate(tmp_path, entry("raw:csrc/scale.cu::scala")).stderr


def source(run: Run, name: str = "f.cu") -> str:
    assert run.status == 0, run.stderr
    return (run.package / "native" / name).read_text()


def test_what_a_file_includes_is_part_of_it(tmp_path: Path) -> None:
    """Each file once where it says so, each line at its place; files that include each other end somewhere."""
    includes = ['"cuda_files_cuda.h"', '"a.cuh"', '"a.cuh"', "<cfloat>", '"no.h"']
    (tmp_path / "f.cu").write_text("".join(f"#include {each}\n" for each in includes) + FUNCTIONS)
    (tmp_path / "a.cuh").write_text('#pragma once\n#include "b.cuh"\nint a;\n')
    (tmp_path / "b.cuh").write_text('#include "f.cu"\n#include "b.cuh"\nint b;\n')
    text = source(generate(tmp_path, entry("raw:f.cu::f"))).split('#line 1 "f.cu"\n', 1)[1].split("\n\n/* --")[0]
    assert text.rstrip().split("\n") == [
        "", '#line 1 "a.cuh"', "", '#line 1 "b.cuh"', "", "", "int b;", "", '#line 3 "a.cuh"', "int a;", "",
        '#line 3 "f.cu"', "", "#include <cfloat>", '#include "no.h"', FUNCTIONS.rstrip(),
    ]  # fmt: skip


def test_macros_may_make_the_names(tmp_path: Path) -> None:
    (tmp_path / "f.cu").write_text(
        "#define K(N, E) __global__ void N##_##E(int64_t n, const float *x, float *out) {}\nK(f, f32)\n"
    )
    assert "K(f, f32)" in source(generate(tmp_path, entry("raw:f.cu::f")))


def test_files_of_one_name_are_two(tmp_path: Path) -> None:
    """Paths that differ in signs that names of files in the package do not have."""
    (tmp_path / "a").mkdir()
    for path, name in (("a/b.cu", "f"), ("a_b.cu", "g")):
        (tmp_path / path).write_text(FUNCTIONS.replace("f_f32", f"{name}_f32"))
    second = entry("raw:a_b.cu::g").replace("::f(", "::g(")
    run = generate(tmp_path, entry("raw:a/b.cu::f") + second)
    assert run.status == 0, run.stderr
    texts = [path.read_text() for path in (run.package / "native").glob("*.cu")]
    assert sorted("g_f32" in text for text in texts) == [False, True]


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    """The stamp of a run knows sources, and what these include."""
    (tmp_path / "f.cu").write_text('#include "a.cuh"\n' + FUNCTIONS)
    (tmp_path / "a.cuh").write_text("int before;\n")
    run = generate(tmp_path, entry("raw:f.cu::f"))
    assert "int before" in source(run)
    with contextlib.chdir(tmp_path), contextlib.redirect_stdout(io.StringIO()) as said:
        assert main(["generate", "-o", run.package.name, "ops.yaml"]) == 0
        assert "up to date" in said.getvalue()
        (tmp_path / "a.cuh").write_text("int after;\n")
        assert main(["generate", "-o", run.package.name, "ops.yaml"]) == 0
    assert "int after" in source(run)
