/* What Opwright's core gives to the shims of packages, in a capsule: functions by their place. `size` says up to where
 * there are any, and new ones come behind the others; `version` changes where one of them does. Nothing else of the
 * core is seen by packages, and shims do without what they are not given. */
#ifndef OPWRIGHT_RUNTIME_H
#define OPWRIGHT_RUNTIME_H

#include <Python.h>
#include <stdint.h>

#define RUNTIME_NAME "opwright.Runtime"
#define RUNTIME_VERSION 1

struct opwright_runtime {
    size_t size;
    int version;
    /* Return a new row-major array of a dtype, by NumPy's number, not filled; NULL with an exception. */
    PyObject *(*new_array)(int type, int dims, const Py_ssize_t *shape);
    /* Have `work` compute units of a job, from the first number up to the second, in several threads at once where
     * there are two ranges of `grain` units at least, and threads that are free. Needs nothing of Python. */
    void (*run_ranges)(void (*work)(void *job, int64_t from, int64_t to), void *job, int64_t count, int64_t grain);
};

#endif
