"""Tools for tests of operators: inputs drawn from a schema, the operators' contracts checked with them, and a
comparison of tensors that says where they differ."""

from typing import TYPE_CHECKING, Any

from opwright.errors import OpCheckError
from opwright.names.late_bound import late_bound
from opwright.names.optional_packages import require
from opwright.testing.closeness import assert_close
from opwright.testing.creation import make_tensor
from opwright.testing.sampler import Sample, samples
from opwright_core.names.late_imports import import_late
from opwright_core.names.missing import missing_attribute

if TYPE_CHECKING:
    from opwright_gate.checking import Failure, SchemaCheckMode, opcheck_all

__all__ = [
    "Failure",
    "OpCheckError",
    "Sample",
    "SchemaCheckMode",
    "assert_close",
    "make_tensor",
    "opcheck_all",
    "samples",
]

late_bound.tools().load_whole()  # ATen's operators are known to whoever lists operators or draws for one by name


def __getattr__(name: str) -> Any:
    """Return a name of the gate. Raises ExtraMissing if it is not installed."""
    if name not in __all__:
        raise missing_attribute(f"module {__name__!r} has no attribute {name!r}", name, __all__)
    require("opwright_gate")
    return getattr(import_late("opwright_gate.checking"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
