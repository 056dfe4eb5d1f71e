/* Special functions, and orthogonal polynomials. */

#include "pointwise.h"

#include "bessel.h"
#include "incomplete_gamma.h"
#include "orthogonal.h"
#include "special_f32.h"
#include "special_f64.h"

#include <float.h>

#define log_1p_f32 log1pf
#define log_1p_f64 log1p

/* Return sin(x) / x: 1 at 0, NaN at the infinities. */
ELEMENT float sine_over_f32(float x) {
    return x == 0 ? 1 : sinf(x) / x;
}

/* Return sin(x) / x in double precision. */
ELEMENT double sine_over_f64(double x) {
    return x == 0 ? 1 : sin(x) / x;
}

#define REAL float
#define LARGEST FLT_MAX
#define OF(NAME) NAME##_f32
#include "pointwise_elements.h"
#include "orthogonal_elements.h"
#include "special_loops.h"
#undef REAL
#undef LARGEST
#undef OF

#define REAL double
#define LARGEST DBL_MAX
#define OF(NAME) NAME##_f64
#include "pointwise_elements.h"
#include "orthogonal_elements.h"
#include "special_loops.h"
#undef REAL
#undef LARGEST
#undef OF

OF_ARRAYS(erf, 1, 0)
OF_ARRAYS(erfc, 1, 0)
OF_ARRAYS(entr, 1, 0)
WATCHED(erfinv, 1)
OF_ARRAYS(lgamma, 1, 0)
OF_ARRAYS(digamma, 1, 0)
OF_ARRAYS(erfcx, 1, 0)
OF_ARRAYS(log_ndtr, 1, 0)
OF_ARRAYS(ndtri, 1, 0)
OF_ARRAYS(airy_ai, 1, 0)
OF_ARRAYS(bessel_j0, 1, 0)
OF_ARRAYS(bessel_j1, 1, 0)
OF_ARRAYS(bessel_y0, 1, 0)
OF_ARRAYS(bessel_y1, 1, 0)
OF_ARRAYS(i0, 1, 0)
OF_ARRAYS(i0e, 1, 0)
OF_ARRAYS(i1, 1, 0)
OF_ARRAYS(i1e, 1, 0)
OF_ARRAYS(modified_bessel_k0, 1, 0)
OF_ARRAYS(modified_bessel_k1, 1, 0)
OF_ARRAYS(scaled_modified_bessel_k0, 1, 0)
OF_ARRAYS(scaled_modified_bessel_k1, 1, 0)
OF_ARRAYS(zeta, 2, 0)
OF_ARRAYS(trigamma, 1, 0)
OF_ARRAYS(igamma, 2, 0)
OF_ARRAYS(igammac, 2, 0)
OF_ARRAYS(sigmoid, 1, 0)
WATCHED(xlogy, 2)
WATCHED(xlog1py, 2)
OF_ARRAYS(sinc, 1, 0)
OF_ARRAYS(spherical_bessel_j0, 1, 0)
OF_ARRAYS(logaddexp, 2, 0)
static const Elementwise logit_how = {1, 1, 1, 1, BOTH(logit)};

#define POLYNOMIALS(EACH) \
    EACH(chebyshev_polynomial_t) EACH(chebyshev_polynomial_u) EACH(chebyshev_polynomial_v) \
    EACH(chebyshev_polynomial_w) EACH(shifted_chebyshev_polynomial_t) EACH(shifted_chebyshev_polynomial_u) \
    EACH(shifted_chebyshev_polynomial_v) EACH(shifted_chebyshev_polynomial_w) EACH(hermite_polynomial_h) \
    EACH(hermite_polynomial_he) EACH(laguerre_polynomial_l) EACH(legendre_polynomial_p)
#define POLYNOMIAL_HOW(NAME) OF_ARRAYS(NAME, 2, 0)
#define POLYNOMIAL_ROW(NAME) {#NAME, handle_elementwise, &NAME##_how, 0},
POLYNOMIALS(POLYNOMIAL_HOW)

/* Whether an operand is a float array of more than BLOCK elements, for which NumPy's powers, sines and logarithms are
 * faster. */
static int is_long(PyObject *object) {
    return (is_array_of(object, NPY_FLOAT) || is_array_of(object, NPY_DOUBLE)) && count_of((Array *)object) > BLOCK;
}

/* zeta(self, other), xlog1py, sinc. Returns as `handle_elementwise`; NULL without an exception, too, for long operands.
 */
static PyObject *handle_short(const CompiledKernel *kernel, const KernelCall *call) {
    for (int i = 0; i < 2 && i < call->count; i++) {
        if (is_long(call->args[i])) {
            return NULL;
        }
    }
    return handle_elementwise(kernel, call);
}

/* polygamma(n, self, out=None) for an n of 1: trigamma. Returns as `handle_elementwise`; NULL without an exception,
 * too, for another n and for a long operand. */
static PyObject *handle_polygamma(const CompiledKernel *kernel, const KernelCall *call) {
    ElementwiseJob job = {0};
    if (call->count < 2 || call->count > 3 || !PyLong_CheckExact(call->args[0]) ||
        PyLong_AsLongLong(call->args[0]) != 1 || is_long(call->args[1])) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *out = call->count == 3 && call->args[2] != Py_None ? call->args[2] : call->out;
    return run_elementwise(kernel->how, call->args + 1, out, &job);
}

const CompiledKernel special_kernels[] = {
    {"erf", handle_elementwise, &erf_how, 0},
    {"erfc", handle_elementwise, &erfc_how, 0},
    {"erfinv", handle_elementwise, &erfinv_how, QUIET},
    {"entr", handle_elementwise, &entr_how, 0},
    {"lgamma", handle_elementwise, &lgamma_how, 0},
    {"digamma", handle_elementwise, &digamma_how, 0},
    {"erfcx", handle_elementwise, &erfcx_how, 0},
    {"log_ndtr", handle_elementwise, &log_ndtr_how, 0},
    {"ndtri", handle_elementwise, &ndtri_how, 0},
    {"airy_ai", handle_elementwise, &airy_ai_how, 0},
    {"bessel_j0", handle_elementwise, &bessel_j0_how, 0},
    {"bessel_j1", handle_elementwise, &bessel_j1_how, 0},
    {"bessel_y0", handle_elementwise, &bessel_y0_how, 0},
    {"bessel_y1", handle_elementwise, &bessel_y1_how, 0},
    {"i0", handle_elementwise, &i0_how, 0},
    {"i0e", handle_elementwise, &i0e_how, 0},
    {"i1", handle_elementwise, &i1_how, 0},
    {"i1e", handle_elementwise, &i1e_how, 0},
    {"modified_bessel_k0", handle_elementwise, &modified_bessel_k0_how, 0},
    {"modified_bessel_k1", handle_elementwise, &modified_bessel_k1_how, 0},
    {"scaled_modified_bessel_k0", handle_elementwise, &scaled_modified_bessel_k0_how, 0},
    {"scaled_modified_bessel_k1", handle_elementwise, &scaled_modified_bessel_k1_how, 0},
    {"polygamma", handle_polygamma, &trigamma_how, 0},
    {"zeta", handle_short, &zeta_how, 0},
    {"igamma", handle_elementwise, &igamma_how, 0},
    {"igammac", handle_elementwise, &igammac_how, 0},
    {"sigmoid", handle_elementwise, &sigmoid_how, 0},
    {"logit", handle_elementwise, &logit_how, 0},
    {"xlog1py", handle_short, &xlog1py_how, 0},
    {"sinc", handle_short, &sinc_how, 0},
    {"spherical_bessel_j0", handle_elementwise, &spherical_bessel_j0_how, 0},
    {"xlogy", handle_elementwise, &xlogy_how, 0},
    {"logaddexp", handle_elementwise, &logaddexp_how, 0},
    POLYNOMIALS(POLYNOMIAL_ROW)
    {NULL, NULL, NULL, 0},
};
