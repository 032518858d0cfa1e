/* test_run_status.c -- how a run ended is said by its status, whatever it was doing.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <signal.h>
#include <cmocka.h>

#include <cleave/execute.h>

#include "run_check.h"

static char input[] = "/tmp/cleave-status-XXXXXX";

static int make_input(void **state)
{
    (void)state;
    close(mkstemp(input));
    write_lines(input, 500);
    signal(SIGPIPE, SIG_IGN); /* as every user of the gather has to */
    return 0;
}

static int remove_input(void **state)
{
    (void)state;
    return unlink(input);
}

/* Two workers let `script` loose on the input. */
static enum cleave_status execute(struct cleave_execution execution, const char *script,
                                  struct cleave_execution_result **result,
                                  struct cleave_error *err)
{
    const char *const command[] = { "sh", "-c", script, NULL };
    const char *const files[] = { input };

    execution.command = command;
    execution.input.files = files;
    execution.input.count = 1;
    execution.crew.count = 2;
    execution.sharing.block = 800;
    return cleave_execute(&execution, result, err);
}

/* --- a signal ----------------------------------------------------------------------------- */

/* The first command that gets to it tells the master, which is its parent or, of a command
 * that reduces, the same. */
static void stopped(void **state)
{
    static const char *const commands[] = { "kill -TERM $PPID; sleep 60", "cat" };
    static const char *const folds[] = { NULL, "kill -TERM $PPID; sleep 60" };

    (void)state;
    for (int i = 0; i < 2; i++) {
        const int sink = open("/dev/null", O_WRONLY);
        struct cleave_execution_result *result = NULL;
        struct cleave_error err = { .status = CLEAVE_OK };

        assert_int_equal(execute((struct cleave_execution){ .output.descriptor = sink,
                                                            .output.name = "sink",
                                                            .reduce.command = folds[i] },
                                 commands[i], &result, &err),
                         CLEAVE_ESTOPPED);
        assert_int_equal(err.status, CLEAVE_ESTOPPED);
        assert_string_equal(err.text, "stopped by a signal");
        assert_int_equal(result->stopped_by, SIGTERM);
        assert_false(result->halted || result->output_closed || result->reduce_failed);
        cleave_execution_free(result);
        close(sink);
    }
}

/* --- an output that nobody reads ---------------------------------------------------------- */

/* While chunks are done, and when all that is left is to write. */
static void output_closed(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct cleave_execution_result *result = NULL;
        struct cleave_error err = { .status = CLEAVE_OK };
        int ends[2];

        assert_int_equal(pipe(ends), 0);
        close(ends[0]);
        assert_int_equal(execute((struct cleave_execution){ .output.descriptor = ends[1],
                                                            .output.name = "sink",
                                                            .reduce.command =
                                                                i == 1 ? "cat" : NULL },
                                 "cat", &result, &err),
                         CLEAVE_ECLOSED);
        assert_int_equal(err.status, CLEAVE_ECLOSED);
        assert_true(result->output_closed);
        assert_int_equal(result->stopped_by, 0);
        cleave_execution_free(result);
        close(ends[1]);
    }
}

/* --- commands that fail ------------------------------------------------------------------- */

static void halted(void **state)
{
    const int sink = open("/dev/null", O_WRONLY);
    struct cleave_execution_result *result = NULL;
    struct cleave_error err = { .status = CLEAVE_OK };

    (void)state;
    assert_int_equal(execute((struct cleave_execution){ .output.descriptor = sink,
                                                        .output.name = "sink",
                                                        .failing.halt = CLEAVE_HALT_NOW,
                                                        .failing.halt_fails = 1 },
                             "exit 1", &result, &err),
                     CLEAVE_EENGINE);
    assert_int_equal(err.status, CLEAVE_EENGINE);
    assert_non_null(strstr(err.text, "halted after "));
    assert_true(result->halted);
    assert_int_equal(result->stopped_by, 0);
    cleave_execution_free(result);
    close(sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped),
        cmocka_unit_test(output_closed),
        cmocka_unit_test(halted),
    };

    return cmocka_run_group_tests(tests, make_input, remove_input);
}
