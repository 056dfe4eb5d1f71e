/* Maxima of windows at random positions, and the most frequent elements, for one type: included with REAL and
 * OF(name). */

/* Write where the windows of a dimension begin: the last at the end, the others in steps of a broken number. Returns 0
 * if one is outside of the image. */
static int OF(find_starts)(const FractionalJob *job, int dim, REAL sample, npy_intp *starts) {
    const npy_intp wanted = job->wanted[dim], last = job->sizes[dim] - job->kernel[dim];
    for (npy_intp i = 0; i < wanted; i++) {
        starts[i] = last;
        if (i < wanted - 1) {
            const REAL step = (REAL)last / (REAL)(wanted - 1), moved = ((REAL)i + sample) * step, from = sample * step;
            starts[i] = (npy_intp)moved - (npy_intp)from;
        }
        if (starts[i] < 0 || starts[i] > last) {
            return 0;
        }
    }
    return 1;
}

/* Write the largest element of the window at `from`, and its index within the plane or volume. */
static inline void OF(take_largest)(const FractionalJob *job, const REAL *x, npy_intp from, REAL *best, int64_t *at) {
    const npy_intp height = job->sizes[1], width = job->sizes[2];
    *best = x[from];
    *at = from;
    for (npy_intp d = 0; d < job->kernel[0]; d++) {
        for (npy_intp i = 0; i < job->kernel[1]; i++) {
            for (npy_intp j = 0; j < job->kernel[2]; j++) {
                const npy_intp spot = from + (d * height + i) * width + j;
                if (x[spot] > *best || (x[spot] != x[spot] && spot != from)) {
                    *best = x[spot];
                    *at = spot;
                }
            }
        }
    }
}

/* Write the largest element of each window, and its index. `starts` has room for the windows of each dimension. */
static void OF(fractional_pool)(void *given) {
    FractionalJob *job = given;
    npy_intp *layers = job->starts, *rows = layers + job->wanted[0], *columns = rows + job->wanted[1];
    REAL *to = (REAL *)job->to;
    int64_t *index = job->index;
    for (npy_intp plane = 0; plane < job->planes; plane++) {
        const REAL *sample = (const REAL *)job->samples + plane * job->dims;
        const int dims = job->dims;
        if (!(dims == 3 ? OF(find_starts)(job, 0, sample[0], layers) : (layers[0] = 0, 1)) ||
            !OF(find_starts)(job, 1, sample[1], rows) ||
            !OF(find_starts)(job, 2, dims == 3 ? sample[2] : sample[0], columns)) {
            job->is_outside = 1;
            return;
        }
        const REAL *x = (const REAL *)job->from + plane * job->sizes[0] * job->sizes[1] * job->sizes[2];
        for (npy_intp d = 0; d < job->wanted[0]; d++) {
            for (npy_intp i = 0; i < job->wanted[1]; i++) {
                for (npy_intp j = 0; j < job->wanted[2]; j++) {
                    const npy_intp from = (layers[d] * job->sizes[1] + rows[i]) * job->sizes[2] + columns[j];
                    OF(take_largest)(job, x, from, to++, index++);
                }
            }
        }
    }
}

/* Write the most frequent element of each row, the smallest of several, and where it last stood. NaN is equal to none
 * and the largest. */
static void OF(most_frequent)(void *given) {
    const ModeJob *job = given;
    for (npy_intp row = 0; row < job->outer * job->inner; row++) {
        const REAL *x = (const REAL *)job->from + row / job->inner * job->length * job->inner + row % job->inner;
        npy_intp best = 0, times = 0;
        for (npy_intp i = 0; i < job->length; i++) {
            const REAL value = x[i * job->inner], held = x[best * job->inner];
            npy_intp count = 0, last = i;
            for (npy_intp j = 0; j < job->length; j++) {
                const int is_equal = x[j * job->inner] == value;
                count += is_equal;
                last = is_equal ? j : last;
            }
            count = count == 0 ? 1 : count;
            if (count > times || (count == times && (value < held || (held != held && value == value)))) {
                best = last;
                times = count;
            }
        }
        ((REAL *)job->to)[row] = x[best * job->inner];
        job->index[row] = (int64_t)best;
    }
}
