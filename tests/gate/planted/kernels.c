/* Kernels in C with a fault each, and sound ones: called by ctypes. */
#include <stdint.h>

void copy_blocks(int64_t n, const double *x, double *out)
{
    for (int64_t i = 0; i < n; i += 4) /* n need be no multiple of 4 */
        for (int64_t j = i; j < i + 4; j++) {
            double value = x[j];
            if (j < n)
                out[j] = value;
        }
}

void shift_left(int64_t n, const double *x, double *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i + 1]; /* behind the end at last */
}

void difference(int64_t n, const double *x, double *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] - x[i - 1]; /* before the start at first */
}

void ends_with_one(int64_t n, const double *x, double *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i];
    out[n] = 1; /* behind the end of the result */
}

void writes_blocks(int64_t n, const double *x, double *out)
{
    for (int64_t i = 0; i < n; i += 2) /* one element behind the end of the result, where n is odd */
        for (int64_t j = i; j < i + 2; j++)
            out[j] = j < n ? x[j] : 0;
}

void begins_with_one(int64_t n, const double *x, double *out)
{
    out[-1] = 1; /* before the start of the result */
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i];
}

void sums_backwards(int64_t n, const double *x, double *out)
{
    for (int64_t i = n - 1; i >= 0; i--)
        out[i] = x[i] + 0 * out[i + 1]; /* behind the end of the result at first */
}

void gather(int64_t n, const double *x, const int64_t *index, double *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[index[i]];
}

void scale_in_place(int64_t n, double *x, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] *= 2; /* nobody declares this */
        out[i] = x[i];
    }
}

void most(int64_t n, const double *x, double *out)
{
    for (int64_t i = 0; i + 1 < n; i++) /* the last one is left */
        out[i] = 2 * x[i];
}

void sum_floats(int64_t n, const double *x, double *out)
{
    float total = 0;
    for (int64_t i = 0; i < n; i++)
        total += (float)x[i];
    *out = total;
}

void rows_of_4(int64_t n, const double *x, double *out)
{
    int64_t rows = n < 1024 ? n : 1024;
    for (int64_t i = 0; i < n; i++)
        out[i] = i < rows ? 3 * x[i] : 0;
}

void twice(int64_t n, const double *x, double *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] + x[i];
}

void total(int64_t n, const double *x, double *out)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    *out = sum;
}

#include <stdlib.h>

void leaks(int64_t n, const double *x, double *out)
{
    double *forgotten = malloc(64);
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i];
    if (forgotten)
        forgotten[0] = 1;
}

void element(int64_t n, const double *x, int64_t at, double *out)
{
    if (n > 0)
        *out = x[at]; /* at is whatever the caller says */
}
