/* test_open_rule.c -- when chunks may stay open. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cleave/policy.h>

#include "run/common/request_check.h"

static const char *const plain[] = { "nice", "nice", "nice" };
static const char *const all_have_gpus[] = { "env CUDA_VISIBLE_DEVICES=0",
                                             "env CUDA_VISIBLE_DEVICES=1",
                                             "env ROCR_VISIBLE_DEVICES=2" };
/* No device after the sign: the variable hides them all. */
static const char *const one_has_none[] = { "env CUDA_VISIBLE_DEVICES=0",
                                            "env CUDA_VISIBLE_DEVICES=1",
                                            "env CUDA_VISIBLE_DEVICES=" };

static bool opens(const struct cleave_execution *request)
{
    return cv_request_may_open(request, 3, false);
}

static void separate_commands_may_continue(void **state)
{
    struct cleave_host hosts[2] = { { .name = "a" }, { .name = "b" } };
    struct cleave_execution request = { .workers = { .prefixes = plain } };

    (void)state;
    assert_true(opens(&request));
    assert_true(opens(&(struct cleave_execution){ .workers = { .prefixes = NULL } }));
    assert_false(cv_request_may_open(&request, 3, true));
    request.hosts = (struct cleave_host_list){ .list = hosts, .count = 2 };
    assert_true(opens(&request));
    hosts[1].leads = true;
    assert_false(opens(&request));
}

static void gpus_and_cores_differ_too_much(void **state)
{
    struct cleave_execution request = { .workers = { .prefixes = all_have_gpus } };

    (void)state;
    assert_true(opens(&request));
    request.workers.prefixes = one_has_none;
    assert_false(opens(&request));
    assert_true(
        cv_request_may_open(&request, 2, false)); /* the third does not take part */
}

static enum cleave_status no_words(void *context, uint64_t item, uint32_t slot,
                                   char ***out, struct cleave_error *err)
{
    (void)context, (void)item, (void)slot, (void)out, (void)err;
    return CLEAVE_OK;
}

static void a_chunk_with_a_fixed_end_is_not_open(void **state)
{
    static const struct cleave_policy own = { .name = "own" };
    struct cleave_host host = { .name = "a" };
    struct cleave_execution request = { .persistent = true };

    (void)state;
    assert_false(opens(&request));
    request = (struct cleave_execution){ .tell_records = true };
    assert_false(opens(&request));
    request = (struct cleave_execution){ .items = { .words = no_words } };
    assert_false(opens(&request));
    request = (struct cleave_execution){ .input = { .fetch = "get" } };
    assert_false(opens(&request));
    request = (struct cleave_execution){ .input = { .pairs = "mates" } };
    assert_false(opens(&request));
    request.policy.own = &own; /* it knows the command */
    assert_true(opens(&request));
    request.hosts = (struct cleave_host_list){ .list = &host, .count = 1 };
    assert_false(opens(&request));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(separate_commands_may_continue),
        cmocka_unit_test(gpus_and_cores_differ_too_much),
        cmocka_unit_test(a_chunk_with_a_fixed_end_is_not_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
