/* The kernels in C that there are: the core's own, and those of extensions. */

#ifndef OPWRIGHT_KERNEL_SETS_H
#define OPWRIGHT_KERNEL_SETS_H

#include "kernel.h"

PyObject *add_kernels(PyObject *module, PyObject *capsule);
PyObject *make_runtime(void);
const CompiledKernel *find_kernel(const char *name);
PyObject *sum_over_first(PyObject *array, int kept);

/* compiled.c */
int compiled_ready(void);
const CompiledKernel *kernel_with(PyObject *function, int trait);
PyObject *call_kernel(const CompiledKernel *kernel, const KernelCall *call);

/* The core's own tables: of functions of `opwright`. */
extern const CompiledKernel cast_kernels[], twister_kernels[], few_draws_kernels[];

#endif
