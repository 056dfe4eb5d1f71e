"""`opwright.dispatch.PythonDispatcher`: tables from keys alone."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Maker

from opwright import dispatch
from opwright.errors import RegistrationError
from opwright.registering.kernels import register


def rows(text: str) -> dict[str, str]:
    """The lines below the rule, which are aligned under the heading's two words."""
    _, heading, rule, *lines = text.splitlines()
    column = heading.index("kernel")
    assert rule == "-" * len(heading)
    assert all(line[column - 1] == " " != line[column] for line in lines)
    return {line[:column].rstrip(): line[column:] for line in lines}


def test_shows_registrations_and_the_table_they_give() -> None:
    calculator = dispatch.PythonDispatcher()
    calculator.register(["CPU", "CUDA", "Autograd", "CompositeImplicitAutograd"])
    assert rows(calculator.registrations()) == {
        "CPU": "fn_CPU",
        "CUDA": "fn_CUDA",
        "Autograd[alias]": "fn_Autograd",
        "CompositeImplicitAutograd[alias]": "fn_CompositeImplicitAutograd",
    }
    table = rows(calculator.dispatchTable())
    assert table["CPU"] == "fn_CPU [kernel]"
    assert table["Meta"] == "fn_CompositeImplicitAutograd [math kernel]"
    assert table["AutogradCPU"] == "fn_Autograd [autograd kernel]"
    assert table["AutogradMeta"] == "fn_CompositeImplicitAutograd [math kernel]"
    assert table["Batched"] == "missing [missing]"


@pytest.mark.parametrize(
    "keys",
    [
        [],
        ["CPU"],
        ["Autograd"],
        ["CompositeExplicitAutograd", "CompositeImplicitAutograd"],
        ["FPGA", "CompositeImplicitAutograd"],
        ["FPGA", "CompositeImplicitAutograd", "AutogradOther"],
        ["CPU", "CompositeExplicitAutogradNonFunctional"],
    ],
)
def test_it_is_the_table_of_an_operator(keys: list[str], define: Maker) -> None:
    operator = define("f(Tensor x) -> Tensor")
    for key in keys:
        register(operator, key, lambda x: x, where=f"fn_{key}")
    calculator = dispatch.PythonDispatcher()
    calculator.register(keys)
    shown = rows(calculator.dispatchTable())
    for name, entry in dispatch.table(operator).items():
        kernel = "fallthrough" if entry.rule == "backend fallback" else entry.where or entry.rule.replace(" ", "_")
        assert shown[name] == f"{kernel} [{entry.rule}]"


def test_nothing_registered_leaves_the_fallbacks() -> None:
    table = rows(dispatch.PythonDispatcher().dispatchTable())
    assert set(table.values()) == {"fallthrough [backend fallback]", "missing [missing]"}
    assert rows(dispatch.PythonDispatcher().registrations()) == {}


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        (["CPU", "CUDA", "CPU"], "the dispatch key CPU is given twice"),
        (["CPPU"], "could not parse dispatch key 'CPPU'; the keys are .*CPU, CUDA"),
        (["Undefined"], "use CompositeExplicitAutograd"),
        ("CPU", r"a list of dispatch keys: write \['CPU'\]"),
        ([3], "could not parse dispatch key 3"),
    ],
)
def test_keys_it_refuses(keys: Any, problem: str) -> None:
    calculator = dispatch.PythonDispatcher()
    calculator.register(["Meta"])
    with pytest.raises(RegistrationError, match=problem):
        calculator.register(keys)
    assert list(rows(calculator.registrations())) == ["Meta"]
