/* test_returns_search.c -- orders of sending and returning: search and proof.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "plan_check.h"

#include "model/returns/returns_bounds.h"
#include "model/returns/returns_search.h"

enum { MOST_HERE = 40, MOST_BRUTE = 4 };

/* Kinds of instances, as bits. */
enum { SINGLE = 1, FIXED = 2, UNEQUAL_RATIO = 4, KINDS = 8 };

struct scene {
    struct cv_trip trips[MOST_HERE];
    struct cv_returns returns;
};

/* Links alike, over three decades or in two groups; nodes from slower than their links
 * to a thousand times slower. */
static void random_scene(struct scene *scene, uint32_t n, unsigned kind, uint32_t number)
{
    static const double ratios[] = { 0.01, 0.1, 0.3, 0.5, 0.9, 1, 0, 2.5 };
    struct cv_random random;
    unsigned links;
    double ratio, apart, slow;
    bool equal;

    cv_random_at(&random, 11, number, n, kind);
    links = (unsigned)random_between(&random, 0, 3);
    ratio = ratios[(unsigned)random_between(&random, 0, 8)];
    apart = random_scale(&random, 1, 100);
    slow = random_scale(&random, 0.03, 1000);
    equal = cv_random_uniform(&random) < 0.5;
    memset(scene, 0, sizeof *scene);
    scene->returns = (struct cv_returns){ scene->trips, n, (kind & SINGLE) != 0, NULL };
    for (uint32_t i = 0; i < n; i++) {
        struct cv_trip *trip = &scene->trips[i];

        trip->send_s = random_between(&random, 0.5, 1.5);
        if (links == 1)
            trip->send_s = random_scale(&random, 0.03, 30);
        else if (links == 2 && cv_random_uniform(&random) < 0.5)
            trip->send_s *= apart;
        trip->compute_s = slow * (equal ? 1 : random_scale(&random, 0.1, 10));
        trip->back_s = ratio * trip->send_s;
        if (kind & UNEQUAL_RATIO)
            trip->back_s *= random_scale(&random, 0.2, 5);
        if ((kind & FIXED) == 0)
            continue;
        trip->send_fixed_s = random_scale(&random, 0.003, 0.2);
        trip->compute_fixed_s = random_scale(&random, 0.003, 0.2);
        trip->back_fixed_s = ratio > 0 ? random_scale(&random, 0.003, 0.2) : 0;
    }
}

/* --- schedules are schedules ------------------------------------------------------ */

/* Rows and port, from their definition. */
static void assert_fits(const struct cv_returns *returns,
                        const struct cv_round_trip *trip)
{
    const double max = trip->lifespan_s * (1 + 1e-9);
    double port = 0, before = 0;

    for (uint32_t k = 0; k < trip->n; k++) {
        const uint32_t i = trip->send[k];
        const struct cv_trip *own = &returns->trips[i];
        double row, after = 0;
        bool behind = false;

        before += own->send_fixed_s + own->send_s * trip->units[i];
        row = before + own->compute_fixed_s + own->compute_s * trip->units[i];
        for (uint32_t l = 0; l < trip->n; l++) {
            const uint32_t j = trip->back[l];
            const struct cv_trip *other = &returns->trips[j];

            behind = behind || j == i;
            if (behind)
                after += other->back_fixed_s + other->back_s * trip->units[j];
        }
        assert_true(behind);
        assert_true(row + after <= max);
        port += own->send_fixed_s + own->back_fixed_s +
                (own->send_s + own->back_s) * trip->units[i];
    }
    if (returns->single)
        assert_true(port <= max);
}

static void assert_valid(const struct cv_returns *returns,
                         const struct cv_round_trip *trip)
{
    unsigned seen[MOST_HERE] = { 0 };
    double work = 0;

    for (uint32_t k = 0; k < trip->n; k++) {
        assert_in_range(trip->send[k], 0, returns->n - 1);
        assert_in_range(trip->back[k], 0, returns->n - 1);
        seen[trip->send[k]] += 1;
        seen[trip->back[k]] += 16;
    }
    for (uint32_t i = 0; i < returns->n; i++) {
        assert_true(seen[i] == 0 || seen[i] == 17);
        assert_true(seen[i] == 17 ? trip->units[i] > 0 : trip->units[i] == 0);
        work += trip->units[i];
    }
    assert_near(trip->work, work, 1e-12);
    assert_fits(returns, trip);
}

static struct cv_round_trip search(const struct scene *scene, double lifespan_s,
                                   const struct cv_search_effort *effort,
                                   struct cv_arena *arena)
{
    struct cv_round_trip trip;
    struct cleave_error err;

    assert_int_equal(cv_returns_search(&scene->returns, lifespan_s, effort, arena, &trip,
                                       &err),
                     CLEAVE_OK);
    assert_true(trip.lifespan_s == lifespan_s);
    assert_valid(&scene->returns, &trip);
    return trip;
}

static struct cv_round_trip exact(const struct scene *scene, double lifespan_s,
                                  struct cv_arena *arena)
{
    struct cv_round_trip trip;
    struct cleave_error err;

    assert_int_equal(cv_returns_exact(&scene->returns, lifespan_s, arena, &trip, &err),
                     CLEAVE_OK);
    assert_true(trip.optimal);
    assert_valid(&scene->returns, &trip);
    return trip;
}

/* --- all orders, the slow way ----------------------------------------------------- */

struct brute {
    const struct cv_returns *returns;
    double lifespan_s, best;
    uint32_t m, send[MOST_BRUTE], back[MOST_BRUTE];
    double a[MOST_BRUTE + 1][MOST_BRUTE + 1]; /* rows, then the port; right sides last */
};

static void set_rows(struct brute *brute)
{
    const uint32_t m = brute->m;

    for (uint32_t r = 0; r <= m; r++) {
        brute->a[r][m] = brute->lifespan_s;
        for (uint32_t c = 0; c < m; c++) {
            const struct cv_trip *trip = &brute->returns->trips[brute->send[c]];
            uint32_t own = 0, other = 0;

            for (uint32_t l = 0; r < m && l < m; l++) {
                own = brute->back[l] == brute->send[r] ? l : own;
                other = brute->back[l] == brute->send[c] ? l : other;
            }
            brute->a[r][c] = 0;
            if (r == m || c <= r) {
                brute->a[r][c] += trip->send_s;
                brute->a[r][m] -= trip->send_fixed_s;
            }
            if (r == m || other >= own) {
                brute->a[r][c] += trip->back_s;
                brute->a[r][m] -= trip->back_fixed_s;
            }
            if (r == c) {
                brute->a[r][c] += trip->compute_s;
                brute->a[r][m] -= trip->compute_fixed_s;
            }
        }
    }
}

/* Solve all rows but `skip`, of m + 1. False when singular. */
static bool solve(const struct brute *brute, uint32_t skip, double *units)
{
    const uint32_t m = brute->m;
    double a[MOST_BRUTE][MOST_BRUTE + 1];

    for (uint32_t r = 0, at = 0; r <= m; r++)
        if (r != skip)
            memcpy(a[at++], brute->a[r], sizeof a[0]);
    for (uint32_t c = 0; c < m; c++) {
        uint32_t best = c;
        double keep[MOST_BRUTE + 1];

        for (uint32_t r = c; r < m; r++)
            best = fabs(a[r][c]) > fabs(a[best][c]) ? r : best;
        if (!(fabs(a[best][c]) > 1e-13))
            return false;
        memcpy(keep, a[c], sizeof keep);
        memcpy(a[c], a[best], sizeof keep);
        memcpy(a[best], keep, sizeof keep);
        for (uint32_t r = 0; r < m; r++)
            for (uint32_t k = m + 1; r != c && k-- > c;)
                a[r][k] -= a[r][c] / a[c][c] * a[c][k];
    }
    for (uint32_t c = 0; c < m; c++)
        units[c] = a[c][m] / a[c][c];
    return true;
}

/* The solution without row `skip` counts if no share is negative and that row holds;
 * without the port the row need not be checked. */
static void try_vertex(struct brute *brute, uint32_t skip)
{
    const uint32_t m = brute->m;
    double units[MOST_BRUTE], sum = 0, row = 0;

    if (!solve(brute, skip, units))
        return;
    for (uint32_t c = 0; c < m; c++) {
        if (units[c] < -1e-13)
            return;
        sum += units[c];
        row += brute->a[skip][c] * units[c];
    }
    if ((skip < m || brute->returns->single) &&
        row > brute->a[skip][m] + 1e-12 * brute->lifespan_s)
        return;
    brute->best = fmax(brute->best, sum);
}

static void try_orders(struct brute *brute)
{
    set_rows(brute);
    for (uint32_t skip = brute->returns->single ? 0 : brute->m; skip <= brute->m; skip++)
        try_vertex(brute, skip);
}

/* All orders that continue the first `at` workers; `set` holds the workers still to
 * place. */
static void all_orders(struct brute *brute, uint32_t *order, uint32_t at, unsigned set,
                       unsigned all)
{
    if (at == brute->m && order == brute->send)
        all_orders(brute, brute->back, 0, all, all);
    else if (at == brute->m)
        try_orders(brute);
    for (uint32_t i = 0; i < brute->returns->n; i++)
        if (set >> i & 1) {
            order[at] = i;
            all_orders(brute, order, at + 1, set & ~(1u << i), all);
        }
}

static double brute_force(const struct cv_returns *returns, double lifespan_s)
{
    struct brute brute = { .returns = returns, .lifespan_s = lifespan_s };

    for (unsigned set = 1; set < 1u << returns->n; set++) {
        brute.m = 0;
        for (uint32_t i = 0; i < returns->n; i++)
            brute.m += set >> i & 1;
        all_orders(&brute, brute.send, 0, set, set);
    }
    return brute.best;
}

/* --- tests ------------------------------------------------------------------------ */

static void exact_is_best_of_all(void **state)
{
    struct cv_arena arena;
    unsigned orders_matter = 0;

    (void)state;
    cv_arena_init(&arena);
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (uint32_t number = 0; number < 60; number++) {
            const uint32_t n = 1 + number % MOST_BRUTE;
            struct scene scene;
            struct cv_round_trip best;

            random_scene(&scene, n, kind, number);
            best = exact(&scene, 1, &arena);
            assert_near(best.work, brute_force(&scene.returns, 1), 1e-9);
            for (uint32_t k = 0; k < best.n; k++)
                orders_matter += best.send[k] != best.back[k] &&
                                 best.send[k] != best.back[best.n - 1 - k];
            cv_arena_reset(&arena);
        }
    assert_true(orders_matter > 20); /* not only FIFO and LIFO */
    cv_arena_done(&arena);
}

/* More workers than brute force can do: the bounds and the search must agree. */
static void exact_is_between_search_and_bound(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (uint32_t number = 0; number < 6; number++) {
            struct scene scene;
            double best;

            random_scene(&scene, 6, kind, number);
            best = exact(&scene, 1, &arena).work;
            assert_true(search(&scene, 1, NULL, &arena).work <= best * (1 + 1e-9));
            assert_true(cv_returns_bound_convex(&scene.returns, 1, &arena) >=
                        best * (1 - 1e-9));
            cv_arena_reset(&arena);
        }
    cv_arena_done(&arena);
}

static void search_is_near_exact(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        double sum = 0, worst = 0;

        for (uint32_t number = 0; number < 100; number++) {
            struct scene scene;
            double best, gap;

            random_scene(&scene, 2 + number % 4, kind, number);
            best = exact(&scene, 1, &arena).work;
            gap = best > 0 ? 1 - search(&scene, 1, NULL, &arena).work / best : 0;
            assert_true(gap > -1e-9);
            sum += gap;
            worst = fmax(worst, gap);
            cv_arena_reset(&arena);
        }
        assert_true(sum / 100 < 1e-4);
        assert_true(worst < 1e-2);
    }
    cv_arena_done(&arena);
}

static void search_is_never_worse_than_plain(void **state)
{
    static const struct cv_search_effort little = { .starts = 1 };
    struct cv_arena arena;
    unsigned better = 0;

    (void)state;
    cv_arena_init(&arena);
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (uint32_t number = 0; number < 15; number++) {
            const uint32_t n = 1 + (7 * number + kind) % MOST_HERE;
            struct cv_round_trip fifo, lifo, small, found;
            struct cleave_error err;
            struct scene scene;
            double plain;

            random_scene(&scene, n, kind, number);
            found = search(&scene, 1, &little, &arena);
            assert_int_equal(cv_returns_fifo(&scene.returns, 1, &arena, &fifo, &err), 0);
            assert_int_equal(cv_returns_lifo(&scene.returns, 1, &arena, &lifo, &err), 0);
            assert_int_equal(cv_returns_small(&scene.returns, 1, &arena, &small, NULL,
                                              &err),
                             0);
            plain = fmax(fmax(fifo.work, lifo.work), small.work);
            assert_true(found.work >= plain * (1 - 1e-11));
            better += found.work > plain * (1 + 1e-9);
            assert_true(found.work <=
                        (1 + 1e-9) * cv_returns_bound_prefix(&scene.returns, 1, &arena));
            cv_arena_reset(&arena);
        }
    assert_true(better > 30);
    cv_arena_done(&arena);
}

static void more_effort_is_never_worse(void **state)
{
    static const struct cv_search_effort efforts[] = {
        { 1, 0, 5, 0 }, { 4, 0, 5, 0 }, { 6, 0, 5, 0 }, { 6, 10, 5, 0 }
    };
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 24; number++) {
        struct scene scene;
        double before = 0;

        random_scene(&scene, 12, number % KINDS, number);
        for (unsigned e = 0; e < 4; e++) {
            const double work = search(&scene, 1, &efforts[e], &arena).work;

            assert_true(work >= before * (1 - 1e-9));
            before = work;
        }
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

static void a_seed_gives_one_result(void **state)
{
    const struct cv_search_effort effort = { .starts = 6, .kicks = 5, .seed = 9 };
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct cv_round_trip one, two;
        struct scene scene;

        random_scene(&scene, 20, kind, 3);
        one = search(&scene, 1, &effort, &arena);
        two = search(&scene, 1, &effort, &arena);
        assert_int_equal(one.n, two.n);
        assert_memory_equal(one.send, two.send, one.n * sizeof *one.send);
        assert_memory_equal(one.back, two.back, one.n * sizeof *one.back);
        assert_memory_equal(one.units, two.units, 20 * sizeof *one.units);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* A budget counts steps: it ends the search early, and in the same way every time. */
static void a_budget_stops_it(void **state)
{
    const struct cv_search_effort all = { .starts = 5, .kicks = 30 };
    struct cv_search_effort little = all;
    struct cv_arena arena;
    struct scene scene;

    (void)state;
    cv_arena_init(&arena);
    little.budget_s = 1e-9;
    for (uint32_t number = 0; number < 10; number++) {
        random_scene(&scene, 25, 0, number);
        assert_true(search(&scene, 1, &little, &arena).work <=
                    search(&scene, 1, &all, &arena).work * (1 + 1e-12));
    }
    cv_arena_done(&arena);
}

static void one_worker(void **state)
{
    struct scene scene = { .trips = { { 2, 3, 1, 0.5, 0.25, 0.125 } } };
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (unsigned single = 0; single < 2; single++) {
        struct cv_round_trip found;

        scene.returns = (struct cv_returns){ scene.trips, 1, single == 1, NULL };
        found = search(&scene, 10, NULL, &arena);
        assert_near(found.work, (10 - 0.875) / 6, 1e-14);
        assert_true(found.optimal);
        assert_near(exact(&scene, 10, &arena).work, (10 - 0.875) / 6, 1e-14);
    }
    cv_arena_done(&arena);
}

/* Equal links: FIFO is optimal, and no order of it is better than another. */
static void equal_workers(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t n = 2; n <= 7; n++) {
        struct cv_round_trip fifo;
        struct cleave_error err;
        struct scene scene;

        memset(&scene, 0, sizeof scene);
        for (uint32_t i = 0; i < n; i++)
            scene.trips[i] =
                (struct cv_trip){ .send_s = 1, .compute_s = 6, .back_s = 0.5 };
        scene.returns = (struct cv_returns){ scene.trips, n, false, NULL };
        assert_int_equal(cv_returns_fifo(&scene.returns, 3, &arena, &fifo, &err), 0);
        assert_near(exact(&scene, 3, &arena).work, fifo.work, 1e-10);
        scene.returns.single = true;
        assert_near(exact(&scene, 3, &arena).work, fmin(fifo.work, 3 / 1.5), 1e-10);
    }
    cv_arena_done(&arena);
}

/* The best order need not send to the fastest link first; values are exact fractions. */
static void known_optima(void **state)
{
    struct scene scene;
    struct cv_round_trip best;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    memset(&scene, 0, sizeof scene);
    scene.returns = (struct cv_returns){ scene.trips, 3, false, NULL };
    for (uint32_t i = 0; i < 3; i++)
        scene.trips[i] = (struct cv_trip){ .send_s = 2.0 + i,
                                           .compute_s = 5,
                                           .back_s = 0.75 * (2.0 + i) };
    best = exact(&scene, 1, &arena);
    assert_near(best.work, 388.0 / 1893, 1e-13);
    assert_int_equal(best.send[0], 0);
    assert_int_equal(best.send[1], 2);
    assert_int_equal(best.back[0], 2);
    assert_int_equal(best.back[1], 0);
    assert_near(search(&scene, 1, NULL, &arena).work, 388.0 / 1893, 1e-13);
    /* Three equal links and slow returns: leaving one out is worth it in these orders,
     * but the best orders use all. */
    for (uint32_t i = 0; i < 3; i++)
        scene.trips[i] = (struct cv_trip){ .send_s = 1, .compute_s = 0.1, .back_s = 0.9 };
    assert_true(exact(&scene, 1, &arena).work > 21.0 / 31);
    cv_arena_done(&arena);
}

/* Read backwards, a schedule is one of the instance with sends and returns exchanged. */
static void time_can_be_reversed(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (uint32_t number = 0; number < 10; number++) {
            struct scene scene;
            double forth, back;

            random_scene(&scene, 5, kind, 50 + number);
            for (uint32_t i = 0; i < 5; i++)
                scene.trips[i].back_s = fmax(scene.trips[i].back_s, 1e-3);
            forth = exact(&scene, 1, &arena).work;
            for (uint32_t i = 0; i < 5; i++) {
                const struct cv_trip old = scene.trips[i];

                scene.trips[i].send_s = old.back_s;
                scene.trips[i].back_s = old.send_s;
                scene.trips[i].send_fixed_s = old.back_fixed_s;
                scene.trips[i].back_fixed_s = old.send_fixed_s;
            }
            back = exact(&scene, 1, &arena).work;
            assert_near(back, forth, 1e-9);
            cv_arena_reset(&arena);
        }
    cv_arena_done(&arena);
}

static void nothing_fits(void **state)
{
    struct cv_arena arena;
    struct scene scene;

    (void)state;
    cv_arena_init(&arena);
    random_scene(&scene, 4, FIXED, 1);
    for (unsigned single = 0; single < 2; single++) {
        scene.returns.single = single == 1;
        assert_int_equal(search(&scene, 1e-6, NULL, &arena).n, 0);
        assert_true(search(&scene, 0, NULL, &arena).work == 0);
        assert_int_equal(exact(&scene, 1e-6, &arena).n, 0);
    }
    /* Only one of them fits. */
    scene.trips[2] = (struct cv_trip){ 1, 1, 1, 1e-8, 1e-8, 1e-8 };
    assert_int_equal(exact(&scene, 1e-6, &arena).n, 1);
    assert_near(search(&scene, 1e-6, NULL, &arena).work, (1e-6 - 3e-8) / 3, 1e-9);
    cv_arena_done(&arena);
}

static void bad_input_is_refused(void **state)
{
    struct cv_round_trip trip = { .work = -5 };
    struct cleave_error err;
    struct cv_arena arena;
    struct scene scene;

    (void)state;
    cv_arena_init(&arena);
    random_scene(&scene, CV_EXACT_MOST + 1, 0, 1);
    assert_int_equal(cv_returns_exact(&scene.returns, 1, &arena, &trip, &err),
                     CLEAVE_EINPUT);
    assert_string_equal(err.text, "exact orders: expected at most 8 workers, got 9");
    scene.trips[1].send_s = -1;
    assert_int_equal(cv_returns_search(&scene.returns, 1, NULL, &arena, &trip, &err),
                     CLEAVE_EINPUT);
    assert_true(trip.work == -5);
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_is_best_of_all),
        cmocka_unit_test(exact_is_between_search_and_bound),
        cmocka_unit_test(search_is_near_exact),
        cmocka_unit_test(search_is_never_worse_than_plain),
        cmocka_unit_test(more_effort_is_never_worse),
        cmocka_unit_test(a_seed_gives_one_result),
        cmocka_unit_test(a_budget_stops_it),
        cmocka_unit_test(one_worker),
        cmocka_unit_test(equal_workers),
        cmocka_unit_test(known_optima),
        cmocka_unit_test(time_can_be_reversed),
        cmocka_unit_test(nothing_fits),
        cmocka_unit_test(bad_input_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
