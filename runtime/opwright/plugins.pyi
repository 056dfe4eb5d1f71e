from opwright_core.plugins import *  # noqa: F403
