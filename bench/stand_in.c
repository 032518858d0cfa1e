/* stand_in.c -- a command that sleeps instead of working, for bench-scenes.
 * SPDX-License-Identifier: MIT
 *
 *     stand_in KIND START COST      stand_in item SECONDS      stand_in busy
 *
 * START is the start-up in seconds, COST the seconds per line, or @: the first number in a
 * line is its cost in microseconds. The output is the input, except for `sum`.
 *
 *   stream      starts up, works as it reads, writes as it works
 *   count       starts up, works as it reads, writes at the end
 *   slurp       starts up, reads all input, works, writes
 *   late        reads all input, starts up, works, writes
 *   sum         as count, and writes the number of lines
 *   persistent  starts up once, then serves chunks as `cleave run --persistent` asks for
 *   item        works for SECONDS and writes that word
 *   busy        computes until its parent ends
 *
 * Environment: SLOW multiplies the work (not START), and so does the number for the slot in
 * SLOWS=1,1,8. Slots are $CLEAVE_SLOT, from 1, or $SLOT of `xargs --process-slot-var`, from 0.
 * HANG=SECONDS stops the process by SIGSTOP at that time of the run, which began at $BEGAN on
 * the monotonic clock; HANG_AFTER=N stops it after N lines; with HANG_SLOT=N, only in slot N
 * from 1. PAUSE=SECONDS: it sleeps so long instead of stopping. LATER=PART: this part of all chunks
 * of `persistent` is answered by "later, in one second", at random. Sleeps end at absolute times, so that a late wake-up does not add up, and are not
 * shorter than 1 ms. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { READ_BYTES = 4096, FRAME_LATER = 2, LATER_MS = 1000 };

static const double SHORTEST_S = 0.001;

static struct {
    double slow, hang_s, cost_s; /* cost_s < 0: the number in the line */
    double due_s;                /* when the work so far is done */
    double pause_s, later;
    long lines, hang_after; /* hang_after < 0: never */
    bool writes;            /* output as it works */
    char *text;             /* owned: input that was read and not yet written */
    size_t length, room, worked, written;
} my = { .slow = 1, .hang_s = INFINITY, .hang_after = -1 };

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

static void write_out(const char *from, size_t length)
{
    while (length > 0) {
        const ssize_t put = write(1, from, length);

        if (put < 0 && errno != EINTR)
            fail("stand_in: write");
        if (put > 0) {
            from += put;
            length -= (size_t)put;
        }
    }
}

static void sleep_until(double time_s)
{
    const bool hangs = my.hang_s <= time_s;
    const double end_s = hangs ? my.hang_s : time_s;
    struct timespec end = { .tv_sec = (time_t)end_s };

    end.tv_nsec = (long)((end_s - (double)end.tv_sec) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
        ;
    if (!hangs)
        return;
    my.hang_s = INFINITY;
    if (my.pause_s > 0) {
        my.due_s += my.pause_s;
        sleep_until(time_s + my.pause_s);
    } else {
        raise(SIGSTOP);
    }
}

static void work(double seconds)
{
    my.due_s += seconds;
    if (my.due_s - now_s() < SHORTEST_S)
        return;
    if (my.writes) {
        write_out(my.text + my.written, my.worked - my.written);
        my.written = my.worked;
    }
    sleep_until(my.due_s);
}

static double cost_of(const char *line, const char *end)
{
    if (my.cost_s >= 0)
        return my.cost_s;
    while (line < end && (*line < '0' || *line > '9'))
        line++;
    return line < end ? 1e-6 * (double)strtoll(line, NULL, 10) : 0;
}

/* All complete lines; `last`: an incomplete one counts, too. */
static void work_on_lines(bool last)
{
    while (my.worked < my.length) {
        const char *line = my.text + my.worked;
        const char *end = memchr(line, '\n', my.length - my.worked);

        if (end == NULL && !last)
            return;
        my.worked = end == NULL ? my.length : (size_t)(end - my.text) + 1;
        work(my.slow * cost_of(line, my.text + my.worked));
        if (++my.lines == my.hang_after)
            raise(SIGSTOP);
    }
}

/* Bytes that were read, at most `most`; 0 at the end. A wait for input is not work. */
static size_t read_some(size_t most)
{
    struct pollfd input = { .fd = 0, .events = POLLIN };
    const bool waits = poll(&input, 1, 0) == 0;
    ssize_t got;

    if (my.room < my.length + most + 1) {
        my.room = 2 * (my.length + most + 1);
        my.text = realloc(my.text, my.room);
        if (my.text == NULL)
            fail("stand_in");
    }
    do
        got = read(0, my.text + my.length, most);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        fail("stand_in: read");
    if (waits)
        my.due_s = fmax(my.due_s, now_s());
    my.length += (size_t)got;
    my.text[my.length] = 0; /* strtoll ends here */
    return (size_t)got;
}

static void forget(size_t length)
{
    memmove(my.text, my.text + length, my.length - length);
    my.length -= length;
    my.worked -= length;
    my.written = 0;
}

static void start_up(double seconds)
{
    my.due_s = now_s() + seconds;
    sleep_until(my.due_s);
}

static void work_as_read(bool writes)
{
    my.writes = writes;
    while (read_some(READ_BYTES) > 0) {
        work_on_lines(false);
        if (my.written > 0)
            forget(my.written);
    }
}

static bool read_exactly(size_t length)
{
    while (my.length < length)
        if (read_some(length - my.length) == 0)
            return false;
    return true;
}

static void put_head(unsigned char kind, uint64_t value)
{
    char head[8] = { (char)kind };

    for (int i = 7; i > 0; i--, value >>= 8)
        head[i] = (char)(value & 0xFF);
    write_out(head, sizeof head);
}

static void serve_chunks(void)
{
    srand48(getpid());
    while (read_exactly(8)) {
        uint64_t length = 0;

        for (int i = 0; i < 8; i++)
            length = length << 8 | (unsigned char)my.text[i];
        my.worked = 8;
        if (!read_exactly(8 + length))
            exit(1);
        if (drand48() < my.later) {
            put_head(FRAME_LATER, LATER_MS);
            forget(my.length);
            continue;
        }
        my.due_s = now_s();
        work_on_lines(true);
        sleep_until(my.due_s);
        write_out(my.text, my.length);
        forget(my.length);
    }
}

/* From 0; -1: neither cleave nor xargs names a slot. */
static long slot(void)
{
    const char *cleave = getenv("CLEAVE_SLOT"), *xargs = getenv("SLOT");

    if (cleave != NULL)
        return strtol(cleave, NULL, 10) - 1;
    return xargs == NULL ? -1 : strtol(xargs, NULL, 10);
}

static void read_environment(void)
{
    const char *slow = getenv("SLOW"), *slows = getenv("SLOWS"),
               *only = getenv("HANG_SLOT");
    const char *hang = getenv("HANG"), *after = getenv("HANG_AFTER");
    const char *began = getenv("BEGAN"), *pause = getenv("PAUSE"),
               *later = getenv("LATER");

    my.pause_s = pause == NULL ? 0 : strtod(pause, NULL);
    my.later = later == NULL ? 0 : strtod(later, NULL);
    if (slow != NULL)
        my.slow = strtod(slow, NULL);
    for (long i = slot(); slows != NULL && i > 0; i--) {
        slows = strchr(slows, ',');
        slows = slows == NULL ? NULL : slows + 1;
    }
    if (slows != NULL && slot() >= 0)
        my.slow *= strtod(slows, NULL);
    if (only != NULL && strtol(only, NULL, 10) - 1 != slot())
        return;
    if (after != NULL)
        my.hang_after = strtol(after, NULL, 10);
    if (hang == NULL)
        return;
    my.hang_s = (began == NULL ? now_s() : strtod(began, NULL)) + strtod(hang, NULL);
    if (my.hang_s < now_s()) /* another process was there at that time */
        my.hang_s = INFINITY;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    char lines[32];

    read_environment();
    prctl(PR_SET_TIMERSLACK, 1UL);
    my.due_s = now_s();
    if (strcmp(kind, "busy") == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
        for (volatile uint64_t turns = 0;; turns++)
            ;
    if (strcmp(kind, "item") == 0 && argc == 3) {
        start_up(my.slow * strtod(argv[2], NULL));
        puts(argv[2]);
        return 0;
    }
    if (argc != 4) {
        fprintf(stderr, "usage: stand_in KIND START COST | item SECONDS | busy\n");
        return 2;
    }
    my.cost_s = strcmp(argv[3], "@") == 0 ? -1 : strtod(argv[3], NULL);
    if (strcmp(kind, "late") != 0)
        start_up(strtod(argv[2], NULL));
    if (strcmp(kind, "persistent") == 0) {
        serve_chunks();
        return 0;
    }
    if (strcmp(kind, "slurp") == 0 || strcmp(kind, "late") == 0)
        while (read_some(1 << 16) > 0)
            ;
    else
        work_as_read(strcmp(kind, "stream") == 0);
    if (strcmp(kind, "late") == 0)
        start_up(strtod(argv[2], NULL));
    else if (strcmp(kind, "slurp") == 0)
        my.due_s = now_s();
    work_on_lines(true);
    sleep_until(my.due_s);
    if (strcmp(kind, "sum") == 0)
        write_out(lines, (size_t)snprintf(lines, sizeof lines, "%ld\n", my.lines));
    else
        write_out(my.text + my.written, my.length - my.written);
    return 0;
}
