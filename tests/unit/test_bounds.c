/* test_bounds.c -- bounds: known values, slow references, and no schedule beats them.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/load/bounds.h"
#include "model/load/plan.h"

enum { MOST_WORKERS = 24, MOST_CHUNKS = 96 };

/* --- helpers ----------------------------------------------------------------------- */

struct dice {
    uint64_t state;
};

static double roll(struct dice *dice)
{
    dice->state = dice->state * 6364136223846793005u + 1442695040888963407u;
    return (double)(dice->state >> 11) / 9007199254740992.0;
}

static uint32_t pick(struct dice *dice, uint32_t n)
{
    return (uint32_t)(roll(dice) * n);
}

static struct cleave_worker make(double speed, double alpha, double bandwidth,
                                 double beta)
{
    return (struct cleave_worker){ speed, alpha, bandwidth, beta, bandwidth, beta };
}

/* Values spread over `decades` powers of ten; a quarter of the latencies are zero. */
static uint32_t random_workers(struct dice *dice, uint32_t max, double decades,
                               struct cleave_worker *workers)
{
    const uint32_t n = 1 + pick(dice, max);
    const double slow = pow(10, 1 - 3 * roll(dice));

    for (uint32_t i = 0; i < n; i++) {
        const double speed = pow(10, decades * (roll(dice) - 0.5));
        const double bandwidth = 2 * n * pow(10, decades * (roll(dice) - 0.5));
        const double alpha = slow * pow(10, decades * (roll(dice) - 0.5));
        const double beta = slow * pow(10, decades * (roll(dice) - 0.5));

        workers[i] = make(speed, pick(dice, 4) > 0 ? alpha : 0, bandwidth,
                          pick(dice, 4) > 0 ? beta : 0);
        if (i > 0 && pick(dice, 3) == 0)
            workers[i] = workers[i - 1];
    }
    return n;
}

struct fixture {
    struct cv_arena arena;
    struct cleave_bound bounds[CV_MAX_BOUNDS];
    size_t n, tightest;
};

static void compute(struct fixture *f, const struct cleave_worker *workers, uint32_t n,
                    enum cleave_port port, double load)
{
    cv_arena_reset(&f->arena);
    f->n = cv_bounds(workers, n, port, load, &f->arena, f->bounds, &f->tightest);
    assert_in_range(f->n, 3, CV_MAX_BOUNDS);
    assert_in_range(f->tightest, 0, f->n - 1);
    for (size_t i = 0; i < f->n; i++) {
        assert_true(isfinite(f->bounds[i].value_s));
        assert_true(f->bounds[i].value_s > 0);
        assert_true(f->bounds[f->tightest].value_s >= f->bounds[i].value_s * (1 - 1e-9));
    }
}

static double value(const struct fixture *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++) {
        if (strcmp(f->bounds[i].name, name) == 0)
            return f->bounds[i].value_s;
    }
    return NAN;
}

static void assert_close(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance * fabs(expected)))
        fail_msg("expected %.15g, got %.15g", expected, got);
}

static int setup(void **state)
{
    static struct fixture fixture;

    cv_arena_init(&fixture.arena);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    cv_arena_done(&f->arena);
    return 0;
}

/* --- known values ------------------------------------------------------------------ */

static void test_known(void **state)
{
    struct fixture *f = *state;
    struct cleave_worker six[6], alone = make(2, 0, 5, 0);
    const struct cleave_worker five[5] = {
        make(1.0373, 0.6085, 1.0439, 0.9879), make(1.9567, 0.7176, 1.212, 0.7683),
        make(1.5086, 0.3541, 1.0376, 0.5224), make(1.327, 0.928, 1.0612, 0.0561),
        make(1.8805, 0.7557, 1.0053, 0.1197),
    };

    for (int i = 0; i < 6; i++)
        six[i] = make(1, 1, 9, 2);
    compute(f, six, 6, CLEAVE_PORT_ONE, 300);
    assert_close(value(f, "ideal"), 50, 1e-12);
    assert_close(value(f, "port"), 53, 1e-12);
    assert_close(value(f, "start"), 58, 1e-12);
    compute(f, five, 5, CLEAVE_PORT_DUPLEX, 400);
    assert_close(value(f, "ideal"), 51.880001556400046, 1e-12);
    assert_close(value(f, "port"), 330.44320330033, 1e-12);
    assert_close(value(f, "start"), 53.42197251786616, 1e-12);
    compute(f, &alone, 1, CLEAVE_PORT_ONE, 30);
    assert_close(value(f, "ideal"), 15, 1e-12);
    assert_close(value(f, "port"), 15, 1e-12);
    assert_close(value(f, "start"), 15, 1e-12);
}

/* The makespans of xmi-k, which are optimal. */
static void test_known_optimal(void **state)
{
    static const struct {
        uint32_t n;
        double alpha, bandwidth, beta, load, makespan;
    } cases[] = {
        { 10, 1, 20, 0.5, 2000, 209.9695915126704 },
        { 6, 1.2, 9, 0.8, 400, 79.11302856958422 },
        { 5, 1, 5, 0.4, 1000, 227.80852130899052 },
        { 8, 0.5, 4.3, 0.3, 600, 147.77331004242103 },
        { 8, 0.5, 16, 0.4, 2, 2.0678396572827418 },
    };
    struct fixture *f = *state;

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct cleave_worker workers[MOST_WORKERS];

        for (uint32_t i = 0; i < cases[c].n; i++)
            workers[i] = make(1, cases[c].alpha, cases[c].bandwidth, cases[c].beta);
        compute(f, workers, cases[c].n, CLEAVE_PORT_ONE, cases[c].load);
        assert_close(value(f, "optimal"), cases[c].makespan, 1e-9);
        assert_string_equal(f->bounds[f->tightest].name, "optimal");
    }
}

/* --- slow references --------------------------------------------------------------- */

static double knapsack(const struct cleave_worker *workers, uint32_t n, double t)
{
    bool used[MOST_WORKERS] = { false };
    double alpha = INFINITY, beta = INFINITY, room, units = 0;

    for (uint32_t i = 0; i < n; i++) {
        alpha = fmin(alpha, workers[i].compute_latency_s);
        beta = fmin(beta, workers[i].latency_s);
    }
    room = fmax(0, t - alpha - beta);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t widest = n;
        const struct cleave_worker *w;
        double x;

        for (uint32_t i = 0; i < n; i++) {
            if (!used[i] &&
                (widest == n || workers[i].bandwidth_ups > workers[widest].bandwidth_ups))
                widest = i;
        }
        used[widest] = true;
        w = &workers[widest];
        x = w->speed_ups * fmax(0, t - w->compute_latency_s - w->latency_s);
        x = fmin(x, room * w->bandwidth_ups);
        units += x;
        room -= x / w->bandwidth_ups;
    }
    return units;
}

/* Best sum over all ways to give places k, k + 1, ... to the workers not in `taken`. */
static double places(const struct cleave_worker *workers, uint32_t n, double t,
                     const double *place, uint32_t k, unsigned taken)
{
    double best = 0;

    if (k == n)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct cleave_worker *w = &workers[i];
        double here;

        if ((taken >> i & 1u) != 0)
            continue;
        here = w->speed_ups *
               fmax(0, t - w->compute_latency_s - fmax(place[k], w->latency_s));
        best = fmax(best, here + places(workers, n, t, place, k + 1, taken | 1u << i));
    }
    return best;
}

static double assignment(const struct cleave_worker *workers, uint32_t n, double t)
{
    double place[MOST_WORKERS], sum = 0;

    for (uint32_t i = 0; i < n; i++)
        place[i] = workers[i].latency_s;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = i + 1; j < n; j++) {
            if (place[j] < place[i]) {
                const double swap = place[i];

                place[i] = place[j];
                place[j] = swap;
            }
        }
        sum += place[i];
        place[i] = sum;
    }
    return places(workers, n, t, place, 0, 0);
}

static double least_time(double (*units)(const struct cleave_worker *, uint32_t, double),
                         const struct cleave_worker *workers, uint32_t n, double load)
{
    double low = 0, high = 1e7;

    for (int i = 0; i < 80; i++) {
        const double middle = (low + high) / 2;

        if (units(workers, n, middle) >= load)
            high = middle;
        else
            low = middle;
    }
    return high;
}

static void test_references(void **state)
{
    struct fixture *f = *state;
    struct dice dice = { 7 };

    for (int round = 0; round < 120; round++) {
        struct cleave_worker workers[MOST_WORKERS];
        const uint32_t n = random_workers(&dice, 5, 1 + pick(&dice, 3), workers);
        const double load = pow(10, 3 * roll(&dice) - 0.5);

        compute(f, workers, n, CLEAVE_PORT_ONE, load);
        assert_close(value(f, "port"), least_time(knapsack, workers, n, load), 1e-10);
        assert_close(value(f, "start"), least_time(assignment, workers, n, load), 1e-10);
    }
}

/* Found by search: Newton's method alone ran in circles here. */
static void test_port_circle(void **state)
{
    struct fixture *f = *state;
    const struct cleave_worker workers[4] = {
        make(7.8682717103597177, 0, 1.0860642300393086, 1.179894646522909),
        make(7.8682717103597177, 0, 1.0860642300393086, 1.179894646522909),
        make(0.89448674101004044, 0.20029648418945781, 38.802697582142791, 0),
        make(0.89448674101004044, 0.20029648418945781, 38.802697582142791, 0),
    };
    const double load = 2.2187955110243989;

    compute(f, workers, 4, CLEAVE_PORT_ONE, load);
    assert_close(value(f, "port"), least_time(knapsack, workers, 4, load), 1e-10);
}

/* --- no schedule beats a bound ------------------------------------------------------ */

struct schedule {
    struct cv_plan plan;
    uint32_t worker[MOST_CHUNKS];
    double units[MOST_CHUNKS];
};

/* Round robin or a random order; sizes from the vertex if they fit, else random. */
static void random_schedule(struct dice *dice, const struct cleave_worker *workers,
                            uint32_t n, double load, struct cv_arena *arena,
                            struct schedule *schedule)
{
    const bool round_robin = pick(dice, 2) == 0;
    const uint32_t used = 1 + pick(dice, n);
    const size_t chunks = 1 + pick(dice, 4 * used < MOST_CHUNKS ? 4 * used : MOST_CHUNKS);
    struct cv_vertex_workspace room;
    bool feasible;
    double sum = 0;

    schedule->plan = (struct cv_plan){ chunks, schedule->worker, schedule->units };
    for (size_t k = 0; k < chunks; k++)
        schedule->worker[k] = round_robin ? (uint32_t)k % used : pick(dice, used);
    assert_true(cv_vertex_room_init(&room, arena, chunks, n));
    cv_vertex_solve(workers, load, schedule->worker, chunks, &room, schedule->units,
                    &feasible);
    for (size_t k = 0; k < chunks; k++) {
        if (!feasible)
            schedule->units[k] = -log(1 - roll(dice));
        sum += schedule->units[k];
    }
    for (size_t k = 0; k < chunks; k++)
        schedule->units[k] *= load / sum;
}

static void test_valid(void **state)
{
    struct fixture *f = *state;
    struct dice dice = { 11 };
    double ready[MOST_WORKERS];

    for (int round = 0; round < 600; round++) {
        struct cleave_worker workers[MOST_WORKERS];
        const uint32_t n = random_workers(&dice, MOST_WORKERS, pick(&dice, 4), workers);
        const double load = pow(10, 4 * roll(&dice) - 1);

        compute(f, workers, n, CLEAVE_PORT_ONE, load);
        for (int trial = 0; trial < 12; trial++) {
            struct schedule schedule;
            double makespan;

            random_schedule(&dice, workers, n, load, &f->arena, &schedule);
            makespan = cv_plan_makespan(workers, n, &schedule.plan, ready);
            if (f->bounds[f->tightest].value_s > makespan * (1 + 1e-9))
                fail_msg("%s %.15g beaten by %.15g", f->bounds[f->tightest].name,
                         f->bounds[f->tightest].value_s, makespan);
        }
    }
}

/* The least vertex makespan over all orders of up to `left` chunks that extend seq. */
static double all_orders(const struct cleave_worker *workers, uint32_t n, double load,
                         struct cv_vertex_workspace *room, uint32_t *seq, size_t chunks,
                         size_t max)
{
    double units[16], best = INFINITY;
    bool feasible;

    if (chunks > 0) {
        best = cv_vertex_solve(workers, load, seq, chunks, room, units, &feasible);
        if (!feasible)
            best = INFINITY;
    }
    for (uint32_t w = 0; chunks < max && w < n; w++) {
        seq[chunks] = w;
        best = fmin(best, all_orders(workers, n, load, room, seq, chunks + 1, max));
    }
    return best;
}

/* Among equal workers the best vertex of any order of six chunks is never better than
 * `optimal`, and often it is the optimum. */
static void test_optimal_against_all_orders(void **state)
{
    struct fixture *f = *state;
    struct dice dice = { 5 };
    int attained = 0;

    for (int round = 0; round < 60; round++) {
        const uint32_t n = 2 + pick(&dice, 2);
        const double alpha = 2 * roll(&dice), beta = roll(&dice);
        const double bandwidth = n * (0.3 + 2 * roll(&dice));
        const double load = pow(10, 0.2 + roll(&dice));
        struct cleave_worker workers[3];
        struct cv_vertex_workspace room;
        uint32_t seq[16];
        double best;

        for (uint32_t i = 0; i < n; i++)
            workers[i] = make(1, alpha, bandwidth, beta);
        compute(f, workers, n, CLEAVE_PORT_ONE, load);
        assert_true(cv_vertex_room_init(&room, &f->arena, 16, n));
        best = all_orders(workers, n, load, &room, seq, 0, n == 2 ? 7 : 6);
        assert_true(value(f, "optimal") <= best * (1 + 1e-9));
        attained += value(f, "optimal") >= best * (1 - 1e-9);
    }
    assert_true(attained >= 30);
}

/* The bound from prices against the known optimum: never above, and close. */
static void test_price_against_optimal(void **state)
{
    struct fixture *f = *state;
    struct dice dice = { 3 };
    double gap = 0;
    int n = 0;

    for (int round = 0; round < 300; round++) {
        const uint32_t count = 2 + pick(&dice, MOST_WORKERS - 2);
        const double ratio = count * (1 + 3 * roll(&dice));
        struct cleave_worker workers[MOST_WORKERS];
        double price, optimum;
        bool exact;

        for (uint32_t i = 0; i < count; i++)
            workers[i] = make(1, 10 * roll(&dice), ratio, 10 * roll(&dice));
        for (uint32_t i = 1; i < count; i++)
            workers[i] = workers[0];
        cv_arena_reset(&f->arena);
        optimum = cv_bound_equal(workers, count, 2000, &f->arena, &exact);
        price = cv_bound_price(workers, count, 2000, &f->arena);
        assert_true(exact);
        assert_true(price <= optimum * (1 + 1e-10));
        gap += optimum / price - 1;
        n++;
    }
    assert_true(gap / n < 0.02);
}

/* --- shape -------------------------------------------------------------------------- */

static void test_monotone(void **state)
{
    static const char *const names[] = { "ideal", "port", "start", "optimal" };
    struct fixture *f = *state;
    struct dice dice = { 17 };

    for (int round = 0; round < 40; round++) {
        struct cleave_worker workers[MOST_WORKERS];
        const uint32_t n = random_workers(&dice, 8, round % 2, workers);
        double before[4] = { 0, 0, 0, 0 };

        if (round % 2 == 0)
            workers[0].latency_s = 0.1; /* with a latency the optimum is attained */
        for (uint32_t i = 1; round % 2 == 0 && i < n; i++)
            workers[i] = workers[0];
        for (int step = 0; step < 30; step++) {
            const double load = 0.01 * pow(1.7, step);

            compute(f, workers, n, CLEAVE_PORT_ONE, load);
            for (int k = 0; k < 4; k++) {
                const double now = value(f, names[k]);

                assert_false(now < before[k]);
                before[k] = now;
            }
        }
    }
}

static void test_extremes(void **state)
{
    struct fixture *f = *state;
    const double loads[] = { 1e-9, 1, 1e15 };
    const struct cleave_worker apart[3] = { make(1e-3, 0.5, 1e3, 0.1),
                                            make(1, 0, 1e-3, 0), make(1e3, 2, 1e6, 1) };
    struct cleave_worker many[200];

    for (uint32_t i = 0; i < 200; i++)
        many[i] = make(1 + 0.01 * i, 0.1, 50 + i, i % 7 * 0.01);
    for (size_t k = 0; k < sizeof loads / sizeof *loads; k++) {
        compute(f, apart, 3, CLEAVE_PORT_ONE, loads[k]);
        compute(f, apart, 3, CLEAVE_PORT_MULTI, loads[k]);
        compute(f, many, 200, CLEAVE_PORT_ONE, loads[k]);
        compute(f, many, 200, CLEAVE_PORT_MULTI, loads[k]);
        for (uint32_t i = 0; i < 3; i++) {
            const struct cleave_worker *w = &apart[i];

            compute(f, w, 1, CLEAVE_PORT_ONE, loads[k]);
            assert_true(f->bounds[f->tightest].value_s <=
                        (w->latency_s + w->compute_latency_s + loads[k] / w->speed_ups +
                         loads[k] / w->bandwidth_ups) *
                            (1 + 1e-12));
        }
    }
    /* Without latencies chunks may be tiny: the limit is ideal or port. */
    for (uint32_t i = 0; i < 4; i++)
        many[i] = make(1, 0, 9, 0);
    compute(f, many, 4, CLEAVE_PORT_ONE, 300);
    assert_close(f->bounds[f->tightest].value_s, 75, 1e-12);
    for (uint32_t i = 0; i < 4; i++)
        many[i] = make(1, 0, 2, 0);
    compute(f, many, 4, CLEAVE_PORT_ONE, 300);
    assert_close(f->bounds[f->tightest].value_s, 150, 1e-12);
}

/* Beyond the exact assignment: more workers are never worse than some of them. */
static void test_many_workers(void **state)
{
    struct fixture *f = *state;
    static struct cleave_worker many[3000];
    struct dice dice = { 23 };
    double some;

    for (uint32_t i = 0; i < 3000; i++)
        many[i] = make(0.5 + roll(&dice), roll(&dice), 3e4 * (0.2 + roll(&dice)),
                       1e-4 * roll(&dice));
    compute(f, many, 100, CLEAVE_PORT_ONE, 6e5);
    some = value(f, "start");
    compute(f, many, 3000, CLEAVE_PORT_ONE, 6e5);
    assert_true(value(f, "start") > value(f, "ideal"));
    assert_true(value(f, "start") < some);
    assert_true(value(f, "price") > value(f, "ideal"));
}

static void test_multi(void **state)
{
    struct fixture *f = *state;
    struct cleave_worker pair[2] = { make(1, 0.5, 3, 0.25), make(1, 0.5, 3, 0.25) };
    double one;

    compute(f, pair, 1, CLEAVE_PORT_ONE, 40);
    one = value(f, "optimal");
    compute(f, pair, 1, CLEAVE_PORT_MULTI, 40);
    assert_close(value(f, "optimal"), one, 1e-10);
    compute(f, pair, 2, CLEAVE_PORT_MULTI, 80);
    assert_close(value(f, "optimal"), one, 1e-10);
    assert_true(isnan(value(f, "port")));
    assert_true(isnan(value(f, "start")));
    /* A fast separate link can only help. */
    pair[1] = make(1, 0, 1e6, 0);
    compute(f, pair, 2, CLEAVE_PORT_MULTI, 80);
    assert_true(f->bounds[f->tightest].value_s < one);
    assert_true(value(f, "link") <= f->bounds[f->tightest].value_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_known_optimal),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_port_circle),
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_optimal_against_all_orders),
        cmocka_unit_test(test_price_against_optimal),
        cmocka_unit_test(test_monotone),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_many_workers),
        cmocka_unit_test(test_multi),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
