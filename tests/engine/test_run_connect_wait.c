/* test_run_connect_wait.c -- how long a run waits for its hosts. SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/platform/generate.h"
#include "run/hosts/hosts.h"

static struct cv_patience wait_of(const char *policy,
                                  const struct cleave_platform *platform)
{
    const struct cleave_policy *found;

    assert_int_equal(cleave_policy_find(CLEAVE_TASK_LOAD, policy, &found, NULL),
                     CLEAVE_OK);
    return cv_connect_wait_of(platform, found);
}

static void runs_of_unknown_costs_begin_soon(void **state)
{
    static const char *const names[] = { "a", "b" };
    static const char text[] = "port: multi\nworkers:\n"
                               "  - {name: a, speed: 2, bandwidth: 3}\n"
                               "  - {name: b, speed: 4, bandwidth: 5}\n";
    struct cleave_platform *nominal, *known;

    (void)state;
    assert_int_equal(cv_nominal_platform(CV_NOMINAL_HERE, names, 2, &nominal, NULL),
                     CLEAVE_OK);
    assert_int_equal(cleave_platform_parse("text", text, strlen(text), &known, NULL),
                     CLEAVE_OK);
    for (int i = 0; i < 2; i++) {
        const char *policy = i == 0 ? "learn" : "self";
        const struct cv_patience soon = wait_of(policy, nominal);
        const struct cv_patience later = wait_of(policy, known);

        assert_true(cv_connect_wait_is_short(&soon));
        assert_true(soon.most_s < later.most_s);
        assert_false(cv_connect_wait_is_short(&later));
        assert_true(isfinite(later.most_s));
    }
    /* A plan for all hosts. */
    assert_true(isinf(wait_of("umr", nominal).most_s));
    cleave_platform_free(nominal);
    cleave_platform_free(known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_unknown_costs_begin_soon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
