/* test_run_callback.c -- outputs of chunks that a function of the program gets.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <inttypes.h>
#include <signal.h>
#include <cmocka.h>

#include <cleave/execute.h>
#include "run_check.h"

static char input[] = "/tmp/cleave-callback-XXXXXX";
static char whole[16384];
static size_t whole_length;

static int make_input(void **state)
{
    int fd;

    (void)state;
    close(mkstemp(input));
    write_lines(input, 500);
    fd = open(input, O_RDONLY);
    whole_length = (size_t)read(fd, whole, sizeof whole);
    close(fd);
    return whole_length > 0 && whole_length < sizeof whole ? 0 : -1;
}

static int remove_input(void **state)
{
    (void)state;
    return unlink(input);
}

struct kept {
    char bytes[sizeof whole]; /* the output of each chunk at the place of its input */
    uint64_t last;            /* end of the last chunk */
    unsigned calls, fails_at; /* 0: never */
    bool in_order;
};

static enum cleave_status keep(void *context, const struct cleave_kept_output *output,
                               struct cleave_error *err)
{
    struct kept *kept = context;
    const uint64_t length = output->end - output->begin;

    if (++kept->calls == kept->fails_at) {
        *err = (struct cleave_error){ .status = CLEAVE_EENGINE };
        snprintf(err->text, sizeof err->text, "no room for chunk %" PRIu64,
                 output->first_byte);
        return err->status;
    }
    assert_int_equal(length, output->end_byte - output->first_byte);
    assert_true(output->end_byte <= sizeof kept->bytes);
    assert_int_equal(pread(output->descriptor, kept->bytes + output->first_byte, length,
                           (off_t)output->begin),
                     length);
    kept->in_order = kept->in_order && output->first_byte >= kept->last;
    kept->last = output->end_byte;
    return CLEAVE_OK;
}

static enum cleave_status execute(struct kept *kept, bool unordered, const char *script,
                                  struct cleave_execution_result **result,
                                  struct cleave_error *err)
{
    static const char *const files[] = { input };
    const char *const command[] = { "sh", "-c", script, NULL };
    const struct cleave_execution execution = {
        .command = command,
        .input = { .files = files, .count = 1 },
        .workers.count = 3,
        .policy.block = 400,
        .output = { .descriptor = -1,
                    .unordered = unordered,
                    .keep = keep,
                    .keep_context = kept },
    };

    return cleave_execute(&execution, result, err);
}

/* The first chunk ends last. */
static void each_output_is_passed_once(void **state)
{
    static const char script[] =
        "x=$(cat; echo .); case $x in '0 of'*) sleep 0.2 ;; esac; "
        "printf %s \"${x%.}\"";

    (void)state;
    for (int unordered = 0; unordered < 2; unordered++) {
        struct kept kept = { .in_order = true };
        struct cleave_execution_result *result = NULL;
        struct cleave_error err = { .status = CLEAVE_OK };

        assert_int_equal(execute(&kept, unordered, script, &result, &err), CLEAVE_OK);
        assert_memory_equal(kept.bytes, whole, whole_length);
        assert_int_equal(kept.calls, result->chunks);
        assert_true(result->chunks > 5);
        assert_int_equal(kept.in_order, !unordered);
        assert_int_equal((size_t)result->output_bytes, whole_length);
        cleave_execution_free(result);
    }
}

/* A failure of the function ends the run; the outputs that it did not get are left. */
static void a_failure_ends_the_run(void **state)
{
    struct kept kept = { .in_order = true, .fails_at = 3 };
    struct cleave_execution_result *result = NULL;
    struct cleave_error err = { .status = CLEAVE_OK };

    (void)state;
    assert_int_equal(execute(&kept, false, "cat", &result, &err), CLEAVE_EENGINE);
    assert_non_null(strstr(err.text, "no room for chunk "));
    assert_int_equal(strtoull(err.text + strlen("no room for chunk "), NULL, 10),
                     kept.last);
    assert_int_equal(kept.calls, 3);
    assert_non_null(result);
    assert_int_equal(result->nleft_ranges, 1);
    assert_int_equal(result->left_ranges[0].begin, kept.last);
    assert_int_equal(result->left_ranges[0].end, whole_length);
    cleave_execution_free(result);
}

static void members_that_do_not_go_together(void **state)
{
    static const char *const command[] = { "cat", NULL };
    const struct cleave_output outputs[] = {
        { .keep = keep, .descriptor = 1, .lines = true },
        { .keep = keep, .descriptor = 1, .header_once = true },
        { .keep = keep, .descriptor = 1, .header = "1" },
        { .descriptor = 1, .shared = "/x" },
        { .keep = keep, .descriptor = 1, .shared = "x" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        struct cleave_execution_result *result = NULL;
        struct cleave_error err = { .status = CLEAVE_OK };

        assert_int_equal(cleave_execute(&(struct cleave_execution){ .command = command,
                                                                    .output =
                                                                        outputs[i] },
                                        &result, &err),
                         CLEAVE_EINPUT);
        assert_string_equal(err.field,
                            outputs[i].shared != NULL ? "output.shared" : "output.keep");
        cleave_execution_free(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_output_is_passed_once),
        cmocka_unit_test(a_failure_ends_the_run),
        cmocka_unit_test(members_that_do_not_go_together),
    };

    return cmocka_run_group_tests(tests, make_input, remove_input);
}
