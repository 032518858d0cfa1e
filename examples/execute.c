/* execute.c -- share a file over several commands with the library.
 * SPDX-License-Identifier: MIT
 *
 *     execute [LINES [WORKERS]]
 *
 * Writes a file of LINES lines, lets several `wc -l` count them at a time, adds up their
 * results with a command that reduces, and checks the sum. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cleave/cleave.h>

static int complain(const struct cleave_error *err)
{
    char text[1024];

    cleave_error_format(err, text, sizeof text);
    fprintf(stderr, "execute: %s\n", text);
    return 1;
}

/* A new file with lines that are not all of one length. */
static int write_lines(char *path, unsigned long lines)
{
    const int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    int failed = file == NULL;

    for (unsigned long i = 0; i < lines && !failed; i++)
        failed = fprintf(file, "line %lu of %lu\n", i, lines) < 0;
    if (file != NULL)
        failed |= fclose(file) != 0;
    if (failed)
        perror("execute");
    return failed;
}

/* Count the lines; *out is what the commands came to. */
static int count_lines(const char *path, uint32_t workers, unsigned long *out)
{
    static const char *const command[] = { "wc", "-l", NULL };
    FILE *result = tmpfile();
    struct cleave_execution execution = {
        .command = command,
        .input = { .files = &path, .count = 1 },
        .output = { .descriptor = result != NULL ? fileno(result) : -1,
                    .name = "the count" },
        .workers.count = workers,
        .policy.block = 100000,
        .reduce = { .command = "awk '{ sum += $1 } END { print sum }'",
                    .commutative = true },
    };
    struct cleave_execution_result *summary = NULL;
    struct cleave_error err;
    int failed = result == NULL;
    char text[32];

    if (failed)
        perror("execute");
    else if (cleave_execute(&execution, &summary, &err) != CLEAVE_OK)
        failed = complain(&err);
    if (!failed) {
        rewind(result);
        failed = fgets(text, sizeof text, result) == NULL || summary->failed > 0;
        *out = failed ? 0 : strtoul(text, NULL, 10);
        for (uint32_t w = 0; w < summary->nworkers; w++)
            printf("%-4s %10.0f bytes in %llu chunks\n", summary->workers[w].name,
                   summary->workers[w].units,
                   (unsigned long long)summary->workers[w].chunks);
    }
    cleave_execution_free(summary);
    if (result != NULL)
        fclose(result);
    return failed;
}

int main(int argc, char **argv)
{
    const unsigned long lines = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    const unsigned long workers = argc > 2 ? strtoul(argv[2], NULL, 10) : 4;
    char path[] = "/tmp/cleave-lines-XXXXXX";
    unsigned long counted = 0;
    int failed = write_lines(path, lines);

    if (!failed)
        failed = count_lines(path, (uint32_t)workers, &counted);
    unlink(path);
    if (!failed && counted != lines) {
        fprintf(stderr, "execute: expected %lu lines, got %lu\n", lines, counted);
        failed = 1;
    }
    if (!failed)
        printf("%lu lines\n", counted);
    return failed;
}
