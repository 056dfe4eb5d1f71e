"""The operators `fft_*` under the names that `torch.fft` has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.facade import missing_from
from opwright_aten.ops import fft_fft as fft
from opwright_aten.ops import fft_fft2 as fft2
from opwright_aten.ops import fft_fftfreq as fftfreq
from opwright_aten.ops import fft_fftn as fftn
from opwright_aten.ops import fft_fftshift as fftshift
from opwright_aten.ops import fft_hfft as hfft
from opwright_aten.ops import fft_hfft2 as hfft2
from opwright_aten.ops import fft_hfftn as hfftn
from opwright_aten.ops import fft_ifft as ifft
from opwright_aten.ops import fft_ifft2 as ifft2
from opwright_aten.ops import fft_ifftn as ifftn
from opwright_aten.ops import fft_ifftshift as ifftshift
from opwright_aten.ops import fft_ihfft as ihfft
from opwright_aten.ops import fft_ihfft2 as ihfft2
from opwright_aten.ops import fft_ihfftn as ihfftn
from opwright_aten.ops import fft_irfft as irfft
from opwright_aten.ops import fft_irfft2 as irfft2
from opwright_aten.ops import fft_irfftn as irfftn
from opwright_aten.ops import fft_rfft as rfft
from opwright_aten.ops import fft_rfft2 as rfft2
from opwright_aten.ops import fft_rfftfreq as rfftfreq
from opwright_aten.ops import fft_rfftn as rfftn

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

if not TYPE_CHECKING:  # who checks types knows the names
    __getattr__ = missing_from(__name__, __all__)
