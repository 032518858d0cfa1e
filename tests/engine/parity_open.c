/* parity_open.c -- open chunks on the native engine and on SimGrid.
 * SPDX-License-Identifier: MIT
 *
 * A policy gives orders at random; both engines must tell of the same events, one by one, at
 * the same times up to 1e-9 of them. Speeds and links are such that few events are
 * simultaneous. Skipped where cleave-simgrid is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <cleave/simgrid.h>
#include "open_chance.h"
#include "sim/simgrid/simgrid_engine.h"
#include "trace_check.h"

enum { SCRIPTS = 120 };

static const char STAR[] =
    "port: %s\n"
    "workers:\n"
    "  - { name: a, speed: 10.3, compute_latency: 1.01, bandwidth: 101.7, latency: 0.11 "
    "}\n"
    "  - { name: b, speed: 40.7, compute_latency: 0.23, bandwidth: 53.9, latency: 0.07,\n"
    "      profile: [[5.3, 0.41], [21.7, 1.3]] }\n"
    "  - { name: c, speed: 13.1, compute_latency: 3.07, bandwidth: 307.3, latency: 0.53 "
    "}\n";

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (1 + fabs(a) + fabs(b));
}

static bool same_entry(const struct cleave_entry *a, const struct cleave_entry *b)
{
    const struct cleave_event *x = &a->as.event, *y = &b->as.event;

    if (a->is_order != b->is_order)
        return false;
    if (a->is_order)
        return a->as.order.kind == b->as.order.kind &&
               a->as.order.worker == b->as.order.worker &&
               near(a->as.order.units, b->as.order.units);
    return x->kind == y->kind && x->worker == y->worker && x->chunk == y->chunk &&
           near(x->units, y->units) && near(x->start_s, y->start_s) &&
           near(x->time_s, y->time_s) && near(x->read_s, y->read_s) &&
           near(x->output, y->output) && near(a->units_left, b->units_left);
}

static void compare(const struct cleave_trace *native, const struct cleave_trace *grid)
{
    const size_t count = cleave_trace_count(native);

    for (size_t i = 0; i < count && i < cleave_trace_count(grid); i++) {
        const struct cleave_entry *a = cleave_trace_at(native, i);
        const struct cleave_entry *b = cleave_trace_at(grid, i);

        if (!same_entry(a, b))
            fail_msg("script %llu, entry %zu: kind %d worker %u units %.12g at %.12g, "
                     "SimGrid: kind %d worker %u units %.12g at %.12g",
                     (unsigned long long)script_seed, i, (int)a->as.event.kind,
                     a->as.event.worker, a->as.event.units, a->as.event.time_s,
                     (int)b->as.event.kind, b->as.event.worker, b->as.event.units,
                     b->as.event.time_s);
    }
    assert_int_equal(count, cleave_trace_count(grid));
}

/* Conditions: for every other script, one after the other, and all of them. */
static struct cleave_conditions conditions_of(uint64_t seed)
{
    static const struct cleave_hang hangs[] = { { 0, 7.03 }, { 2, 20.01 } };
    const uint64_t kind = seed % 2 == 0 ? seed / 2 % 6 : 0;
    struct cleave_conditions conditions = { .answers_s = 0 };

    if (kind == 1 || kind == 5)
        conditions.answers_s = 0.613;
    if (kind == 2 || kind == 5)
        conditions.stalls = (struct cleave_stalls){ 11.3, 2.9 };
    if (kind == 3 || kind == 5)
        conditions.costs = (struct cleave_cost_law){ CLEAVE_COST_LOGNORMAL, 0.8, 7 };
    if (kind >= 4) {
        conditions.hangs = hangs;
        conditions.nhangs = 2;
        conditions.timeout_s = 4.7;
    }
    return conditions;
}

static void engines_tell_the_same(void **unused)
{
    static const char *const kinds[] = { "stream", "count", "slurp", "late", "mix" };
    static const char *const ports[] = { "one", "duplex", "multi" };
    const struct cv_noise noise = { .drawn = { CLEAVE_NOISE_GAMMA, 0.3 }, .seed = 7 };

    (void)unused;
    for (script_seed = 1; script_seed <= SCRIPTS; script_seed++) {
        char platform[sizeof STAR + 8];
        struct scene scene = { .platform = platform,
                               .reads = kinds[script_seed % 5],
                               .load = 1000,
                               .hold = script_seed % 4 == 3 ? 450 : 0,
                               .ahead = script_seed % 4 == 0 ? 20 : 0,
                               .noise = script_seed % 2 == 0 ? &noise : NULL,
                               .conditions = conditions_of(script_seed),
                               .copies = script_seed % 3 == 0,
                               .gets_losses = script_seed % 4 == 0,
                               .decide = at_random };
        struct cleave_trace *traces[2] = { NULL, NULL };
        struct cv_outcome outcome;
        struct cleave_error err;

        copies = scene.copies;
        snprintf(platform, sizeof platform, STAR, ports[script_seed % 3]);
        for (int i = 0; i < 2; i++) {
            scene.engine = i == 0 ? NULL : &cv_engine_simgrid_open;
            assert_int_equal(cleave_trace_new(&traces[i], &err), CLEAVE_OK);
            if (play(&scene, traces[i], &outcome, &err) != CLEAVE_OK)
                fail_msg("script %llu, engine %d: %s", (unsigned long long)script_seed, i,
                         err.text);
        }
        compare(traces[0], traces[1]);
        cleave_trace_free(traces[0]);
        cleave_trace_free(traces[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_tell_the_same),
    };
    const char *folder = getenv("CLEAVE_BUILD_DIR");
    struct cleave_error err;

    if (folder != NULL) /* test programs are not next to the command */
        setenv("CLEAVE_LIBEXEC", folder, 0);
    if (cleave_simgrid_find(NULL, 0, &err) != CLEAVE_OK) {
        fprintf(stderr, "skipped: %s\n", err.text);
        return 77;
    }
    return cmocka_run_group_tests_name("parity_open", tests, NULL, NULL);
}
