/* part_files.c -- --output 'DIR/part-{chunk}': a file for each chunk. SPDX-License-Identifier: MIT
 *
 * {chunk} is the first byte of the chunk in the input, so that the names do not depend on the
 * order in which commands end, and a resumed run writes the same names. A resumed run removes the
 * files of the earlier run that are not in its journal.
 *
 * Each file first has a hidden name, with a random key of the run instead of {chunk} and "-NUMBER" at
 * its end. With --shared-output a host writes such a file, and this process renames it, so that one
 * attempt of a chunk counts. A client of a network file system may have cached that a name does
 * not exist, but not for a name that it has never looked up. All hidden names are new, so every machine
 * sees a file as soon as its writer has closed it: the file of the key alone, which hosts have to see,
 * and the output of a host. No machine has to wait. */
#include "cli/run/run_parts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/file_target.h"
#include "base/new_file.h"
#include "base/random.h"
#include "base/write_all.h"
#include "run/common/machine.h"
#include "run/pieces/packed_sink.h"

#define PLACE "{chunk}"
#define HEXADECIMAL "0123456789abcdef"
#define HIDDEN UINT64_MAX
enum { DIGITS = 15, KEY_DIGITS = 16 };

struct cv_part_files {
    const char *folder;                  /* with its last '/'; "" */
    const char *head, *tail;             /* of a name */
    const struct cv_pack_format *format; /* NULL: the files are not compressed */
    bool shared;                         /* --shared-output                        */
    const char *key;                     /* the hidden file with the key of the run */
    const char *own;   /* the hidden name of an output that is written here */
    uint64_t *written; /* owned: the first bytes of chunks */
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

/* Whether a name is a hidden name of this form, with the key of any run. */
static bool is_hidden(const struct cv_part_files *files, const char *name)
{
    const size_t head = strlen(files->head), tail = strlen(files->tail);

    if (name[0] != '.' || strncmp(++name, files->head, head) != 0 ||
        strspn(name += head, HEXADECIMAL) < KEY_DIGITS ||
        strncmp(name += KEY_DIGITS, files->tail, tail) != 0)
        return false;
    name += tail;
    return name[0] == '\0' || (name[0] == '-' && strlen(name) == 1 + KEY_DIGITS &&
                               strspn(name + 1, HEXADECIMAL) == KEY_DIGITS);
}

static int by_number(const void *a, const void *b)
{
    const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return (one > other) - (one < other);
}

/* Call `found` for each file of the form in the folder; it returns an exit status. The number of a
 * hidden file is HIDDEN. */
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
        if (is_hidden(files, entry->d_name))
            status = found(files, dirfd(folder), entry->d_name, HIDDEN);
        else if (has_form(files, entry->d_name, &number))
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
    if ((files->count > 0 && bsearch(&number, files->written, files->count, sizeof number,
                                     by_number) != NULL) ||
        unlinkat(folder, name, 0) == 0)
        return CV_EXIT_DONE;
    return cv_print_error(CV_EXIT_FAILED, "--output: cannot remove '%s%s': %s",
                          CV_ECHO(files->folder), CV_ECHO(name), strerror(errno));
}

/* Files that were not finished, of this run and of runs that were killed. */
static int remove_hidden(const struct cv_part_files *files, int folder, const char *name,
                         uint64_t number)
{
    return number == HIDDEN ? remove_stale(files, folder, name, number) : CV_EXIT_DONE;
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

static enum cleave_status fail_now(struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EENGINE, "%s", strerror(errno));
}

static enum cleave_status write_file(const struct cv_part_files *files,
                                     const char *hidden,
                                     const struct cleave_kept_output *output,
                                     struct cleave_error *err)
{
    const int fd = open(hidden, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    enum cleave_status status = fd >= 0 ? CLEAVE_OK : fail_now(err);

    if (status == CLEAVE_OK && files->format != NULL && !files->shared)
        status = pack(files->format, output, fd, err);
    else if (status == CLEAVE_OK &&
             (errno =
                  cv_copy_range(output->descriptor, output->begin, output->end, fd)) != 0)
        status = fail_now(err);
    if (fd >= 0 && close(fd) != 0 && status == CLEAVE_OK)
        status = fail_now(err);
    return status;
}

/* The output is complete here, and compressed if its name has such an ending. */
static enum cleave_status check_shared(const struct cv_part_files *files,
                                       const char *hidden, uint64_t bytes,
                                       struct cleave_error *err)
{
    const struct cv_pack_format *format = files->format;
    const size_t magic = format != NULL ? strlen(format->magic) : 0;
    const int fd = open(hidden, O_RDONLY | O_CLOEXEC);
    struct stat facts = { .st_size = -1 };
    char begin[16] = "";
    const bool read =
        fd >= 0 && fstat(fd, &facts) == 0 && pread(fd, begin, sizeof begin, 0) >= 0;

    if (fd >= 0)
        close(fd);
    if (!read || (uint64_t)facts.st_size != bytes)
        return cv_fail(err, CLEAVE_EENGINE,
                       "%" PRIu64
                       " bytes were written, and this machine does not see them",
                       bytes);
    if (magic > 0 && memcmp(begin, format->magic, magic) != 0)
        return cv_fail(err, CLEAVE_EENGINE,
                       "--shared-output compresses nothing: let the command do it, or "
                       "omit '%s'",
                       format->ending);
    return CLEAVE_OK;
}

static enum cleave_status put(const struct cv_part_files *files, const char *path,
                              const struct cleave_kept_output *output,
                              struct cleave_error *err)
{
    const char *hidden = output->file != NULL ? output->file : files->own;

    if (hidden[0] == '\0') /* the file has its name */
        return CLEAVE_OK;
    if (hidden == files->own)
        CV_TRY(write_file(files, hidden, output, err));
    if (files->shared)
        CV_TRY(check_shared(files, hidden, output->end - output->begin, err));
    return rename(hidden, path) == 0 ? CLEAVE_OK : fail_now(err);
}

static void print_path(const struct cv_part_files *files, uint64_t first_byte,
                       struct cv_text *out)
{
    *out = (struct cv_text){ NULL, 0, 0, false };
    cv_text_add(out, "%s%s%0*" PRIu64 "%s", files->folder, files->head, DIGITS,
                first_byte, files->tail);
}

static int find(void *context, uint64_t first_byte)
{
    struct cv_text path;
    int fd = -1;

    print_path(context, first_byte, &path);
    if (!path.failed)
        fd = open(path.bytes, O_RDONLY | O_CLOEXEC);
    cv_text_done(&path);
    return fd;
}

static enum cleave_status keep(void *context, const struct cleave_kept_output *output,
                               struct cleave_error *err)
{
    struct cv_part_files *files = context;
    enum cleave_status status = CLEAVE_OK;
    struct cleave_error why;
    struct cv_text path;

    print_path(files, output->first_byte, &path);
    if (path.failed || !CV_ROOM(files->written, &files->capacity, files->count + 1))
        status = cv_fail_memory(err, "--output");
    if (status == CLEAVE_OK && put(files, path.bytes, output, &why) != CLEAVE_OK)
        status = cv_fail(err, CLEAVE_EENGINE, "--output: cannot write '%s': %s",
                         CV_ECHO(path.bytes), why.text);
    if (status == CLEAVE_OK)
        files->written[files->count++] = output->first_byte;
    cv_text_done(&path);
    return status;
}

/* Make the hidden file of the key, with an absolute path: hosts have other current directories. */
static int open_hidden(struct cv_part_files *files, struct cv_arena *arena)
{
    char *here = files->folder[0] != '/' ? getcwd(NULL, 0) : strdup("");
    int fd = -1;

    if (here != NULL)
        files->key = cv_arena_print(arena, "%s%s%s.%s%016" PRIx64 "%s", here,
                                    here[0] != '\0' ? "/" : "", files->folder,
                                    files->head, cv_random_key(), files->tail);
    free(here);
    if (files->key != NULL)
        files->own = cv_arena_print(arena, "%s-%016x", files->key, 0);
    if (files->key != NULL && files->own != NULL)
        fd = open(files->key, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return cv_refuse("--output: cannot write to '%s': %s", CV_ECHO(files->folder),
                         strerror(errno));
    close(fd);
    return CV_EXIT_DONE;
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
    CV_DO(for_each_file(files, values->resume ? remove_hidden : refuse_older));
    CV_DO(open_hidden(files, arena));
    files->shared = values->shared_output != 0;
    request->shared = files->shared ? files->key : NULL;
    request->find = find;
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
    removed = for_each_file(files, whole && resumed ? remove_stale : remove_hidden);
    free(files->written);
    return status == CV_EXIT_DONE ? removed : status;
}
