/* input_names.c -- the files that patterns and folders stand for. SPDX-License-Identifier: MIT */
#include "cli/common/input_names.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file_target.h"
#include "base/text.h"
#include "cli/common/usage_hints.h"
#include "cli/common/output.h"

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
            return cv_print_error(CV_EXIT_FAILED,
                                  "out of memory for the names of inputs");
        if (names->list.count > 0)
            memcpy(larger, names->list.items, names->list.count * sizeof *larger);
        names->list.items = larger;
        names->capacity = more;
    }
    if (copy == NULL)
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the names of inputs");
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
    char shown[CV_ECHO_ROOM];

    if (left->count == 1)
        cv_print_error(CV_EXIT_DONE, "%s: '%s' is a link or no file, and is not read",
                       cv_echo(folder, shown), left->first);
    else
        cv_print_error(CV_EXIT_DONE,
                       "%s: '%s' and %zu more are links or no files, and are not read",
                       cv_echo(folder, shown), left->first, left->count - 1);
}

static int add_folder(struct names *names, const char *folder)
{
    char *start[] = { cv_arena_text(names->arena, folder), NULL }, shown[CV_ECHO_ROOM];
    FTS *tree =
        start[0] != NULL ? fts_open(start, FTS_PHYSICAL | FTS_NOCHDIR, by_name) : NULL;
    int status = CV_EXIT_DONE;
    struct left_out left = { .count = 0 };
    FTSENT *entry;

    if (tree == NULL)
        return cv_print_error(CV_EXIT_USAGE, "%s: cannot read: %s",
                              cv_echo(folder, shown), strerror(errno));
    while (status == CV_EXIT_DONE && (entry = fts_read(tree)) != NULL) {
        if (entry->fts_info == FTS_F && S_ISREG(entry->fts_statp->st_mode))
            status = add_name(names, entry->fts_path);
        else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR ||
                 entry->fts_info == FTS_NS)
            status = cv_print_error(CV_EXIT_USAGE, "%s: cannot read: %s",
                                    cv_echo(entry->fts_path, shown),
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
    char shown[CV_ECHO_ROOM];
    int status = CV_EXIT_DONE;
    glob_t found;
    const int failure = glob(pattern, GLOB_ERR, NULL, &found);

    if (failure == GLOB_NOSPACE)
        status = cv_print_error(CV_EXIT_FAILED, "out of memory for the names of inputs");
    else if (failure != 0)
        status = cv_print_error(CV_EXIT_USAGE, "%s: '%s' matches no file",
                                names->option->name, cv_echo(pattern, shown));
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
    char shown[CV_ECHO_ROOM], hint[512] = "";

    if (cv_usage_hint_name(name, hint, sizeof hint)[0] != '\0')
        return cv_print_error(CV_EXIT_USAGE, "%s: cannot read: %s%s",
                              cv_echo(name, shown), strerror(ENOENT), hint);
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
    return cv_print_error(CV_EXIT_USAGE, "%s: cannot read: %s%s", cv_echo(name, shown),
                          strerror(ENOENT), hint);
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
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the names of inputs");
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
    char shown[CV_ECHO_ROOM];
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
    return names->recursive
               ? add_folder(names, name)
               : cv_print_error(CV_EXIT_USAGE,
                                "%s: expected a file, got a directory (--recursive: all "
                                "files below it)",
                                cv_echo(name, shown));
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
                char shown[CV_ECHO_ROOM];

                if (status != CV_EXIT_DONE)
                    return status;
                if (names.list.count == before)
                    return cv_print_error(CV_EXIT_USAGE,
                                          "%s: expected files below it, got none",
                                          cv_echo(given->items[i], shown));
            }
            *given = names.list;
        }
    return check_files(verb, arena, fields);
}
