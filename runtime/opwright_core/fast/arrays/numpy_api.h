/* NumPy's headers. One file, module.c, has the tables of functions, and loads them; so this is the one file that may
 * include them: whoever includes one of them before the names below are defined gets a table of its own. */

#ifndef OPWRIGHT_NUMPY_API_H
#define OPWRIGHT_NUMPY_API_H

#include "fast/python_api.h"

#ifdef NPY_ABI_VERSION
#error "NumPy's headers are included by numpy_api.h alone"
#endif

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL opwright_fast_arrays
#define PY_UFUNC_UNIQUE_SYMBOL opwright_fast_ufuncs
#ifndef HAS_NUMPY_API
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <numpy/ufuncobject.h>

/* core_ufuncs.c */
PyObject *make_gufunc(PyObject *module, PyObject *args);

#endif
