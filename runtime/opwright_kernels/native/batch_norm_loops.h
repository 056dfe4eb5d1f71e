/* Normalisation of batches for one type: included with REAL and OF(name). Arrays are (batch, channels, size). */

/* Write mean and biased variance of some channels, over batch and size. Needs no GIL, as all of these. */
CLONES static void OF(channel_statistics)(void *given, int64_t from, int64_t to) {
    const ChannelsJob *job = given;
    REAL *mean = (REAL *)job->mean, *variance = (REAL *)job->variance;
    const npy_intp size = job->size, apart = job->channels * size;
    const double count = (double)(job->batch * size);
    for (npy_intp c = from; c < to; c++) {
        const REAL *x = (const REAL *)job->from + c * size;
        double total = 0, spread = 0;
        for (npy_intp n = 0; n < job->batch; n++) {
            total += OF(sum_row)(x + n * apart, size);
        }
        mean[c] = (REAL)(total / count);
        for (npy_intp n = 0; n < job->batch; n++) {
            spread += OF(spread_row)(x + n * apart, size, mean[c]);
        }
        variance[c] = (REAL)(spread / count);
    }
}

/* Write mean and biased variance of some strips of BESIDE neighbouring channels of (batch, channels) arrays, where size
 * is 1. */
CLONES static void OF(column_statistics)(void *given, int64_t from, int64_t to) {
    const ChannelsJob *job = given;
    REAL *mean = (REAL *)job->mean, *variance = (REAL *)job->variance;
    const REAL *x = (const REAL *)job->from;
    const npy_intp channels = job->channels;
    for (npy_intp start = from * BESIDE; start < to * BESIDE && start < channels; start += BESIDE) {
        const npy_intp width = channels - start < BESIDE ? channels - start : BESIDE;
        double total[BESIDE] = {0}, spread[BESIDE] = {0};
        for (npy_intp n = 0; n < job->batch; n++) {
            for (npy_intp j = 0; j < width; j++) {
                total[j] += (double)x[n * channels + start + j];
            }
        }
        for (npy_intp j = 0; j < width; j++) {
            mean[start + j] = (REAL)(total[j] / (double)job->batch);
        }
        for (npy_intp n = 0; n < job->batch; n++) {
            for (npy_intp j = 0; j < width; j++) {
                const REAL distance = x[n * channels + start + j] - mean[start + j];
                spread[j] += (double)(distance * distance);
            }
        }
        for (npy_intp j = 0; j < width; j++) {
            variance[start + j] = (REAL)(spread[j] / (double)job->batch);
        }
    }
}

/* Write (x - mean) * factor + bias for all elements of some images; a bias of NULL is zeros. */
CLONES static void OF(scale_channels)(void *given, int64_t from, int64_t to) {
    const ChannelsJob *job = given;
    const REAL *mean = (const REAL *)job->mean, *factor = (const REAL *)job->factor;
    const npy_intp size = job->size, channels = job->channels;
    const REAL *x = (const REAL *)job->from + from * channels * size, *bias = (const REAL *)job->bias;
    REAL *out = (REAL *)job->to + from * channels * size;
    for (npy_intp n = from; n < to; n++, x += channels * size, out += channels * size) {
        if (size == 1) {
            EACH_ALONE for (npy_intp c = 0; c < channels; c++) {
                out[c] = (x[c] - mean[c]) * factor[c] + (bias == NULL ? 0 : bias[c]);
            }
            continue;
        }
        for (npy_intp c = 0; c < channels; c++) {
            const REAL shift = bias == NULL ? 0 : bias[c];
            EACH_ALONE for (npy_intp i = c * size; i < (c + 1) * size; i++) {
                out[i] = (x[i] - mean[c]) * factor[c] + shift;
            }
        }
    }
}

/* Normalise a ChannelsJob: in training by the batch's own statistics, which are computed first, and update the running
 * ones unless they are NULL. */
static void OF(normalize_channels)(ChannelsJob *job) {
    const npy_intp elements = job->batch * job->channels * job->size;
    REAL *mean = (REAL *)job->mean, *variance = (REAL *)job->variance;
    REAL *rstd = (REAL *)job->rstd, *factor = (REAL *)job->factor;
    const REAL *weight = (const REAL *)job->weight;
    if (job->is_training) {
        const npy_intp strips = job->size == 1 ? (job->channels + BESIDE - 1) / BESIDE : job->channels;
        do_ranges(job->size == 1 ? OF(column_statistics) : OF(channel_statistics), job, strips, elements);
    }
    for (npy_intp c = 0; c < job->channels; c++) {
        rstd[c] = 1 / OF(sqrt)(variance[c] + (REAL)job->eps);
        factor[c] = weight == NULL ? rstd[c] : rstd[c] * weight[c];
    }
    do_ranges(OF(scale_channels), job, job->batch, elements);
    if (job->running_mean == NULL) {
        return;
    }
    const REAL count = (REAL)(job->batch * job->size), part = (REAL)job->momentum, rest = (REAL)(1 - job->momentum);
    for (npy_intp c = 0; c < job->channels; c++) {
        const REAL unbiased = variance[c] * count / (count - 1);
        ((REAL *)job->new_mean)[c] = part * mean[c] + rest * ((const REAL *)job->running_mean)[c];
        ((REAL *)job->new_variance)[c] = part * unbiased + rest * ((const REAL *)job->running_variance)[c];
    }
}
