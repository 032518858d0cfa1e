/* part_files.c -- --output 'DIR/part-{chunk}': a file for each chunk. SPDX-License-Identifier: MIT
 *
 * {chunk} is the first byte of the chunk in the input, so that the names do not depend on the
 * order in which commands end, and a resumed run writes the same names. A resumed run removes the
 * files of the earlier run that are not in its journal. */
#include "cli/run/run_parts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/file_target.h"
#include "base/new_file.h"
#include "base/write_all.h"
#include "run/common/machine.h"
#include "run/pieces/packed_sink.h"

#define PLACE "{chunk}"
enum { DIGITS = 15 };

struct cv_part_files {
    const char *folder;                  /* with its last '/'; "" */
    const char *head, *tail;             /* of a name */
    const struct cv_pack_format *format; /* NULL: the files are not compressed */
    uint64_t *written;                   /* owned: the first bytes of chunks */
    size_t count, capacity;
};

bool cv_part_files_asked(const struct cv_run_options *values)
{
    return values->output != NULL && strstr(values->output, PLACE) != NULL;
}

/* Whether a name has the form of the template; *out is the number in it. */
static bool has_form(const struct cv_part_files *files, const char *name, uint64_t *out)
{
    const size_t head = strlen(files->head);
    char *rest;

    if (strncmp(name, files->head, head) != 0 || !isdigit((unsigned char)name[head]))
        return false;
    *out = strtoull(name + head, &rest, 10);
    return rest - (name + head) >= DIGITS && strcmp(rest, files->tail) == 0;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return (one > other) - (one < other);
}

/* Call `found` for each file of the form in the folder; it returns an exit status. */
static int for_each_file(const struct cv_part_files *files,
                         int (*found)(const struct cv_part_files *files, int folder,
                                      const char *name, uint64_t number))
{
    DIR *folder = opendir(files->folder[0] != '\0' ? files->folder : ".");
    int status = CV_EXIT_DONE;
    struct dirent *entry;
    uint64_t number;

    if (folder == NULL)
        return cv_refuse("--output: cannot read the directory '%s': %s",
                         CV_ECHO(files->folder), strerror(errno));
    while (status == CV_EXIT_DONE && (entry = readdir(folder)) != NULL)
        if (has_form(files, entry->d_name, &number))
            status = found(files, dirfd(folder), entry->d_name, number);
    closedir(folder);
    return status;
}

static int refuse_older(const struct cv_part_files *files, int folder, const char *name,
                        uint64_t number)
{
    (void)folder;
    (void)number;
    return cv_refuse("--output: '%s%s' exists: expected a directory without files of "
                     "another run; --journal FILE --resume continues that run",
                     CV_ECHO(files->folder), CV_ECHO(name));
}

static int remove_stale(const struct cv_part_files *files, int folder, const char *name,
                        uint64_t number)
{
    if (bsearch(&number, files->written, files->count, sizeof number, by_number) !=
            NULL ||
        unlinkat(folder, name, 0) == 0)
        return CV_EXIT_DONE;
    return cv_print_error(CV_EXIT_FAILED, "--output: cannot remove '%s%s': %s",
                          CV_ECHO(files->folder), CV_ECHO(name), strerror(errno));
}

/* Compressed by the cores of this machine, unless the output is already. */
static enum cleave_status pack(const struct cv_pack_format *format,
                               const struct cleave_kept_output *output, int to,
                               struct cleave_error *err)
{
    struct cv_packed_sink *packed;
    int in, wrong;

    CV_TRY(cv_packed_sink_open(format, to, cv_usable_cores(), &packed, &in, err));
    wrong = cv_copy_range(output->descriptor, output->begin, output->end, in);
    CV_TRY(cv_packed_sink_close(packed, wrong == 0, err));
    return wrong == 0 ? CLEAVE_OK : cv_fail(err, CLEAVE_EENGINE, "%s", strerror(wrong));
}

static enum cleave_status write_file(const struct cv_part_files *files, const char *path,
                                     const struct cleave_kept_output *output,
                                     struct cleave_error *err)
{
    struct cv_new_file file = { .fd = -1 };
    enum cleave_status status = cv_new_file_open(path, CV_NEW_FILE_HASTY, &file, err);
    int wrong = 0;

    if (status == CLEAVE_OK && files->format != NULL)
        status = pack(files->format, output, file.fd, err);
    else if (status == CLEAVE_OK)
        wrong = cv_copy_range(output->descriptor, output->begin, output->end, file.fd);
    if (wrong != 0)
        status = cv_fail(err, CLEAVE_EENGINE, "%s", strerror(wrong));
    if (status == CLEAVE_OK)
        status = cv_new_file_place(&file, err);
    if (status == CLEAVE_OK)
        return cv_new_file_close(&file, err);
    cv_new_file_drop(&file);
    return status;
}

static enum cleave_status keep(void *context, const struct cleave_kept_output *output,
                               struct cleave_error *err)
{
    struct cv_part_files *files = context;
    struct cv_text path = { NULL, 0, 0, false };
    enum cleave_status status = CLEAVE_OK;
    struct cleave_error why;

    cv_text_add(&path, "%s%s%0*llu%s", files->folder, files->head, DIGITS,
                (unsigned long long)output->first_byte, files->tail);
    if (path.failed || !CV_ROOM(files->written, &files->capacity, files->count + 1))
        status = cv_fail_memory(err, "--output");
    if (status == CLEAVE_OK && write_file(files, path.bytes, output, &why) != CLEAVE_OK)
        status = cv_fail(err, CLEAVE_EENGINE, "--output: cannot write '%s': %s",
                         CV_ECHO(path.bytes), why.text);
    if (status == CLEAVE_OK)
        files->written[files->count++] = output->first_byte;
    cv_text_done(&path);
    return status;
}

int cv_part_files_open(const struct cv_run_options *values, struct cv_arena *arena,
                       struct cv_part_files **out, struct cleave_output *request)
{
    const char *path = values->output, *place = strstr(path, PLACE);
    const size_t folder = cv_folder_length(path);
    struct cv_part_files *files = cv_need(arena, 1, sizeof *files, "--output");

    if ((size_t)(place - path) < folder || strstr(place + 1, PLACE) != NULL)
        return cv_refuse("--output: expected " PLACE " once and in the last name, as in "
                         "DIR/part-" PLACE ", got '%s'",
                         CV_ECHO(path));
    files->folder = cv_arena_print(arena, "%.*s", (int)folder, path);
    files->head = cv_arena_print(arena, "%.*s", (int)(place - path - (ptrdiff_t)folder),
                                 path + folder);
    files->tail = place + strlen(PLACE);
    files->format = cv_pack_format_find(path);
    if (files->folder == NULL || files->head == NULL)
        return cv_no_memory("--output");
    CV_CALL(cv_folders_make(path, &err));
    if (!values->resume)
        CV_DO(for_each_file(files, refuse_older));
    request->keep = keep;
    request->keep_context = files;
    request->unordered = true; /* each file as soon as its chunk is done */
    *out = files;
    return CV_EXIT_DONE;
}

int cv_part_files_close(struct cv_part_files *files, bool whole, bool resumed, int status)
{
    int removed = CV_EXIT_DONE;

    if (files == NULL)
        return status;
    if (files->count > 0)
        qsort(files->written, files->count, sizeof *files->written, by_number);
    if (whole && resumed)
        removed = for_each_file(files, remove_stale);
    free(files->written);
    return status == CV_EXIT_DONE ? removed : status;
}
