/* test_led_tree.c -- plans and bounds of trees of leaders. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cleave/run.h>

#include "base/random.h"
#include "model/leaders/led_tree.h"

enum { MOST = 10, PIECES = 3 };

/* A tree as the tests know it; parent MOST: the master. */
struct tree {
    uint32_t n, parent[MOST];
    struct cleave_worker costs[MOST];
    enum cleave_port port;
    double load;
    char text[4096];
};

static double within(struct cv_random *random, double least, double most)
{
    return least * pow(most / least, cv_random_uniform(random));
}

static void write_tree(struct tree *tree)
{
    char *at = tree->text;

    at += sprintf(at, "port: %s\nworkers:\n", cleave_port_name(tree->port));
    for (uint32_t v = 0; v < tree->n; v++) {
        const struct cleave_worker *w = &tree->costs[v];

        at += sprintf(at,
                      "  - {name: n%u, speed: %.17g, compute_latency: %.17g, bandwidth: "
                      "%.17g, latency: %.17g",
                      v, w->speed_ups, w->compute_latency_s, w->bandwidth_ups,
                      w->latency_s);
        if (tree->parent[v] != MOST)
            at += sprintf(at, ", via: n%u", tree->parent[v]);
        at += sprintf(at, "}\n");
    }
}

/* Up to `most` workers, in up to three levels. */
static void draw_tree(struct cv_random *random, uint32_t most, struct tree *tree)
{
    const double start_s = cv_random_uniform(random) < 0.3 ? 0 : within(random, 0.01, 3);

    tree->n = 2 + (uint32_t)(cv_random_uniform(random) * (most - 1));
    tree->port = (enum cleave_port)(cv_random_uniform(random) * 3);
    tree->load = within(random, 3, 300);
    for (uint32_t v = 0; v < tree->n; v++) {
        tree->parent[v] = v == 0 || (v > 1 && cv_random_uniform(random) < 0.25)
                              ? MOST
                              : (uint32_t)(cv_random_uniform(random) * v);
        tree->costs[v] =
            (struct cleave_worker){ .speed_ups = within(random, 0.5, 5),
                                    .compute_latency_s =
                                        start_s * cv_random_uniform(random),
                                    .bandwidth_ups = within(random, 0.5, 20),
                                    .latency_s = start_s * cv_random_uniform(random) };
    }
    write_tree(tree);
}

static struct cleave_platform *parse(const struct tree *tree)
{
    struct cleave_platform *platform = NULL;
    struct cleave_error err;

    if (cleave_platform_parse("p.yaml", tree->text, strlen(tree->text), &platform,
                              &err) != CLEAVE_OK)
        fail_msg("%s\n%s", err.text, tree->text);
    return platform;
}

static struct cleave_schedule *
plan(const struct tree *tree, const struct cleave_platform *platform, const char *policy)
{
    const struct cleave_job job = {
        .platform = platform, .load = tree->load, .policy = policy, .seed = 1
    };
    struct cleave_schedule *schedule = NULL;
    struct cleave_error err;

    if (cleave_plan_load(&job, &schedule, &err) != CLEAVE_OK)
        fail_msg("%s: %s\n%s", policy, err.text, tree->text);
    return schedule;
}

/* --- schedules that follow no rule -------------------------------------------------- */

/* For each piece of the load, for each node that cuts it: how much of it each child, or the
 * node itself, gets, and in what order they are sent. */
struct words {
    double weight[PIECES][MOST + 1][MOST], order[PIECES][MOST + 1][MOST];
    double size[PIECES];
};

struct clocks {
    double port_s[MOST + 1], link_s[MOST], busy_s[MOST];
};

static double at_node(const struct tree *tree, const struct words *words, int piece,
                      uint32_t v, double now_s, double units, struct clocks *clocks);

static double compute(const struct tree *tree, uint32_t v, double now_s, double units,
                      struct clocks *clocks)
{
    clocks->busy_s[v] = fmax(clocks->busy_s[v], now_s) +
                        tree->costs[v].compute_latency_s +
                        units / tree->costs[v].speed_ups;
    return clocks->busy_s[v];
}

/* Node v, or the master (v == MOST), shares units that it has. Returns the end. */
static double share(const struct tree *tree, const struct words *words, int piece,
                    uint32_t v, double now_s, double units, struct clocks *clocks)
{
    const double *weight = words->weight[piece][v], *order = words->order[piece][v];
    double sum = 0, end_s = now_s, last = -INFINITY;

    for (uint32_t u = 0; u < tree->n; u++)
        if (u == v || tree->parent[u] == v)
            sum += fmax(0, weight[u]);
    if (!(sum > 0))
        return INFINITY;
    for (uint32_t turn = 0; turn < tree->n; turn++) {
        uint32_t next = MOST;
        double *port_s, part;

        for (uint32_t u = 0; u < tree->n; u++)
            if ((u == v || tree->parent[u] == v) && weight[u] > 0 && order[u] > last &&
                (next == MOST || order[u] < order[next]))
                next = u;
        if (next == MOST)
            break;
        last = order[next];
        part = units * weight[next] / sum;
        if (next == v) {
            end_s = fmax(end_s, compute(tree, v, now_s, part, clocks));
            continue;
        }
        port_s =
            tree->port == CLEAVE_PORT_MULTI ? &clocks->link_s[next] : &clocks->port_s[v];
        *port_s = fmax(*port_s, now_s) + tree->costs[next].latency_s +
                  part / tree->costs[next].bandwidth_ups;
        end_s = fmax(end_s, at_node(tree, words, piece, next, *port_s, part, clocks));
    }
    return end_s;
}

static double at_node(const struct tree *tree, const struct words *words, int piece,
                      uint32_t v, double now_s, double units, struct clocks *clocks)
{
    for (uint32_t u = 0; u < tree->n; u++)
        if (tree->parent[u] == v)
            return share(tree, words, piece, v, now_s, units, clocks);
    return compute(tree, v, now_s, units, clocks);
}

static double play(const struct tree *tree, const struct words *words)
{
    struct clocks clocks;
    double sum = 0, end_s = 0;

    memset(&clocks, 0, sizeof clocks);
    for (int p = 0; p < PIECES; p++)
        sum += fmax(0, words->size[p]);
    for (int p = 0; p < PIECES; p++)
        if (words->size[p] > 0)
            end_s = fmax(end_s, share(tree, words, p, MOST, 0,
                                      tree->load * words->size[p] / sum, &clocks));
    return sum > 0 ? end_s : INFINITY;
}

/* The end of a good schedule: random changes of random words. */
static double search(const struct tree *tree, struct cv_random *random, int changes)
{
    struct words best = { 0 }, trial;
    double best_s = INFINITY;

    for (int i = 0; i < changes; i++) {
        const bool fresh = i % (changes / 4) == 0;
        double *genes = (double *)&trial, end_s;
        const size_t count = sizeof trial / sizeof *genes;

        trial = best;
        for (size_t g = 0; g < count; g++)
            if (fresh || cv_random_uniform(random) < 0.02)
                genes[g] = (fresh ? 0 : genes[g] * (cv_random_uniform(random) < 0.7)) +
                           cv_random_uniform(random) - 0.3;
        end_s = play(tree, &trial);
        if (fresh || end_s <= best_s) {
            if (fresh && end_s > best_s && i > 0)
                continue;
            best = trial;
            best_s = fmin(best_s, end_s);
        }
    }
    return best_s;
}

static void no_schedule_beats_a_bound(void **state)
{
    double sum = 0, worst = 0;
    struct cv_random random;
    int searched = 0;

    (void)state;
    cv_random_at(&random, 11, 0, 0, 0);
    for (int turn = 0; turn < 150; turn++) {
        struct tree tree;
        struct cleave_platform *platform;
        struct cleave_schedule *schedule;
        double found_s;

        draw_tree(&random, 6, &tree);
        platform = parse(&tree);
        schedule = plan(&tree, platform, "leaders");
        found_s = search(&tree, &random, 3000);
        for (size_t i = 0; i < schedule->nbounds; i++)
            if (found_s < schedule->bounds[i].value_s * (1 - 1e-9))
                fail_msg("turn %d: %g s beats %s %g s, load %g\n%s", turn, found_s,
                         schedule->bounds[i].name, schedule->bounds[i].value_s, tree.load,
                         tree.text);
        if (schedule->optimal && found_s < schedule->makespan_s * (1 - 1e-9))
            fail_msg("turn %d: %g s beats the optimum %g s, load %g\n%s", turn, found_s,
                     schedule->makespan_s, tree.load, tree.text);
        if (schedule->makespan_s > found_s * 1.05)
            fail_msg("turn %d: planned %g s, possible %g s, load %g\n%s", turn,
                     schedule->makespan_s, found_s, tree.load, tree.text);
        worst = fmax(worst, schedule->makespan_s / found_s);
        sum += schedule->makespan_s / schedule->bound.value_s;
        searched++;
        cleave_schedule_free(schedule);
        cleave_platform_free(platform);
    }
    print_message(
        "plans over bounds %.4f on average; over schedules found %.4f at most\n",
        sum / searched, worst);
}

static void no_policy_beats_a_bound(void **state)
{
    static const char *const policies[] = { "leaders", "auto", "guided", "one-round" };
    struct cv_random random;

    (void)state;
    cv_random_at(&random, 12, 0, 0, 0);
    for (int turn = 0; turn < 60; turn++) {
        struct tree tree;
        struct cleave_platform *platform;
        double bound_s = 0, best_s = INFINITY, auto_s = INFINITY;

        draw_tree(&random, MOST, &tree);
        platform = parse(&tree);
        for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
            struct cleave_schedule *schedule = plan(&tree, platform, policies[i]);

            bound_s = fmax(bound_s, schedule->bound.value_s);
            best_s = fmin(best_s, schedule->makespan_s);
            if (i == 1)
                auto_s = schedule->makespan_s;
            cleave_schedule_free(schedule);
        }
        if (best_s < bound_s * (1 - 1e-9) || auto_s > best_s * (1 + 1e-9))
            fail_msg("turn %d: bound %g s, auto %g s, best %g s, load %g\n%s", turn,
                     bound_s, auto_s, best_s, tree.load, tree.text);
        cleave_platform_free(platform);
    }
}

/* A worker whose start takes longer than the whole load gets nothing. */
static void a_slow_starter_is_left_out(void **state)
{
    struct tree tree = {
        .n = 3,
        .parent = { MOST, 0, 0 },
        .costs = { { .speed_ups = 1, .bandwidth_ups = 1000, .latency_s = 0.01 },
                   { .speed_ups = 100, .bandwidth_ups = 1000, .latency_s = 0.01 },
                   { .speed_ups = 1,
                     .compute_latency_s = 100,
                     .bandwidth_ups = 1000,
                     .latency_s = 0.01 } },
        .load = 200,
    };
    struct cleave_platform *platform;
    struct cleave_schedule *schedule;

    (void)state;
    write_tree(&tree);
    platform = parse(&tree);
    schedule = plan(&tree, platform, NULL);
    assert_true(schedule->makespan_s < 2.0025);
    assert_true(schedule->bound.value_s > 2 && schedule->bound.value_s < 2.0023238);
    assert_false(schedule->optimal);
    cleave_schedule_free(schedule);
    cleave_platform_free(platform);
}

/* Each of three pieces goes to another worker of the leader, so that none waits for the start
 * of another piece: no bound may charge the start of the leader for each piece. */
static void starts_of_a_leader_overlap(void **state)
{
    struct tree tree = {
        .n = 4,
        .parent = { MOST, 0, 0, 0 },
        .costs = { { .speed_ups = 1e-6, .compute_latency_s = 10, .bandwidth_ups = 1 } },
        .load = 40,
    };
    struct words words;
    struct cleave_platform *platform;
    struct cleave_schedule *schedule;
    double end_s;

    (void)state;
    memset(&words, 0, sizeof words);
    for (int p = 0; p < PIECES; p++) {
        tree.costs[p + 1] = (struct cleave_worker){ .speed_ups = 10,
                                                    .compute_latency_s = 10,
                                                    .bandwidth_ups = 1e6 };
        words.size[p] = pow(11, -p);
        words.weight[p][MOST][0] = words.weight[p][0][p + 1] = 1;
    }
    write_tree(&tree);
    platform = parse(&tree);
    schedule = plan(&tree, platform, "leaders");
    end_s = play(&tree, &words);
    assert_true(end_s > 50 && end_s < 50.05);
    assert_true(schedule->bound.value_s > 49.9 && schedule->bound.value_s <= end_s);
    cleave_schedule_free(schedule);
    cleave_platform_free(platform);
}

/* Parts of a piece are sent while the piece before is computed: two pieces of a leader that
 * computes nothing itself take less than twice the time of one. */
static void pieces_overlap(void **state)
{
    static const char text[] = "workers:\n"
                               "  - {name: l, speed: 1e-6, bandwidth: 1e6}\n"
                               "  - {name: a, via: l, speed: 1, bandwidth: 1}\n";
    struct cleave_platform *platform = NULL;
    struct cv_led_run run;
    double one_s, two_s;

    (void)state;
    assert_int_equal(cleave_platform_parse("p.yaml", text, strlen(text), &platform, NULL),
                     CLEAVE_OK);
    assert_true(cv_led_run_init(&run, platform->tree, 1));
    one_s = cv_led_take(&run, 0, 0, 10, 1);
    two_s = cv_led_take(&run, 0, 0, 10, 1);
    assert_true(fabs(one_s - 20) < 1e-3);
    assert_true(fabs(two_s - 30) < 1e-3);
    cv_led_run_done(&run);
    cleave_platform_free(platform);
}

static void items_profiles_and_budgets_are_refused(void **state)
{
    static const char text[] = "workers:\n"
                               "  - {name: l, speed: 1, bandwidth: 1, cost: 1%s}\n"
                               "  - {name: a, via: l, speed: 1, bandwidth: 1}\n";
    static const double sizes[] = { 1, 2 };
    struct cleave_job job = { .load = 1, .seed = 1 };
    struct cleave_platform *platform = NULL;
    struct cleave_schedule *schedule = NULL;
    struct cleave_rental *rental = NULL;
    struct cleave_error err;
    char whole[256];

    (void)state;
    snprintf(whole, sizeof whole, text, "");
    assert_int_equal(cleave_platform_parse("p.yaml", whole, strlen(whole), &platform,
                                           &err),
                     CLEAVE_OK);
    job.platform = platform;
    job.sizes = sizes;
    job.nitems = 2;
    assert_int_equal(cleave_plan_load(&job, &schedule, &err), CLEAVE_EINPUT);
    assert_non_null(strstr(err.text, "worker 'l' leads others"));
    job.sizes = NULL;
    assert_int_equal(cleave_rent(&job, &(struct cleave_rental_terms){ .budget = 9 },
                                 &rental, &err),
                     CLEAVE_EINPUT);
    assert_non_null(strstr(err.text, "not with leaders (via:)"));
    cleave_platform_free(platform);
    snprintf(whole, sizeof whole, text, ", profile: [[5, 2]]");
    assert_int_equal(cleave_platform_parse("p.yaml", whole, strlen(whole), &platform,
                                           &err),
                     CLEAVE_OK);
    job.platform = platform;
    job.sizes = NULL;
    job.nitems = 0;
    assert_int_equal(cleave_plan_load(&job, &schedule, &err), CLEAVE_EINPUT);
    assert_non_null(strstr(err.text, "and has a profile"));
    cleave_platform_free(platform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_schedule_beats_a_bound),
        cmocka_unit_test(no_policy_beats_a_bound),
        cmocka_unit_test(a_slow_starter_is_left_out),
        cmocka_unit_test(starts_of_a_leader_overlap),
        cmocka_unit_test(pieces_overlap),
        cmocka_unit_test(items_profiles_and_budgets_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
