/* bridge_check.c -- the links between ranks carry every byte, in order, and
 * end. SPDX-License-Identifier: MIT
 *
 * Run by mpirun as `bridge_check MODULE CASE`; it is not linked with MPI, as
 * the command is not. Rank 0 prints the error and exits with 1, as any other rank does.
 * Cases:
 *
 *   echo     messages to all ranks and back, more than fits into all buffers
 *   peers    frames between all workers, of all sizes
 *   early    rank 0 ends its links at once, while the others still write
 *   lost     frames to a peer that does not read any more
 *   wide     of many ranks, each sends a message that is as long as can be
 *   delay    prints how long a message takes there and back, after a silence
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/compare.h"
#include "engine/mpi_bridge.h"

static uint32_t own_rank;

static void stop(const char *text)
{
    fprintf(stderr, "bridge_check: rank %u: %s\n", own_rank, text);
    exit(1);
}

static void check(bool holds, const char *text)
{
    if (!holds)
        stop(text);
}

/* Byte `at` of the stream between rank 0 and `rank`. */
static unsigned char byte_at(uint32_t rank, uint64_t at)
{
    return (unsigned char)((at * 2654435761u + at / 251 + (uint64_t)rank * 17u) >> 3);
}

/* --- messages ----------------------------------------------------------------------------- */

/* Until it is worth to look again. */
static void await(struct cleave_channel *channel)
{
    struct pollfd at = { .fd = channel->fd, .events = POLLIN };

    check(poll(&at, 1, 20000) > 0, "nothing has moved for 20 s");
    channel->calls->heed(channel);
}

static unsigned char *place(struct cleave_channel *channel)
{
    unsigned char *at;
    bool peer_closed;

    while ((at = channel->calls->place(channel, &peer_closed)) == NULL) {
        check(!peer_closed, "nobody reads any more");
        await(channel);
    }
    return at;
}

/* NULL: it has ended. */
static const unsigned char *next(struct cleave_channel *channel, size_t *out_length)
{
    const unsigned char *at;
    bool ended;

    while ((at = channel->calls->peek(channel, out_length, &ended)) == NULL && !ended)
        await(channel);
    check(at == NULL || (*out_length > 0 && *out_length <= channel->room),
          "a message has no length that it can have");
    return at;
}

static void end_links(const struct cv_mpi_bridge *bridge)
{
    for (uint32_t r = 0; r < bridge->size; r++)
        if (bridge->links[r] != NULL)
            bridge->links[r]->calls->end(bridge->links[r]);
}

/* --- echo --------------------------------------------------------------------------------- */

enum { ECHO_BYTES = 6 << 20, PIECE = 100003 };

/* All messages back, unchanged, and the end. */
static uint64_t echo_worker(struct cleave_channel *channel)
{
    const unsigned char *bytes;
    uint64_t got = 0;
    size_t length;

    while ((bytes = next(channel, &length)) != NULL) {
        memcpy(place(channel), bytes, length);
        channel->calls->done(channel);
        channel->calls->send(channel, length);
        got += length;
    }
    channel->calls->end(channel);
    return got;
}

struct stream {
    uint64_t sent, got;
};

static bool echo_write(struct cleave_channel *channel, uint32_t rank,
                       struct stream *stream)
{
    bool moved = false, peer_closed;
    unsigned char *bytes;

    while (stream->sent < ECHO_BYTES &&
           (bytes = channel->calls->place(channel, &peer_closed)) != NULL) {
        size_t length = stream->sent % 3 == 0 ? channel->room : PIECE;

        length = length < channel->room ? length : channel->room;
        if (length > ECHO_BYTES - stream->sent)
            length = ECHO_BYTES - stream->sent;
        for (size_t i = 0; i < length; i++)
            bytes[i] = byte_at(rank, stream->sent + i);
        channel->calls->send(channel, length);
        stream->sent += length;
        moved = true;
    }
    return moved;
}

static bool echo_read(struct cleave_channel *channel, uint32_t rank,
                      struct stream *stream)
{
    const unsigned char *bytes;
    bool moved = false, ended;
    size_t length;

    while ((bytes = channel->calls->peek(channel, &length, &ended)) != NULL) {
        for (size_t i = 0; i < length; i++)
            check(bytes[i] == byte_at(rank, stream->got + i), "a byte is wrong");
        stream->got += length;
        channel->calls->done(channel);
        moved = true;
    }
    check(!ended, "an end that nobody has said");
    return moved;
}

static void echo_master(const struct cv_mpi_bridge *bridge)
{
    struct stream *streams = calloc(bridge->size, sizeof *streams);
    struct pollfd *polls = calloc(bridge->size, sizeof *polls);
    uint32_t open = bridge->size - 1;

    check(streams != NULL && polls != NULL, "out of memory");
    polls[0].fd = -1;
    for (uint32_t r = 1; r < bridge->size; r++)
        polls[r] = (struct pollfd){ .fd = bridge->links[r]->fd, .events = POLLIN };
    while (open > 0) {
        bool moved = false;

        for (uint32_t r = 1; r < bridge->size; r++) {
            if (polls[r].fd < 0)
                continue;
            bridge->links[r]->calls->heed(bridge->links[r]);
            moved |= echo_write(bridge->links[r], r, &streams[r]);
            moved |= echo_read(bridge->links[r], r, &streams[r]);
            if (streams[r].got == ECHO_BYTES) {
                polls[r].fd = -1;
                open--;
            }
        }
        check(moved || poll(polls, bridge->size, 20000) > 0,
              "nothing has moved for 20 s");
    }
    end_links(bridge);
    free(streams);
    free(polls);
}

static void echo(const struct cv_mpi_bridge *bridge)
{
    if (bridge->rank == 0) {
        echo_master(bridge);
        return;
    }
    check(echo_worker(bridge->links[0]) == ECHO_BYTES, "bytes are missing");
    close(bridge->peers);
}

/* With many ranks messages are shorter, on both ends: the longest ones arrive, too. */
static void parallel(const struct cv_mpi_bridge *bridge)
{
    if (bridge->rank > 0) {
        struct cleave_channel *channel = bridge->links[0];

        memset(place(channel), 'x', channel->room);
        channel->calls->send(channel, channel->room);
        channel->calls->end(channel);
        close(bridge->peers);
        return;
    }
    for (uint32_t r = 1; r < bridge->size; r++) {
        size_t length;

        check(next(bridge->links[r], &length) != NULL, "a message is missing");
        check(length == bridge->links[r]->room, "a message is cut");
        bridge->links[r]->calls->done(bridge->links[r]);
        check(next(bridge->links[r], &length) == NULL, "expected the end");
    }
    end_links(bridge);
}

/* --- peers -------------------------------------------------------------------------------- */

enum { FRAMES = 12 };

static size_t frame_length(uint32_t from, uint32_t to, uint32_t number)
{
    const uint32_t kind = (from + 2 * to + number) % 4;

    return kind == 0   ? 0
           : kind == 1 ? number + 1
           : kind == 2 ? 70000u + 13u * number
                       : CV_BRIDGE_MOST;
}

static void put(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static uint32_t get(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
           (uint32_t)at[3] << 24;
}

static size_t make_frame(unsigned char *out, uint32_t from, uint32_t to, uint32_t number)
{
    const size_t length = frame_length(from, to, number);

    memset(out, 0, CV_BRIDGE_HEAD);
    put(out + CV_BRIDGE_LENGTH_AT, (uint32_t)length);
    put(out + CV_BRIDGE_PEER_AT, to);
    put(out + 16, from);
    put(out + 20, number);
    for (size_t i = 0; i < length; i++)
        out[CV_BRIDGE_HEAD + i] = byte_at(from * 100 + number, i);
    return CV_BRIDGE_HEAD + length;
}

struct inbox {
    unsigned char bytes[CV_BRIDGE_HEAD + CV_BRIDGE_MOST];
    size_t length;
    uint32_t next[64], frames; /* per sender: the frame that comes next */
};

static void take(const struct cv_mpi_bridge *bridge, struct inbox *inbox)
{
    size_t wanted = CV_BRIDGE_HEAD;
    ssize_t n;
    uint32_t from;

    if (inbox->length >= CV_BRIDGE_HEAD)
        wanted += get(inbox->bytes + CV_BRIDGE_LENGTH_AT);
    n = recv(bridge->peers, inbox->bytes + inbox->length, wanted - inbox->length, 0);
    check(n > 0, "the peers are gone");
    inbox->length += (size_t)n;
    if (inbox->length < CV_BRIDGE_HEAD ||
        inbox->length < CV_BRIDGE_HEAD + get(inbox->bytes + CV_BRIDGE_LENGTH_AT))
        return;
    from = get(inbox->bytes + 16);
    check(from > 0 && from < bridge->size && from < 64, "a frame from nobody");
    check(get(inbox->bytes + CV_BRIDGE_PEER_AT) == bridge->rank, "a frame for another");
    check(get(inbox->bytes + 20) == inbox->next[from], "frames have changed places");
    check(inbox->length ==
              CV_BRIDGE_HEAD + frame_length(from, bridge->rank, inbox->next[from]),
          "a frame has another length");
    for (size_t i = CV_BRIDGE_HEAD; i < inbox->length; i++)
        check(inbox->bytes[i] ==
                  byte_at(from * 100 + inbox->next[from], i - CV_BRIDGE_HEAD),
              "a byte of a frame is wrong");
    inbox->next[from]++;
    inbox->frames++;
    inbox->length = 0;
}

static void peers_worker(const struct cv_mpi_bridge *bridge)
{
    static unsigned char frame[CV_BRIDGE_HEAD + CV_BRIDGE_MOST];
    static struct inbox inbox;
    const uint32_t others = bridge->size - 2;
    uint32_t made = 0;
    size_t length = 0, done = 0;

    while (inbox.frames < FRAMES * others || made < FRAMES * others || done < length) {
        struct pollfd at = { .fd = bridge->peers, .events = POLLIN };

        if (done == length && made < FRAMES * others) {
            const uint32_t k = made % others;

            length = make_frame(frame, bridge->rank, k + 1 + (k + 1 >= bridge->rank),
                                made / others);
            made++;
            done = 0;
        }
        if (done < length)
            at.events |= POLLOUT;
        check(poll(&at, 1, 20000) > 0, "nothing has moved for 20 s");
        if (at.revents & POLLIN)
            take(bridge, &inbox);
        if (at.revents & POLLOUT) {
            const ssize_t n = send(bridge->peers, frame + done, length - done,
                                   MSG_DONTWAIT | MSG_NOSIGNAL);

            check(n > 0 || errno == EAGAIN, "cannot write to the peers");
            done += n > 0 ? (size_t)n : 0;
        }
    }
    close(bridge->peers);
}

static void peers(const struct cv_mpi_bridge *bridge)
{
    if (bridge->rank > 0)
        peers_worker(bridge);
    end_links(bridge);
}

/* --- ends that come early ----------------------------------------------------------------- */

/* Rank 0 leaves and ends at once, while the others continue for a while. */
static void early(const struct cv_mpi_bridge *bridge)
{
    struct cleave_channel *channel = bridge->links[0];
    size_t length;

    if (bridge->rank == 0) {
        for (uint32_t r = 1; r < bridge->size; r++)
            bridge->links[r]->calls->leave(bridge->links[r]);
        end_links(bridge);
        return;
    }
    for (int i = 0; i < 100; i++) {
        memset(place(channel), i, channel->room);
        channel->calls->send(channel, channel->room);
    }
    check(next(channel, &length) == NULL, "expected the end");
    channel->calls->end(channel);
    close(bridge->peers);
}

/* Rank 1 does not read; frames of the others to it are dropped, and all end. */
static void lost(const struct cv_mpi_bridge *bridge)
{
    static unsigned char frame[CV_BRIDGE_HEAD + CV_BRIDGE_MOST];

    if (bridge->rank > 1)
        for (uint32_t i = 0; i < 8; i++) {
            const size_t length = make_frame(frame, bridge->rank, 1, i);

            check(send(bridge->peers, frame, length, MSG_NOSIGNAL) == (ssize_t)length,
                  "cannot write to the peers");
        }
    if (bridge->rank > 0)
        close(bridge->peers);
    end_links(bridge);
}

/* --- how long it takes -------------------------------------------------------------------- */

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void round_trips(struct cleave_channel *channel, double silence_s)
{
    const struct timespec pause = { 0, (long)(1e9 * silence_s) };
    double times[201];

    for (int i = 0; i < 201; i++) {
        size_t length;
        double begin;

        nanosleep(&pause, NULL);
        begin = now_s();
        *place(channel) = 'x';
        channel->calls->send(channel, 1);
        check(next(channel, &length) != NULL, "the link broke");
        channel->calls->done(channel);
        times[i] = now_s() - begin;
    }
    qsort(times, 201, sizeof *times, cv_compare_doubles);
    printf("silence %6.0f us: there and back %4.0f us (median), %4.0f us (9 of "
           "10)\n",
           1e6 * silence_s, 1e6 * times[100], 1e6 * times[180]);
}

static double cpu_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void delay(const struct cv_mpi_bridge *bridge)
{
    if (bridge->rank > 0) {
        (void)echo_worker(bridge->links[0]);
        close(bridge->peers);
        return;
    }
    round_trips(bridge->links[1], 0);
    round_trips(bridge->links[1], 0.001);
    round_trips(bridge->links[1], 0.01);
    {
        const double cpu = cpu_s();

        sleep(2);
        printf("idle: %.1f %% of a core\n", 50 * (cpu_s() - cpu));
    }
    end_links(bridge);
}

/* --- all ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(const struct cv_mpi_bridge *bridge);
} cases[] = {
    { "echo", echo }, { "peers", peers },   { "early", early },
    { "lost", lost }, { "wide", parallel }, { "delay", delay },
};

int main(int argc, char **argv)
{
    const struct cv_mpi_bridge_calls *calls;
    struct cv_mpi_words own = { .count = 1, .length = 4, .text = "any" };
    struct cv_mpi_bridge *bridge;
    struct cleave_error err;
    void *module;
    size_t k = 0;

    check(argc == 3, "expected a module and a case");
    module = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    if (module == NULL)
        stop(dlerror());
    calls = dlsym(module, CV_MPI_BRIDGE_SYMBOL);
    check(calls != NULL && calls->version == CV_MPI_BRIDGE_VERSION, "no bridge in it");
    while (k < sizeof cases / sizeof *cases && strcmp(cases[k].name, argv[2]) != 0)
        k++;
    check(k < sizeof cases / sizeof *cases, "expected the name of a case");
    own.hash = (uint64_t)getpid();
    if (calls->open(&own, &bridge, &err) != CLEAVE_OK)
        stop(err.text);
    own_rank = bridge->rank;
    check(memcmp(&bridge->ranks[own_rank].words, &own, sizeof own) == 0 &&
              bridge->ranks[own_rank == 0].words.hash != own.hash,
          "the words of the ranks are not right");
    check(bridge->size < 64 && bridge->machine[0] == 0 &&
              bridge->ranks[bridge->rank].host[0] != '\0',
          "the places of the ranks are not right");
    cases[k].run(bridge);
    if (calls->close(bridge, 0, &err) != CLEAVE_OK)
        stop(err.text);
    if (own_rank == 0)
        printf("%s: well\n", argv[2]);
    return 0;
}
