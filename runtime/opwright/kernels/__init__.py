"""Kernels of ATen's operators: functions on arrays, for whichever array module they are given."""

import warnings

# PyTorch computes 1 / 0 and log(-1) without a word, and so do our kernels; NumPy's warnings stay on for everyone
# else. A filter by
# module costs nothing at a call, where `numpy.errstate` would cost more than a small addition.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"opwright(_aten)?(\.|$)")
