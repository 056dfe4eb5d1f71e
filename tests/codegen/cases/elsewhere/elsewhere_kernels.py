"""Functions whose parameters are read, and which nobody calls."""

import no_such_module

no_such_module.would_run()


def axpy(n, x, y, alpha, out): ...


@no_such_module.jit
def axpy_on_device(x, y, out, alpha, n, BLOCK, STAGES, later=None): ...


def of_arrays(self, n): ...


@no_such_module.jit
def scale(self, self_shape0, self_stride1, mask, by, BLOCK): ...
