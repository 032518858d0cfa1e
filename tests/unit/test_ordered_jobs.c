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

#include "run/common/threads.h"

enum { JOBS = 2000, THREADS = 4, MOST = 7 };

struct job {
    unsigned number, result, rounds;
};

/* The number of rounds of a job; and the observations. */
struct setting {
    unsigned rounds;
    atomic_uint begun, latest;
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

static bool work(void *context, void *given)
{
    struct setting *setting = context;
    struct job *job = given;

    atomic_fetch_add(&setting->begun, 1);
    if (job->number > atomic_load(&setting->latest))
        atomic_store(&setting->latest, job->number);
    job->rounds++;
    job->result = toil(job->number);
    return job->rounds < setting->rounds;
}

static struct cv_ordered_jobs *start(struct setting *setting)
{
    struct cv_ordered_jobs *pool = NULL;
    const struct cv_ordered_options options = {
        .threads = THREADS, .max = MOST, .work = work, .context = setting, .drop = drop
    };

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
static struct job *take(struct cv_ordered_jobs *pool, unsigned rounds)
{
    bool more;
    struct job *job = cv_ordered_jobs_wait(pool, &more);

    for (unsigned i = 1; job != NULL && i < rounds; i++) {
        assert_true(more);
        assert_int_equal(job->rounds, i);
        cv_ordered_again(pool);
        job = cv_ordered_jobs_wait(pool, &more);
    }
    assert_false(more);
    return job;
}

static void in_order(unsigned rounds)
{
    struct setting setting = { .rounds = rounds };
    struct giver giver = { .pool = start(&setting) };
    pthread_t thread;
    struct job *job;

    assert_int_equal(pthread_create(&thread, NULL, give_all, &giver), 0);
    for (unsigned i = 0; i < JOBS; i++) {
        job = take(giver.pool, rounds);
        assert_non_null(job);
        assert_int_equal(job->number, i);
        assert_int_equal(job->result, toil(i));
        drop(job);
        /* Jobs in flight, and jobs that may have been given since. */
        assert_true(atomic_load(&setting.latest) <= i + 2 * MOST);
    }
    assert_null(take(giver.pool, 1));
    pthread_join(thread, NULL);
    assert_int_equal(giver.given, JOBS);
    assert_int_equal(atomic_load(&setting.begun), JOBS * rounds);
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

/* One thread for both sides, which counts how many there is room for. */
static void test_one_thread_gives_and_takes(void **state)
{
    struct setting setting = { .rounds = 1 };
    struct cv_ordered_jobs *pool = start(&setting);
    struct job *job;
    unsigned taken = 0;

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        if (i - taken == MOST) {
            job = take(pool, 1);
            assert_int_equal(job->number, taken++);
            drop(job);
        }
        assert_true(cv_ordered_jobs_submit(pool, new_job(i)));
    }
    cv_ordered_close(pool);
    while ((job = take(pool, 1)) != NULL) {
        assert_int_equal(job->number, taken++);
        drop(job);
    }
    assert_int_equal(taken, 100);
    cv_ordered_free(pool);
    assert_int_equal(atomic_load(&alive), 0);
}

static void test_it_can_be_stopped(void **state)
{
    struct setting setting = { .rounds = 2 };
    struct giver giver = { .pool = start(&setting) };
    pthread_t thread;
    void *job;
    bool more;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, give_all, &giver), 0);
    job = cv_ordered_jobs_wait(giver.pool, &more);
    assert_true(job != NULL && more); /* and never given again: it is the pool's still */
    cv_ordered_stop(giver.pool);
    pthread_join(thread, NULL);
    assert_true(giver.given <= MOST);
    assert_null(cv_ordered_jobs_wait(giver.pool, &more));
    assert_false(cv_ordered_jobs_submit(giver.pool, new_job(0)));
    cv_ordered_free(giver.pool);
    assert_int_equal(atomic_load(&alive), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_more_of_a_job_comes_before_the_next),
        cmocka_unit_test(test_one_thread_gives_and_takes),
        cmocka_unit_test(test_it_can_be_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
