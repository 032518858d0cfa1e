/* source_limit.c -- records that are too long. SPDX-License-Identifier: MIT
 *
 * A record is given to one command, and one of a stream is kept in memory until its end has
 * come. An input without the ends that were expected is one record without end: that is
 * said before it has taken all memory. */
#include <inttypes.h>

#include "base/fail.h"
#include "run/input/source_internal.h"

static enum cleave_status too_long(const char *name, uint64_t offset, uint64_t max,
                                   struct cleave_error *err)
{
    const struct cv_place place = { name, 0, 0, NULL };

    return cv_fail_at(err, &place,
                      "the record from byte %" PRIu64 " on is longer than %" PRIu64
                      " bytes (is it split as it should be? --max-record allows more)",
                      offset, max);
}

/* --- streams -------------------------------------------------------------------------------- */

enum cleave_status cv_stream_limit(const struct cv_source *source, const char *bytes,
                                   uint64_t begin, uint64_t end, struct cleave_error *err)
{
    const uint64_t max = source->max_record;
    struct cv_cut_window window;
    size_t cut;

    if (max == 0 || end - begin <= max)
        return CLEAVE_OK;
    cv_cut_window_again(&window, &source->stream->window, begin);
    for (; end - begin > max; begin += cut, bytes += cut) {
        CV_TRY(cv_cut_window_find(&window, bytes, (size_t)(end - begin), true,
                                  (size_t)max, &cut, err));
        if (cut > max)
            return too_long(source->stream->name, begin, max, err);
        cv_cut_window_take(&window, cut);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_stream_limit_rest(const struct cv_source *source, uint64_t begin,
                                        struct cleave_error *err)
{
    const struct cv_stream *stream = source->stream;

    if (source->max_record == 0 || stream->received - begin <= source->max_record)
        return CLEAVE_OK;
    return too_long(stream->name, begin, source->max_record, err);
}

/* --- files ---------------------------------------------------------------------------------- */

/* Where the record begins that ends at `end`, somewhere in (begin, end). `inside` is in it. */
static enum cleave_status find_start(struct cv_cut_file *file, uint64_t begin,
                                     uint64_t inside, uint64_t end, uint64_t *out,
                                     struct cleave_error *err)
{
    while (inside - begin > 1) {
        const uint64_t middle = begin + (inside - begin) / 2;
        uint64_t boundary;

        CV_TRY(cv_cut_file_at(file, middle, &boundary, err));
        if (boundary < end)
            begin = boundary;
        else
            inside = middle;
    }
    *out = begin;
    return CLEAVE_OK;
}

/* Records of [begin, end), which are boundaries. Of records that are short, only those are
 * looked for that are half of what is allowed apart. */
static enum cleave_status limit_file(struct cv_cut_file *file, uint64_t begin,
                                     uint64_t end, uint64_t max, struct cleave_error *err)
{
    while (end - begin > max) {
        const uint64_t inside = begin + 1 + max / 2;
        uint64_t boundary, start = begin;

        CV_TRY(cv_cut_file_at(file, inside, &boundary, err));
        if (boundary - begin > max) {
            CV_TRY(find_start(file, begin, inside, boundary, &start, err));
            if (boundary - start > max)
                return too_long(file->name, start, max, err);
        }
        begin = boundary;
    }
    return CLEAVE_OK;
}

enum cleave_status cv_source_limit(struct cv_source *source, const struct cv_piece *piece,
                                   struct cleave_error *err)
{
    const uint64_t max = source->max_record;

    if (max == 0 || source->stream != NULL)
        return CLEAVE_OK;
    CV_TRY(limit_file(&source->files[piece->file].cut, piece->body.begin, piece->body.end,
                      max, err));
    return source->mate == NULL ? CLEAVE_OK
                                : limit_file(&source->mate->cut, piece->mate.begin,
                                             piece->mate.end, max, err);
}
