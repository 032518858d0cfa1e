/* test_run_between.c -- runs with an attacker between the master and a worker.
 * SPDX-License-Identifier: MIT
 *
 * Both are honest. The attacker changes one frame of a piece or of an output, with right
 * checksums: it is lost, duplicated, late, or about another piece. The run has to notice,
 * and all of the output has to be right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "liar_check.h"
#include "run/wire/protocol.h"

enum { LINES = 30000 }; /* half a megabyte: several frames a piece */

struct change {
    uint8_t type;   /* DATA or OUTPUT                                                 */
    unsigned which; /* number of the frame, from 1 */
    enum { LOSE, DOUBLE, SWAP, MISDIRECT, FORGE } how;
    const char *expected, * or ; /* depends on earlier frames */
};

struct between {
    const struct change *change;
    const char *done;
    unsigned seen; /* frames of that type                                               */
    unsigned char bytes[2][CV_FRAME_HEAD + CV_FRAME_MOST];
    size_t length[2];
};

/* A whole frame. */
static bool take(int fd, unsigned char *bytes, size_t *length, struct cv_frame_head *head)
{
    if (!get(fd, bytes, CV_FRAME_HEAD) ||
        cv_frame_decode(bytes, head, NULL) != CLEAVE_OK ||
        !get(fd, bytes + CV_FRAME_HEAD, head->length))
        return false;
    *length = CV_FRAME_HEAD + head->length;
    return true;
}

/* The frame that is to be changed, on its way to `to`. */
static bool change(struct between *between, int from, int to, struct cv_frame_head head)
{
    unsigned char *bytes = between->bytes[0];

    close(open(between->done, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    switch (between->change->how) {
    case LOSE:
        return true;
    case DOUBLE:
        put(to, bytes, between->length[0]);
        break;
    case SWAP: /* with the next one of its kind */
        do {
            if (!take(from, between->bytes[1], &between->length[1], &head))
                return false;
            put(to, between->bytes[1], between->length[1]);
        } while (head.type != between->change->type);
        break;
    case MISDIRECT:
        head.chunk++;
        cv_frame_encode(&head, bytes);
        break;
    case FORGE:
        bytes[CV_FRAME_HEAD] ^= 1;
        head.checksum = cv_frame_checksum(&head, bytes + CV_FRAME_HEAD);
        cv_frame_encode(&head, bytes);
        break;
    }
    put(to, bytes, between->length[0]);
    return true;
}

static bool pass(struct between *between, int from, int to)
{
    struct cv_frame_head head;

    if (!take(from, between->bytes[0], &between->length[0], &head))
        return false;
    if (head.type == between->change->type && ++between->seen == between->change->which)
        return change(between, from, to, head);
    put(to, between->bytes[0], between->length[0]);
    return true;
}

static void stand_between(int fd, const void *part, const struct world *world)
{
    static struct between between;
    int ends[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    pid = fork();
    if (pid == 0) {
        close(fd);
        close(ends[0]);
        (void)cv_worker_serve(&(struct cv_worker_options){ .in = ends[1],
                                                           .out = ends[1] },
                              NULL);
        _exit(0);
    }
    close(ends[1]);
    between = (struct between){ .change = part, .done = world->done };
    for (bool open = pid > 0; open;) {
        struct pollfd waits[2] = { { .fd = fd, .events = POLLIN },
                                   { .fd = ends[0], .events = POLLIN } };

        if (poll(waits, 2, -1) < 0)
            break;
        if (waits[0].revents != 0)
            open = pass(&between, fd, ends[0]);
        if (open && waits[1].revents != 0)
            open = pass(&between, ends[0], fd);
    }
    close(ends[0]);
    waitpid(pid, NULL, 0);
}

static void every_change_is_noticed(void **state)
{
    static const struct change changes[] = {
        { CV_FRAME_DATA, 1, LOSE, "bytes where", NULL },
        { CV_FRAME_DATA, 2, LOSE, "bytes where", NULL },
        { CV_FRAME_DATA, 2, DOUBLE, "bytes where", "bytes that belong to no piece" },
        { CV_FRAME_DATA, 1, SWAP, "others have arrived", NULL },
        { CV_FRAME_DATA, 2, MISDIRECT, "DATA while there is no such piece", NULL },
        { CV_FRAME_DATA, 1, FORGE, "others have arrived", NULL },
        { CV_FRAME_OUTPUT, 1, LOSE, "bytes of an output were sent, and", NULL },
        { CV_FRAME_OUTPUT, 2, DOUBLE, "bytes of an output were sent, and", NULL },
        { CV_FRAME_OUTPUT, 1, SWAP, "others have arrived", NULL },
        { CV_FRAME_OUTPUT, 1, MISDIRECT, "OUTPUT while", NULL },
        { CV_FRAME_OUTPUT, 2, FORGE, "others have arrived", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const void *const parts[] = { &changes[i] };
        struct cleave_execution_result *result = NULL;
        struct world world;

        open_world(&world, LINES, stand_between, parts, 1);
        world.block = 200000;
        assert_ok(execute(&world, &result, &err));
        assert_same_files(world.input, world.output);
        if (strstr(world.notes, changes[i].expected) == NULL &&
            (changes[i].or == NULL || strstr(world.notes, changes[i].or) == NULL))
            fail_msg("%zu: expected '%s', got '%s'", i, changes[i].expected, world.notes);
        assert_int_equal(world.nnotes, 1);
        assert_int_equal(result->failed, 0);
        assert_in_range(result->lost, 1, 3);
        cleave_execution_free(result);
        close_world(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_change_is_noticed),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
