/* test_ordered_jobs.c -- jobs done by threads are taken in the order in which they were given.
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/fail.h"
#include "run/common/threads.h"

enum { JOBS = 2000, THREADS = 4, MOST = 7 };

struct job {
    unsigned number, result, rounds;
};

/* What the work does: fail at a job, do jobs in several rounds; and what was seen. */
struct setting {
    unsigned fails_at, rounds;
    atomic_uint begun, latest, seen_threads;
};

static atomic_int alive;

static void drop(void *job)
{
    atomic_fetch_sub(&alive, 1);
    free(job);
}

static struct job *new_job(unsigned number)
{
    struct job *job = calloc(1, sizeof *job);

    assert_non_null(job);
    job->number = number;
    atomic_fetch_add(&alive, 1);
    return job;
}

/* Some take a hundred times as long as others. */
static unsigned toil(unsigned number)
{
    unsigned sum = number;

    for (unsigned i = 0; i < (number % 13 == 0 ? 20000u : 200u); i++)
        sum = sum * 1664525u + 1013904223u;
    return sum;
}

static enum cleave_status work(void *context, unsigned thread, void *given, bool *more,
                               struct cleave_error *err)
{
    struct setting *setting = context;
    struct job *job = given;

    atomic_fetch_or(&setting->seen_threads, 1u << thread);
    atomic_fetch_add(&setting->begun, 1);
    if (job->number > atomic_load(&setting->latest))
        atomic_store(&setting->latest, job->number);
    job->rounds++;
    job->result = toil(job->number);
    if (job->number == setting->fails_at && job->rounds == setting->rounds)
        return cv_fail(err, CLEAVE_EINPUT, "job %u is bad", job->number);
    *more = job->rounds < setting->rounds;
    return CLEAVE_OK;
}

static struct cv_ordered_jobs *start(struct setting *setting)
{
    struct cv_ordered_jobs *pool = NULL;
    const struct cv_ordered_options options = { .threads = THREADS,
                                                .max = MOST,
                                                .work = work,
                                                .context = setting,
                                                .drop = drop,
                                                .what = "toils" };

    assert_int_equal(cv_ordered_start(&options, &pool, NULL), CLEAVE_OK);
    return pool;
}

struct giver {
    struct cv_ordered_jobs *pool;
    unsigned given;
};

static void *give_all(void *context)
{
    struct giver *giver = context;

    while (giver->given < JOBS &&
           cv_ordered_jobs_submit(giver->pool, new_job(giver->given)))
        giver->given++;
    cv_ordered_close(giver->pool);
    return NULL;
}

/* Take the next one with all of its rounds. */
static struct job *take(struct cv_ordered_jobs *pool, unsigned rounds,
                        enum cleave_status *status, struct cleave_error *err)
{
    void *job;
    bool more;

    *status = cv_ordered_jobs_wait(pool, &job, &more, err);
    for (unsigned i = 1; job != NULL && i < rounds; i++) {
        assert_true(more);
        assert_int_equal(((struct job *)job)->rounds, i);
        cv_ordered_again(pool);
        *status = cv_ordered_jobs_wait(pool, &job, &more, err);
    }
    assert_false(more);
    return job;
}

static void in_order(unsigned rounds)
{
    struct setting setting = { .fails_at = JOBS, .rounds = rounds };
    struct giver giver = { .pool = start(&setting) };
    enum cleave_status status;
    pthread_t thread;
    struct job *job;

    assert_int_equal(pthread_create(&thread, NULL, give_all, &giver), 0);
    for (unsigned i = 0; i < JOBS; i++) {
        job = take(giver.pool, rounds, &status, NULL);
        assert_non_null(job);
        assert_int_equal(status, CLEAVE_OK);
        assert_int_equal(job->number, i);
        assert_int_equal(job->result, toil(i));
        drop(job);
        /* Those in flight, and those that may have been given since. */
        assert_true(atomic_load(&setting.latest) <= i + 2 * MOST);
    }
    assert_null(take(giver.pool, 1, &status, NULL));
    assert_int_equal(status, CLEAVE_OK);
    pthread_join(thread, NULL);
    assert_int_equal(giver.given, JOBS);
    assert_int_equal(atomic_load(&setting.begun), JOBS * rounds);
    assert_true(atomic_load(&setting.seen_threads) < 1u << THREADS);
    cv_ordered_free(giver.pool);
    assert_int_equal(atomic_load(&alive), 0);
}

static void test_order(void **state)
{
    (void)state;
    in_order(1);
}

static void test_more_of_a_job_comes_before_the_next(void **state)
{
    (void)state;
    in_order(3);
}

static void test_a_failure_has_its_place(void **state)
{
    struct setting setting = { .fails_at = 700, .rounds = 1 };
    struct giver giver = { .pool = start(&setting) };
    struct cleave_error err;
    enum cleave_status status;
    pthread_t thread;
    struct job *job;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, give_all, &giver), 0);
    for (unsigned i = 0; i <= 700; i++) {
        job = take(giver.pool, 1, &status, &err);
        assert_non_null(job);
        assert_int_equal(job->number, i);
        assert_int_equal(status, i < 700 ? CLEAVE_OK : CLEAVE_EINPUT);
        drop(job);
    }
    assert_string_equal(err.text, "job 700 is bad");
    assert_null(take(giver.pool, 1, &status, &err));
    pthread_join(thread, NULL); /* it was told that no more are wanted */
    assert_true(giver.given <= 701 + MOST);
    assert_true(atomic_load(&setting.latest) < 701 + MOST);
    cv_ordered_free(giver.pool);
    assert_int_equal(atomic_load(&alive), 0);
}

/* One thread for both sides, which counts how many there is room for. */
static void test_one_thread_gives_and_takes(void **state)
{
    struct setting setting = { .fails_at = JOBS, .rounds = 1 };
    struct cv_ordered_jobs *pool = start(&setting);
    enum cleave_status status;
    struct job *job;
    unsigned taken = 0;

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        if (i - taken == MOST) {
            job = take(pool, 1, &status, NULL);
            assert_int_equal(job->number, taken++);
            drop(job);
        }
        assert_true(cv_ordered_jobs_submit(pool, new_job(i)));
    }
    cv_ordered_close(pool);
    while ((job = take(pool, 1, &status, NULL)) != NULL) {
        assert_int_equal(job->number, taken++);
        drop(job);
    }
    assert_int_equal(taken, 100);
    cv_ordered_free(pool);
    assert_int_equal(atomic_load(&alive), 0);
}

static void test_it_can_be_stopped(void **state)
{
    struct setting setting = { .fails_at = JOBS, .rounds = 2 };
    struct giver giver = { .pool = start(&setting) };
    pthread_t thread;
    void *job;
    bool more;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, give_all, &giver), 0);
    assert_int_equal(cv_ordered_jobs_wait(giver.pool, &job, &more, NULL), CLEAVE_OK);
    assert_true(job != NULL && more); /* and never given again: it is the pool's still */
    cv_ordered_stop(giver.pool);
    pthread_join(thread, NULL);
    assert_true(giver.given <= MOST);
    assert_int_equal(cv_ordered_jobs_wait(giver.pool, &job, &more, NULL), CLEAVE_OK);
    assert_null(job);
    assert_false(cv_ordered_jobs_submit(giver.pool, new_job(0)));
    cv_ordered_free(giver.pool);
    assert_int_equal(atomic_load(&alive), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_more_of_a_job_comes_before_the_next),
        cmocka_unit_test(test_a_failure_has_its_place),
        cmocka_unit_test(test_one_thread_gives_and_takes),
        cmocka_unit_test(test_it_can_be_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
