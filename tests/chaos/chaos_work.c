/* chaos_work.c -- the command that the jobs run, with all its bad habits.
 * SPDX-License-Identifier: MIT
 *
 *   chaos @work [KEY=VALUE]...
 *
 *   mode=map|sum|pairs   what to do with the input
 *   kind=N               whole records of this kind are expected (-1: of none)
 *   header=1             the header comes before them
 *   persistent=1         frames, not one input
 *   calls=FILE           a byte is added to it for every chunk
 *   sleep=US             how long it takes
 *   once=FILE            the first to make this file has the bad habit, the others not
 *   habit=exit|die|hang|noread|late|leave    see below; without once= all have it
 *
 * A chunk with a poisoned record fails. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "chaos/chaos.h"

enum { HUNG_S = 100 };

struct work {
    const char *mode, *calls, *once, *habit;
    int kind;
    bool header, persistent;
    uint32_t sleep_us;
};

static void read_all(int fd, struct bytes *bytes)
{
    char part[16384];
    ssize_t got;

    bytes_add(bytes, "", 0);
    while ((got = read(fd, part, sizeof part)) > 0)
        bytes_add(bytes, part, (size_t)got);
}

static void put(const void *at, size_t length)
{
    for (size_t done = 0; done < length;) {
        const ssize_t n = write(STDOUT_FILENO, (const char *)at + done, length - done);

        if (n <= 0)
            _exit(9);
        done += (size_t)n;
    }
}

static void called(const struct work *work)
{
    const int fd =
        work->calls != NULL
            ? open(work->calls, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)
            : -1;

    if (fd >= 0 && write(fd, "x", 1) == 1)
        close(fd);
}

/* Whether the bad habit is due. */
static bool due(const struct work *work, const char *habit)
{
    int fd;

    if (work->habit == NULL || strcmp(work->habit, habit) != 0)
        return false;
    if (work->once == NULL)
        return true;
    fd = open(work->once, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* The output of one chunk. */
static void do_chunk(const struct work *work, const struct bytes *input,
                     struct bytes *out)
{
    const char *at = input->at;
    size_t length = input->length, head = strlen(HEADER);

    if (work->header) {
        if (length < head || memcmp(at, HEADER, head) != 0) {
            fputs("the header is missing\n", stderr);
            exit(8);
        }
        at += head;
        length -= head;
    }
    if (work->kind >= 0 && !records_are_whole((enum kind)work->kind, at, length)) {
        fputs("these are not whole records\n", stderr);
        exit(7);
    }
    if (memmem(at, length, POISON, strlen(POISON)) != NULL)
        exit(6);
    if (strcmp(work->mode, "sum") == 0)
        work_sum(at, length, out);
    else
        work_map(at, length, out);
}

/* A child that outlives the command. True in the child. */
static bool left_child(void)
{
    const pid_t child = fork();

    if (child < 0)
        exit(5);
    return child == 0;
}

static void bad_start(const struct work *work)
{
    if (due(work, "exit"))
        exit(1);
    if (due(work, "die"))
        raise(SIGKILL);
    if (due(work, "hang"))
        sleep(HUNG_S);
    if (due(work, "noread"))
        exit(0);
    if (due(work, "leave") && left_child()) {
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        close(STDERR_FILENO);
        sleep(HUNG_S);
        _exit(0);
    }
}

static int plain(const struct work *work)
{
    struct bytes input = { 0 }, mates = { 0 }, out = { 0 };

    called(work);
    bad_start(work);
    read_all(STDIN_FILENO, &input);
    if (work->sleep_us > 0)
        sleep_s(1e-6 * work->sleep_us);
    if (strcmp(work->mode, "pairs") == 0) {
        read_all(3, &mates);
        work_pairs(&input, &mates, &out);
    } else {
        do_chunk(work, &input, &out);
    }
    if (due(work, "late")) {
        /* The second half comes after the exit of the command. */
        put(out.at, out.length / 2);
        if (!left_child())
            _exit(0);
        sleep_s(0.05);
        put(out.at + out.length / 2, out.length - out.length / 2);
        _exit(0);
    }
    put(out.at, out.length);
    return 0;
}

static bool read_exactly(void *at, size_t length)
{
    for (size_t done = 0; done < length;) {
        const ssize_t got = read(STDIN_FILENO, (char *)at + done, length - done);

        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static int persistent(const struct work *work)
{
    unsigned char head[8];

    while (read_exactly(head, sizeof head)) {
        struct bytes input = { 0 }, out = { 0 };
        uint64_t length = 0;

        for (int i = 0; i < 8; i++)
            length = length << 8 | head[i];
        called(work);
        bad_start(work);
        input.at = malloc(length + 1);
        if (input.at == NULL || !read_exactly(input.at, length))
            return 4;
        input.length = length;
        if (work->sleep_us > 0)
            sleep_s(1e-6 * work->sleep_us);
        do_chunk(work, &input, &out);
        for (int i = 0; i < 8; i++)
            head[i] = (unsigned char)((uint64_t)out.length >> (56 - 8 * i));
        put(head, sizeof head);
        put(out.at, out.length);
        bytes_free(&input);
        bytes_free(&out);
    }
    return 0;
}

static const char *value_of(const char *word, const char *key)
{
    const size_t length = strlen(key);

    return strncmp(word, key, length) == 0 && word[length] == '=' ? word + length + 1
                                                                  : NULL;
}

int work_main(char **words)
{
    struct work work = { .mode = "map", .kind = -1 };

    for (; *words != NULL; words++) {
        const char *value;

        if ((value = value_of(*words, "mode")) != NULL)
            work.mode = value;
        else if ((value = value_of(*words, "kind")) != NULL)
            work.kind = (int)strtol(value, NULL, 10);
        else if ((value = value_of(*words, "calls")) != NULL)
            work.calls = value;
        else if ((value = value_of(*words, "once")) != NULL)
            work.once = value;
        else if ((value = value_of(*words, "habit")) != NULL)
            work.habit = value;
        else if ((value = value_of(*words, "sleep")) != NULL)
            work.sleep_us = (uint32_t)strtoul(value, NULL, 10);
        else if (value_of(*words, "header") != NULL)
            work.header = true;
        else if (value_of(*words, "persistent") != NULL)
            work.persistent = true;
        else
            return 3;
    }
    return work.persistent ? persistent(&work) : plain(&work);
}
