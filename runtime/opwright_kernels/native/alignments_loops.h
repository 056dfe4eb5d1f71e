/* Sums over alignments, for one type: included with REAL and OF(name). */

/* Return log(exp(x) + exp(y)), in NumPy's steps. */
static inline REAL OF(log_of_sum)(REAL x, REAL y) {
    if (x == y) {
        return x + (REAL)0.693147180559945309417232121458176568;
    }
    const REAL distance = x - y;
    return distance > 0 ? x + OF(log_1p)(OF(power)(-distance)) : y + OF(log_1p)(OF(power)(distance));
}

/* Return the logarithm of the probability of a label at a step; -infinity where the sequence has no such label. */
static inline REAL OF(at_label)(const AlignmentJob *job, npy_intp step, npy_intp row, npy_intp label) {
    const REAL *x = (const REAL *)job->from + (step * job->batch + row) * job->classes;
    return label <= 2 * job->lengths[row] ? x[job->labels[row * job->width + label]] : -(REAL)INFINITY;
}

/* Whether a label may be reached from two before. */
static inline int OF(may_skip)(const AlignmentJob *job, npy_intp row, npy_intp label) {
    const npy_intp *labels = job->labels + row * job->width;
    return label >= 2 && label < job->width && labels[label] != labels[label - 2];
}

/* Write the sums of the paths to each step and label, and minus the logarithm of the probability of each sequence. */
static void OF(align)(void *given) {
    const AlignmentJob *job = given;
    const npy_intp width = job->width;
    for (npy_intp row = 0; row < job->batch; row++) {
        REAL *sums = (REAL *)job->sums + row * job->steps * width;
        for (npy_intp label = 0; label < width; label++) {
            sums[label] = label < 2 ? OF(at_label)(job, 0, row, label) : -(REAL)INFINITY;
        }
        for (npy_intp step = 1; step < job->steps; step++) {
            const REAL *before = sums + (step - 1) * width;
            for (npy_intp label = 0; label < width; label++) {
                REAL reached = label == 0 ? before[0] : OF(log_of_sum)(before[label], before[label - 1]);
                if (label >= 2) {
                    reached = OF(log_of_sum)(
                        reached, OF(may_skip)(job, row, label) ? before[label - 2] : -(REAL)INFINITY);
                }
                sums[step * width + label] = reached + OF(at_label)(job, step, row, label);
            }
        }
        const npy_intp steps = job->ends[row], length = job->lengths[row];
        const REAL *last = sums + (steps - 1) * width;
        ((REAL *)job->losses)[row] = -(
            steps == 0 ? (length ? -(REAL)INFINITY : 0)
            : length   ? OF(log_of_sum)(last[2 * length], last[2 * length - 1])
                       : last[0]);
    }
}

/* Take the sums of paths onwards one step earlier. At the last step of the sequence they begin. */
static void OF(step_back)(const AlignmentJob *job, npy_intp row, npy_intp step, REAL *rest) {
    const npy_intp width = job->width, last = 2 * job->lengths[row];
    const int is_end = job->ends[row] == step + 1;
    for (npy_intp label = 0; label < width; label++) {
        REAL found = rest[label];
        if (is_end) {
            found = label == last || label == last - 1 ? 0 : -(REAL)INFINITY;
        } else {
            found = label < width - 1 ? OF(log_of_sum)(found, rest[label + 1]) : found;
            if (label < width - 2) {
                found = OF(log_of_sum)(found, OF(may_skip)(job, row, label + 2) ? rest[label + 2] : -(REAL)INFINITY);
            }
        }
        rest[label] = found + OF(at_label)(job, step, row, label);
    }
}

/* Take from the probabilities at a step of a sequence what the paths make of them, and scale what is left. `of_paths`
 * has room for the classes. */
static void OF(write_step)(const AlignmentJob *job, npy_intp row, npy_intp step, const REAL *rest, REAL *of_paths) {
    const npy_intp at = step * job->batch + row, width = job->width;
    const REAL *x = (const REAL *)job->from + at * job->classes;
    const REAL *alpha = (const REAL *)job->sums + (row * job->steps + step) * width;
    const REAL loss = ((const REAL *)job->losses)[row], grad = ((const REAL *)job->grad)[row];
    REAL *to = (REAL *)job->to + at * job->classes;
    memset(of_paths, 0, (size_t)job->classes * sizeof(REAL));
    for (npy_intp label = 0; label < width; label++) {
        REAL share = -(REAL)INFINITY;
        if (label <= 2 * job->lengths[row] && rest[label] > -(REAL)INFINITY) {
            share = alpha[label] + rest[label] + loss - OF(at_label)(job, step, row, label);
        }
        share = loss == (REAL)INFINITY ? (REAL)NAN : share;
        of_paths[job->labels[row * width + label]] += OF(power)(share);
    }
    const int is_zero = step >= job->ends[row] || (loss == (REAL)INFINITY && job->zeroes_infinity);
    for (npy_intp c = 0; c < job->classes; c++) {
        to[c] = is_zero ? 0 : (OF(power)(x[c]) - of_paths[c]) * grad;
    }
}

/* Write the gradients of all sequences. */
static void OF(align_backward)(void *given) {
    const AlignmentJob *job = given;
    REAL *rest = job->room, *of_paths = rest + job->width;
    for (npy_intp row = 0; row < job->batch; row++) {
        for (npy_intp label = 0; label < job->width; label++) {
            rest[label] = -(REAL)INFINITY;
        }
        for (npy_intp step = job->steps - 1; step >= 0; step--) {
            OF(step_back)(job, row, step, rest);
            OF(write_step)(job, row, step, rest, of_paths);
        }
    }
}
