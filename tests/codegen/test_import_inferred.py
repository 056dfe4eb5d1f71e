"""Schemas that `read_cpp` infers from the annotations of Python functions and the signatures of C++ functions."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Optional, Union

import pytest

from opwright import Tensor
from opwright.library import infer_schema
from opwright_codegen.importing.cpp import read_cpp
from opwright_codegen.importing.found import Findings
from opwright_codegen.schema.model import FunctionSchema


def found(folder: Path, **files: str) -> Findings:
    paths = []
    for name, text in files.items():
        stem, _, ending = name.rpartition("_")
        paths.append(folder / f"{stem}.{ending}")
        paths[-1].write_text(textwrap.dedent(text), encoding="utf-8")
    return read_cpp(paths)


def schemas(findings: Findings) -> list[str]:
    return [str(FunctionSchema.parse(each.schema)) for each in findings.operators]


def problems(findings: Findings) -> list[str]:
    return [each.problem for each in findings.holes]


PYTHON = """\
from __future__ import annotations
import torch, typing, math
import torch as t
from typing import Annotated, List, Optional, Sequence, Tuple, Union
from torch import Tensor
from torch.library import custom_op as op
from vllm.utils import direct_register_custom_op
NS = "lib"
WIDTH: int = 4
Maybe = Optional[Tensor]
register = torch.library.custom_op

@torch.library.custom_op("lib::a", mutates_args=())
def f(x: torch.Tensor, n: int = 2) -> torch.Tensor: open("ran", "w")
@op(f"{NS}::b", mutates_args={"x"}, device_types="cuda")
def g(x: "Optional[Tensor]", y: list[t.Tensor] | None = None, *, e: float = -1e-5,
      d: torch.dtype = torch.half) -> None: ...
@register(NS + "::c", mutates_args="unknown")
def h(x: Tensor, y: typing.Optional[List[Tensor]], k: Union[int, float, bool] = 1) -> Tuple[Tensor, "Tensor"]: ...
@torch.library.triton_op("lib::d", mutates_args={})
def i(x: Maybe, s: Sequence[int] = (1, WIDTH), z: int = 2 * WIDTH, o: torch.device = "cpu") -> tuple[Tensor, ...]: ...
def j(x: Annotated[Tensor, "n m"], y: List[Optional[Tensor]], w: float = math.inf, b: bool = not_read(1)) -> Tensor: ...
def k(x: Tensor, a: str = "a\\"b", n: Optional[int] = None, m: int = None) -> List[Tensor]: ...
torch.library.custom_op("lib::e", k, mutates_args=())
torch.library.custom_op("lib::f", mutates_args=())(k)
direct_register_custom_op(op_name="g", op_func=k, mutates_args=["x"])
torch.library.define("lib::h", torch.library.infer_schema(k, mutates_args=()))
lib = torch.library.Library("own", "FRAGMENT")
lib.define("i" + torch.library.infer_schema(k, mutates_args=["x"]))
direct_register_custom_op("j", k, ["x"], target_lib=lib)
class Holder:
    def make(self):
        @torch.library.custom_op("lib::k", mutates_args=("x",), tags=(torch.Tag.inplace,))
        def nested(x: Tensor) -> Tensor: ...
@torch.library.custom_op("lib::l", mutates_args=())
def _(x: Tensor, y: b"?") -> Tensor: ...
"""
TAIL = '(Tensor x, str a="a\\"b", SymInt? n=None, SymInt? m=None) -> Tensor[]'
WRITES = TAIL.replace("Tensor x", "Tensor(a0!) x")


def test_annotations_are_schemas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    findings = found(tmp_path, ops_py=PYTHON)
    assert schemas(findings) == [
        "lib::a(Tensor x, SymInt n=2) -> Tensor",
        "lib::b(Tensor(a0!)? x, Tensor[]? y=None, *, float e=-1e-05, ScalarType d=float16) -> ()",
        "lib::c(Tensor(a0!) x, Tensor(a1!)[]? y, Scalar k=1) -> (Tensor, Tensor)",
        'lib::d(Tensor? x, SymInt[] s=[1, 4], SymInt z=8, Device o="cpu") -> Tensor[]',
        f"lib::e{TAIL}",
        f"lib::f{TAIL}",
        f"vllm::g{WRITES}",
        f"lib::h{TAIL}",
        f"own::i{WRITES}",
        f"own::j{WRITES}",
        "lib::k(Tensor(a0!) x) -> Tensor(a0!)",
    ]
    assert [each.dispatch for each in findings.operators][:2] == [{"CompositeExplicitAutograd": "f"}, {"CUDA": "g"}]
    assert [each.operator for each in findings.holes] == ["lib::l"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ("x", "the parameter 'x' has no annotation"),
        ("x: Tensor, *more: int", "no *args and no **kwargs"),
        ("x: dict[str, int]", "'dict[str, int]' of the parameter 'x' is no type of a schema"),
        ("x: tuple[int, int]", "'tuple[int, int]' of the parameter 'x' is no type of a schema"),
        ("x: Union[int, Tensor]", "'Union[int, Tensor]' of the parameter 'x' is no type of a schema"),
        ("n: int = size()", "the default of the parameter 'n' is computed"),
        ("n: int = 'a'", "the default of the parameter 'n' is no value of SymInt"),
        ("n: int", "mutates_args names x, which is no parameter"),
    ],
)
def test_what_annotations_do_not_say_is_a_hole_that_names_the_parameter(
    tmp_path: Path, parameters: str, problem: str
) -> None:
    written = "('x',)" if "mutates" in problem else "()"
    text = f"import torch\n@torch.library.custom_op('a::f', mutates_args={written})\ndef f({parameters}) -> None: ...\n"
    findings = found(tmp_path, ops_py=text)
    assert schemas(findings) == []
    assert [each for each in problems(findings) if problem in each]


def _one(x: Tensor, y: Tensor | None, n: int = 2, *, a: float = 0.5, s: str = "q") -> tuple[Tensor, Tensor]:
    raise NotImplementedError


def _two(x: list[Tensor], y: Optional[list[int]], k: Union[int, float, bool] = 1, b: bool = False) -> None:  # noqa: UP007, UP045
    raise NotImplementedError


def _three(x: Sequence[float], z: complex = 1j, t: Tensor | None = None, v: Sequence[int] = (1, 2)) -> list[Tensor]:
    raise NotImplementedError


@pytest.mark.parametrize(("function", "writes"), [(_one, ()), (_one, ("x",)), (_two, ()), (_two, ("x",)), (_three, ())])
def test_the_syntax_tree_says_what_the_loaded_function_says(
    tmp_path: Path, function: Callable[..., object], writes: tuple[str, ...]
) -> None:
    head = f"import torch\nfrom torch import Tensor\n@torch.library.custom_op('a::f', mutates_args={writes!r})\n"
    expected = FunctionSchema.parse(f"a::f{infer_schema(function, mutates_args=writes)}")
    assert schemas(found(tmp_path, ops_py=head + inspect.getsource(function))) == [str(expected)]


HEADER = """\
#pragma once
namespace mine {
at::Tensor declared(const at::Tensor& x, at::IntArrayRef size, const double eps = 1e-5);
struct Packed { static at::Tensor run(at::Tensor x, c10::List<int64_t> s); };
}
"""
SOURCE = """\
#include "ops.h"
using torch::Tensor;
API_MACRO torch::Tensor
scatter(torch::Tensor src, int64_t dim, std::optional<torch::Tensor> out, c10::optional<int64_t> size) {
  if (dim < 0) { return scatter(src, dim + 1, out, size); }
  auto x = scatter(src, 0, out, size);
  return x;
}
static std::tuple<Tensor, std::vector<Tensor>> several(const std::vector<Tensor>& xs, bool b, std::string s) noexcept {}
template <typename T> [[nodiscard]] auto trailing(const Tensor &x, const c10::Scalar& alpha) -> Tensor { return x; }
Tensor& written_(Tensor& x, const at::OptionalIntArrayRef dims);
void nothing(at::TensorList, std::array<bool, 3> mask, const c10::List<std::optional<Tensor>>& indices) {}
namespace inner { int64_t version() noexcept { return 1; } }
namespace mine { Tensor both(Tensor x); }
namespace yours { Tensor both(Tensor x, Tensor y); }

TORCH_LIBRARY(lib, m) {
  m.def("scatter", &scatter);
  m.def("several", several, {at::Tag::core});
  m.def("trailing", TORCH_FN(trailing));
  m.def("written_", &written_);
  m.def("nothing", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(::nothing)));
  m.def("declared", &mine::declared, "a text");
  m.def("run", &mine::Packed::run);
  m.def("both", &yours::both);
  m.def("cast", static_cast<Tensor (*)(const Tensor&, int64_t)>(&overloaded));
  m.def("anonymous", [](const Tensor& x, double p) -> std::pair<Tensor, Tensor> { return {x, x}; });
  m.def("version", [] { return inner::version(); });
}
TORCH_LIBRARY_IMPL(lib, CPU, m) { m.impl("only_here", &scatter); }
static auto old = torch::RegisterOperators()
    .op("old::f", &mine::both)
    .op("old::g", torch::RegisterOperators::options().kernel<decltype(several), &several>(c10::DispatchKey::CPU));
"""


def test_signatures_of_cpp_are_schemas(tmp_path: Path) -> None:
    findings = found(tmp_path, ops_cpp=SOURCE, ops_h=HEADER)
    scatter = "(Tensor src, int dim, Tensor? out, int? size) -> Tensor"
    assert schemas(findings) == [
        f"lib::scatter{scatter}",
        "lib::several(Tensor[] xs, bool b, str s) -> (Tensor, Tensor[])",
        "lib::trailing(Tensor x, Scalar alpha) -> Tensor",
        "lib::written_(Tensor(a0!) x, int[]? dims) -> Tensor(a0!)",
        "lib::nothing(Tensor[] _0, bool[3] mask, Tensor?[] indices) -> ()",
        "lib::declared(Tensor x, int[] size, float eps) -> Tensor",
        "lib::run(Tensor x, int[] s) -> Tensor",
        "lib::both(Tensor x, Tensor y) -> Tensor",
        "lib::cast(Tensor _0, int _1) -> Tensor",
        "lib::anonymous(Tensor x, float p) -> (Tensor, Tensor)",
        "lib::version() -> int",
        "old::f(Tensor x) -> Tensor",
        "old::g(Tensor[] xs, bool b, str s) -> (Tensor, Tensor[])",
        f"lib::only_here{scatter}",
    ]
    assert findings.operators[1].tags == ("core",)
    assert not [each for each in problems(findings) if "schema" in each and "kernel" not in each]
    assert not [each for each in problems(findings) if "nothing is registered" in each]


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ("", "no given file declares f"),
        ("Tensor f(Tensor x); Tensor f(Tensor x, int64_t n);", "f has several signatures"),
        ("Tensor f(Packed x);", "the parameter x has a type that no schema has: Packed"),
        ("c10::intrusive_ptr<P> f(Tensor x);", "its result has a type that no schema has: c10 :: intrusive_ptr < P >"),
        ("Tensor& f(Tensor& x, Tensor& y);", "it returns a reference, and which of its arguments"),
        ("void g() { Tensor y = f(x); f(x); return f(x); }", "no given file declares f"),
    ],
)
def test_what_a_signature_does_not_say_is_a_hole(tmp_path: Path, declared: str, problem: str) -> None:
    findings = found(tmp_path, ops_cpp=f'{declared}\nTORCH_LIBRARY(mine, m) {{ m.def("f", &f); }}\n')
    assert schemas(findings) == []
    ((operator, said),) = [(each.operator, each.problem) for each in findings.holes]
    assert operator == "mine::f" and said.startswith(f"its schema cannot be inferred from C++: {problem}")
