/* test_run_liar.c -- runs with a host that lies. SPDX-License-Identifier: MIT
 *
 * Two hosts: one is a real worker, the other one is played by this test. It sends hello,
 * gets pieces, and works as `cat` would, but for one lie: a frame that cannot come at
 * that time, or a wrong number. The run has to name it, and all of the output has to be
 * right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cleave/version.h>
#include "run/wire/protocol.h"
#include "run/wire/frame.h"
#include "liar_check.h"

enum { LINES = 8000, FLOOD = 20000 };

/* Time of the lie: in its hello, before it is ready, after a piece was announced, after
 * its arrival, after its command ended, in its end and after it. */
enum moment { IN_HELLO, GREETED, ANNOUNCED, ARRIVED, COMPUTED, IN_END, ENDED };

struct lie {
    enum moment when;
    uint8_t type; /* the frame                                                          */
    uint16_t flags;
    uint32_t seat;
    unsigned times; /* 0: once                                                       */
    uint64_t chunk; /* added to the chunk number of the piece */
    uint64_t value;
    const char *text; /* its payload; NULL: zeros of the required length */
    void (*bend)(struct cv_remote_end *end);
    struct cv_hello hello;
    const char *expected;
    bool idle;      /* after the lie it only sends pings, or received counts */
    bool complains; /* its command complains with every piece */
};

struct liar {
    int fd;
    const struct lie *lie;
    const char *done; /* this file is made when it has lied                             */
    bool lied, idle;
    unsigned complaints;
    uint32_t seat; /* slot of the piece */
    uint64_t chunk;
    struct cv_remote_end end;
    size_t length;
    unsigned char bytes[1 << 20], payload[CV_FRAME_MOST];
};

/* --- the liar ----------------------------------------------------------------------------- */

static void say(const struct liar *liar, struct cv_frame_head head, const void *payload,
                size_t length)
{
    unsigned char bytes[CV_FRAME_HEAD];

    head.length = (uint32_t)length;
    head.checksum = cv_frame_checksum(&head, payload);
    cv_frame_encode(&head, bytes);
    put(liar->fd, bytes, sizeof bytes);
    put(liar->fd, payload, length);
}

static void have_lied(struct liar *liar)
{
    liar->lied = true;
    close(open(liar->done, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* A frame that cannot come now, if now is the time for it. */
static void lie_at(struct liar *liar, enum moment now)
{
    static const unsigned char zeros[256];
    const struct lie *lie = liar->lie;
    const struct cv_frame_kind *kind = cv_frame_kind(lie->type);

    if (liar->lied || lie->when != now || (lie->type == 0 && !lie->idle))
        return;
    liar->idle = lie->idle;
    if (lie->idle) {
        have_lied(liar);
        return;
    }
    for (unsigned i = 0; i == 0 || i < lie->times; i++)
        say(liar,
            (struct cv_frame_head){ .type = lie->type,
                                    .flags = lie->flags,
                                    .peer = liar->seat + lie->seat,
                                    .chunk = liar->chunk + lie->chunk,
                                    .value = lie->value },
            lie->text != NULL ? (const void *)lie->text : zeros,
            lie->text != NULL ? strlen(lie->text) : kind->min);
    have_lied(liar);
}

static void say_hello(struct liar *liar)
{
    struct cv_packer packer = { NULL, 0, 0, false };
    struct cv_hello hello = { CLEAVE_VERSION, "liar", 1 };

    if (liar->lie->hello.version != NULL) {
        hello = liar->lie->hello;
        have_lied(liar);
    }
    cv_pack_hello(&packer, &hello);
    say(liar, (struct cv_frame_head){ .type = CV_FRAME_HELLO }, packer.bytes,
        packer.length);
    cv_pack_done(&packer);
}

static void say_word(const struct liar *liar, enum cv_frame_type type, uint16_t flags,
                     uint64_t value)
{
    say(liar,
        (struct cv_frame_head){ .type = (uint8_t)type,
                                .flags = flags,
                                .peer = liar->seat,
                                .chunk = liar->chunk,
                                .value = value },
        NULL, 0);
}

/* That its command has gone, and not well. */
static void complain(const struct liar *liar)
{
    struct cv_packer packer = { NULL, 0, 0, false };

    cv_pack_end(&packer, &(struct cv_remote_end){ .exit_code = 3, .fault = "" });
    say(liar, (struct cv_frame_head){ .type = CV_FRAME_LEFT, .peer = liar->seat },
        packer.bytes, packer.length);
    cv_pack_done(&packer);
}

/* All of the piece is here: it is its output as well. */
static void work(struct liar *liar)
{
    struct cv_packer packer = { NULL, 0, 0, false };
    struct cv_frame_head sent = { .length = (uint32_t)liar->length };

    lie_at(liar, ARRIVED);
    if (liar->idle)
        return;
    if (liar->lie->complains)
        say_word(liar, CV_FRAME_SILENT, 0, 0);
    say_word(liar, CV_FRAME_COMPUTED, 0, 0);
    lie_at(liar, COMPUTED);
    if (liar->idle)
        return;
    say(liar,
        (struct cv_frame_head){
            .type = CV_FRAME_OUTPUT, .peer = liar->seat, .chunk = liar->chunk },
        liar->bytes, liar->length);
    liar->end.output = liar->end.given = liar->end.come = liar->length;
    sent.checksum = cv_frame_checksum(&sent, liar->bytes);
    liar->end.output_sum = cv_frame_sum(0, &sent);
    liar->end.fault = "";
    if (liar->lie->bend != NULL && !liar->lied) {
        liar->lie->bend(&liar->end);
        have_lied(liar);
    }
    cv_pack_end(&packer, &liar->end);
    say(liar,
        (struct cv_frame_head){
            .type = CV_FRAME_END, .peer = liar->seat, .chunk = liar->chunk },
        packer.bytes, packer.length);
    cv_pack_done(&packer);
    if (liar->lie->complains) {
        complain(liar);
        if (++liar->complaints == 2)
            have_lied(liar);
    }
    lie_at(liar, ENDED);
}

static void take(struct liar *liar, const struct cv_frame_head *head)
{
    const bool last = (head->flags & CV_FRAME_LAST) != 0;

    if (head->type == CV_FRAME_HELLO)
        lie_at(liar, GREETED);
    if (head->type == CV_FRAME_JOB && last)
        say(liar, (struct cv_frame_head){ .type = CV_FRAME_READY }, NULL, 0);
    if (head->type == CV_FRAME_LEAVE)
        say(liar, (struct cv_frame_head){ .type = CV_FRAME_HAS_LEFT, .peer = head->peer },
            NULL, 0);
    if (head->type == CV_FRAME_PIECE) {
        liar->seat = head->peer;
        liar->chunk = head->chunk;
        liar->length = 0;
        liar->end = (struct cv_remote_end){ 0 };
        lie_at(liar, ANNOUNCED);
    }
    if (head->type != CV_FRAME_DATA || (liar->idle && liar->lie->when == ANNOUNCED))
        return;
    memcpy(liar->bytes + liar->length, liar->payload, head->length);
    liar->length += head->length;
    liar->end.come_sum = cv_frame_sum(liar->end.come_sum, head);
    say_word(liar, CV_FRAME_GOT, head->flags & CV_FRAME_LAST, liar->length);
    if (last && !liar->idle)
        work(liar);
}

/* Send pings until a frame arrives. */
static void ping(const struct liar *liar)
{
    struct pollfd wait = { .fd = liar->fd, .events = POLLIN };

    while (poll(&wait, 1, 200) == 0)
        say(liar, (struct cv_frame_head){ .type = CV_FRAME_PING }, NULL, 0);
}

/* Until the link is closed. */
static void lie_along(int fd, const struct lie *lie, const char *done)
{
    static struct liar liar;
    unsigned char bytes[CV_FRAME_HEAD];
    struct cv_frame_head head;

    liar = (struct liar){ .fd = fd, .lie = lie, .done = done };
    say_hello(&liar);
    for (;;) {
        ping(&liar);
        if (!get(fd, bytes, sizeof bytes) ||
            cv_frame_decode(bytes, &head, NULL) != CLEAVE_OK ||
            !get(fd, liar.payload, head.length))
            return;
        take(&liar, &head);
    }
}

/* --- the run ------------------------------------------------------------------------------ */

/* A host of the world that lies. */
static void play(int fd, const void *part, const struct world *world)
{
    lie_along(fd, part, world->done);
}

static void open_liars(struct world *world, const struct lie *lies, int count)
{
    const void *parts[HOSTS] = { NULL };

    for (int i = 0; i < count; i++)
        parts[i] = &lies[i];
    open_world(world, LINES, play, parts, count);
}

static void run_with(const struct lie *lie)
{
    struct cleave_execution_result *result = NULL;
    struct world world;

    open_liars(&world, lie, 1);
    assert_ok(execute(&world, &result, &err));
    assert_same_files(world.input, world.output);
    if (strstr(world.notes, lie->expected) == NULL)
        fail_msg("expected '%s', got '%s'", lie->expected, world.notes);
    /* One line says it, whatever was sent. */
    assert_int_equal(world.nnotes, 1);
    assert_null(strchr(world.notes, '\033'));
    assert_int_equal(result->failed, 0);
    cleave_execution_free(result);
    close_world(&world);
}

/* --- lies --------------------------------------------------------------------------------- */

static void frames_that_cannot_come_close_the_host(void **state)
{
    static const struct lie lies[] = {
        { GREETED, CV_FRAME_HELLO, .expected = "HELLO before it was ready" },
        { GREETED, CV_FRAME_OUTPUT, .expected = "OUTPUT before it was ready" },
        { GREETED, CV_FRAME_FOLDED, .expected = "FOLDED before it was ready" },
        { ANNOUNCED, CV_FRAME_READY, .expected = "READY while the piece is" },
        { ANNOUNCED, CV_FRAME_PIECE, .expected = "PIECE while the piece is" },
        { ANNOUNCED, CV_FRAME_COMPUTED, .expected = "COMPUTED while the piece is" },
        { ANNOUNCED, CV_FRAME_OUTPUT, .expected = "OUTPUT while the piece is" },
        { ANNOUNCED, CV_FRAME_END, .expected = "END while the piece is" },
        { ANNOUNCED, CV_FRAME_GOT, .value = 1u << 30,
          .expected = "GOT of 1073741824 bytes" },
        { ARRIVED, CV_FRAME_CUT_DONE, .value = 1,
          .expected = "CUT_DONE while its command is running" },
        { ARRIVED, CV_FRAME_CUT_DONE, .chunk = 7, .value = 1,
          .expected = "CUT_DONE while it has no such piece" },
        { ARRIVED, CV_FRAME_CUT_DONE, .seat = 7,
          .expected = "CUT_DONE while it has no such slot" },
        { ARRIVED, CV_FRAME_GOT, .flags = CV_FRAME_LAST,
          .expected = "GOT while its command is running" },
        { ARRIVED, CV_FRAME_OUTPUT, .expected = "OUTPUT while its command is running" },
        { GREETED, CV_FRAME_NOTICE, .expected = "NOTICE before it was ready" },
        { ARRIVED, CV_FRAME_BACK, .expected = "BACK of a host that stays" },
        { ANNOUNCED, CV_FRAME_BACK, .expected = "BACK while the piece is" },
        { ENDED, CV_FRAME_BACK, .expected = "BACK while it has no such piece" },
        { ANNOUNCED, CV_FRAME_LINES, .text = "a\n",
          .expected = "LINES while the piece is" },
        { ARRIVED, CV_FRAME_LINES, .text = "a\n", .expected = "unexpected LINES" },
        { COMPUTED, CV_FRAME_LINES, .text = "a\n",
          .expected = "LINES while its output is coming" },
        { ARRIVED, CV_FRAME_OUTPUT, .chunk = 1000,
          .expected = "OUTPUT while it has no such piece" },
        { ARRIVED, CV_FRAME_END, .expected = "END while its command is running" },
        { ARRIVED, CV_FRAME_SILENT, .expected = "SILENT while its commands do not stay" },
        { ARRIVED, CV_FRAME_LEFT, .expected = "LEFT while its commands do not stay" },
        { ARRIVED, CV_FRAME_HAS_LEFT,
          .expected = "HAS_LEFT while its commands do not stay" },
        { ARRIVED, CV_FRAME_LEFT, .seat = 1,
          .expected = "LEFT while it has no such slot" },
        { ARRIVED, CV_FRAME_FOLDED, .expected = "FOLDED while nothing of the kind" },
        { ARRIVED, CV_FRAME_FOLD_FAILED,
          .expected = "FOLD_FAILED while nothing of the kind" },
        { ARRIVED, CV_FRAME_PARTIAL, .text = "forged",
          .expected = "PARTIAL while nothing of the kind" },
        { ARRIVED, CV_FRAME_REDUCE, .expected = "REDUCE while nothing of the kind" },
        { COMPUTED, CV_FRAME_COMPUTED,
          .expected = "COMPUTED while its output is coming" },
        { COMPUTED, CV_FRAME_END, .expected = "0 have arrived" },
        { COMPUTED, CV_FRAME_OUTPUT, .chunk = 1000, .text = "forged",
          .expected = "OUTPUT while it has no such piece" },
        { ENDED, CV_FRAME_OUTPUT, .text = "more",
          .expected = "OUTPUT while it has no such" },
        { ENDED, CV_FRAME_END, .expected = "END while it has no such piece" },
        { ENDED, CV_FRAME_COMPUTED, .expected = "COMPUTED while it has no such piece" },
        { ENDED, CV_FRAME_CUT_DONE, .expected = "CUT_DONE while it has no such piece" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        run_with(&lies[i]);
}

/* More output than exists: the end no longer fits. */
static void outputs_of_others_are_not_mixed_in(void **state)
{
    (void)state;
    run_with(&(struct lie){ COMPUTED, CV_FRAME_OUTPUT, .text = "forged\n",
                            .expected = "bytes of an output were sent, and" });
}

static void less_came(struct cv_remote_end *end)
{
    end->come -= 100;
}

static void others_came(struct cv_remote_end *end)
{
    end->come_sum ^= 1;
}

static void less_was_given(struct cv_remote_end *end)
{
    end->given--;
}

static void more_was_sent(struct cv_remote_end *end)
{
    end->output++;
}

static void others_were_sent(struct cv_remote_end *end)
{
    end->output_sum++;
}

static void strange_status(struct cv_remote_end *end)
{
    end->exit_code = 256;
}

static void strange_flags(struct cv_remote_end *end)
{
    end->flags = 8;
}

static void strange_time(struct cv_remote_end *end)
{
    end->compute_s = (double)INFINITY;
}

static void claims_a_file(struct cv_remote_end *end)
{
    end->file = 7;
}

/* Sent bytes equal received bytes, both ways, or the piece is done again elsewhere. */
static void counts_are_compared(void **state)
{
    static const struct lie lies[] = {
        { IN_END, .bend = less_came,
          .expected = "bytes of a piece were sent there, and" },
        { IN_END, .bend = others_came, .expected = " others have arrived" },
        { IN_END, .bend = less_was_given,
          .expected = "bytes, and its command was given" },
        { IN_END, .bend = more_was_sent,
          .expected = "bytes of an output were sent, and" },
        { IN_END, .bend = others_were_sent, .expected = " others have arrived" },
        { IN_END, .bend = strange_status, .expected = "END with impossible values" },
        { IN_END, .bend = strange_flags, .expected = "END with impossible values" },
        { IN_END, .bend = strange_time, .expected = "END with impossible values" },
        { IN_END, .bend = claims_a_file, .expected = "unexpected END with a file" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        run_with(&lies[i]);
}

static void another_cleave_is_left_out(void **state)
{
    static const struct lie lies[] = {
        { .hello = { "0.0.1", "liar", 1 },
          .expected = "liar: left out: the worker is cleave 0.0.1 and this is "
                      "cleave " CLEAVE_VERSION
                      ": install the same version on both machines, or use hosts.push" },
        { .hello = { CLEAVE_VERSION, "liar", 0 },
          .expected = "left out: expected the worker to have 1 to 1048576 cores, got 0" },
        { .hello = { CLEAVE_VERSION, "liar", 1ull << 40 },
          .expected = "left out: expected the worker to have 1 to 1048576 cores, got 1" },
        { .hello = { "\033]0;forged\007\n", "liar", 1 },
          .expected = "the worker is cleave \\x1b]0;forged\\x07\\x0a and" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        run_with(&lies[i]);
}

static void forged_texts_do_not_reach_the_terminal(void **state)
{
    static const struct lie lies[] = {
        { GREETED, CV_FRAME_REFUSED, .text = "no\n\033[2Jcleave: all is done",
          .expected = "liar: left out: no\\x0a\\x1b[2Jcleave: all is done" },
        { ARRIVED, CV_FRAME_REFUSED, .text = "no\r\n\033[2Jcleave: all is done",
          .expected = "elsewhere: no\\x0d\\x0a\\x1b[2Jcleave: all is done" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        run_with(&lies[i]);
}

/* Any number of them causes one line. */
static void floods_are_stopped(void **state)
{
    static const struct lie lies[] = {
        { ARRIVED, CV_FRAME_SILENT, .times = FLOOD, .expected = "do not stay" },
        { ARRIVED, CV_FRAME_FOLDED, .times = FLOOD, .expected = "nothing of the kind" },
        { ARRIVED, CV_FRAME_GOT, .times = FLOOD, .expected = "GOT while" },
        { COMPUTED, CV_FRAME_OUTPUT, .times = FLOOD, .expected = "bytes of an output" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        run_with(&lies[i]);
}

/* A host that only sends pings is subject to --timeout: while the command of a piece
 * should run, and while its output should come; before the piece has arrived, sooner. */
static void idlers_are_held_to_the_timeout(void **state)
{
    static const struct lie lies[] = { { ANNOUNCED, .idle = true },
                                       { ARRIVED, .idle = true },
                                       { COMPUTED, .idle = true } };
    static const char *const ends[] = {
        ": left out: no data arrived there in 5 s: its link is too slow\n",
        ": lost, its chunks go elsewhere: a chunk has not ended "
        "within 1 s (failures.timeout_s) and 5 s more\n",
    };
    struct cleave_execution_result *result = NULL;
    struct world world;

    (void)state;
    open_liars(&world, lies, 3);
    world.limited = true;
    assert_ok(execute(&world, &result, &err));
    assert_same_files(world.input, world.output);
    for (int i = 1; i < world.nhosts; i++) {
        char expected[200];

        snprintf(expected, sizeof expected, "%s%s", world.hosts[i].name, ends[i > 1]);
        if (strstr(world.notes, expected) == NULL)
            fail_msg("expected '%s', got '%s'", expected, world.notes);
    }
    assert_int_equal(result->failed, 0);
    cleave_execution_free(result);
    close_world(&world);
}

/* A host may report a silent command and exit for every piece: one line is printed, and
 * the rest counted. */
static void notes_of_one_kind_are_counted(void **state)
{
    static const struct lie lie = { .complains = true };
    struct cleave_execution_result *result = NULL;
    struct world world;

    (void)state;
    open_liars(&world, &lie, 1);
    world.persistent = true;
    assert_ok(execute(&world, &result, &err));
    assert_same_files(world.input, world.output);
    if (world.nnotes != 4)
        fail_msg("expected 4 notes, got '%s'", world.notes);
    assert_non_null(strstr(world.notes, "liar: had a command that did not answer "));
    assert_non_null(strstr(world.notes, "liar: had a command that ended badly "));
    assert_non_null(strstr(world.notes, " more time"));
    cleave_execution_free(result);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_that_cannot_come_close_the_host),
        cmocka_unit_test(outputs_of_others_are_not_mixed_in),
        cmocka_unit_test(counts_are_compared),
        cmocka_unit_test(another_cleave_is_left_out),
        cmocka_unit_test(forged_texts_do_not_reach_the_terminal),
        cmocka_unit_test(floods_are_stopped),
        cmocka_unit_test(notes_of_one_kind_are_counted),
        cmocka_unit_test(idlers_are_held_to_the_timeout),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
