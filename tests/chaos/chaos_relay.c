/* chaos_relay.c -- a link that damages its bytes. SPDX-License-Identifier: MIT
 *
 *   chaos @relay [KEY=VALUE]... COMMAND [ARG]...
 *
 *   way=in|out     what goes to COMMAND, or what comes from it
 *   at=N           when so many bytes have passed this way, the following happens:
 *   do=flip        a bit is changed          do=cut      the connection ends
 *   do=drop        16 bytes are gone         do=stall    nothing passes any more, either way
 *   do=again       256 bytes come twice      do=noise    some bytes are others
 *   once=FILE      only if this file is not there; it is made then
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "chaos/chaos.h"

enum { MOST_WAITING = 65536 };

struct relay {
    const char *what, *once;
    bool comes_out; /* the way that the fault is on */
    uint64_t at;
    bool over; /* the damage was done */
    pid_t child;
};

struct way {
    int in, out;
    uint64_t passed;
    struct bytes waits;
    bool ended;
};

/* Whether the fault is this one's: the first that gets there, or all. */
static bool claim(struct relay *relay)
{
    int fd;

    relay->over = true;
    if (relay->once == NULL)
        return true;
    fd = open(relay->once, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Passed bytes wait until they are read: neither direction blocks the other. */
static void pass(struct way *way, const char *at, size_t length)
{
    bytes_add(&way->waits, at, length);
    way->passed += length;
}

/* False: the reader has exited. */
static bool flush(struct way *way)
{
    ssize_t put;

    if (way->waits.at == NULL)
        return true;
    put = write(way->out, way->waits.at, way->waits.length);
    if (put < 0)
        return errno == EAGAIN || errno == EINTR;
    way->waits.length -= (size_t)put;
    memmove(way->waits.at, way->waits.at + put, way->waits.length);
    return true;
}

/* The bytes at `at` are the first to be hit. */
static void hit(struct relay *relay, struct way *way, char *at, size_t length)
{
    const bool drop = strcmp(relay->what, "drop") == 0;
    const size_t lost = !drop ? 0 : length < 16 ? length : 16;

    if (strcmp(relay->what, "cut") == 0 || strcmp(relay->what, "stall") == 0) {
        /* A link that stalls is there until the master gives up on it. */
        struct pollfd gone = { .fd = STDIN_FILENO };

        while (relay->what[0] == 's' && poll(&gone, 1, 100) >= 0 && gone.revents == 0)
            ;
        kill(relay->child, SIGKILL);
        _exit(0);
    }
    if (strcmp(relay->what, "flip") == 0)
        at[0] = (char)(at[0] ^ 1 << relay->at % 8);
    if (strcmp(relay->what, "noise") == 0)
        for (size_t i = 0; i < length && i < 24; i++)
            at[i] = (char)(at[i] * 13 + (char)i);
    if (strcmp(relay->what, "again") == 0)
        pass(way, at, length < 256 ? length : 256);
    pass(way, at + lost, length - lost);
}

/* Read the available bytes. */
static void carry(struct relay *relay, struct way *way, bool comes_out)
{
    char part[16384];
    const ssize_t got = read(way->in, part, sizeof part);
    size_t before = 0;

    if (got <= 0) {
        way->ended = true;
        return;
    }
    if (relay->what != NULL && !relay->over && relay->comes_out == comes_out &&
        relay->at < way->passed + (uint64_t)got) {
        before = (size_t)(relay->at > way->passed ? relay->at - way->passed : 0);
        pass(way, part, before);
        if (claim(relay)) {
            hit(relay, way, part + before, (size_t)got - before);
            return;
        }
    }
    pass(way, part + before, (size_t)got - before);
}

static void start(struct relay *relay, char **words, struct way *to, struct way *from)
{
    int in[2], out[2];

    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        _exit(1);
    relay->child = fork();
    if (relay->child < 0)
        _exit(1);
    if (relay->child == 0) {
        signal(SIGPIPE, SIG_DFL);
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        execvp(words[0], words);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    *to = (struct way){ .in = STDIN_FILENO, .out = in[1] };
    *from = (struct way){ .in = out[0], .out = STDOUT_FILENO };
    fcntl(to->out, F_SETFL, O_NONBLOCK | fcntl(to->out, F_GETFL));
    fcntl(from->out, F_SETFL, O_NONBLOCK | fcntl(from->out, F_GETFL));
}

/* False: the program at the other end has ended, or it no longer reads. */
static bool step(struct relay *relay, struct way ways[2])
{
    struct pollfd waits[4];

    for (int i = 0; i < 2; i++) {
        const bool reads = !ways[i].ended && ways[i].waits.length < MOST_WAITING;

        waits[i] = (struct pollfd){ .fd = reads ? ways[i].in : -1, .events = POLLIN };
        waits[2 + i] = (struct pollfd){ .fd = ways[i].waits.length > 0 ? ways[i].out : -1,
                                        .events = POLLOUT };
    }
    if (poll(waits, 4, -1) < 0)
        return errno == EINTR;
    for (int i = 0; i < 2; i++) {
        if (waits[i].revents != 0)
            carry(relay, &ways[i], i == 1);
        if (waits[2 + i].revents != 0 && !flush(&ways[i])) {
            if (i == 1)
                return false;
            ways[i].waits.length = 0;
            ways[i].ended = true;
        }
    }
    if (ways[0].ended && ways[0].waits.length == 0 && ways[0].out >= 0) {
        close(ways[0].out);
        ways[0].out = -1;
    }
    return !ways[1].ended || ways[1].waits.length > 0;
}

int relay_main(char **words)
{
    struct relay relay = { .what = NULL };
    struct way ways[2];

    for (; *words != NULL; words++) {
        if (strncmp(*words, "do=", 3) == 0)
            relay.what = *words + 3;
        else if (strncmp(*words, "way=", 4) == 0)
            relay.comes_out = strcmp(*words + 4, "out") == 0;
        else if (strncmp(*words, "at=", 3) == 0)
            relay.at = strtoull(*words + 3, NULL, 10);
        else if (strncmp(*words, "once=", 5) == 0)
            relay.once = *words + 5;
        else
            break;
    }
    if (*words == NULL)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    start(&relay, words, &ways[0], &ways[1]);
    while (step(&relay, ways))
        ;
    close(STDOUT_FILENO);
    if (ways[0].out >= 0)
        close(ways[0].out);
    waitpid(relay.child, NULL, 0);
    return 0;
}
