"""The numbers by which Python and the compiled core agree on how calls are recorded and gradients computed.

The build writes them into `numbers.h` (`NUMBERS` of `opwright_build.py`).
"""

__all__ = [
    "SAVE_COUNT", "SAVE_OTHER", "SAVE_RESULT", "SAVE_SHAPE", "SAVE_STRIDES", "SAVE_TENSOR", "SAVE_VALUE",
    "STEP_APART", "STEP_CALL", "STEP_CONJ", "STEP_GIVEN", "STEP_GRAD", "STEP_SAME", "STEP_SAVED", "STEP_SWAPPED",
    "STEP_TURNED", "STEP_VALUE",
]  # fmt: skip

# The ways of saving a value, for fast/graph/saved_values.h.
SAVE_VALUE, SAVE_TENSOR, SAVE_RESULT, SAVE_OTHER, SAVE_SHAPE, SAVE_COUNT, SAVE_STRIDES = range(7)
# The steps of a gradient formula, for fast/graph/gradients.c.
STEP_GRAD, STEP_SAVED, STEP_VALUE, STEP_GIVEN, STEP_CONJ, STEP_CALL = range(6)
# How the gradient of a matrix relates to that of its view: products are added through views.
STEP_APART, STEP_SAME, STEP_TURNED, STEP_SWAPPED = range(4)
