/* What the plan of a call depends on, as words; and the tables that remember what came of it. */

#ifndef OPWRIGHT_PLAN_KEY_H
#define OPWRIGHT_PLAN_KEY_H

#include "fast/core.h"

#define MOST_WORDS 96
#define MOST_RESULTS 8
#define MOST_DIMS 8
#define PLAN_SLOTS 128 /* a power of two; half of them are used */
#define PATIENCE 64

/* A key while it is read. `held` are the objects whose addresses are among the words: borrowed. */
typedef struct {
    int64_t words[MOST_WORDS];
    int count;
    PyObject *held[MOST_ARGUMENTS];
    int held_count;
} PlanKey;

/* A result as it was planned. All references are the entry's. */
typedef struct {
    int ndim;
    Py_ssize_t dims[MOST_DIMS];
    Py_ssize_t steps[MOST_DIMS];
    Py_ssize_t offset; /* of a view: the bytes before it */
    PyObject *dtype;
    PyObject *keys; /* those of its tensor */
    PyObject *spec;
} PlannedResult;

/* What is remembered of calls with a key. Without results these are the Python's. */
typedef struct {
    int references; /* by the table, and by calls under way */
    int64_t hash;
    int count;
    int64_t *words;
    PyObject *held; /* a tuple */
    PyObject *cast; /* a tuple: the number for each argument, or the dtype it is cast to; None: as it is; or NULL */
    int is_reduced; /* whether the kernel is a pointwise one that computes half or bfloat16 in float32 */
    int results_count;
    PlannedResult results[MOST_RESULTS];
} PlanEntry;

/* The entries of a kernel. */
typedef struct {
    int used;
    int patience; /* how many calls in a row may be new before the cache is filled no more */
    PlanEntry *slots[PLAN_SLOTS];
} PlanTable;

int plan_key_read(PlanKey *key, const char *kinds, PyObject *const *args);
int64_t plan_key_hash(const PlanKey *key);
PlanEntry *plan_entry_new(const PlanKey *key, int64_t hash);
int plan_entry_read(PlanEntry *entry, PyObject *found, Py_ssize_t total);
void plan_entry_forget(PlanEntry *entry);
void plan_entry_release(PlanEntry *entry);
PlanEntry *plan_table_find(PlanTable *table, const PlanKey *key, int64_t hash);
void plan_table_add(PlanTable *table, PlanEntry *entry);
void plan_table_clear(PlanTable *table);

/* plan_results.c */
int result_is_row_major(const PlannedResult *result);
int output_is_new(const PlannedResult *result, PyObject *output, PyObject *const *values, int count);
PyObject *output_copied(const PlannedResult *result, PyObject *output);
int may_write(const PlannedResult *result, const char *kinds, PyObject *const *args, int position);
int write_output(PyObject *target, PyObject *output);

#endif
