/* The pool of threads over which long loops are split: one for the process, of which extensions of kernels and packages
 * get `run_ranges` by tables. */

#ifndef OPWRIGHT_THREADS_H
#define OPWRIGHT_THREADS_H

#include <stdint.h>

/* Compute the units from `from` up to `to` of a job. Runs without the lock of Python, and in several threads at once.
 */
typedef void (*RangeWork)(void *job, int64_t from, int64_t to);

void run_ranges(RangeWork work, void *job, int64_t count, int64_t grain);
void threads_ready(void);
long count_of_regions(void);
int opwright_get_num_threads(void);
void opwright_set_num_threads(int threads);

#endif
