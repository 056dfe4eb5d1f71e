"""The functions that are operators as they stand, as they are in PyTorch."""

from opwright_aten.ops import adaptive_avg_pool1d as adaptive_avg_pool1d
from opwright_aten.ops import avg_pool1d as avg_pool1d
from opwright_aten.ops import avg_pool2d as avg_pool2d
from opwright_aten.ops import avg_pool3d as avg_pool3d
from opwright_aten.ops import channel_shuffle as channel_shuffle
from opwright_aten.ops import conv1d as conv1d
from opwright_aten.ops import conv2d as conv2d
from opwright_aten.ops import conv3d as conv3d
from opwright_aten.ops import conv_transpose1d as conv_transpose1d
from opwright_aten.ops import conv_transpose2d as conv_transpose2d
from opwright_aten.ops import conv_transpose3d as conv_transpose3d
from opwright_aten.ops import gelu as gelu
from opwright_aten.ops import hardshrink as hardshrink
from opwright_aten.ops import linear as linear
from opwright_aten.ops import log_sigmoid as logsigmoid
from opwright_aten.ops import one_hot as one_hot
from opwright_aten.ops import pdist as pdist
from opwright_aten.ops import pixel_shuffle as pixel_shuffle
from opwright_aten.ops import pixel_unshuffle as pixel_unshuffle
from opwright_aten.ops import prelu as prelu
from opwright_aten.ops import softplus as softplus
from opwright_aten.ops import softshrink as softshrink

__all__ = [
    "adaptive_avg_pool1d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "gelu",
    "hardshrink",
    "linear",
    "logsigmoid",
    "one_hot",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "prelu",
    "softplus",
    "softshrink",
]
