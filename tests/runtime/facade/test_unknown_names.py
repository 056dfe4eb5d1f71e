"""Modules asked for names that they do not have: an AttributeError, as pickle expects that asks all modules."""

from __future__ import annotations

import pickle
import sys
import types

import pytest

import opwright
import opwright.fake.array_module
import opwright.library
import opwright_core.abi


def test_every_module_says_attribute_error() -> None:
    """PyTorch pickles programs to find them in its cache; pickle looks for their functions in all modules."""
    raised = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0].startswith("opwright") and isinstance(module, types.ModuleType):
            try:
                assert not hasattr(module, "no_such_name"), name
            except Exception as error:  # all that fail are shown together
                raised[name] = error
    assert not raised


def test_functions_without_a_module_are_looked_for_in_all_modules() -> None:
    function = types.FunctionType((lambda: None).__code__, {}, "no_such_name")
    function.__module__ = None  # type: ignore[assignment]
    function.__qualname__ = "no_such_name"
    assert opwright.fake.array_module and opwright.library and opwright_core.abi
    with pytest.raises((pickle.PicklingError, AttributeError), match="no_such_name"):
        pickle.dumps(function)
