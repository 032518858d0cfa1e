/* source_stream.c -- a source that is a stream, kept in memory. SPDX-License-Identifier: MIT
 *
 * It is read into the spool, where it stays. The last boundary that is certain is `settled`: bytes
 * before it can be taken. If an earlier run has finished a range, nothing after the start of that
 * range is settled before the whole range has arrived and was compared.
 *
 * A compressed stream is decoded by threads, and their output takes the place of the input. */
#include <assert.h>
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
#include "run/input/cut_window.h"
#include "run/input/magic.h"
#include "run/input/source_kind.h"
#include "run/input/spool.h"
#include "run/split/format_guess.h"

enum {
    MAX_PUMP = 4 << 20, /* bytes by one pump                                    */
    TURN = 256 * 1024,  /* bytes by one read: commands should not wait for long */
    PIPE = 1 << 20,     /* size of a pipe: the largest without privileges       */
    SHARES = 4,
    GRAIN = 64 * 1024, /* bytes between marks; a walk over them takes some 30 us */
};

/* A boundary, and with `numbers` the records before it. */
struct mark {
    uint64_t offset, records;
};

struct cv_stream {
    struct cv_source_file *file; /* borrowed from the source: name, header, tail */
    int fd;
    bool polls; /* epoll can wait for it */
    bool numbers;
    bool looked;                       /* its format is known, or does not matter */
    const struct cv_codec *codec;      /* format it must have; NULL: any               */
    struct cv_decode_thread *decoding; /* owned; NULL: it is not decoded               */
    int packed_fd;                     /* the input of `decoding`                      */
    bool damaged;                      /* it could not be decoded to its end: `damage` */
    bool stunted;                      /* ... and its last record is incomplete        */
    struct cleave_error damage;
    struct cv_spool spool;       /* bytes that are not finished                  */
    uint64_t settled;            /* the last known boundary                      */
    uint64_t finished;           /* bytes of finished pieces                     */
    struct cv_cut_window window; /* from `settled`                               */
    uint64_t records;            /* before `settled`, with `numbers`      */
    /* In order, of bytes that are not finished: about every GRAIN bytes, so that a cut needs a short
     * walk, and with `numbers` where pieces begin and end. */
    struct mark *marks; /* owned */
    size_t nmarks, marks_capacity;
};

static const char *bytes_at(const struct cv_stream *stream, uint64_t offset)
{
    uint64_t segment_end;

    return cv_spool_at(&stream->spool, offset, &segment_end);
}

/* --- opening ---------------------------------------------------------------------------- */

/* False for /dev/zero, and for standard input in the middle of a file. */
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

/* Open a FIFO without waiting for a writer, which no signal would interrupt: it is readable when a
 * writer comes. */
static int open_now(const char *path)
{
    const int fd = (int)TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    const int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

    if (flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static enum cleave_status open_input(struct cv_stream *stream, struct cleave_error *err)
{
    const struct cv_source_file *file = stream->file;
    struct stat now;

    stream->fd = file->borrowed ? STDIN_FILENO : open_now(file->name);
    if (stream->fd < 0 || fstat(stream->fd, &now) != 0)
        return cv_source_cannot_read(file->name, err);
    if (S_ISFIFO(now.st_mode)) /* fewer turns; it may fail */
        fcntl(stream->fd, F_SETPIPE_SZ, PIPE);
    stream->polls = can_poll(stream->fd);
    return cv_spool_init(&stream->spool, 0, err);
}

enum cleave_status cv_source_open_stream(struct cv_source *source,
                                         const struct cv_source_options *options,
                                         struct cleave_error *err)
{
    struct cv_stream *stream = calloc(1, sizeof *stream);

    if (stream == NULL)
        return cv_fail_memory(err, "an input");
    source->kind = &cv_source_stream;
    source->stream = stream;
    source->open = true;
    source->hold = options->hold > 0 ? options->hold : CV_SOURCE_HOLD;
    source->max_piece = source->hold / (options->shares > 0 ? options->shares : SHARES);
    if (source->max_piece == 0)
        source->max_piece = 1;
    stream->file = source->files;
    stream->file->headed = !source->header;
    stream->fd = stream->packed_fd = -1;
    stream->numbers = options->numbers;
    stream->codec = options->codec;
    stream->looked = options->raw;
    cv_cut_window_init(&stream->window, options->splitter);
    return open_input(stream, err);
}

static void free_stream(struct cv_source *source)
{
    struct cv_stream *stream = source->stream;

    if (stream->decoding != NULL) {
        cv_decode_thread_free(stream->decoding);
        stream->fd = stream->packed_fd;
    }
    if (stream->fd >= 0 && !stream->file->borrowed)
        close(stream->fd);
    cv_spool_done(&stream->spool);
    free(stream->marks);
    free(stream);
    cv_source_files.free(source);
}

/* --- marks ------------------------------------------------------------------------------- */

/* Records of [begin, end), which may be in several segments. */
static enum cleave_status count(const struct cv_stream *stream, uint64_t begin,
                                uint64_t end, uint64_t *out, struct cleave_error *err)
{
    uint64_t total = 0, some, segment_end;

    for (; begin < end; begin = segment_end) {
        const char *bytes = cv_spool_at(&stream->spool, begin, &segment_end);

        if (segment_end > end)
            segment_end = end;
        CV_TRY(cv_splitter_count_from(stream->window.splitter, stream->window.walk.form,
                                      begin, bytes, (size_t)(segment_end - begin), &some,
                                      err));
        total += some;
    }
    *out = total;
    return CLEAVE_OK;
}

static size_t count_marks_before(const struct cv_stream *stream, uint64_t offset)
{
    size_t before;

    CV_BISECT(before, stream->nmarks, i, stream->marks[i].offset < offset);
    return before;
}

/* Records before `offset`, counted from the last mark. Each start of a piece has one. */
static enum cleave_status number(const struct cv_stream *stream, uint64_t offset,
                                 uint64_t *out, struct cleave_error *err)
{
    const size_t index = count_marks_before(stream, offset + 1);
    const struct mark mark = index > 0 ? stream->marks[index - 1] : (struct mark){ 0, 0 };
    uint64_t some;

    CV_TRY(count(stream, mark.offset, offset, &some, err));
    *out = mark.records + some;
    return CLEAVE_OK;
}

static enum cleave_status insert_mark(struct cv_stream *stream, size_t index,
                                      struct mark mark, struct cleave_error *err)
{
    struct mark *at;

    if (!CV_ROOM(stream->marks, &stream->marks_capacity, stream->nmarks + 1))
        return cv_fail_memory(err, "an index of the input");
    at = stream->marks + index;
    memmove(at + 1, at, (stream->nmarks - index) * sizeof *at);
    *at = mark;
    stream->nmarks++;
    return CLEAVE_OK;
}

/* With `numbers`: mark the end of a piece. */
static enum cleave_status mark_end(struct cv_stream *stream, uint64_t offset,
                                   struct cleave_error *err)
{
    const size_t index = count_marks_before(stream, offset);
    struct mark new = { offset, stream->records };

    if (!stream->numbers ||
        (index < stream->nmarks && stream->marks[index].offset == offset))
        return CLEAVE_OK;
    if (offset != stream->settled)
        CV_TRY(number(stream, offset, &new.records, err));
    return insert_mark(stream, index, new, err);
}

static enum cleave_status add_mark(struct cv_stream *stream, uint64_t offset,
                                   struct cleave_error *err)
{
    if (stream->nmarks > 0 && offset - stream->marks[stream->nmarks - 1].offset < GRAIN)
        return CLEAVE_OK;
    return insert_mark(stream, stream->nmarks, (struct mark){ offset, stream->records },
                       err);
}

/* --- cuts --------------------------------------------------------------------------------- */

/* The first boundary at or after `target`, searched in a window from a boundary, as the bytes before
 * it may have been released. */
static enum cleave_status cut_from(const struct cv_stream *stream, uint64_t start,
                                   uint64_t end, uint64_t target, uint64_t *out,
                                   struct cleave_error *err)
{
    const char *bytes = bytes_at(stream, start);
    const size_t length = (size_t)(end - start);
    struct cv_cut_window window;
    size_t cut, more;

    cv_cut_window_again(&window, &stream->window, start);
    CV_TRY(cv_cut_window_find(&window, bytes, length, true, (size_t)(target - start),
                              &cut, err));
    if (start + cut < target) { /* the last boundary before it: take the next one */
        cv_cut_window_take(&window, cut);
        CV_TRY(
            cv_cut_window_find(&window, bytes + cut, length - cut, true, 1, &more, err));
        cut += more;
    }
    *out = start + cut;
    return CLEAVE_OK;
}

static enum cleave_status name_error(const struct cv_stream *stream,
                                     enum cleave_status status, struct cleave_error *err)
{
    if (status != CLEAVE_OK && err != NULL && err->file[0] == '\0')
        snprintf(err->file, sizeof err->file, "%s", stream->file->name);
    return status;
}

static enum cleave_status cut_at(struct cv_source *source, size_t file, uint64_t begin,
                                 uint64_t end, uint64_t target, uint64_t *out,
                                 struct cleave_error *err)
{
    const struct cv_stream *stream = source->stream;
    const size_t index = count_marks_before(stream, target + 1);
    const uint64_t start = index > 0 && stream->marks[index - 1].offset > begin
                               ? stream->marks[index - 1].offset
                               : begin;

    (void)file;
    *out = target;
    return start == target
               ? CLEAVE_OK
               : name_error(stream, cut_from(stream, start, end, target, out, err), err);
}

/* --- long records --------------------------------------------------------------------------- */

/* Fail if a record of [begin, end), which are boundaries, is too long. */
static enum cleave_status limit_records(const struct cv_source *source, const char *bytes,
                                        uint64_t begin, uint64_t end,
                                        struct cleave_error *err)
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
            return cv_cut_fail_long(source->stream->file->name, false, begin, max, err);
        cv_cut_window_take(&window, cut);
    }
    return CLEAVE_OK;
}

/* --- new boundaries ------------------------------------------------------------------------- */

/* The last boundary at or before settled + wanted, or the first one after it; *out is `settled` if
 * none is certain. */
static enum cleave_status find(struct cv_source *source, uint64_t wanted, uint64_t *out,
                               struct cleave_error *err)
{
    struct cv_stream *stream = source->stream;
    const uint64_t from = stream->settled;
    const size_t length = (size_t)(source->total - from);
    size_t cut;

    *out = from;
    if (length == 0)
        return CLEAVE_OK;
    CV_TRY(cv_cut_window_find(&stream->window, bytes_at(stream, from), length,
                              !source->open && !stream->stunted,
                              wanted < length ? (size_t)wanted : length, &cut, err));
    *out = from + cut;
    return CLEAVE_OK;
}

/* Settle everything before `boundary`, to be taken unless it is known. Records are counted here,
 * while their bytes are cached. */
static enum cleave_status settle_to(struct cv_source *source, uint64_t boundary,
                                    bool known, struct cleave_error *err)
{
    struct cv_stream *stream = source->stream;
    const char *bytes = bytes_at(stream, stream->settled);
    uint64_t records = 0;

    if (!known)
        CV_TRY(limit_records(source, bytes, stream->settled, boundary, err));
    if (stream->numbers)
        CV_TRY(cv_splitter_count_from(source->splitter, stream->window.walk.form,
                                      stream->settled, bytes,
                                      (size_t)(boundary - stream->settled), &records,
                                      err));
    stream->records += records;
    if (source->weights != NULL)
        CV_TRY(cv_source_weigh_arrived(source, bytes, stream->settled, boundary,
                                       &stream->window, err));
    if (!known) {
        CV_TRY(cv_range_set_put(&source->pending, stream->settled, boundary, err));
        cv_source_weights_note(source, stream->settled, boundary, true);
    }
    cv_cut_window_take(&stream->window, (size_t)(boundary - stream->settled));
    stream->settled = boundary;
    if (source->splitter->kind->walk != NULL || stream->numbers)
        return add_mark(stream, boundary, err);
    return CLEAVE_OK;
}

static enum cleave_status settle_all(struct cv_source *source, struct cleave_error *err)
{
    const bool walks = source->splitter->kind->walk != NULL;
    uint64_t before, boundary;

    do {
        before = source->stream->settled;
        CV_TRY(find(source, walks ? GRAIN : UINT64_MAX, &boundary, err));
        if (boundary > before)
            CV_TRY(settle_to(source, boundary, false, err));
    } while (walks && boundary > before);
    return CLEAVE_OK;
}

/* Compare the next known range, if enough has arrived: *judged. A range that fits is settled; the
 * bytes of another one are left to settle_all. */
static enum cleave_status judge_next(struct cv_source *source, bool *judged,
                                     struct cleave_error *err)
{
    struct cv_source_known *known = &source->known[source->next_judged];
    struct cv_stream *stream = source->stream;
    uint64_t last, boundary;

    CV_TRY(find(source, UINT64_MAX, &last, err));
    *judged = !source->open || stream->settled > known->begin || last >= known->end;
    if (!*judged && last < known->begin)
        return last > stream->settled ? settle_to(source, last, false, err) : CLEAVE_OK;
    if (stream->settled < known->begin) {
        CV_TRY(find(source, known->begin - stream->settled, &boundary, err));
        if (boundary <= known->begin && boundary > stream->settled)
            CV_TRY(settle_to(source, boundary, false, err));
        /* A boundary after known->begin is certain, so one at it would have been found. */
        *judged = *judged || boundary != known->begin;
    }
    if (!*judged)
        return CLEAVE_OK;
    known->judged = known->broken = true;
    source->next_judged++;
    if (stream->settled != known->begin || known->end > source->total)
        return CLEAVE_OK;
    CV_TRY(find(source, known->end - known->begin, &boundary, err));
    if (boundary != known->end)
        return CLEAVE_OK;
    known->broken = false;
    return settle_to(source, boundary, true, err);
}

/* Fail if the record that has no end yet is too long. While a known range arrives, there may be
 * boundaries after `settled`. */
static enum cleave_status limit_rest(struct cv_source *source, struct cleave_error *err)
{
    const struct cv_stream *stream = source->stream;
    uint64_t last = stream->settled;

    if (source->max_record == 0 || source->total - last <= source->max_record)
        return CLEAVE_OK;
    if (source->next_judged < source->nknown)
        CV_TRY(find(source, UINT64_MAX, &last, err));
    return source->total - last > source->max_record
               ? cv_cut_fail_long(stream->file->name, false, last, source->max_record,
                                  err)
               : CLEAVE_OK;
}

/* Copy the header once it has arrived. Nothing is settled before. */
static enum cleave_status keep_header(struct cv_source *source, struct cleave_error *err)
{
    struct cv_stream *stream = source->stream;
    const char *bytes = bytes_at(stream, 0);
    bool found;
    size_t end = 0;

    CV_TRY(cv_splitter_head(source->splitter, bytes, (size_t)source->total, !source->open,
                            &found, &end, err));
    if (!found)
        return CLEAVE_OK;
    stream->file->header = malloc(end > 0 ? end : 1);
    if (stream->file->header == NULL)
        return cv_fail_memory(err, "the header");
    memcpy(stream->file->header, bytes, end);
    stream->file->header_end = end;
    stream->file->headed = true;
    if (cv_splitter_leads(source->splitter))
        cv_cut_window_lead(&stream->window, end);
    return CLEAVE_OK;
}

static enum cleave_status settle(struct cv_source *source, struct cleave_error *err)
{
    struct cv_stream *stream = source->stream;
    enum cleave_status status = CLEAVE_OK;
    bool judged;

    if (!stream->file->headed)
        status = keep_header(source, err);
    if (source->waits)
        return name_error(stream, status, err);
    judged = stream->file->headed;
    while (status == CLEAVE_OK && judged && source->next_judged < source->nknown)
        status = judge_next(source, &judged, err);
    if (status == CLEAVE_OK && judged)
        status = settle_all(source, err);
    if (status == CLEAVE_OK && source->open)
        status = limit_rest(source, err);
    if (stream->settled == 0 && source->like == NULL)
        source->like =
            cv_format_guess_endless(bytes_at(stream, 0), (size_t)source->total);
    /* The end of the record with the damage is not known: drop it. */
    if (status == CLEAVE_OK && stream->stunted)
        source->total = stream->settled;
    return name_error(stream, status, err);
}

/* --- the format --------------------------------------------------------------------------------- */

/* Decode the stream, which begins with the bytes that have arrived. */
static enum cleave_status decode(struct cv_source *source, const struct cv_codec *codec,
                                 const char *bytes, struct cleave_error *err)
{
    struct cv_stream *stream = source->stream;

    CV_TRY(cv_decode_thread_start(
        &(struct cv_decode_thread_options){ .codec = codec,
                                            .name = stream->file->name,
                                            .fd = stream->fd,
                                            .first = bytes,
                                            .nfirst = (size_t)source->total },
        &stream->decoding, err));
    stream->packed_fd = stream->fd;
    stream->fd = cv_decode_thread_fd(stream->decoding);
    stream->polls = true;
    source->open = true;
    source->total = 0; /* decoded bytes overwrite these */
    return CLEAVE_OK;
}

static enum cleave_status expect_codec(struct cv_source *source, const char *bytes,
                                       struct cleave_error *err)
{
    struct cv_stream *stream = source->stream;
    const struct cv_codec *codec = stream->codec;

    if (source->total < CV_CODEC_HEAD && source->open)
        return CLEAVE_OK;
    stream->codec = NULL;
    stream->looked = source->total == 0;
    if (stream->looked)
        return CLEAVE_OK;
    CV_TRY(cv_magic_check_codec(codec, bytes, (size_t)source->total, stream->file->name,
                                err));
    return decode(source, codec, bytes, err);
}

/* Choose the format, if enough has arrived. */
static enum cleave_status choose(struct cv_source *source, const char *bytes,
                                 size_t length, struct cleave_error *err)
{
    struct cv_stream *stream = source->stream;

    CV_TRY(cv_source_choose(source, stream->file, bytes, length, !source->open,
                            &stream->looked, err));
    if (!stream->looked)
        return CLEAVE_OK;
    stream->file->headed = !source->header;
    cv_cut_window_init(&stream->window, source->splitter);
    return CLEAVE_OK;
}

/* Look at the first bytes: whether they are text, are to be decoded, or are refused. */
static enum cleave_status look(struct cv_source *source, struct cleave_error *err)
{
    struct cv_stream *stream = source->stream;
    const size_t length =
        source->total < CV_MAGIC_LOOK ? (size_t)source->total : CV_MAGIC_LOOK;
    const char *path = stream->file->borrowed ? NULL : stream->file->name;
    const struct cv_magic *magic;
    uint64_t segment_end;
    const char *bytes = cv_spool_at(&stream->spool, 0, &segment_end);
    const size_t seen =
        (size_t)(segment_end < source->total ? segment_end : source->total);
    bool undecided;

    if (stream->codec != NULL)
        return expect_codec(source, bytes, err);
    if (source->total == 0 && source->open)
        return CLEAVE_OK; /* the decoder has no output yet */
    magic = cv_magic_find(bytes, length, &undecided);
    if (source->raw) { /* records of a fixed size may be any other bytes */
        stream->looked = magic != NULL || !undecided || !source->open;
        return magic != NULL && cv_magic_codec(magic) != NULL
                   ? cv_magic_refuse_fixed(cv_magic_codec(magic), stream->file->name, err)
                   : CLEAVE_OK;
    }
    if (magic != NULL && stream->decoding == NULL && cv_magic_codec(magic) != NULL) {
        stream->file->around = magic;
        return decode(source, cv_magic_codec(magic), bytes, err);
    }
    if (magic != NULL && source->choose != NULL && cv_magic_is(magic, "BAM"))
        return choose(source, bytes, seen, err);
    if (magic != NULL && cv_magic_is(magic, source->splitter->kind->eats)) {
        stream->looked = true;
        return CLEAVE_OK;
    }
    if (magic != NULL)
        return cv_magic_refuse(magic, stream->file->around, stream->file->name, path,
                               err);
    stream->looked = !undecided || !source->open;
    if (stream->looked && source->choose != NULL)
        CV_TRY(choose(source, bytes, seen, err));
    if (stream->looked)
        source->like = cv_format_guess_find(bytes, seen);
    return CLEAVE_OK;
}

/* --- reading ---------------------------------------------------------------------------- */

/* One read, which waits if the descriptor is not readable. *got is 0 if there is nothing now. */
static enum cleave_status read_once(struct cv_source *source, size_t *got,
                                    struct cleave_error *err)
{
    struct cv_stream *stream = source->stream;
    char *to;
    size_t room;
    ssize_t length;

    CV_TRY(
        cv_spool_room(&stream->spool, stream->settled, source->total, &to, &room, err));
    length = stream->decoding != NULL
                 ? cv_decode_thread_read(stream->decoding, to, room, TURN)
                 : read(stream->fd, to, room < TURN ? room : TURN);
    *got = 0;
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return CLEAVE_OK;
    if (length < 0)
        return cv_source_cannot_read(stream->file->name, err);
    if (length == 0) {
        source->open = false;
        source->ended_s = cv_clock_s();
        if (stream->decoding != NULL)
            stream->damaged = cv_decode_thread_end(stream->decoding, &stream->stunted,
                                                   &stream->damage) != CLEAVE_OK;
    } else if (source->total == 0) {
        source->first_s = cv_clock_s();
    }
    source->total += (uint64_t)length;
    *got = (size_t)length;
    return CLEAVE_OK;
}

static enum cleave_status pump(struct cv_source *source, struct cleave_error *err)
{
    struct cv_stream *stream = source->stream;
    const uint64_t before = source->total;
    size_t got;

    do
        CV_TRY(read_once(source, &got, err));
    while (got > 0 && source->total - before < MAX_PUMP &&
           !stream->polls); /* a second read could wait */
    if (!stream->looked)
        CV_TRY(look(source, err));
    return stream->looked ? settle(source, err) : CLEAVE_OK;
}

static enum cleave_status start(struct cv_source *source, struct cleave_error *err)
{
    return source->stream->looked ? settle(source, err) : CLEAVE_OK;
}

/* The unsettled rest is one record, which is kept in any case. */
static bool has_room(const struct cv_source *source)
{
    return source->stream->settled - source->stream->finished < source->hold;
}

static int poll_fd(const struct cv_source *source)
{
    return source->stream->polls ? source->stream->fd : -1;
}

static bool arrives(const struct cv_source *source, uint64_t address)
{
    return source->open && address == source->stream->settled && has_room(source);
}

/* --- pieces ------------------------------------------------------------------------------- */

static enum cleave_status locate(struct cv_source *source, uint64_t address, size_t *file,
                                 uint64_t *base, struct cleave_error *err)
{
    (void)source, (void)address, (void)err;
    *file = 0;
    *base = 0;
    return CLEAVE_OK;
}

static uint64_t segment_end_at(const struct cv_source *source, uint64_t address)
{
    uint64_t end;

    cv_spool_at(&source->stream->spool, address, &end);
    return end;
}

static enum cleave_status count_records(struct cv_source *source,
                                        const struct cv_piece *piece, uint64_t *first,
                                        uint64_t *records, struct cleave_error *err)
{
    CV_TRY(count(source->stream, piece->begin, piece->end, records, err));
    *first = 0;
    if (!source->stream->numbers)
        return CLEAVE_OK;
    CV_TRY(number(source->stream, piece->begin, first, err));
    ++*first;
    return CLEAVE_OK;
}

static enum cleave_status find_torn(struct cv_source *source, bool *out,
                                    struct cleave_error *note, struct cleave_error *err)
{
    const struct cv_stream *stream = source->stream;
    const uint64_t record = source->splitter->record_bytes;
    const uint64_t rest = record > 0 ? source->total % record : 0;
    const uint64_t torn = record == 0 ? stream->window.torn
                          : rest > 0  ? source->total - rest
                                      : UINT64_MAX;

    (void)err;
    *out = stream->damaged || (!source->open && torn != UINT64_MAX);
    if (stream->damaged)
        *note = stream->damage;
    else if (*out)
        cv_source_fail_torn(stream->file->name, torn, note);
    return CLEAVE_OK;
}

static enum cleave_status fill_piece(struct cv_source *source, struct cv_range body,
                                     struct cv_piece *piece, struct cleave_error *err)
{
    struct cv_stream *stream = source->stream;

    piece->name = stream->file->name;
    piece->begin = body.begin;
    piece->header_bytes = stream->file->header;
    piece->body_bytes = bytes_at(stream, body.begin);
    assert(body.end <= segment_end_at(source, body.begin));
    return mark_end(stream, body.end, err);
}

static enum cleave_status judge(struct cv_source *source,
                                const struct cv_source_known *known, bool *ready,
                                bool *whole, struct cv_piece *piece,
                                struct cleave_error *err)
{
    *ready = known->judged;
    *whole = known->judged && !known->broken;
    return *whole
               ? cv_source_make(source, 0, (struct cv_range){ known->begin, known->end },
                                piece, err)
               : CLEAVE_OK;
}

/* Release the memory of a piece. */
static enum cleave_status finish(struct cv_source *source, const struct cv_piece *piece,
                                 struct cleave_error *err)
{
    struct cv_stream *stream = source->stream;
    const size_t first = count_marks_before(stream, piece->begin);
    const size_t last = count_marks_before(stream, piece->end);

    if (piece->begin >= piece->end)
        return CLEAVE_OK;
    stream->finished += piece->end - piece->begin;
    if (source->weights != NULL)
        cv_weight_index_forget(&source->weights->index, piece->begin, piece->end);
    if (first < last)
        memmove(stream->marks + first, stream->marks + last,
                (stream->nmarks - last) * sizeof *stream->marks);
    stream->nmarks -= last - first;
    return cv_spool_give_back(&stream->spool, piece->begin, piece->end, err);
}

const struct cv_source_kind cv_source_stream = {
    .free = free_stream,
    .locate = locate,
    .end_at = segment_end_at,
    .cut = cut_at,
    .count = count_records,
    .find_torn = find_torn,
    .fill = fill_piece,
    .judge = judge,
    .finish = finish,
    .start = start,
    .has_room = has_room,
    .poll_fd = poll_fd,
    .pump = pump,
    .arrives = arrives,
};
