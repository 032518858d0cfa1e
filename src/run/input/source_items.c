/* source_items.c -- a source whose bytes are items. SPDX-License-Identifier: MIT
 *
 * Items that are known by their numbers are shared out like the bytes of a file that has as
 * many: one without content, whose records have one byte. So whoever takes, puts back and
 * counts pieces does so with items, too. If more of them may come, the file grows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cleave/execute.h>
#include "base/fail.h"
#include "run/input/source_internal.h"
#include "run/split/split_kind.h"

static enum cleave_status make_file(struct cv_source_file *file, uint64_t count,
                                    struct cleave_error *err)
{
    struct stat now;

    *file = (struct cv_source_file){ .fd = memfd_create("items", MFD_CLOEXEC) };
    if (file->fd < 0 || ftruncate(file->fd, (off_t)count) != 0 ||
        fstat(file->fd, &now) != 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot number the items: %s",
                       strerror(errno));
    file->device = (uint64_t)now.st_dev;
    file->inode = (uint64_t)now.st_ino;
    file->size = count;
    file->mtime_ns = (int64_t)now.st_mtim.tv_sec * 1000000000 + now.st_mtim.tv_nsec;
    file->name = strdup("items");
    file->path = strdup("items");
    return file->name != NULL && file->path != NULL ? CLEAVE_OK
                                                    : cv_fail_memory(err, "the items");
}

enum cleave_status cv_source_open_items(const struct cleave_items *items, uint64_t hold,
                                        const struct cv_splitter *splitter,
                                        struct cv_source **out, struct cleave_error *err)
{
    const uint64_t count = items->count;
    struct cv_source *source = calloc(1, sizeof *source);
    enum cleave_status status = CLEAVE_OK;

    if (source != NULL)
        source->files = calloc(1, sizeof *source->files);
    if (source == NULL || source->files == NULL) {
        free(source);
        return cv_fail_memory(err, "the items");
    }
    source->splitter = splitter;
    source->raw = true;
    source->nfiles = 1; /* it is open from here on, and stays so */
    source->total = count;
    source->items = items;
    source->items_hold = hold;
    source->items_come = items->more != NULL;
    cv_range_set_init(&source->pending);
    status = make_file(source->files, count, err);
    cv_cut_file_init(&source->files->cut, splitter, "items", source->files->fd, count);
    if (status == CLEAVE_OK)
        status = cv_range_set_put(&source->pending, 0, count, err);
    if (status == CLEAVE_OK)
        *out = source;
    else
        cv_source_free(source);
    return status;
}

enum cleave_status cv_source_take_item(struct cv_source *source, uint64_t item,
                                       enum cv_take *state, struct cv_piece *out,
                                       struct cleave_error *err)
{
    const struct cv_range body = { item, item + 1 };
    struct cv_range waiting;
    struct cv_piece piece;

    *state = CV_TAKE_END;
    if (!cv_range_set_find(&source->pending, item, &waiting) || waiting.begin > item)
        return CLEAVE_OK;
    CV_TRY(cv_source_use(source, 0, err));
    CV_TRY(cv_source_make(source, 0, body, &piece, err));
    CV_TRY(cv_range_set_remove(&source->pending, item, item + 1, err));
    cv_source_at_work(source, &piece, true);
    *state = CV_TAKE_PIECE;
    *out = piece;
    return CLEAVE_OK;
}

/* --- items that come while others are done ----------------------------------------- */

enum cleave_status cv_source_items_pump(struct cv_source *source,
                                        struct cleave_error *err)
{
    const struct cleave_items *items = source->items;
    struct cv_source_file *file = source->files;
    uint64_t count = source->total;
    bool ended = false;

    CV_TRY(items->more(items->context, &count, &ended, err));
    if (count > source->total)
        CV_TRY(cv_range_set_put(&source->pending, source->total, count, err));
    source->total = file->size = file->cut.size = count;
    source->items_come = !ended;
    return CLEAVE_OK;
}
