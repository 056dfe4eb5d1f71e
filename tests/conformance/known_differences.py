"""What PyTorch does and we do not, each with its reason; the oracle tests pass over these and over nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sampling import Sample


@dataclass(frozen=True)
class Known:
    """Operators (a pattern for their names), a pattern for `(arguments): problem`, and why the difference stays."""

    operators: str
    pattern: str
    reason: str

    def covers(self, name: str, text: str) -> bool:
        """Whether the text of a difference is of this kind."""
        return re.fullmatch(self.operators, name) is not None and re.search(self.pattern, text) is not None


KNOWN = (
    Known(".*", "ComplexHalf", "NumPy has no complex32: half with complex gives complex64"),
    Known("(add|sub|rsub)_?[.].*", "True.*Boolean alpha only", "1 == True, and the fast shims test alpha with =="),
    Known(
        "(add|sub)_?[.]Scalar.*",
        r"complex.*inf\): values",
        "PyTorch multiplies the infinite number by a complex alpha of 1: inf * 0 is NaN",
    ),
    Known(
        "clamp_?[.]Tensor.*",
        "bool.*clamp_cpu.*Bool",
        "bool is ordered, so clamping it is served, as with one bound it is in PyTorch",
    ),
    Known("prod.*", "bfloat16.*values", "PyTorch rounds partial products to bfloat16; ours are float32"),
    Known(
        "_?(log_)?softmax.*|randn_like",
        r"int64\[2, 0, 4\].*not " r"implemented for int64",
        "PyTorch refuses dtypes only where there are elements",
    ),
    Known(
        "index_put_?.*",
        "uint8.*masked_fill_ only supports boolean masks",
        "a uint8 mask serves for one value as it does for several",
    ),
    Known("cat.*", r"\(\[\]\): raises DispatchError", "an empty list has no tensor to dispatch on"),
    Known("nonzero|where", "shape, dtype, strides.*[(]0,", "strides of empty results"),
    Known(
        "stack", r"\[60, 1, 15, 3\].*strides", "PyTorch's serial stack keeps channels-last strides; ours is contiguous"
    ),
    Known("copy", r"\[48, 16, 2\].*strides", "PyTorch's copy keeps gaps between the elements; ours is dense"),
    Known(
        "arange.start_step", "2.5, 0.5, dtype=dtype.'int64'", "PyTorch truncates the step to the dtype first, to 0 here"
    ),
    Known("linspace", "'bool'", "PyTorch refuses bool only from two steps on"),
    Known(
        "linspace",
        "'uint8'.*(values|without overflow)",
        "PyTorch wraps each term around in uint8, and its steps with them",
    ),
    Known(
        "(add|sub|rsub)_?[.].*",
        r"bfloat16\[3\].*float32\[\].*values",
        "a 0-dim operand is rounded to bfloat16 in long arrays, not in short ones",
    ),
    Known(
        "_?log_softmax.*",
        "bfloat16.*-1.*values",
        "PyTorch rounds the sum of exponentials to bfloat16 along the last dimension",
    ),
    Known(
        "(baddbmm|addbmm)_?",
        "must have 3 dimensions.*Dimension out of range",
        "an operand of another rank is a RuntimeError whatever the rank",
    ),
    Known("addbmm", "bfloat16.*values", "PyTorch rounds to bfloat16 after each matrix; ours is one product in float32"),
    Known("kron", "view size is not compatible", "PyTorch views a product that is not contiguous; ours copies it"),
    Known("abs_", "In-place abs is not supported for complex", "the real result fits a complex tensor"),
    Known(
        "(fill|zero|masked_fill|random|normal|uniform|bernoulli)_.*",
        "more than one element of the written-to tensor",
        "we refuse writes to repeated elements",
    ),
    Known(
        "(add|sub|mul|div|floor_divide|fill)[.]Scalar_out|rsub[.].*_out|div.Scalar_mode_out|.*[.]Scalar_Tensor_out|(relu|isnan|copy|zero)[.]out"
        "|(index_put|uniform|random|normal)[.]out|fill.Tensor_out|random[.].*_out",
        "shape, dtype, strides",
        "PyTorch makes these from "
        "the functional "
        "operator and resizes "
        "`out` to "
        "row-major; ours has the "
        "functional's strides",
    ),
    Known(
        "(uniform|random|normal)[.].*out",
        "/.1, .*values",
        "PyTorch draws in the order of `self`, ours in that of `out`",
    ),
    Known("normal.out", "values", "PyTorch draws by the gaps of `self`, ours by those of `out`"),
    Known("(gelu|_softmax|_log_softmax)[.]out", "values", "PyTorch writes wrong values into an `out` with gaps"),
    Known(
        "random_?[.]to(_out)?",
        "float.*8589934592.*values",
        "PyTorch moves bounds beyond the mantissa to representable numbers",
    ),
)


def is_known(name: str, sample: Sample, problem: str) -> bool:
    """Whether a difference is one of KNOWN."""
    text = f"{sample}: {problem}"
    return any(known.covers(name, text) for known in KNOWN)
