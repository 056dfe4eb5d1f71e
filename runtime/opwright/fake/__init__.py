"""Tensors without data: `FakeTensorMode`, whose tensors claim a real device, and what `device="meta"` stands on.

Loaded when the first such tensor is made.
"""

from typing import TYPE_CHECKING

from opwright.errors import DataDependentOutputError, DynamicOutputShapeError, FakeKernelError
from opwright_core.names.packages import names_of_parts

if TYPE_CHECKING:
    from opwright.fake.modes import FakeTensor, FakeTensorMode, is_fake, mode_of

__all__ = [
    "DataDependentOutputError",
    "DynamicOutputShapeError",
    "FakeKernelError",
    "FakeTensor",
    "FakeTensorMode",
    "is_fake",
    "mode_of",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of_parts(__name__, __all__, "modes")
