/* command.c -- a command: its words, its program, its environment, and why it cannot run.
 * SPDX-License-Identifier: MIT */
#include "run/common/command.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/text.h"
#include "run/common/machine.h"

/* --- why a command cannot run -------------------------------------------------------- */

/* strerror is not enough: the kernel reports "No such file or directory" for a script without its
 * interpreter, and names such as aliases and shell functions are not programs. */

enum {
    NEAR_LEAST = 3,  /* letters of a name for which similar names are searched */
    LINE_MOST = 256, /* bytes of a script that the kernel reads */
    NAME_ROOM = 256,
    ADVICE_ROOM = 640,
};

static enum cleave_status cannot_run(const char *name, const char *why,
                                     const char *advice, struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EINPUT, "cannot run '%s': %s%s", CV_SHOWN(name, NAME_ROOM),
                   why, advice);
}

/* Swapped letters, which differ in two places, are the most likely mistake. */
static unsigned rank_of(const char *typed, const char *name)
{
    size_t differ = 0;

    if (cv_edit_distance(typed, name) != 1)
        return 3;
    if (strlen(typed) != strlen(name))
        return 2;
    for (size_t i = 0; typed[i] != '\0'; i++)
        differ += typed[i] != name[i];
    return differ == 2 ? 1 : 2;
}

/* The nearest program in one directory of PATH, if it is nearer than `best`. */
static void look_into(const char *folder, const char *typed, char best[NAME_ROOM],
                      unsigned *rank)
{
    DIR *open = opendir(folder);
    const struct dirent *entry;

    while (open != NULL && (entry = readdir(open)) != NULL) {
        const unsigned now = rank_of(typed, entry->d_name);

        if (now > *rank || now > 2 || strlen(entry->d_name) >= NAME_ROOM ||
            (now == *rank && strcmp(entry->d_name, best) >= 0) ||
            faccessat(dirfd(open), entry->d_name, X_OK, 0) != 0)
            continue;
        *rank = now;
        strcpy(best, entry->d_name);
    }
    if (open != NULL)
        closedir(open);
}

static bool find_near(const char *typed, char best[NAME_ROOM])
{
    const char *path = getenv("PATH");
    char *folders = path != NULL ? strdup(path) : NULL, *rest = NULL;
    unsigned rank = 3;

    best[0] = '\0';
    if (folders != NULL && strlen(typed) >= NEAR_LEAST && strlen(typed) < NAME_ROOM)
        for (const char *one = strtok_r(folders, ":", &rest); one != NULL;
             one = strtok_r(NULL, ":", &rest))
            look_into(one, typed, best, &rank);
    free(folders);
    return best[0] != '\0';
}

/* bash exports functions in variables with such names. */
static bool is_function(const char *name)
{
    char variable[NAME_ROOM];
    const int length = snprintf(variable, sizeof variable, "BASH_FUNC_%s%%%%", name);

    return length > 0 && (size_t)length < sizeof variable && getenv(variable) != NULL;
}

static bool is_elf(const char *path)
{
    char line[LINE_MOST];

    cv_read_first(path, line, sizeof line);
    return strncmp(line, "\177ELF", 4) == 0;
}

/* The file exists, but its interpreter or loader does not. */
static void explain_absent(const char *name, const char *path, char out[ADVICE_ROOM])
{
    char line[LINE_MOST], shown[NAME_ROOM];
    const char *word = line + 2;
    size_t length;

    cv_read_first(path, line, sizeof line);
    line[strcspn(line, "\n")] = '\0';
    word += strspn(word, " \t");
    length = strcspn(word, " \t\r");
    if (strncmp(line, "#!", 2) == 0 && strchr(line, '\r') != NULL)
        snprintf(out, ADVICE_ROOM,
                 "; its first line ends in a carriage return, as on Windows: sed -i "
                 "'s/\\r$//' %s",
                 cv_shown(name, strlen(name), shown, sizeof shown));
    else if (strncmp(line, "#!", 2) == 0)
        snprintf(out, ADVICE_ROOM, "; its first line asks for '%s'",
                 cv_shown(word, length, shown, sizeof shown));
    else if (line[0] == '\x7f')
        snprintf(out, ADVICE_ROOM,
                 "; the loader that it asks for: it was made for another "
                 "system");
}

bool cv_is_scarce(int error)
{
    return error == EAGAIN || error == EMFILE || error == ENFILE || error == ETXTBSY;
}

static enum cleave_status cannot_start(const char *name, const char *path, int error,
                                       struct cleave_error *err)
{
    char advice[ADVICE_ROOM] = "";
    struct utsname here;
    enum cleave_status status;

    if (error == EACCES)
        snprintf(advice, sizeof advice, "; if it is a script, chmod +x %s",
                 CV_SHOWN(name, NAME_ROOM));
    else if (error == ENOENT && access(path, F_OK) == 0)
        explain_absent(name, path, advice);
    else if (error == ENOEXEC && uname(&here) == 0)
        snprintf(advice, sizeof advice, "; it was made for another processor than %s",
                 here.machine);
    else if (error == E2BIG)
        snprintf(advice, sizeof advice,
                 "; one argument has room for 128 KiB: input.files FILE gives all of it "
                 "on standard input, command.cat as a file");
    status = cannot_run(name,
                        error == EAGAIN ? "too many processes (see: ulimit -u)"
                                        : strerror(error),
                        advice, err);
    return cv_is_scarce(error) ? cv_fail_as(err, CLEAVE_ERESOURCES) : status;
}

enum cleave_status cv_command_fail_start(const struct cv_command *command, int error,
                                         struct cleave_error *err)
{
    return cannot_start(command->argv[0], command->path, error, err);
}

enum cleave_status cv_cannot_find(const char *name, struct cleave_error *err)
{
    static const char *const words[] = { "alias",  "cd",     "eval",  "exec",
                                         "export", "read",   "set",   "source",
                                         "type",   "ulimit", "umask", "unset" };
    static const char *const aliases[] = { "l", "la", "ll" };
    char advice[ADVICE_ROOM] = "", shown[NAME_ROOM], near[NAME_ROOM];
    struct stat info;

    if (err == NULL) /* no message is wanted */
        return CLEAVE_EINPUT;
    if (strchr(name, '/') != NULL) /* PATH does not apply */
        return cannot_start(name, name, access(name, X_OK) != 0 ? errno : ENOEXEC, err);
    cv_shown(name, strlen(name), shown, sizeof shown);
    if (stat(name, &info) == 0 && S_ISDIR(info.st_mode))
        snprintf(advice, sizeof advice,
                 "; it is a folder. If it is the input: input.files %s input.recursive",
                 shown);
    else if (access(name, X_OK) == 0)
        snprintf(advice, sizeof advice, "; the one in this folder is ./%s", shown);
    else if (cv_is_one_of(name, words, sizeof words / sizeof *words))
        snprintf(advice, sizeof advice, "; it is a word of the shell: sh -c '%s ...'",
                 name);
    else if (strpbrk(name, " \t") != NULL)
        snprintf(advice, sizeof advice,
                 "; a line for a shell is one word: quotes around all of it");
    else if (strchr(name, '=') != NULL)
        snprintf(advice, sizeof advice, "; to set a variable: env %s COMMAND", shown);
    else if (is_function(name))
        snprintf(advice, sizeof advice,
                 "; it is a function of bash, which knows it: bash -c '%s \"$@\"' %s",
                 shown, shown);
    else if (cv_is_one_of(name, aliases, sizeof aliases / sizeof *aliases))
        snprintf(advice, sizeof advice,
                 "; if it is an alias of your shell, type its expansion");
    else if (find_near(name, near))
        snprintf(advice, sizeof advice, "; did you mean '%s'?",
                 cv_shown(near, strlen(near), shown, sizeof shown));
    return cannot_run(name, "not found in PATH", advice, err);
}

/* --- the command --------------------------------------------------------------------- */

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
    command->nprefix = nprefix;
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

/* 0 if `path` can be executed, else an errno. */
static int check_program(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0)
        return errno;
    if (S_ISDIR(info.st_mode))
        return EISDIR;
    return access(path, X_OK) == 0 ? 0 : errno;
}

/* As execvp: continue the search after a file that may not be executed, and report it at the
 * end. */
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
    return forbidden ? cannot_run(name, strerror(EACCES), "", err)
                     : cv_cannot_find(name, err);
}

static enum cleave_status find_program(struct cv_command *command,
                                       struct cleave_error *err)
{
    const char *name = command->argv[0];
    char *path = NULL;
    int error;

    if (name[0] == '\0')
        return cannot_run(name, "the name is empty", "", err);
    if (strchr(name, '/') == NULL) {
        CV_TRY(search_path(name, &path, err));
    } else {
        error = check_program(name);
        if (error != 0)
            return cannot_start(name, name, error, err);
        path = strdup(name);
        if (path == NULL)
            return cv_fail_memory(err, "a command");
    }
    command->path = path;
    return CLEAVE_OK;
}

/* As execvp: let the shell read a file that is not a program. For an ELF file the shell would
 * report a syntax error. */
static enum cleave_status make_script(struct cv_command *command,
                                      struct cleave_error *err)
{
    static char shell[] = "/bin/sh";
    const size_t count = count_words((const char *const *)command->argv);

    command->elf = is_elf(command->path);
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
    const size_t count = count_words((const char *const *)environ);

    command->environment = calloc(count + 1, sizeof *command->environment);
    if (command->environment == NULL)
        return cv_fail_memory(err, "a command");
    command->capacity = count + 1;
    for (size_t *n = &command->nenvironment; *n < count; ++*n) {
        command->environment[*n] = strdup(environ[*n]);
        if (command->environment[*n] == NULL)
            return cv_fail_memory(err, "a command");
    }
    return CLEAVE_OK;
}

enum cleave_status cv_command_init(struct cv_command *command, const char *const *prefix,
                                   const char *const *argv, struct cleave_error *err)
{
    enum cleave_status status;

    *command = (struct cv_command){ 0 };
    status = copy_words(command, prefix, argv, err);
    CV_THEN(status, find_program(command, err));
    CV_THEN(status, make_script(command, err));
    CV_THEN(status, copy_environment(command, err));
    if (status != CLEAVE_OK)
        cv_command_done(command);
    return status;
}

static void free_words(char **words)
{
    for (char **word = words; word != NULL && *word != NULL; word++)
        free(*word);
    free(words);
}

void cv_command_done(struct cv_command *command)
{
    if (command == NULL)
        return;
    free_words(command->argv);
    free_words(command->environment);
    free(command->script);
    free(command->path);
    *command = (struct cv_command){ 0 };
}

enum cleave_status cv_command_set(struct cv_command *command, const char *name,
                                  const char *value, struct cleave_error *err)
{
    const size_t length = strlen(name);
    size_t at = 0;
    char *text;

    if (!CV_ROOM(command->environment, &command->capacity, command->nenvironment + 2) ||
        asprintf(&text, "%s=%s", name, value) < 0)
        return cv_fail_memory(err, "a variable");
    while (at < command->nenvironment &&
           (strncmp(command->environment[at], name, length) != 0 ||
            command->environment[at][length] != '='))
        at++;
    if (at < command->nenvironment)
        free(command->environment[at]);
    else
        command->environment[++command->nenvironment] = NULL;
    command->environment[at] = text;
    return CLEAVE_OK;
}
