/* source_index.c -- boundaries that are found once and kept beside a file.
 * SPDX-License-Identifier: MIT
 *
 * FILE.cleave-index is lines of text: what it is of, then the first boundary at or after each
 * multiple of a number of bytes, and at the end a hash of all that. A run that would have to read
 * the file from its start to find a boundary takes them from there. */
#include "run/input/source_internal.h"

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
#include "base/text.h"
#include "run/split/split_group.h"

enum { MOST_BYTES = 8 << 20, HASH_LINE = 21 }; /* "end 0123456789abcdef\n" */

bool cv_index_is_useful(const struct cv_splitter *splitter)
{
    return splitter->kind->needs_pass ||
           (cv_splitter_groups(splitter) && cv_group_records(splitter) > 0);
}

void cv_index_add_head(struct cv_text *out, const struct cv_source_file *file)
{
    const uint64_t bytes = file->decoded != NULL ? file->packed_size : file->size;

    cv_text_add(out, "cleave index 1\nsplit %s\n", cv_splitter_text(file->cut.splitter));
    cv_text_add(out, "file %" PRIu64 " %" PRId64 "\n", bytes, file->mtime_ns);
}

char *cv_index_name(const struct cv_source_file *file)
{
    char *name = NULL;

    return asprintf(&name, "%s.cleave-index", file->path) < 0 ? NULL : name;
}

static enum cleave_status refuse(const char *name, const char *why,
                                 struct cleave_error *err)
{
    const struct cv_place place = { name, 0, 0, NULL };

    return cv_fail_at(err, &place,
                      "%s: make it again by cleave split --index --force, or remove it",
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

/* Of a text that ends in its hash. */
static enum cleave_status read_index(struct cv_source_file *file, const char *name,
                                     const char *text, size_t length,
                                     struct cleave_error *err)
{
    struct cv_text head = { .bytes = NULL };
    const char *of = NULL;
    bool ours, same, good;
    char hash[HASH_LINE + 1];

    cv_index_add_head(&head, file);
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

/* All of an open file, with a zero behind it. */
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
        !cv_index_is_useful(file->cut.splitter))
        return CLEAVE_OK;
    name = cv_index_name(file);
    if (name == NULL)
        return cv_fail_memory(err, "an index of the input");
    fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* whatever it is, nobody waits */
    if (fd >= 0) {
        status = read_file(file, name, fd, err);
        close(fd);
    }
    free(name);
    return status;
}
