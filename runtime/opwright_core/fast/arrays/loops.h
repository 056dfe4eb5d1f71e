/* Loops that compilers vectorise: how they are marked, and the functions of one element. */

#ifndef OPWRIGHT_KERNELS_LOOPS_H
#define OPWRIGHT_KERNELS_LOOPS_H

#include <opwright/mathematics.h>

#include <float.h>

/* No element of a loop depends on another: a result may be an operand's own memory, but never overlap it in part. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* loops of libm's functions go one element at a time */
#define EACH_ALONE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define EACH_ALONE _Pragma("GCC ivdep")
#else
#define EACH_ALONE
#endif

/* Between FUSED and UNFUSED products and sums may be rounded once instead of twice, which polynomials are faster by. */
#if defined(__clang__)
#define FUSED _Pragma("clang fp contract(fast)")
#define UNFUSED _Pragma("clang fp contract(off)")
#elif defined(__GNUC__)
#define FUSED _Pragma("GCC push_options") _Pragma("GCC optimize(\"fp-contract=fast\")")
#define UNFUSED _Pragma("GCC pop_options")
#else
#define FUSED
#define UNFUSED
#endif

/* Code for wide registers where the processor has them. */
#if defined(__x86_64__) && defined(__linux__) && defined(__has_attribute)
#if __has_attribute(target_clones)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
#endif
#ifndef CLONES
#define CLONES
#endif

/* Define a function that returns x + y * z, each step rounded; where the product alone is too large, its halves are
 * added one by one. So the sum is infinite where that of PyTorch is, which rounds it once. */
#define PLUS_PRODUCT(NAME, REAL, SIZE_OF, LARGEST)                                                                     \
    ELEMENT REAL NAME(REAL x, REAL y, REAL z) {                                                                        \
        const REAL product = y * z, half = y * (REAL)0.5 * z;                                                          \
        return SIZE_OF(product) <= LARGEST ? x + product : x + half + half;                                            \
    }

PLUS_PRODUCT(plus_product_f32, float, abs_f32, FLT_MAX)
PLUS_PRODUCT(plus_product_f64, double, abs_f64, DBL_MAX)

#endif
