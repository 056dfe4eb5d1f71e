/* Running reductions and the first elements of rows, for one type: included with REAL and OF(name). */

/* Define a loop that returns nothing and writes the running result of STEP along some rows. Each step waits for the one
 * before: so four rows go at once, and every element is rounded as in a row alone. */
#define SCAN(NAME, STEP)                                                                                               \
    static void OF(NAME)(void *given, int64_t from, int64_t to) {                                                      \
        const ScanJob *job = given;                                                                                    \
        const npy_intp count = job->count;                                                                             \
        npy_intp row = from;                                                                                           \
        for (; row + 4 <= to; row += 4) {                                                                              \
            const REAL *x = (const REAL *)job->from + row * count;                                                     \
            REAL *out = (REAL *)job->to + row * count;                                                                 \
            REAL a = x[0], b = x[count], c = x[2 * count], d = x[3 * count];                                           \
            for (npy_intp i = 0; i < count; i++) {                                                                     \
                if (i > 0) {                                                                                           \
                    a = a STEP x[i];                                                                                   \
                    b = b STEP x[count + i];                                                                           \
                    c = c STEP x[2 * count + i];                                                                       \
                    d = d STEP x[3 * count + i];                                                                       \
                }                                                                                                      \
                out[i] = a;                                                                                            \
                out[count + i] = b;                                                                                    \
                out[2 * count + i] = c;                                                                                \
                out[3 * count + i] = d;                                                                                \
            }                                                                                                          \
        }                                                                                                              \
        for (; row < to; row++) {                                                                                      \
            const REAL *x = (const REAL *)job->from + row * count;                                                     \
            REAL *out = (REAL *)job->to + row * count, found = x[0];                                                   \
            out[0] = found;                                                                                            \
            for (npy_intp i = 1; i < count; i++) {                                                                     \
                found = found STEP x[i];                                                                               \
                out[i] = found;                                                                                        \
            }                                                                                                          \
        }                                                                                                              \
    }

SCAN(running_total, +)
SCAN(running_product, *)
#undef SCAN

/* Whether x comes before y in descending order; NaN comes first where `nan_first`, else last. */
ELEMENT int OF(comes_first)(REAL x, REAL y, int nan_first) {
    return nan_first ? x > y || (x != x && y == y) : x > y || (x == x && y != y);
}

/* Insert an element into the first `filled`, which are in order. Those behind it move by one, over the element at index
 * `filled`. */
static void OF(put_among)(REAL *values, int64_t *indices, npy_intp filled, REAL value, int64_t index, int nan_first) {
    npy_intp i = filled;
    while (i > 0 && OF(comes_first)(value, values[i - 1], nan_first)) {
        values[i] = values[i - 1];
        indices[i] = indices[i - 1];
        i--;
    }
    values[i] = value;
    indices[i] = index;
}

/* Write the first `wanted` elements of some rows in order, largest or smallest first, equal ones by index, and their
 * indices. Needs no GIL. */
CLONES static void OF(first_of_rows)(void *given, int64_t from, int64_t to) {
    const FirstJob *job = given;
    const REAL sign = job->is_largest ? 1 : -1;
    const int nan_first = job->is_largest;
    for (npy_intp row = from; row < to; row++) {
        const REAL *x = (const REAL *)job->from + row * job->count;
        REAL *values = (REAL *)job->to + row * job->wanted;
        int64_t *indices = job->indices + row * job->wanted;
        npy_intp i = 0;
        for (; i < job->wanted; i++) {
            OF(put_among)(values, indices, i, x[i] * sign, i, nan_first);
        }
        const npy_intp last = job->wanted - 1;
        while (i < job->count) {
            const npy_intp stop = i + FIRST_BLOCK < job->count ? i + FIRST_BLOCK : job->count;
            const REAL least = values[last];
            int has_one = 0;
            for (npy_intp j = i; j < stop; j++) {
                has_one |= !(x[j] * sign <= least);
            }
            for (npy_intp j = i; has_one && j < stop; j++) {
                if (OF(comes_first)(x[j] * sign, values[last], nan_first)) {
                    OF(put_among)(values, indices, last, x[j] * sign, j, nan_first);
                }
            }
            i = stop;
        }
        for (npy_intp j = 0; j < job->wanted; j++) {
            values[j] = x[indices[j]];
        }
    }
}
