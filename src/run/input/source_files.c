/* source_files.c -- the regular files of a source. SPDX-License-Identifier: MIT
 *
 * A file is open only while pieces of it are taken or at work, so that there may be more
 * files than descriptors. What it was at first is remembered, and compared whenever it is
 * opened again. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/bisect.h"
#include "base/fail.h"
#include "run/decode/decoded_file.h"
#include "run/fetch/fetch.h"
#include "run/input/source_internal.h"
#include "run/split/split_kind.h"

static int64_t mtime_ns(const struct stat *now)
{
    return (int64_t)now->st_mtim.tv_sec * 1000000000 + now->st_mtim.tv_nsec;
}

static int64_t ctime_ns(const struct stat *now)
{
    return (int64_t)now->st_ctim.tv_sec * 1000000000 + now->st_ctim.tv_nsec;
}

static enum cleave_status cannot(struct cleave_error *err, const char *name,
                                 const char *what)
{
    const struct cv_place place = { name, 0, 0, NULL };

    return cv_fail_at(err, &place, "cannot %s: %s", what, strerror(errno));
}

/* Standard input can be used like a file if it is one, from its start on. */
static bool plain_file(const char *path, const struct stat *now)
{
    return S_ISREG(now->st_mode) &&
           (strcmp(path, "-") != 0 || lseek(STDIN_FILENO, 0, SEEK_CUR) == 0);
}

/* Files of /proc say that they have no bytes, and have some; those of /sys say a page, and have
 * fewer, and no place on a disk. */
static bool misstates(int fd, const struct stat *now)
{
    char byte;

    if (now->st_size == 0)
        return pread(fd, &byte, 1, 0) > 0;
    return now->st_blocks == 0 && pread(fd, &byte, 1, now->st_size - 1) == 0;
}

enum cleave_status cv_source_file_init(struct cv_source_file *file, const char *path,
                                       bool *is_stream, struct cleave_error *err)
{
    const bool standard = strcmp(path, "-") == 0;
    const struct cv_place place = { path, 0, 0, NULL };
    struct stat now;

    *file = (struct cv_source_file){ .fd = -1 };
    if ((standard ? fstat(STDIN_FILENO, &now) : stat(path, &now)) != 0)
        return cannot(err, standard ? "standard input" : path, "read");
    if (S_ISDIR(now.st_mode))
        return cv_fail_at(err, &place, "expected a file, got a directory");
    *is_stream = !plain_file(path, &now);
    if (*is_stream)
        return CLEAVE_OK;
    file->borrowed = standard;
    file->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0 || fstat(file->fd, &now) != 0)
        return cannot(err, path, "read");
    *is_stream = misstates(file->fd, &now);
    if (*is_stream) {
        if (!standard)
            close(file->fd);
        file->fd = -1;
        return CLEAVE_OK;
    }
    file->device = (uint64_t)now.st_dev;
    file->inode = (uint64_t)now.st_ino;
    file->size = (uint64_t)now.st_size;
    file->mtime_ns = mtime_ns(&now);
    file->ctime_ns = ctime_ns(&now);
    file->name = strdup(standard ? "standard input" : path);
    file->path = standard ? strdup(path) : realpath(path, NULL);
    if (file->path == NULL) /* /dev/fd/3 may lead to a file that has no name any more */
        file->path = strdup(path);
    if (file->name == NULL || file->path == NULL)
        return cv_fail_memory(err, "an input");
    cv_source_file_close(file);
    return CLEAVE_OK;
}

enum cleave_status cv_source_file_fetch(struct cv_source_file *file, const char *name,
                                        const struct cv_source_options *options,
                                        struct cleave_error *err)
{
    *file = (struct cv_source_file){ .fd = -1 };
    file->name = strdup(name);
    file->path = strdup(name);
    if (file->name == NULL || file->path == NULL)
        return cv_fail_memory(err, "an input");
    CV_TRY(cv_fetch_size(options->size, file->name, &file->size, err));
    return cv_fetched_new(options->fetch, file->name, file->size, &file->fetched, err);
}

void cv_source_file_done(struct cv_source_file *file)
{
    cv_source_file_close(file);
    cv_decoded_file_free(file->decoded);
    file->decoded = NULL;
    cv_fetched_free(file->fetched);
    file->fetched = NULL;
    free(file->name);
    free(file->path);
    free(file->tail);
    free(file->header);
    file->name = file->path = file->tail = file->header = NULL;
}

void cv_source_file_close(struct cv_source_file *file)
{
    if (file->fd >= 0) {
        cv_cut_file_done(&file->cut);
        if (file->decoded != NULL)
            cv_decoded_file_use(file->decoded, -1);
        if (!file->borrowed)
            close(file->fd);
    }
    file->fd = -1;
}

enum cleave_status cv_source_file_use(struct cv_source_file *file,
                                      const struct cv_splitter *splitter,
                                      struct cleave_error *err)
{
    if (file->fd >= 0)
        return CLEAVE_OK;
    /* Of what is fetched nothing is open; the descriptor only says that it is in use. */
    file->fd = file->borrowed ? STDIN_FILENO
                              : open(file->fetched != NULL ? "/dev/null" : file->path,
                                     O_RDONLY | O_CLOEXEC);
    if (file->fd < 0)
        return cannot(err, file->name, "read");
    cv_cut_file_init(&file->cut, splitter, file->name, file->fd, file->size);
    if (file->decoded != NULL) {
        cv_decoded_file_use(file->decoded, file->fd);
        file->cut.well = cv_decoded_file_reader(file->decoded);
    }
    if (file->fetched != NULL)
        file->cut.well = cv_fetched_well(file->fetched);
    CV_TRY(cv_source_file_unchanged(file, err));
    return file->ignores ? CLEAVE_OK : cv_source_file_index(file, err);
}

enum cleave_status cv_source_file_unchanged(struct cv_source_file *file,
                                            struct cleave_error *err)
{
    const struct cv_place place = { file->name, 0, 0, NULL };
    const uint64_t size = file->decoded != NULL ? file->packed_size : file->size;
    struct stat now;

    if (file->fetched != NULL)
        return CLEAVE_OK;
    if (fstat(file->fd, &now) != 0)
        return cannot(err, file->name, "read");
    if ((uint64_t)now.st_size != size)
        return cv_fail_at(err, &place,
                          "changed while it was in use: %" PRIu64 " bytes at first, "
                          "now %" PRIu64,
                          size, (uint64_t)now.st_size);
    if ((uint64_t)now.st_dev != file->device || (uint64_t)now.st_ino != file->inode)
        return cv_fail_at(err, &place, "changed while it was in use: now another file");
    if (mtime_ns(&now) != file->mtime_ns)
        return cv_fail_at(err, &place, "changed while it was in use: written to");
    /* A link, a new name and other rights change it as well, so that it is no proof. */
    file->touched = file->touched || ctime_ns(&now) != file->ctime_ns;
    return CLEAVE_OK;
}

size_t cv_source_file_at(const struct cv_source *source, uint64_t address)
{
    size_t n;

    /* The last file that does not begin after the address: none without bytes, as the
     * next one begins where such a file does. */
    CV_BISECT(n, source->nfiles, i, source->files[i].base <= address);
    return n > 0 ? n - 1 : 0;
}

/* --- files that cannot be decoded to their end ------------------------------------- */

enum { STEP = 64 * 1024 };

/* Where the last record that is whole ends. */
static enum cleave_status last_record(struct cv_source_file *file, uint64_t *out,
                                      struct cleave_error *err)
{
    uint64_t step = STEP, found = 0, next = 0;
    enum cv_closing closing;

    /* What ends in a byte of its own shows that it is whole. */
    CV_TRY(cv_cut_file_closing(&file->cut, &closing, err));
    if (file->cut.splitter->kind->ends_in_byte && closing == CV_CLOSING_NONE) {
        *out = file->size;
        return CLEAVE_OK;
    }
    /* Further and further back, until a record begins there before the end. */
    for (;;) {
        const uint64_t from = file->size > step ? file->size - step : 0;

        CV_TRY(cv_cut_file_at(&file->cut, from, &found, err));
        if (found < file->size || from == 0)
            break;
        step *= 4;
    }
    while (next < file->size) {
        *out = found;
        CV_TRY(cv_cut_file_at(&file->cut, found + 1, &next, err));
        found = next;
    }
    return CLEAVE_OK;
}

/* Let a file end before what cannot be decoded. */
static enum cleave_status shorten(struct cv_source *source, struct cv_source_file *file,
                                  uint64_t good_end, struct cleave_error *err)
{
    const uint64_t record = source->splitter->record_bytes;
    uint64_t end = good_end;

    CV_TRY(cv_source_file_use(file, source->splitter, err));
    cv_cut_file_done(&file->cut);
    cv_cut_file_init(&file->cut, source->splitter, file->name, file->fd, good_end);
    file->cut.well = cv_decoded_file_reader(file->decoded);
    file->size = good_end;
    if (record > 0)
        end -= end % record;
    else if (end > 0)
        CV_TRY(last_record(file, &end, err));
    cv_cut_file_done(&file->cut);
    cv_cut_file_init(&file->cut, source->splitter, file->name, file->fd, end);
    file->cut.well = cv_decoded_file_reader(file->decoded);
    file->size = end;
    source->total_good =
        file->base + end; /* outputs are in order: none behind could be written */
    return CLEAVE_OK;
}

/* What waits from now on. */
static enum cleave_status wait_for(struct cv_source *source,
                                   const struct cv_range_set *left,
                                   struct cleave_error *err)
{
    struct cv_range range;

    CV_TRY(cv_range_set_remove(&source->pending, 0, source->total, err));
    for (uint64_t at = 0; cv_range_set_find(left, at, &range); at = range.end) {
        const uint64_t end =
            range.end < source->total_good ? range.end : source->total_good;

        if (range.begin < end)
            CV_TRY(cv_range_set_put(&source->pending, range.begin, end, err));
    }
    return CLEAVE_OK;
}

bool cv_source_shorten(struct cv_source *source, const struct cv_range_set *left)
{
    bool some = false;

    if (source->stream != NULL || source->mate != NULL)
        return false;
    for (size_t i = 0; i < source->nfiles && !some; i++) {
        struct cv_source_file *file = &source->files[i];
        struct cleave_error damage;
        uint64_t good_end;

        file->at_work = 0;
        if (file->decoded == NULL ||
            !cv_decoded_file_damaged(file->decoded, &good_end, &damage) ||
            good_end >= file->size)
            continue;
        if (shorten(source, file, good_end, NULL) != CLEAVE_OK)
            return false;
        source->damage = damage;
        source->shortened = some = true;
    }
    return some && wait_for(source, left, NULL) == CLEAVE_OK;
}

bool cv_source_is_short(const struct cv_source *source)
{
    return source->shortened;
}
