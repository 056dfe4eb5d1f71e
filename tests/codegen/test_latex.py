"""Formulas in LaTeX: each notation, and every formula of ATen that is set, read back."""

from __future__ import annotations

import math
import re
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
import seeds

import opwright
from opwright_codegen.commands.config import find_config
from opwright_codegen.commands.job import job_of
from opwright_codegen.declared.declare import declare
from opwright_codegen.derivatives.derivative import Derivative
from opwright_codegen.formula.ast import Kind, Reference
from opwright_codegen.reference.definitions import DEFINITIONS, expanded
from opwright_codegen.reference.latex import latex
from opwright_codegen.reference.mathematics import formula_of, shown_formula
from opwright_kernels.gradients import linear_algebra, pointwise, shortcuts

pytestmark = pytest.mark.once  # neither mode matters

ROOT = Path(__file__).parents[2]
GRAD, X, Y = r"\mathit{grad}", r"\mathit{x}", r"\mathit{y}"
SET = {
    "x - (y + 1)": rf"{X} - \left({Y} + 1\right)",
    "x - y + 1": rf"{X} - {Y} + 1",
    "x + -y": rf"{X} - {Y}",
    "x * -y": rf"{X} \cdot \left(-{Y}\right)",
    "grad * (-x * y)": rf"{GRAD} \cdot \left(-{X} \cdot {Y}\right)",
    "-(x + y)": rf"-\left({X} + {Y}\right)",
    "(-x) ** 2": rf"\left(-{X}\right)^{{2}}",
    "-x ** 2": rf"-{X}^{{2}}",
    "x / y / 2": rf"\frac{{\frac{{{X}}}{{{Y}}}}}{{2}}",
    "x ** y ** 2": rf"{X}^{{{Y}^{{2}}}}",
    "(x ** y) ** 2": rf"\left({X}^{{{Y}}}\right)^{{2}}",
    "x.sin() ** 2": rf"\left(\sin\left({X}\right)\right)^{{2}}",
    "x.rsqrt() ** 2": rf"\left(\frac{{1}}{{\sqrt{{{X}}}}}\right)^{{2}}",
    "(x * x).log1p()": rf"\ln\left(1 + {X}^{{2}}\right)",
    "log1p(x - y)": rf"\ln\left(1 + \left({X} - {Y}\right)\right)",
    "x ** 0.5 * 0.6931471805599453": rf"\sqrt{{{X}}} \cdot \ln 2",
    "x * 1e-05": rf"{X} \cdot 1 \cdot 10^{{-5}}",
    "where(x > 0, grad, 0)": rf"\begin{{cases}} {GRAD} & \text{{if }} {X} > 0 \\ 0 & \text{{otherwise}} \end{{cases}}",
    "grad * (x if y == 1 else 2)": (
        rf"{GRAD} \cdot \left(\begin{{cases}} {X} & \text{{if }} {Y} = 1 \\ 2 & \text{{otherwise}} \end{{cases}}\right)"
    ),
    "x.mm(y.mH)": rf"{X}\,{Y}^{{\mathsf{{H}}}}",
    "(x + y) @ grad.t()": rf"\left({X} + {Y}\right)\,{GRAD}^{{\mathsf{{T}}}}",
    "grads[0] * x.shape[1]": r"\mathit{grads}_{0} \cdot \left(\operatorname{shape}\left(\mathit{x}\right)\right)_{1}",
    "where(x > 0, grad, where(y > 0, x, 0))": (
        rf"\begin{{cases}} {GRAD} & \text{{if }} {X} > 0 \\ {X} & \text{{if }} {Y} > 0 \\ "
        r"0 & \text{otherwise} \end{cases}"
    ),
    "x * (x * y).sum(dim, keepdim)": rf"{X} \cdot \left(\sum_{{\mathit{{dim}}}} {X} \cdot {Y}\right)",
    "-grad * div(x, y, rounding_mode='floor')": (rf"-{GRAD} \cdot \left\lfloor \frac{{{X}}}{{{Y}}} \right\rfloor"),
    "x.to(dtype) / y.clone()": rf"\frac{{{X}}}{{{Y}}}",
    "grad * other_function(x, dim=1)": (
        rf"{GRAD} \cdot \operatorname{{other\_function}}\left({X}, \mathit{{dim}}=1\right)"
    ),
    "(x < y) & (y <= 1)": rf"\left({X} < {Y}\right) \wedge \left({Y} \le 1\right)",
    # What would be said for certain by nothing but its text.
    "other_function(grad, x)": None,
    "x & y": None,
    "grad * x[1:]": None,
    "grad * stack([x, y])": None,
    "grad * other_function(x, 'mean')": None,
}


def test_notations() -> None:
    found = {}
    for text in SET:
        formula = formula_of(text)
        assert formula is not None, text
        found[text] = latex(formula)
    assert found == SET


def test_what_is_not_set_is_code_and_mathml_is_made() -> None:
    pytest.importorskip("latex2mathml")
    text = "pointwise_gradients.angle_backward(grad,\n  self)"
    assert shown_formula(["self"], formula_of(text), text, "latex") == (
        "```python\nself: angle_backward(grad, self)\n```"
    )
    assert formula_of("lambda x: x") is None
    set_ = shown_formula(["x"], formula_of("grad / x"), "grad / x", "latex")
    assert set_ == f"```math\n\\nabla {X} = \\frac{{{GRAD}}}{{{X}}}\n```"
    moved = shown_formula(["out"], Reference(Kind.TANGENT, "x_t"), "x_t", "latex", is_tangent=True)
    assert moved == "```math\n\\mathrm{d}\\,\\mathit{out} = \\mathrm{d}\\,\\mathit{x}\n```"
    found = shown_formula(["x"], formula_of("grad / x"), "grad / x", "mathml")
    assert "<mfrac>" in found and "<mi>grad</mi>" in found
    conjugated = shown_formula(["x"], formula_of("grad * (x - grad.conj()).conj()"), "", "mathml")
    assert conjugated.count("border-top") == 2 and conjugated.count("<mrow") == conjugated.count("</mrow>")


@cache
def derivatives() -> tuple[tuple[str, Derivative], ...]:
    (declared,) = declare(job_of(find_config(ROOT)), binds=False).values()
    found = declared.derivatives
    assert found is not None
    entries = [(name, entry) for name, by_key in found.entries.items() for entry in by_key.values()]
    by_text = {each.text.text: (name, each) for name, entry in entries for each in entry.derivatives}
    return tuple(by_text.values())


WORDS = {
    r"\left(": "(", r"\right)": ")", r"\left|": "abs(", r"\right|": ")", r"\cdot": "*", r"\pi": "pi",
    r"\ln 2": "log(2)",
    r"\ln 10": "log(10)", r"\ln\Gamma": "lgamma", r"\ln": "log", r"\log_2": "log2", r"\log_{10}": "log10",
    r"\psi(": "digamma(", r"\_": "_", r"\operatorname{Re}": "real", r"\operatorname{Im}": "imag",
}  # fmt: skip
BRACES = {
    r"\frac": "(({})/({}))",
    r"\sqrt": "({})**0.5",
    r"\overline": "({})",
    r"\mathit": "{}",
    r"\operatorname": "{}",
    "^": "**({})",
}


def read_back(text: str) -> str:
    """LaTeX to Python: words, and what takes groups in braces."""
    for word, python in WORDS.items():
        text = text.replace(word, python)
    while found := re.search(r"\\frac|\\sqrt|\\overline|\\mathit|\\operatorname|\^", text):
        before, rest, groups = text[: found.start()], text[found.end() :], []
        for _ in range(BRACES[found[0]].count("{}")):
            depth = [0]
            depth += accumulate({"{": 1, "}": -1}.get(letter, 0) for letter in rest)
            end = depth.index(0, 1)
            groups.append(rest[1 : end - 1])
            rest = rest[end:]
        text = before + BRACES[found[0]].format(*groups) + rest
    return re.sub(r"\\([a-z]+)", r"\1", text).replace("{", "(").replace("}", ")")


class Known(dict[str, Any]):
    """Names of a formula: what is given, else functions of ours."""

    def __missing__(self, name: str) -> Any:
        return getattr(opwright, name)


def log(x: Any) -> Any:
    return math.log(x) if isinstance(x, int) else x.log()


def test_formulas_of_aten_are_read_back_as_they_were() -> None:
    """At drawn numbers a formula and what its notation says are the same, by Python's own precedence."""
    drawn, compared = seeds.generator(0), 0
    known = Known(e=opwright.tensor(math.e, dtype=opwright.float64), pi=math.pi, log=log)
    for name, each in derivatives():
        found = None if each.formula is None or len(each.inputs) != 1 else latex(each.formula)
        if found is None or re.search(
            r"begin|mathsf|text|psi\^|grads|shape|sum|floor|trunc|\\,|^\\operatorname", found
        ):
            continue
        names = set(re.findall(r"\\mathit\{(\w+)\}", found.replace(r"\_", "_")))
        values = {part: opwright.tensor(drawn.uniform(0.1, 0.9), dtype=opwright.float64) for part in sorted(names)}
        known.update(values)
        try:
            wanted = float(eval(each.text.text, {}, known))
        except (AttributeError, IndexError, RuntimeError):
            continue  # a function that only gradients have, or complex numbers
        given = float(eval(read_back(found), {}, known))
        assert given == pytest.approx(wanted, rel=1e-9), (name, each.text.text, found)
        compared += 1
    assert compared >= 40


def function_of(name: str) -> Any:
    """The function that formulas of ATen call by a name."""
    modules = (pointwise, linear_algebra, shortcuts, opwright.ops.aten)
    return next(getattr(module, name) for module in modules if hasattr(module, name))


def test_definitions_are_what_functions_compute() -> None:
    """What pages show in place of a function gives what the function gives, half of the numbers beyond any limit."""
    drawn = seeds.generator(1)
    numbers = {"low": -0.5, "high": 0.6, "threshold": 0.2, "lambd": 0.4, "slope": 0.1, "beta": 2.0, "dim": 1}
    left_out = {
        "first_factor_gradient": (3, 1), "second_factor_gradient": (3, 1), "real_part_for": opwright.float64,
        "on_device": opwright.device("cpu"), "leaky_relu_backward": False,
    }  # fmt: skip
    for name, (words, text) in DEFINITIONS.items():
        given: dict[str, Any] = {}
        for word in words.split():
            parameter = word.partition("=")[0]
            value = opwright.tensor(
                [[drawn.uniform(-4, 4) for _ in range(3)] for _ in range(3)], dtype=opwright.float64
            )
            given[parameter] = numbers.get(parameter, value)
        for parameter, mask in (("loses", "<"), ("wins", ">")):
            if parameter in given:
                given["other"][0] = given["self"][0]
                given[parameter] = given["self"] < given["other"] if mask == "<" else given["self"] > given["other"]
        if name == "pow_self_backward":
            given |= {"self": given["self"].abs(), "exponent": opwright.tensor([0.0, 2.0, 0.5], dtype=opwright.float64)}
        if name in ("softplus_backward", "gradient_of_log_softmax", "gradient_of_softmax"):
            given |= {word: value.abs() / 8 for word, value in given.items() if word in ("result", "grad")}
        if "_" in given:
            given["_"] = opwright.exp(-given["self"].abs()) if name == "log_sigmoid_backward" else left_out[name]
        if "batch" in name:
            given = {parameter: value[None] for parameter, value in given.items()}
        if "alpha" in given:
            given["alpha"] = 3
        wanted = function_of(name)(*given.values())
        found = eval(text.replace(".sum(dim)", ".sum(dim, True)"), {}, Known(given))
        assert opwright.allclose(wanted, found, rtol=1e-6), name


def test_definitions_stand_for_calls_with_as_many_arguments() -> None:
    shown = {
        "real_part_for(dtype, tanh_backward(grad, x))": "grad * (1 - x ** 2).conj()",
        "first_batch_gradient(grad, x)": "1 * (grad @ x.mH)",
        "tanh_backward(grad)": "tanh_backward(grad)",
        "tanh_backward(grad, x, y)": "tanh_backward(grad, x, y)",
    }
    for text, wanted in shown.items():
        formula = formula_of(text)
        assert formula is not None and expanded(formula) == formula_of(wanted), text
