/* test_stream_select.c -- which workers serve which of several streams.
 * SPDX-License-Identifier: MIT */
#include "stream_check.h"

#include <string.h>

#include "select/streams/stream_select.h"

enum { MOST = 7 };

/* Counts and sums agree, every worker serves one stream or has a reason, delays follow
 * the order and fit into the round. */
static void check_choice(const struct cv_stream_task *task,
                         const struct cv_stream_choice *choice)
{
    const struct cv_stream_ring *ring = &task->ring;
    struct cv_stream_times *times;
    struct cv_arena arena;
    uint32_t members = 0;
    double sum = 0;

    cv_arena_init(&arena);
    times = cv_ring_times(ring, &arena);
    assert_non_null(times);
    assert_int_equal(choice->first[0], 0);
    for (uint32_t m = 0; m < task->nstreams; m++) {
        const uint32_t from = choice->first[m], to = choice->first[m + 1];
        double delays = 0, ups = 0;

        for (uint32_t i = from; i < to; i++) {
            const uint32_t w = choice->members[i];
            const uint32_t before = choice->members[i > from ? i - 1 : to - 1];

            assert_int_equal(choice->stream_of[w], m);
            assert_near(choice->delay[w],
                        cv_stream_delay(cv_ring_margin(ring, w), &times[before],
                                        &times[w]),
                        1e-12);
            delays += choice->delay[w];
            ups += cv_stream_profit(&ring->workers[w], ring->tau_s);
            members++;
        }
        assert_near(choice->delay_sum[m], delays, 1e-9);
        assert_true(delays <= ring->tau_s * (1 + 1e-12));
        assert_near(choice->stream_ups[m], ups, 1e-9);
        sum += ups;
    }
    assert_int_equal(choice->selected, members);
    assert_near(choice->throughput, sum, 1e-9);
    assert_true(choice->throughput <= choice->upper_bound * (1 + 1e-12));
    for (uint32_t w = 0; w < ring->n; w++) {
        const bool taken = choice->stream_of[w] != UINT32_MAX;

        assert_int_equal(choice->reason[w] == CV_TAKEN, taken);
        assert_in_range(choice->reason[w], CV_TAKEN, CV_LESS_VALUE);
        assert_int_equal(isnan(choice->delay[w]), !taken);
        members -= taken;
    }
    assert_int_equal(members, 0);
    cv_arena_done(&arena);
}

/* The least sum of delays of some workers over all orders. */
static void try_orders(const struct cv_stream_task *task,
                       const struct cv_stream_times *times, uint32_t *order, uint32_t n,
                       uint32_t at, double *min)
{
    if (at == n) {
        double sum = 0;

        for (uint32_t i = 0; i < n; i++)
            sum +=
                cv_stream_delay(cv_ring_margin(&task->ring, order[i]),
                                &times[order[i > 0 ? i - 1 : n - 1]], &times[order[i]]);
        *min = fmin(*min, sum);
        return;
    }
    for (uint32_t i = at; i < n; i++) {
        uint32_t kept = order[at];

        order[at] = order[i];
        order[i] = kept;
        try_orders(task, times, order, n, at + 1, min);
        kept = order[at];
        order[at] = order[i];
        order[i] = kept;
    }
}

/* The greatest throughput of all assignments to streams and orders of service. */
static double exhaustive(const struct cv_stream_task *task)
{
    const uint32_t n = task->ring.n;
    bool fits[1u << MOST];
    double profit[1u << MOST], best[1u << MOST];
    struct cv_stream_times *times;
    struct cv_arena arena;

    cv_arena_init(&arena);
    times = cv_ring_times(&task->ring, &arena);
    assert_non_null(times);
    for (unsigned set = 0; set < 1u << n; set++) {
        uint32_t order[MOST], members = 0;
        double min = INFINITY;

        profit[set] = 0;
        for (uint32_t w = 0; w < n; w++)
            if (set >> w & 1) {
                order[members++] = w;
                profit[set] += cv_stream_profit(&task->ring.workers[w], task->ring.tau_s);
            }
        try_orders(task, times, order, members, members > 0 ? 1 : 0, &min);
        fits[set] = min <= task->ring.tau_s;
        best[set] = 0;
    }
    for (uint32_t m = 0; m < task->nstreams; m++)
        for (unsigned set = (1u << n); set-- > 0;)
            for (unsigned part = set; part > 0; part = (part - 1) & set)
                if (fits[part])
                    best[set] = fmax(best[set], best[set & ~part] + profit[part]);
    cv_arena_done(&arena);
    return best[(1u << n) - 1];
}

static void small_platforms_against_all_choices(void **state)
{
    struct cv_arena arena;
    struct cleave_error err;
    double found = 0, possible = 0, ring_found = 0;
    unsigned reached = 0, tried = 0;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 150; number++) {
        struct cleave_worker workers[MOST];
        double margin[MOST];
        struct cv_stream_task task = { .nstreams = 1 + number % 3 };
        struct cv_stream_choice own, ring;
        struct cv_random random;
        double best;

        cv_random_at(&random, 61, number, 0, 0);
        task.ring =
            (struct cv_stream_ring){ workers,
                                     1 + (uint32_t)random_between(&random, 0, MOST),
                                     random_between(&random, 0.1, 0.4),
                                     random_between(&random, 0, 2),
                                     NULL,
                                     margin };
        for (uint32_t w = 0; w < task.ring.n; w++) {
            workers[w] = stream_worker(&random);
            margin[w] = number % 4 == 0 ? random_between(&random, 0, 0.3) : 0.1;
        }
        best = exhaustive(&task);
        task.weights = CV_SELECT_OWN;
        MUST(cv_stream_select(&task, &arena, &own, &err));
        check_choice(&task, &own);
        task.weights = CV_SELECT_RING;
        MUST(cv_stream_select(&task, &arena, &ring, &err));
        check_choice(&task, &ring);
        assert_true(own.throughput <= best * (1 + 1e-9));
        assert_true(own.upper_bound >= best * (1 - 1e-9));
        assert_true(ring.throughput <= best * (1 + 1e-9));
        assert_true(!own.optimal || own.throughput >= best * (1 - 1e-9));
        assert_true(ring.optimal);
        found += own.throughput;
        ring_found += ring.throughput;
        possible += best;
        reached += own.throughput >= best * (1 - 1e-9);
        tried++;
        cv_arena_reset(&arena);
    }
    assert_true(found > 0.999 * possible);
    assert_true(ring_found < 0.99 * possible);
    assert_true(reached > 0.95 * tried);
    cv_arena_done(&arena);
}

/* Published workers: ring weights are solved exactly, own weights reach what sums of
 * other programs reached, and the bound is not far. */
static void the_published_workers(void **state)
{
    static const struct {
        double tau, margin;
        uint32_t streams, ring_selected;
        double ring, own_at_least, own_at_most;
    } rows[] = {
        { 100, 9, 1, 333, 213251.4, 231367.9, 231374.4 },
        { 10, 0, 1, 333, 212814.0, 230729.8, 230735.7 },
        { 5, 0, 3, 498, 228168.0, 230626.1, 230628.5 },
        { 2, 0, 1, 66, 65340.0, 98459.9, 98990.3 },
        { 2, 0, 4, 264, 204336.0, 226676.8, 226697.0 },
        { 2, 0, 8, 528, 226180.0, 228197.6, 228197.8 },
        { 1, 0, 32, 1000, 224095.4, 224095.3, 224095.5 },
    };
    static struct cleave_worker workers[PUBLISHED_WORKERS];
    static double margin[PUBLISHED_WORKERS];
    struct cleave_error err;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    published_workers(workers);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cv_stream_task task = {
            { workers, PUBLISHED_WORKERS, rows[i].tau, 1, NULL, margin },
            rows[i].streams,
            CV_SELECT_RING,
            0,
        };
        struct cv_stream_choice choice;

        for (uint32_t w = 0; w < PUBLISHED_WORKERS; w++)
            margin[w] = rows[i].margin;
        MUST(cv_stream_select(&task, &arena, &choice, &err));
        check_choice(&task, &choice);
        assert_true(choice.optimal && fabs(choice.throughput - rows[i].ring) < 0.06);
        assert_int_equal(choice.selected, rows[i].ring_selected);
        task.weights = CV_SELECT_OWN;
        MUST(cv_stream_select(&task, &arena, &choice, &err));
        check_choice(&task, &choice);
        assert_true(choice.throughput >= rows[i].own_at_least);
        assert_true(choice.throughput <= rows[i].own_at_most);
        assert_true(choice.upper_bound <= rows[i].own_at_most);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

static void reasons_for_being_left_out(void **state)
{
    const struct cleave_worker workers[] = {
        { 100, 0.01, 1e5, 0.01, 1e5, 0.01 },
        { 1000, 0.6, 1e5, 0.01, 1e5, 0.01 }, /* latencies longer than the round */
        { 1000, 0.5, 1e5, 0.01, 1e5, 0.01 }, /* just as long                    */
        { 100, 0.01, 1e5, 0.6, 1e5, 0.01 },  /* messages longer                 */
        { 1, 0.01, 1e5, 0.45, 1e5, 0.01 },   /* fits, but not with a better one */
        { 100, 0.01, 1e5, 0.1, 1e5, 0.01 },
    };
    const enum cv_left_why pending[] = { CV_TAKEN,    CV_NO_GAIN,    CV_NO_GAIN,
                                         CV_TOO_LONG, CV_LESS_VALUE, CV_TAKEN };
    struct cv_stream_task task = {
        { workers, 6, 1, 1, NULL, NULL }, 1, CV_SELECT_OWN, 0
    };
    struct cv_stream_choice choice;
    struct cleave_error err;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (int weights = CV_SELECT_RING; weights <= CV_SELECT_OWN; weights++) {
        task.weights = (enum cv_select_weights)weights;
        MUST(cv_stream_select(&task, &arena, &choice, &err));
        check_choice(&task, &choice);
        for (uint32_t w = 0; w < 6 && weights == CV_SELECT_OWN; w++)
            assert_int_equal(choice.reason[w], pending[w]);
    }
    /* More streams than workers of use; and none of use at all. */
    task.nstreams = 9;
    MUST(cv_stream_select(&task, &arena, &choice, &err));
    check_choice(&task, &choice);
    assert_int_equal(choice.selected, 3);
    assert_true(choice.optimal);
    task.ring.tau_s = 0.01;
    MUST(cv_stream_select(&task, &arena, &choice, &err));
    check_choice(&task, &choice);
    assert_int_equal(choice.selected, 0);
    assert_true(choice.optimal && choice.throughput == 0);
    cv_arena_done(&arena);
}

/* Results without latency and of no size take no time: they weigh nothing. */
static void workers_without_results(void **state)
{
    struct cleave_worker workers[20];
    struct cv_stream_task task = {
        { workers, 20, 1, 0, NULL, NULL }, 2, CV_SELECT_OWN, 0
    };
    struct cv_stream_choice choice;
    struct cleave_error err;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t w = 0; w < 20; w++)
        workers[w] = (struct cleave_worker){ 10 + w, 0, 1e3, 0.05, 1e3, 0 };
    MUST(cv_stream_select(&task, &arena, &choice, &err));
    check_choice(&task, &choice);
    assert_true(choice.optimal);
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_platforms_against_all_choices),
        cmocka_unit_test(the_published_workers),
        cmocka_unit_test(reasons_for_being_left_out),
        cmocka_unit_test(workers_without_results),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
