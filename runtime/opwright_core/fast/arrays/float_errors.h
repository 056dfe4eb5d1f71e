/* The floating-point status flags, which loops set and callers read. */

#ifndef OPWRIGHT_FLOAT_ERRORS_H
#define OPWRIGHT_FLOAT_ERRORS_H

#include "fast/python_api.h"

#include <fenv.h>

/* What NumPy ignores by default is not reported by kernels of ours: powers underflow all the time. */
#define REPORTED_ERRORS (FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID)
#define FP_ERRORS (REPORTED_ERRORS | FE_UNDERFLOW)

/* Clear the flags; reading them first is faster, since they are mostly clear. */
static inline void forget_errors(void) {
    if (fetestexcept(FP_ERRORS)) {
        feclearexcept(FP_ERRORS);
    }
}

/* Whether a loop raised a division by zero, an overflow or an invalid operation since the flags were cleared. */
static inline int has_errors(void) {
    return fetestexcept(REPORTED_ERRORS) != 0;
}

/* float_errors.c */
int told_errors(int errors);
PyObject *call_in_silence(PyObject *function, PyObject *const *args, size_t flagged, PyObject *names);
void float_errors_ready(void);

#endif
