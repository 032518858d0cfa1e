/* call_files.c -- the files that a call names: patterns are expanded, and no file is both read
 * and written. SPDX-License-Identifier: MIT */
#include "cli/common/verb.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file_target.h"
#include "cli/common/usage_hints.h"

/* The role of the file of an option; by default FILE and TRACE are read. */
static enum cv_file_role role_of(const struct cv_option *option)
{
    if (option->kind != CV_OPTION_TEXT && option->kind != CV_OPTION_REPEAT)
        return CV_FILE_NONE;
    if (option->file == CV_FILE_NONE &&
        (strcmp(option->argument, "FILE") == 0 || strcmp(option->argument, "TRACE") == 0))
        return CV_FILE_READ;
    return option->file;
}

/* The texts of an option that is TEXT or REPEAT; `one` is room for the text of the first kind. */
static struct cv_strings texts_of(const struct cv_call *call,
                                  const struct cv_option *option, const char **one)
{
    const void *field = (const char *)call->values + option->offset;

    if (option->kind == CV_OPTION_REPEAT)
        return *(const struct cv_strings *)field;
    *one = *(const char *const *)field;
    return (struct cv_strings){ one, *one != NULL };
}

/* --- files that are read and written ---------------------------------------------------- */

/* One file of a call. */
struct use {
    const char *option; /* "--input", "standard input" */
    const char *path;   /* NULL: a stream that was open before */
    enum cv_file_role role;
    unsigned how; /* a new file is made: of enum cv_new_file_how */
    struct cv_file_identity identity;
};

struct uses {
    struct use *list; /* owned */
    size_t count, capacity;
    bool failed; /* memory was short */
};

static bool is_written(const struct use *use)
{
    return use->role >= CV_FILE_JOURNAL;
}

/* `path` NULL or "-" is a standard stream. */
static void add_file(struct uses *uses, const char *option, const char *path,
                     enum cv_file_role role, unsigned how)
{
    struct use use = { option, path, role, how, { .known = false } };

    if (!CV_ROOM(uses->list, &uses->capacity, uses->count + 1)) {
        uses->failed = true;
        return;
    }
    if (path != NULL && strcmp(path, "-") != 0) {
        cv_file_identify(path, &use.identity);
    } else {
        use.path = NULL;
        use.option = is_written(&use) ? "standard output" : "standard input";
        cv_descriptor_identify(is_written(&use) ? STDOUT_FILENO : STDIN_FILENO,
                               &use.identity);
    }
    uses->list[uses->count++] = use;
}

static void add_option(struct uses *uses, const struct cv_call *call,
                       const struct cv_option *option)
{
    /* SQLite keeps these files next to a journal, and removes them at the end. */
    static const char *const companions[] = { "-wal", "-shm", "-journal" };
    const enum cv_file_role role = role_of(option);
    const unsigned how =
        role == CV_FILE_KEPT && !cv_option_given(call, "--force") ? CV_NEW_FILE_ONLY : 0;
    struct cv_strings paths;
    const char *one;

    if (role == CV_FILE_NONE)
        return;
    paths = texts_of(call, option, &one);
    for (size_t i = 0; i < paths.count; i++) {
        const bool adds =
            strcmp(option->name, "--joblog") == 0 && paths.items[i][0] == '+';

        add_file(uses, option->name, paths.items[i] + adds, role, how);
        for (size_t k = 0; role == CV_FILE_JOURNAL && k < 3; k++)
            add_file(uses, option->name,
                     cv_arena_print(call->arena, "%s%s", paths.items[i], companions[k]),
                     role, 0);
    }
    if (paths.count == 0 && (role == CV_FILE_INPUT || role == CV_FILE_RESULT))
        add_file(uses, option->name, NULL, role, 0);
}

static void find_uses(const struct cv_call *call, const struct cv_other_file *others,
                      size_t nothers, struct uses *out)
{
    const struct cv_verb *verb = call->verb;
    const struct cv_option *option;

    for (size_t i = 0; (option = cv_option_at(verb->groups, i)) != NULL; i++)
        add_option(out, call, option);
    for (size_t i = 0; verb->operand_files && i < call->noperands; i++)
        add_file(out, verb->operands, call->operands[i], CV_FILE_READ, 0);
    if (verb->command && call->noperands > 0 && strchr(call->operands[0], '/') != NULL)
        add_file(out, "the command", call->operands[0], CV_FILE_READ, 0);
    for (size_t i = 0; i < nothers; i++)
        add_file(out, others[i].option, others[i].path,
                 others[i].written ? CV_FILE_WRITTEN : CV_FILE_READ, 0);
}

/* Two outputs may share a descriptor that is open already, such as a terminal or a log: they
 * share its position, too. */
static bool in_conflict(const struct use *one, const struct use *other)
{
    return one != other && cv_file_same(&one->identity, &other->identity) &&
           !(is_written(other) && one->identity.descriptor && other->identity.descriptor);
}

/* The option of a path comes first: a stream has none. */
static int refuse_conflict(const struct use *one, const struct use *other)
{
    const struct use *first = one->path != NULL ? one : other;
    const struct use *second = first == one ? other : one;

    if (first->path == NULL)
        return cv_refuse("%s is the same file as %s: write to another", first->option,
                         second->option);
    return cv_refuse("%s: '%s' is the same file as %s%s%s%s: write to another",
                     first->option, CV_ECHO(first->path), second->option,
                     second->path != NULL ? " '" : "",
                     second->path != NULL ? CV_ECHO(second->path) : "",
                     second->path != NULL ? "'" : "");
}

/* Check that files can be made in a directory, or that it can be made. */
static int probe_folder(const struct use *use)
{
    char above[PATH_MAX];
    struct stat info;

    if (stat(use->path, &info) == 0 && !S_ISDIR(info.st_mode))
        return cv_refuse("%s: expected a directory, got '%s'", use->option,
                         CV_ECHO(use->path));
    if (access(use->path, W_OK | X_OK) == 0)
        return CV_EXIT_DONE;
    if (errno != ENOENT)
        return cv_refuse("%s: cannot write in '%s': %s", use->option, CV_ECHO(use->path),
                         strerror(errno));
    snprintf(above, sizeof above, "%s", use->path);
    for (size_t length = strlen(above); length > 1 && above[length - 1] == '/'; length--)
        above[length - 1] = '\0';
    above[cv_folder_length(above)] = '\0';
    return access(above[0] != '\0' ? above : ".", W_OK | X_OK) == 0
               ? CV_EXIT_DONE
               : cv_refuse("%s: cannot make the folder '%s': %s", use->option,
                           CV_ECHO(use->path), strerror(errno));
}

/* A file that cannot be made is an error now, not when all the work is done. */
static int probe(const struct use *use)
{
    struct cleave_error err;
    char hint[256];

    if (use->path != NULL && use->role == CV_FILE_FOLDER)
        return probe_folder(use);
    if (use->path == NULL || use->role < CV_FILE_WRITTEN ||
        cv_new_file_check(use->path, use->how, &err) == CLEAVE_OK)
        return CV_EXIT_DONE;
    if (err.status == CLEAVE_EREFUSED)
        return cv_refuse("%s: '%s' exists; use --force to replace it", use->option,
                         CV_ECHO(use->path));
    if (use->role == CV_FILE_RESULT && strstr(use->path, "{chunk}") != NULL)
        return CV_EXIT_DONE; /* its directory is made */
    return cv_refuse("%s: cannot write '%s': %s%s", use->option, CV_ECHO(use->path),
                     err.text, cv_usage_hint_name(use->path, hint, sizeof hint));
}

static int check_uses(const struct uses *uses)
{
    if (uses->failed)
        return cv_no_memory("the names of files");
    for (size_t i = 0; i < uses->count; i++)
        for (size_t j = 0; is_written(&uses->list[i]) && j < uses->count; j++)
            if (in_conflict(&uses->list[i], &uses->list[j]))
                return refuse_conflict(&uses->list[i], &uses->list[j]);
    for (size_t i = 0; i < uses->count; i++)
        CV_DO(probe(&uses->list[i]));
    return CV_EXIT_DONE;
}

int cv_files_check(const struct cv_call *call, const struct cv_other_file *others,
                   size_t count)
{
    struct uses uses = { NULL, 0, 0, false };
    int status;

    find_uses(call, others, count, &uses);
    status = check_uses(&uses);
    free(uses.list);
    return status;
}

/* --- names of inputs --------------------------------------------------------------------- */

struct names {
    const struct cv_option *option;
    struct cv_words list;
    bool recursive;
    bool only_near; /* an absent file is an error only if a similar name exists */
};

static int by_name(const FTSENT **one, const FTSENT **other)
{
    return strcmp((*one)->fts_name, (*other)->fts_name);
}

/* Add all regular files below a directory; links and others are not read. */
static int walk_folder(struct names *names, FTS *tree, const char *folder)
{
    char first[CV_ECHO_ROOM] = ""; /* that is not read */
    size_t left_out = 0;
    FTSENT *entry;

    while ((entry = fts_read(tree)) != NULL) {
        const int info = entry->fts_info;

        if (info == FTS_F && S_ISREG(entry->fts_statp->st_mode))
            cv_words_add(&names->list, entry->fts_path);
        else if (info == FTS_DNR || info == FTS_ERR || info == FTS_NS)
            return cv_refuse("%s: cannot read: %s", CV_ECHO(entry->fts_path),
                             strerror(entry->fts_errno));
        else if ((info == FTS_SL || info == FTS_SLNONE || info == FTS_DEFAULT) &&
                 left_out++ == 0)
            cv_echo(entry->fts_path, first);
    }
    if (left_out == 1)
        cv_print_note("%s: '%s' is a link or no file, and is not read", CV_ECHO(folder),
                      first);
    else if (left_out > 1)
        cv_print_note("%s: '%s' and %zu more are links or no files, and are not read",
                      CV_ECHO(folder), first, left_out - 1);
    return CV_EXIT_DONE;
}

static int add_folder(struct names *names, const char *folder)
{
    char *start[] = { cv_arena_text(names->list.arena, folder), NULL };
    FTS *tree =
        start[0] != NULL ? fts_open(start, FTS_PHYSICAL | FTS_NOCHDIR, by_name) : NULL;
    int status;

    if (tree == NULL)
        return cv_refuse("%s: cannot read: %s", CV_ECHO(folder), strerror(errno));
    status = walk_folder(names, tree, folder);
    fts_close(tree);
    return status;
}

static int add_input(struct names *names, const char *name);

static int add_matches(struct names *names, const char *pattern)
{
    int status = CV_EXIT_DONE;
    glob_t found;
    const int failure = glob(pattern, GLOB_ERR, NULL, &found);

    if (failure == GLOB_NOSPACE)
        return cv_no_memory("the names of inputs");
    if (failure != 0)
        return cv_refuse("%s: '%s' matches no file", names->option->name,
                         CV_ECHO(pattern));
    for (size_t i = 0; status == CV_EXIT_DONE && i < found.gl_pathc; i++)
        status = add_input(names, found.gl_pathv[i]);
    globfree(&found);
    return status;
}

static const char *word_at(const void *context, size_t index)
{
    return ((const struct cv_words *)context)->items[index];
}

/* A name with a space, passed without quotes: only its first word has arrived. */
static const char *find_longer(const struct cv_words *near, const char *base)
{
    const size_t length = strlen(base);

    for (size_t i = 0; i < near->count; i++)
        if (strncmp(near->items[i], base, length) == 0 && near->items[i][length] == ' ')
            return near->items[i];
    return NULL;
}

/* Refuse a file that does not exist, with a similar name in its directory. */
static int refuse_absent(struct names *names, const char *name)
{
    enum { LOOKED_AT = 4096 };
    const size_t length = cv_folder_length(name);
    struct cv_words near = { .arena = names->list.arena };
    char *folder =
             cv_need_text(near.arena, length > 0 ? name : ".", "the names of inputs"),
         hint[512];
    const char *base = CV_ECHO(name + length), *longer;
    struct dirent *entry;
    DIR *open;

    if (length > 0)
        folder[length] = '\0';
    open = opendir(folder);
    while (open != NULL && near.count < LOOKED_AT && (entry = readdir(open)) != NULL)
        if (entry->d_name[0] != '.')
            cv_words_add(&near, CV_ECHO(entry->d_name));
    if (open != NULL)
        closedir(open);
    longer = find_longer(&near, base);
    if (cv_usage_hint_name(name, hint, sizeof hint)[0] == '\0') {
        if (longer != NULL)
            snprintf(hint, sizeof hint, "; did you mean '%s'? Spaces need the quotes",
                     longer);
        else
            cv_suggest(base, near.count, word_at, &near, hint, sizeof hint);
        if (strncmp(hint, "; did", 5) != 0) {
            if (names->only_near)
                return CV_EXIT_DONE;
            hint[0] = '\0';
        }
    }
    return cv_refuse("%s: cannot read: %s%s", CV_ECHO(name), strerror(ENOENT), hint);
}

static int add_input(struct names *names, const char *name)
{
    const bool stream = strcmp(name, "-") == 0;
    struct stat info;

    if (!stream && stat(name, &info) != 0 && errno == ENOENT)
        return strpbrk(name, "*?[") != NULL ? add_matches(names, name)
                                            : refuse_absent(names, name);
    /* Other errors are reported when the file is opened. */
    if (stream || stat(name, &info) != 0 || !S_ISDIR(info.st_mode)) {
        cv_words_add(&names->list, name);
        return CV_EXIT_DONE;
    }
    return names->recursive ? add_folder(names, name)
                            : cv_refuse("%s: expected a file, got a directory "
                                        "(--recursive: all files below it)",
                                        CV_ECHO(name));
}

static int expand_option(const struct cv_call *call, const struct cv_option *option,
                         struct cv_strings *given)
{
    struct names names = { .option = option,
                           .list.arena = call->arena,
                           .recursive = cv_option_given(call, "--recursive") != NULL };

    for (size_t i = 0; i < given->count; i++) {
        const size_t before = names.list.count;

        CV_DO(add_input(&names, given->items[i]));
        if (names.list.count == before)
            return cv_refuse("%s: expected files below it, got none",
                             CV_ECHO(given->items[i]));
    }
    if (names.list.failed)
        return cv_no_memory("the names of inputs");
    *given = (struct cv_strings){ names.list.items, names.list.count };
    return CV_EXIT_DONE;
}

/* Other files that are read: a similar name may have been meant. */
static int check_read(const struct cv_call *call, const struct cv_option *option)
{
    struct names names = { .option = option,
                           .list.arena = call->arena,
                           .only_near = true };
    const char *name;
    struct stat info;

    texts_of(call, option, &name);
    if (name == NULL || strcmp(name, "-") == 0 || stat(name, &info) == 0 ||
        errno != ENOENT)
        return CV_EXIT_DONE;
    return refuse_absent(&names, name);
}

int cv_inputs_expand(const struct cv_call *call, void *values)
{
    const struct cv_option_group *groups = call->verb->groups;
    const struct cv_option *option;

    /* Inputs of --fetch are names that only its command understands. */
    if (cv_option_given(call, "--fetch") != NULL)
        return CV_EXIT_DONE;
    for (size_t i = 0; (option = cv_option_at(groups, i)) != NULL; i++)
        if (option->file == CV_FILE_INPUT && option->kind == CV_OPTION_REPEAT)
            CV_DO(expand_option(call, option,
                                (struct cv_strings *)(void *)((char *)values +
                                                              option->offset)));
    for (size_t i = 0; (option = cv_option_at(groups, i)) != NULL; i++)
        if (option->kind == CV_OPTION_TEXT && option->file == CV_FILE_NONE &&
            role_of(option) == CV_FILE_READ)
            CV_DO(check_read(call, option));
    return CV_EXIT_DONE;
}
