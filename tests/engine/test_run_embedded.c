/* test_run_embedded.c -- a program with four runs at once, two of which it cancels. It runs
 * under valgrind and sanitizers, too. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cleave/cleave.h>

enum { RUNS = 4, LINES = 2000 };

static char input[] = "/tmp/cleave-embedded-XXXXXX";
static uint64_t input_bytes;
static sem_t begun; /* posted by each run that is going to be cancelled */

struct run {
    pthread_t thread;
    struct cleave_cancel *cancel; /* NULL: the run goes to its end */
    enum cleave_status status;
    uint64_t bytes, chunks; /* received by `keep` */
    unsigned progress;      /* calls */
    bool waits;
};

static enum cleave_status keep(void *context, const struct cleave_kept_output *output,
                               struct cleave_error *err)
{
    struct run *run = context;

    (void)err;
    assert_int_equal(output->first_byte, run->bytes);
    run->bytes += output->end - output->begin;
    run->chunks++;
    return CLEAVE_OK;
}

static void progress(void *context, const struct cleave_progress *now)
{
    struct run *run = context;

    if (run->cancel != NULL && !run->waits && now->busy > 0) {
        run->waits = true;
        sem_post(&begun);
    }
    run->progress++;
}

static void *execute(void *context)
{
    static const char *const copy[] = { "cat", NULL }, *const hang[] = { "sleep", "600",
                                                                         NULL };
    const char *const files[] = { input };
    struct run *run = context;
    const struct cleave_execution execution = {
        .command = run->cancel != NULL ? hang : copy,
        .input = { .files = files, .count = 1 },
        .output = { .keep = keep, .keep_context = run },
        .workers.count = 2,
        .policy.block = 4096,
        .listener = { .progress = progress, .context = run },
        .cancel = run->cancel,
    };
    struct cleave_execution_result *result = NULL;

    run->status = cleave_execute(&execution, &result, NULL);
    assert_non_null(result);
    if (run->cancel == NULL) {
        assert_int_equal(run->bytes, input_bytes);
        assert_int_equal(run->chunks, result->chunks);
        assert_int_equal((uint64_t)result->left_bytes, 0);
    } else {
        assert_int_equal(result->stopped_by, CLEAVE_CANCELLED);
        assert_int_equal((uint64_t)result->left_bytes, input_bytes);
        assert_int_equal(run->bytes, 0);
    }
    cleave_execution_free(result);
    return NULL;
}

static void two_of_four_runs_are_cancelled(void **state)
{
    struct run runs[RUNS] = { { .status = CLEAVE_OK } };

    (void)state;
    for (int i = 0; i < RUNS; i++) {
        if (i % 2 == 1)
            assert_int_equal(cleave_cancel_new(&runs[i].cancel, NULL), CLEAVE_OK);
        assert_int_equal(pthread_create(&runs[i].thread, NULL, execute, &runs[i]), 0);
    }
    for (int i = 1; i < RUNS; i += 2)
        while (sem_wait(&begun) != 0)
            ;
    for (int i = 1; i < RUNS; i += 2)
        cleave_cancel(runs[i].cancel);
    for (int i = 0; i < RUNS; i++) {
        pthread_join(runs[i].thread, NULL);
        assert_int_equal(runs[i].status, i % 2 == 1 ? CLEAVE_ESTOPPED : CLEAVE_OK);
        cleave_cancel_free(runs[i].cancel);
    }
}

static int write_input(void **state)
{
    const int fd = mkstemp(input);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    struct stat now;

    (void)state;
    if (file == NULL || sem_init(&begun, 0, 0) != 0)
        return 1;
    for (int i = 0; i < LINES; i++)
        fprintf(file, "line %d\n", i);
    if (fclose(file) != 0 || stat(input, &now) != 0)
        return 1;
    input_bytes = (uint64_t)now.st_size;
    return 0;
}

static int remove_input(void **state)
{
    (void)state;
    return unlink(input);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(
        two_of_four_runs_are_cancelled) };

    return cmocka_run_group_tests(tests, write_input, remove_input);
}
