/* test_request_check.c -- members of a request that exclude each other.
 * SPDX-License-Identifier: MIT */
#include "run/common/request_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static enum cleave_status words(void *context, uint64_t item, uint32_t slot, char ***out,
                                struct cleave_error *err)
{
    (void)context, (void)item, (void)slot, (void)out, (void)err;
    return CLEAVE_OK;
}

static enum cleave_status several(void *context, uint64_t first, uint64_t count,
                                  uint32_t slot, char ***out, struct cleave_error *err)
{
    (void)context, (void)first, (void)count, (void)slot, (void)out, (void)err;
    return CLEAVE_OK;
}

static enum cleave_status errors(void *context, uint64_t item, int *out,
                                 struct cleave_error *err)
{
    (void)context, (void)item, (void)out, (void)err;
    return CLEAVE_OK;
}

static const double sizes[] = { 1, 2 };

/* `message` NULL: the request is accepted. */
static void check(struct cleave_execution request, const char *message)
{
    static const char *const command[] = { "cat", NULL };
    struct cleave_error err = { .status = CLEAVE_OK };
    char text[sizeof err];

    request.command = command;
    if (message == NULL) {
        assert_int_equal(cv_request_check(&request, &err), CLEAVE_OK);
        return;
    }
    assert_int_equal(cv_request_check(&request, &err), CLEAVE_EINPUT);
    cleave_error_format(&err, text, sizeof text);
    assert_string_equal(text, message);
}

#define OUT .output.descriptor = 1
#define ONE .items.words = words, .policy.block = 1

static void possible_requests_are_accepted(void **state)
{
    (void)state;
    check((struct cleave_execution){ OUT }, NULL);
    check((struct cleave_execution){ OUT, .output.lines = true }, NULL);
    check((struct cleave_execution){ OUT, .output.early = true }, NULL);
    check((struct cleave_execution){ OUT, ONE }, NULL);
    check((struct cleave_execution){ OUT, ONE, .output.lines = true,
                                     .failures.retries = 2 },
          NULL);
    check((struct cleave_execution){ OUT, .output.direct = true, ONE }, NULL);
    check((struct cleave_execution){ OUT, .items = { .words = words, .sizes = sizes },
                                     .policy.name = "items" },
          NULL);
    check((struct cleave_execution){ OUT, .items = { .words = words,
                                                     .max = 9,
                                                     .several = several } },
          NULL);
    check((struct cleave_execution){ OUT, .input.fetch = "f", .input.size = "1" }, NULL);
    check((struct cleave_execution){ OUT, ONE, .failures.timeout_share = 2 }, NULL);
}

static void exclusions_name_both_members(void **state)
{
    (void)state;
    check((struct cleave_execution){ OUT, .output.lines = true, .reduce.command = "x" },
          "output.lines: cannot be combined with reduce.command");
    check((struct cleave_execution){ OUT, .output.lines = true, .failures.retries = 1 },
          "output.lines: cannot be combined with failures.retries");
    check((struct cleave_execution){ OUT, .output.lines = true, .persistent = true },
          "output.lines: cannot be combined with command.persistent");
    check((struct cleave_execution){ OUT, .window = 2 },
          "command.window: expected command.persistent as well");
    check((struct cleave_execution){ OUT, .window = 2, .persistent = true,
                                     .policy.backups = CLEAVE_BACKUPS_ON },
          "command.window: cannot be combined with policy.backups");
    check((struct cleave_execution){ OUT, .window = CLEAVE_WINDOW_MOST + 1,
                                     .persistent = true },
          "command.window: expected at most 1024, got 1025");
    check((struct cleave_execution){ .output.lines = true },
          "output.lines: expected output.descriptor as well");
    check((struct cleave_execution){ OUT, .output.early = true,
                                     .output.unordered = true },
          "output.early: cannot be combined with output.unordered");
    check((struct cleave_execution){ OUT, ONE, .output.early = true },
          "output.early: cannot be combined with items");
    check((struct cleave_execution){ OUT, .output.early = true, .journal.path = "j" },
          "output.early: cannot be combined with journal.path");
    check((struct cleave_execution){ OUT, .output.direct = true },
          "output.direct: expected items as well");
    check((struct cleave_execution){ OUT, ONE, .output.direct = true, .hosts.count = 1 },
          "output.direct: cannot be combined with hosts.list");
    check((struct cleave_execution){ OUT, .failures.timeout_share = 2 },
          "failures.timeout_share: expected items as well");
    check((struct cleave_execution){ OUT, ONE, .input.count = 1 },
          "items: cannot be combined with input.files");
    check((struct cleave_execution){ OUT, ONE, .failures.directory = "d" },
          "items: cannot be combined with failures.directory");
    check((struct cleave_execution){ OUT, .items = { .words = words, .sizes = sizes },
                                     .policy.block = 1 },
          "items.sizes: cannot be combined with policy.block");
    check((struct cleave_execution){ OUT, .items = { .words = words,
                                                     .max = 2,
                                                     .several = several,
                                                     .errors = errors } },
          "items.several: cannot be combined with items.errors");
    check((struct cleave_execution){ OUT, .items = { .words = words, .max = 2 } },
          "items.several: expected a function, as items.max is above 1");
    check((struct cleave_execution){ OUT, ONE, .policy.name = "learn" },
          "items.words: cannot be combined with policy.name");
    check((struct cleave_execution){ OUT, .items.words = words, .policy.block = 2 },
          "policy.block: expected 1: items are done one at a time");
    check((struct cleave_execution){ OUT, .items.words = words },
          "items.words: expected policy.block as well");
    check((struct cleave_execution){ OUT, .input.size = "1" },
          "input.size: expected input.fetch as well");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(possible_requests_are_accepted),
        cmocka_unit_test(exclusions_name_both_members),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
