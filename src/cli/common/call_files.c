/* call_files.c -- no file is read and written by one call. SPDX-License-Identifier: MIT */
#include "cli/common/call_files.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file_target.h"
#include "base/new_file.h"
#include "base/text.h"
#include "cli/common/output.h"
#include "cli/common/usage_hints.h"

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

static int probe(const struct use *use);

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
    if (one->path == NULL) { /* an option can be pointed at, a stream cannot */
        const struct use *swap = one;

        one = other;
        other = swap;
    }
    if (one->path == NULL)
        return cv_refuse("%s is the same file as %s: write to another", one->option,
                         other->option);
    return cv_refuse("%s: '%s' is the same file as %s%s%s%s: write to another",
                     one->option, CV_ECHO(one->path), other->option,
                     other->path != NULL ? " '" : "",
                     other->path != NULL ? CV_ECHO(other->path) : "",
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
        return cv_refuse("%s: expected a folder, got '%s', which is none", use->option,
                         shown);
    if (access(use->path, W_OK | X_OK) == 0)
        return CV_EXIT_DONE;
    if (errno != ENOENT)
        return cv_refuse("%s: cannot write in '%s': %s", use->option, shown,
                         strerror(errno));
    snprintf(above, sizeof above, "%s", use->path);
    for (length = strlen(above); length > 1 && above[length - 1] == '/'; length--)
        above[length - 1] = '\0';
    above[cv_folder_length(above)] = '\0';
    return access(above[0] != '\0' ? above : ".", W_OK | X_OK) == 0
               ? CV_EXIT_DONE
               : cv_refuse("%s: cannot make the folder '%s': %s", use->option, shown,
                           strerror(errno));
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
        return cv_refuse("%s: '%s' exists; use --force to replace it", use->option,
                         shown);
    return cv_refuse("%s: cannot write '%s': %s%s", use->option, shown, err.text,
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
        return cv_no_memory("the names of files");
    for (size_t i = 0; i < uses.count; i++)
        for (size_t j = 0; uses.list[i].written && j < uses.count; j++)
            if (in_conflict(&uses.list[i], &uses.list[j]))
                return complain(&uses.list[i], &uses.list[j]);
    for (size_t i = 0; i < uses.count && status == CV_EXIT_DONE; i++)
        status = probe(&uses.list[i]);
    return status;
}

/* --- the files that patterns and folders stand for --------------------------------- */

struct names {
    const struct cv_option *option;
    struct cv_arena *arena;
    struct cv_strings list; /* of the arena */
    size_t capacity;
    bool recursive;
    bool only_near; /* who opens it says that it is not there, unless a name is near */
};

static int add_name(struct names *names, const char *name)
{
    char *copy = cv_arena_text(names->arena, name);

    if (names->list.count == names->capacity) {
        const size_t more = names->capacity * 2 + 16;
        const char **larger = cv_array(names->arena, more, sizeof *larger);

        if (larger == NULL)
            return cv_no_memory("the names of inputs");
        if (names->list.count > 0)
            memcpy(larger, names->list.items, names->list.count * sizeof *larger);
        names->list.items = larger;
        names->capacity = more;
    }
    if (copy == NULL)
        return cv_no_memory("the names of inputs");
    names->list.items[names->list.count++] = copy;
    return CV_EXIT_DONE;
}

/* --- folders ------------------------------------------------------------------------------ */

static int by_name(const FTSENT **one, const FTSENT **other)
{
    return strcmp((*one)->fts_name, (*other)->fts_name);
}

/* What is below a folder and is not read. */
struct left_out {
    size_t count;
    char first[CV_ECHO_ROOM];
};

static void leave_out(struct left_out *left, const char *path)
{
    if (left->count++ == 0)
        cv_echo(path, left->first);
}

static void tell_left_out(const char *folder, const struct left_out *left)
{
    if (left->count == 1)
        cv_print_error(CV_EXIT_DONE, "%s: '%s' is a link or no file, and is not read",
                       CV_ECHO(folder), left->first);
    else
        cv_print_error(CV_EXIT_DONE,
                       "%s: '%s' and %zu more are links or no files, and are not read",
                       CV_ECHO(folder), left->first, left->count - 1);
}

static int add_folder(struct names *names, const char *folder)
{
    char *start[] = { cv_arena_text(names->arena, folder), NULL };
    FTS *tree =
        start[0] != NULL ? fts_open(start, FTS_PHYSICAL | FTS_NOCHDIR, by_name) : NULL;
    int status = CV_EXIT_DONE;
    struct left_out left = { .count = 0 };
    FTSENT *entry;

    if (tree == NULL)
        return cv_refuse("%s: cannot read: %s", CV_ECHO(folder), strerror(errno));
    while (status == CV_EXIT_DONE && (entry = fts_read(tree)) != NULL) {
        if (entry->fts_info == FTS_F && S_ISREG(entry->fts_statp->st_mode))
            status = add_name(names, entry->fts_path);
        else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR ||
                 entry->fts_info == FTS_NS)
            status = cv_refuse("%s: cannot read: %s", CV_ECHO(entry->fts_path),
                               strerror(entry->fts_errno));
        else if (entry->fts_info == FTS_SL || entry->fts_info == FTS_SLNONE ||
                 entry->fts_info == FTS_DEFAULT)
            leave_out(&left, entry->fts_path);
    }
    fts_close(tree);
    if (status == CV_EXIT_DONE && left.count > 0)
        tell_left_out(folder, &left);
    return status;
}

/* --- patterns ----------------------------------------------------------------------------- */

static int add_input(struct names *names, const char *name);

static int add_matches(struct names *names, const char *pattern)
{
    int status = CV_EXIT_DONE;
    glob_t found;
    const int failure = glob(pattern, GLOB_ERR, NULL, &found);

    if (failure == GLOB_NOSPACE)
        status = cv_no_memory("the names of inputs");
    else if (failure != 0)
        status =
            cv_refuse("%s: '%s' matches no file", names->option->name, CV_ECHO(pattern));
    for (size_t i = 0; status == CV_EXIT_DONE && i < found.gl_pathc; i++)
        status = add_input(names, found.gl_pathv[i]);
    if (failure == 0)
        globfree(&found);
    return status;
}

/* --- names that are nearly right ---------------------------------------------------------- */

enum { NEAR_MOST = 4096 }; /* names in a folder that are looked at */

struct folder_names {
    const char *items[NEAR_MOST];
    size_t count;
};

static const char *name_in(const void *context, size_t index)
{
    return ((const struct folder_names *)context)->items[index];
}

/* A name with a space of which only the first word came, for want of quotes. */
static const char *find_longer(const struct folder_names *near, const char *base)
{
    const size_t length = strlen(base);

    for (size_t i = 0; i < near->count; i++)
        if (strncmp(near->items[i], base, length) == 0 && near->items[i][length] == ' ')
            return near->items[i];
    return NULL;
}

static int refuse_absent(const char *name, const struct folder_names *near,
                         const char *base, bool only_near)
{
    const char *longer = find_longer(near, base);
    char hint[512] = "";

    if (cv_usage_hint_name(name, hint, sizeof hint)[0] != '\0')
        return cv_refuse("%s: cannot read: %s%s", CV_ECHO(name), strerror(ENOENT), hint);
    if (longer != NULL)
        snprintf(hint, sizeof hint, "; did you mean '%s'? Spaces need the quotes",
                 longer);
    else
        cv_suggest(base, near->count, name_in, near, hint, sizeof hint);
    if (strncmp(hint, "; did", 5) != 0) {
        if (only_near)
            return CV_EXIT_DONE;
        hint[0] = '\0';
    }
    return cv_refuse("%s: cannot read: %s%s", CV_ECHO(name), strerror(ENOENT), hint);
}

/* There is no such file: one in the same folder may have been meant. */
static int look_around(struct names *names, const char *name)
{
    const size_t length = cv_folder_length(name);
    struct folder_names *near = cv_array(names->arena, 1, sizeof *near);
    char *folder = cv_arena_text(names->arena, length > 0 ? name : ".");
    struct dirent *entry;
    char shown[CV_ECHO_ROOM];
    DIR *open;

    if (near == NULL || folder == NULL)
        return cv_no_memory("the names of inputs");
    if (length > 0)
        folder[length] = '\0';
    open = opendir(folder);
    near->count = 0;
    while (open != NULL && near->count < NEAR_MOST && (entry = readdir(open)) != NULL) {
        /* As they can be shown: a name may hold anything. */
        near->items[near->count] =
            cv_arena_text(names->arena, cv_echo(entry->d_name, shown));
        near->count += near->items[near->count] != NULL && entry->d_name[0] != '.';
    }
    if (open != NULL)
        closedir(open);
    return refuse_absent(name, near, cv_echo(name + length, shown), names->only_near);
}

static int add_input(struct names *names, const char *name)
{
    struct stat info;

    if (strcmp(name, "-") == 0)
        return add_name(names, name);
    if (stat(name, &info) != 0 && errno == ENOENT)
        return strpbrk(name, "*?[") != NULL ? add_matches(names, name)
                                            : look_around(names, name);
    if (stat(name, &info) != 0)
        return add_name(names, name); /* who opens it says why not */
    if (!S_ISDIR(info.st_mode))
        return add_name(names, name);
    return names->recursive ? add_folder(names, name)
                            : cv_refuse("%s: expected a file, got a directory "
                                        "(--recursive: all files below it)",
                                        CV_ECHO(name));
}

/* --- options ------------------------------------------------------------------------------ */

/* The value of an option; NULL: the verb has none of this name. */
static const void *value_of(const struct cv_verb *verb, const char *name,
                            const char *values)
{
    for (const struct cv_option_group *group = verb->groups;
         group != NULL && group->title != NULL; group++)
        for (const struct cv_option *o = group->options; o->name != NULL; o++)
            if (strcmp(o->name, name) == 0)
                return values + o->offset;
    return NULL;
}

static bool is_recursive(const struct cv_verb *verb, const char *values)
{
    const int *flag = value_of(verb, "--recursive", values);

    return flag != NULL && *flag != 0;
}

/* Then inputs are names that only the command of --fetch understands. */
static bool is_fetched(const struct cv_verb *verb, const char *values)
{
    const char *const *line = value_of(verb, "--fetch", values);

    return line != NULL && *line != NULL;
}

/* A file that an option reads: one that is nearly called so may have been meant. */
static int check_file(const struct cv_option *option, struct cv_arena *arena,
                      const char *name)
{
    struct names names = { .option = option, .arena = arena, .only_near = true };
    struct stat info;

    if (name == NULL || strcmp(name, "-") == 0 || stat(name, &info) == 0 ||
        errno != ENOENT)
        return CV_EXIT_DONE;
    return look_around(&names, name);
}

/* All files that options read and that are no inputs. */
static int check_files(const struct cv_verb *verb, struct cv_arena *arena,
                       const char *fields)
{
    int status = CV_EXIT_DONE;

    for (const struct cv_option_group *group = verb->groups;
         group != NULL && group->title != NULL; group++)
        for (const struct cv_option *o = group->options; o->name != NULL; o++)
            if (status == CV_EXIT_DONE && o->kind == CV_OPTION_TEXT &&
                o->file == CV_FILE_NONE &&
                (strcmp(o->argument, "FILE") == 0 || strcmp(o->argument, "TRACE") == 0))
                status =
                    check_file(o, arena,
                               *(const char *const *)(const void *)(fields + o->offset));
    return status;
}

int cv_inputs_expand(const struct cv_verb *verb, struct cv_arena *arena, void *values)
{
    char *fields = values;
    const struct cv_option_group *group = verb->groups;

    if (is_fetched(verb, fields))
        return CV_EXIT_DONE;
    for (; group != NULL && group->title != NULL; group++)
        for (const struct cv_option *o = group->options; o->name != NULL; o++) {
            struct names names = { .option = o, .arena = arena };
            struct cv_strings *given = (struct cv_strings *)(void *)(fields + o->offset);

            if (o->file != CV_FILE_INPUT || o->kind != CV_OPTION_REPEAT)
                continue;
            names.recursive = is_recursive(verb, fields);
            for (size_t i = 0; i < given->count; i++) {
                const size_t before = names.list.count;
                const int status = add_input(&names, given->items[i]);

                if (status != CV_EXIT_DONE)
                    return status;
                if (names.list.count == before)
                    return cv_refuse("%s: expected files below it, got none",
                                     CV_ECHO(given->items[i]));
            }
            *given = names.list;
        }
    return check_files(verb, arena, fields);
}
