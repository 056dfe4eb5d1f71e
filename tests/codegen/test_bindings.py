"""What a kernel or `meta` may not be for an operator: one error, with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright_codegen.declared.declare import declare
from opwright_codegen.declared.inputs import Inputs
from opwright_codegen.errors import SchemaError
from opwright_codegen.output.render import render
from opwright_codegen.source import Source

ROOT = Path(__file__).parents[2]
FUNC = "- func: demo::f(Tensor self) -> Tensor\n"
CPU = "  dispatch:\n    CPU: "

ERRORS = {
    "unknown-kernel": (
        FUNC + CPU + "reverze",
        "3:10: error: no kernel is called 'reverze' [unknown-kernel]",
    ),
    "unknown-name": (FUNC + CPU + "xp.sin(slef)", "3:17: error: demo::f has no 'slef' to use here [unknown-name]"),
    "unknown-rule": (
        FUNC + "  meta: pointwize(self)\n" + CPU + "xp.sin(self)",
        "2:9: error: demo::f has no 'pointwize' to use here [unknown-name]",
    ),
    "cuda-file": (
        FUNC + "  meta: like(self)\n  convention: elementwise\n  dtypes: int8\n  dispatch: {CUDA: 'raw:sin.cu::f'}",
        "5:21: error: there is no file 'sin.cu' [cuda-file]",
    ),
    "reference-form": (
        FUNC + "  reference: xp.cosh(self)\n" + CPU + "xp.cosh(self)",
        "2:14: error: 'xp.cosh(self)' is no reference [reference-form]",
    ),
    "reference-of-numpy": (
        FUNC + "  reference: numpy.cosch\n" + CPU + "xp.cosh(self)",
        "2:14: error: NumPy has no function 'cosch' that a reference may be [unknown-reference]",
    ),
    "reference-operator": (
        FUNC + "  reference: demo::g\n" + CPU + "xp.cosh(self)",
        "2:14: error: there is no operator 'demo::g' [unknown-reference]",
    ),
    "reference-itself": (
        FUNC + "  reference: demo::f\n" + CPU + "xp.cosh(self)",
        "2:14: error: demo::f is its own reference [reference-itself]",
    ),
    "reference-name": (
        FUNC + "  reference: coshh\n" + CPU + "xp.cosh(self)",
        "2:14: error: no kernel is called 'coshh' [unknown-kernel]",
    ),
    "reference-foreign": (
        FUNC + "  reference: os.system\n" + CPU + "xp.cosh(self)",
        "2:14: error: 'os' is no module of this project, and [tool.opwright] does not name it [foreign-module]",
    ),
    "meta-form": (FUNC + "  meta: self\n" + CPU + "xp.sin(self)", "2:9: error: 'meta' calls a rule [meta-form]"),
    "meta-count": (
        FUNC + "  meta: like(self), like(self)\n" + CPU + "xp.sin(self)",
        "2:9: error: demo::f has 1 outputs, and 'meta' 2 formulas [meta-count]",
    ),
    "backend-kernel": (
        FUNC + "  dispatch:\n    MPS: xp.sin(self)",
        "3:10: error: no kernel is generated for MPS [backend-kernel]",
    ),
    "meta-view": (
        "- func: demo::f_(Tensor(a!) self) -> Tensor(a!)\n  meta: view\n" + CPU + "self.T",
        "2:9: error: demo::f_ is no view: it has no tensor that it only reads [meta-view]",
    ),
    "meta-kind": (
        "- func: demo::f(Tensor(a!) self) -> ()\n  meta: like(self)\n" + CPU + "xp.sin(self)",
        "2:9: error: 'meta' says what results look like, and demo::f returns none that it writes [meta-kind]",
    ),
    "meta-kind-of-numbers": (
        "- func: demo::f(Tensor self) -> int\n  meta: like(self)\n" + CPU + "xp.size(self)",
        "2:9: error: 'meta' says what tensors look like, and demo::f returns int [meta-kind]",
    ),
    "autogen-composite": (
        "- func: demo::f(Tensor(a) self) -> Tensor(a)\n  autogen: f.out\n" + CPU + "self.T",
        "2:12: error: demo::f: 'autogen' makes no f.out: it is a view, or has no 'dispatch' [autogen-composite]",
    ),
}
NATIVE = "\n  convention: contiguous\n  dtypes: float32\n"
ERRORS |= {
    "native-key": (
        FUNC + "  dispatch:\n    CUDA: native:f" + NATIVE,
        "3:11: error: a C kernel serves CPU, not CUDA [native-key]",
    ),
    "native-meta": (
        FUNC + CPU + "native:f" + NATIVE,
        "3:10: error: demo::f has no 'meta' by which the C kernel's results could be allocated [native-meta]",
    ),
    "native-dtype-of": (
        FUNC + "  meta: like(self)\n" + CPU + "native:f" + NATIVE + "  dtype_of: {slef: int64}",
        "7:14: error: demo::f has no Tensor 'slef' among arguments and results [native-dtype-of]",
    ),
    "native-no-dtype": (
        FUNC + "  meta: like(self)\n" + CPU + "native:f" + NATIVE + "  dtype_of: {self: int64}",
        "4:10: error: demo::f takes no Tensor, whose dtype would say which C function is called [native-argument]",
    ),
    "native-list": (
        "- func: demo::f(Tensor self, Tensor[] others) -> Tensor\n  meta: like(self)\n" + CPU + "native:f" + NATIVE,
        "4:10: error: demo::f: 'others' is a Tensor[], which C kernels do not take [native-argument]",
    ),
    "native-device": (
        "- func: demo::f_(Tensor(a!) self, Device? where) -> Tensor(a!)\n" + CPU + "native:f" + NATIVE,
        "3:10: error: demo::f_: 'where' is a Device?, which C kernels do not take [native-argument]",
    ),
    "native-results": (
        "- func: demo::f(Tensor self, Tensor(a!) seen) -> Tensor\n" + CPU + "native:f" + NATIVE,
        "3:10: error: demo::f writes arguments and returns something new, and a C function does one of the two "
        "[native-results]",
    ),
}


@pytest.mark.parametrize("text, message", ERRORS.values(), ids=ERRORS)
def test_errors_say_what_and_where(text: str, message: str) -> None:
    inputs = Inputs(ROOT, (), namespace="aten", kernels=("opwright_kernels",), rules=("opwright.rules",))
    with pytest.raises(SchemaError) as raised:
        declare(inputs, [Source("ops.yaml", text)])
    assert str(raised.value).split("\n")[0] == f"ops.yaml:{message}"


def test_an_unknown_kernel_stays_unbound_where_that_is_allowed() -> None:
    inputs = Inputs(ROOT, (), namespace="aten", strict=False)
    (declared,) = declare(inputs, [Source("ops.yaml", FUNC + CPU + "sin_cpu")]).values()
    found = render(declared)
    assert '("f", "f", ("CPU", "", "sin_cpu", "", ""))' in found["register.py"]
