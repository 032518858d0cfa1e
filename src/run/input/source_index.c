/* source_index.c -- FILE.cleave-index: boundaries of a file that are found once.
 * SPDX-License-Identifier: MIT
 *
 * Lines of text: splitter and identity of the file, then the first boundary at or after each
 * multiple of a number of bytes, then a hash of all that. For splitters that would have to read
 * the file from its start. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include "base/arena.h"
#include "base/fail.h"
#include "base/new_file.h"
#include "base/text.h"
#include "base/write_all.h"
#include "run/input/source_kind.h"
#include "run/split/split_kind.h"

enum { MOST_BYTES = 8 << 20, HASH_LINE = 21 }; /* "end 0123456789abcdef\n" */

bool cv_source_index_helps(const struct cv_splitter *splitter)
{
    return splitter->kind->needs_pass ||
           (splitter->group != NULL && cv_group_records(splitter) > 0);
}

static void add_head(struct cv_text *out, const struct cv_source_file *file)
{
    const uint64_t bytes = file->decoded != NULL ? file->packed_size : file->size;

    cv_text_add(out, "cleave index 1\nsplit %s\n", cv_splitter_text(file->cut.splitter));
    cv_text_add(out, "file %" PRIu64 " %" PRId64 "\n", bytes, file->mtime_ns);
}

char *cv_source_index_name(const struct cv_source_file *file)
{
    char *name = NULL;

    return asprintf(&name, "%s.cleave-index", file->path) < 0 ? NULL : name;
}

static enum cleave_status refuse(const char *name, const char *why,
                                 struct cleave_error *err)
{
    return cv_fail_at(err, CV_FILE(name),
                      "%s: make it again by cleave split with pieces.index and "
                      "pieces.replace, or remove it",
                      why);
}

/* --- reading -------------------------------------------------------------------------------- */

static bool read_number(const char **at, char end, uint64_t *out)
{
    char *behind;

    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    *out = strtoull(*at, &behind, 10);
    *at = behind + 1;
    return errno == 0 && *behind == end;
}

static bool read_slots(struct cv_cut_file *cut, const char *at)
{
    uint64_t grain, count, last = 0;

    if (strncmp(at, "slots ", 6) != 0)
        return false;
    at += 6;
    if (!read_number(&at, ' ', &grain) || !read_number(&at, '\n', &count) || grain == 0 ||
        count == 0 || count > MOST_BYTES / sizeof *cut->slots)
        return false;
    if (!CV_ROOM(cut->slots, &cut->slots_capacity, (size_t)count))
        return false;
    for (cut->nslots = 0; cut->nslots < count; cut->nslots++) {
        uint64_t slot;

        if (!read_number(&at, '\n', &slot) || slot < last || slot > cut->size ||
            (slot < cut->nslots * grain && slot != cut->size))
            return false;
        cut->slots[cut->nslots] = last = slot;
    }
    cut->grain = grain;
    return strncmp(at, "end ", 4) == 0;
}

static enum cleave_status read_index(struct cv_source_file *file, const char *name,
                                     const char *text, size_t length,
                                     struct cleave_error *err)
{
    struct cv_text head = { .bytes = NULL };
    const char *of = NULL;
    bool ours, same, good;
    char hash[HASH_LINE + 1];

    add_head(&head, file);
    if (head.failed)
        return cv_fail_memory(err, "an index of the input");
    of = strstr(head.bytes, "\nfile ") + 1;
    ours =
        length > head.length && memcmp(text, head.bytes, (size_t)(of - head.bytes)) == 0;
    same = ours && memcmp(text, head.bytes, head.length) == 0;
    good = length > HASH_LINE && memcmp(text, "cleave index 1\n", 15) == 0;
    if (good) {
        snprintf(hash, sizeof hash, "end %016" PRIx64 "\n",
                 (uint64_t)XXH3_64bits(text, length - HASH_LINE));
        good = memcmp(text + length - HASH_LINE, hash, HASH_LINE) == 0;
    }
    if (good && same && !read_slots(&file->cut, text + head.length)) {
        file->cut.nslots = 0;
        good = false;
    }
    cv_text_done(&head);
    if (!good)
        return refuse(name, "damaged, or no index", err);
    return ours && !same ? refuse(name, "the file has changed since it was made", err)
                         : CLEAVE_OK;
}

static enum cleave_status read_file(struct cv_source_file *file, const char *name, int fd,
                                    struct cleave_error *err)
{
    enum cleave_status status;
    struct stat now;
    char *text;
    ssize_t got;

    if (fstat(fd, &now) != 0 || now.st_size > MOST_BYTES)
        return refuse(name, "damaged, or no index", err);
    text = calloc(1, (size_t)now.st_size + 1);
    if (text == NULL)
        return cv_fail_memory(err, "an index of the input");
    got = pread(fd, text, (size_t)now.st_size, 0);
    status = got < 0 ? refuse(name, strerror(errno), err)
                     : read_index(file, name, text, (size_t)got, err);
    free(text);
    return status;
}

enum cleave_status cv_source_file_index(struct cv_source_file *file,
                                        struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    char *name;
    int fd;

    if (file->borrowed || file->fetched != NULL ||
        !cv_source_index_helps(file->cut.splitter))
        return CLEAVE_OK;
    name = cv_source_index_name(file);
    if (name == NULL)
        return cv_fail_memory(err, "an index of the input");
    fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* even if it is a FIFO */
    if (fd >= 0) {
        status = read_file(file, name, fd, err);
        close(fd);
    }
    free(name);
    return status;
}

/* --- writing -------------------------------------------------------------------------------- */

static enum cleave_status write_text(const char *name, const struct cv_text *text,
                                     bool force, struct cleave_error *err)
{
    struct cv_new_file out;
    struct cleave_error why;
    enum cleave_status status =
        cv_new_file_open(name, force ? 0 : CV_NEW_FILE_ONLY, &out, &why);
    const bool opened = status == CLEAVE_OK;

    if (opened) {
        const int error = cv_write_all(out.fd, text->bytes, text->length);

        if (error != 0)
            status = cv_fail(&why, CLEAVE_EENGINE, "%s", strerror(error));
    }
    CV_THEN(status, cv_new_file_place(&out, &why));
    if (opened)
        cv_new_file_drop(&out);
    if (status == CLEAVE_OK)
        return CLEAVE_OK;
    return cv_fail(err, status == CLEAVE_EREFUSED ? CLEAVE_EINPUT : status,
                   "cannot write '%s': %s", CV_SHOWN(name, 200),
                   status == CLEAVE_EREFUSED
                       ? "it exists; use pieces.replace to replace it"
                       : why.text);
}

enum cleave_status cv_source_file_make_index(struct cv_source_file *file, bool force,
                                             uint64_t *slots, struct cleave_error *err)
{
    struct cv_text text = { .bytes = NULL };
    char *name = cv_source_index_name(file);
    enum cleave_status status = CLEAVE_OK;
    uint64_t cut;

    if (file->size > 1)
        status = cv_cut_file_at(&file->cut, file->size - 1, &cut, err);
    if (status == CLEAVE_OK && file->cut.torn != UINT64_MAX)
        status = cv_source_fail_torn(file->name, file->cut.torn, err);
    add_head(&text, file);
    cv_text_add(&text, "slots %" PRIu64 " %zu\n", file->cut.grain,
                file->cut.nslots > 0 ? file->cut.nslots : 1);
    for (size_t i = 0; i < file->cut.nslots; i++)
        cv_text_add(&text, "%" PRIu64 "\n", file->cut.slots[i]);
    if (file->cut.nslots == 0)
        cv_text_add(&text, "0\n");
    if (!text.failed)
        cv_text_add(&text, "end %016" PRIx64 "\n",
                    (uint64_t)XXH3_64bits(text.bytes, text.length));
    *slots += file->cut.nslots;
    if (status == CLEAVE_OK && (name == NULL || text.failed))
        status = cv_fail_memory(err, "an index of the input");
    CV_THEN(status, write_text(name, &text, force, err));
    cv_text_done(&text);
    free(name);
    return status;
}
