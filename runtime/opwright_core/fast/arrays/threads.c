/* The pool of threads. Who has a long loop (`run_ranges`) opens a region, which as many workers enter as it may have,
 * and computes ranges like them until none is left; it waits only for workers that have begun. Each begins with a part
 * of its own, the same one in each loop of that length, whose memory its processor has; then it helps with the others.
 * One region is open at a time: who comes meanwhile, from a worker or from another thread of Python, runs alone, so
 * that threads do not multiply. Nothing here needs the lock of Python, or a Python that has one.
 *
 * A thread that sleeps takes 10 to 50 microseconds to wake up. So a worker looks for the next loop a while before it
 * sleeps, where the last one came so soon, and who waits for workers looks as long. */

#define _GNU_SOURCE /* for CPU_COUNT */

#include "threads.h"

#include <fenv.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

#define EXPORTED __attribute__((visibility("default")))
/* The most workers that are started, whatever was asked for. */
#define MOST_WORKERS 255
/* Ranges of each part: so many that a thread which is late leaves little to wait for. */
#define RANGES_EACH 4
/* How long a thread looks before it sleeps, in nanoseconds. */
#define PATIENCE 50000
/* The stack of a worker, which is that of most main threads: kernels of users have arrays there. */
#define STACK ((size_t)8 << 20)
/* Of `seats`: a worker that is inside, a seat that is vacant. */
#define INSIDE 1U
#define VACANT (1U << 16)

/* A part of a loop: the first unit that nobody has taken, and where it ends. */
typedef struct {
    _Alignas(64) _Atomic int64_t next; /* on a cache line of its own */
    int64_t end;
} Part;

/* A loop that is being computed. */
typedef struct {
    RangeWork work;
    void *job;
    int64_t chunk;
    int parts;
    atomic_int errors; /* the floating-point flags that workers met */
    fenv_t modes;      /* how the one who opened it rounds, and treats small numbers */
} Region;

/* What is not atomic belongs to who has `is_busy`. The lock is for those who sleep. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t opened, left;
    Region *region;          /* read by workers inside */
    Part parts[MOST_WORKERS + 1];
    atomic_uint seats;       /* how many workers are inside, and how many more may enter */
    atomic_int asleep;       /* how many workers sleep, or are about to */
    atomic_int is_waited;    /* whether who opened the region sleeps until the last worker leaves */
    atomic_int is_ending;    /* whether workers have to end */
    int started;             /* how many workers there are */
    atomic_long regions;     /* how many were opened */
    pthread_t workers[MOST_WORKERS];
    atomic_int threads;      /* what loops are split over, with the one who calls */
    atomic_flag is_busy;     /* whether somebody has a region */
    int is_held_by_fork;     /* whether the handlers of a fork took `is_busy` */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .opened = PTHREAD_COND_INITIALIZER,
          .left = PTHREAD_COND_INITIALIZER,
          .threads = 1,
          .is_busy = ATOMIC_FLAG_INIT};

/* Return the time in nanoseconds. */
static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Let the processor rest for an instant. */
static void pause_briefly(void) {
    for (int i = 0; i < 8; i++) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
    }
}

/* Compute ranges of a region until there are none: first those of the thread's own part. */
static void take_ranges(Region *region, int own) {
    for (int i = 0; i < region->parts; i++) {
        Part *part = &pool.parts[(own + i) % region->parts];
        int64_t from;
        while ((from = atomic_fetch_add_explicit(&part->next, region->chunk, memory_order_relaxed)) < part->end) {
            const int64_t left = part->end - from;
            region->work(region->job, from, from + (left < region->chunk ? left : region->chunk));
        }
    }
}

/* Compute ranges in a worker: it rounds as the caller does, and its floating-point errors are the caller's. */
static void help(Region *region, int own) {
    fesetenv(&region->modes);
    feclearexcept(FE_ALL_EXCEPT);
    take_ranges(region, own);
    atomic_fetch_or_explicit(&region->errors, fetestexcept(FE_ALL_EXCEPT), memory_order_relaxed);
}

/* Take a vacant seat. Returns whether there was one. */
static int enter(void) {
    unsigned seats = atomic_load(&pool.seats);
    while (seats >= VACANT) {
        if (atomic_compare_exchange_weak(&pool.seats, &seats, seats - VACANT + INSIDE)) {
            return 1;
        }
    }
    return 0;
}

/* Give the seat up, and wake who waits for the last one. */
static void leave(void) {
    if ((atomic_fetch_sub(&pool.seats, INSIDE) - INSIDE) % VACANT == 0 && atomic_load(&pool.is_waited)) {
        pthread_mutex_lock(&pool.lock);
        pthread_cond_signal(&pool.left);
        pthread_mutex_unlock(&pool.lock);
    }
}

/* Wait for a region, first by looking until a time, and enter it. Returns 0 if the worker has to end. */
static int wait_for_region(int64_t until) {
    while (now() < until && !atomic_load_explicit(&pool.is_ending, memory_order_relaxed)) {
        if (enter()) {
            return 1;
        }
        pause_briefly();
    }
    pthread_mutex_lock(&pool.lock);
    atomic_fetch_add(&pool.asleep, 1);
    int is_in = 0;
    while (!atomic_load(&pool.is_ending) && !(is_in = enter())) {
        pthread_cond_wait(&pool.opened, &pool.lock);
    }
    atomic_fetch_sub(&pool.asleep, 1);
    pthread_mutex_unlock(&pool.lock);
    return is_in;
}

/* Enter regions for as long as the pool lasts. `given` is the number of the worker's own part. Returns NULL. */
static void *live(void *given) {
    const int own = (int)(intptr_t)given;
    int64_t idle = 0, until = 0;
    while (wait_for_region(until)) {
        const int64_t waited = now() - idle;
        help(pool.region, own);
        leave();
        idle = now();
        until = waited < PATIENCE ? idle + PATIENCE : 0;
    }
    return NULL;
}

/* Start workers up to a number, or as many as the system allows. They take no signals: Python's handlers belong to its
 * own threads. Returns how many there are. */
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
    while (pool.started < wanted && pthread_create(&pool.workers[pool.started], &how, live,
                                                   (void *)(intptr_t)(pool.started + 1)) == 0) {
        pool.started++;
    }
    pthread_attr_destroy(&how);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pool.started;
}

/* Wait until no worker is inside, first by looking. */
static void wait_for_workers(void) {
    const int64_t until = now() + PATIENCE;
    while (atomic_load(&pool.seats) != 0) {
        if (now() < until) {
            pause_briefly();
            continue;
        }
        pthread_mutex_lock(&pool.lock);
        atomic_store(&pool.is_waited, 1);
        while (atomic_load(&pool.seats) != 0) {
            pthread_cond_wait(&pool.left, &pool.lock);
        }
        atomic_store(&pool.is_waited, 0);
        pthread_mutex_unlock(&pool.lock);
    }
}

/* Compute a region with workers, of which `most` may enter. */
static void run_region(Region *region, int most) {
    const int workers = start_workers(most);
    const int vacant = workers < most ? workers : most;
    pool.region = region;
    atomic_fetch_add_explicit(&pool.regions, 1, memory_order_relaxed);
    atomic_store(&pool.seats, (unsigned)vacant * VACANT);
    if (atomic_load(&pool.asleep) > 0) {
        pthread_mutex_lock(&pool.lock);
        for (int i = 0; i < vacant; i++) {
            pthread_cond_signal(&pool.opened);
        }
        pthread_mutex_unlock(&pool.lock);
    }
    take_ranges(region, 0);
    atomic_fetch_and(&pool.seats, VACANT - 1);
    wait_for_workers();
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
    const int most = threads < MOST_WORKERS ? threads : MOST_WORKERS + 1;
    const int parts = count / grain < most ? (int)(count / grain) : most;
    const int64_t even = count / ((int64_t)parts * RANGES_EACH) + 1;
    Region region = {.work = work, .job = job, .chunk = even > grain ? even : grain, .parts = parts};
    for (int i = 0; i < parts; i++) {
        atomic_init(&pool.parts[i].next, count / parts * i + (i < count % parts ? i : count % parts));
        pool.parts[i].end = count / parts * (i + 1) + (i + 1 < count % parts ? i + 1 : count % parts);
    }
    fegetenv(&region.modes);
    run_region(&region, parts - 1);
    atomic_flag_clear_explicit(&pool.is_busy, memory_order_release);
    feraiseexcept(atomic_load_explicit(&region.errors, memory_order_relaxed));
}

/* Return how many loops were split. */
long count_of_regions(void) {
    return atomic_load_explicit(&pool.regions, memory_order_relaxed);
}

/* Before a fork: end the workers, unless a loop runs, so that what is forked has one thread. */
static void before_fork(void) {
    pool.is_held_by_fork = !atomic_flag_test_and_set_explicit(&pool.is_busy, memory_order_acquire);
    if (!pool.is_held_by_fork) {
        return;
    }
    pthread_mutex_lock(&pool.lock);
    atomic_store(&pool.is_ending, 1);
    pthread_cond_broadcast(&pool.opened);
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < pool.started; i++) {
        pthread_join(pool.workers[i], NULL);
    }
    pool.started = 0;
    atomic_store(&pool.is_ending, 0);
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
    atomic_store(&pool.seats, 0);
    atomic_store(&pool.asleep, 0);
    atomic_store(&pool.is_waited, 0);
    atomic_store(&pool.is_ending, 0);
    pool.started = pool.is_held_by_fork = 0;
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
