/* test_run_status.c -- the status of a run at any stage. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <signal.h>
#include <cmocka.h>

#include <cleave/execute.h>

#include "run/master/result_sink.h"
#include "run/master/exec_run.h"
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
    execution.workers.count = 2;
    execution.policy.block = 800;
    execution.handle_signals = true;
    return cleave_execute(&execution, result, err);
}

/* --- a signal ----------------------------------------------------------------------------- */

/* The first command at this point signals the master, which is its parent, also for a
 * command that reduces. */
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

/* During chunks, and when only writing is left. */
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
                                                        .failures.halt = CLEAVE_HALT_NOW,
                                                        .failures.halt_fails = 1 },
                             "exit 1", &result, &err),
                     CLEAVE_EENGINE);
    assert_int_equal(err.status, CLEAVE_EENGINE);
    assert_non_null(strstr(err.text, "halted after "));
    assert_true(result->halted);
    assert_int_equal(result->stopped_by, 0);
    cleave_execution_free(result);
    close(sink);
}

/* --- what must not look like success ------------------------------------------------------ */

static void finish_output(struct cv_ordered_output *outputs, uint64_t begin, uint64_t end)
{
    struct cv_chunk_output *store;

    assert_ok(cv_chunk_output_open(outputs, &store, &err));
    assert_ok(cv_chunk_output_write(store, "x", 1, &err));
    assert_ok(cv_ordered_output_finish(outputs, store, begin, end, &err));
}

static void incomplete(void **state)
{
    const int sink = open("/dev/null", O_WRONLY);
    struct cv_splitter *splitter = parse("lines");
    static const struct cleave_execution request;
    struct cv_exec_run run = { .request = NULL };
    struct cleave_error why;
    enum cv_ordered_output_state written;
    enum cv_take taken;
    struct cv_piece piece;
    char line[200];

    (void)state;
    assert_ok(cv_source_open((const char *[]){ input }, 1,
                             &(struct cv_source_options){ .splitter = splitter },
                             &run.queue.source, &err));
    assert_ok(
        cv_ordered_output_new(&(struct cv_ordered_output_options){ .sink = sink,
                                                                   .sink_name = "sink",
                                                                   .memory = 1 << 20 },
                              &run.outputs, &err));
    assert_ok(
        cv_result_sink_open(&(struct cv_result_sink_options){ .request = &request,
                                                              .outputs = run.outputs },
                            &run.results, &err));
    assert_int_equal(cv_source_take(run.queue.source, 800, &taken, &piece, &why),
                     CLEAVE_OK);
    assert_ok(cv_input_coverage_add(&run.queue.coverage, piece.begin, piece.end, &err));
    assert_int_equal(cv_exec_run_complete(&run, &why), CLEAVE_EACCOUNT);
    snprintf(
        line, sizeof line,
        "bytes %llu to %llu of '%s' were neither done nor failed: a defect of cleave",
        (unsigned long long)piece.end,
        (unsigned long long)cv_source_extent(run.queue.source), input);
    assert_string_equal(why.text, line);
    /* To have been handed out is not to be done. */
    assert_int_equal(cv_source_take(run.queue.source, 1 << 20, &taken, &piece, &why),
                     CLEAVE_OK);
    assert_int_equal(cv_exec_run_complete(&run, &why), CLEAVE_EACCOUNT);
    assert_ok(cv_input_coverage_add(&run.queue.coverage, piece.begin, piece.end, &err));
    assert_int_equal(cv_exec_run_complete(&run, &why), CLEAVE_OK);
    run.queue.wanted = 10; /* ordered, and never begun */
    assert_int_equal(cv_exec_run_complete(&run, &why), CLEAVE_EACCOUNT);
    run.queue.wanted = 0;
    finish_output(run.outputs, 10, 20); /* after a gap */
    assert_int_equal(cv_ordered_output_pump(run.outputs, 1 << 20, &written, &why),
                     CLEAVE_OK);
    assert_int_equal(written, CV_GATHER_IDLE);
    assert_int_equal(cv_exec_run_complete(&run, &why), CLEAVE_EACCOUNT);
    assert_non_null(strstr(why.text, "outputs were not written"));
    finish_output(run.outputs, 0, 10);
    assert_int_equal(cv_ordered_output_pump(run.outputs, 1 << 20, &written, &why),
                     CLEAVE_OK);
    assert_int_equal(cv_exec_run_complete(&run, &why), CLEAVE_OK);
    cv_result_sink_free(run.results);
    cv_input_coverage_done(&run.queue.coverage);
    cv_ordered_output_free(run.outputs);
    cv_source_free(run.queue.source);
    cv_splitter_free(splitter);
    close(sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped),
        cmocka_unit_test(output_closed),
        cmocka_unit_test(halted),
        cmocka_unit_test(incomplete),
    };

    return cmocka_run_group_tests(tests, make_input, remove_input);
}
