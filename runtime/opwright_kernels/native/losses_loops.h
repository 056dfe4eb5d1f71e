/* Losses of distances for one type: included with REAL and OF(name). */

#include "sums.h"

/* Define the loop of a loss for one type: the expression gives an element from `d`, the distance of input and target,
 * and `at`, the number of the call. Blocks of SUM_BLOCK are written, or each added up to one of `totals`.
 * Returns nothing. */
#define LOSS(NAME, ...)                                                                                                \
    CLONES static void OF(NAME)(void *given, int64_t from, int64_t to) {                                               \
        const DistanceJob *job = given;                                                                                \
        const REAL at = (REAL)job->at;                                                                                 \
        REAL found[SUM_BLOCK];                                                                                         \
        (void)at;                                                                                                      \
        for (npy_intp block = from; block < to; block++) {                                                             \
            const npy_intp start = block * SUM_BLOCK;                                                                  \
            const npy_intp count = job->count - start < SUM_BLOCK ? job->count - start : SUM_BLOCK;                    \
            const REAL *x = (const REAL *)job->from + start, *target = (const REAL *)job->target + start;              \
            REAL *out = job->losses == NULL ? found : (REAL *)job->losses + start;                                     \
            EACH_ALONE for (npy_intp i = 0; i < count; i++) {                                                          \
                const REAL d = OF(abs)(x[i] - target[i]);                                                              \
                out[i] = (__VA_ARGS__);                                                                                \
            }                                                                                                          \
            if (job->losses == NULL) {                                                                                 \
                job->totals[block] = OF(sum_row)(out, count);                                                          \
            }                                                                                                          \
        }                                                                                                              \
    }

/* Return the distance, at most `at`; NaN stays NaN. */
ELEMENT REAL OF(near)(REAL d, REAL at) {
    return d > at ? at : d;
}

/* Return smooth_l1_loss of a distance: d² * factor up to `at`, and linear above, where `factor` is 0.5 / at. */
ELEMENT REAL OF(smooth_loss)(REAL d, REAL at, REAL factor) {
    const REAL close = OF(near)(d, at);
    return (d - close) + close * close * factor;
}

LOSS(squared, d *d)
LOSS(smooth, OF(smooth_loss)(d, at, (REAL)0.5 / at))
LOSS(huber, (d - (REAL)0.5 * OF(near)(d, at)) * OF(near)(d, at))
#undef LOSS
