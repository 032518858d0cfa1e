/* cut_read.c -- the bytes of a file that is cut, and walks over them.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/signal_name.h"
#include "run/input/cut_file.h"
#include "run/common/piece_part.h"
#include "run/split/split_kind.h"

enum {
    BLOCK = 128 * 1024, /* read at a time by a walk   */
    GRAIN = 64 * 1024,  /* least bytes between slots  */
    SLOTS_MOST = 1 << 16,
};

void cv_cut_file_init(struct cv_cut_file *file, const struct cv_splitter *splitter,
                      const char *name, int fd, uint64_t size)
{
    *file = (struct cv_cut_file){
        .splitter = splitter,
        .name = name,
        .fd = fd,
        .size = size,
        .torn = UINT64_MAX,
        .near = CV_CUT_NEAR,
        .grain = size / SLOTS_MOST > GRAIN ? size / SLOTS_MOST : GRAIN,
    };
}

void cv_cut_file_done(struct cv_cut_file *file)
{
    if (file == NULL)
        return;
    free(file->block);
    free(file->slots);
    file->block = NULL;
    file->slots = NULL;
    file->held = file->capacity = file->nslots = file->slots_capacity = 0;
}

uint64_t cv_cut_file_incomplete_record(const struct cv_cut_file *file)
{
    return file->torn;
}

static enum cleave_status fill(struct cv_cut_file *file, uint64_t offset, size_t length,
                               struct cleave_error *err)
{
    const struct cv_place place = { file->name, 0, 0, NULL };

    /* To read all of a large file may take minutes. */
    if (cv_signal_waits())
        return cv_fail_stopped(err);
    if (!CV_ROOM(file->block, &file->capacity, length))
        return cv_fail_memory(err, "a block of the input");
    file->block_at = offset;
    file->held = 0;
    while (file->well != NULL && file->held < length) {
        size_t got;

        CV_TRY(file->well->read(file->well, offset + file->held, file->block + file->held,
                                length - file->held, &got, err));
        if (got == 0)
            return cv_fail_at(err, &place, "expected %" PRIu64 " bytes, got %" PRIu64,
                              file->size, offset + file->held);
        file->held += got;
    }
    while (file->held < length) {
        const ssize_t got = pread(file->fd, file->block + file->held, length - file->held,
                                  (off_t)(offset + file->held));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cv_fail_at(err, &place, "cannot read at byte %" PRIu64 ": %s",
                              offset + file->held, strerror(errno));
        if (got == 0)
            return cv_fail_at(err, &place, "expected %" PRIu64 " bytes, got %" PRIu64,
                              file->size, offset + file->held);
        file->held += (size_t)got;
    }
    return CLEAVE_OK;
}

enum cleave_status cv_cut_file_read(struct cv_cut_file *file, uint64_t offset, size_t min,
                                    size_t block, const char **bytes, size_t *length,
                                    struct cleave_error *err)
{
    const uint64_t left = file->size - offset;

    if (min > left)
        min = (size_t)left;
    if (block < min)
        block = min;
    if (offset < file->block_at || offset - file->block_at > file->held ||
        file->held - (size_t)(offset - file->block_at) < min)
        CV_TRY(fill(file, offset, block < left ? block : (size_t)left, err));
    *bytes = file->block + (size_t)(offset - file->block_at);
    *length = file->held - (size_t)(offset - file->block_at);
    return CLEAVE_OK;
}

/* Let a walk that begins behind the start know what stands there. */
static enum cleave_status learn_form(struct cv_cut_file *file, struct cv_walk *walk,
                                     struct cleave_error *err)
{
    const char *bytes;
    size_t length;

    if (file->splitter->kind->form == NULL || walk->form != 0 || walk->at == 0)
        return CLEAVE_OK;
    if (file->form == 0) {
        CV_TRY(
            cv_cut_file_read(file, 0, CV_FORM_LOOK, CV_FORM_LOOK, &bytes, &length, err));
        file->form = file->splitter->kind->form(bytes, length);
    }
    walk->form = file->form;
    return CLEAVE_OK;
}

enum cleave_status cv_cut_file_walk(struct cv_cut_file *file, struct cv_walk *walk,
                                    uint64_t limit, struct cleave_error *err)
{
    const struct cv_split_kind *kind = file->splitter->kind;

    CV_TRY(learn_form(file, walk, err));
    while (walk->at < limit && walk->boundary < walk->until && walk->found < walk->max) {
        const char *bytes;
        size_t length;
        enum cleave_status status;

        CV_TRY(cv_cut_file_read(file, walk->at, 1, kind->leaps ? CV_CUT_NEAR : BLOCK,
                                &bytes, &length, err));
        if (length > limit - walk->at)
            length = (size_t)(limit - walk->at);
        status = kind->walk(file->splitter, walk, bytes, length, err);
        if (status != CLEAVE_OK) {
            if (err != NULL && file->name != NULL)
                snprintf(err->file, sizeof err->file, "%s", file->name);
            return status;
        }
    }
    if (walk->at > file->size || (walk->at == file->size && !kind->whole(walk)))
        file->torn = walk->boundary;
    return CLEAVE_OK;
}
