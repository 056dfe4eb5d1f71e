/* NumPy's headers, of which one file, loops.c, has the tables of functions. */

#ifndef OPWRIGHT_NUMPY_API_H
#define OPWRIGHT_NUMPY_API_H

#include "core.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL opwright_fast_arrays
#define PY_UFUNC_UNIQUE_SYMBOL opwright_fast_ufuncs
#ifndef HAS_NUMPY_API
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#endif
