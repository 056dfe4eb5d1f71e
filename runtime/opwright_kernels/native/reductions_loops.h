/* Reductions of some rows for one type: included with REAL and OF(name). */

/* Write the sum of some rows of a ReductionJob. Needs no GIL, like all of these. */
CLONES static void OF(total)(void *given, int64_t from, int64_t to) {
    const ReductionJob *job = given;
    for (npy_intp row = from; row < to; row++) {
        ((REAL *)job->to)[row] = (REAL)OF(sum_row)((const REAL *)job->from + row * job->count, job->count);
    }
}

/* Write sums over the rows, (rows, count) to (count,), of some strips of BESIDE columns, added one row after another as
 * NumPy adds them; in memory of the thread's own, since the lines of the result are others' too. */
CLONES static void OF(sum_of_rows)(void *given, int64_t from, int64_t to) {
    const ReductionJob *job = given;
    const npy_intp n = job->count, end = to * BESIDE < n ? to * BESIDE : n;
    REAL sums[4 * BESIDE];
    for (npy_intp first = from * BESIDE; first < end; first += 4 * BESIDE) {
        const npy_intp size = end - first < 4 * BESIDE ? end - first : 4 * BESIDE;
        const REAL *x = (const REAL *)job->from + first;
        npy_intp row = 1;
        memcpy(sums, x, (size_t)size * sizeof *sums);
        x += n;
        for (; row + 8 <= job->rows; row += 8, x += 8 * n) {
            EACH_ALONE for (npy_intp i = 0; i < size; i++) {
                const REAL four = sums[i] + x[i] + x[i + n] + x[i + 2 * n] + x[i + 3 * n];
                sums[i] = four + x[i + 4 * n] + x[i + 5 * n] + x[i + 6 * n] + x[i + 7 * n];
            }
        }
        for (; row < job->rows; row++, x += n) {
            EACH_ALONE for (npy_intp i = 0; i < size; i++) {
                sums[i] += x[i];
            }
        }
        memcpy((REAL *)job->to + first, sums, (size_t)size * sizeof *sums);
    }
}

/* Write the mean of each row. */
CLONES static void OF(average)(void *given, int64_t from, int64_t to) {
    const ReductionJob *job = given;
    for (npy_intp row = from; row < to; row++) {
        const double total = OF(sum_row)((const REAL *)job->from + row * job->count, job->count);
        ((REAL *)job->to)[row] = (REAL)(total / (double)job->count);
    }
}

/* Write the largest element of each row; NaN where there is one. */
CLONES static void OF(largest)(void *given, int64_t from, int64_t to) {
    const ReductionJob *job = given;
    for (npy_intp row = from; row < to; row++) {
        ((REAL *)job->to)[row] = OF(largest_of_row)((const REAL *)job->from + row * job->count, job->count);
    }
}

/* Write the product of each row. */
CLONES static void OF(product)(void *given, int64_t from, int64_t to) {
    const ReductionJob *job = given;
    for (npy_intp row = from; row < to; row++) {
        ((REAL *)job->to)[row] = OF(product_of_row)((const REAL *)job->from + row * job->count, job->count);
    }
}

/* Write, as int64, how many elements of each row are not zero. */
CLONES static void OF(number_of_nonzero)(void *given, int64_t from, int64_t to) {
    const ReductionJob *job = given;
    for (npy_intp row = from; row < to; row++) {
        ((int64_t *)job->to)[row] = OF(count_of_row)((const REAL *)job->from + row * job->count, job->count);
    }
}

/* Write log(sum(exp(x))) of each row, shifted by its largest element where that is finite. */
CLONES static void OF(logsumexp)(void *given, int64_t from, int64_t to) {
    const ReductionJob *job = given;
    REAL powers[SUM_BLOCK];
    for (npy_intp row = from; row < to; row++) {
        const REAL *x = (const REAL *)job->from + row * job->count;
        const REAL most = OF(largest_of_row)(x, job->count), shift = OF(isfinite)(most) ? most : 0;
        double total = 0;
        for (npy_intp start = 0; start < job->count; start += SUM_BLOCK) {
            const npy_intp count = job->count - start < SUM_BLOCK ? job->count - start : SUM_BLOCK;
            EACH_ALONE for (npy_intp i = 0; i < count; i++) {
                powers[i] = OF(exp)(x[start + i] - shift);
            }
            total += OF(sum_row)(powers, count);
        }
        ((REAL *)job->to)[row] = OF(log)((REAL)total) + shift;
    }
}

/* Write the sum of squared distances from the mean of each row, divided by `freedom`, or its square root, and
 * the mean where it is wanted. Sets `is_lost` if a mean is not finite. */
CLONES static void OF(variance)(void *given, int64_t from, int64_t to) {
    SpreadJob *job = given;
    const npy_intp count = job->base.count;
    for (npy_intp row = from; row < to; row++) {
        const REAL *x = (const REAL *)job->base.from + row * count;
        const REAL mean = (REAL)(OF(sum_row)(x, count) / (double)count);
        const REAL found = (REAL)((REAL)OF(spread_row)(x, count, mean) / job->freedom);
        if (!OF(isfinite)(mean)) {
            job->is_lost = 1;
        }
        ((REAL *)job->base.to)[row] = job->is_root ? OF(sqrt)(found) : found;
        if (job->means != NULL) {
            ((REAL *)job->means)[row] = mean;
        }
    }
}

/* Write the square root of the sum of squares of each row. */
CLONES static void OF(length)(void *given, int64_t from, int64_t to) {
    const ReductionJob *job = given;
    for (npy_intp row = from; row < to; row++) {
        ((REAL *)job->to)[row] =
            OF(sqrt)((REAL)OF(spread_row)((const REAL *)job->from + row * job->count, job->count, 0));
    }
}
