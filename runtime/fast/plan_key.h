/* What the plan of a call depends on, as words; and the entries that remember what came of it. */

#ifndef OPWRIGHT_PLAN_KEY_H
#define OPWRIGHT_PLAN_KEY_H

#include "core.h"

#define MOST_WORDS 96
#define MOST_RESULTS 5
#define MOST_DIMS 8

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
    PyObject *dtype;
    PyObject *keys; /* those of its tensor */
    PyObject *form;
} PlannedResult;

/* What is remembered of calls with a key. Without results these are the Python's. */
typedef struct {
    int uses; /* of the table, and of calls under way */
    int64_t hash;
    int count;
    int64_t *words;
    PyObject *held; /* a tuple */
    int results_count;
    PlannedResult results[MOST_RESULTS];
} PlanEntry;

int plan_key_ready(void);
int plan_key_read(PlanKey *key, const char *kinds, PyObject *const *args);
int64_t plan_key_hash(const PlanKey *key);
PlanEntry *plan_entry_new(const PlanKey *key, int64_t hash, PyObject *forms);
int plan_entry_has(const PlanEntry *entry, const PlanKey *key, int64_t hash);
void plan_entry_release(PlanEntry *entry);

#endif
