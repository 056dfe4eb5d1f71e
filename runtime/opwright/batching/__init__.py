"""The package of `opwright.vmap`: the interpreter that computes many samples in one call, and its rules."""
