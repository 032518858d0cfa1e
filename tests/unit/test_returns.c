/* test_returns.c -- one round whose results come back: shares, orders, edges.
 * SPDX-License-Identifier: MIT */
#include "returns_check.h"

#include "model/returns/returns_internal.h"

enum { FEW = 200, SOME = 600, MANY = 2000 };

/* --- instances ---------------------------------------------------------------------- */

static void trips_of_workers(void **state)
{
    const struct cleave_worker workers[] = { { 2, 0.5, 10, 0.1, 5, 0.2 },
                                             { 4, 0.25, 20, 0.3, 10, 0.4 } };
    struct cv_arena arena;
    struct cv_trip *trips;
    double ratio = -1;

    (void)state;
    cv_arena_init(&arena);
    trips = cv_trips(workers, 2, 0.5, 0.1, &arena);
    assert_non_null(trips);
    assert_near(trips[0].send_s, 0.1, 1e-15);
    assert_near(trips[0].compute_s, 0.5 + 1.5 * 0.1, 1e-15);
    assert_near(trips[0].back_s, 0.1, 1e-15);
    assert_true(trips[1].send_fixed_s == 0.3 && trips[1].compute_fixed_s == 0.25 &&
                trips[1].back_fixed_s == 0.4);
    assert_false(cv_returns_linear(&(struct cv_returns){ trips, 2, false, NULL }));
    assert_true(
        cv_returns_uniform(&(struct cv_returns){ trips, 2, false, NULL }, &ratio));
    assert_near(ratio, 1, 1e-15);
    trips[1].back_s *= 1 + 1e-9;
    assert_false(
        cv_returns_uniform(&(struct cv_returns){ trips, 2, false, NULL }, &ratio));
    /* Nothing to send back costs nothing to send back. */
    trips = cv_trips(workers, 2, 0, 0.1, &arena);
    assert_non_null(trips);
    assert_true(trips[0].back_s == 0 && trips[0].back_fixed_s == 0);
    assert_near(trips[0].compute_s, 0.6, 1e-15);
    cv_arena_done(&arena);
}

static void bad_input_is_named(void **state)
{
    const uint32_t send[] = { 0, 1 }, twice[] = { 1, 1 }, far[] = { 0, 2 };
    const double tau[] = { 1, 2 }, nodes[] = { 3, 4 };
    struct cv_round_trip trip = { .n = 77 };
    struct cleave_error err;
    struct cv_arena arena;
    struct cluster c;

    (void)state;
    cv_arena_init(&arena);
    cluster_make(&c, 2, tau, nodes, 0.5, 1);
    assert_int_equal(cv_returns_tight(&c.duplex, send, twice, 2, 1, &arena, &trip, &err),
                     CLEAVE_EINPUT);
    assert_int_equal(cv_returns_given(&c.duplex, far, send, 2, 1, &arena, &trip, &err),
                     CLEAVE_EINPUT);
    assert_non_null(strstr(err.text, "below 2, got 2"));
    assert_int_equal(cv_returns_fifo(&c.duplex, -1, &arena, &trip, &err), CLEAVE_EINPUT);
    assert_non_null(strstr(err.text, "lifespan"));
    assert_int_equal(cv_returns_lifo(&c.duplex, NAN, &arena, &trip, NULL), CLEAVE_EINPUT);
    c.trips[1].send_s = 0;
    assert_int_equal(cv_returns_fifo(&c.duplex, 1, &arena, &trip, &err), CLEAVE_EINPUT);
    assert_non_null(strstr(err.text, "worker 1"));
    c.trips[1].send_s = 1;
    c.trips[0].back_s = -1;
    assert_int_equal(cv_returns_lifo(&c.duplex, 1, &arena, &trip, &err), CLEAVE_EINPUT);
    c.trips[0].back_s = 0;
    assert_int_equal(cv_returns_interchange(&c.duplex, &arena, &c.single, &err),
                     CLEAVE_EINPUT);
    assert_int_equal(trip.n, 77); /* untouched by all of them */
    cv_arena_done(&arena);
}

/* --- edges -------------------------------------------------------------------------- */

static void one_worker_has_it_all(void **state)
{
    plain_solver *const solvers[] = { cv_returns_fifo, cv_returns_lifo,
                                      cv_returns_fifo_all };
    struct cv_trip trip_s = { 1, 3, 0.5, 0.1, 0.2, 0.3 };
    const uint32_t only[] = { 0 };
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (int fixed = 0; fixed < 2; fixed++)
        for (int port = 0; port < 2; port++) {
            const struct cv_returns returns = { &trip_s, 1, port == 1, NULL };
            const double pending = (9 - (fixed == 0 ? 0.6 : 0)) / 4.5;
            struct cv_round_trip trip;

            for (int s = 0; s < 3; s++) {
                trip = solved(solvers[s], &returns, 9, &arena);
                assert_near(trip.work, pending, 1e-14);
                assert_true(s == 2 || trip.optimal);
            }
            trip = given(&returns, only, only, 1, 9, &arena);
            assert_near(trip.work, pending, 1e-14);
            assert_true(trip.optimal);
            if (port == 1)
                trip_s = (struct cv_trip){ 1, 3, 0.5, 0, 0, 0 };
        }
    cv_arena_done(&arena);
}

static void nothing_can_be_done(void **state)
{
    const uint32_t orders[] = { 0, 1, 2 }, other[] = { 1, 0, 2 };
    plain_solver *const solvers[] = { cv_returns_fifo, cv_returns_lifo };
    const double tau[] = { 1, 2, 3 }, nodes[] = { 3, 2, 1 };
    struct cv_arena arena;
    struct cluster c;

    (void)state;
    cv_arena_init(&arena);
    cluster_make(&c, 3, tau, nodes, 0.5, 1);
    for (int turn = 0; turn < 2; turn++) {
        const double lifespan_s = turn == 0 ? 0 : 1;

        for (int port = 0; port < 2; port++) {
            const struct cv_returns *returns = port == 0 ? &c.duplex : &c.single;

            for (int s = 0; s < 2; s++) {
                const struct cv_round_trip trip =
                    solved(solvers[s], returns, lifespan_s, &arena);

                assert_true(trip.n == 0 && trip.work == 0 && trip.optimal);
            }
            assert_true(given(returns, orders, other, 3, lifespan_s, &arena).n == 0);
            assert_true(given(returns, orders, orders, 3, lifespan_s, &arena).n == 0);
        }
        for (int i = 0; i < 3; i++)
            c.trips[i].compute_fixed_s = 1; /* the second turn: the whole lifespan */
    }
    assert_true(given(&c.duplex, NULL, NULL, 0, 1, &arena).n == 0);
    cv_arena_done(&arena);
}

/* A worker whose fixed costs are more than the lifespan must not pay them. */
static void worker_without_profit_stays_out(void **state)
{
    const uint32_t send[] = { 0, 1, 2 }, back[] = { 1, 0, 2 };
    const double tau[] = { 0.1, 0.2, 0.3 }, nodes[] = { 3, 2, 1 };
    struct cv_arena arena;
    struct cluster c;

    (void)state;
    cv_arena_init(&arena);
    cluster_make(&c, 3, tau, nodes, 0.5, 1);
    c.trips[0].send_fixed_s = 2;
    for (int port = 0; port < 2; port++) {
        const struct cv_returns *returns = port == 0 ? &c.duplex : &c.single;

        assert_int_equal(solved(cv_returns_fifo, returns, 1, &arena).n, 2);
        assert_int_equal(solved(cv_returns_lifo, returns, 1, &arena).n, 2);
        assert_int_equal(given(returns, send, back, 3, 1, &arena).n, 2);
    }
    cv_arena_done(&arena);
}

/* --- the linear system -------------------------------------------------------------- */

static void assert_same_units(const struct cv_round_trip *trip, const uint32_t *send,
                              const double *shares, uint32_t n, double relative)
{
    double largest = 0;

    for (uint32_t k = 0; k < n; k++)
        largest = fmax(largest, fabs(shares[k]));
    for (uint32_t k = 0; k < n; k++)
        if (!(fabs(trip->units[send[k]] - shares[k]) <= relative * largest))
            fail_msg("worker %u: expected %.17g, got %.17g", send[k], shares[k],
                     trip->units[send[k]]);
}

/* Closed forms and elimination give what plain elimination gives, with all kinds of costs
 * and orders. */
static void tight_solves_the_rows(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < MANY; number++) {
        uint32_t send[MOST_WORKERS], back[MOST_WORKERS];
        double shares[MOST_WORKERS];
        struct cv_random random;
        struct cluster c;
        uint32_t n;

        cv_random_at(&random, 11, number, 0, 0);
        n = 1 + random_below(&random, 12);
        cluster_random(&c, &random, n);
        if (number % 3 == 1)
            cluster_unequal(&c, &random);
        if (number % 2 == 1)
            cluster_fix(&c, &random, 0.3 / n);
        random_order(&random, send, n);
        random_order(&random, back, n);
        for (uint32_t k = 0; number % 5 < 2 && k < n; k++)
            back[k] = number % 5 == 0 ? send[k] : send[n - 1 - k];
        if (plain_shares(&c.duplex, send, back, n, c.lifespan_s, n, shares)) {
            const struct cv_round_trip trip =
                tight(&c.duplex, send, back, n, c.lifespan_s, &arena);

            assert_int_equal(trip.n, n);
            assert_same_units(&trip, send, shares, n, 1e-9);
        }
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* The example with a negative share; leaving that worker out is better than keeping its
 * row. */
static void shares_can_be_negative(void **state)
{
    const uint32_t send[] = { 0, 1, 2 }, back[] = { 2, 0, 1 };
    const double tau[] = { 1, 1, 1 }, nodes[] = { 0.1, 0.1, 0.1 };
    struct cv_round_trip trip;
    struct cv_arena arena;
    struct cluster c;

    (void)state;
    cv_arena_init(&arena);
    cluster_make(&c, 3, tau, nodes, 0.9, 1);
    trip = tight(&c.duplex, send, back, 3, 1, &arena);
    assert_near(trip.units[0], 11.0 / 31, 1e-13);
    assert_near(trip.units[1], 10.0 / 31, 1e-13);
    assert_near(trip.units[2], -89.0 / 620, 1e-13);
    trip = given(&c.duplex, send, back, 3, 1, &arena);
    assert_near(trip.work, 21.0 / 31, 1e-13);
    assert_true(trip.n == 2 && trip.units[2] == 0 && trip.optimal);
    trip = given(&c.single, send, back, 3, 1, &arena);
    assert_near(trip.work, 1 / 1.9, 1e-13);
    cv_arena_done(&arena);
}

/* --- given orders ------------------------------------------------------------------- */

/* The n-th of a family that mixes ratios and fixed costs. Returns the workers. */
static uint32_t mixed_cluster(struct cluster *c, struct cv_random *random, uint32_t max,
                              uint32_t number)
{
    const uint32_t n = 1 + random_below(random, max);

    cluster_random(c, random, n);
    if (number % 3 == 1)
        cluster_unequal(c, random);
    if (number % 4 >= 2)
        cluster_fix(c, random, number % 4 == 2 ? 0.02 : 0.2);
    return n;
}

static void given_is_the_best_of_all_sets(void **state)
{
    struct cv_arena arena;
    unsigned dropped = 0;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < MANY; number++) {
        uint32_t send[MOST_WORKERS], back[MOST_WORKERS], n;
        struct cv_round_trip trip;
        struct cv_random random;
        struct cluster c;

        cv_random_at(&random, 12, number, 0, 0);
        n = mixed_cluster(&c, &random, 6, number);
        random_order(&random, send, n);
        random_order(&random, back, n);
        for (uint32_t k = 0; number % 5 < 2 && k < n; k++)
            back[k] = number % 5 == 0 ? send[k] : send[n - 1 - k];
        trip = given(&c.duplex, send, back, n, c.lifespan_s, &arena);
        assert_true(trip.optimal);
        dropped += trip.n < n;
        assert_near(trip.work, brute_given(&c.duplex, send, back, n, c.lifespan_s), 1e-9);
        trip = given(&c.single, send, back, n, c.lifespan_s, &arena);
        assert_true(trip.optimal);
        assert_near(trip.work, brute_given(&c.single, send, back, n, c.lifespan_s), 1e-9);
        cv_arena_reset(&arena);
    }
    assert_true(dropped > 100);
    cv_arena_done(&arena);
}

/* Without fixed costs a single port never does more than a duplex one, and a linear
 * program over all rows is still right for many workers: its duals show it. */
static void many_workers_on_a_single_port(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 40; number++) {
        const uint32_t n = 20 + number;
        uint32_t send[MOST_WORKERS], back[MOST_WORKERS];
        struct cv_round_trip trip, parallel;
        struct cv_random random;
        struct cluster c;

        cv_random_at(&random, 13, number, 0, 0);
        cluster_random(&c, &random, n);
        random_order(&random, send, n);
        random_order(&random, back, n);
        trip = given(&c.single, send, back, n, c.lifespan_s, &arena);
        parallel = given(&c.duplex, send, back, n, c.lifespan_s, &arena);
        assert_true(trip.optimal);
        /* Leaving out any one worker never helps the optimum of a linear program. */
        for (uint32_t gone = 0; gone < n; gone += 5) {
            uint32_t some_send[MOST_WORKERS], some_back[MOST_WORKERS], m = 0, l = 0;

            for (uint32_t k = 0; k < n; k++) {
                if (send[k] != gone)
                    some_send[m++] = send[k];
                if (back[k] != gone)
                    some_back[l++] = back[k];
            }
            assert_true(
                given(&c.single, some_send, some_back, m, c.lifespan_s, &arena).work <=
                trip.work * (1 + 1e-9));
        }
        if (parallel.work < trip.work * (1 - 1e-3)) /* found by search only */
            fail_msg("expected more on a wide port than %.17g, got %.17g", trip.work,
                     parallel.work);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* Method for more than 16 workers, where all sets can still be tried. */
static void sets_by_single_changes_are_near_the_best(void **state)
{
    double gap = 0, worst = 0;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < FEW; number++) {
        uint32_t send[MOST_WORKERS], back[MOST_WORKERS], n;
        struct cv_round_trip best, trip = { .lifespan_s = 0 };
        double shares[MOST_WORKERS] = { 0 }, units[MOST_WORKERS] = { 0 };
        struct cv_rows rows;
        struct cv_random random;
        struct cluster c;

        cv_random_at(&random, 14, number, 0, 0);
        n = mixed_cluster(&c, &random, 10, number);
        random_order(&random, send, n);
        random_order(&random, back, n);
        best = given(&c.duplex, send, back, n, c.lifespan_s, &arena);
        assert_true(cv_rows_make(&rows, &c.duplex, send, back, n, c.lifespan_s, &arena));
        assert_true(cv_rows_subset(&rows, shares, &arena));
        for (uint32_t k = 0; k < n; k++) {
            units[send[k]] = shares[k];
            trip.work += shares[k];
        }
        assert_true(trip.work <= best.work * (1 + 1e-9));
        if (best.work > 0) {
            gap += (1 - trip.work / best.work) / FEW;
            worst = fmax(worst, 1 - trip.work / best.work);
        }
        /* And it is a schedule. */
        trip = (struct cv_round_trip){ .units = units, .lifespan_s = c.lifespan_s };
        trip.send = cv_array(&arena, n, sizeof *trip.send);
        trip.back = cv_array(&arena, n, sizeof *trip.back);
        for (uint32_t k = 0; k < n; k++) {
            if (units[send[k]] > 0)
                trip.send[trip.n++] = send[k];
            trip.work += shares[k];
        }
        for (uint32_t k = 0, at = 0; k < n; k++)
            if (units[back[k]] > 0)
                trip.back[at++] = back[k];
        assert_schedule(&c.duplex, &trip);
        cv_arena_reset(&arena);
    }
    print_message("sets by single changes: gap %.2g on average, %.2g at most\n", gap,
                  worst);
    assert_true(gap < 1e-3);
    cv_arena_done(&arena);
}

/* --- FIFO and LIFO ------------------------------------------------------------------ */

struct score {
    unsigned cases, best, claimed;
    double worst;
};

static void keep_score(struct score *score, const struct cv_round_trip *trip, double best)
{
    if (!(trip->work <= best * (1 + 1e-9)))
        fail_msg("expected at most %.17g, got %.17g", best, trip->work);
    score->cases++;
    score->best += trip->work >= best * (1 - 1e-9);
    score->claimed += trip->optimal;
    if (trip->optimal)
        assert_near(trip->work, best, 1e-9);
    if (best > 0)
        score->worst = fmax(score->worst, 1 - trip->work / best);
}

static void show(const char *what, const struct score *score)
{
    print_message("%s: best in %u of %u, %u claimed, worst gap %.2g\n", what, score->best,
                  score->cases, score->claimed, score->worst);
}

/* Unequal ratios, without fixed costs: the claimed best is the best. */
static void unequal_ratios(void **state)
{
    struct score fifo = { 0 }, lifo = { 0 }, port = { 0 };
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < SOME; number++) {
        struct cv_round_trip trip;
        struct cv_random random;
        struct cluster c;

        cv_random_at(&random, 15, number, 0, 0);
        cluster_random(&c, &random, 2 + number % 4);
        cluster_unequal(&c, &random);
        trip = solved(cv_returns_lifo, &c.duplex, c.lifespan_s, &arena);
        assert_true(trip.optimal);
        keep_score(&lifo, &trip, brute_best(&c.duplex, c.lifespan_s, REVERSED_ORDERS));
        trip = solved(cv_returns_fifo, &c.duplex, c.lifespan_s, &arena);
        keep_score(&fifo, &trip, brute_best(&c.duplex, c.lifespan_s, SAME_ORDERS));
        trip = solved(cv_returns_fifo, &c.single, c.lifespan_s, &arena);
        keep_score(&port, &trip, brute_best(&c.single, c.lifespan_s, SAME_ORDERS));
        cv_arena_reset(&arena);
    }
    show("FIFO, unequal ratios", &fifo);
    show("FIFO, unequal ratios, single port", &port);
    assert_true(fifo.claimed * 4 > fifo.cases * 3);
    assert_true(fifo.best * 100 >= fifo.cases * 99);
    assert_true(port.best * 100 >= port.cases * 90);
    cv_arena_done(&arena);
}

/* Fixed costs: schedules hold, and the search is nearly always at the best. */
static void fixed_costs(void **state)
{
    struct score fifo = { 0 }, lifo = { 0 }, port = { 0 };
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < SOME; number++) {
        struct cv_round_trip trip;
        struct cv_random random;
        struct cluster c;

        cv_random_at(&random, 16, number, 0, 0);
        cluster_random(&c, &random, 1 + number % 5);
        if (number % 3 == 0)
            cluster_unequal(&c, &random);
        cluster_fix(&c, &random, random_scale(&random, 0.001, 0.5));
        trip = solved(cv_returns_lifo, &c.duplex, c.lifespan_s, &arena);
        keep_score(&lifo, &trip, brute_best(&c.duplex, c.lifespan_s, REVERSED_ORDERS));
        trip = solved(cv_returns_fifo, &c.duplex, c.lifespan_s, &arena);
        keep_score(&fifo, &trip, brute_best(&c.duplex, c.lifespan_s, SAME_ORDERS));
        trip = solved(cv_returns_fifo, &c.single, c.lifespan_s, &arena);
        keep_score(&port, &trip, brute_best(&c.single, c.lifespan_s, SAME_ORDERS));
        cv_arena_reset(&arena);
    }
    show("LIFO, fixed costs", &lifo);
    show("FIFO, fixed costs", &fifo);
    show("FIFO, fixed costs, single port", &port);
    assert_true(lifo.best * 100 >= lifo.cases * 98);
    assert_true(fifo.best * 100 >= fifo.cases * 98);
    assert_true(port.best * 100 >= port.cases * 90);
    cv_arena_done(&arena);
}

/* Shares that underflow or would overflow, costs ten decades apart. */
static void large_and_extreme(void **state)
{
    enum { N = 60000 };
    struct cv_trip *trips = malloc(N * sizeof *trips);
    struct cv_returns returns = { trips, N, false, NULL };
    struct cv_arena arena;

    (void)state;
    assert_non_null(trips);
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 8; number++) {
        struct cv_random random;

        cv_random_at(&random, 17, number, 0, 0);
        for (uint32_t i = 0; i < N; i++) {
            trips[i] = (struct cv_trip){ 0 };
            trips[i].send_s = random_scale(&random, 1e-5, 1e5);
            trips[i].compute_s = random_scale(&random, 1e-5, 1e5);
            trips[i].back_s =
                trips[i].send_s * (number % 4 == 0   ? 0.5
                                   : number % 4 == 1 ? 3
                                   : number % 4 == 2 ? 0
                                                     : random_scale(&random, 0.1, 10));
        }
        returns.single = number >= 4;
        assert_true(solved(cv_returns_fifo, &returns, 5, &arena).work > 0);
        assert_true(solved(cv_returns_lifo, &returns, 5, &arena).work > 0);
        for (uint32_t i = 0; i < N; i++)
            trips[i].send_fixed_s = random_scale(&random, 1e-9, 1);
        assert_true(solved(cv_returns_fifo, &returns, 5, &arena).work > 0);
        assert_true(solved(cv_returns_lifo, &returns, 5, &arena).work > 0);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
    free(trips);
}

/* FIFO with every worker is the system of that order, also when the port is too small. */
static void fifo_with_everyone(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < SOME; number++) {
        struct cv_round_trip all, same;
        struct cleave_error err;
        struct cv_random random;
        struct cluster c;

        cv_random_at(&random, 18, number, 0, 0);
        cluster_random(&c, &random, 1 + number % 9);
        MUST(cv_returns_fifo_all(&c.single, c.lifespan_s, &arena, &all, &err));
        assert_int_equal(all.n, c.single.n);
        assert_true(all.optimal);
        for (uint32_t k = 1; k < all.n; k++)
            assert_true(c.trips[all.send[k - 1]].send_s <= c.trips[all.send[k]].send_s);
        same = tight(&c.duplex, all.send, all.back, all.n, c.lifespan_s, &arena);
        assert_near(all.work, same.work, 1e-12);
        assert_schedule(&c.duplex, &all);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* --- small results, least time ------------------------------------------------------ */

/* Links 1, 2, 3 and equal nodes: y and u by hand. */
static void keys_of_small_results(void **state)
{
    const double tau[] = { 3, 1, 2 }, nodes[] = { 2, 2, 2 };
    const double y[] = { 2.0 / 15, 1.0 / 3, 1.0 / 6 };
    const double u[] = { 1.0 / 5, 0.5 / 3 + 0.2 / 15, 0.15 };
    double keys[3];
    struct cv_round_trip trip;
    struct cleave_error err;
    struct cv_arena arena;
    struct cluster c;

    (void)state;
    cv_arena_init(&arena);
    cluster_make(&c, 3, tau, nodes, 1e-4, 1);
    MUST(cv_returns_small(&c.duplex, 1, &arena, &trip, keys, &err));
    assert_schedule(&c.duplex, &trip);
    assert_false(trip.optimal);
    /* y: 1/3, (2/4) 1/3, (2/5) 1/6; u from the last: 1/5, (1 - 2/5)/4, (1 - 7/20)/3. */
    assert_near(keys[1], 1 * y[1] / ((1 - 0.35) / 3), 1e-14);
    assert_near(keys[2], 2 * y[2] / u[2], 1e-14);
    assert_near(keys[0], 3 * (2.0 / 5 / 6) / u[0], 1e-14);
    assert_true(trip.send[0] == 1 && trip.send[1] == 2 && trip.send[2] == 0);
    for (uint32_t k = 1; k < 3; k++)
        assert_true(keys[trip.back[k - 1]] >= keys[trip.back[k]]);
    MUST(cv_returns_small(&c.single, 1, &arena, &trip, NULL, &err));
    assert_schedule(&c.single, &trip);
    cv_arena_done(&arena);
}

static enum cleave_status call_plain(void *context, const struct cv_returns *returns,
                                     double lifespan_s, struct cv_arena *arena,
                                     struct cv_round_trip *out, struct cleave_error *err)
{
    plain_solver *const *solve = context;

    return (*solve)(returns, lifespan_s, arena, out, err);
}

/* The time for the work done in a lifespan is that lifespan. */
static void least_time_and_back(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < SOME; number++) {
        plain_solver *solve = number % 2 == 0 ? cv_returns_fifo : cv_returns_lifo;
        const struct cv_returns_solver solver = { call_plain, &solve, false };
        struct cv_round_trip trip, back;
        struct cleave_error err;
        const struct cv_returns *returns;
        struct cv_random random;
        struct cluster c;

        cv_random_at(&random, 19, number, 0, 0);
        mixed_cluster(&c, &random, 8, number);
        returns = number % 3 == 0 ? &c.single : &c.duplex;
        trip = solved(solve, returns, c.lifespan_s, &arena);
        if (trip.work > 0) {
            MUST(cv_returns_for_work(returns, &solver, trip.work, &arena, &back, &err));
            assert_schedule(returns, &back);
            assert_near(back.work, trip.work, 1e-12);
            /* Improvement may have found a shorter way. */
            if (cv_returns_linear(returns))
                assert_near(back.lifespan_s, c.lifespan_s, 1e-11);
            else
                assert_true(back.lifespan_s <= c.lifespan_s * (1 + 1e-11));
        }
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* Work that takes longer than the fixed costs of all: the time grows until it is done. */
static void time_grows_with_fixed_costs(void **state)
{
    const double tau[] = { 0.1, 0.2 }, nodes[] = { 1, 1 };
    plain_solver *solve = cv_returns_lifo;
    const struct cv_returns_solver solver = { call_plain, &solve, false };
    struct cv_round_trip trip;
    struct cleave_error err;
    struct cv_arena arena;
    struct cluster c;

    (void)state;
    cv_arena_init(&arena);
    cluster_make(&c, 2, tau, nodes, 0.5, 1);
    c.trips[0].send_fixed_s = 50;
    c.trips[1].compute_fixed_s = 60;
    /* A little work: worker 0 alone, 50 + w 1.15 against 60 + w 1.3. */
    MUST(cv_returns_for_work(&c.duplex, &solver, 1, &arena, &trip, &err));
    assert_schedule(&c.duplex, &trip);
    assert_near(trip.lifespan_s, 51.15, 1e-10);
    /* Much: both; worker 0 last in LIFO pays its 50 s of the port within 1's 60. */
    MUST(cv_returns_for_work(&c.duplex, &solver, 1000, &arena, &trip, &err));
    assert_schedule(&c.duplex, &trip);
    assert_int_equal(trip.n, 2);
    assert_near(trip.work, 1000, 1e-12);
    MUST(cv_returns_for_work(&c.duplex, &solver, 0, &arena, &trip, &err));
    assert_true(trip.n == 0 && trip.lifespan_s == 0 && trip.optimal);
    assert_int_equal(cv_returns_for_work(&c.duplex, &solver, -1, &arena, &trip, &err),
                     CLEAVE_EINPUT);
    c.duplex.n = 0;
    assert_int_equal(cv_returns_for_work(&c.duplex, &solver, 1, &arena, &trip, &err),
                     CLEAVE_EINPUT);
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trips_of_workers),
        cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(one_worker_has_it_all),
        cmocka_unit_test(nothing_can_be_done),
        cmocka_unit_test(worker_without_profit_stays_out),
        cmocka_unit_test(tight_solves_the_rows),
        cmocka_unit_test(shares_can_be_negative),
        cmocka_unit_test(given_is_the_best_of_all_sets),
        cmocka_unit_test(many_workers_on_a_single_port),
        cmocka_unit_test(sets_by_single_changes_are_near_the_best),
        cmocka_unit_test(unequal_ratios),
        cmocka_unit_test(fixed_costs),
        cmocka_unit_test(large_and_extreme),
        cmocka_unit_test(fifo_with_everyone),
        cmocka_unit_test(keys_of_small_results),
        cmocka_unit_test(least_time_and_back),
        cmocka_unit_test(time_grows_with_fixed_costs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
