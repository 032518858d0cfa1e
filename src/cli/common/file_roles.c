/* file_roles.c -- no file is read and written by one call. SPDX-License-Identifier: MIT */
#include "cli/common/file_roles.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file_target.h"
#include "base/new_file.h"
#include "cli/common/usage_hints.h"
#include "cli/common/output.h"

enum { COMPANIONS = 3 }; /* of a journal */

/* One file of a call. */
struct use {
    const char *option; /* "--input", "standard input"                                */
    const char *path;   /* NULL: a stream that was open before                        */
    bool written, probe, folder;
    unsigned how; /* it is made: of enum cv_new_file_how                              */
    struct cv_file_identity identity;
};

/* All of them. */
struct uses {
    struct use *list; /* of the arena of the call */
    size_t count;
};

static void add_stream(struct uses *uses, int fd)
{
    struct use *use = &uses->list[uses->count++];

    *use =
        (struct use){ .option = fd == STDIN_FILENO ? "standard input" : "standard output",
                      .written = fd != STDIN_FILENO };
    cv_descriptor_identify(fd, &use->identity);
}

static struct use *add_path(struct uses *uses, const char *option, const char *path,
                            bool written)
{
    struct use *use = &uses->list[uses->count];

    if (strcmp(path, "-") == 0) {
        add_stream(uses, written ? STDOUT_FILENO : STDIN_FILENO);
        return use;
    }
    uses->count++;
    *use = (struct use){ .option = option, .path = path, .written = written };
    cv_file_identify(path, &use->identity);
    return use;
}

/* What an option does with its file, unless the table says more. */
static enum cv_file_role role_of(const struct cv_option *option)
{
    if (option->kind != CV_OPTION_TEXT && option->kind != CV_OPTION_REPEAT)
        return CV_FILE_NONE;
    if (option->file == CV_FILE_NONE &&
        (strcmp(option->argument, "FILE") == 0 || strcmp(option->argument, "TRACE") == 0))
        return CV_FILE_READ;
    return option->file;
}

static bool is_forced(const struct cv_verb *verb, const char *values)
{
    for (const struct cv_option_group *group = verb->groups; group->title != NULL;
         group++)
        for (const struct cv_option *o = group->options; o->name != NULL; o++)
            if (strcmp(o->name, "--force") == 0)
                return *(const int *)(const void *)(values + o->offset) != 0;
    return false;
}

/* SQLite keeps files beside a journal, and removes them at the end. */
static void add_companions(struct uses *uses, struct cv_arena *arena, const char *option,
                           const char *path)
{
    static const char *const suffixes[COMPANIONS] = { "-wal", "-shm", "-journal" };
    const size_t room = strlen(path) + sizeof "-journal";

    for (size_t i = 0; i < COMPANIONS; i++) {
        char *name = cv_array(arena, room, 1);

        if (name == NULL)
            continue; /* opening the journal would fail as well */
        snprintf(name, room, "%s%s", path, suffixes[i]);
        add_path(uses, option, name, true);
    }
}

static void add_option(struct uses *uses, const struct cv_call *call,
                       const struct cv_option *option)
{
    const struct cv_verb *verb = call->verb;
    const char *values = call->values;
    const void *field = values + option->offset;
    const enum cv_file_role role = role_of(option);
    const bool written = role >= CV_FILE_JOURNAL;
    const char *path =
        option->kind == CV_OPTION_TEXT ? *(const char *const *)field : NULL;
    const struct cv_strings one = { &path, 1 };
    const struct cv_strings *paths = option->kind == CV_OPTION_REPEAT ? field : &one;

    if (role == CV_FILE_NONE)
        return;
    for (size_t i = 0; i < paths->count && paths->items[i] != NULL; i++) {
        struct use *use = add_path(uses, option->name, paths->items[i], written);

        use->folder = use->path != NULL && role == CV_FILE_FOLDER;
        use->probe = use->path != NULL && role >= CV_FILE_WRITTEN;
        if (role == CV_FILE_KEPT && !is_forced(verb, values))
            use->how = CV_NEW_FILE_ONLY;
        if (role == CV_FILE_JOURNAL && use->path != NULL)
            add_companions(uses, call->arena, option->name, use->path);
    }
    if (role == CV_FILE_INPUT && paths->count == 0)
        add_stream(uses, STDIN_FILENO);
    if (role == CV_FILE_RESULT && path == NULL)
        add_stream(uses, STDOUT_FILENO);
}

/* How many files an option may name. */
static size_t most_files(const struct cv_option *option, const char *values)
{
    return option->kind == CV_OPTION_REPEAT
               ? ((const struct cv_strings *)(const void *)(values + option->offset))
                         ->count +
                     1
               : 1 + COMPANIONS;
}

static bool find_uses(const struct cv_call *call, const struct cv_other_file *others,
                      size_t nothers, struct uses *out)
{
    const struct cv_verb *verb = call->verb;
    const struct cv_option_group *group;
    size_t max = call->noperands + nothers;

    for (group = verb->groups; group->title != NULL; group++)
        for (const struct cv_option *o = group->options; o->name != NULL; o++)
            max += most_files(o, call->values);
    out->list = cv_array(call->arena, max + 1, sizeof *out->list);
    if (out->list == NULL)
        return false;
    for (group = verb->groups; group->title != NULL; group++)
        for (const struct cv_option *o = group->options; o->name != NULL; o++)
            add_option(out, call, o);
    for (size_t i = 0; verb->operand_files && i < call->noperands; i++)
        add_path(out, verb->operands, call->operands[i], false);
    if (verb->command && call->noperands > 0 && strchr(call->operands[0], '/') != NULL)
        add_path(out, "the command", call->operands[0], false);
    for (size_t i = 0; i < nothers; i++) {
        struct use *use =
            add_path(out, others[i].option, others[i].path, others[i].written);

        use->probe = use->path != NULL && use->written;
    }
    return true;
}

/* Two that are written may share what is open already, such as a terminal or a log: they
 * share its position, too. */
static bool in_conflict(const struct use *one, const struct use *other)
{
    return one != other && cv_file_same(&one->identity, &other->identity) &&
           !(other->written && one->identity.descriptor && other->identity.descriptor);
}

static int complain(const struct use *one, const struct use *other)
{
    char first[CV_ECHO_ROOM], second[CV_ECHO_ROOM];

    if (one->path == NULL) { /* an option can be pointed at, a stream cannot */
        const struct use *swap = one;

        one = other;
        other = swap;
    }
    if (one->path == NULL)
        return cv_print_error(CV_EXIT_USAGE,
                              "%s is the same file as %s: write to another", one->option,
                              other->option);
    return cv_print_error(CV_EXIT_USAGE,
                          "%s: '%s' is the same file as %s%s%s%s: write to another",
                          one->option, cv_echo(one->path, first), other->option,
                          other->path != NULL ? " '" : "",
                          other->path != NULL ? cv_echo(other->path, second) : "",
                          other->path != NULL ? "'" : "");
}

/* Whether files can be made in a folder, or it can be made. */
static int probe_folder(const struct use *use)
{
    char shown[CV_ECHO_ROOM], above[PATH_MAX];
    struct stat info;
    size_t length;

    cv_echo(use->path, shown);
    if (stat(use->path, &info) == 0 && !S_ISDIR(info.st_mode))
        return cv_print_error(CV_EXIT_USAGE,
                              "%s: expected a folder, got '%s', which is none",
                              use->option, shown);
    if (access(use->path, W_OK | X_OK) == 0)
        return CV_EXIT_DONE;
    if (errno != ENOENT)
        return cv_print_error(CV_EXIT_USAGE, "%s: cannot write in '%s': %s", use->option,
                              shown, strerror(errno));
    snprintf(above, sizeof above, "%s", use->path);
    for (length = strlen(above); length > 1 && above[length - 1] == '/'; length--)
        above[length - 1] = '\0';
    above[cv_folder_length(above)] = '\0';
    return access(above[0] != '\0' ? above : ".", W_OK | X_OK) == 0
               ? CV_EXIT_DONE
               : cv_print_error(CV_EXIT_USAGE, "%s: cannot make the folder '%s': %s",
                                use->option, shown, strerror(errno));
}

/* A file that cannot be made is told now, not when all the work is done. */
static int probe(const struct use *use)
{
    char shown[CV_ECHO_ROOM], hint[256];
    struct cleave_error err;

    if (use->folder)
        return probe_folder(use);
    if (!use->probe || cv_new_file_check(use->path, use->how, &err) == CLEAVE_OK)
        return CV_EXIT_DONE;
    cv_echo(use->path, shown);
    if (err.status == CLEAVE_EREFUSED)
        return cv_print_error(CV_EXIT_USAGE, "%s: '%s' exists; use --force to replace it",
                              use->option, shown);
    return cv_print_error(CV_EXIT_USAGE, "%s: cannot write '%s': %s%s", use->option,
                          shown, err.text,
                          cv_usage_hint_name(use->path, hint, sizeof hint));
}

int cv_files_check(const struct cv_call *call)
{
    return cv_files_check_with(call, NULL, 0);
}

int cv_files_check_with(const struct cv_call *call, const struct cv_other_file *others,
                        size_t count)
{
    struct uses uses = { NULL, 0 };
    int status = CV_EXIT_DONE;

    if (call->verb->groups == NULL)
        return CV_EXIT_DONE;
    if (!find_uses(call, others, count, &uses))
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the names of files");
    for (size_t i = 0; i < uses.count; i++)
        for (size_t j = 0; uses.list[i].written && j < uses.count; j++)
            if (in_conflict(&uses.list[i], &uses.list[j]))
                return complain(&uses.list[i], &uses.list[j]);
    for (size_t i = 0; i < uses.count && status == CV_EXIT_DONE; i++)
        status = probe(&uses.list[i]);
    return status;
}
