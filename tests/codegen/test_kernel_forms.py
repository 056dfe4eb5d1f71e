"""What a `dispatch` or `meta` value is."""

from __future__ import annotations

import pytest
from formula_samples import text_of

from opwright_codegen.errors import SchemaError
from opwright_codegen.formula.ast import Attribute, Call, Name
from opwright_codegen.kernels.forms import (
    InlineKernel,
    KernelForm,
    MetaForm,
    MetaFormulas,
    NamedKernel,
    NativeKernel,
    NvccKernel,
    PathKernel,
    PathMeta,
    RawKernel,
    ViewMeta,
    kernel_form,
    meta_form,
)

SIN = Call(Attribute(Name("xp"), "sin"), (Name("self"),))


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("xp.sin(self)", InlineKernel(SIN)),
        ("(self)", InlineKernel(Name("self"))),
        ("add_sparse", NamedKernel("add_sparse")),
        ("__and__", NamedKernel("__and__")),
        ("lambda", NamedKernel("lambda")),
        ("at::native::add", NamedKernel("at::native::add")),
        ("pkg.kernels:axpy", PathKernel("pkg.kernels", "axpy")),
        ("kernels:axpy", PathKernel("kernels", "axpy")),
        ("native:axpy", NativeKernel("axpy")),
        ("raw:csrc/axpy.cu::axpy", RawKernel("csrc/axpy.cu", "axpy")),
        ("nvcc:axpy.cu::axpy", NvccKernel("axpy.cu", "axpy")),
    ],
)
def test_kernel_forms(text: str, form: KernelForm) -> None:
    assert kernel_form(text_of(text)) == form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("view", ViewMeta()),
        ("pkg.fakes:nonzero", PathMeta("pkg.fakes", "nonzero")),
        ("xp.sin(self)", MetaFormulas((SIN,))),
        ("(a, b)", MetaFormulas((Name("a"), Name("b")))),
        ("a, b", MetaFormulas((Name("a"), Name("b")))),
    ],
)
def test_meta_forms(text: str, form: MetaForm) -> None:
    assert meta_form(text_of(text)) == form


@pytest.mark.parametrize(
    "text",
    [
        "native:",
        "native:a b",
        "raw:axpy.cu",
        "raw:../x;y::f",
        "raw:axpy.cu::_axpy",
        "raw:axpy.cu::while",
        "nvcc:::f",
        "a:b:c",
        "pkg.lambda:f",
        "pkg:__init__",
        "a.b:",
        "",
    ],
)
def test_what_has_no_form(text: str) -> None:
    with pytest.raises(SchemaError):
        kernel_form(text_of(text))


def test_meta_of_no_output() -> None:
    with pytest.raises(SchemaError, match="a formula for each output"):
        meta_form(text_of("()"))
