/* source_settle.c -- new record boundaries in what comes of a stream.
 * SPDX-License-Identifier: MIT
 *
 * As bytes come, the last boundary that is certain is looked for: what is before it may be
 * taken. Where ranges are known that an earlier run finished, nothing past the start of
 * such a range is made available before it has come and been judged. */
#include "run/input/source_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "run/split/format_guess.h"
#include "run/split/split_kind.h"

/* Least bytes between marks. A walk over as many takes some 30 microseconds. */
enum { GRAIN = 64 * 1024 };

static enum cleave_status add_mark(struct cv_stream *stream, uint64_t mark,
                                   struct cleave_error *err)
{
    if (stream->nmarks > 0 && mark - stream->marks[stream->nmarks - 1].offset < GRAIN)
        return CLEAVE_OK;
    return cv_stream_mark(stream, stream->nmarks,
                          (struct cv_stream_mark){ mark, stream->records }, err);
}

/* What has come and is not settled. */
struct tail {
    const char *bytes; /* from `begin` to `end` */
    uint64_t begin, end;
};

static enum cleave_status find(struct cv_stream *stream, const struct tail *tail,
                               uint64_t wanted, uint64_t *out, struct cleave_error *err)
{
    const uint64_t from = stream->settled;
    const size_t length = (size_t)(tail->end - from);
    size_t cut;

    *out = from;
    if (length == 0)
        return CLEAVE_OK;
    CV_TRY(cv_cut_window_find(&stream->window, tail->bytes + (from - tail->begin), length,
                              stream->ended && !stream->stunted,
                              wanted < length ? (size_t)wanted : length, &cut, err));
    *out = from + cut;
    return CLEAVE_OK;
}

/* Everything up to `boundary` is settled, and can be taken unless `known`. It has just
 * come, so this is the time to count: the processor still has it at hand. */
static enum cleave_status move_on(struct cv_source *source, const struct tail *tail,
                                  uint64_t boundary, bool known, struct cleave_error *err)
{
    struct cv_stream *stream = source->stream;
    uint64_t records = 0;

    if (!known)
        CV_TRY(cv_stream_limit(source, tail->bytes + (stream->settled - tail->begin),
                               stream->settled, boundary, err));
    if (stream->numbers)
        CV_TRY(cv_splitter_count_from(source->splitter, stream->window.walk.form,
                                      stream->settled,
                                      tail->bytes + (stream->settled - tail->begin),
                                      (size_t)(boundary - stream->settled), &records,
                                      err));
    stream->records += records;

    if (!known)
        CV_TRY(cv_range_set_put(&source->pending, stream->settled, boundary, err));
    cv_cut_window_take(&stream->window, (size_t)(boundary - stream->settled));
    stream->settled = boundary;
    if (source->splitter->kind->walk != NULL || stream->numbers)
        return add_mark(stream, boundary, err);
    return CLEAVE_OK;
}

/* Settle all that may be, no further than `limit` as far as that is possible. */
static enum cleave_status settle_some(struct cv_source *source, const struct tail *tail,
                                      uint64_t limit, struct cleave_error *err)
{
    const bool walks = source->splitter->kind->walk != NULL;
    struct cv_stream *stream = source->stream;
    uint64_t before, boundary;

    do {
        before = stream->settled;
        if (before >= limit)
            break;
        CV_TRY(find(stream, tail,
                    walks && limit - before > GRAIN ? GRAIN : limit - before, &boundary,
                    err));
        if (boundary > before)
            CV_TRY(move_on(source, tail, boundary, false, err));
    } while (walks && stream->settled > before);
    return CLEAVE_OK;
}

/* Whether the next known range can be judged now; if so, go on behind it or, if it does
 * not fit, leave its bytes to be settled like all others. */
static enum cleave_status judge(struct cv_source *source, const struct tail *tail,
                                bool *judged, struct cleave_error *err)
{
    struct cv_source_known *known = &source->known[source->next_judged];
    struct cv_stream *stream = source->stream;
    uint64_t last, boundary;

    CV_TRY(find(stream, tail, UINT64_MAX, &last, err));
    *judged = stream->ended || stream->settled > known->begin || last >= known->end;
    if (!*judged && last < known->begin) {
        if (last > stream->settled)
            CV_TRY(move_on(source, tail, last, false, err));
        return CLEAVE_OK;
    }
    if (stream->settled < known->begin) {
        CV_TRY(find(stream, tail, known->begin - stream->settled, &boundary, err));
        if (boundary <= known->begin && boundary > stream->settled)
            CV_TRY(move_on(source, tail, boundary, false, err));
        /* There is a boundary at its start or, as one is known behind, there is none. */
        *judged = *judged || boundary != known->begin;
    }
    if (!*judged)
        return CLEAVE_OK;
    known->judged = known->broken = true;
    source->next_judged++;
    if (stream->settled != known->begin || known->end > stream->received)
        return CLEAVE_OK;
    CV_TRY(find(stream, tail, known->end - known->begin, &boundary, err));
    if (boundary != known->end)
        return CLEAVE_OK;
    known->broken = false;
    return move_on(source, tail, boundary, true, err);
}

/* While a known range is waited for, there may be boundaries behind what is settled. */
static enum cleave_status limit_rest(struct cv_source *source, const struct tail *tail,
                                     struct cleave_error *err)
{
    struct cv_stream *stream = source->stream;
    uint64_t last = stream->settled;

    if (source->next_judged < source->nknown && source->max_record > 0 &&
        stream->received - last > source->max_record)
        CV_TRY(find(stream, tail, UINT64_MAX, &last, err));
    return cv_stream_limit_rest(source, last, err);
}

/* Keep the header, once it has come. Nothing is settled before. */
static enum cleave_status find_header(struct cv_source *source, struct cleave_error *err)
{
    struct cv_stream *stream = source->stream;
    uint64_t stretch_end;
    const char *bytes = cv_spool_at(&stream->spool, 0, &stretch_end);
    bool found;
    size_t end = 0;

    CV_TRY(cv_splitter_head(source->splitter, bytes, (size_t)stream->received,
                            stream->ended, &found, &end, err));
    if (!found)
        return CLEAVE_OK;
    stream->header = malloc(end > 0 ? end : 1);
    if (stream->header == NULL)
        return cv_fail_memory(err, "the header");
    memcpy(stream->header, bytes, end);
    stream->header_end = end;
    stream->headed = true;
    if (cv_splitter_leads(source->splitter))
        cv_cut_window_lead(&stream->window, end);
    return CLEAVE_OK;
}

/* What is in place now is looked at; where it is decoded, nothing is. */
static enum cleave_status settle(struct cv_source *source, struct cleave_error *err)
{
    struct cv_stream *stream = source->stream;
    uint64_t stretch_end;
    const struct tail tail = { cv_spool_at(&stream->spool, stream->settled, &stretch_end),
                               stream->settled, stream->received };
    enum cleave_status status = CLEAVE_OK;
    bool judged = true;

    if (!stream->headed)
        status = find_header(source, err);
    judged = stream->headed;
    while (status == CLEAVE_OK && judged && source->next_judged < source->nknown)
        status = judge(source, &tail, &judged, err);
    if (status == CLEAVE_OK && judged)
        status = settle_some(source, &tail, UINT64_MAX, err);
    if (status == CLEAVE_OK && !stream->ended)
        status = limit_rest(source, &tail, err);
    if (stream->settled == 0 && stream->like == NULL && stream->looked)
        stream->like = cv_format_guess_endless(tail.bytes, (size_t)stream->received);
    /* Nobody knows where the record ends that the damage is in. */
    if (status == CLEAVE_OK && stream->stunted)
        stream->received = stream->settled;
    return status;
}

enum cleave_status cv_stream_settle(struct cv_source *source, struct cleave_error *err)
{
    struct cv_stream *stream = source->stream;
    enum cleave_status status;

    if (!stream->looked)
        CV_TRY(cv_stream_look(stream, err));
    if (!stream->looked)
        return CLEAVE_OK;
    status = settle(source, err);
    if (status != CLEAVE_OK && err != NULL && err->file[0] == '\0')
        snprintf(err->file, sizeof err->file, "%s", stream->name);
    return status;
}
