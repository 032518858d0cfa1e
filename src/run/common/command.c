/* command.c -- what to run: its words, where its program is, its environment.
 * SPDX-License-Identifier: MIT */
#include "run/common/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/common/cannot_run.h"

extern char **environ;

static size_t count_words(const char *const *words)
{
    size_t count = 0;

    while (words != NULL && words[count] != NULL)
        count++;
    return count;
}

static enum cleave_status copy_words(struct cv_command *command,
                                     const char *const *prefix, const char *const *argv,
                                     struct cleave_error *err)
{
    const size_t nprefix = count_words(prefix), nwords = nprefix + count_words(argv);

    if (nwords == 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected a command, got none");
    command->argv = calloc(nwords + 1, sizeof *command->argv);
    if (command->argv == NULL)
        return cv_fail_memory(err, "a command");
    for (size_t i = 0; i < nwords; i++) {
        command->argv[i] = strdup(i < nprefix ? prefix[i] : argv[i - nprefix]);
        if (command->argv[i] == NULL)
            return cv_fail_memory(err, "a command");
    }
    return CLEAVE_OK;
}

/* 0 if `path` is a file that may be run, else an errno. */
static int check_program(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0)
        return errno;
    if (S_ISDIR(info.st_mode))
        return EISDIR;
    return access(path, X_OK) == 0 ? 0 : errno;
}

/* As execvp does: what may not be run is passed over, and told if there is no other. */
static enum cleave_status search_path(const char *name, char **out,
                                      struct cleave_error *err)
{
    const char *folders = getenv("PATH");
    bool forbidden = false;

    if (folders == NULL)
        folders = "/bin:/usr/bin";
    for (;;) {
        const size_t length = strcspn(folders, ":");
        char *path;
        int error;

        if (asprintf(&path, "%.*s%s%s", (int)length, folders, length > 0 ? "/" : "./",
                     name) < 0)
            return cv_fail_memory(err, "a command");
        error = check_program(path);
        if (error == 0) {
            *out = path;
            return CLEAVE_OK;
        }
        free(path);
        forbidden = forbidden || error == EACCES;
        if (folders[length] == '\0')
            break;
        folders += length + 1;
    }
    return forbidden ? cv_cannot_run(name, strerror(EACCES), err)
                     : cv_cannot_find(name, err);
}

static enum cleave_status find_program(struct cv_command *command,
                                       struct cleave_error *err)
{
    const char *name = command->argv[0];
    char *path = NULL;
    int error;

    if (name[0] == '\0')
        return cv_cannot_run(name, "the name is empty", err);
    if (strchr(name, '/') == NULL) {
        CV_TRY(search_path(name, &path, err));
    } else {
        error = check_program(name);
        if (error != 0)
            return cv_cannot_start(name, name, error, err);
        path = strdup(name);
        if (path == NULL)
            return cv_fail_memory(err, "a command");
    }
    command->path = path;
    return CLEAVE_OK;
}

/* As execvp does with a file that is no program: let the shell read it. Of one for another
 * processor it would only say that its syntax is wrong. */
static enum cleave_status make_script(struct cv_command *command,
                                      struct cleave_error *err)
{
    static char shell[] = "/bin/sh";
    const size_t count = count_words((const char *const *)command->argv);

    command->elf = cv_is_elf(command->path);
    command->script = calloc(count + 2, sizeof *command->script);
    if (command->script == NULL)
        return cv_fail_memory(err, "a command");
    command->script[0] = shell;
    command->script[1] = command->path;
    memcpy(command->script + 2, command->argv + 1, (count - 1) * sizeof *command->script);
    return CLEAVE_OK;
}

static enum cleave_status copy_environment(struct cv_command *command,
                                           struct cleave_error *err)
{
    size_t count = 0;

    while (environ != NULL && environ[count] != NULL)
        count++;
    command->environment =
        cv_grow(NULL, &command->capacity, count + 1, sizeof *command->environment);
    if (command->environment == NULL)
        return cv_fail_memory(err, "a command");
    if (count > 0)
        memcpy(command->environment, environ, count * sizeof *command->environment);
    command->environment[count] = NULL;
    command->nenvironment = count;
    return CLEAVE_OK;
}

enum cleave_status cv_command_init(struct cv_command *command, const char *const *prefix,
                                   const char *const *argv, struct cleave_error *err)
{
    enum cleave_status status;

    *command = (struct cv_command){ 0 };
    status = copy_words(command, prefix, argv, err);
    if (status == CLEAVE_OK)
        status = find_program(command, err);
    if (status == CLEAVE_OK)
        status = make_script(command, err);
    if (status == CLEAVE_OK)
        status = copy_environment(command, err);
    if (status != CLEAVE_OK)
        cv_command_done(command);
    return status;
}

void cv_command_done(struct cv_command *command)
{
    if (command == NULL)
        return;
    for (size_t i = 0; command->argv != NULL && command->argv[i] != NULL; i++)
        free(command->argv[i]);
    for (size_t i = 0; i < command->nset; i++)
        free(command->environment[i]);
    free(command->argv);
    free(command->script);
    free(command->environment);
    free(command->path);
    *command = (struct cv_command){ 0 };
}

/* The place of variable `name` in the environment, or its end. */
static size_t find_variable(const struct cv_command *command, const char *name)
{
    const size_t length = strlen(name);
    size_t at = 0;

    while (at < command->nenvironment &&
           (strncmp(command->environment[at], name, length) != 0 ||
            command->environment[at][length] != '='))
        at++;
    return at;
}

enum cleave_status cv_command_set(struct cv_command *command, const char *name,
                                  const char *value, struct cleave_error *err)
{
    size_t at = find_variable(command, name);
    char **environment, *text;

    if (at == command->nenvironment) {
        if (!CV_ROOM(command->environment, &command->capacity, at + 2))
            return cv_fail_memory(err, "a variable");
        command->environment[at + 1] = NULL;
    }
    environment = command->environment;
    if (asprintf(&text, "%s=%s", name, value) < 0) {
        environment[command->nenvironment] = NULL;
        return cv_fail_memory(err, "a variable");
    }
    if (at == command->nenvironment)
        command->nenvironment++;
    /* Strings that are owned stand first; the one whose place is taken moves back. */
    if (at >= command->nset) {
        environment[at] = environment[command->nset];
        at = command->nset++;
    } else {
        free(environment[at]);
    }
    environment[at] = text;
    return CLEAVE_OK;
}
