/* test_returns_bounds.c -- bounds on rounds with results against the best of all.
 * SPDX-License-Identifier: MIT */
#include "returns_check.h"

#include "model/returns/returns_bounds.h"

static const double rounding = 1e-11;

struct three {
    double loose, prefix, convex;
};

/* The bounds, each no more than the one before. */
static struct three bounds_of(const struct cv_returns *returns, double lifespan_s,
                              struct cv_arena *arena)
{
    struct three three;

    three.loose = cv_returns_bound_free(returns, lifespan_s, arena);
    three.prefix = cv_returns_bound_prefix(returns, lifespan_s, arena);
    three.convex = cv_returns_bound_convex(returns, lifespan_s, arena);
    assert_true(isfinite(three.loose) && three.convex >= 0);
    assert_true(three.convex <= three.prefix * (1 + rounding));
    assert_true(three.prefix <= three.loose * (1 + rounding));
    cv_arena_reset(arena);
    return three;
}

static void assert_covers(double bound, double work)
{
    if (!(bound >= work * (1 - rounding)))
        fail_msg("the bound %.17g is below %.17g, which can be done", bound, work);
}

/* Links over six decades, computing from a thousandth of a link's time to a million
 * times as long, results from nothing to more than the work. */
static void cluster_extreme(struct cluster *c, struct cv_random *random, uint32_t n)
{
    static const double deltas[] = { 0, 1e-6, 0.2, 0.999999, 1, 1.000001, 7, 1e4 };
    const double node = random_scale(random, 1e-3, 1e6);
    double tau[MOST_WORKERS], nodes[MOST_WORKERS];

    for (uint32_t i = 0; i < n; i++) {
        tau[i] = random_scale(random, 1e-3, 1e3);
        nodes[i] = random_below(random, 2) == 0 ? node : node * tau[i];
    }
    cluster_make(c, n, tau, nodes, deltas[random_below(random, 8)],
                 random_scale(random, 1e-3, 1e3));
}

/* One of two ports. */
static const struct cv_returns *port_of(const struct cluster *c, uint32_t number)
{
    return number % 2 == 0 ? &c->duplex : &c->single;
}

static void nothing_is_better_than_the_bounds(void **state)
{
    double prefix_over = 0, convex_over = 0;
    const uint32_t cases = 3000;
    struct cv_random random;
    struct cv_arena arena;
    struct cluster c;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < cases; number++) {
        const struct cv_returns *returns = port_of(&c, number);
        struct three three;
        double best;

        cv_random_at(&random, 41, number, 0, 0);
        cluster_random(&c, &random, 2 + number / 2 % 3);
        if (number % 8 < 2) { /* results larger than work */
            for (uint32_t i = 0; i < c.duplex.n; i++)
                c.trips[i].back_s = c.trips[i].send_s / fmax(c.delta, 0.01);
        }
        best = brute_best(returns, c.lifespan_s, ANY_ORDERS);
        three = bounds_of(returns, c.lifespan_s, &arena);
        assert_covers(three.convex, best);
        prefix_over += three.prefix / best - 1;
        convex_over += three.convex / best - 1;
    }
    /* They are close, too. */
    assert_true(prefix_over / cases < 0.02);
    assert_true(convex_over / cases < 0.003);
    cv_arena_done(&arena);
}

static void extremes_are_covered(void **state)
{
    struct cv_random random;
    struct cv_arena arena;
    struct cluster c;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 1200; number++) {
        const struct cv_returns *returns = port_of(&c, number);

        cv_random_at(&random, 43, number, 0, 0);
        cluster_extreme(&c, &random, 1 + number / 2 % 3);
        assert_covers(bounds_of(returns, c.lifespan_s, &arena).convex,
                      brute_best(returns, c.lifespan_s, ANY_ORDERS));
    }
    cv_arena_done(&arena);
}

/* Ratios that differ and fixed costs, alone and together. */
static void relaxations_are_covered(void **state)
{
    struct cv_random random;
    struct cv_arena arena;
    struct cluster c;
    double over = 0;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 1200; number++) {
        const struct cv_returns *returns = port_of(&c, number);
        double best, bound;

        cv_random_at(&random, 47, number, 0, 0);
        cluster_random(&c, &random, 1 + number / 2 % 4);
        if (number % 3 != 0)
            cluster_unequal(&c, &random);
        if (number % 7 == 0)
            c.trips[0].back_s = 0;
        if (number % 3 != 1)
            cluster_fix(&c, &random, number % 5 == 0 ? 0.6 : 0.1);
        best = brute_best(returns, c.lifespan_s, ANY_ORDERS);
        bound = bounds_of(returns, c.lifespan_s, &arena).convex;
        assert_covers(bound, best);
        over += best > 0 ? bound / best - 1 : bound;
    }
    assert_true(over / 1200 < 0.08);
    cv_arena_done(&arena);
}

/* With one worker, equal links, or no results the prefix bound is reached; a single port
 * full of messages over equal links is reached as well. */
static void exact_where_said(void **state)
{
    struct cv_random random;
    struct cv_arena arena;
    struct cluster c;
    unsigned full = 0;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 300; number++) {
        const struct cv_returns *returns = port_of(&c, number);
        struct three three;
        double best;

        cv_random_at(&random, 53, number, 0, 0);
        cluster_random(&c, &random, number % 3 == 0 ? 1 : 2 + number % 2);
        for (uint32_t i = 0; i < c.duplex.n; i++) {
            if (number % 3 == 1)
                c.trips[i].send_s = c.trips[0].send_s;
            c.trips[i].back_s = number % 3 == 2 ? 0 : c.delta * c.trips[i].send_s;
        }
        best = brute_best(returns, c.lifespan_s, ANY_ORDERS);
        three = bounds_of(returns, c.lifespan_s, &arena);
        assert_near(three.prefix, best, 1e-10);
        assert_near(three.convex, best, 1e-10);
        if (number % 3 == 2)
            assert_near(three.loose, best, 1e-10);
        if (number % 3 == 1)
            full +=
                fabs(best * (1 + c.delta) * c.trips[0].send_s / c.lifespan_s - 1) < 1e-9;
    }
    assert_true(full > 3);
    cv_arena_done(&arena);
}

/* Read backwards, a schedule is one for swapped costs. */
static void backwards_is_the_same(void **state)
{
    struct cv_random random;
    struct cv_arena arena;
    struct cluster c, back;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 400; number++) {
        struct three forth, home;

        cv_random_at(&random, 59, number, 0, 0);
        cluster_random(&c, &random, 1 + number % 20);
        if (number % 2 == 0)
            cluster_unequal(&c, &random);
        back = c;
        cluster_bind(&back, c.duplex.n);
        for (uint32_t i = 0; i < c.duplex.n; i++) {
            back.trips[i].send_s = c.trips[i].back_s;
            back.trips[i].back_s = c.trips[i].send_s;
        }
        forth = bounds_of(port_of(&c, number), c.lifespan_s, &arena);
        home = bounds_of(port_of(&back, number), c.lifespan_s, &arena);
        assert_near(home.loose, forth.loose, 1e-12);
        if (number % 2 == 1 || c.duplex.n <= 9) { /* the same common ratios are tried */
            assert_near(home.prefix, forth.prefix, 1e-10);
            assert_near(home.convex, forth.convex, 1e-8);
        }
    }
    cv_arena_done(&arena);
}

static void lifo_proved_is_true(void **state)
{
    unsigned proved = 0, best_unproved = 0;
    struct cv_random random;
    struct cv_arena arena;
    struct cluster c;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 1500; number++) {
        const struct cv_returns *returns = port_of(&c, number);
        bool said, is;

        cv_random_at(&random, 61, number, 0, 0);
        cluster_random(&c, &random, 2 + number / 2 % 2);
        for (uint32_t i = 0; number % 5 == 0 && i < c.duplex.n; i++)
            c.trips[i].back_s = 3 * c.trips[i].send_s;
        said = cv_returns_lifo_proved(returns, &arena);
        assert_true(said == cv_returns_lifo_proved(port_of(&c, number + 1), &arena));
        is = brute_best(returns, c.lifespan_s, REVERSED_ORDERS) >=
             brute_best(returns, c.lifespan_s, ANY_ORDERS) * (1 - rounding);
        assert_true(is || !said);
        proved += said;
        best_unproved += is && !said;
        if (said) { /* the relaxation agrees */
            struct cv_round_trip lifo = solved(cv_returns_lifo, returns, 1, &arena);

            assert_near(cv_returns_bound_convex(returns, 1, &arena), lifo.work, 1e-9);
        }
        cv_arena_reset(&arena);
    }
    assert_true(proved > 300);
    assert_true(best_unproved < 300);
    cv_arena_done(&arena);
}

/* Two workers: link 2 must be slower than link 1 by this factor. */
static void lifo_of_two_has_a_threshold(void **state)
{
    const double nodes[] = { 3, 5 }, delta = 0.4;
    struct cv_arena arena;
    struct cluster c;

    (void)state;
    cv_arena_init(&arena);
    for (int i = -1; i <= 1; i += 2) {
        double tau[] = { 1, 2 };

        /* tau_2 / tau_1 = 1 + (1 + delta) tau_1 / R_1 + (1 + delta) / (R_2 / tau_2 + 1 +
         * delta), by repeated substitution. */
        for (int round = 0; round < 60; round++)
            tau[1] = 1 + (1 + delta) / nodes[0] +
                     (1 + delta) / (nodes[1] / tau[1] + 1 + delta);
        tau[1] *= 1 + i * 1e-9;
        cluster_make(&c, 2, tau, nodes, delta, 1);
        assert_int_equal(cv_returns_lifo_proved(&c.duplex, &arena), i > 0);
        assert_int_equal(cv_returns_lifo_proved(&c.single, &arena), i > 0);
        c.trips[0].back_s *= 0.5;
        assert_false(cv_returns_lifo_proved(&c.duplex, &arena));
        c.trips[0].back_s *= 2;
        c.trips[0].compute_fixed_s = 1e-9;
        assert_false(cv_returns_lifo_proved(&c.duplex, &arena));
    }
    cv_arena_done(&arena);
}

static void ratios_are_kept(void **state)
{
    double least_fifo = 1, least_lifo = 1;
    struct cv_random random;
    struct cv_arena arena;
    struct cluster c;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 800; number++) {
        const struct cv_returns *returns = port_of(&c, number);
        struct cv_returns_ratios ratios;
        double best, fifo, lifo;

        cv_random_at(&random, 67, number, 0, 0);
        cluster_random(&c, &random, 2 + number / 2 % 2);
        for (uint32_t i = 0; number % 5 == 0 && i < c.duplex.n; i++)
            c.trips[i].back_s = 3 * c.trips[i].send_s;
        best = brute_best(returns, c.lifespan_s, ANY_ORDERS);
        fifo = brute_best(returns, c.lifespan_s, SAME_ORDERS) / best;
        lifo = brute_best(returns, c.lifespan_s, REVERSED_ORDERS) / best;
        assert_true(cv_returns_ratios(returns, &arena, &ratios));
        assert_true(ratios.fifo >= 0.5 && ratios.lifo >= ratios.fifo);
        assert_true(ratios.best >= ratios.lifo && ratios.best <= 1 + rounding);
        if (returns->single)
            assert_true(ratios.lifo >= -expm1(-2) * (1 - rounding));
        assert_covers(fifo, ratios.fifo);
        assert_covers(lifo, ratios.lifo);
        assert_covers(fmax(fifo, lifo), ratios.best);
        least_fifo = fmin(least_fifo, fifo / ratios.fifo);
        least_lifo = fmin(least_lifo, lifo / ratios.lifo);
        cv_arena_reset(&arena);
    }
    assert_true(least_fifo < 1.05 && least_lifo < 1.05);
    cluster_unequal(&c, &random);
    {
        struct cv_returns_ratios ratios = { 1, 1, 1 };

        assert_true(cv_returns_ratios(&c.duplex, &arena, &ratios));
        assert_true(ratios.fifo == 0 && ratios.lifo == 0 && ratios.best == 0);
    }
    cv_arena_done(&arena);
}

/* The guarantees where they are met: many equal workers that just fill a single port, and
 * one link faster than all else before many equal ones. */
static void ratios_are_sharp(void **state)
{
    enum { MANY = 4000 };
    struct cv_trip *trips = calloc(MANY, sizeof *trips);
    struct cv_returns returns = { trips, MANY, true, NULL };
    const double delta = 0.5, fill = pow(delta, 1.0 / MANY);
    struct cv_returns_ratios ratios;
    struct cv_arena arena;

    (void)state;
    assert_non_null(trips);
    cv_arena_init(&arena);
    /* (R + delta) / (R + 1) = delta^(1/n) */
    for (uint32_t i = 0; i < MANY; i++)
        trips[i] = (struct cv_trip){ .send_s = 1,
                                     .compute_s = (fill - delta) / (1 - fill),
                                     .back_s = delta };
    assert_true(cv_returns_ratios(&returns, &arena, &ratios));
    assert_near(ratios.lifo, 1 - pow(delta, 3), 1e-9);
    assert_near(solved(cv_returns_lifo, &returns, 1, &arena).work /
                    cv_returns_bound_prefix(&returns, 1, &arena),
                ratios.lifo, 1e-3);
    returns.single = false;
    trips[0] = (struct cv_trip){ 1e-7, 1 + delta, delta * 1e-7, 0, 0, 0 };
    for (uint32_t i = 1; i < MANY; i++)
        trips[i] = (struct cv_trip){ 1, 1e-7, delta, 0, 0, 0 };
    assert_true(cv_returns_ratios(&returns, &arena, &ratios));
    assert_near(ratios.best, 2 / (2 + delta), 1e-12);
    assert_near(fmax(solved(cv_returns_fifo, &returns, 1, &arena).work,
                     solved(cv_returns_lifo, &returns, 1, &arena).work) /
                    cv_returns_bound_convex(&returns, 1, &arena),
                ratios.best, 1e-3);
    free(trips);
    cv_arena_done(&arena);
}

/* A case of three workers in which neither order is sorted at the optimum. */
static void numbers_of_one_case(void **state)
{
    const double tau[] = { 4, 2, 3 }, nodes[] = { 5, 5, 5 };
    struct cv_arena arena;
    struct cluster c;
    struct three three;

    (void)state;
    cv_arena_init(&arena);
    cluster_make(&c, 3, tau, nodes, 0.75, 2);
    three = bounds_of(&c.duplex, 2, &arena);
    assert_near(brute_best(&c.duplex, 2, ANY_ORDERS), 2 * 388.0 / 1893, 1e-12);
    assert_near(three.loose, 2 * (1.0 / 7 + 5.0 / 7 / 8 + 5.0 / 7 * 5 / 8 / 9), 1e-12);
    /* f = 6.5/7, 7.25/8, 8/9: h = (1 - F) / (1 - 0.75 F) for their products. */
    {
        const double f[] = { 1, 6.5 / 7, 6.5 / 7 * 7.25 / 8, 6.5 / 7 * 7.25 / 8 * 8 / 9 };
        double sum = 0;

        for (int k = 1; k <= 3; k++)
            sum += ((1 - f[k]) / (1 - 0.75 * f[k]) -
                    (1 - f[k - 1]) / (1 - 0.75 * f[k - 1])) /
                   (k + 1);
        assert_near(three.prefix, 2 * sum, 1e-12);
    }
    assert_near(three.convex, 2 * 0.2049778705, 1e-8);
    assert_false(cv_returns_lifo_proved(&c.duplex, &arena));
    cv_arena_done(&arena);
}

/* --- the interior point ------------------------------------------------------------------ */

/* The point between dual and feasible value is known to 1e-9 on hard instances: a load
 * near saturation, links that hardly differ, six decades. */
static void interior_point_converges(void **state)
{
    struct cv_arena arena;
    struct cv_random random;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 600; number++) {
        const uint32_t n = number % 10 == 0 ? 400 : 1 + number % 60;
        struct cv_convex_worker *workers = cv_array(&arena, n, sizeof *workers);
        struct cv_convex convex = { workers, n, 0 };
        struct cv_convex_report report;
        double delta, ease, spread, gain = 1, sent = 0, left = 1;

        assert_non_null(workers);
        cv_random_at(&random, 71, number, 0, 0);
        delta = number % 4 == 0 ? 1 : random_between(&random, 0, 1);
        ease = n * random_scale(&random, 1e-3, 1e4);
        spread = random_scale(&random, 1e-6, 1) * 14 / n;
        convex.pair = (1 + delta) / 2;
        for (uint32_t k = 0; k < n; k++) {
            const double node = ease * random_scale(&random, 0.3, 3); /* R / tau */

            gain *= exp(-spread * cv_random_uniform(&random));
            sent += left / (node + 1);
            left *= (node + delta) / (node + 1);
            workers[k] = (struct cv_convex_worker){ gain, node + convex.pair,
                                                    sent / (1 + delta * sent) };
        }
        assert_true(cv_convex_bound(&convex, &arena, &report) == report.bound);
        assert_true(report.reached <= report.bound * (1 + rounding));
        if (!(report.bound - report.reached < 1e-9 * report.bound))
            fail_msg("case %u: between %.17g and %.17g after %u iterations", number,
                     report.reached, report.bound, report.iterations);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* One worker has a closed form: the row gives p = 1 / (weight + pair). */
static void interior_point_of_one(void **state)
{
    struct cv_convex_worker worker = { 2, 3, 1 };
    const struct cv_convex convex = { &worker, 1, 0.75 };
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    assert_near(cv_convex_bound(&convex, &arena, NULL), 2 / 3.75, 1e-9);
    worker.cap = 0.1;
    assert_near(cv_convex_bound(&convex, &arena, NULL), 0.2, 1e-9);
    cv_arena_done(&arena);
}

/* --- many workers ------------------------------------------------------------------------ */

static void many_workers(void **state)
{
    enum { MANY = 300000, FEWER = 1000 };
    struct cv_trip *trips = calloc(MANY, sizeof *trips);
    struct cv_returns returns = { trips, MANY, false, NULL };
    struct cv_random random;
    struct cv_arena arena;

    (void)state;
    assert_non_null(trips);
    cv_arena_init(&arena);
    cv_random_at(&random, 73, 0, 0, 0);
    for (uint32_t i = 0; i < MANY; i++) {
        const double tau = random_scale(&random, 0.1, 10);

        trips[i] = (struct cv_trip){ .send_s = tau,
                                     .compute_s = random_scale(&random, 1e4, 1e6),
                                     .back_s = 0.3 * tau };
    }
    for (int single = 0; single < 2; single++) {
        struct cv_round_trip lifo, fifo;
        struct three three;

        returns.single = single != 0;
        returns.n = MANY;
        three = bounds_of(&returns, 1, &arena);
        assert_true(three.convex == three.prefix);
        lifo = solved(cv_returns_lifo, &returns, 1, &arena);
        fifo = solved(cv_returns_fifo, &returns, 1, &arena);
        assert_covers(three.prefix, fmax(lifo.work, fifo.work));
        returns.n = FEWER;
        three = bounds_of(&returns, 1, &arena);
        lifo = solved(cv_returns_lifo, &returns, 1, &arena);
        fifo = solved(cv_returns_fifo, &returns, 1, &arena);
        assert_covers(three.convex, fmax(lifo.work, fifo.work));
        assert_true(three.convex < three.prefix);
        cv_arena_reset(&arena);
    }
    free(trips);
    cv_arena_done(&arena);
}

static void edges(void **state)
{
    const double tau[] = { 1, 2 }, nodes[] = { 3, 4 };
    struct cv_arena arena;
    struct three three;
    struct cluster c;

    (void)state;
    cv_arena_init(&arena);
    cluster_make(&c, 2, tau, nodes, 0.5, 1);
    /* Fixed costs that fill the lifespan of both, then of one. */
    c.trips[0].send_fixed_s = 0.25;
    c.trips[0].compute_fixed_s = 0.5;
    c.trips[0].back_fixed_s = 0.25;
    c.trips[1].compute_fixed_s = 2;
    three = bounds_of(&c.single, 1, &arena);
    assert_true(three.loose == 0 && three.prefix == 0 && three.convex == 0);
    three = bounds_of(&c.single, 2, &arena);
    assert_near(three.prefix, 1 / (1 + 3 + 0.5), 1e-12);
    assert_near(three.convex, 1 / (1 + 3 + 0.5), 1e-9);
    cluster_bind(&c, 0);
    three = bounds_of(&c.duplex, 1, &arena);
    assert_false(three.loose > 0 || three.prefix > 0 || three.convex > 0);
    assert_false(cv_returns_lifo_proved(&c.duplex, &arena));
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_better_than_the_bounds),
        cmocka_unit_test(extremes_are_covered),
        cmocka_unit_test(relaxations_are_covered),
        cmocka_unit_test(exact_where_said),
        cmocka_unit_test(backwards_is_the_same),
        cmocka_unit_test(lifo_proved_is_true),
        cmocka_unit_test(lifo_of_two_has_a_threshold),
        cmocka_unit_test(ratios_are_kept),
        cmocka_unit_test(ratios_are_sharp),
        cmocka_unit_test(numbers_of_one_case),
        cmocka_unit_test(interior_point_converges),
        cmocka_unit_test(interior_point_of_one),
        cmocka_unit_test(many_workers),
        cmocka_unit_test(edges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
