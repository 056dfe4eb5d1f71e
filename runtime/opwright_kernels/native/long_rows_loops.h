/* Pieces of long rows for one type: included with REAL and OF(name). */

/* Return the sum of exp(x - by) of a row. */
ELEMENT double OF(sum_of_powers)(const REAL *x, npy_intp count, REAL by) {
    REAL powers[SUM_BLOCK];
    double total = 0;
    for (npy_intp start = 0; start < count; start += SUM_BLOCK) {
        const npy_intp some = count - start < SUM_BLOCK ? count - start : SUM_BLOCK;
        EACH_ALONE for (npy_intp i = 0; i < some; i++) {
            powers[i] = OF(exp)(x[start + i] - by);
        }
        total += OF(sum_row)(powers, some);
    }
    return total;
}

/* Return what a piece gives. */
ELEMENT double OF(part)(PartKind kind, const REAL *x, npy_intp count, REAL by) {
    switch (kind) {
    case PART_SUM:
        return OF(sum_row)(x, count);
    case PART_LARGEST:
        return (double)OF(largest_of_row)(x, count);
    case PART_PRODUCT:
        return (double)OF(product_of_row)(x, count);
    case PART_NONZERO:
        return (double)OF(count_of_row)(x, count);
    case PART_POWERS:
        return OF(sum_of_powers)(x, count, by);
    default:
        return OF(spread_row)(x, count, by);
    }
}

/* Write what some pieces of a PartsJob give. Needs no GIL. */
CLONES static void OF(parts)(void *given, int64_t from, int64_t to) {
    const PartsJob *job = given;
    for (npy_intp at = from; at < to; at++) {
        const Piece piece = piece_of(job->rows, at);
        const REAL by = job->by == NULL ? 0 : (REAL)job->by[piece.row];
        job->parts[at] = OF(part)(job->kind, (const REAL *)job->rows->from + piece.start, piece.count, by);
    }
}
