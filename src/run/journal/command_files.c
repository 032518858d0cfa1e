/* command_files.c -- the files of a command, so that a resumed run notices a changed script.
 * SPDX-License-Identifier: MIT
 *
 * A word of the command, or a word of its shell line, may be the name of a file: the program
 * itself, a script, a list of patterns. Small files are identified by their contents, large ones
 * by size and time. */
#include "run/journal/command_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fail.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "run/common/piece_part.h"

/* Larger files, such as an index of gigabytes, are not read. */
enum { LARGEST = 1 << 20 };

/* Characters that end a name in a line of a shell. */
static const char ends[] = " \t\n;|&<>()'\"$`=";

struct files {
    struct cv_text text;
    char *const *except;              /* borrowed: names that do not count; NULL: none */
    struct cv_content_hasher *hasher; /* owned */
};

/* The line of a name, without the newline; NULL: none. */
static const char *find_line(const char *text, const char *name, size_t length)
{
    for (const char *at = text; at != NULL && *at != '\0'; at = strchr(at, '\n') + 1) {
        const char *there = strchr(at, ' ') + 1;

        if (strncmp(there, name, length) == 0 && there[length] == '\n')
            return at;
    }
    return NULL;
}

static void add_file(struct files *files, const char *name, size_t length, bool script)
{
    char *path;
    struct cleave_error ignored;
    struct stat info;
    char magic[2] = "", hash[CV_CONTENT_HASH_TEXT];
    int fd;

    if (memchr(name, '\n', length) != NULL)
        return; /* it would be two lines */
    for (char *const *at = files->except; at != NULL && *at != NULL; at++)
        if (strlen(*at) == length && memcmp(*at, name, length) == 0)
            return;
    path = strndup(name, length);
    if (path == NULL) {
        files->text.failed = true;
        return;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    free(path);
    if (fd < 0)
        return;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
        (!script || (pread(fd, magic, 2, 0) == 2 && memcmp(magic, "#!", 2) == 0)) &&
        find_line(files->text.bytes, name, length) == NULL) {
        if (info.st_size > LARGEST) {
            cv_text_add(&files->text, "%" PRId64 ",%" PRId64 ".%09ld",
                        (int64_t)info.st_size, (int64_t)info.st_mtim.tv_sec,
                        info.st_mtim.tv_nsec);
        } else if (cv_content_hasher_add(files->hasher, NULL, fd, 0,
                                         (uint64_t)info.st_size, &ignored) == CLEAVE_OK) {
            cv_content_hash_text(cv_content_hasher_finish(files->hasher), hash);
            cv_text_add(&files->text, "%s", hash);
        } else { /* truncated since then, or a disk that fails */
            cv_content_hasher_reset(files->hasher);
            cv_text_add(&files->text, "unread");
        }
        cv_text_add(&files->text, " %.*s\n", (int)length, name);
    }
    close(fd);
}

/* A program of PATH counts if it is a script: others change with the system. */
static void add_program(struct files *files, const char *name)
{
    const char *path = getenv("PATH");
    struct stat info;
    size_t length;
    char *full;

    for (; path != NULL && *path != '\0'; path += length + (path[length] == ':')) {
        length = strcspn(path, ":");
        if (asprintf(&full, "%.*s/%s", (int)length, path, name) < 0) {
            files->text.failed = true;
            return;
        }
        if (stat(full, &info) == 0 && S_ISREG(info.st_mode) && access(full, X_OK) == 0) {
            add_file(files, full, strlen(full), true);
            path = "";
            length = 0;
        }
        free(full);
    }
}

enum cleave_status cv_command_files(const char *const *words, char *const *except,
                                    char **out, struct cleave_error *err)
{
    struct files files = { .text = { NULL, 0, 0, false }, .except = except };

    CV_TRY(cv_content_hasher_new(&files.hasher, err));
    cv_text_add(&files.text, "%s", "");
    if (strchr(words[0], '/') == NULL)
        add_program(&files, words[0]);
    else if (cv_shell_noted(words[0]) != words[0])
        words++; /* a line is the same line under another shell */
    for (; *words != NULL; words++) {
        add_file(&files, *words, strlen(*words), false);
        for (const char *at = *words + strspn(*words, ends); *at != '\0';) {
            const size_t length = strcspn(at, ends);

            add_file(&files, at, length, false);
            at += length;
            at += strspn(at, ends);
        }
    }
    cv_content_hasher_free(files.hasher);
    if (files.text.failed) {
        cv_text_done(&files.text);
        return cv_fail_memory(err, "the journal");
    }
    *out = files.text.bytes;
    return CLEAVE_OK;
}

bool cv_command_files_differ(const char *then, const char *now, const char **out_name,
                             size_t *out_length)
{
    for (const char *line = then; *line != '\0'; line = strchr(line, '\n') + 1) {
        const char *name = strchr(line, ' ');
        const char *end = strchr(line, '\n');
        const char *same;

        if (name == NULL || end == NULL || name > end)
            return false; /* not written by cv_command_files */
        same = find_line(now, name + 1, (size_t)(end - name - 1));
        if (same != NULL && strncmp(line, same, (size_t)(end - line)) == 0)
            continue;
        *out_name = name + 1;
        *out_length = (size_t)(end - name - 1);
        return true;
    }
    return false;
}
