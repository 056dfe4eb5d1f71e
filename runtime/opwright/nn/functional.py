"""Functions of neural networks with the names and signatures of `torch.nn.functional`."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from opwright.facade import missing_from as _missing_from
from opwright.nn.activations import *  # noqa: F403
from opwright.nn.attention import *  # noqa: F403
from opwright.nn.dropouts import *  # noqa: F403
from opwright.nn.embeddings import *  # noqa: F403
from opwright.nn.losses import *  # noqa: F403
from opwright.nn.losses_of_classes import *  # noqa: F403
from opwright.nn.normalization import *  # noqa: F403
from opwright.nn.pooling import *  # noqa: F403
from opwright.nn.resizing import *  # noqa: F403
from opwright.nn.sampling import *  # noqa: F403
from opwright.nn.unpooling import *  # noqa: F403
from opwright_aten.functions.nn import *  # noqa: F403

if not _TYPE_CHECKING:  # type checkers know the names
    __getattr__ = _missing_from(__name__, [name for name in globals() if not name.startswith("_")])
