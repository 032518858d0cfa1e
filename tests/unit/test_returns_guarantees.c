/* test_returns_guarantees.c -- theorems about the best of all rounds with results: how
 * near FIFO and LIFO come to it, and when they, or the rule for small results, are it. On
 * random instances, against all orders. SPDX-License-Identifier: MIT */
#include "returns_trial.h"

/* --- theorem 4: computing dominates ------------------------------------------------- */

/* Links that differ clearly, nodes that take much longer: LIFO is the best of all. Much
 * longer than the links is not enough: it must be against the gaps between them. */
static void theorem_4(void **state)
{
    const double near[] = { 1, 1.001 }, nodes[] = { 1000, 1000 };
    const uint32_t order[] = { 0, 1 };
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < FEW; number++) {
        trial_begin(&t, 116, number, 2, 4);
        for (uint32_t i = 0; i < t.n; i++) {
            t.c.trips[i].send_s = pow(1.3, (double)i) * random_between(&t.random, 1, 1.1);
            t.c.trips[i].compute_s = random_between(&t.random, 1e3, 2e3);
        }
        set_delta(&t.c, random_between(&t.random, 0.05, 1));
        assert_near(solved(cv_returns_lifo, &t.c.single, t.c.lifespan_s, &t.arena).work,
                    brute_best(&t.c.duplex, t.c.lifespan_s, ANY_ORDERS), 1e-11);
    }
    cluster_make(&t.c, 2, near, nodes, 0.5, 1);
    t.n = 2;
    assert_near(fifo_in(&t, order).work, 0.00199550799, 1e-8);
    assert_near(lifo_in(&t, order).work, 0.00199550749, 1e-8);
    assert_true(fifo_in(&t, order).work > lifo_in(&t, order).work);
    cv_arena_done(&t.arena);
}

/* --- theorem 5 and other guarantees ------------------------------------------------- */

/* FIFO with all workers in any order is at least tau_min / tau_max of the best, and on
 * some clusters it is no more. */
static void theorem_5(void **state)
{
    const double tau[] = { 100, 1 }, nodes[] = { 1e-6, 1e-6 };
    const uint32_t slow_first[] = { 0, 1 };
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < SOME; number++) {
        uint32_t order[MOST_WORKERS];
        double min = INFINITY, max = 0;

        trial_begin(&t, 117, number, 2, 4);
        for (uint32_t i = 0; i < t.n; i++) {
            min = fmin(min, t.c.trips[i].send_s);
            max = fmax(max, t.c.trips[i].send_s);
        }
        random_order(&t.random, order, t.n);
        assert_true(fifo_in(&t, order).work >=
                    min / max * (1 - 1e-9) *
                        brute_best(&t.c.duplex, t.c.lifespan_s, ANY_ORDERS));
    }
    cluster_make(&t.c, 2, tau, nodes, 1e-6, 1);
    t.n = 2;
    assert_near(fifo_in(&t, slow_first).work / brute_best(&t.c.duplex, 1, ANY_ORDERS),
                0.01, 1e-3);
    cv_arena_done(&t.arena);
}

/* Sorted and pruned FIFO: 1/(1 + delta (1 - F0)). LIFO on a single port: 1 - e^-2. The
 * better of the two, delta <= 1/2: 2/(2 + delta). */
static void guarantees(void **state)
{
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < SOME; number++) {
        double best, single, fifo, lifo, f0 = 1;

        trial_begin(&t, 118, number, 1, 4);
        best = brute_best(&t.c.duplex, t.c.lifespan_s, ANY_ORDERS);
        single = brute_best(&t.c.single, t.c.lifespan_s, ANY_ORDERS);
        fifo = solved(cv_returns_fifo, &t.c.duplex, t.c.lifespan_s, &t.arena).work;
        lifo = solved(cv_returns_lifo, &t.c.duplex, t.c.lifespan_s, &t.arena).work;
        for (uint32_t i = 0; i < t.n; i++)
            f0 *= t.c.trips[i].compute_s / (t.c.trips[i].compute_s + t.c.trips[i].send_s);
        assert_true(fifo >= best / (1 + t.c.delta * (1 - f0)) * (1 - 1e-10));
        assert_true(solved(cv_returns_fifo, &t.c.single, t.c.lifespan_s, &t.arena).work >=
                    single / (1 + t.c.delta * (1 - f0)) * (1 - 1e-10));
        assert_true(lifo >= (1 - exp(-2)) * single);
        assert_true(single <= best * (1 + 1e-10));
        if (t.c.delta <= 0.5)
            assert_true(fmax(fifo, lifo) >= 2 / (2 + t.c.delta) * best * (1 - 1e-10));
        assert_true(fmax(fifo, lifo) <= best * (1 + 1e-10));
    }
    cv_arena_done(&t.arena);
}

/* --- leaving out, equal links, results that are small ------------------------------- */

/* Last sent and first returned, one more worker disturbs no other, and helps while the
 * port has room. So with sum (1 + delta) tau / R < 1 all workers take part in the
 * best. */
static void dropping_lemma(void **state)
{
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < MANY; number++) {
        uint32_t send[MOST_WORKERS], back[MOST_WORKERS], more[MOST_WORKERS], last;
        struct cv_round_trip before, after;

        trial_begin(&t, 119, number, 2, 8);
        last = t.n - 1;
        random_order(&t.random, send, last);
        random_order(&t.random, back, last);
        before = tight(&t.c.duplex, send, back, last, t.c.lifespan_s, &t.arena);
        send[last] = more[0] = last;
        memcpy(more + 1, back, last * sizeof *more);
        after = tight(&t.c.duplex, send, more, t.n, t.c.lifespan_s, &t.arena);
        for (uint32_t i = 0; i < last; i++)
            assert_near(after.units[i], before.units[i], 1e-9);
        if (fabs(port_of(&t, &before) / t.c.lifespan_s - 1) > 1e-9)
            assert_int_equal(after.units[last] > 0,
                             port_of(&t, &before) < t.c.lifespan_s);
        assert_near(after.units[last],
                    (t.c.lifespan_s - port_of(&t, &before)) /
                        (t.c.trips[last].compute_s +
                         (1 + t.c.delta) * t.c.trips[last].send_s),
                    1e-6);
    }
    for (uint32_t number = 1; number < FEW; number++) {
        double load = 0, all;

        trial_begin(&t, 120, number, 2, 4);
        for (uint32_t i = 0; i < t.n; i++)
            load += (1 + t.c.delta) * t.c.trips[i].send_s / t.c.trips[i].compute_s;
        for (uint32_t i = 0; i < t.n; i++)
            t.c.trips[i].compute_s *= fmax(1, load * 1.01);
        all = brute_best(&t.c.duplex, t.c.lifespan_s, ANY_ORDERS);
        for (uint32_t gone = 0; gone < t.n; gone++) {
            const struct cv_trip kept = t.c.trips[gone];

            t.c.trips[gone].compute_s = 1e30; /* as good as not there */
            assert_true(brute_best(&t.c.duplex, t.c.lifespan_s, ANY_ORDERS) < all);
            t.c.trips[gone] = kept;
        }
    }
    cv_arena_done(&t.arena);
}

/* Equal links: FIFO is the best of all, in every order; on a single port up to what the
 * port can carry. */
static void equal_links(void **state)
{
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < FEW; number++) {
        uint32_t order[MOST_WORKERS];
        double best, work;

        trial_begin(&t, 121, number, 1, 4);
        for (uint32_t i = 0; i < t.n; i++)
            t.c.trips[i].send_s = t.c.trips[0].send_s;
        set_delta(&t.c, t.c.delta);
        best = brute_best(&t.c.duplex, t.c.lifespan_s, ANY_ORDERS);
        random_order(&t.random, order, t.n);
        work = fifo_in(&t, order).work;
        assert_near(work, best, 1e-10);
        work = solved(cv_returns_fifo, &t.c.single, t.c.lifespan_s, &t.arena).work;
        assert_near(work,
                    fmin(best, t.c.lifespan_s / ((1 + t.c.delta) * t.c.trips[0].send_s)),
                    1e-10);
        assert_near(work, brute_best(&t.c.single, t.c.lifespan_s, ANY_ORDERS), 1e-9);
    }
    cv_arena_done(&t.arena);
}

/* Small results, links that differ: of all return orders (and all orders) the rule's is
 * the best; the same keys in the opposite direction are not. */
static void small_results(void **state)
{
    unsigned worse = 0;
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < FEW; number++) {
        double keys[MOST_WORKERS], unit[MOST_WORKERS], best;
        uint32_t opposite[MOST_WORKERS];
        struct cv_round_trip trip;
        struct cleave_error err;

        trial_begin(&t, 122, number, 2, 4);
        for (uint32_t i = 0; i < t.n; i++) {
            t.c.trips[i].send_s = pow(1.4, (double)i) * random_between(&t.random, 1, 1.2);
            t.c.trips[i].compute_s = random_scale(&t.random, 1, 10);
        }
        set_delta(&t.c, 1e-5);
        MUST(cv_returns_small(&t.c.duplex, 1, &t.arena, &trip, unit, &err));
        MUST(cv_returns_small(&t.c.duplex, t.c.lifespan_s, &t.arena, &trip, keys, &err));
        assert_schedule(&t.c.duplex, &trip);
        for (uint32_t i = 0; i < t.n; i++)
            assert_near(keys[i], unit[i], 1e-12);
        best = brute_best(&t.c.duplex, t.c.lifespan_s, ANY_ORDERS);
        assert_near(trip.work, best, 1e-11);
        reverse_of(trip.back, trip.n, opposite);
        worse += tight(&t.c.duplex, trip.send, opposite, trip.n, t.c.lifespan_s, &t.arena)
                     .work < best * (1 - 1e-9);
    }
    assert_true(worse > FEW * 9 / 10);
    cv_arena_done(&t.arena);
}

/* --- results larger than the load --------------------------------------------------- */

/* Backwards in time: sends and returns change places, both orders are reversed. */
static void interchange(void **state)
{
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < MANY; number++) {
        uint32_t send[MOST_WORKERS], back[MOST_WORKERS];
        struct cv_round_trip here, there;
        struct cv_returns turned;
        struct cleave_error err;
        double ratio;

        trial_begin(&t, 123, number, 1, 6);
        set_delta(&t.c, random_scale(&t.random, 1, 10));
        MUST(cv_returns_interchange(&t.c.duplex, &t.arena, &turned, &err));
        assert_true(cv_returns_uniform(&turned, &ratio));
        assert_near(ratio, 1 / t.c.delta, 1e-12);
        random_order(&t.random, send, t.n);
        random_order(&t.random, back, t.n);
        here = tight(&t.c.duplex, send, back, t.n, t.c.lifespan_s, &t.arena);
        reverse_of(here.back, t.n, send);
        reverse_of(here.send, t.n, back);
        there = tight(&turned, send, back, t.n, t.c.lifespan_s, &t.arena);
        assert_near(there.work, here.work, 1e-9);
        cv_returns_interchange_back(&there);
        assert_memory_equal(there.send, here.send, t.n * sizeof *send);
        assert_memory_equal(there.back, here.back, t.n * sizeof *send);
    }
    for (uint32_t number = 1; number < FEW; number++) {
        struct cv_returns turned;
        struct cleave_error err;

        trial_begin(&t, 124, number, 1, 3);
        set_delta(&t.c, random_scale(&t.random, 1, 10));
        MUST(cv_returns_interchange(&t.c.single, &t.arena, &turned, &err));
        assert_near(brute_best(&turned, t.c.lifespan_s, ANY_ORDERS),
                    brute_best(&t.c.single, t.c.lifespan_s, ANY_ORDERS), 1e-10);
    }
    cv_arena_done(&t.arena);
}

/* The printed reading of the interchange would be wrong: links must change as well. */
static void interchange_example(void **state)
{
    const double tau[] = { 1, 2 }, nodes[] = { 3, 3 };
    struct cluster c;

    (void)state;
    cluster_make(&c, 2, tau, nodes, 2, 1);
    assert_near(brute_best(&c.duplex, 1, ANY_ORDERS), 2.0 / 9, 1e-12);
    cluster_make(&c, 2, tau, nodes, 0.5, 1);
    assert_near(brute_best(&c.duplex, 1, ANY_ORDERS), 1.0 / 3, 1e-12);
}

/* --- examples ----------------------------------------------------------------------- */

/* Fastest link first is not always best: one instance whose numbers are known exactly. */
static void fastest_first_is_not_always_best(void **state)
{
    const double tau[] = { 2, 3, 4 }, nodes[] = { 5, 5, 5 };
    const uint32_t send[] = { 0, 2, 1 }, back[] = { 2, 0, 1 };
    struct cv_arena arena;
    struct cluster c;

    (void)state;
    cv_arena_init(&arena);
    cluster_make(&c, 3, tau, nodes, 0.75, 1);
    assert_near(brute_best(&c.duplex, 1, ANY_ORDERS), 388.0 / 1893, 1e-13);
    assert_near(given(&c.single, send, back, 3, 1, &arena).work, 388.0 / 1893, 1e-13);
    assert_near(solved(cv_returns_fifo, &c.duplex, 1, &arena).work, 0.200706, 1e-5);
    assert_near(solved(cv_returns_lifo, &c.duplex, 1, &arena).work, 0.198948, 1e-5);
    cv_arena_done(&arena);
}

/* Packing and unpacking count once for the load and once for the results. */
static void packaging_counts_for_results(void **state)
{
    const struct cleave_worker workers[] = { { 1.0 / 3, 0, 1, 0, 1, 0 },
                                             { 1.0 / 3, 0, 0.5, 0, 0.5, 0 } };
    struct cv_round_trip trip;
    struct cv_returns returns = { NULL, 2, false, NULL };
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    returns.trips = cv_trips(workers, 2, 0.5, 1, &arena);
    assert_non_null(returns.trips);
    assert_near(returns.trips[0].compute_s, 4.5, 1e-14);
    assert_near(returns.trips[1].back_s, 1, 1e-14);
    trip = solved(cv_returns_fifo, &returns, 10, &arena);
    assert_int_equal(trip.n, 2);
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theorem_4),
        cmocka_unit_test(theorem_5),
        cmocka_unit_test(guarantees),
        cmocka_unit_test(dropping_lemma),
        cmocka_unit_test(equal_links),
        cmocka_unit_test(small_results),
        cmocka_unit_test(interchange),
        cmocka_unit_test(interchange_example),
        cmocka_unit_test(fastest_first_is_not_always_best),
        cmocka_unit_test(packaging_counts_for_results),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
