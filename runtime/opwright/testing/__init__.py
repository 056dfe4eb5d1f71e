"""Tools for tests of operators: inputs drawn from a schema, the operators' contracts checked with them, and a
comparison of tensors that says where they differ."""

from opwright.errors import OpCheckError
from opwright.testing.checking import Failure, SchemaCheckMode, opcheck_all
from opwright.testing.closeness import assert_close
from opwright.testing.creation import make_tensor
from opwright.testing.sampler import Sample, samples

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
