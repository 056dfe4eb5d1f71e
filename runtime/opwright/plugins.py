"""The core's plug-ins: `opwright_core.plugins`."""

from opwright_core.plugins import *  # noqa: F403
from opwright_core.plugins import __all__ as __all__
