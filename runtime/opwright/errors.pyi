from opwright_core.errors import *  # noqa: F403
