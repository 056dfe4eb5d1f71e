"""Tensors without data: `FakeTensorMode`, whose tensors claim a real device, and what `device="meta"` stands on.

Loaded when the first such tensor is made.
"""

from opwright.errors import DataDependentOutputError, DynamicOutputShapeError, FakeKernelError
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
