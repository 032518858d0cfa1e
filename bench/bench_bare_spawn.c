/* bench_bare_spawn.c -- least cost of starting a process. SPDX-License-Identifier: MIT
 *
 *     bench_bare_spawn [COUNT [AT_ONCE [WORD]]]
 *
 * Starts /bin/true COUNT times (2000), AT_ONCE (2) at a time, by posix_spawn and nothing
 * else: no pipes, no output, no order. A chunk of one record is compared with this, and
 * an item with a WORD, since /bin/true does more with an argument. Prints least and
 * median time for one process over the repeats, without the first one. Times vary with
 * the machine; compare programs of one run. */
#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "bench_tools.h"

enum { REPEATS = 5 };

extern char **environ;

static void start(char *word)
{
    char program[] = "/bin/true";
    char *words[] = { program, word, NULL };
    pid_t pid;
    const int error = posix_spawn(&pid, program, NULL, NULL, words, environ);

    if (error != 0) {
        fprintf(stderr, "bench_bare_spawn: %s: %s\n", program, strerror(error));
        exit(1);
    }
}

static void wait_one(void)
{
    int status;

    while (waitpid(-1, &status, 0) < 0)
        if (errno != EINTR) {
            perror("bench_bare_spawn: waitpid");
            exit(1);
        }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "bench_bare_spawn: /bin/true failed\n");
        exit(1);
    }
}

static double time_all(long count, long at_once, char *word)
{
    const double begin = now_s();
    long running = 0;

    for (long i = 0; i < count; i++) {
        if (running == at_once)
            wait_one();
        else
            running++;
        start(word);
    }
    for (; running > 0; running--)
        wait_one();
    return (now_s() - begin) / (double)count;
}

int main(int argc, char **argv)
{
    const long count = argc > 1 ? strtol(argv[1], NULL, 10) : 2000;
    const long at_once = argc > 2 ? strtol(argv[2], NULL, 10) : 2;
    double times_s[REPEATS + 1];

    if (count < 1 || at_once < 1) {
        fprintf(stderr, "usage: bench_bare_spawn [COUNT [AT_ONCE [WORD]]], both at least "
                        "1\n");
        return 2;
    }
    for (int i = 0; i <= REPEATS; i++)
        times_s[i] = time_all(count, at_once, argc > 3 ? argv[3] : NULL);
    qsort(times_s + 1, REPEATS, sizeof *times_s, ascending);
    describe_machine();
    printf(
        "posix_spawn of /bin/true, %ld times, %ld at once: %.3f ms each, median %.3f\n",
        count, at_once, 1e3 * times_s[1], 1e3 * times_s[1 + REPEATS / 2]);
    return 0;
}
