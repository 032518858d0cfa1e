/* cut_near.c -- a record start of a FASTQ file, from the bytes near it.
 * SPDX-License-Identifier: MIT
 *
 * A line that begins with @ may be a name or a quality. So the search goes back, and
 * walks from every line there that begins with @ until a walk is not contradicted by what
 * it finds. Where every quality is one line, a walk from a quality meets a name in place
 * of the sequence at once. A quality of several lines may itself read like a record; but
 * once that quality is over, the wrong walk is contradicted or has become the right one.
 * Hence a walk is trusted after ENOUGH records: to be misled takes a quality of at least
 * four times as many lines that reads as ENOUGH records one after the other. As long as
 * fewer are found the search goes further back, in the end to the start of the file,
 * where there is nothing to guess. */
#include "run/input/cut_file.h"

#include <string.h>

#include "base/fail.h"
#include "run/split/split_kind.h"

enum {
    ENOUGH = 8,        /* records after which a walk is trusted */
    PIECE = 32 * 1024, /* read at a time                        */
};

/* Walk from what is taken for a record start to the first boundary at or after `offset`.
 * *contradicted tells whether it is none, *trusted whether it must be one. */
static enum cleave_status try_from(struct cv_cut_file *file, uint64_t start,
                                   uint64_t offset, uint64_t *out, bool *trusted,
                                   bool *contradicted, struct cleave_error *err)
{
    const uint64_t torn = file->torn;
    struct cv_walk walk;
    enum cleave_status status;

    cv_walk_init(&walk, start);
    walk.until = offset;
    status = cv_cut_file_walk(file, &walk, file->size, err);
    *trusted = start == file->lead || walk.found >= ENOUGH;
    *contradicted = walk.bad;
    if (!*trusted)
        file->torn = torn;
    if (status != CLEAVE_OK && (!walk.bad || *trusted))
        return status;
    *out = walk.boundary >= offset ? walk.boundary : file->size;
    return CLEAVE_OK;
}

/* The start of the next line at or after `from` that begins with @, or `limit`. */
static enum cleave_status next_at_sign(struct cv_cut_file *file, uint64_t from,
                                       uint64_t limit, uint64_t *out,
                                       struct cleave_error *err)
{
    /* One byte further back, to see whether a line begins at `from`. */
    for (uint64_t at = from - 1; at + 1 < limit;) {
        const char *bytes, *newline;
        size_t length;

        CV_TRY(cv_cut_file_read(file, at, 2, PIECE, &bytes, &length, err));
        newline = memchr(bytes, '\n', length - 1);
        if (newline == NULL) {
            at += length - 1;
            continue;
        }
        at += (size_t)(newline - bytes) + 1;
        if (newline[1] == '@' && at < limit) {
            *out = at;
            return CLEAVE_OK;
        }
    }
    *out = limit;
    return CLEAVE_OK;
}

enum cleave_status cv_cut_near(struct cv_cut_file *file, uint64_t offset, uint64_t *out,
                               struct cleave_error *err)
{
    uint64_t cut = 0;
    bool trusted = false, contradicted;

    for (uint64_t back = 2 * file->near; back + file->lead < offset && !trusted;
         back *= 4) {
        uint64_t start = offset - back;

        contradicted = true;
        for (; contradicted; start++) {
            CV_TRY(next_at_sign(file, start, offset, &start, err));
            if (start == offset)
                break;
            CV_TRY(try_from(file, start, offset, &cut, &trusted, &contradicted, err));
        }
    }
    if (!trusted)
        CV_TRY(try_from(file, file->lead, offset, &cut, &trusted, &contradicted, err));
    *out = cut;
    return CLEAVE_OK;
}
