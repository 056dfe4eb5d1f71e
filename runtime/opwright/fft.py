"""The functions of `torch.fft`: operators `fft_*`."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from opwright.facade import missing_from as _missing_from
from opwright_aten.functions.fft import *  # noqa: F403
from opwright_aten.functions.fft import __all__ as __all__

if not _TYPE_CHECKING:  # type checkers know the names
    __getattr__ = _missing_from(__name__, __all__)
