/* test_run_plumbing.c -- chunks through real commands: poller, process, feed and ordered
 * output together. SPDX-License-Identifier: MIT
 *
 * A small engine: chunks of a file are given to two commands at a time, their outputs
 * gathered in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "run/common/pipe_writer.h"
#include "run/output/ordered_output_internal.h"
#include "run/common/poller.h"
#include "run/common/process.h"
#include "plumbing_check.h"

#define WORDS(...)        \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

enum { SLOTS = 2 };

struct run;

struct slot {
    struct run *run;
    struct cv_process process;
    struct cv_pipe in, out;
    struct cv_pipe_writer writer;
    struct cv_chunk_output *store; /* NULL: nothing runs here */
    struct cv_watch in_watch, out_watch, end_watch;
    struct cv_timer deadline;
    uint64_t begin, end;
    unsigned tries;
    bool read; /* all of the output */
    bool ended;
};

struct run {
    struct cv_poller *poller;
    struct cv_ordered_output *outputs;
    struct cv_command command;
    int input, sink;
    uint64_t size, chunk, next;
    unsigned retries;
    double timeout_s; /* 0: none */
    struct slot slots[SLOTS];
    /* Counts of results: */
    size_t done, failed, given_up, refused;
    int last_signal;
};

static void begin_chunk(struct slot *slot);

static void stop_feeding(struct slot *slot)
{
    cv_poller_remove(slot->run->poller, &slot->in_watch);
    cv_close(&slot->in.write);
}

static void end_chunk(struct slot *slot)
{
    struct run *run = slot->run;

    cv_poller_cancel(run->poller, &slot->deadline);
    run->last_signal = slot->process.signal;
    if (slot->process.exit_code == 0) {
        run->done++;
        must(cv_ordered_output_finish(run->outputs, slot->store, slot->begin, slot->end,
                                      &err));
    } else {
        run->failed++;
        cv_chunk_output_drop(slot->store);
        if (++slot->tries <= run->retries) {
            begin_chunk(slot);
            return;
        }
        run->given_up++;
        must(cv_ordered_output_skip(run->outputs, slot->begin, slot->end, &err));
    }
    slot->store = NULL;
    if (run->next < run->size) {
        slot->begin = run->next;
        slot->end =
            run->size - run->next < run->chunk ? run->size : run->next + run->chunk;
        run->next = slot->end;
        slot->tries = 0;
        begin_chunk(slot);
    }
}

static void maybe_end(struct slot *slot)
{
    if (!slot->read || !slot->ended)
        return;
    cv_poller_remove(slot->run->poller, &slot->end_watch);
    assert_true(cv_process_reap(&slot->process));
    end_chunk(slot);
}

static void feed_more(void *context, unsigned events)
{
    struct slot *slot = context;
    enum cv_pipe_writer_state state;

    (void)events;
    must(cv_pipe_writer_pump(&slot->writer, 1 << 20, &state, &err));
    if (state == CV_FEED_REFUSED)
        slot->run->refused++;
    if (state == CV_FEED_REFUSED || state == CV_FEED_DONE)
        stop_feeding(slot);
}

static void read_more(void *context, unsigned events)
{
    struct slot *slot = context;
    enum cv_chunk_output_state state;

    (void)events;
    must(cv_chunk_output_pump(slot->store, slot->out.read, 4 << 20, &state, &err));
    if (state != CV_STORE_END)
        return;
    cv_poller_remove(slot->run->poller, &slot->out_watch);
    cv_close(&slot->out.read);
    slot->read = true;
    maybe_end(slot);
}

/* After the end of a command no process may hold its output open: remaining ones are
 * killed. */
static void see_end(void *context, unsigned events)
{
    struct slot *slot = context;

    (void)events;
    assert_true(has_ended(slot->process.pid));
    if (slot->in.write >= 0)
        stop_feeding(slot);
    cv_process_signal(&slot->process, SIGKILL);
    slot->ended = true;
    cv_poller_remove(slot->run->poller, &slot->end_watch);
    maybe_end(slot);
}

static void kill_late(void *context)
{
    struct slot *slot = context;

    cv_process_signal(&slot->process, SIGKILL);
}

/* First a friendly word, then a little later the other one. */
static void stop_late(void *context)
{
    struct slot *slot = context;

    cv_process_signal(&slot->process, SIGTERM);
    cv_poller_set(slot->run->poller, &slot->deadline, cv_clock_s() + 0.05, kill_late,
                  slot);
}

static void begin_chunk(struct slot *slot)
{
    struct run *run = slot->run;
    const struct cv_part part = { .fd = run->input,
                                  .begin = slot->begin,
                                  .end = slot->end };
    enum cv_pipe_writer_state state;

    must(cv_pipe_open(&slot->in, &err));
    must(cv_pipe_open(&slot->out, &err));
    cv_pipe_writer_init(&slot->writer, slot->in.write, &part, 1);
    must(cv_pipe_writer_pump(&slot->writer, 1 << 20, &state, &err));
    if (state == CV_FEED_DONE)
        cv_close(&slot->in.write);
    must(cv_process_start(&slot->process, &run->command,
                          &(struct cv_process_files){ .in = slot->in.read,
                                                      .out = slot->out.write,
                                                      .errors = -1,
                                                      .extra = -1 },
                          cv_poller_old_mask(run->poller), &err));
    cv_close(&slot->in.read);
    cv_close(&slot->out.write);
    must(cv_chunk_output_open(run->outputs, &slot->store, &err));
    slot->read = slot->ended = false;
    if (slot->in.write >= 0)
        must(cv_poller_add(run->poller, &slot->in_watch, slot->in.write, CV_WRITABLE,
                           feed_more, slot, &err));
    must(cv_poller_add(run->poller, &slot->out_watch, slot->out.read, CV_READABLE,
                       read_more, slot, &err));
    must(cv_poller_add(run->poller, &slot->end_watch, slot->process.pidfd, CV_READABLE,
                       see_end, slot, &err));
    if (run->timeout_s > 0)
        cv_poller_set(run->poller, &slot->deadline, cv_clock_s() + run->timeout_s,
                      stop_late, slot);
}

static bool is_busy(const struct run *run)
{
    for (int i = 0; i < SLOTS; i++)
        if (run->slots[i].store != NULL)
            return true;
    return cv_ordered_output_pending(run->outputs);
}

/* Run the command on all of `bytes`; the output is in run->sink afterwards. */
static void run_all(struct run *run, const char *bytes, size_t length, size_t chunk,
                    uint64_t memory, const char *const *words)
{
    const size_t before = open_descriptors();
    const int input = make_file(bytes, length), sink = make_file("", 0);

    run->input = input;
    run->sink = sink;
    run->size = length;
    run->chunk = chunk;
    must(cv_poller_new(&run->poller, &err));
    must(cv_ordered_output_new(&(struct cv_ordered_output_options){ .sink = sink,
                                                                    .memory = memory },
                               &run->outputs, &err));
    must(cv_ordered_output_attach(run->outputs, run->poller, &err));
    must(cv_command_init(&run->command, NULL, words, &err));
    for (int i = 0; i < SLOTS && run->next < length; i++) {
        struct slot *slot = &run->slots[i];

        *slot = (struct slot){ .run = run, .begin = run->next };
        slot->end = length - run->next < chunk ? length : run->next + chunk;
        run->next = slot->end;
        begin_chunk(slot);
    }
    while (is_busy(run))
        must(cv_poller_wait(run->poller, -1, &err));
    must(cv_ordered_output_status(run->outputs, NULL, &err));
    assert_int_equal(run->outputs->position, length);
    cv_command_done(&run->command);
    cv_ordered_output_free(run->outputs);
    cv_poller_free(run->poller);
    close(input);
    assert_int_equal(open_descriptors(), before + 1);
}

static uint64_t sink_size(const struct run *run)
{
    return (uint64_t)lseek(run->sink, 0, SEEK_END);
}

/* --- tests ---------------------------------------------------------------------------------- */

static void chunks_come_back_in_order(void **state)
{
    enum { SIZE = 5000000 };
    static const size_t chunks[] = { 100003, 1 << 20, SIZE };
    char *text = make_text(1, SIZE);

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct run run = { 0 };

        run_all(&run, text, SIZE, chunks[i], 1 << 20, WORDS("cat"));
        assert_int_equal(sink_size(&run), SIZE);
        assert_file(run.sink, 0, SIZE, text);
        assert_int_equal(run.failed, 0);
        close(run.sink);
    }
    free(text);
}

/* Every second chunk takes longer than the one after it. */
static void results_do_not_depend_on_the_first_worker(void **state)
{
    char digits[40];
    struct run run = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof digits; i++)
        digits[i] = (char)('0' + i % 2 * 5);
    run_all(&run, digits, sizeof digits, 1, 1 << 20,
            WORDS("sh", "-c", "read d; sleep 0.0$((5 - d)); printf %s $d"));
    assert_int_equal(sink_size(&run), sizeof digits);
    assert_file(run.sink, 0, sizeof digits, digits);
    close(run.sink);
}

static void commands_need_not_read(void **state)
{
    enum { SIZE = 3 << 20 };
    char *text = make_text(2, SIZE);
    struct run idle = { 0 }, early = { 0 };

    (void)state;
    run_all(&idle, text, SIZE, 1 << 20, 1 << 20, WORDS("true"));
    assert_int_equal(sink_size(&idle), 0);
    assert_int_equal(idle.done, 3);
    close(idle.sink);

    run_all(&early, text, SIZE, 1 << 20, 1 << 20, WORDS("head", "-c", "10"));
    assert_int_equal(early.done, 3);
    assert_int_equal(sink_size(&early), 30);
    for (uint64_t i = 0; i < 3; i++)
        assert_file(early.sink, 10 * i, 10 * i + 10, text + (i << 20));
    close(early.sink);
    free(text);
}

/* 100 MB from 2 bytes, with a megabyte of memory. */
static void commands_may_print_a_lot(void **state)
{
    const uint64_t each = 50000000;
    char block[1 << 16] = "", zeros[1 << 16] = "";
    struct run run = { 0 };

    (void)state;
    run_all(&run, "ab", 2, 1, 1 << 20,
            WORDS("sh", "-c", "head -c 49999999 /dev/zero; cat"));
    assert_int_equal(sink_size(&run), 2 * each);
    for (uint64_t at = 0; at < 2 * each; at += sizeof block) {
        const ssize_t got = pread(run.sink, block, sizeof block, (off_t)at);

        assert_true(got > 0);
        for (uint64_t last = each - 1; last < 2 * each; last += each)
            if (last >= at && last < at + (uint64_t)got) {
                assert_int_equal(block[last - at], last < each ? 'a' : 'b');
                block[last - at] = '\0';
            }
        assert_memory_equal(block, zeros, (size_t)got);
    }
    close(run.sink);
}

/* The first try of each chunk fails after it has printed something. */
static void a_failed_try_leaves_no_output(void **state)
{
    char folder[] = "/tmp/cleave-test-XXXXXX", script[200], clean[100];
    struct run run = { .retries = 1 };

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(script, sizeof script,
             "read c; echo $c; test -e %s/$c && exit 0; touch %s/$c; exit 3", folder,
             folder);
    run_all(&run, "abcdefgh", 8, 1, 1 << 20, WORDS("sh", "-c", script));
    assert_int_equal(run.done, 8);
    assert_int_equal(run.failed, 8);
    assert_int_equal(sink_size(&run), 16);
    assert_file(run.sink, 0, 16, "a\nb\nc\nd\ne\nf\ng\nh\n");
    close(run.sink);
    snprintf(clean, sizeof clean, "rm -rf %s", folder);
    assert_int_equal(system(clean), 0); // NOLINT(cert-env33-c): a name made here
}

static void a_failed_chunk_blocks_nothing(void **state)
{
    struct run run = { .retries = 2 };

    (void)state;
    run_all(&run, "abxd", 4, 1, 1 << 20,
            WORDS("sh", "-c", "read c; printf %s $c; test $c != x || kill -SEGV $$"));
    assert_int_equal(run.done, 3);
    assert_int_equal(run.failed, 3);
    assert_int_equal(run.given_up, 1);
    assert_int_equal(sink_size(&run), 3);
    assert_file(run.sink, 0, 3, "abd");
    close(run.sink);
}

static void a_hanging_command_is_stopped(void **state)
{
    struct run polite = { .timeout_s = 0.2 }, stubborn = { .timeout_s = 0.2 };

    (void)state;
    run_all(&polite, "a", 1, 1, 1 << 20, WORDS("sleep", "1000"));
    assert_int_equal(polite.given_up, 1);
    assert_int_equal(polite.last_signal, SIGTERM);
    close(polite.sink);
    run_all(&stubborn, "a", 1, 1, 1 << 20,
            WORDS("sh", "-c",
                  "trap '' TERM; echo x; sleep 1000 | sleep 1000; sleep 1000"));
    assert_int_equal(stubborn.given_up, 1);
    assert_int_equal(stubborn.last_signal, SIGKILL);
    assert_int_equal(sink_size(&stubborn), 0);
    close(stubborn.sink);
}

static void children_left_behind_hold_nothing_up(void **state)
{
    struct run run = { 0 };

    (void)state;
    run_all(&run, "abc", 3, 1, 1 << 20, WORDS("sh", "-c", "sleep 1000 & cat"));
    assert_int_equal(run.done, 3);
    assert_int_equal(sink_size(&run), 3);
    assert_file(run.sink, 0, 3, "abc");
    close(run.sink);
}

static void many_small_chunks(void **state)
{
    enum { CHUNKS = 1500 };
    char *text = make_text(3, CHUNKS);
    struct run run = { 0 };

    (void)state;
    run_all(&run, text, CHUNKS, 1, 1 << 20, WORDS("cat"));
    assert_int_equal(run.done, CHUNKS);
    assert_int_equal(sink_size(&run), CHUNKS);
    assert_file(run.sink, 0, CHUNKS, text);
    close(run.sink);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_come_back_in_order),
        cmocka_unit_test(results_do_not_depend_on_the_first_worker),
        cmocka_unit_test(commands_need_not_read),
        cmocka_unit_test(commands_may_print_a_lot),
        cmocka_unit_test(a_failed_try_leaves_no_output),
        cmocka_unit_test(a_failed_chunk_blocks_nothing),
        cmocka_unit_test(a_hanging_command_is_stopped),
        cmocka_unit_test(children_left_behind_hold_nothing_up),
        cmocka_unit_test(many_small_chunks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
