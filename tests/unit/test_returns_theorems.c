/* test_returns_theorems.c -- theorems about one round with results: the linear system,
 * LIFO, FIFO, two workers. On random instances. SPDX-License-Identifier: MIT */
#include "returns_trial.h"

/* --- the linear system -------------------------------------------------------------- */

/* Every pair of orders of every set has its one solution, and adding up rows times
 * message lengths (for any p) is positive: the symmetric part is positive definite. */
static void always_solvable(void **state)
{
    unsigned negative = 0;
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < MANY; number++) {
        uint32_t send[MOST_WORKERS], back[MOST_WORKERS];
        struct cv_round_trip trip;
        double form = 0;

        trial_begin(&t, 101, number, 1, 8);
        random_order(&t.random, send, t.n);
        random_order(&t.random, back, t.n);
        trip = tight(&t.c.duplex, send, back, t.n, t.c.lifespan_s, &t.arena);
        for (uint32_t i = 0; i < t.n; i++) {
            double row[MOST_WORKERS + 1], sum = 0, size = 0;

            write_row(&t.c.duplex, send, back, t.n, t.c.lifespan_s, i, row);
            for (uint32_t k = 0; k < t.n; k++) {
                sum += row[k] * trip.units[send[k]];
                size += fabs(row[k] * trip.units[send[k]]);
            }
            assert_true(fabs(sum - t.c.lifespan_s) <= 1e-11 * size);
            form += t.c.trips[send[i]].send_s * trip.units[send[i]] * sum;
        }
        assert_true(form > 0);
        for (uint32_t i = 0; i < t.n; i++)
            if (trip.units[i] < 0) {
                negative++;
                break;
            }
    }
    assert_true(negative > 50); /* and shares are not always positive */
    cv_arena_done(&t.arena);
}

/* On a duplex port all-tight shares are a schedule iff they are nonnegative, on a single
 * one iff the messages fit as well; a little more is too much. */
static void when_it_is_a_schedule(void **state)
{
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < MANY; number++) {
        uint32_t send[MOST_WORKERS], back[MOST_WORKERS];
        struct cv_round_trip trip;
        bool positive = true;

        trial_begin(&t, 102, number, 1, 6);
        random_order(&t.random, send, t.n);
        random_order(&t.random, back, t.n);
        trip = tight(&t.c.duplex, send, back, t.n, t.c.lifespan_s, &t.arena);
        for (uint32_t i = 0; i < t.n; i++)
            positive = positive && trip.units[i] > 0;
        if (!positive)
            continue;
        assert_schedule(&t.c.duplex, &trip);
        if (port_of(&t, &trip) <= t.c.lifespan_s)
            assert_schedule(&t.c.single, &trip);
        /* No other shares for these rows and workers do more: the best is no worse. */
        assert_true(given(&t.c.duplex, send, back, t.n, t.c.lifespan_s, &t.arena).work >=
                    trip.work * (1 - 1e-12));
    }
    cv_arena_done(&t.arena);
}

/* Work is proportional to the lifespan. */
static void work_scales(void **state)
{
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < SOME; number++) {
        struct cv_round_trip one, two;

        trial_begin(&t, 103, number, 1, 9);
        one = solved(cv_returns_fifo, &t.c.single, t.c.lifespan_s, &t.arena);
        two = solved(cv_returns_fifo, &t.c.single, 7 * t.c.lifespan_s, &t.arena);
        assert_near(two.work, 7 * one.work, 1e-12);
        one = solved(cv_returns_lifo, &t.c.duplex, t.c.lifespan_s, &t.arena);
        two = solved(cv_returns_lifo, &t.c.duplex, 7 * t.c.lifespan_s, &t.arena);
        assert_near(two.work, 7 * one.work, 1e-12);
    }
    cv_arena_done(&t.arena);
}

/* --- theorem 1: LIFO ---------------------------------------------------------------- */

/* (a) shares and (b) work in closed form, in any order; it fits a single port, and adding
 * a worker always helps. */
static void theorem_1_shares_and_work(void **state)
{
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < MANY; number++) {
        uint32_t order[MOST_WORKERS] = { 0 }, back[MOST_WORKERS];
        double product = 1, work = 0, lengths = 0, c;
        struct cv_round_trip trip;

        trial_begin(&t, 104, number, 1, 10);
        random_order(&t.random, order, t.n);
        reverse_of(order, t.n, back);
        trip = lifo_in(&t, order);
        c = 1 + t.c.delta;
        for (uint32_t k = 0; k < t.n; k++) {
            const struct cv_trip *trip_s = &t.c.trips[order[k]];
            const double own = trip_s->compute_s + c * trip_s->send_s;
            const double share = t.c.lifespan_s * product / own;

            assert_near(trip.units[order[k]], share, 1e-11);
            work += t.c.lifespan_s * product * (1 - trip_s->compute_s / own) /
                    (c * trip_s->send_s);
            lengths += trip_s->send_s * share;
            product *= trip_s->compute_s / own;
        }
        assert_near(trip.work, work, 1e-9);
        assert_near(lengths, t.c.lifespan_s * (1 - product) / c, 1e-9);
        assert_schedule(&t.c.single, &trip);
        if (t.n > 1)
            assert_true(
                tight(&t.c.duplex, order, back + 1, t.n - 1, t.c.lifespan_s, &t.arena)
                    .work <= trip.work);
        assert_true(trip.units[order[t.n - 1]] > 0);
    }
    cv_arena_done(&t.arena);
}

/* (c) fastest links first is the best of all LIFO orders and sets, whatever the nodes;
 * with equal links all orders tie. */
static void theorem_1_order(void **state)
{
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < SOME; number++) {
        uint32_t order[MOST_WORKERS];
        struct cv_round_trip trip;

        trial_begin(&t, 105, number, 1, 5);
        trip = solved(cv_returns_lifo, &t.c.single, t.c.lifespan_s, &t.arena);
        assert_true(trip.optimal && trip.n == t.n);
        for (uint32_t k = 1; k < t.n; k++)
            assert_true(t.c.trips[trip.send[k - 1]].send_s <=
                        t.c.trips[trip.send[k]].send_s);
        assert_near(trip.work, brute_best(&t.c.duplex, t.c.lifespan_s, REVERSED_ORDERS),
                    1e-10);
        for (uint32_t i = 0; i < t.n; i++)
            t.c.trips[i].send_s = 1;
        set_delta(&t.c, t.c.delta);
        random_order(&t.random, order, t.n);
        assert_near(lifo_in(&t, order).work,
                    solved(cv_returns_lifo, &t.c.duplex, t.c.lifespan_s, &t.arena).work,
                    1e-10);
    }
    cv_arena_done(&t.arena);
}

/* --- theorem 2: FIFO ---------------------------------------------------------------- */

/* Shares, work and message lengths in closed form, in any order; the lengths do not
 * depend on it; a single port has room iff F >= delta. */
static void theorem_2_shares_and_work(void **state)
{
    unsigned tight_ports = 0;
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < MANY; number++) {
        uint32_t order[MOST_WORKERS];
        double f = 1, sum = 0, lengths = 0, d, first;
        struct cv_round_trip trip;

        trial_begin(&t, 106, number, 1, 10);
        random_order(&t.random, order, t.n);
        trip = fifo_in(&t, order);
        d = t.c.delta;
        for (uint32_t i = 0; i < t.n; i++) {
            const struct cv_trip *own = &t.c.trips[i];

            f *= (own->compute_s + d * own->send_s) / (own->compute_s + own->send_s);
            lengths += own->send_s * trip.units[i];
        }
        if (1 - d < 1e-6) { /* delta = 1: the limit */
            double s = 0;

            for (uint32_t i = 0; i < t.n; i++)
                s += t.c.trips[i].send_s / (t.c.trips[i].compute_s + t.c.trips[i].send_s);
            first = t.c.lifespan_s / (1 + s);
            assert_near(lengths, first * s, 1e-10);
            assert_int_equal(port_of(&t, &trip) <= t.c.lifespan_s, s <= 1);
        } else {
            first = t.c.lifespan_s * (1 - d) / (1 - d * f);
            assert_near(lengths, t.c.lifespan_s * (1 - f) / (1 - d * f), 1e-9);
            assert_int_equal(port_of(&t, &trip) <= t.c.lifespan_s, f >= d);
            tight_ports += f < d;
        }
        f = 1;
        for (uint32_t k = 0; k < t.n; k++) {
            const struct cv_trip *own = &t.c.trips[order[k]];

            assert_near(trip.units[order[k]], first * f / (own->compute_s + own->send_s),
                        1e-9);
            sum += trip.units[order[k]];
            f *= (own->compute_s + d * own->send_s) / (own->compute_s + own->send_s);
        }
        assert_near(trip.work, sum, 1e-12);
        assert_schedule(&t.c.duplex, &trip);
    }
    assert_true(tight_ports > 100);
    cv_arena_done(&t.arena);
}

/* Fastest links first is the best FIFO order with everyone; slowest first if delta > 1,
 * and at delta = 1 all orders tie. */
static void theorem_2_order(void **state)
{
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < SOME; number++) {
        uint32_t order[MOST_WORKERS];
        struct cv_round_trip best;
        struct cleave_error err;

        trial_begin(&t, 107, number, 2, 7);
        if (number % 3 == 0)
            set_delta(&t.c, random_between(&t.random, 1, 4));
        if (number % 3 == 1)
            set_delta(&t.c, 1);
        MUST(cv_returns_fifo_all(&t.c.duplex, t.c.lifespan_s, &t.arena, &best, &err));
        for (int other = 0; other < 10; other++) {
            double work;

            random_order(&t.random, order, t.n);
            work = fifo_in(&t, order).work;
            assert_true(work <= best.work * (1 + 1e-12));
            if (number % 3 == 1)
                assert_near(work, best.work, 1e-11);
        }
    }
    cv_arena_done(&t.arena);
}

/* --- proposition 1: whom FIFO leaves out -------------------------------------------- */

/* One more at the end helps iff W < L / (delta tau), L included. */
static void proposition_1_test(void **state)
{
    unsigned harmful = 0;
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < MANY; number++) {
        uint32_t order[MOST_WORKERS] = { 0 };
        double before, after, limit;

        trial_begin(&t, 108, number, 2, 8);
        random_order(&t.random, order, t.n);
        after = fifo_in(&t, order).work;
        before = tight(&t.c.duplex, order, order, t.n - 1, t.c.lifespan_s, &t.arena).work;
        limit = t.c.lifespan_s / t.c.trips[order[t.n - 1]].back_s;
        if (fabs(after / before - 1) > 1e-10)
            assert_int_equal(after > before, before < limit);
        harmful += after < before;
    }
    assert_true(harmful > 50);
    cv_arena_done(&t.arena);
}

/* Sorted and pruned that way it is the best FIFO of all sets and orders; the same on a
 * single port with the last filling it, and for delta > 1. */
static void proposition_1_set(void **state)
{
    unsigned dropped = 0, filled = 0;
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < 2 * SOME; number++) {
        struct cv_round_trip trip;

        trial_begin(&t, 109, number, 1, 5);
        if (number % 4 == 0)
            set_delta(&t.c, random_scale(&t.random, 1, 20));
        trip = solved(cv_returns_fifo, &t.c.duplex, t.c.lifespan_s, &t.arena);
        assert_true(trip.optimal);
        assert_near(trip.work, brute_best(&t.c.duplex, t.c.lifespan_s, SAME_ORDERS),
                    1e-10);
        dropped += trip.n < t.n;
        trip = solved(cv_returns_fifo, &t.c.single, t.c.lifespan_s, &t.arena);
        assert_true(trip.optimal);
        assert_near(trip.work, brute_best(&t.c.single, t.c.lifespan_s, SAME_ORDERS),
                    1e-10);
        filled += port_of(&t, &trip) >= t.c.lifespan_s * (1 - 1e-9);
    }
    assert_true(dropped > 50 && filled > 50);
    cv_arena_done(&t.arena);
}

/* --- propositions 2 to 5 ------------------------------------------------------------ */

/* Links sorted: FIFO gives later workers a larger part of what the one before gets. */
static void proposition_2(void **state)
{
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < MANY; number++) {
        uint32_t order[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
        struct cv_round_trip fifo, lifo;

        trial_begin(&t, 110, number, 2, 8);
        equal_nodes(&t.c);
        sort_links(&t.c);
        fifo = fifo_in(&t, order);
        lifo = lifo_in(&t, order);
        for (uint32_t k = 1; k < t.n; k++)
            assert_true(fifo.units[k] * lifo.units[k - 1] >
                        lifo.units[k] * fifo.units[k - 1]);
    }
    cv_arena_done(&t.arena);
}

/* A faster link increases every FIFO share of the others and the work, for any order and
 * nodes. */
static void proposition_3(void **state)
{
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < MANY; number++) {
        uint32_t order[MOST_WORKERS], faster;
        struct cv_round_trip before, after;

        trial_begin(&t, 111, number, 1, 8);
        if (t.c.delta > 0.999)
            set_delta(&t.c, 0.7);
        random_order(&t.random, order, t.n);
        before = fifo_in(&t, order);
        faster = random_below(&t.random, t.n);
        t.c.trips[faster].send_s *= random_between(&t.random, 0.1, 0.95);
        set_delta(&t.c, t.c.delta);
        after = fifo_in(&t, order);
        for (uint32_t i = 0; i < t.n; i++)
            assert_true(after.units[i] > before.units[i] * (1 - 1e-13));
        assert_true(after.work > before.work);
    }
    cv_arena_done(&t.arena);
}

/* Two workers: FIFO with the faster link first does more for delta < 1, the same at 1,
 * less above. */
static void proposition_4(void **state)
{
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < MANY; number++) {
        const uint32_t fast_first[] = { 0, 1 }, slow_first[] = { 1, 0 };
        double gain;

        trial_begin(&t, 112, number, 2, 2);
        sort_links(&t.c);
        set_delta(&t.c, number % 3 == 0   ? random_between(&t.random, 0, 0.99)
                        : number % 3 == 1 ? 1
                                          : random_between(&t.random, 1.01, 5));
        gain = fifo_in(&t, fast_first).work / fifo_in(&t, slow_first).work - 1;
        if (number % 3 == 1)
            assert_true(fabs(gain) < 1e-12);
        else
            assert_true(number % 3 == 0 ? gain > -1e-15 : gain < 1e-15);
    }
    cv_arena_done(&t.arena);
}

/* Computing dominates: w_i = L/R - (L/R^2) alpha_i + O(R^-3), alpha_i the messages that
 * worker i waits for, its own among them. */
static void proposition_5(void **state)
{
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < SOME; number++) {
        uint32_t send[MOST_WORKERS], back[MOST_WORKERS];
        double links = 0;

        trial_begin(&t, 113, number, 1, 8);
        for (uint32_t i = 0; i < t.n; i++)
            links += t.c.trips[i].send_s;
        random_order(&t.random, send, t.n);
        random_order(&t.random, back, t.n);
        for (int power = 2; power < 5; power++) {
            const double node = links * pow(10, power), l = t.c.lifespan_s;
            struct cv_round_trip trip;

            for (uint32_t i = 0; i < t.n; i++)
                t.c.trips[i].compute_s = node;
            trip = tight(&t.c.duplex, send, back, t.n, l, &t.arena);
            for (uint32_t i = 0; i < t.n; i++) {
                double row[MOST_WORKERS + 1], alpha = -node;

                write_row(&t.c.duplex, send, back, t.n, l, i, row);
                for (uint32_t k = 0; k < t.n; k++)
                    alpha += row[k];
                assert_true(
                    fabs(trip.units[send[i]] - l / node + l * alpha / node / node) <=
                    4 * l * links * links / (node * node * node) + 1e-14 * l / node);
            }
        }
    }
    cv_arena_done(&t.arena);
}

/* --- theorem 3: two workers --------------------------------------------------------- */

/* Equal nodes, the faster link first: FIFO wins iff that link is above one crossover,
 * which is below the other link. */
static void theorem_3(void **state)
{
    unsigned fifo_wins = 0;
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < MANY; number++) {
        const uint32_t order[] = { 0, 1 };
        double xi, fifo, lifo;

        trial_begin(&t, 114, number, 2, 2);
        equal_nodes(&t.c);
        sort_links(&t.c);
        xi = cv_returns_crossover(t.c.trips[0].compute_s, t.c.delta, t.c.trips[1].send_s);
        assert_true(xi > 0 && xi < t.c.trips[1].send_s);
        fifo = fifo_in(&t, order).work;
        lifo = lifo_in(&t, order).work;
        if (fabs(fifo / lifo - 1) > 1e-11)
            assert_int_equal(fifo > lifo, t.c.trips[0].send_s > xi);
        fifo_wins += fifo > lifo;
        /* At the crossover itself the two agree. */
        t.c.trips[0].send_s = xi;
        set_delta(&t.c, t.c.delta);
        assert_near(fifo_in(&t, order).work, lifo_in(&t, order).work, 1e-11);
        /* And one worker alone never wins. */
        assert_true(t.c.lifespan_s /
                        (t.c.trips[0].compute_s + (1 + t.c.delta) * t.c.trips[0].send_s) <
                    lifo_in(&t, order).work);
    }
    assert_true(fifo_wins > 300 && fifo_wins < MANY - 300);
    cv_arena_done(&t.arena);
}

/* Without results FIFO and LIFO, and all return orders, are one. */
static void no_results_no_difference(void **state)
{
    struct trial t;

    (void)state;
    for (uint32_t number = 0; number < SOME; number++) {
        uint32_t send[MOST_WORKERS], back[MOST_WORKERS];

        trial_begin(&t, 115, number, 1, 8);
        set_delta(&t.c, 0);
        random_order(&t.random, send, t.n);
        random_order(&t.random, back, t.n);
        assert_near(fifo_in(&t, send).work, lifo_in(&t, send).work, 1e-11);
        assert_near(fifo_in(&t, send).work,
                    tight(&t.c.duplex, send, back, t.n, t.c.lifespan_s, &t.arena).work,
                    1e-11);
    }
    cv_arena_done(&t.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(always_solvable),
        cmocka_unit_test(when_it_is_a_schedule),
        cmocka_unit_test(work_scales),
        cmocka_unit_test(theorem_1_shares_and_work),
        cmocka_unit_test(theorem_1_order),
        cmocka_unit_test(theorem_2_shares_and_work),
        cmocka_unit_test(theorem_2_order),
        cmocka_unit_test(proposition_1_test),
        cmocka_unit_test(proposition_1_set),
        cmocka_unit_test(proposition_2),
        cmocka_unit_test(proposition_3),
        cmocka_unit_test(proposition_4),
        cmocka_unit_test(proposition_5),
        cmocka_unit_test(theorem_3),
        cmocka_unit_test(no_results_no_difference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
