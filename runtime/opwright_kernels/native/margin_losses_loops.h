/* Losses of margins, for one type: included with REAL and OF(name). */

#include "sums.h"

/* Return how far a score is above the margin of the target's; 0 if it is not, or is NaN. */
static inline REAL OF(excess)(REAL score, REAL of_target, REAL margin) {
    const REAL found = score - of_target + margin;
    return found > 0 ? found : 0;
}

/* Return the class of a row that its target says, or -1 and note that it is out of range. */
static inline npy_intp OF(target_of)(MarginJob *job, npy_intp row) {
    const int64_t target = job->target[row];
    if (target < 0 || target >= job->classes) {
        job->is_out_of_range = 1;
        return -1;
    }
    return (npy_intp)target;
}

/* Write the loss of each row: the mean of excesses, or of their squares. */
static void OF(margin)(void *given) {
    MarginJob *job = given;
    for (npy_intp row = 0; row < job->rows; row++) {
        const REAL *x = (const REAL *)job->from + row * job->classes;
        const npy_intp target = OF(target_of)(job, row);
        double total = 0;
        if (target < 0) {
            return;
        }
        for (npy_intp c = 0; c < job->classes; c++) {
            const REAL excess = c == target ? 0 : OF(excess)(x[c], x[target], (REAL)job->margin);
            total += (double)(job->is_squared ? excess * excess : excess);
        }
        ((REAL *)job->to)[row] = (REAL)total / (REAL)job->classes;
    }
}

/* Write the gradient of each row's loss: slopes, and minus their sum for the target. */
static void OF(margin_gradient)(void *given) {
    MarginJob *job = given;
    for (npy_intp row = 0; row < job->rows; row++) {
        const REAL *x = (const REAL *)job->from + row * job->classes;
        const REAL grad = ((const REAL *)job->grad)[job->is_of_rows ? row : 0];
        REAL *to = (REAL *)job->to + row * job->classes;
        const npy_intp target = OF(target_of)(job, row);
        if (target < 0) {
            return;
        }
        for (npy_intp c = 0; c < job->classes; c++) {
            const REAL excess = OF(excess)(x[c], x[target], (REAL)job->margin);
            to[c] = c == target ? 0 : job->is_squared ? 2 * excess : excess > 0;
        }
        to[target] = -(REAL)OF(sum_row)(to, job->classes);
        for (npy_intp c = 0; c < job->classes; c++) {
            to[c] = grad * (to[c] / (REAL)job->classes);
            to[c] = job->is_mean ? to[c] / (REAL)job->rows : to[c];
        }
    }
}

/* Return how many classes of a row are listed, up to the first that is negative, and mark them; -1 and a note where one
 * is out of range. */
static npy_intp OF(mark_targets)(MarginJob *job, npy_intp row, REAL *marks) {
    const int64_t *listed = job->target + row * job->classes;
    npy_intp count = job->classes;
    memset(marks, 0, (size_t)job->classes * sizeof(REAL));
    for (npy_intp i = 0; i < job->classes; i++) {
        if (listed[i] < -1 || listed[i] >= job->classes) {
            job->is_out_of_range = 1;
            return -1;
        }
        count = listed[i] < 0 && i < count ? i : count;
        if (i < count) {
            marks[listed[i]] = 1;
        }
    }
    return count;
}

/* Write the loss of each row, and which classes are targets. */
static void OF(multilabel)(void *given) {
    MarginJob *job = given;
    for (npy_intp row = 0; row < job->rows; row++) {
        const REAL *x = (const REAL *)job->from + row * job->classes;
        REAL *marks = (REAL *)job->to_marks + row * job->classes;
        const npy_intp count = OF(mark_targets)(job, row, marks);
        double total = 0;
        if (count < 0) {
            return;
        }
        for (npy_intp i = 0; i < count; i++) {
            const REAL of_target = x[job->target[row * job->classes + i]];
            for (npy_intp c = 0; c < job->classes; c++) {
                total += marks[c] == 0 ? (double)OF(excess)(x[c], of_target, 1) : 0;
            }
        }
        ((REAL *)job->to)[row] = (REAL)total / (REAL)job->classes;
    }
}

/* Write the gradient of each row's loss. `marks` says which classes are targets. */
static void OF(multilabel_gradient)(void *given) {
    MarginJob *job = given;
    for (npy_intp row = 0; row < job->rows; row++) {
        const REAL *x = (const REAL *)job->from + row * job->classes;
        const REAL *marks = (const REAL *)job->marks + row * job->classes;
        const int64_t *listed = job->target + row * job->classes;
        const REAL grad = ((const REAL *)job->grad)[job->is_of_rows ? row : 0];
        REAL *to = (REAL *)job->to + row * job->classes;
        memset(to, 0, (size_t)job->classes * sizeof(REAL));
        for (npy_intp i = 0; i < job->classes && listed[i] >= 0; i++) {
            if (listed[i] >= job->classes) {
                job->is_out_of_range = 1;
                return;
            }
            for (npy_intp c = 0; c < job->classes; c++) {
                const REAL share = x[c] - x[listed[i]] + 1 > 0 ? 1 - marks[c] : 0;
                to[c] += share;
                to[listed[i]] -= share;
            }
        }
        for (npy_intp c = 0; c < job->classes; c++) {
            to[c] = grad * (to[c] / (REAL)job->classes);
            to[c] = job->is_mean ? to[c] / (REAL)job->rows : to[c];
        }
    }
}

/* Write minus the weight at each target's class, times the gradient: scores are (rows, classes, inner). */
static void OF(class_gradient)(void *given) {
    MarginJob *job = given;
    memset(job->to, 0, (size_t)(job->rows * job->classes * job->inner) * sizeof(REAL));
    for (npy_intp i = 0; i < job->rows * job->inner; i++) {
        const int64_t target = job->target[i];
        if (target == job->ignored) {
            continue;
        }
        if (target < 0 || target >= job->classes) {
            job->is_out_of_range = 1;
            return;
        }
        REAL grad = ((const REAL *)job->grad)[job->is_of_rows ? i : 0];
        grad = -(job->is_mean ? grad / *(const REAL *)job->marks : grad);
        grad = job->weight == NULL ? grad : grad * ((const REAL *)job->weight)[target];
        ((REAL *)job->to)[(i / job->inner * job->classes + target) * job->inner + i % job->inner] = grad;
    }
}
