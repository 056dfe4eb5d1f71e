"""Trees of values under PyTorch's name: what `opwright.pytree` has."""

from opwright.pytree import *  # noqa: F403
from opwright.pytree import __all__ as __all__
