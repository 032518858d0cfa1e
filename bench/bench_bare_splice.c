/* bench_bare_splice.c -- how fast a file can be fed to two commands at the most.
 * SPDX-License-Identifier: MIT
 *
 *     bench_bare_splice FILE [COMMAND [ARG]...]
 *
 * Two threads feed half of FILE each to a separate `wc -l` (or COMMAND), by splice and
 * nothing else: no records, no output, no order. This is what the throughput of a run is
 * measured against; FILE should be in the page cache. Prints the most and the median over
 * the repeats, without the first one. Rates vary with the machine; compare programs of
 * one run. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "bench_tools.h"

enum { REPEATS = 5, FEEDERS = 2, PIPE_BYTES = 1 << 20 };

extern char **environ;

struct feeder {
    pthread_t thread;
    pid_t pid;
    int file, pipe;
    off_t begin, end;
};

static void stop(const char *what, int error)
{
    fprintf(stderr, "bench_bare_splice: %s: %s\n", what, strerror(error));
    exit(1);
}

static void start_command(struct feeder *feeder, char **words)
{
    posix_spawn_file_actions_t actions;
    int ends[2], error;

    if (pipe2(ends, O_CLOEXEC) != 0)
        stop("pipe", errno);
    (void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    error = posix_spawnp(&feeder->pid, words[0], &actions, NULL, words, environ);
    if (error != 0)
        stop(words[0], error);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    feeder->pipe = ends[1];
}

static void *writer(void *context)
{
    struct feeder *feeder = context;

    while (feeder->begin < feeder->end) {
        const ssize_t got = splice(feeder->file, &feeder->begin, feeder->pipe, NULL,
                                   (size_t)(feeder->end - feeder->begin), SPLICE_F_MOVE);

        if (got <= 0 && errno != EINTR)
            stop("splice", got == 0 ? EIO : errno);
    }
    close(feeder->pipe);
    return NULL;
}

static double time_all(int file, off_t size, char **words)
{
    const double begin = now_s();
    struct feeder feeders[FEEDERS];

    for (int i = 0; i < FEEDERS; i++) {
        feeders[i] =
            (struct feeder){ .file = file,
                             .begin = size / FEEDERS * i,
                             .end = i + 1 < FEEDERS ? size / FEEDERS * (i + 1) : size };
        start_command(&feeders[i], words);
    }
    for (int i = 0; i < FEEDERS; i++)
        if (pthread_create(&feeders[i].thread, NULL, writer, &feeders[i]) != 0)
            stop("pthread_create", EAGAIN);
    for (int i = 0; i < FEEDERS; i++) {
        int status = 0;

        pthread_join(feeders[i].thread, NULL);
        if (waitpid(feeders[i].pid, &status, 0) < 0 || !WIFEXITED(status) ||
            WEXITSTATUS(status) != 0)
            stop(words[0], ECHILD);
    }
    return now_s() - begin;
}

int main(int argc, char **argv)
{
    char name[] = "wc", option[] = "-l";
    char *count_lines[] = { name, option, NULL };
    char **words = argc > 2 ? argv + 2 : count_lines;
    double times_s[REPEATS + 1];
    struct stat info;
    int file;

    if (argc < 2) {
        fprintf(stderr, "usage: bench_bare_splice FILE [COMMAND [ARG]...]\n");
        return 2;
    }
    file = open(argv[1], O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &info) != 0)
        stop(argv[1], errno);
    for (int i = 0; i <= REPEATS; i++)
        times_s[i] = time_all(file, info.st_size, words);
    close(file);
    qsort(times_s + 1, REPEATS, sizeof *times_s, ascending);
    describe_machine();
    printf("splice of %.0f MB by %d feeders into %s: %.2f GB/s, median %.2f\n",
           1e-6 * (double)info.st_size, FEEDERS, words[0],
           1e-9 * (double)info.st_size / times_s[1],
           1e-9 * (double)info.st_size / times_s[1 + REPEATS / 2]);
    return 0;
}
