"""`opwright.fake` under PyTorch's name."""

from opwright.fake import FakeTensor, FakeTensorMode, is_fake

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake"]
