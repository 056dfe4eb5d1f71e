/* The pool of threads. Who has a long loop (`run_ranges`) opens a region, wakes as many workers as it may, and computes
 * ranges like them until none is left; it waits only for workers that have begun. One region is open at a time: who
 * comes meanwhile, from a worker or from another thread of Python, runs alone, so that threads do not multiply.
 * Nothing here needs the lock of Python, or a Python that has one. */

#define _GNU_SOURCE /* for CPU_COUNT */

#include "threads.h"

#include <fenv.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

#define EXPORTED __attribute__((visibility("default")))
/* The most workers that are started, whatever was asked for. */
#define MOST_WORKERS 255
/* Ranges for each thread: so many that one which is late leaves little to wait for. */
#define RANGES_EACH 4
/* The stack of a worker, which is that of most main threads: kernels of users have arrays there. */
#define STACK ((size_t)8 << 20)

/* A loop that is being computed. */
typedef struct {
    RangeWork work;
    void *job;
    int64_t count, chunk;
    _Atomic int64_t next; /* the first unit that nobody has taken */
    atomic_int errors;    /* the floating-point flags that workers met */
    fenv_t modes;         /* how the one who opened it rounds, and treats small numbers */
} Region;

/* All but `threads` and `is_busy` are read and written under `lock`. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t opened, left;
    Region *region;  /* the open one, or NULL */
    int vacant;      /* how many more workers may enter it */
    int inside;      /* how many have, and not left */
    int started;     /* how many workers there are */
    int is_ending;   /* whether they have to end */
    long regions;    /* how many were opened */
    pthread_t workers[MOST_WORKERS];
    atomic_int threads; /* what loops are split over, with the one who calls */
    atomic_flag is_busy; /* whether somebody has a region */
    int is_held_by_fork; /* whether the handlers of a fork took `is_busy` */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .opened = PTHREAD_COND_INITIALIZER,
          .left = PTHREAD_COND_INITIALIZER,
          .threads = 1,
          .is_busy = ATOMIC_FLAG_INIT};

/* Compute ranges of a region until there are none. */
static void take_ranges(Region *region) {
    int64_t from;
    while ((from = atomic_fetch_add_explicit(&region->next, region->chunk, memory_order_relaxed)) < region->count) {
        const int64_t left = region->count - from;
        region->work(region->job, from, from + (left < region->chunk ? left : region->chunk));
    }
}

/* Compute ranges in a worker: it rounds as the caller does, and its floating-point errors are the caller's. */
static void help(Region *region) {
    fesetenv(&region->modes);
    feclearexcept(FE_ALL_EXCEPT);
    take_ranges(region);
    atomic_fetch_or_explicit(&region->errors, fetestexcept(FE_ALL_EXCEPT), memory_order_relaxed);
}

/* Enter regions for as long as the pool lasts. Returns NULL. */
static void *live(void *unused) {
    (void)unused;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (!pool.is_ending && (pool.region == NULL || pool.vacant == 0)) {
            pthread_cond_wait(&pool.opened, &pool.lock);
        }
        if (pool.is_ending) {
            pthread_mutex_unlock(&pool.lock);
            return NULL;
        }
        Region *region = pool.region;
        pool.vacant--;
        pool.inside++;
        pthread_mutex_unlock(&pool.lock);
        help(region);
        pthread_mutex_lock(&pool.lock);
        if (--pool.inside == 0) {
            pthread_cond_signal(&pool.left);
        }
    }
}

/* Start workers up to a number, or as many as the system allows. They take no signals: Python's handlers belong to its
 * own threads. Returns how many there are. The lock is held. */
static int start_workers(int wanted) {
    if (pool.started >= wanted) {
        return pool.started;
    }
    sigset_t all, before;
    pthread_attr_t how;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&how);
    pthread_attr_setstacksize(&how, STACK);
    while (pool.started < wanted && pthread_create(&pool.workers[pool.started], &how, live, NULL) == 0) {
        pool.started++;
    }
    pthread_attr_destroy(&how);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pool.started;
}

/* Compute a region with workers, of which `most` may enter. */
static void run_region(Region *region, int most) {
    pthread_mutex_lock(&pool.lock);
    const int workers = start_workers(most < MOST_WORKERS ? most : MOST_WORKERS);
    pool.region = region;
    pool.regions++;
    pool.vacant = workers < most ? workers : most;
    for (int i = 0; i < pool.vacant; i++) {
        pthread_cond_signal(&pool.opened);
    }
    pthread_mutex_unlock(&pool.lock);
    take_ranges(region);
    pthread_mutex_lock(&pool.lock);
    pool.region = NULL;
    while (pool.inside > 0) {
        pthread_cond_wait(&pool.left, &pool.lock);
    }
    pthread_mutex_unlock(&pool.lock);
}

/* Compute `count` units of a job, split into ranges of `grain` or more where there are two at least, the pool has
 * threads, and nobody uses it. What is computed must not depend on where ranges begin. Floating-point errors of all
 * threads are the caller's flags afterwards. */
void run_ranges(RangeWork work, void *job, int64_t count, int64_t grain) {
    const int threads = atomic_load_explicit(&pool.threads, memory_order_relaxed);
    if (threads < 2 || count / 2 < grain || atomic_flag_test_and_set_explicit(&pool.is_busy, memory_order_acquire)) {
        work(job, 0, count);
        return;
    }
    const int64_t even = count / ((int64_t)threads * RANGES_EACH) + 1;
    Region region = {.work = work, .job = job, .count = count, .chunk = even > grain ? even : grain};
    const int64_t others = (count - 1) / region.chunk;
    fegetenv(&region.modes);
    run_region(&region, others < threads - 1 ? (int)others : threads - 1);
    atomic_flag_clear_explicit(&pool.is_busy, memory_order_release);
    feraiseexcept(atomic_load_explicit(&region.errors, memory_order_relaxed));
}

/* Return how many loops were split. */
long count_of_regions(void) {
    pthread_mutex_lock(&pool.lock);
    const long found = pool.regions;
    pthread_mutex_unlock(&pool.lock);
    return found;
}

/* Before a fork: end the workers, unless a loop runs, so that what is forked has one thread. */
static void before_fork(void) {
    pool.is_held_by_fork = !atomic_flag_test_and_set_explicit(&pool.is_busy, memory_order_acquire);
    if (!pool.is_held_by_fork) {
        return;
    }
    pthread_mutex_lock(&pool.lock);
    pool.is_ending = 1;
    pthread_cond_broadcast(&pool.opened);
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < pool.started; i++) {
        pthread_join(pool.workers[i], NULL);
    }
    pool.started = pool.is_ending = 0;
}

/* After a fork, in the parent: the next loop starts workers anew. */
static void after_fork(void) {
    if (pool.is_held_by_fork) {
        pool.is_held_by_fork = 0;
        atomic_flag_clear_explicit(&pool.is_busy, memory_order_release);
    }
}

/* After a fork, in the child, which has no workers, and no loop of another thread. */
static void in_child(void) {
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.opened, NULL);
    pthread_cond_init(&pool.left, NULL);
    pool.region = NULL;
    pool.vacant = pool.inside = pool.started = pool.is_ending = pool.is_held_by_fork = 0;
    atomic_flag_clear_explicit(&pool.is_busy, memory_order_release);
}

/* Return the number that an environment variable begins with, of several the first; 0 if that is none from 1 on. */
static int number_in(const char *name) {
    const char *text = getenv(name);
    const long found = text == NULL ? 0 : strtol(text, NULL, 10);
    return found < 1 ? 0 : found > INT_MAX ? INT_MAX : (int)found;
}

/* Return how many processors this process may use, by its affinity and by the share that its container has. */
static int processors(void) {
    long found = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        found = CPU_COUNT(&allowed);
    }
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
    long quota, period;
    if (file != NULL && fscanf(file, "%ld %ld", &quota, &period) == 2 && period > 0 && quota / period < found) {
        found = (quota + period - 1) / period;
    }
    if (file != NULL) {
        fclose(file);
    }
#endif
    return found < 1 ? 1 : (int)found;
}

/* Find how many threads there may be, once, and be told of forks. */
void threads_ready(void) {
    int threads = number_in("OPWRIGHT_NUM_THREADS");
    threads = threads != 0 ? threads : number_in("OMP_NUM_THREADS");
    atomic_store(&pool.threads, threads != 0 ? threads : processors());
    pthread_atfork(before_fork, after_fork, in_child);
}

/* Return how many threads a long loop is split over. Found by its name, by threadpoolctl, as the next one. */
EXPORTED int opwright_get_num_threads(void) {
    return atomic_load(&pool.threads);
}

/* Have loops be split over that many threads, from the next one on. */
EXPORTED void opwright_set_num_threads(int threads) {
    atomic_store(&pool.threads, threads < 1 ? 1 : threads);
}
