/* test_platform.c -- platforms built from arrays and from groups.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "model/platform/platform_internal.h"

static const struct cleave_worker good = {
    .speed_ups = 1,
    .compute_latency_s = 0.5,
    .bandwidth_ups = 20,
    .latency_s = 0.25,
    .return_bandwidth_ups = 10,
    .return_latency_s = 0.125,
};

static void array_is_copied(void **state)
{
    struct cleave_worker workers[12];
    struct cleave_platform *platform = NULL;
    uint32_t steps = 7;

    (void)state;
    for (int i = 0; i < 12; i++) {
        workers[i] = good;
        workers[i].speed_ups = i + 1;
    }
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_DUPLEX, workers, 12, &platform,
                                         NULL),
                     CLEAVE_OK);
    memset(workers, 0, sizeof workers);
    assert_int_equal(cleave_platform_port(platform), CLEAVE_PORT_DUPLEX);
    assert_int_equal(cleave_platform_nworkers(platform), 12);
    for (int i = 0; i < 12; i++) {
        char name[16];

        snprintf(name, sizeof name, "w%d", i);
        assert_string_equal(cleave_platform_worker_name(platform, (uint32_t)i), name);
        assert_true(cleave_platform_workers(platform)[i].speed_ups == i + 1);
        assert_true(cleave_platform_workers(platform)[i].return_latency_s == 0.125);
    }
    assert_null(cleave_platform_profile(platform, 3, &steps));
    assert_int_equal(steps, 0);
    cleave_platform_free(platform);
    cleave_platform_free(NULL);
}

/* Rows name different members, their properties are set, and lists have no gaps. */
static void the_table_of_costs_is_sound(void **state)
{
    unsigned listed = 0;

    (void)state;
    for (size_t i = 0; i < CV_WORKER_FIELDS; i++) {
        const struct cv_worker_field *field = &cv_worker_fields[i];
        struct cleave_worker worker = { 0 };

        *cv_worker_cost(&worker, field) = 7;
        for (size_t k = 0; k < CV_WORKER_FIELDS; k++)
            assert_true(cv_worker_cost_of(&worker, &cv_worker_fields[k]) ==
                        (k == i ? 7 : 0));
        assert_true((field->like == NULL) == (cv_worker_field_like(field) == NULL));
        assert_true((field->like == NULL) == (field->listed > 0));
        assert_true(field->like == NULL || !field->required);
        assert_true(field->quantity == CV_RATE || field->quantity == CV_SECONDS);
        listed += field->listed > 0;
    }
    for (unsigned place = 1; place <= listed; place++)
        assert_non_null(cv_worker_field_listed(place));
    assert_null(cv_worker_field_listed(0));
    assert_null(cv_worker_field_listed(listed + 1));
}

static void every_cost_makes_workers_unequal(void **state)
{
    struct cleave_worker pair[3] = { good, good, good };
    const char *what = "";
    uint32_t other = 7;

    (void)state;
    assert_true(cv_workers_equal(pair, 3, true, &other, &what));
    assert_true(other == 7 && what[0] == '\0');
    for (size_t i = 0; i < CV_WORKER_FIELDS; i++) {
        const struct cv_worker_field *field = &cv_worker_fields[i];

        *cv_worker_cost(&pair[2], field) *= 2;
        assert_false(cv_workers_equal(pair, 3, true, &other, &what));
        assert_int_equal(other, 2);
        assert_string_equal(what, field->name);
        /* If nothing comes back, the way back makes no difference. */
        assert_true(cv_workers_equal(pair, 3, false, NULL, NULL) ==
                    (field->like != NULL));
        pair[2] = good;
    }
    pair[1].compute_latency_s = pair[1].bandwidth_ups = pair[1].return_latency_s = 99;
    assert_false(cv_workers_equal(pair, 3, true, NULL, &what));
    assert_string_equal(what, "bandwidth");
}

static void way_back_left_out_is_as_the_way_out(void **state)
{
    struct cleave_worker worker = { .speed_ups = 1, .bandwidth_ups = 20, .latency_s = 3 };
    struct cleave_platform *platform = NULL;

    (void)state;
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_ONE, &worker, 1, &platform, NULL),
                     CLEAVE_OK);
    assert_true(cleave_platform_workers(platform)[0].return_bandwidth_ups == 20);
    assert_true(cleave_platform_workers(platform)[0].return_latency_s == 3);
    cleave_platform_free(platform);
}

static void bad_numbers_are_named(void **state)
{
    static const struct {
        size_t offset;
        double value;
        const char *field, *text;
    } cases[] = {
#define AT(name) offsetof(struct cleave_worker, name)
        { AT(speed_ups), 0, "workers[1].speed", "expected a positive number, got '0'" },
        { AT(speed_ups), NAN, "workers[1].speed",
          "expected a positive number, got 'nan'" },
        { AT(speed_ups), INFINITY, "workers[1].speed",
          "expected a positive number, got 'inf'" },
        { AT(compute_latency_s), -1, "workers[1].compute_latency",
          "expected a number of at least 0, got '-1'" },
        { AT(bandwidth_ups), -2, "workers[1].bandwidth",
          "expected a positive number, got '-2'" },
        { AT(latency_s), -INFINITY, "workers[1].latency",
          "expected a number of at least 0, got '-inf'" },
        { AT(return_bandwidth_ups), 0, "workers[1].return_bandwidth",
          "expected a positive number, got '0'" },
        { AT(return_latency_s), NAN, "workers[1].return_latency",
          "expected a number of at least 0, got 'nan'" },
#undef AT
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cleave_worker workers[2] = { good, good };
        struct cleave_platform *platform = NULL;
        struct cleave_error err;

        memcpy((char *)&workers[1] + cases[i].offset, &cases[i].value, sizeof(double));
        assert_int_equal(cleave_platform_new(CLEAVE_PORT_ONE, workers, 2, &platform,
                                             &err),
                         CLEAVE_EINPUT);
        assert_null(platform);
        assert_string_equal(err.field, cases[i].field);
        assert_string_equal(err.text, cases[i].text);
        /* Listeners are optional. */
        assert_int_equal(cleave_platform_new(CLEAVE_PORT_ONE, workers, 2, &platform,
                                             NULL),
                         CLEAVE_EINPUT);
    }
}

static void worker_count_is_limited(void **state)
{
    struct cv_group groups[2] = { { .name = "a", .count = CLEAVE_MAX_WORKERS },
                                  { .name = "b", .count = 1 } };
    const struct cleave_worker kinds[2] = { good, good };
    struct cleave_platform *platform = NULL;
    struct cleave_error err;

    (void)state;
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_ONE, &good, 0, &platform, &err),
                     CLEAVE_EINPUT);
    assert_string_equal(err.text, "expected at least one worker, got none");
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_ONE, &good, CLEAVE_MAX_WORKERS + 1,
                                         &platform, &err),
                     CLEAVE_EINPUT);
    assert_string_equal(err.text,
                        "expected at most 10000000 workers in all, got 10000001");
    assert_int_equal(cv_platform_build(CLEAVE_PORT_ONE, kinds, groups, 2, &platform, NULL,
                                       &err),
                     CLEAVE_EINPUT);
    assert_string_equal(err.text,
                        "expected at most 10000000 workers in all, got 10000001");
    groups[1].count = 0;
    assert_int_equal(cv_platform_build(CLEAVE_PORT_ONE, kinds, groups, 2, &platform, NULL,
                                       &err),
                     CLEAVE_EINPUT);
    assert_int_equal(cv_platform_build(CLEAVE_PORT_ONE, kinds, groups, 0, &platform, NULL,
                                       &err),
                     CLEAVE_EINPUT);
    assert_null(platform);
}

static void groups_are_laid_out(void **state)
{
    struct cleave_step steps[2] = { { 0, 1 }, { 60, 0.5 } };
    struct cleave_worker kinds[3] = { good, good, good };
    char name[] = "big";
    struct cv_group groups[3] = {
        { .name = "one", .count = 1 },
        { .name = name, .count = 120, .steps = steps, .nsteps = 2 },
        { .name = "last", .count = 1 },
    };
    struct cleave_platform *platform = NULL;
    const struct cleave_step *found;
    uint32_t n;

    (void)state;
    kinds[1].speed_ups = 5;
    assert_int_equal(cv_platform_build(CLEAVE_PORT_MULTI, kinds, groups, 3, &platform,
                                       NULL, NULL),
                     CLEAVE_OK);
    memset(steps, 0, sizeof steps);
    memset(name, 0, sizeof name);
    assert_int_equal(cleave_platform_nworkers(platform), 122);
    assert_string_equal(cleave_platform_worker_name(platform, 0), "one");
    assert_string_equal(cleave_platform_worker_name(platform, 1), "big.0");
    assert_string_equal(cleave_platform_worker_name(platform, 10), "big.9");
    assert_string_equal(cleave_platform_worker_name(platform, 11), "big.10");
    assert_string_equal(cleave_platform_worker_name(platform, 120), "big.119");
    assert_string_equal(cleave_platform_worker_name(platform, 121), "last");
    assert_true(cleave_platform_workers(platform)[1].speed_ups == 5);
    assert_true(cleave_platform_workers(platform)[121].speed_ups == 1);
    assert_null(cleave_platform_profile(platform, 0, &n));
    found = cleave_platform_profile(platform, 120, &n);
    assert_int_equal(n, 2);
    assert_true(found[1].from_s == 60 && found[1].factor == 0.5);
    assert_int_equal(platform->ngroups, 3);
    assert_int_equal(platform->groups[1].first, 1);
    assert_string_equal(platform->groups[1].name, "big");
    cleave_platform_free(platform);
}

static void clashes_are_found(void **state)
{
    static const struct {
        struct {
            const char *name;
            uint32_t count;
        } groups[4];
        bool clash;
        uint32_t first, second;
    } cases[] = {
        { { { "a", 1 }, { "b", 1 } }, false, 0, 0 },
        { { { "a", 1 }, { "b", 1 }, { "a", 1 } }, true, 0, 2 },
        { { { "c", 1 }, { "a", 1 }, { "a", 1 }, { "a", 1 } }, true, 1, 2 },
        { { { "a", 2 }, { "a", 3 } }, true, 0, 1 },
        { { { "a", 4 }, { "a.2", 1 } }, true, 0, 1 },
        { { { "a.3", 1 }, { "a", 4 } }, true, 0, 1 },
        { { { "a", 4 }, { "a.4", 1 } }, false, 0, 0 },
        { { { "a", 4 }, { "a.02", 1 } }, false, 0, 0 },
        { { { "a", 4 }, { "a.", 1 } }, false, 0, 0 },
        { { { "a", 4 }, { "a.1x", 1 } }, false, 0, 0 },
        { { { "a", 4 }, { "a.99999999999999999999", 1 } }, false, 0, 0 },
        { { { "a", 4 }, { "a", 1 } }, false, 0, 0 },   /* a, and a.0 to a.3 */
        { { { "a", 4 }, { "a.1", 2 } }, false, 0, 0 }, /* a.1.0 and a.1.1 */
        { { { "a.1", 2 }, { "a.1.1", 1 } }, true, 0, 1 },
        { { { "b", 1 }, { "a", 4 }, { "a.0", 1 }, { "b", 1 } }, true, 1, 2 },
        { { { "", 3 }, { ".1", 1 } }, true, 0, 1 },
    };
    const struct cleave_worker kinds[4] = { good, good, good, good };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cleave_platform *platform = NULL;
        struct cv_group groups[4] = { 0 };
        uint32_t clash[2] = { 9, 9 }, n = 0;
        struct cleave_error err;
        enum cleave_status status;

        for (; n < 4 && cases[i].groups[n].count > 0; n++) {
            groups[n].name = cases[i].groups[n].name;
            groups[n].count = cases[i].groups[n].count;
        }
        status =
            cv_platform_build(CLEAVE_PORT_ONE, kinds, groups, n, &platform, clash, &err);
        assert_int_equal(status, cases[i].clash ? CLEAVE_EINPUT : CLEAVE_OK);
        assert_int_equal(clash[0], cases[i].clash ? cases[i].first : 9);
        assert_int_equal(clash[1], cases[i].clash ? cases[i].second : 9);
        if (cases[i].clash)
            assert_int_equal(strncmp(err.text, "duplicate name '", 16), 0);
        cleave_platform_free(platform);
    }
}

/* Every name there is, against the quick check among groups. */
static void clashes_agree_with_comparing_all_names(void **state)
{
    static const char *const names[] = { "a",   "b",     "a.0", "a.1",
                                         "a.2", "a.1.0", "b.1", "a.01" };
    const struct cleave_worker kinds[3] = { good, good, good };

    (void)state;
    for (unsigned pick = 0; pick < 24 * 24 * 24; pick++) {
        struct cleave_platform *platform = NULL;
        struct cv_group groups[3] = { 0 };
        char all[9][16];
        unsigned rest = pick, n = 0, same = 0;

        for (int g = 0; g < 3; g++, rest /= 24) {
            groups[g].name = names[rest % 8];
            groups[g].count = rest / 8 % 3 + 1;
            for (unsigned i = 0; i < groups[g].count; i++, n++) {
                if (groups[g].count == 1)
                    snprintf(all[n], sizeof all[n], "%s", groups[g].name);
                else
                    snprintf(all[n], sizeof all[n], "%s.%u", groups[g].name, i);
                for (unsigned j = 0; j < n; j++)
                    same += strcmp(all[j], all[n]) == 0;
            }
        }
        assert_int_equal(cv_platform_build(CLEAVE_PORT_ONE, kinds, groups, 3, &platform,
                                           NULL, NULL),
                         same > 0 ? CLEAVE_EINPUT : CLEAVE_OK);
        if (platform != NULL)
            for (unsigned i = 0; i < n; i++)
                assert_string_equal(cleave_platform_worker_name(platform, i), all[i]);
        cleave_platform_free(platform);
    }
}

static void large_groups_have_room(void **state)
{
    static const uint32_t counts[] = {
        1, 2, 9, 10, 11, 99, 100, 101, 1000, 10001, 1000000
    };
    struct cv_group group = { .name = "node" };
    struct cleave_platform *platform;

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint32_t count = counts[i];
        char name[32];

        group.count = count;
        platform = NULL;
        assert_int_equal(cv_platform_build(CLEAVE_PORT_ONE, &good, &group, 1, &platform,
                                           NULL, NULL),
                         CLEAVE_OK);
        snprintf(name, sizeof name, count == 1 ? "node" : "node.%u", count - 1);
        assert_string_equal(cleave_platform_worker_name(platform, count - 1), name);
        cleave_platform_free(platform);
    }
}

static void ports_have_names(void **state)
{
    (void)state;
    assert_string_equal(cleave_port_name(CLEAVE_PORT_ONE), "one");
    assert_string_equal(cleave_port_name(CLEAVE_PORT_DUPLEX), "duplex");
    assert_string_equal(cleave_port_name(CLEAVE_PORT_MULTI), "multi");
    assert_string_equal(cleave_port_name((enum cleave_port)77), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(array_is_copied),
        cmocka_unit_test(the_table_of_costs_is_sound),
        cmocka_unit_test(every_cost_makes_workers_unequal),
        cmocka_unit_test(way_back_left_out_is_as_the_way_out),
        cmocka_unit_test(bad_numbers_are_named),
        cmocka_unit_test(worker_count_is_limited),
        cmocka_unit_test(groups_are_laid_out),
        cmocka_unit_test(clashes_are_found),
        cmocka_unit_test(clashes_agree_with_comparing_all_names),
        cmocka_unit_test(large_groups_have_room),
        cmocka_unit_test(ports_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
