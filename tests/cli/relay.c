/* relay.c -- stand between a master and a worker, and make a bad link of a good one.
 * SPDX-License-Identifier: MIT
 *
 *   relay [OPTION VALUE]... COMMAND...
 *
 * Starts COMMAND and passes on what goes in and comes out.
 *   rate N    at most N bytes in a second, each way
 *   delay MS  everything comes so much later, each way
 *   flip N    byte N of what comes out is damaged
 *   cut N     the connection ends after N bytes of what comes out
 *   hang N    nothing passes any more after N bytes of what comes out
 *   again F   the three above only if the file F is not there; it is made then
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PACKET = 4096, PACKETS = 4096 };

struct packet {
    double due_s;
    size_t length, done;
    unsigned char bytes[PACKET];
};

/* One way: what was read waits here until it is due. */
struct way {
    int in, out;
    struct packet *packets;
    size_t first, count;
    double free_s; /* when the next byte may go */
    uint64_t passed;
    bool ended;
};

static double now_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void take(struct way *way, double rate, double delay_s)
{
    struct packet *packet = &way->packets[(way->first + way->count) % PACKETS];
    /* What is read at once comes at once: of a slow link no more than it moves in a moment. */
    const size_t max = rate > 0 && rate < 4 * PACKET ? (size_t)(rate / 4) + 1 : PACKET;
    const ssize_t got = read(way->in, packet->bytes, max);
    const double now = now_s();

    if (got <= 0) {
        way->ended = true;
        return;
    }
    packet->length = (size_t)got;
    packet->done = 0;
    way->free_s =
        (way->free_s > now ? way->free_s : now) + (rate > 0 ? (double)got / rate : 0);
    packet->due_s = way->free_s + delay_s;
    way->count++;
}

/* False: nobody reads any more. */
static bool give(struct way *way)
{
    struct packet *packet = &way->packets[way->first];
    const ssize_t put =
        write(way->out, packet->bytes + packet->done, packet->length - packet->done);

    if (put < 0)
        return false;
    packet->done += (size_t)put;
    if (packet->done == packet->length) {
        way->first = (way->first + 1) % PACKETS;
        way->count--;
    }
    return true;
}

int main(int argc, char **argv)
{
    double rate = 0, delay_s = 0;
    uint64_t flip = 0, cut = 0, hang = 0, come = 0;
    const char *again = NULL;
    struct way ways[2] = { { .in = 0 }, { .out = 1 } };
    int to[2], from[2];
    pid_t child;

    for (argv++; argc > 2 && argv[0] != NULL && argv[1] != NULL; argv += 2) {
        if (strcmp(argv[0], "rate") == 0)
            rate = atof(argv[1]);
        else if (strcmp(argv[0], "delay") == 0)
            delay_s = atof(argv[1]) / 1000;
        else if (strcmp(argv[0], "flip") == 0)
            flip = strtoull(argv[1], NULL, 10);
        else if (strcmp(argv[0], "cut") == 0)
            cut = strtoull(argv[1], NULL, 10);
        else if (strcmp(argv[0], "hang") == 0)
            hang = strtoull(argv[1], NULL, 10);
        else if (strcmp(argv[0], "again") == 0)
            again = argv[1];
        else
            break;
    }
    if (again != NULL && access(again, F_OK) == 0)
        flip = cut = hang = 0;
    else if (again != NULL)
        close(open(again, O_CREAT | O_WRONLY, 0666));
    signal(SIGPIPE, SIG_IGN);
    if (pipe(to) != 0 || pipe(from) != 0 || (child = fork()) < 0)
        return 1;
    if (child == 0) {
        signal(SIGPIPE, SIG_DFL);
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[0]), close(to[1]), close(from[0]), close(from[1]);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    ways[0].out = to[1];
    ways[1].in = from[0];
    for (int i = 0; i < 2; i++)
        if ((ways[i].packets = calloc(PACKETS, sizeof *ways[i].packets)) == NULL)
            return 1;
    while (!ways[1].ended || ways[1].count > 0) {
        struct pollfd waits[2];
        int timeout = -1;

        for (int i = 0; i < 2; i++) {
            const struct way *way = &ways[i];
            const double left_s =
                way->count > 0 ? way->packets[way->first].due_s - now_s() : 1e9;

            /* A slow link does not swallow more than it can carry soon. */
            const bool full = way->count >= (rate > 0 ? 16 : PACKETS);

            waits[i] = (struct pollfd){ .fd = way->ended || full ? -1 : way->in,
                                        .events = POLLIN };
            if (left_s < 1e8 && (timeout < 0 || left_s * 1000 < timeout))
                timeout = left_s > 0 ? (int)(left_s * 1000) + 1 : 0;
        }
        if (poll(waits, 2, timeout) < 0)
            return 1;
        for (int i = 0; i < 2; i++) {
            struct way *way = &ways[i];

            if (waits[i].fd >= 0 && waits[i].revents != 0) {
                const size_t at = (way->first + way->count) % PACKETS;

                take(way, rate, delay_s);
                if (i == 1 && !way->ended) {
                    struct packet *packet = &way->packets[at];

                    if (flip > come && flip <= come + packet->length)
                        packet->bytes[flip - come - 1] ^= 0x55;
                    come += packet->length;
                    if (cut > 0 && come >= cut) {
                        kill(child, SIGKILL);
                        return 0;
                    }
                    while (hang > 0 && come >= hang)
                        pause();
                }
            }
            while (way->count > 0 && way->packets[way->first].due_s <= now_s())
                if (!give(way))
                    return 1;
            if (i == 0 && way->ended && way->count == 0 && way->out >= 0) {
                close(way->out);
                way->out = -1;
            }
        }
    }
    return 0;
}
