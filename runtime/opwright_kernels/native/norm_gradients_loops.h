/* Backward kernels of rows for one type: included with REAL and OF(name), behind sums.h. */

/* Return two sums over a row: `along`, of x * ((y - from) * scale), and `plain`, of x. */
ELEMENT Sums OF(sums_of_row)(const REAL *x, const REAL *y, npy_intp count, REAL from, REAL scale) {
    Sums found = {0, 0};
    for (npy_intp start = 0; start < count; start += SUM_BLOCK) {
        const npy_intp stop = count - start < SUM_BLOCK ? count : start + SUM_BLOCK;
        REAL along[COLUMNS] = {0}, plain[COLUMNS] = {0};
        npy_intp i = start;
        for (; i + COLUMNS <= stop; i += COLUMNS) {
            for (int j = 0; j < COLUMNS; j++) {
                along[j] += x[i + j] * ((y[i + j] - from) * scale);
                plain[j] += x[i + j];
            }
        }
        for (; i < stop; i++) {
            along[(i - start) & (COLUMNS - 1)] += x[i] * ((y[i] - from) * scale);
            plain[(i - start) & (COLUMNS - 1)] += x[i];
        }
        found.along += OF(of_columns)(along);
        found.plain += OF(of_columns)(plain);
    }
    return found;
}

/* Write softmax's gradient of some rows: (grad - sum(grad * result)) * result. Needs no GIL. */
CLONES static void OF(softmax_slope)(void *given, int64_t from, int64_t to) {
    const SoftmaxJob *job = given;
    for (npy_intp row = from; row < to; row++) {
        const REAL *grad = (const REAL *)job->grad + row * job->count,
                   *result = (const REAL *)job->result + row * job->count;
        REAL *out = (REAL *)job->to + row * job->count;
        const REAL along = (REAL)OF(sums_of_row)(grad, result, job->count, 0, 1).along;
        EACH_ALONE for (npy_intp i = 0; i < job->count; i++) {
            out[i] = (grad[i] - along) * result[i];
        }
    }
}

/* Write log_softmax's gradient of some rows: grad - exp(result) * sum(grad). Needs no GIL. */
CLONES static void OF(log_softmax_slope)(void *given, int64_t from, int64_t to) {
    const SoftmaxJob *job = given;
    for (npy_intp row = from; row < to; row++) {
        const REAL *grad = (const REAL *)job->grad + row * job->count,
                   *result = (const REAL *)job->result + row * job->count;
        REAL *out = (REAL *)job->to + row * job->count;
        const REAL total = (REAL)OF(sum_row)(grad, job->count);
        EACH_ALONE for (npy_intp i = 0; i < job->count; i++) {
            out[i] = grad[i] - OF(exp)(result[i]) * total;
        }
    }
}

/* Write the input's gradient of one row of layer_norm, and add to those of weight and bias. The scratch holds the
 * normalised row, and behind it grad * weight. */
CLONES static void OF(layer_norm_row)(const LayerNormJob *job, npy_intp row) {
    const npy_intp count = job->count;
    const REAL *grad = (const REAL *)job->grad + row * count, *x = (const REAL *)job->from + row * count;
    const REAL *weight = (const REAL *)job->weight;
    const REAL mean = ((const REAL *)job->mean)[row], rstd = ((const REAL *)job->rstd)[row];
    REAL *centred = (REAL *)job->scratch, *scaled = centred + count;
    REAL *of_weight = (REAL *)job->of_weight, *of_bias = (REAL *)job->of_bias;
    EACH_ALONE for (npy_intp i = 0; i < count; i++) {
        centred[i] = (x[i] - mean) * rstd;
    }
    for (npy_intp i = 0; of_weight != NULL && i < count; i++) {
        of_weight[i] += grad[i] * centred[i];
    }
    for (npy_intp i = 0; of_bias != NULL && i < count; i++) {
        of_bias[i] += grad[i];
    }
    if (job->to != NULL) {
        REAL *out = (REAL *)job->to + row * count;
        for (npy_intp i = 0; weight != NULL && i < count; i++) {
            scaled[i] = grad[i] * weight[i];
        }
        const REAL *slopes = weight == NULL ? grad : scaled;
        const Sums sums = OF(sums_of_row)(slopes, centred, count, 0, 1);
        const REAL along = (REAL)(sums.along / (double)count), average = (REAL)(sums.plain / (double)count);
        EACH_ALONE for (npy_intp i = 0; i < count; i++) {
            out[i] = ((slopes[i] - average) - centred[i] * along) * rstd;
        }
    }
}

/* Compute layer_norm's gradients of some pieces, row by row. Needs no GIL. */
static void OF(layer_norm_slopes)(void *given, int64_t from, int64_t to) {
    const LayerNormJob *job = given;
    for (npy_intp piece = from; piece < to; piece++) {
        const npy_intp first = piece * job->rows_each, left = job->rows - first;
        REAL *room = (REAL *)job->scratch + piece * 4 * job->count;
        LayerNormJob part = *job;
        part.scratch = (char *)room;
        if (job->pieces > 1) {
            memset(room + 2 * job->count, 0, (size_t)(2 * job->count) * sizeof(REAL));
            part.of_weight = job->of_weight == NULL ? NULL : (char *)(room + 2 * job->count);
            part.of_bias = job->of_bias == NULL ? NULL : (char *)(room + 3 * job->count);
        }
        for (npy_intp row = first; row < first + (left < job->rows_each ? left : job->rows_each); row++) {
            OF(layer_norm_row)(&part, row);
        }
    }
}

/* Add the sums of pieces, in their order. Returns nothing. */
static void OF(add_pieces)(const LayerNormJob *job) {
    for (npy_intp piece = 0; job->pieces > 1 && piece < job->pieces; piece++) {
        const REAL *room = (const REAL *)job->scratch + (piece * 4 + 2) * job->count;
        for (npy_intp i = 0; job->of_weight != NULL && i < job->count; i++) {
            ((REAL *)job->of_weight)[i] += room[i];
        }
        for (npy_intp i = 0; job->of_bias != NULL && i < job->count; i++) {
            ((REAL *)job->of_bias)[i] += room[job->count + i];
        }
    }
}

/* Write the sums of some channels of images of group_norm. Needs no GIL, as the next. */
CLONES static void OF(group_norm_sums)(void *given, int64_t from, int64_t to) {
    const GroupNormJob *job = given;
    for (npy_intp row = from; row < to; row++) {
        const npy_intp group = row / job->channels, at = row * job->size;
        job->sums[row] = OF(sums_of_row)((const REAL *)job->grad + at, (const REAL *)job->from + at, job->size,
                                         ((const REAL *)job->mean)[group], ((const REAL *)job->rstd)[group]);
    }
}

/* Write the input's gradients of some groups of images, by the sums. */
CLONES static void OF(group_norm_slopes)(void *given, int64_t from, int64_t to) {
    const GroupNormJob *job = given;
    const double count = (double)(job->channels * job->size);
    for (npy_intp group = from; group < to; group++) {
        const REAL *weight =
            job->weight == NULL ? NULL : (const REAL *)job->weight + group % job->groups * job->channels;
        const REAL mean = ((const REAL *)job->mean)[group], rstd = ((const REAL *)job->rstd)[group];
        double along = 0, plain = 0;
        for (npy_intp c = 0; c < job->channels; c++) {
            const Sums sums = job->sums[group * job->channels + c];
            along += sums.along * (weight == NULL ? 1 : (double)weight[c]);
            plain += sums.plain * (weight == NULL ? 1 : (double)weight[c]);
        }
        const REAL slope = (REAL)(along / count), average = (REAL)(plain / count);
        for (npy_intp c = 0; c < job->channels; c++) {
            const npy_intp at = (group * job->channels + c) * job->size;
            const REAL *grad = (const REAL *)job->grad + at, *x = (const REAL *)job->from + at;
            const REAL factor = weight == NULL ? 1 : weight[c];
            REAL *out = (REAL *)job->to + at;
            EACH_ALONE for (npy_intp i = 0; i < job->size; i++) {
                out[i] = ((grad[i] * factor - average) - (x[i] - mean) * rstd * slope) * rstd;
            }
        }
    }
}

/* Add the sums of images to the gradients of weight and bias. Returns nothing. */
static void OF(add_images)(const GroupNormJob *job) {
    const npy_intp channels = job->groups * job->channels;
    for (npy_intp c = 0; c < channels; c++) {
        Sums total = {0, 0};
        for (npy_intp image = 0; image < job->images; image++) {
            total.along += job->sums[image * channels + c].along;
            total.plain += job->sums[image * channels + c].plain;
        }
        if (job->of_weight != NULL) {
            ((REAL *)job->of_weight)[c] = (REAL)total.along;
        }
        if (job->of_bias != NULL) {
            ((REAL *)job->of_bias)[c] = (REAL)total.plain;
        }
    }
}

/* Write the gradients of one channel of batch_norm: of its weight and bias, which are sums over all images, and, if
 * wanted, of the input by them. */
CLONES static void OF(batch_norm_channel)(const BatchNormJob *job, npy_intp channel) {
    const npy_intp size = job->size, step = job->channels * size;
    const REAL *grad = (const REAL *)job->grad + channel * size, *x = (const REAL *)job->from + channel * size;
    const REAL mean = ((const REAL *)job->mean)[channel], rstd = ((const REAL *)job->rstd)[channel];
    const REAL factor = job->weight == NULL ? rstd : rstd * ((const REAL *)job->weight)[channel];
    double along = 0, total = 0;
    for (npy_intp image = 0; image < job->images; image++) {
        const Sums sums = OF(sums_of_row)(grad + image * step, x + image * step, size, mean, rstd);
        along += sums.along;
        total += sums.plain;
    }
    ((REAL *)job->of_weight)[channel] = (REAL)along;
    ((REAL *)job->of_bias)[channel] = (REAL)total;
    const double count = (double)(job->images * size);
    const REAL slope = (REAL)(along / count), average = (REAL)(total / count);
    for (npy_intp image = 0; job->to != NULL && image < job->images; image++) {
        const REAL *from = x + image * step, *grads = grad + image * step;
        REAL *out = (REAL *)job->to + channel * size + image * step;
        EACH_ALONE for (npy_intp i = 0; i < size; i++) {
            const REAL moved = (grads[i] - average) - (from[i] - mean) * rstd * slope;
            out[i] = (job->training ? moved : grads[i]) * factor;
        }
    }
}

/* Compute batch_norm's gradients of some channels. Needs no GIL. */
static void OF(batch_norm_slopes)(void *given, int64_t from, int64_t to) {
    const BatchNormJob *job = given;
    for (npy_intp channel = from; channel < to; channel++) {
        OF(batch_norm_channel)(job, channel);
    }
}

/* Add each window's gradient at the index of its maximum, in some planes of zeros. Stops and sets `is_out_of_range` at
 * a bad index. Needs no GIL. */
static void OF(max_pool_slope)(void *given, int64_t from, int64_t to) {
    PoolJob *job = given;
    for (npy_intp plane = from; plane < to; plane++) {
        const REAL *grad = (const REAL *)job->grad + plane * job->windows;
        const int64_t *indices = job->indices + plane * job->windows;
        REAL *out = (REAL *)job->to + plane * job->size;
        memset(out, 0, (size_t)job->size * sizeof(REAL));
        for (npy_intp i = 0; i < job->windows; i++) {
            if ((uint64_t)indices[i] >= (uint64_t)job->size) {
                job->is_out_of_range = 1;
                return;
            }
            out[indices[i]] += grad[i];
        }
    }
}
