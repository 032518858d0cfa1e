/* item_shell.c -- the shell that reads command lines. SPDX-License-Identifier: MIT */
#include "run/items/item_shell.h"

#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file_target.h"
#include "base/text.h"
#include "run/common/process.h"

extern char **environ;

enum { ANCESTORS = 64 };

static bool is_bourne(const char *path)
{
    static const char *const names[] = { "sh",  "bash", "dash",  "ash",
                                         "ksh", "zsh",  "ksh93", "mksh" };

    return cv_is_one_of(cv_file_name(path), names, sizeof names / sizeof *names);
}

/* The parent of a process; 0: unknown. */
static long parent_of(long pid)
{
    char path[64], line[512];
    const char *after_name;
    long parent = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    file = fopen(path, "re");
    if (file == NULL)
        return 0;
    /* "123 (NAME) S 456": the name may have brackets. */
    if (fgets(line, sizeof line, file) != NULL &&
        (after_name = strrchr(line, ')')) != NULL && strlen(after_name) > 4)
        parent = strtol(after_name + 4, NULL, 10);
    fclose(file);
    return parent;
}

char *cv_item_shell(void)
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
            if (is_bourne(program) && access(program, X_OK) == 0)
                return strdup(program);
        }
        pid = parent_of(pid);
    }
    if (request != NULL && request[0] == '/' && is_bourne(request) &&
        access(request, X_OK) == 0)
        return strdup(request);
    return strdup("/bin/sh");
}

bool cv_item_is_program(const char *name)
{
    const char *const words[] = { name, NULL };
    struct cv_command command;

    if (cv_command_init(&command, NULL, words, NULL) != CLEAVE_OK)
        return false;
    cv_command_done(&command);
    return true;
}

bool cv_item_shell_knows(const char *shell, const char *name)
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
