"""The names of factories: operators that make tensors of sizes and numbers."""

from typing import Final

__all__ = ["FACTORIES"]

FACTORIES: Final = (
    "arange", "bartlett_window", "blackman_window", "empty", "empty_like", "empty_permuted", "empty_strided", "eye",
    "full", "full_like", "hamming_window", "hann_window", "kaiser_window", "linspace", "logspace", "normal", "ones",
    "ones_like", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm",
    "scalar_tensor", "tril_indices", "triu_indices", "zeros", "zeros_like",
)  # fmt: skip
