/* Kernels of rows for one type: included with REAL and OF(name). */

/* Rows one after another, whose elements are neighbours. */

/* Write softmax of each row of contiguous elements. */
CLONES static void OF(softmax_rows)(const RowsJob *job, npy_intp from, npy_intp to) {
    for (npy_intp row = from; row < to; row++) {
        const REAL *x = (const REAL *)job->from + row * job->count;
        REAL *out = (REAL *)job->to + row * job->count;
        const REAL most = OF(largest_of_row)(x, job->count);
        EACH_ALONE for (npy_intp i = 0; i < job->count; i++) {
            out[i] = OF(exp)(x[i] - most);
        }
        const REAL total = (REAL)OF(sum_row)(out, job->count);
        EACH_ALONE for (npy_intp i = 0; i < job->count; i++) {
            out[i] /= total;
        }
    }
}

/* Write log_softmax of each row of contiguous elements. */
CLONES static void OF(log_softmax_rows)(const RowsJob *job, npy_intp from, npy_intp to) {
    for (npy_intp row = from; row < to; row++) {
        const REAL *x = (const REAL *)job->from + row * job->count;
        REAL *out = (REAL *)job->to + row * job->count;
        const REAL most = OF(largest_of_row)(x, job->count);
        EACH_ALONE for (npy_intp i = 0; i < job->count; i++) {
            out[i] = OF(exp)(x[i] - most);
        }
        const REAL total = OF(log)((REAL)OF(sum_row)(out, job->count));
        EACH_ALONE for (npy_intp i = 0; i < job->count; i++) {
            out[i] = (x[i] - most) - total;
        }
    }
}

/* Rows beside each other, whose elements are `inner` apart: some of them at a time. */

/* Write softmax, or log_softmax where `is_log`, of `width` neighbouring rows, whose elements are `inner` apart; `at` is
 * the offset of the first one. */
CLONES static void OF(softmax_beside)(const RowsJob *job, npy_intp at, npy_intp width, int is_log) {
    const REAL *x = (const REAL *)job->from + at;
    REAL *out = (REAL *)job->to + at, most[BESIDE], total[BESIDE];
    const npy_intp inner = job->inner;
    for (npy_intp j = 0; j < width; j++) {
        most[j] = x[j];
        total[j] = 0;
    }
    for (npy_intp i = 1; i < job->count; i++) {
        for (npy_intp j = 0; j < width; j++) {
            most[j] = OF(maximum)(most[j], x[i * inner + j]);
        }
    }
    for (npy_intp i = 0; i < job->count; i++) {
        EACH_ALONE for (npy_intp j = 0; j < width; j++) {
            const REAL power = OF(exp)(x[i * inner + j] - most[j]);
            out[i * inner + j] = power;
            total[j] += power;
        }
    }
    for (npy_intp j = 0; is_log && j < width; j++) {
        total[j] = OF(log)(total[j]);
    }
    for (npy_intp i = 0; i < job->count; i++) {
        EACH_ALONE for (npy_intp j = 0; j < width; j++) {
            const REAL shifted = x[i * inner + j] - most[j], power = out[i * inner + j];
            out[i * inner + j] = is_log ? shifted - total[j] : power / total[j];
        }
    }
}

/* Compute softmax or log_softmax of some of the `strips` of a RowsJob: rows, or BESIDE rows beside each other. Needs no
 * GIL. */
static void OF(softmax)(void *given, int64_t from, int64_t to) {
    const RowsJob *job = given;
    if (job->inner == 1) {
        (job->is_log ? OF(log_softmax_rows) : OF(softmax_rows))(job, from, to);
        return;
    }
    const npy_intp strips = strips_of(job->inner);
    for (npy_intp strip = from; strip < to; strip++) {
        const npy_intp start = strip % strips * BESIDE, left = job->inner - start;
        const npy_intp at = strip / strips * job->count * job->inner + start;
        OF(softmax_beside)(job, at, left < BESIDE ? left : BESIDE, job->is_log);
    }
}

/* One step of softmax or log_softmax over some pieces of long rows: `most` and `total` have a number for each row. */

/* Write exp(x - most). Needs no GIL, as the others. */
CLONES static void OF(powers_of_pieces)(void *given, int64_t from, int64_t to) {
    const LongSoftmaxJob *job = given;
    for (npy_intp at = from; at < to; at++) {
        const Piece piece = piece_of(&job->rows, at);
        const REAL *x = (const REAL *)job->rows.from + piece.start, most = (REAL)job->most[piece.row];
        REAL *out = (REAL *)job->to + piece.start;
        EACH_ALONE for (npy_intp i = 0; i < piece.count; i++) {
            out[i] = OF(exp)(x[i] - most);
        }
    }
}

/* Divide what was written by the total. */
CLONES static void OF(shares_of_pieces)(void *given, int64_t from, int64_t to) {
    const LongSoftmaxJob *job = given;
    for (npy_intp at = from; at < to; at++) {
        const Piece piece = piece_of(&job->rows, at);
        const REAL total = (REAL)job->total[piece.row];
        REAL *out = (REAL *)job->to + piece.start;
        EACH_ALONE for (npy_intp i = 0; i < piece.count; i++) {
            out[i] /= total;
        }
    }
}

/* Write x - most - total. */
CLONES static void OF(logs_of_pieces)(void *given, int64_t from, int64_t to) {
    const LongSoftmaxJob *job = given;
    for (npy_intp at = from; at < to; at++) {
        const Piece piece = piece_of(&job->rows, at);
        const REAL *x = (const REAL *)job->rows.from + piece.start, most = (REAL)job->most[piece.row];
        const REAL total = (REAL)job->total[piece.row];
        REAL *out = (REAL *)job->to + piece.start;
        EACH_ALONE for (npy_intp i = 0; i < piece.count; i++) {
            out[i] = (x[i] - most) - total;
        }
    }
}

/* Write (x - mean) * rstd * weight + bias for one row; weight, bias or both may be NULL. */
ELEMENT void OF(scale_row)(REAL *out, const REAL *x, REAL mean, REAL rstd, const REAL *weight, const REAL *bias,
                           npy_intp count) {
    if (weight != NULL && bias != NULL) {
        EACH_ALONE for (npy_intp i = 0; i < count; i++) {
            out[i] = (x[i] - mean) * rstd * weight[i] + bias[i];
        }
    } else if (weight != NULL) {
        EACH_ALONE for (npy_intp i = 0; i < count; i++) {
            out[i] = (x[i] - mean) * rstd * weight[i];
        }
    } else {
        EACH_ALONE for (npy_intp i = 0; i < count; i++) {
            out[i] = (x[i] - mean) * rstd + (bias == NULL ? 0 : bias[i]);
        }
    }
}

/* Write mean and rstd of some rows, and their elements (x - mean) * rstd * weight + bias. A weight is of each element,
 * or of `inner` elements at a time. Needs no GIL. */
CLONES static void OF(normalize_rows)(void *given, int64_t from, int64_t to) {
    const NormJob *job = given;
    const npy_intp count = job->count;
    for (npy_intp row = from; row < to; row++) {
        const REAL *x = (const REAL *)job->from + row * count;
        REAL *out = (REAL *)job->to + row * count;
        const REAL *weight = (const REAL *)job->weight, *bias = (const REAL *)job->bias;
        const REAL mean = (REAL)(OF(sum_row)(x, count) / (double)count);
        const REAL variance = (REAL)(OF(spread_row)(x, count, mean) / (double)count);
        const REAL rstd = 1 / OF(sqrt)(variance + (REAL)job->eps);
        ((REAL *)job->mean)[row] = mean;
        ((REAL *)job->rstd)[row] = rstd;
        if (job->inner == 1 && job->groups == 0) {
            OF(scale_row)(out, x, mean, rstd, weight, bias, count);
            continue;
        }
        /* Weights of groups go on from row to row, those of layers begin anew. */
        const npy_intp first = job->groups > 0 ? row % job->groups * (count / job->inner) : 0;
        for (npy_intp start = 0, index = first; start < count; start += job->inner, index++) {
            const REAL factor = weight == NULL ? 1 : weight[index], shift = bias == NULL ? 0 : bias[index];
            EACH_ALONE for (npy_intp i = start; i < start + job->inner; i++) {
                out[i] = (x[i] - mean) * rstd * factor + shift;
            }
        }
    }
}
