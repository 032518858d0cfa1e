/* relay.c -- a slow, late or faulty link in user space. SPDX-License-Identifier: MIT
 *
 *   relay [OPTION]... -- COMMAND...
 *
 * Starts COMMAND and carries its standard input and output, each way on its own.
 *   --delay MS           bytes arrive MS milliseconds later
 *   --rate BYTES         at most BYTES per second
 *   --stall AT:FOR       AT seconds after the start nothing moves for FOR seconds; up to 8 times
 *   --cut AT             the connection ends AT seconds after the start
 *   --cut-after BYTES    the connection ends after BYTES of output
 *   --loss-after BYTES   after BYTES of output all bytes are lost, both ways
 *   --flip BYTE          byte BYTE of the output, from 1, is damaged
 *   --once FILE          the last four happen only if FILE does not exist; it is created
 *
 * The exit status is that of COMMAND, 128 + N after signal N, or 0 if the connection ended.
 * At most CAPACITY bytes per way are in transit, so a writer waits for a reader. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    CAPACITY = 1 << 24,
    MARKS = 1 << 16,
    MOST_READ = 1 << 16,
    MOST_WRITTEN = 4096, /* a pipe that is ready takes this much without blocking */
    STALLS = 8,
    BROKEN = 0, /* a host that cleave connects to again */
};

static const double QUEUE_S = 0.01; /* seconds of bytes that wait for a slow link */

/* Bytes up to stream position `end` arrive at `due_s`. */
struct mark {
    double due_s;
    uint64_t end;
};

/* One way: a ring of bytes in transit. Positions count all bytes since the start. */
struct way {
    int in, out;
    unsigned char *bytes; /* owned: CAPACITY */
    struct mark *marks;   /* owned: MARKS, a ring from first_mark to end_mark */
    uint64_t taken, given, first_mark, end_mark;
    double free_s; /* when the last byte taken has left */
    double end_s;  /* when the end of the input arrives */
    bool ended;    /* the input ended */
    bool dropped;  /* the reader has closed, or all bytes are lost */
};

static struct {
    double delay_s, rate, cut_s;
    double stall_s[STALLS], stall_end_s[STALLS];
    int stalls;
    uint64_t cut_after, loss_after, flip;
    const char *once;
    bool cut; /* the connection ends once all bytes in transit have arrived */
} link_ = { .rate = INFINITY, .cut_s = INFINITY };

static double now_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void open_way(struct way *way, int in, int out)
{
    *way = (struct way){ .in = in, .out = out };
    way->bytes = calloc(1, CAPACITY);
    way->marks = calloc(MARKS, sizeof *way->marks);
    if (way->bytes == NULL || way->marks == NULL)
        fail("relay");
}

/* --- one way ---------------------------------------------------------------------------- */

static bool may_take(const struct way *way, double now)
{
    return !way->ended && way->taken - way->given < CAPACITY &&
           way->end_mark - way->first_mark < MARKS && way->free_s - now < QUEUE_S;
}

static void take(struct way *way, double now)
{
    const size_t at = way->taken % CAPACITY;
    size_t most = CAPACITY - (way->taken - way->given);
    ssize_t got;

    if (most > CAPACITY - at)
        most = CAPACITY - at;
    if (most > MOST_READ)
        most = MOST_READ;
    if ((double)most > link_.rate * QUEUE_S)
        most = (size_t)(link_.rate * QUEUE_S) + 1;
    got = read(way->in, way->bytes + at, most);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        way->ended = true;
        way->end_s = fmax(way->free_s, now) + link_.delay_s;
        return;
    }
    if (way->dropped)
        return;
    way->taken += (uint64_t)got;
    way->free_s = fmax(way->free_s, now) + (double)got / link_.rate;
    way->marks[way->end_mark++ % MARKS] =
        (struct mark){ .due_s = way->free_s + link_.delay_s, .end = way->taken };
}

static void drop(struct way *way)
{
    way->dropped = true;
    way->given = way->taken;
    way->first_mark = way->end_mark;
}

/* Seconds until something is to be written or ended; INFINITY: nothing is in transit. */
static double due_s(const struct way *way, double now)
{
    if (way->first_mark < way->end_mark)
        return fmax(0, way->marks[way->first_mark % MARKS].due_s - now);
    return way->ended && way->out >= 0 ? fmax(0, way->end_s - now) : INFINITY;
}

static bool is_over(const struct way *way, double now)
{
    return way->ended && way->given == way->taken && way->end_s <= now;
}

/* Writes bytes that have arrived. False: nothing reads them. */
static bool give(struct way *way)
{
    const uint64_t end = way->marks[way->first_mark % MARKS].end;
    const size_t at = way->given % CAPACITY;
    size_t most = end - way->given;
    ssize_t put;

    if (most > CAPACITY - at)
        most = CAPACITY - at;
    if (most > MOST_WRITTEN)
        most = MOST_WRITTEN;
    put = write(way->out, way->bytes + at, most);
    if (put < 0)
        return errno == EINTR || errno == EAGAIN;
    way->given += (uint64_t)put;
    if (way->given == end)
        way->first_mark++;
    return true;
}

/* --- faults ----------------------------------------------------------------------------- */

/* Seconds until the stall ends that is now; 0: there is not one. */
static double stalled_s(double since_start)
{
    for (int i = 0; i < link_.stalls; i++)
        if (since_start >= link_.stall_s[i] && since_start < link_.stall_end_s[i])
            return link_.stall_end_s[i] - since_start;
    return 0;
}

/* Seconds until a stall or the cut begins. */
static double fault_s(double since_start)
{
    double next = link_.cut_s;

    for (int i = 0; i < link_.stalls; i++)
        if (link_.stall_s[i] > since_start)
            next = fmin(next, link_.stall_s[i]);
    return fmax(0, next - since_start);
}

/* The output ends at this position; earlier bytes still arrive. */
static void truncate_at(struct way *way, uint64_t end)
{
    struct mark *last = &way->marks[(way->end_mark - 1) % MARKS];

    way->taken = last->end = end;
    way->dropped = true;
}

/* Faults at a position of the output; [before, output->taken) is new. */
static void damage(struct way *input, struct way *output, uint64_t before)
{
    if (link_.flip > before && link_.flip <= output->taken)
        output->bytes[(link_.flip - 1) % CAPACITY] ^= 0x55;
    if (link_.loss_after > before && link_.loss_after <= output->taken) {
        truncate_at(output, link_.loss_after);
        drop(input);
    }
    if (link_.cut_after > before && link_.cut_after <= output->taken) {
        truncate_at(output, link_.cut_after);
        output->ended = link_.cut = true;
    }
}

static bool happens_now(void)
{
    int fd;

    if (link_.once == NULL)
        return true;
    fd = open(link_.once, O_CREAT | O_EXCL | O_WRONLY, 0666);
    return fd >= 0 && close(fd) == 0;
}

/* --- both ways -------------------------------------------------------------------------- */

static void wait_for(struct pollfd *waits, nfds_t count, double seconds)
{
    struct timespec most = { .tv_sec = (time_t)fmin(seconds, 1e6) };

    if (seconds < 1e6)
        most.tv_nsec = (long)((seconds - (double)most.tv_sec) * 1e9);
    if (ppoll(waits, count, seconds < 1e6 ? &most : NULL, NULL) < 0 && errno != EINTR)
        fail("relay: poll");
}

/* Moves bytes that are due. False: the connection ended. */
static bool step(struct way ways[2], double start_s)
{
    struct pollfd waits[4];
    double now = now_s(), left = fault_s(now - start_s);
    const double stall = stalled_s(now - start_s);

    for (size_t i = 0; i < 2; i++) {
        const double due = due_s(&ways[i], now);
        const bool moves = stall == 0,
                   writes = moves && due == 0 && ways[i].given < ways[i].taken;

        waits[2 * i] = (struct pollfd){ .fd = ways[i].in, .events = POLLIN };
        if (!moves || !may_take(&ways[i], now))
            waits[2 * i].fd = -1;
        waits[2 * i + 1] =
            (struct pollfd){ .fd = ways[i].out, .events = writes ? POLLOUT : 0 };
        if (moves && !writes)
            left = fmin(left, due);
        if (moves && !ways[i].ended && ways[i].free_s - now >= QUEUE_S)
            left = fmin(left, ways[i].free_s - now - QUEUE_S / 2);
    }
    wait_for(waits, 4, stall > 0 ? fmin(left, stall) : left);
    now = now_s();
    if (now - start_s >= link_.cut_s || (waits[3].revents & POLLERR) != 0)
        return false;
    for (size_t i = 0; i < 2; i++) {
        struct way *way = &ways[i];
        const uint64_t before = way->taken;

        if (waits[2 * i].fd >= 0 && waits[2 * i].revents != 0)
            take(way, now);
        if (i == 1)
            damage(&ways[0], way, before);
        if ((waits[2 * i + 1].revents & POLLERR) != 0 ||
            ((waits[2 * i + 1].revents & POLLOUT) != 0 && !give(way)))
            drop(way);
    }
    if (ways[0].out >= 0 && (waits[1].revents & POLLERR || is_over(&ways[0], now))) {
        close(ways[0].out);
        ways[0].out = -1;
    }
    return true;
}

static pid_t start_command(char **argv, int *input, int *output)
{
    int to[2], from[2];
    pid_t child = -1;

    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0 || (child = fork()) < 0)
        fail("relay");
    if (child == 0) {
        signal(SIGPIPE, SIG_DFL);
        dup2(to[0], 0);
        dup2(from[1], 1);
        execvp(argv[0], argv);
        perror(argv[0]);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    *input = to[1];
    *output = from[0];
    return child;
}

static double number(const char *text, char end, const char **rest)
{
    char *after;
    const double value = strtod(text, &after);

    if (after == text || *after != end || !(value >= 0)) {
        fprintf(stderr, "relay: expected a number, got '%s'\n", text);
        exit(2);
    }
    if (rest != NULL)
        *rest = after + 1;
    return value;
}

static void read_options(int argc, char **argv)
{
    static const struct option options[] = {
        { "delay", 1, NULL, 'd' },     { "rate", 1, NULL, 'r' },
        { "stall", 1, NULL, 's' },     { "cut", 1, NULL, 'c' },
        { "cut-after", 1, NULL, 'a' }, { "loss-after", 1, NULL, 'l' },
        { "flip", 1, NULL, 'f' },      { "once", 1, NULL, 'o' },
        { NULL, 0, NULL, 0 },
    };
    const char *rest;
    int option;

    while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
        if (option == 'd')
            link_.delay_s = number(optarg, 0, NULL) / 1000;
        else if (option == 'r')
            link_.rate = number(optarg, 0, NULL);
        else if (option == 'c')
            link_.cut_s = number(optarg, 0, NULL);
        else if (option == 'a')
            link_.cut_after = (uint64_t)number(optarg, 0, NULL);
        else if (option == 'l')
            link_.loss_after = (uint64_t)number(optarg, 0, NULL);
        else if (option == 'f')
            link_.flip = (uint64_t)number(optarg, 0, NULL);
        else if (option == 'o')
            link_.once = optarg;
        else if (option == 's' && link_.stalls < STALLS) {
            link_.stall_s[link_.stalls] = number(optarg, ':', &rest);
            link_.stall_end_s[link_.stalls] =
                link_.stall_s[link_.stalls] + number(rest, 0, NULL);
            link_.stalls++;
        } else
            optind = argc; /* wrong */
    }
    if (optind >= argc || link_.rate == 0) {
        fprintf(stderr,
                "usage: relay [--delay MS] [--rate BYTES] [--stall AT:FOR] [--cut AT]"
                " [--cut-after BYTES] [--loss-after BYTES] [--flip BYTE]"
                " [--once FILE] -- COMMAND...\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    const double start_s = now_s();
    static struct way ways[2];
    int input, output, status;
    pid_t child;

    read_options(argc, argv);
    if (!happens_now())
        link_.flip = link_.cut_after = link_.loss_after = 0, link_.cut_s = INFINITY;
    prctl(PR_SET_TIMERSLACK, 1UL);
    signal(SIGPIPE, SIG_IGN);
    child = start_command(argv + optind, &input, &output);
    open_way(&ways[0], 0, input);
    open_way(&ways[1], output, 1);
    while (!is_over(&ways[1], now_s()))
        if (!step(ways, start_s))
            return BROKEN;
    if (link_.cut)
        return BROKEN;
    close(1);
    if (ways[0].out >= 0)
        close(ways[0].out);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            fail("relay: wait");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
