/* The kernels in C that there are: the core's own, and those of extensions, which Python adds when it loads them; and
 * what the core gives to the shims of packages. */

#include <opwright/runtime.h>

#include "fast/arrays/array_pool.h"
#include "fast_path.h"
#include "kernel_sets.h"
#include "fast/arrays/tensor.h"

/* The most extensions of kernels. */
#define MOST_SETS 8

static const CoreFunctions core_functions = {array_new, fast_path_arrays, wrap, run_ranges};

static const CompiledKernel *const own_tables[] = {cast_kernels, twister_kernels, few_draws_kernels, NULL};

/* Return a new row-major array of a dtype, not filled; NULL with an exception. */
static PyObject *new_array(int type, int dims, const Py_ssize_t *shape) {
    PyArray_Descr *dtype = PyArray_DescrFromType(type);
    return dtype == NULL ? NULL : array_new(dtype, dims, shape);
}

static const struct opwright_runtime runtime = {sizeof runtime, RUNTIME_VERSION, new_array, run_ranges};

/* Return a new capsule of what the core gives to the shims of packages; NULL with an exception. */
PyObject *make_runtime(void) {
    return PyCapsule_New((void *)&runtime, RUNTIME_NAME, NULL);
}

/* The sets that were added, each for ever. */
static const KernelSet *sets[MOST_SETS];
static int sets_count = 0;

/* Whether a set was added before. */
static int is_added(const KernelSet *set) {
    for (int i = 0; i < sets_count; i++) {
        if (sets[i] == set) {
            return 1;
        }
    }
    return 0;
}

/* add_kernels(capsule): take the kernels of an extension, and give it what it needs. Returns None; NULL with an
 * ImportError for a set of another version. */
PyObject *add_kernels(PyObject *module, PyObject *capsule) {
    (void)module;
    const KernelSet *set = PyCapsule_GetPointer(capsule, KERNEL_SET_NAME);
    if (set == NULL) {
        return NULL;
    }
    if (set->size != sizeof(KernelSet) || set->version != CORE_VERSION || (!is_added(set) && sets_count == MOST_SETS)) {
        PyErr_SetString(PyExc_ImportError, "the core takes other kernels: build both again");
        return NULL;
    }
    if (!is_added(set)) {
        *set->core = &core_functions;
        sets[sets_count++] = set;
    }
    Py_RETURN_NONE;
}

/* Return the kernel of a name in some tables, borrowed; NULL without an exception if there is none. */
static const CompiledKernel *find_in(const CompiledKernel *const *tables, const char *name) {
    for (; *tables != NULL; tables++) {
        for (const CompiledKernel *kernel = *tables; kernel->name != NULL; kernel++) {
            if (strcmp(kernel->name, name) == 0) {
                return kernel;
            }
        }
    }
    return NULL;
}

/* Return the kernel of a name, borrowed; NULL without an exception if there is none. */
const CompiledKernel *find_kernel(const char *name) {
    const CompiledKernel *found = find_in(own_tables, name);
    for (int i = 0; i < sets_count && found == NULL; i++) {
        found = find_in(sets[i]->tables, name);
    }
    return found;
}

/* Return the sums of a dense float array over the dimensions before the last `kept`, by the first extension that has
 * this: a new array; NULL without an exception if Python must compute it. */
PyObject *sum_over_first(PyObject *array, int kept) {
    return sets_count == 0 ? NULL : sets[0]->sum_over_first(array, kept);
}
