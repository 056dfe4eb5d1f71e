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

/* Note [Owned references]
 *
 * A count of references says who else has an object only to an owner. Whoever owns one of `n` references that it knows
 * all of may read `n` and conclude that nobody else has the object: an interpreter frame that uses it holds a counted
 * reference in a variable, however the evaluation stack refers to it. The count of an argument says nothing: from
 * Python 3.14 on the caller's only reference may be a variable of its own. So every count in these files is read of an
 * object to which the reading function, or a structure that it alone has, owns the references counted. */

/* Return whether a reference that the caller owns is the only one to an object (Note [Owned references]). */
static inline int is_only_reference(PyObject *owned) {
#if PY_VERSION_HEX >= 0x030E0000
    return PyUnstable_Object_IsUniquelyReferenced(owned);
#else
    return Py_REFCNT(owned) == 1;
#endif
}

#endif
