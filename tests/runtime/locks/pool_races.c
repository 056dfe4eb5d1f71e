/* A program of its own, compiled with -fsanitize=thread: threads open loops at once, and loops within loops, and change
 * the number of threads, while the main thread forks. `pool_races FORKS ROUNDS` prints how many loops were split. */

#include "fast/arrays/threads.c" /* of runtime/opwright_core */

#include <sys/wait.h>

#define COUNT 100000
#define THREADS 8

/* A loop, and how many more are opened in each range of it. */
typedef struct {
    double *to;
    int depth;
} Loop;

static void compute(int depth);

static void work(void *given, int64_t from, int64_t to) {
    const Loop *loop = given;
    for (int64_t i = from; i < to; i++) {
        loop->to[i] = (double)i / 2;
    }
    if (loop->depth > 0) {
        compute(loop->depth - 1);
    }
}

/* Run a loop, and end the program if an element is not computed. */
static void compute(int depth) {
    Loop loop = {calloc(COUNT, sizeof(double)), depth};
    run_ranges(work, &loop, COUNT, COUNT / 8);
    for (int i = 0; i < COUNT; i++) {
        if (loop.to[i] != (double)i / 2) {
            abort();
        }
    }
    free(loop.to);
}

static int rounds;

static void *compute_often(void *given) {
    const int own = (int)(intptr_t)given;
    for (int i = 0; i < rounds; i++) {
        compute(i % 2);
        opwright_set_num_threads(1 + (own + i) % 5);
    }
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t threads[THREADS];
    if (count < 3) {
        return 2;
    }
    rounds = atoi(arguments[2]);
    threads_ready();
    opwright_set_num_threads(4);
    compute(1);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, compute_often, (void *)(intptr_t)i);
    }
    for (int i = 0; i < atoi(arguments[1]); i++) {
        int status;
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);
            compute(0);
            _exit(0);
        }
        if (waitpid(child, &status, 0) != child || status != 0) {
            return 1;
        }
        compute(1);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    opwright_set_num_threads(3);
    compute(0);
    printf("%ld\n", count_of_regions());
    return 0;
}
