/* source_stream.c -- a stream, kept in memory. SPDX-License-Identifier: MIT
 *
 * It is read straight to where it stays. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/bisect.h"
#include "base/fail.h"
#include "run/common/poller.h"
#include "run/decode/decode_ahead.h"
#include "run/input/source_internal.h"
#include "run/split/format_guess.h"
#include "run/split/split_kind.h"

/* --- boundaries of a stream that are remembered: numbers of records, cuts ---------- */

/* Cuts are looked for in a window from a boundary on, as what was before may have been
 * given back. */

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

/* --- a stream, kept in memory ------------------------------------------------------ */

enum {
    READ_MOST = 4 << 20, /* by one call                                       */
    TURN = 256 * 1024,   /* by one read: commands are not to wait for long    */
    WIDE = 1 << 20,      /* what a pipe is widened to: the most for everybody */
    SHARES = 4,
};

static enum cleave_status cannot(const struct cv_stream *stream, const char *what,
                                 struct cleave_error *err)
{
    const struct cv_place place = { stream->name, 0, 0, NULL };

    return cv_fail_at(err, &place, "cannot %s: %s", what, strerror(errno));
}

/* --- opening ---------------------------------------------------------------------------- */

/* /dev/zero, and standard input in the middle of a file, cannot be waited for. */
static bool can_poll(int fd)
{
    struct epoll_event event = { .events = EPOLLIN };
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    const bool can =
        epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 || errno != EPERM;

    if (epoll >= 0)
        close(epoll);
    return can;
}

/* A FIFO that nobody writes to is not waited for here, where no signal would end it: it is
 * readable when somebody does, or has done so. */
static int open_now(const char *path)
{
    int fd, flags;

    do
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
    if (flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static enum cleave_status open_input(struct cv_stream *stream, const char *path,
                                     struct cleave_error *err)
{
    struct stat now;

    stream->borrowed = strcmp(path, "-") == 0;
    stream->name = strdup(stream->borrowed ? "standard input" : path);
    if (stream->name == NULL)
        return cv_fail_memory(err, "an input");
    stream->fd = stream->borrowed ? STDIN_FILENO : open_now(path);
    if (stream->fd < 0 || fstat(stream->fd, &now) != 0)
        return cannot(stream, "read", err);
    /* What /dev/fd/3 leads to is no name that means anything later. */
    stream->path = stream->borrowed ? strdup(path) : realpath(path, NULL);
    if (stream->path == NULL)
        stream->path = strdup(path);
    if (stream->path == NULL)
        return cv_fail_memory(err, "an input");
    stream->device = (uint64_t)now.st_dev;
    stream->inode = (uint64_t)now.st_ino;
    if (S_ISFIFO(
            now.st_mode)) /* fewer turns; without the right to it, it goes on as it is */
        fcntl(stream->fd, F_SETPIPE_SZ, WIDE);
    stream->polls = can_poll(stream->fd);
    return cv_spool_init(&stream->spool, 0, err);
}

enum cleave_status cv_stream_new(const char *path,
                                 const struct cv_source_options *options,
                                 struct cv_stream **out, struct cleave_error *err)
{
    struct cv_stream *stream = calloc(1, sizeof *stream);
    enum cleave_status status;

    if (stream == NULL)
        return cv_fail_memory(err, "an input");
    stream->fd = -1;
    stream->numbers = options->numbers;
    stream->packed_fd = -1;
    stream->codec = options->codec;
    stream->eats = options->splitter->kind->eats;
    stream->looked =
        options->raw || (options->splitter->record_bytes > 0 && options->codec == NULL);
    stream->headed = !options->header && !cv_splitter_frames(options->splitter);
    stream->hold = options->hold > 0 ? options->hold : CV_SOURCE_HOLD;
    stream->piece_most = stream->hold / (options->shares > 0 ? options->shares : SHARES);
    if (stream->piece_most == 0)
        stream->piece_most = 1;
    cv_cut_window_init(&stream->window, options->splitter);
    status = open_input(stream, path, err);
    if (status == CLEAVE_OK)
        *out = stream;
    else
        cv_stream_free(stream);
    return status;
}

void cv_stream_free(struct cv_stream *stream)
{
    if (stream == NULL)
        return;
    if (stream->decoding != NULL) {
        cv_decode_thread_free(stream->decoding);
        stream->fd = stream->packed_fd;
    }
    if (stream->fd >= 0 && !stream->borrowed)
        close(stream->fd);
    cv_spool_done(&stream->spool);
    free(stream->name);
    free(stream->path);
    free(stream->header);
    free(stream->tail);
    free(stream->marks);
    free(stream);
}

/* --- reading ---------------------------------------------------------------------------- */

bool cv_stream_full(const struct cv_stream *stream)
{
    /* What is not settled is one record: that has to be kept in any case. */
    return stream->settled - stream->finished >= stream->hold;
}

/* One read, which waits if the descriptor is not readable. *got is 0 if there is nothing
 * now. */
static enum cleave_status read_once(struct cv_stream *stream, size_t *got,
                                    struct cleave_error *err)
{
    char *to;
    size_t room;
    ssize_t length;

    CV_TRY(cv_spool_room(&stream->spool, stream->settled, stream->received, &to, &room,
                         err));
    length = stream->decoding != NULL
                 ? cv_decode_thread_read(stream->decoding, to, room, TURN)
                 : read(stream->fd, to, room < TURN ? room : TURN);
    *got = 0;
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return CLEAVE_OK;
    if (length < 0)
        return cannot(stream, "read", err);
    stream->ended = length == 0;
    if (stream->ended)
        stream->ended_s = cv_clock_s();
    if (stream->ended && stream->decoding != NULL)
        cv_stream_unpacked(stream);
    if (stream->received == 0 && length > 0)
        stream->first_s = cv_clock_s();
    stream->received += (uint64_t)length;
    *got = (size_t)length;
    return CLEAVE_OK;
}

enum cleave_status cv_stream_read(struct cv_stream *stream, struct cleave_error *err)
{
    const uint64_t before = stream->received;
    size_t got;

    do
        CV_TRY(read_once(stream, &got, err));
    while (got > 0 && !stream->ended && stream->received - before < READ_MOST &&
           !stream->polls); /* only the first read is known not to wait */
    return CLEAVE_OK;
}

/* --- finishing -------------------------------------------------------------------------- */

enum cleave_status cv_stream_finish(struct cv_stream *stream, uint64_t begin,
                                    uint64_t end, struct cleave_error *err)
{
    const size_t first = cv_stream_marks_before(stream, begin);
    const size_t last = cv_stream_marks_before(stream, end);

    stream->finished += end - begin;
    if (first < last)
        memmove(stream->marks + first, stream->marks + last,
                (stream->nmarks - last) * sizeof *stream->marks);
    stream->nmarks -= last - first;
    return cv_spool_give_back(&stream->spool, begin, end, err);
}

/* --- new record boundaries in what comes of a stream ------------------------------- */

/* As bytes come, the last boundary that is certain is looked for: what is before it may be
 * taken. Where ranges are known that an earlier run finished, nothing past the start of
 * such a range is made available before it has come and been judged. */

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
