"""Sources of what values mean: an operator's declared reference, PyTorch, or another way in which it is computed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from opwright_core.dispatch.call.operator import Operator
from opwright_gate.other_ways import declared_in_package, other_way
from opwright_gate.references import Reference, declared_in_python

__all__ = ["named_reference", "reference_of", "torch_line", "use_torch"]

_FOUND: Final[dict[str, Reference | None]] = {}
_OTHER_WAYS: Final[dict[str, Reference | None]] = {}
_USED: Final[set[str]] = set()
_TORCH: Final = "torch"


def torch_line() -> str:
    """Return the line of Python that has PyTorch say what operators of its names mean. Raises ValueError where it is
    not installed."""
    if find_spec(_TORCH) is None:
        raise ValueError("--reference torch needs PyTorch, which is not installed: pip install torch")
    return "from opwright_gate.meanings import use_torch; use_torch()"


def use_torch() -> None:
    """Have PyTorch's operator of the same name say what an operator computes that nothing else is declared for."""
    import torch  # noqa: F401 (processes that are forked have it then)

    _USED.add(_TORCH)
    _FOUND.clear()


def named_reference(name: str) -> Reference | None:
    """Return what was declared for an operator: in Python, in its schema file, by `use_torch`; None where nothing
    was."""
    if (declared := declared_in_python(name)) is not None:
        return declared
    if name not in _FOUND:
        _FOUND[name] = declared_in_package(name) or (_of_torch(name) if _TORCH in _USED else None)
    return _FOUND[name]


def reference_of(operator: Operator, name: str) -> Reference | None:
    """Return what says the values of an operator: what was declared, or another way in which it computes them.

    `name` is that of the subject; one that stands for another framework's has no other ways."""
    found = named_reference(name)
    if found is not None or name != operator.name:
        return found
    if name not in _OTHER_WAYS:
        _OTHER_WAYS[name] = other_way(operator)
    return _OTHER_WAYS[name]


def _of_torch(name: str) -> Reference | None:
    from opwright_gate.torch_references import torch_reference

    return torch_reference(name)
