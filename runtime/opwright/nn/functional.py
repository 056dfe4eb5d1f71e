"""The functions of neural networks, under PyTorch's names and with its arguments."""

from opwright.nn.activations import *  # noqa: F403
from opwright.nn.convolutions import *  # noqa: F403
from opwright.nn.distances import *  # noqa: F403
from opwright.nn.dropouts import *  # noqa: F403
from opwright.nn.layers import *  # noqa: F403
from opwright.nn.losses import *  # noqa: F403
from opwright.nn.losses_of_classes import *  # noqa: F403
from opwright.nn.normalization import *  # noqa: F403
from opwright.nn.operators import *  # noqa: F403
from opwright.nn.pooling import *  # noqa: F403
from opwright.nn.resizing import *  # noqa: F403
