from opwright_core.rules import *  # noqa: F403
