/* Python's headers, and the macros of C that all files have. */

#ifndef OPWRIGHT_PYTHON_API_H
#define OPWRIGHT_PYTHON_API_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <structmember.h>

#ifdef Py_GIL_DISABLED
#error "opwright_core._fast relies on the GIL: free-threaded builds run the Python"
#endif

#endif
