/* test_run_closing.c -- the end that a last record lacks, on its way to the command.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <signal.h>

#include "run/common/poller.h"
#include "run/output/ordered_output_internal.h"
#include "run/slot/slot.h"
#include "plumbing_check.h"

/* More than fits into a pipe, so that the rest can be cut off while the command waits. */
enum { SIZE = 4 << 20 };

struct bench {
    struct cv_poller *poller;
    struct cv_ordered_output *outputs;
    struct cv_slot slot;
    bool ended;
};

static void slot_ended(void *context, struct cv_slot *slot, enum cv_slot_end end)
{
    struct bench *bench = context;

    (void)slot;
    assert_int_equal(end, CV_SLOT_DONE);
    bench->ended = true;
}

static void slot_broke(void *context, const struct cleave_error *err)
{
    (void)context;
    fail_msg("%s", err->text);
}

/* Give the piece to `cat`, cut to `head` if there is one, and compare. */
static void through(const struct cv_piece *piece, const struct cv_piece *head,
                    const char *expected, size_t length)
{
    const char *const words[] = { "cat", NULL };
    struct cv_command command;
    struct bench bench = { .ended = false };
    struct cv_taken taken;

    must(cv_command_init(&command, NULL, words, &err));
    must(cv_poller_new(&bench.poller, &err));
    must(cv_ordered_output_new(&(struct cv_ordered_output_options){ .sink = -1,
                                                                    .memory = 1 << 26,
                                                                    .separate = true },
                               &bench.outputs, &err));
    cv_slot_init(&bench.slot);
    bench.slot.poller = bench.poller;
    bench.slot.outputs = bench.outputs;
    bench.slot.command = &command;
    bench.slot.events =
        &(struct cv_slot_events){ .ended = slot_ended, .broke = slot_broke };
    bench.slot.context = &bench;
    must(cv_slot_start(&bench.slot, piece, &err));
    if (head != NULL)
        assert_true(cv_slot_cut(&bench.slot, head));
    while (!bench.ended)
        must(cv_poller_wait(bench.poller, -1, &err));
    must(cv_ordered_output_take(bench.slot.store, &taken, &err));
    assert_int_equal(taken.end - taken.begin, length);
    assert_file(taken.fd, taken.begin, taken.end, expected);
    cv_chunk_output_drop(bench.slot.store);
    bench.slot.store = NULL;
    cv_slot_done(&bench.slot);
    cv_ordered_output_free(bench.outputs);
    cv_poller_free(bench.poller);
    cv_command_done(&command);
}

static void comes_last_and_goes_with_the_end(void **state)
{
    char *text = make_text(1, SIZE + 2);
    const int file = make_file(text, SIZE);
    struct cv_piece piece = { .fd = file,
                              .mate_fd = -1,
                              .name = "a file",
                              .end = SIZE,
                              .body = { 0, SIZE },
                              .closing = CV_CLOSING_EMPTY };
    struct cv_piece head = piece;

    (void)state;
    head.body.end = head.end = SIZE - 10;
    head.closing = CV_CLOSING_NONE;
    through(&piece, &head, text, SIZE - 10);
    memcpy(text + SIZE, "\n\n", 2);
    through(&piece, NULL, text, SIZE + 2);
    piece.closing = CV_CLOSING_ZERO;
    text[SIZE] = '\0';
    through(&piece, NULL, text, SIZE + 1);
    close(file);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_last_and_goes_with_the_end),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
