/* test_run_worker.c -- a worker at the other end of a socket. SPDX-License-Identifier: MIT
 *
 * The test plays the master, byte by byte. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <cleave/version.h>
#include "run/wire/protocol.h"
#include "run/wire/frame.h"
#include "run/worker/worker_serve.h"

struct worker {
    int link;
    pid_t pid;
    unsigned char payload[CV_FRAME_MOST];
    struct cv_frame_head head; /* head of the last frame */
};

/* Its exit status is the status of the call, and its errors go into a pipe. */
static void start(struct worker *worker, int *errors)
{
    int ends[2], texts[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(pipe(texts), 0);
    worker->pid = fork();
    assert_true(worker->pid >= 0);
    if (worker->pid == 0) {
        struct cleave_error err = { .text = "" };
        enum cleave_status status;

        close(ends[0]);
        close(texts[0]);
        status =
            cv_worker_serve(&(struct cv_worker_options){ .in = ends[1], .out = ends[1] },
                            &err);
        if (status != CLEAVE_OK && write(texts[1], err.text, strlen(err.text)) < 0)
            _exit(99);
        _exit((int)status);
    }
    close(ends[1]);
    close(texts[1]);
    worker->link = ends[0];
    *errors = texts[0];
}

/* Close the link; the exit of the worker and its text. */
static int finish(struct worker *worker, int errors, char text[600])
{
    size_t length = 0;
    ssize_t got;
    int status;

    /* Unread pings would be lost with the link, which is not a clean end. */
    shutdown(worker->link, SHUT_WR);
    while (read(worker->link, worker->payload, sizeof worker->payload) > 0)
        continue;
    close(worker->link);
    while ((got = read(errors, text + length, 599 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    close(errors);
    assert_int_equal(waitpid(worker->pid, &status, 0), worker->pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void put(int fd, const void *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        const ssize_t some =
            send(fd, (const char *)bytes + done, length - done, MSG_NOSIGNAL);

        if (some <= 0)
            return; /* it has exited: the next frames show it */
        done += (size_t)some;
    }
}

static void say(struct worker *worker, struct cv_frame_head head, const void *payload,
                size_t length)
{
    unsigned char bytes[CV_FRAME_HEAD];

    head.length = (uint32_t)length;
    head.checksum = cv_frame_checksum(&head, payload);
    cv_frame_encode(&head, bytes);
    put(worker->link, bytes, sizeof bytes);
    put(worker->link, payload, length);
}

static bool get(int fd, unsigned char *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        const ssize_t some = read(fd, bytes + done, length - done);

        if (some <= 0)
            return false;
        done += (size_t)some;
    }
    return true;
}

/* The next frame but for pings and acknowledgements. */
static uint8_t hear(struct worker *worker)
{
    unsigned char bytes[CV_FRAME_HEAD];

    do {
        if (!get(worker->link, bytes, sizeof bytes))
            return 0;
        assert_int_equal(cv_frame_decode(bytes, &worker->head, NULL), CLEAVE_OK);
        assert_true(get(worker->link, worker->payload, worker->head.length));
        assert_true(cv_frame_checksum(&worker->head, worker->payload) ==
                    worker->head.checksum);
    } while (worker->head.type == CV_FRAME_PING || worker->head.type == CV_FRAME_GOT);
    return worker->head.type;
}

static void greet(struct worker *worker)
{
    struct cv_packer packer = { NULL, 0, 0, false };

    assert_int_equal(hear(worker), CV_FRAME_HELLO);
    cv_pack_hello(&packer, &(struct cv_hello){ CLEAVE_VERSION, "test", 1 });
    say(worker, (struct cv_frame_head){ .type = CV_FRAME_HELLO }, packer.bytes,
        packer.length);
    cv_pack_done(&packer);
}

static void describe_with(struct worker *worker, const char **command, double silence_s,
                          const char *store)
{
    const char *names[] = { "one", "two", NULL }, *nothing[] = { NULL };
    struct cv_packer packer = { NULL, 0, 0, false };

    greet(worker);
    cv_pack_job(&packer, &(struct cv_remote_job){ .command = command,
                                                  .names = names,
                                                  .environment = nothing,
                                                  .directory = "",
                                                  .store = store,
                                                  .silence_s = silence_s,
                                                  .memory = 1 << 20 });
    /* In two frames. */
    say(worker, (struct cv_frame_head){ .type = CV_FRAME_JOB }, packer.bytes, 10);
    say(worker, (struct cv_frame_head){ .type = CV_FRAME_JOB, .flags = CV_FRAME_LAST },
        packer.bytes + 10, packer.length - 10);
    cv_pack_done(&packer);
}

static void describe_to(struct worker *worker, const char **command, double silence_s)
{
    describe_with(worker, command, silence_s, NULL);
}

static void describe(struct worker *worker, const char **command)
{
    describe_to(worker, command, 60);
}

static void begin_piece(struct worker *worker, uint32_t seat, uint64_t chunk)
{
    struct cv_packer packer = { NULL, 0, 0, false };

    cv_pack_piece(&packer, &(struct cv_remote_piece){ .body = { 0, 100 } });
    say(worker,
        (struct cv_frame_head){ .type = CV_FRAME_PIECE, .peer = seat, .chunk = chunk },
        packer.bytes, packer.length);
    cv_pack_done(&packer);
}

static void send_data(struct worker *worker, uint32_t seat, uint64_t chunk,
                      const char *text, bool last)
{
    say(worker,
        (struct cv_frame_head){ .type = CV_FRAME_DATA,
                                .flags = last ? CV_FRAME_LAST : 0,
                                .peer = seat,
                                .chunk = chunk,
                                .value = CV_PART_BODY },
        text, strlen(text));
}

/* The output of a piece, which has to end well or not. */
static void assert_output(struct worker *worker, uint64_t chunk, const char *expected,
                          uint64_t flags)
{
    char text[4096] = "";
    struct cv_remote_end end;
    struct cv_arena arena;

    for (;;) {
        const uint8_t type = hear(worker);

        assert_int_equal(worker->head.chunk, chunk);
        if (type == CV_FRAME_OUTPUT)
            strncat(text, (const char *)worker->payload, worker->head.length);
        else if (type == CV_FRAME_END)
            break;
        else
            assert_int_equal(type, CV_FRAME_COMPUTED);
    }
    cv_arena_init(&arena);
    assert_true(cv_unpack_end(worker->payload, worker->head.length, &arena, &end));
    assert_int_equal(end.flags, flags);
    assert_string_equal(text, expected);
    assert_int_equal(end.output, strlen(expected));
    cv_arena_done(&arena);
}

static void pieces_are_done_in_order(void **state)
{
    const char *command[] = { "tr", "a-z", "A-Z", NULL };
    static struct worker worker;
    char text[600];
    int errors;

    (void)state;
    start(&worker, &errors);
    describe(&worker, command);
    assert_int_equal(hear(&worker), CV_FRAME_READY);
    assert_int_equal(worker.head.value, 0);
    /* Two for one slot, the second one ahead of time, in parts. */
    begin_piece(&worker, 0, 1);
    begin_piece(&worker, 0, 2);
    send_data(&worker, 0, 2, "ahead", false);
    send_data(&worker, 0, 1, "hel", false);
    send_data(&worker, 0, 1, "lo\n", true);
    assert_output(&worker, 1, "HELLO\n", 0);
    send_data(&worker, 0, 2, "", true);
    assert_output(&worker, 2, "AHEAD", 0);
    /* Stop a piece before it is complete. */
    begin_piece(&worker, 1, 3);
    send_data(&worker, 1, 3, "gone", false);
    say(&worker, (struct cv_frame_head){ .type = CV_FRAME_STOP, .peer = 1, .chunk = 3 },
        NULL, 0);
    assert_output(&worker, 3, "", CV_END_STOPPED);
    begin_piece(&worker, 1, 4);
    send_data(&worker, 1, 4, "last", true);
    assert_output(&worker, 4, "LAST", 0);
    assert_int_equal(finish(&worker, errors, text), CLEAVE_OK);
    assert_string_equal(text, "");
}

static void a_piece_is_cut_before_it_begins_and_not_after(void **state)
{
    /* The first piece waits for the file. */
    const char *command[] = { "sh", "-c", "read a; cat; sleep 0.3; echo $a", NULL };
    static struct worker worker;
    struct cv_packer nothing = { NULL, 0, 0, false };
    char text[600];
    int errors;

    (void)state;
    start(&worker, &errors);
    describe(&worker, command);
    assert_int_equal(hear(&worker), CV_FRAME_READY);
    begin_piece(&worker, 0, 1);
    send_data(&worker, 0, 1, "x\n", true);
    begin_piece(&worker, 0, 2);
    send_data(&worker, 0, 2, "1\n2\n3\n", true);
    cv_pack_number(&nothing, 0);
    say(&worker, (struct cv_frame_head){ .type = CV_FRAME_CUT, .chunk = 2, .value = 4 },
        nothing.bytes, nothing.length);
    assert_int_equal(hear(&worker), CV_FRAME_CUT_DONE);
    assert_true(worker.head.chunk == 2 && worker.head.value == 1);
    /* The first was fed completely; the second grows. */
    for (uint64_t chunk = 1; chunk <= 2; chunk++) {
        say(&worker,
            (struct cv_frame_head){
                .type = CV_FRAME_CUT, .chunk = chunk, .value = chunk == 1 ? 1 : 5 },
            nothing.bytes, nothing.length);
        assert_int_equal(hear(&worker), CV_FRAME_CUT_DONE);
        assert_true(worker.head.chunk == chunk && worker.head.value == 0);
    }
    cv_pack_done(&nothing);
    assert_output(&worker, 1, "x\n", 0);
    assert_output(&worker, 2, "2\n1\n", 0);
    assert_int_equal(finish(&worker, errors, text), CLEAVE_OK);
}

/* --- large outputs ------------------------------------------------------------------------ */

/* Its output is longer than a frame and, twice, than the memory limit. */
enum { LARGE = 700000 };
static const char *writing_much[] = {
    "sh", "-c", "read a; awk -v a=$a 'BEGIN { while (n++ < 100000) print a + n }'", NULL
};

static char large_byte(uint64_t from, size_t at)
{
    char line[32];

    snprintf(line, sizeof line, "%llu\n", (unsigned long long)from + 1 + at / 7);
    return line[at % 7];
}

static void give_number(struct worker *worker, uint64_t chunk, uint64_t number)
{
    char line[32];

    snprintf(line, sizeof line, "%llu\n", (unsigned long long)number);
    begin_piece(worker, 0, chunk);
    send_data(worker, 0, chunk, line, true);
}

/* The output of one piece follows the output of the other, for any end of their
 * commands. */
static void large_outputs_are_sent(void **state)
{
    enum { PIECES = 3 };
    size_t at[PIECES] = { 0 };
    uint64_t ended = 0;
    static struct worker worker;
    char text[600];
    int errors;

    (void)state;
    start(&worker, &errors);
    describe(&worker, writing_much);
    assert_int_equal(hear(&worker), CV_FRAME_READY);
    for (uint64_t i = 0; i < PIECES; i++)
        give_number(&worker, i, 300000 + i);
    while (ended < PIECES) {
        if (hear(&worker) == CV_FRAME_COMPUTED)
            continue;
        assert_int_equal(worker.head.chunk, ended);
        if (worker.head.type == CV_FRAME_END) {
            assert_int_equal(at[ended++], LARGE);
            continue;
        }
        assert_int_equal(worker.head.type, CV_FRAME_OUTPUT);
        for (size_t i = 0; i < worker.head.length; i++)
            assert_int_equal(worker.payload[i],
                             large_byte(300000 + ended, at[ended] + i));
        at[ended] += worker.head.length;
    }
    assert_int_equal(finish(&worker, errors, text), CLEAVE_OK);
    assert_string_equal(text, "");
}

/* --- what is refused ---------------------------------------------------------------------- */

static void a_command_that_is_not_there_is_refused(void **state)
{
    const char *command[] = { "./there-is-no-such-command", NULL };
    static struct worker worker;
    char text[600];
    int errors;

    (void)state;
    start(&worker, &errors);
    describe(&worker, command);
    assert_int_equal(hear(&worker), CV_FRAME_REFUSED);
    worker.payload[worker.head.length] = '\0';
    assert_non_null(strstr((const char *)worker.payload, "cannot run"));
    assert_int_equal(finish(&worker, errors, text), CLEAVE_EINPUT);
    assert_non_null(strstr(text, "cannot run './there-is-no-such-command'"));
}

/* An error is reported on both sides, and ends the worker. */
static void assert_refused(struct worker *worker, int errors, const char *expected)
{
    char text[600];

    shutdown(worker->link, SHUT_WR);
    while (hear(worker) != CV_FRAME_REFUSED)
        assert_true(worker->head.type != 0);
    worker->payload[worker->head.length] = '\0';
    assert_non_null(strstr((const char *)worker->payload, expected));
    assert_int_equal(finish(worker, errors, text), CLEAVE_EINPUT);
    assert_non_null(strstr(text, expected));
}

static void damaged_frames_are_refused_on_both_sides(void **state)
{
    static const struct {
        size_t at, length; /* changed byte of the head, and sent bytes */
        unsigned char by;
        const char *expected;
    } cases[] = {
        { 0, CV_FRAME_HEAD, 1, "expected a frame of cleave, got 'BLVE" },
        { 4, CV_FRAME_HEAD, 3, "the head of a frame was damaged on its way" },
        { 8, CV_FRAME_HEAD, 9, "the head of a frame was damaged on its way" },
        { 11, CV_FRAME_HEAD, 1, "the head of a frame was damaged on its way" },
        { 47, CV_FRAME_HEAD, 1, "the head of a frame was damaged on its way" },
        { 0, CV_FRAME_HEAD - 1, 0, "the connection ended within a frame" },
    };
    const char *command[] = { "cat", NULL };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct worker worker;
        struct cv_frame_head head = { .type = CV_FRAME_LEAVE };
        unsigned char bytes[CV_FRAME_HEAD];
        int errors;

        start(&worker, &errors);
        describe(&worker, command);
        assert_int_equal(hear(&worker), CV_FRAME_READY);
        head.checksum = cv_frame_checksum(&head, NULL);
        cv_frame_encode(&head, bytes);
        bytes[cases[i].at] ^= cases[i].by;
        put(worker.link, bytes, cases[i].length);
        assert_refused(&worker, errors, cases[i].expected);
    }
}

/* The first word of a master of the version before. */
static void an_older_master_is_refused(void **state)
{
    struct cv_frame_head head = { .type = CV_FRAME_HELLO };
    unsigned char bytes[CV_FRAME_HEAD];
    static struct worker worker;
    int errors;

    (void)state;
    start(&worker, &errors);
    cv_frame_encode(&head, bytes);
    bytes[4] = CV_FRAME_VERSION - 1;
    put(worker.link, bytes, CV_FRAME_HEAD - 8); /* the expected head */
    assert_refused(&worker, errors, "got version 8: install the same cleave");
}

/* In one slot: pieces 1 (ended), 2 (running) and 3 (incoming). */
static void begin_three(struct worker *worker)
{
    const char *command[] = { "sh", "-c", "read a; [ $a = 1 ] || sleep 100", NULL };

    describe(worker, command);
    assert_int_equal(hear(worker), CV_FRAME_READY);
    begin_piece(worker, 0, 1);
    send_data(worker, 0, 1, "1\n", true);
    assert_output(worker, 1, "", 0);
    begin_piece(worker, 0, 2);
    send_data(worker, 0, 2, "2\n", true);
    begin_piece(worker, 0, 3);
    send_data(worker, 0, 3, "3\n", false);
}

/* Frames that are out of turn: they have no effect, and nothing waits for ever. */
static void frames_out_of_turn_are_refused(void **state)
{
    static const struct {
        uint8_t type;
        uint32_t seat;
        uint64_t chunk, value;
        const char *expected;
    } cases[] = {
        { CV_FRAME_HELLO, 0, 0, 0, "broke the protocol: HELLO" },
        { CV_FRAME_JOB, 0, 0, 0, "broke the protocol: JOB" },
        { CV_FRAME_READY, 0, 0, 0, "broke the protocol: READY" },
        { CV_FRAME_GOT, 0, 2, 0, "broke the protocol: GOT" },
        { CV_FRAME_PIECE, 0, 1, 0,
          "broke the protocol: PIECE after the end of that piece" },
        { CV_FRAME_PIECE, 0, 2, 0,
          "broke the protocol: PIECE while all of the piece is" },
        { CV_FRAME_PIECE, 0, 3, 0,
          "broke the protocol: PIECE while the piece is coming" },
        { CV_FRAME_PIECE, 1, 2, 0,
          "broke the protocol: PIECE after the end of that piece" },
        { CV_FRAME_PIECE, 2, 4, 0,
          "broke the protocol: PIECE while there is no such slot" },
        { CV_FRAME_PIECE, 0, UINT64_MAX, 0, "expected a piece of the input" },
        { CV_FRAME_DATA, 0, 1, 1,
          "broke the protocol: DATA after the end of that piece" },
        { CV_FRAME_DATA, 0, 2, 1,
          "broke the protocol: DATA while all of the piece is here" },
        { CV_FRAME_DATA, 0, 4, 1,
          "broke the protocol: DATA while there is no such piece" },
        { CV_FRAME_DATA, 1, 3, 1,
          "broke the protocol: DATA after the end of that piece" },
        { CV_FRAME_DATA, 0, 3, 0, "got bytes that belong to no piece" },
        { CV_FRAME_DATA, 0, 3, 2, "got bytes that belong to no piece" },
        { CV_FRAME_DATA, 0, 3, 3, "got bytes that belong to no piece" },
        { CV_FRAME_PACKED, 0, 2, 0,
          "broke the protocol: PACKED while all of the piece is here" },
        { CV_FRAME_PACKED, 0, 3, 0, "expected a compressed piece, got something else" },
        { CV_FRAME_DRAWN, 0, 1, 0,
          "broke the protocol: DRAWN after the end of that piece" },
        { CV_FRAME_DRAWN, 0, 3, 0, "expected a piece to be fetched, got something else" },
        { CV_FRAME_CUT, 0, 3, 1, "broke the protocol: CUT while the piece is coming" },
        { CV_FRAME_CUT, 0, 4, 1, "broke the protocol: CUT while there is no such piece" },
        { CV_FRAME_STOP, 0, 4, 0,
          "broke the protocol: STOP while there is no such piece" },
        { CV_FRAME_LEAVE, 2, 0, 0,
          "broke the protocol: LEAVE while there is no such slot" },
        { CV_FRAME_REDUCE, 0, 0, 0, "broke the protocol: REDUCE while this worker" },
        { CV_FRAME_FETCH, 0, 1, 0, "broke the protocol: FETCH while this worker" },
        { 63, 0, 0, 0, "of unknown type" },
        { 255, 0, 0, 0, "of unknown type" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const unsigned char zeros[256];
        const struct cv_frame_kind *kind = cv_frame_kind(cases[i].type);
        static struct worker worker;
        int errors;

        start(&worker, &errors);
        begin_three(&worker);
        say(&worker,
            (struct cv_frame_head){ .type = cases[i].type,
                                    .peer = cases[i].seat,
                                    .chunk = cases[i].chunk,
                                    .value = cases[i].value },
            zeros,
            kind == NULL                     ? 0
            : cases[i].type == CV_FRAME_DATA ? 1
                                             : kind->min);
        assert_refused(&worker, errors, cases[i].expected);
    }
}

/* Bytes beyond the announced length are refused, and so are bytes after the end. */
static void bytes_beyond_a_piece_are_refused(void **state)
{
    const char *command[] = { "cat", NULL };
    static struct worker worker;
    char many[102];
    int errors;

    (void)state;
    memset(many, 'x', sizeof many);
    many[101] = '\0';
    start(&worker, &errors);
    describe(&worker, command);
    assert_int_equal(hear(&worker), CV_FRAME_READY);
    begin_piece(&worker, 0, 1);
    send_data(&worker, 0, 1, many, true);
    assert_refused(&worker, errors, "got bytes that belong to no piece");
}

static void announce_packed(struct worker *worker, int *errors,
                            const struct cv_remote_packed *told)
{
    const char *command[] = { "cat", NULL };
    struct cv_packer packer = { NULL, 0, 0, false };

    start(worker, errors);
    describe(worker, command);
    assert_int_equal(hear(worker), CV_FRAME_READY);
    begin_piece(worker, 0, 1);
    cv_pack_packed(&packer, told);
    say(worker, (struct cv_frame_head){ .type = CV_FRAME_PACKED, .chunk = 1 },
        packer.bytes, packer.length);
    cv_pack_done(&packer);
}

/* The announced blocks have to agree with the received bytes. */
static void compressed_pieces_that_cannot_be_are_refused(void **state)
{
    static struct cv_packed_block good[] = { { .in = 7 }, { .in = 9, .out = 50 } },
                                  back[] = { { .in = 7 }, { .in = 9 } };
    static const struct {
        struct cv_remote_packed told;
        const char *data, *expected;
    } cases[] = {
        { { "rot13", { 0, 9 }, { 7, 12 }, 0, 0, 0, 99, good, 2 },
          "",
          "form that is not known" },
        { { "zstd", { 0, 9 }, { 7, 12 }, 0, 0, 0, 99, good, 0 },
          "",
          "does not continue" },
        { { "zstd", { 0, 9 }, { 7, 12 }, 1, 0, 0, 99, good, 2 },
          "",
          "does not continue" },
        { { "zstd", { 0, 9 }, { 6, 12 }, 0, 0, 0, 99, good, 2 },
          "",
          "does not continue" },
        { { "zstd", { 0, 9 }, { 7, 12 }, 0, 0, 0, 99, back, 2 },
          "",
          "does not continue" },
        { { "zstd", { 0, 9 }, { 7, 12 }, 0, 0, 0, 50, good, 2 },
          "",
          "does not continue" },
        { { "zstd", { 0, 9 }, { 7, 12 }, 0, 0, 0, 8, good, 1 },
          "",
          "expected a compressed piece" },
        { { "zstd", { 0, 9 }, { 7, 12 }, 0, 0, 0, 99, good, 2 },
          "abcd",
          "a compressed piece is incomplete" },
        { { "zstd", { 0, 9 }, { 7, 12 }, 0, 0, 0, 99, good, 2 },
          "abcdef",
          "belong to no piece" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct worker worker;
        int errors;

        announce_packed(&worker, &errors, &cases[i].told);
        if (cases[i].data[0] != '\0')
            send_data(&worker, 0, 1, cases[i].data, true);
        assert_refused(&worker, errors, cases[i].expected);
    }
}

/* The master judges that: it has the file. */
static void undecodable_input_is_reported(void **state)
{
    static struct cv_packed_block block[] = { { .in = 7 } };
    static struct worker worker;
    struct cv_remote_end end;
    struct cv_arena arena;
    char text[600];
    int errors;

    (void)state;
    announce_packed(
        &worker, &errors,
        &(struct cv_remote_packed){
            "zstd", { 0, 9 }, { 7, 12 }, 0, 0, CV_CLOSING_NONE, 99, block, 1 });
    send_data(&worker, 0, 1, "abcde", true);
    while (hear(&worker) != CV_FRAME_END)
        assert_true(worker.head.type == CV_FRAME_GOT ||
                    worker.head.type == CV_FRAME_PING ||
                    worker.head.type == CV_FRAME_COMPUTED);
    cv_arena_init(&arena);
    assert_true(cv_unpack_end(worker.payload, worker.head.length, &arena, &end));
    assert_int_equal(end.flags, CV_END_SPOILED);
    assert_int_equal(end.given, 9);
    assert_non_null(strstr(end.fault, "expected zstd"));
    cv_arena_done(&arena);
    assert_int_equal(finish(&worker, errors, text), 0);
}

/* Read END of a piece whose output is not sent. */
static struct cv_remote_end hear_end(struct worker *worker)
{
    struct cv_remote_end end;
    struct cv_arena arena;

    while (hear(worker) != CV_FRAME_END)
        assert_true(worker->head.type == CV_FRAME_COMPUTED ||
                    worker->head.type == CV_FRAME_PING);
    cv_arena_init(&arena);
    assert_true(cv_unpack_end(worker->payload, worker->head.length, &arena, &end));
    cv_arena_done(&arena);
    return end;
}

/* The folder has these files, besides its two own names. */
static void assert_files(const char *folder, int expected)
{
    DIR *list = opendir(folder);
    int count = 0;

    assert_non_null(list);
    while (readdir(list) != NULL)
        count++;
    closedir(list);
    assert_int_equal(count - 2, expected);
}

static void outputs_go_to_files(void **state)
{
    const char *command[] = { "sh", "-c", "read a; $a", NULL };
    static struct worker worker;
    struct cv_content_hasher *hasher;
    struct cv_content_hash hash;
    struct cv_remote_end end;
    char folder[] = "/tmp/cleave-store-XXXXXX", store[64], bytes[64] = "", text[600];
    char *name;
    struct cleave_error err;
    int errors, fd;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(store, sizeof store, "%s/.part", folder);
    /* The file that tells that this is the right folder does not exist. */
    start(&worker, &errors);
    describe_with(&worker, command, 60, store);
    assert_refused(&worker, errors,
                   "/': No such file or directory; without output.shared");
    assert_files(folder, 0);
    close(open(store, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    start(&worker, &errors);
    describe_with(&worker, command, 60, store);
    assert_int_equal(hear(&worker), CV_FRAME_READY);
    assert_files(folder, 1);
    begin_piece(&worker, 0, 1);
    send_data(&worker, 0, 1, "echo one\n", true);
    end = hear_end(&worker);
    assert_true(end.flags == 0 && end.file != 0 && end.output == 4 &&
                end.output_sum == 0);
    name = cv_stored_output_name(store, end.file);
    assert_non_null(name);
    fd = open(name, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, bytes, sizeof bytes), 4);
    assert_string_equal(bytes, "one\n");
    assert_int_equal(cv_content_hasher_new(&hasher, &err), CLEAVE_OK);
    assert_int_equal(cv_content_hasher_add(hasher, name, fd, 0, 4, &err), CLEAVE_OK);
    hash = cv_content_hasher_finish(hasher);
    assert_true(cv_content_hash_equal(hash, end.output_hash));
    cv_content_hasher_free(hasher);
    close(fd);
    unlink(name);
    free(name);
    /* No output, and the output of a command that failed. */
    begin_piece(&worker, 0, 2);
    send_data(&worker, 0, 2, "true\n", true);
    end = hear_end(&worker);
    assert_true(end.flags == 0 && end.file == 0 && end.output == 0);
    begin_piece(&worker, 0, 3);
    send_data(&worker, 0, 3, "ls /nowhere\n", true);
    end = hear_end(&worker);
    assert_true(end.flags == CV_END_FAILED && end.file == 0);
    assert_files(folder, 1);
    assert_int_equal(finish(&worker, errors, text), CLEAVE_OK);
    unlink(store);
    assert_int_equal(rmdir(folder), 0);
}

/* A folder that is removed while the worker runs. */
static void an_output_that_cannot_be_written_ends_the_worker(void **state)
{
    const char *command[] = { "cat", NULL };
    static struct worker worker;
    char folder[] = "/tmp/cleave-store-XXXXXX", store[64], text[600];
    int errors;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(store, sizeof store, "%s/.part", folder);
    close(open(store, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    start(&worker, &errors);
    describe_with(&worker, command, 60, store);
    assert_int_equal(hear(&worker), CV_FRAME_READY);
    unlink(store);
    assert_int_equal(rmdir(folder), 0);
    begin_piece(&worker, 0, 1);
    send_data(&worker, 0, 1, "x", true);
    while (hear(&worker) != CV_FRAME_REFUSED)
        assert_int_equal(worker.head.type, CV_FRAME_COMPUTED);
    assert_int_not_equal(finish(&worker, errors, text), CLEAVE_OK);
    assert_non_null(strstr(text, "cannot write the output '/tmp/cleave-store-"));
}

static void another_master_is_refused(void **state)
{
    static const struct {
        struct cv_hello hello;
        const char *expected;
    } cases[] = {
        { { "0.0.1", "test", 1 },
          "the master is cleave 0.0.1 and this is cleave " CLEAVE_VERSION
          ": install the same version on both machines, or use hosts.push" },
        { { "9\033[2J", "test", 1 }, "the master is cleave 9\\x1b[2J and this is" },
        { { CLEAVE_VERSION, "test", 0 },
          "expected the master to have 1 to 1048576 cores" },
        { { CLEAVE_VERSION, "test", UINT64_MAX }, "got 18446744073709551615" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cv_packer packer = { NULL, 0, 0, false };
        static struct worker worker;
        int errors;

        start(&worker, &errors);
        cv_pack_hello(&packer, &cases[i].hello);
        say(&worker, (struct cv_frame_head){ .type = CV_FRAME_HELLO }, packer.bytes,
            packer.length);
        cv_pack_done(&packer);
        assert_refused(&worker, errors, cases[i].expected);
    }
}

/* --- how it ends -------------------------------------------------------------------------- */

/* Each end has its own status, for any words. */
static void kinds_of_ends_are_distinguished(void **state)
{
    static const struct {
        enum { REFUSE, BE_SILENT, SIGNAL, CLOSE } how;
        enum cleave_status status;
        const char *text;
    } cases[] = {
        { REFUSE, CLEAVE_EREFUSED, "the master refused this worker: you are too old" },
        { BE_SILENT, CLEAVE_ELOST, "it sent nothing for 0.2 s" },
        { SIGNAL, CLEAVE_ESTOPPED, "stopped by SIGTERM" },
        { CLOSE, CLEAVE_OK, "" },
    };
    const char *command[] = { "cat", NULL };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct worker worker;
        char text[600];
        int errors;

        start(&worker, &errors);
        describe_to(&worker, command, cases[i].how == BE_SILENT ? 0.2 : 60);
        assert_int_equal(hear(&worker), CV_FRAME_READY);
        if (cases[i].how == REFUSE)
            say(&worker, (struct cv_frame_head){ .type = CV_FRAME_REFUSED },
                "you are too old", strlen("you are too old"));
        if (cases[i].how == SIGNAL) { /* the first one is a notice */
            assert_int_equal(kill(worker.pid, SIGTERM), 0);
            while (hear(&worker) != CV_FRAME_NOTICE)
                assert_int_equal(worker.head.type, CV_FRAME_PING);
            assert_int_equal(kill(worker.pid, SIGTERM), 0);
        }
        while (cases[i].how != CLOSE && hear(&worker) != 0)
            continue; /* it closes the link itself */
        assert_int_equal(finish(&worker, errors, text), cases[i].status);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_done_in_order),
        cmocka_unit_test(a_piece_is_cut_before_it_begins_and_not_after),
        cmocka_unit_test(large_outputs_are_sent),
        cmocka_unit_test(a_command_that_is_not_there_is_refused),
        cmocka_unit_test(damaged_frames_are_refused_on_both_sides),
        cmocka_unit_test(an_older_master_is_refused),
        cmocka_unit_test(frames_out_of_turn_are_refused),
        cmocka_unit_test(bytes_beyond_a_piece_are_refused),
        cmocka_unit_test(compressed_pieces_that_cannot_be_are_refused),
        cmocka_unit_test(undecodable_input_is_reported),
        cmocka_unit_test(outputs_go_to_files),
        cmocka_unit_test(an_output_that_cannot_be_written_ends_the_worker),
        cmocka_unit_test(another_master_is_refused),
        cmocka_unit_test(kinds_of_ends_are_distinguished),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
