/* source_marks.c -- boundaries of a stream that are remembered: numbers of records, cuts.
 * SPDX-License-Identifier: MIT
 *
 * Cuts are looked for in a window from a boundary on, as what was before may have been
 * given back. */
#include "run/input/source_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bisect.h"
#include "base/fail.h"

/* --- records ---------------------------------------------------------------------------- */

/* Records of [begin, end), which may lie in several stretches. */
static enum cleave_status count(const struct cv_stream *stream, uint64_t begin,
                                uint64_t end, uint64_t *out, struct cleave_error *err)
{
    uint64_t total = 0, some, stretch_end;

    for (; begin < end; begin = stretch_end) {
        const char *bytes = cv_spool_at(&stream->spool, begin, &stretch_end);

        if (stretch_end > end)
            stretch_end = end;
        CV_TRY(cv_splitter_count_from(stream->window.splitter, stream->window.walk.form,
                                      begin, bytes, (size_t)(stretch_end - begin), &some,
                                      err));
        total += some;
    }
    *out = total;
    return CLEAVE_OK;
}

size_t cv_stream_marks_before(const struct cv_stream *stream, uint64_t offset)
{
    size_t before;

    CV_BISECT(before, stream->nmarks, i, stream->marks[i].offset < offset);
    return before;
}

/* Records before `offset`, counted on from the last mark, or from the start of the stream:
 * whatever begins a piece has one. */
static enum cleave_status number(const struct cv_stream *stream, uint64_t offset,
                                 uint64_t *out, struct cleave_error *err)
{
    const size_t index = cv_stream_marks_before(stream, offset + 1);
    const struct cv_stream_mark none = { 0, 0 };
    const struct cv_stream_mark *mark = index > 0 ? &stream->marks[index - 1] : &none;
    uint64_t some;

    CV_TRY(count(stream, mark->offset, offset, &some, err));
    *out = mark->records + some;
    return CLEAVE_OK;
}

enum cleave_status cv_stream_mark(struct cv_stream *stream, size_t index,
                                  struct cv_stream_mark mark, struct cleave_error *err)
{
    struct cv_stream_mark *at;

    if (!CV_ROOM(stream->marks, &stream->marks_capacity, stream->nmarks + 1))
        return cv_fail_memory(err, "an index of the input");
    at = stream->marks + index;
    memmove(at + 1, at, (stream->nmarks - index) * sizeof *at);
    *at = mark;
    stream->nmarks++;
    return CLEAVE_OK;
}

enum cleave_status cv_stream_number(struct cv_stream *stream, uint64_t offset,
                                    struct cleave_error *err)
{
    const size_t index = cv_stream_marks_before(stream, offset);
    struct cv_stream_mark new = { offset, stream->records };

    if (!stream->numbers ||
        (index < stream->nmarks && stream->marks[index].offset == offset))
        return CLEAVE_OK;
    if (offset != stream->settled)
        CV_TRY(number(stream, offset, &new.records, err));
    return cv_stream_mark(stream, index, new, err);
}

enum cleave_status cv_stream_records(const struct cv_stream *stream, uint64_t begin,
                                     uint64_t end, uint64_t *first, uint64_t *records,
                                     struct cleave_error *err)
{
    CV_TRY(count(stream, begin, end, records, err));
    *first = 0;
    if (!stream->numbers)
        return CLEAVE_OK;
    CV_TRY(number(stream, begin, first, err));
    ++*first;
    return CLEAVE_OK;
}

/* --- cuts --------------------------------------------------------------------------------- */

/* The last mark in (begin, target], else `begin`. */
static uint64_t nearest(const struct cv_stream *stream, uint64_t begin, uint64_t target)
{
    const size_t index = cv_stream_marks_before(stream, target + 1);

    return index > 0 && stream->marks[index - 1].offset > begin
               ? stream->marks[index - 1].offset
               : begin;
}

static enum cleave_status cut_from(const struct cv_stream *stream, const char *bytes,
                                   uint64_t start, uint64_t end, uint64_t target,
                                   uint64_t *out, struct cleave_error *err)
{
    const size_t length = (size_t)(end - start);
    struct cv_cut_window window;
    size_t cut, more;

    cv_cut_window_again(&window, &stream->window, start);
    CV_TRY(cv_cut_window_find(&window, bytes, length, true, (size_t)(target - start),
                              &cut, err));
    if (start + cut < target) { /* the last one before it: so the next one is behind */
        cv_cut_window_take(&window, cut);
        CV_TRY(
            cv_cut_window_find(&window, bytes + cut, length - cut, true, 1, &more, err));
        cut += more;
    }
    *out = start + cut;
    return CLEAVE_OK;
}

enum cleave_status cv_stream_cut(const struct cv_stream *stream, uint64_t begin,
                                 uint64_t end, uint64_t target, uint64_t *out,
                                 struct cleave_error *err)
{
    const uint64_t start = nearest(stream, begin, target);
    uint64_t stretch_end;
    enum cleave_status status;

    if (start == target || target >= end) {
        *out = target < end ? target : end;
        return CLEAVE_OK;
    }
    status = cut_from(stream, cv_spool_at(&stream->spool, start, &stretch_end), start,
                      end, target, out, err);
    if (status != CLEAVE_OK && err != NULL && err->file[0] == '\0')
        snprintf(err->file, sizeof err->file, "%s", stream->name);
    return status;
}
