/* shell.c -- the shell of commands, and the words that only a shell understands.
 * SPDX-License-Identifier: MIT */
#include "run/common/shell.h"

#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "run/common/machine.h"

extern char **environ;

enum { ANCESTORS = 64 };

#define IS_ONE_OF(word, words) cv_is_one_of(word, words, sizeof words / sizeof *words)

/* The parent of a process; 0: unknown. */
static long parent_of(long pid)
{
    char path[64], line[512];
    const char *after_name;

    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    cv_read_first(path, line, sizeof line);
    /* "123 (NAME) S 456": the name may have brackets. */
    after_name = strrchr(line, ')');
    return after_name != NULL && strlen(after_name) > 4 ? strtol(after_name + 4, NULL, 10)
                                                        : 0;
}

char *cv_shell_find(void)
{
    const char *request = getenv("SHELL");
    long pid = getppid();

    for (int i = 0; i < ANCESTORS && pid > 1; i++) {
        char path[64], program[PATH_MAX];
        ssize_t length;

        snprintf(path, sizeof path, "/proc/%ld/exe", pid);
        length = readlink(path, program, sizeof program - 1);
        if (length > 0) {
            program[length] = '\0';
            if (cv_is_bourne_shell(program) && access(program, X_OK) == 0)
                return strdup(program);
        }
        pid = parent_of(pid);
    }
    if (request != NULL && request[0] == '/' && cv_is_bourne_shell(request) &&
        access(request, X_OK) == 0)
        return strdup(request);
    return strdup("/bin/sh");
}

bool cv_is_program(const char *name)
{
    const char *const words[] = { name, NULL };
    struct cv_command command;

    if (cv_command_init(&command, NULL, words, NULL) != CLEAVE_OK)
        return false;
    cv_command_done(&command);
    return true;
}

bool cv_shell_knows(const char *shell, const char *name)
{
    static char asks[] = "command -v -- \"$1\" >/dev/null 2>&1", dash_c[] = "-c",
                self[] = "sh";
    char *const words[] = { (char *)shell, dash_c, asks, self, (char *)name, NULL };
    pid_t pid;
    int status;

    if (posix_spawn(&pid, shell, NULL, NULL, words, environ) != 0)
        return false;
    if (waitpid(pid, &status, 0) != pid)
        return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

enum cleave_status cv_shell_command_init(struct cv_command *command,
                                         const char *const *prefix, const char *line,
                                         struct cleave_error *err)
{
    char *shell = cv_shell_find();
    const char *const words[] = { shell, "-c", line, NULL };
    const enum cleave_status status = shell != NULL
                                          ? cv_command_init(command, prefix, words, err)
                                          : cv_fail_memory(err, "the shell");

    free(shell);
    return status;
}

/* --- signs -------------------------------------------------------------------------------- */

/* The kind of a word, whatever its neighbours are. '>chr1' is a pattern, '>/dev/null' is not. */
static enum cv_shell_sign sign_of(const char *word)
{
    static const char *const joins[] = { "|", "||", "&&", ";" };
    static const char *const files[] = { ">", ">>", "<", "1>", "2>", "2>>", "&>" };
    static const char *const wholes[] = { "2>&1",       ">&2",         "1>&2",
                                          ">/dev/null", "2>/dev/null", "</dev/null",
                                          "&>/dev/null" };

    return IS_ONE_OF(word, joins)    ? CV_SIGN_JOIN
           : IS_ONE_OF(word, files)  ? CV_SIGN_FILE
           : IS_ONE_OF(word, wholes) ? CV_SIGN_WHOLE
                                     : CV_SIGN_NONE;
}

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";

static bool begins_command(const char *word)
{
    char *shell;
    bool known;

    if (cv_is_program(word))
        return true;
    if (strchr(word, '=') != NULL && strspn(word, letters) > 0)
        return true; /* LC_ALL=C sort */
    if (strpbrk(word, letters) == NULL && strcmp(word, "[") != 0)
        return false;
    shell = cv_shell_find();
    known = shell != NULL && word[0] != '-' && cv_shell_knows(shell, word);
    free(shell);
    return known;
}

enum cv_shell_sign cv_shell_sign(const char *const *words, size_t at)
{
    const enum cv_shell_sign kind = at > 0 ? sign_of(words[at]) : CV_SIGN_NONE;
    const char *next = kind != CV_SIGN_NONE ? words[at + 1] : NULL;

    if (kind == CV_SIGN_NONE || kind == CV_SIGN_WHOLE)
        return kind;
    if (next == NULL || sign_of(next) != CV_SIGN_NONE ||
        (kind == CV_SIGN_JOIN && !begins_command(next)) ||
        (kind == CV_SIGN_FILE && (next[0] == '-' || next[0] == '\0')))
        return CV_SIGN_NONE;
    return kind;
}

bool cv_line_lacks_program(const char *shell, const char *line, char *name, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_.+-";
    size_t length;

    line += strspn(line, " \t\n");
    length = strspn(line, plain);
    if (length == 0 || length >= size ||
        (line[length] != '\0' && strchr(" \t\n;|&<>", line[length]) == NULL))
        return false;
    memcpy(name, line, length);
    name[length] = '\0';
    return !cv_is_program(name) && !cv_shell_knows(shell, name);
}
