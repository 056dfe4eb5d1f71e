"""`make_fx` by the path that PyTorch's documentation imports it from."""

from opwright.fx.making import make_fx
from opwright.fx.recording import ProxyTorchDispatchMode

__all__ = ["ProxyTorchDispatchMode", "make_fx"]
