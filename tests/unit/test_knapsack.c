/* test_knapsack.c -- the multiple knapsack against all subsets, and where it is easy.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "select/knapsack/knapsack.h"

/* Helpers of check-vectors next to the solver; the library does not need them. */
#include "../../tools/check_vectors/knapsack_plain.c" /* NOLINT(bugprone-suspicious-include) */

enum { MOST_ITEMS = 12, MOST_SETS = 1 << MOST_ITEMS };

#define MUST(call) assert_int_equal(call, CLEAVE_OK)

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-10 * fmax(fabs(expected), 1)))
        fail_msg("expected %.17g, got %.17g", expected, got);
}

static uint32_t draw(struct cv_random *random, uint32_t below)
{
    return (uint32_t)(cv_random_uniform(random) * below);
}

/* --- exact sums ----------------------------------------------------------------------- */

/* The sign of the sum of `values` minus `with`. No rounding: the sum is kept in parts that do not
 * overlap, each the error of the addition of the next (Knuth's two-sum). */
static int compare_sum(const double *values, size_t n, double with)
{
    double parts[MOST_ITEMS + 1];

    for (size_t i = 0; i <= n; i++) {
        double sum = i < n ? values[i] : -with;

        for (size_t k = 0; k < i; k++) {
            const double whole = sum + parts[k], added = whole - sum;

            parts[k] = (sum - (whole - added)) + (parts[k] - added);
            sum = whole;
        }
        parts[i] = sum;
    }
    for (size_t k = n + 1; k-- > 0;)
        if (parts[k] != 0)
            return parts[k] < 0 ? -1 : 1;
    return 0;
}

static bool holds(const struct cv_knapsack *problem,
                  const struct cv_knapsack_answer *answer)
{
    uint64_t *counts = calloc((size_t)problem->nclasses + 1, sizeof *counts);
    bool held;

    assert_non_null(counts);
    held = cv_knapsack_holds(problem, answer, counts);
    free(counts);
    return held;
}

static void sums_are_not_rounded(void **state)
{
    static const double tenths[] = { 0.1, 0.2 }, halves[] = { 0.5, 0.25 };
    static const double tiny[] = { 1, 0x1p-1074 };

    (void)state;
    /* 0.1 and 0.2 are above their names, 0.3 is below, and their rounded sum is not. */
    assert_int_equal(compare_sum(tenths, 2, 0.3), 1);
    assert_int_equal(compare_sum(tenths, 2, 0.1 + 0.2), -1);
    assert_int_equal(compare_sum(halves, 2, 0.75), 0);
    assert_int_equal(compare_sum(tiny, 2, 1), 1);
    assert_int_equal(compare_sum(tiny, 2, 1 + 0x1p-52), -1);
    assert_int_equal(compare_sum((double[]){ 0 }, 0, 0), 0);
    assert_int_equal(compare_sum(tiny + 1, 1, 0), 1);
}

/* --- all subsets ---------------------------------------------------------------------- */

struct scene {
    struct cv_item_class classes[MOST_ITEMS];
    struct cv_knapsack problem;
};

/* Whether the items of a set add up to no more than a capacity. */
static bool set_fits(const struct scene *scene, const uint32_t *item_class, uint32_t set,
                     double capacity)
{
    double weights[MOST_ITEMS];
    size_t n = 0;

    for (uint32_t i = 0; i < MOST_ITEMS; i++)
        if (set >> i & 1)
            weights[n++] = scene->classes[item_class[i]].weight;
    return compare_sum(weights, n, capacity) <= 0;
}

/* The optimum: sets that the first bins can hold, bin by bin. */
static double try_all_sets(const struct scene *scene)
{
    static bool held[MOST_SETS], next[MOST_SETS];
    uint32_t item_class[MOST_ITEMS], n = 0;
    double best = 0;

    for (uint32_t c = 0; c < scene->problem.nclasses; c++)
        for (uint32_t i = 0; i < scene->classes[c].count; i++)
            item_class[n++] = c;
    memset(held, 0, sizeof held);
    held[0] = true;
    for (uint32_t b = 0; b < scene->problem.nbins; b++) {
        memcpy(next, held, sizeof held);
        for (uint32_t set = 1; set < UINT32_C(1) << n; set++) {
            if (!set_fits(scene, item_class, set, scene->problem.capacity))
                continue;
            for (uint32_t rest = ~set & ((UINT32_C(1) << n) - 1), with = rest;;
                 with = (with - 1) & rest) {
                next[set | with] = next[set | with] || held[with];
                if (with == 0)
                    break;
            }
        }
        memcpy(held, next, sizeof held);
    }
    for (uint32_t set = 0; set < UINT32_C(1) << n; set++) {
        double profit = 0;

        for (uint32_t i = 0; i < n; i++)
            profit += set >> i & 1 ? scene->classes[item_class[i]].profit : 0;
        best = held[set] && profit > best ? profit : best;
    }
    return best;
}

/* Up to 12 items in classes, up to 3 bins. Weights are short decimals, so that sums often
 * meet a capacity except for the last bits; or any numbers. */
static void random_scene(struct scene *scene, uint32_t number)
{
    const bool decimal = number % 3 != 0;
    struct cv_random random;
    uint32_t left, n = 0;

    cv_random_at(&random, 11, number, 0, 0);
    left = decimal ? draw(&random, MOST_ITEMS + 1) : MOST_ITEMS;
    while (left > 0) {
        const uint32_t count = 1 + draw(&random, left < 4 ? left : 4);
        double weight = 0.1 * (1 + draw(&random, 9));

        if (!decimal)
            weight = 0.3 + cv_random_uniform(&random);
        scene->classes[n].weight = weight;
        scene->classes[n].profit = 1 + draw(&random, 20);
        scene->classes[n++].count = count;
        /* Hard ones: profits that follow the weights, in bins for one to three items. */
        if (!decimal)
            scene->classes[n - 1].profit =
                weight * (0.9 + 0.2 * cv_random_uniform(&random));
        left -= count;
    }
    scene->problem = (struct cv_knapsack){ .classes = scene->classes, .nclasses = n };
    scene->problem.capacity =
        decimal ? 0.1 * (3 + draw(&random, 15)) : 0.3 + 1.5 * cv_random_uniform(&random);
    scene->problem.nbins = decimal ? draw(&random, 4) : 3;
}

static void small_ones_are_solved(void **state)
{
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 600; number++) {
        struct cv_knapsack_answer answer, greedy = { .profit = 0 };
        struct scene scene;
        double best, lp, kp = 0;
        bool exact = false;

        random_scene(&scene, number);
        best = try_all_sets(&scene);
        MUST(cv_knapsack_solve(&scene.problem, 0, &arena, &answer, &err));
        assert_true(holds(&scene.problem, &answer));
        assert_near(answer.profit, best);
        assert_true(answer.optimal);
        assert_true(answer.upper_bound == answer.profit);
        MUST(knapsack_greedy(&scene.problem, &arena, &greedy, &err));
        assert_true(holds(&scene.problem, &greedy));
        MUST(cv_knapsack_surrogate_lp(&scene.problem, &lp, &err));
        MUST(knapsack_surrogate_kp(&scene.problem, 0, &kp, &exact, &err));
        assert_true(exact);
        assert_true(greedy.profit <= best + 1e-9 && best <= kp + 1e-9 && kp <= lp + 1e-9);
        assert_true(greedy.upper_bound >= greedy.profit);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

static void little_work_leaves_a_bound(void **state)
{
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 200; number++) {
        struct cv_knapsack_answer answer;
        struct scene scene;
        double best;

        random_scene(&scene, number);
        best = try_all_sets(&scene);
        for (uint64_t work = 1; work < 1000; work *= 9) {
            MUST(cv_knapsack_solve(&scene.problem, work, &arena, &answer, &err));
            assert_true(holds(&scene.problem, &answer));
            assert_true(answer.profit <= best + 1e-9);
            assert_true(answer.upper_bound >= best - 1e-9);
            assert_true(!answer.optimal || answer.profit >= best - 1e-9);
        }
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* --- easy ones ------------------------------------------------------------------------ */

/* Solve, and expect a proved optimum. */
static void assert_optimum(const struct cv_knapsack *problem, double profit,
                           uint64_t selected)
{
    struct cv_knapsack_answer answer;
    struct cv_arena arena;
    struct cleave_error err;

    cv_arena_init(&arena);
    MUST(cv_knapsack_solve(problem, 0, &arena, &answer, &err));
    assert_true(holds(problem, &answer));
    assert_near(answer.profit, profit);
    assert_true(answer.optimal);
    assert_int_equal(answer.selected, selected);
    cv_arena_done(&arena);
}

static void nothing_to_choose(void **state)
{
    static const struct cv_item_class one = { 1, 2, 5 }, none = { 1, 2, 0 };

    (void)state;
    assert_optimum(&(struct cv_knapsack){ .nbins = 3, .capacity = 1 }, 0, 0);
    assert_optimum(&(struct cv_knapsack){ &one, 1, 0, 1 }, 0, 0);
    assert_optimum(&(struct cv_knapsack){ &none, 1, 2, 1 }, 0, 0);
    assert_optimum(&(struct cv_knapsack){ &one, 1, 3, 0 }, 0, 0);
    assert_optimum(&(struct cv_knapsack){ &one, 1, 3, 0.999 }, 0, 0);
    assert_optimum(&(struct cv_knapsack){ &one, 1, 3, 1 }, 6, 3);
    assert_optimum(&(struct cv_knapsack){ &one, 1, 3, 100 }, 10, 5);
}

static void sums_at_the_capacity(void **state)
{
    static const struct cv_item_class tenth = { 0.1, 1, 30 };
    static const struct cv_item_class tenths[] = { { 0.1, 1, 1 }, { 0.2, 1, 1 } };
    static const struct cv_item_class eighth = { 0.125, 1, 30 };

    (void)state;
    /* Three times 0.1 is above 0.3, and ten times above 1, though doubles say equal. */
    assert_optimum(&(struct cv_knapsack){ &tenth, 1, 2, 0.3 }, 4, 4);
    assert_optimum(&(struct cv_knapsack){ &tenth, 1, 1, 1 }, 9, 9);
    assert_optimum(&(struct cv_knapsack){ tenths, 2, 1, 0.3 }, 1, 1);
    assert_optimum(&(struct cv_knapsack){ tenths, 2, 1, 0.1 + 0.2 }, 2, 2);
    assert_optimum(&(struct cv_knapsack){ &eighth, 1, 3, 1 }, 24, 24);
}

static void too_heavy_for_all(void **state)
{
    static const struct cv_item_class classes[] = { { 5, 100, 3 }, { 1, 1, 4 } };

    (void)state;
    assert_optimum(&(struct cv_knapsack){ classes, 2, 2, 3 }, 4, 4);
}

static void best_of_equal_weights(void **state)
{
    static const struct cv_item_class classes[] = { { 0.03, 5, 100 },
                                                    { 0.03, 9, 100 },
                                                    { 0.03, 7, 100 } };

    (void)state;
    /* 33 to a bin. */
    assert_optimum(&(struct cv_knapsack){ classes, 3, 4, 1 }, 900 + 7 * 32, 132);
    assert_optimum(&(struct cv_knapsack){ classes, 3, 9, 1 }, 1600 + 5 * 97, 297);
    assert_optimum(&(struct cv_knapsack){ classes, 3, 10, 1 }, 2100, 300);
}

static void very_many_items(void **state)
{
    struct cv_item_class classes[10];

    (void)state;
    for (uint32_t i = 0; i < 10; i++)
        classes[i] = (struct cv_item_class){ 0.25 * (1 + i), 1 + i % 3, 1000000 };
    /* Quarters of profit 1 to 3: the lightest of each profit are worth 4, 4, 4 a unit, so
     * every bin of 1000 holds 4000 in profit at most, and does. */
    assert_optimum(&(struct cv_knapsack){ classes, 1, 100, 1000 }, 400000, 400000);
    assert_optimum(&(struct cv_knapsack){ classes, 1, 1000, 1000 }, 1e6, 1000000);
    classes[0].count = classes[1].count = classes[2].count = UINT32_MAX / 3;
    assert_optimum(&(struct cv_knapsack){ classes, 1, 1, 1e8 }, 4e8, 400000000);
}

/* Weights so far apart that no common unit has room: they are rounded, answers hold. */
static void absurd_ranges(void **state)
{
    static const struct cv_item_class classes[] = { { 1, 3, 4 }, { 1e-300, 1, 7 } };

    (void)state;
    assert_optimum(&(struct cv_knapsack){ classes, 2, 1, 2.5 }, 13, 9);
    assert_optimum(&(struct cv_knapsack){ classes, 2, 1, 1e308 }, 19, 11);
}

/* --- larger ones ---------------------------------------------------------------------- */

static void random_classes(struct cv_item_class *classes, uint32_t n, uint32_t number)
{
    struct cv_random random;

    cv_random_at(&random, 17, number, 0, 0);
    for (uint32_t i = 0; i < n; i++) {
        classes[i].weight = 0.1 + cv_random_uniform(&random);
        classes[i].profit = classes[i].weight * (1 + cv_random_uniform(&random));
        classes[i].count = 1 + draw(&random, 100);
    }
}

static void same_input_same_bits(void **state)
{
    struct cv_item_class classes[10], turned[10];
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 5; number++) {
        struct cv_knapsack problem = { classes, 10, 20, 3.5 };
        struct cv_knapsack_answer one, two;

        random_classes(classes, 10, number);
        MUST(cv_knapsack_solve(&problem, 3000000, &arena, &one, &err));
        MUST(cv_knapsack_solve(&problem, 3000000, &arena, &two, &err));
        assert_true(one.profit == two.profit && one.upper_bound == two.upper_bound);
        assert_true(one.work == two.work && one.optimal == two.optimal);
        assert_memory_equal(one.first, two.first, 21 * sizeof *one.first);
        assert_memory_equal(one.parts, two.parts, one.first[20] * sizeof *one.parts);
        /* The order of the classes does not matter. */
        for (uint32_t i = 0; i < 10; i++)
            turned[i] = classes[9 - i];
        problem.classes = turned;
        MUST(cv_knapsack_solve(&problem, 3000000, &arena, &two, &err));
        assert_near(two.profit, one.profit);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

static void bounds_are_close(void **state)
{
    struct cv_item_class classes[40];
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 12; number++) {
        const uint32_t n = number % 2 == 0 ? 10 : 40;
        struct cv_knapsack problem = { classes, n, 5 + 15 * (number % 3), 4.5 };
        struct cv_knapsack_answer answer, greedy = { .profit = 0 };

        random_classes(classes, n, 100 + number);
        MUST(cv_knapsack_solve(&problem, 20000000, &arena, &answer, &err));
        MUST(knapsack_greedy(&problem, &arena, &greedy, &err));
        assert_true(holds(&problem, &answer));
        assert_true(answer.profit >= greedy.profit);
        assert_true(answer.upper_bound <= greedy.upper_bound);
        assert_true(answer.profit >= 0.998 * answer.upper_bound);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

static void all_weights_different(void **state)
{
    static struct cv_item_class classes[2000];
    struct cv_knapsack problem = { classes, 2000, 20, 30 };
    struct cv_knapsack_answer answer;
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    random_classes(classes, 2000, 1);
    for (uint32_t i = 0; i < 2000; i++)
        classes[i].count = 1;
    MUST(cv_knapsack_solve(&problem, 20000000, &arena, &answer, &err));
    assert_true(holds(&problem, &answer));
    assert_true(answer.profit >= 0.9995 * answer.upper_bound);
    cv_arena_done(&arena);
}

/* --- mistakes ------------------------------------------------------------------------- */

static void assert_refused(const struct cv_knapsack *problem, const char *text)
{
    struct cv_knapsack_answer answer;
    struct cleave_error err;
    struct cv_arena arena;

    cv_arena_init(&arena);
    assert_int_equal(cv_knapsack_solve(problem, 0, &arena, &answer, &err), CLEAVE_EINPUT);
    assert_string_equal(err.text, text);
    cv_arena_done(&arena);
}

static void bad_input_is_named(void **state)
{
    static const struct cv_item_class weight[] = { { 1, 1, 1 }, { 0, 1, 1 } };
    static const struct cv_item_class profit = { 1, -1, 1 };
    static const struct cv_item_class many[] = { { 1, 1, UINT32_MAX }, { 1, 1, 1 } };

    (void)state;
    assert_refused(&(struct cv_knapsack){ weight, 2, 1, 1 },
                   "item class 1: expected a positive weight, got 0");
    assert_refused(&(struct cv_knapsack){ &profit, 1, 1, 1 },
                   "item class 0: expected a positive profit, got -1");
    assert_refused(&(struct cv_knapsack){ weight, 1, 1, -1 },
                   "expected a capacity of 0 or more, got -1");
    assert_refused(&(struct cv_knapsack){ many, 2, 1, 1 },
                   "expected at most 4294967295 items, got 4294967296");
}

static void false_answers_are_seen(void **state)
{
    static const struct cv_item_class class = { 0.1, 1, 3 };
    const struct cv_knapsack problem = { &class, 1, 1, 0.3 };
    struct cv_knapsack_part part = { 0, 2 };
    size_t first[] = { 0, 1 };
    struct cv_knapsack_answer answer = { 2, 2, true, 2, 0, first, &part };

    (void)state;
    assert_true(holds(&problem, &answer));
    part.count = 3;
    answer.profit = 3;
    answer.selected = 3;
    assert_false(holds(&problem, &answer));
    part.count = 2;
    assert_false(holds(&problem, &answer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_not_rounded),
        cmocka_unit_test(small_ones_are_solved),
        cmocka_unit_test(little_work_leaves_a_bound),
        cmocka_unit_test(nothing_to_choose),
        cmocka_unit_test(sums_at_the_capacity),
        cmocka_unit_test(too_heavy_for_all),
        cmocka_unit_test(best_of_equal_weights),
        cmocka_unit_test(very_many_items),
        cmocka_unit_test(absurd_ranges),
        cmocka_unit_test(same_input_same_bits),
        cmocka_unit_test(bounds_are_close),
        cmocka_unit_test(all_weights_different),
        cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(false_answers_are_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
