"""For tests of operators: inputs drawn from a schema, and a comparison of tensors that says where they differ."""

from opwright.testing.closeness import assert_close
from opwright.testing.sampler import Sample, samples

__all__ = ["Sample", "assert_close", "samples"]
