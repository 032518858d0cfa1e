/* figure_gnuplot.c -- run gnuplot. SPDX-License-Identifier: MIT
 *
 * Commands and complaints go through files without a name: a pipe could fill up, or break
 * when gnuplot ends early. */
#include "figures/common/figure_gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"

extern char **environ;

/* The first line of what it said. */
static void first_line(FILE *file, char *line, size_t size)
{
    line[0] = '\0';
    rewind(file);
    while (fgets(line, (int)size, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strspn(line, " \t^") < strlen(line))
            return;
    }
    snprintf(line, size, "no message");
}

static int wait_for(pid_t child)
{
    int status;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static enum cleave_status spawn(int in, int out, FILE *complaints,
                                struct cleave_error *err)
{
    static char program[] = "gnuplot", defaults[] = "-d", standard_input[] = "-";
    char *const words[] = { program, defaults, standard_input, NULL };
    posix_spawn_file_actions_t actions;
    char said[160];
    pid_t child;
    int failed, status;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return cv_fail_memory(err, "starting gnuplot");
    failed = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (failed == 0)
        failed = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (failed == 0)
        failed =
            posix_spawn_file_actions_adddup2(&actions, fileno(complaints), STDERR_FILENO);
    if (failed == 0)
        failed = posix_spawnp(&child, program, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot start gnuplot: %s", strerror(failed));
    status = wait_for(child);
    if (status == 127)
        return cv_fail(err, CLEAVE_EENGINE, "cannot start gnuplot");
    if (status == 0)
        return CLEAVE_OK;
    first_line(complaints, said, sizeof said);
    return cv_fail(err, CLEAVE_EENGINE, "gnuplot failed: %s", said);
}

enum cleave_status cv_gnuplot_run(const char *commands, size_t length, int out,
                                  struct cleave_error *err)
{
    FILE *input = tmpfile(), *complaints = tmpfile();
    enum cleave_status status;

    if (input == NULL || complaints == NULL ||
        fwrite(commands, 1, length, input) != length || fflush(input) != 0 ||
        lseek(fileno(input), 0, SEEK_SET) != 0)
        status = cv_fail(err, CLEAVE_EENGINE,
                         "cannot write the commands for gnuplot to a temporary file: %s",
                         strerror(errno));
    else
        status = spawn(fileno(input), out, complaints, err);
    if (input != NULL)
        fclose(input);
    if (complaints != NULL)
        fclose(complaints);
    return status;
}

enum cleave_status cv_gnuplot_check(struct cleave_error *err)
{
    static const char commands[] = "set terminal svg\n";
    FILE *drawn = tmpfile();
    enum cleave_status status;

    if (drawn == NULL)
        return cv_fail(err, CLEAVE_EENGINE, "cannot make a temporary file: %s",
                       strerror(errno));
    status = cv_gnuplot_run(commands, sizeof commands - 1, fileno(drawn), err);
    fclose(drawn);
    return status;
}
