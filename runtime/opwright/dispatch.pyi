from opwright_core.dispatch import *  # noqa: F403
from opwright_core.dispatch import Operator as Operator
from opwright_core.dispatch import Packet as Packet
from opwright_core.dispatch import Registration as Registration
from opwright_core.dispatch import find_operator as find_operator
