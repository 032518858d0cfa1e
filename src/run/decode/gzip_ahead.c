/* gzip_ahead.c -- one big file of gzip, by several threads. SPDX-License-Identifier: MIT
 *
 * There are two pools: threads of the first find and decode pieces, those of the second replace
 * marks in pieces whose window is known, which is before they are asked for. Of as many pieces as
 * there are threads of the first pool and one more, one is left to the thread in front, which decodes
 * it to bytes at once. */
#include "run/decode/gzip_ahead.h"

#include <errno.h>
#include <libdeflate.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/fail.h"
#include "run/common/nosignal_thread.h"
#include "run/common/ordered_jobs.h"
#include "run/decode/formats.h"
#include "run/inflate/inflate.h"
#include "run/inflate/inflate_marks.h"

enum {
    CV_GZIP_PIECE = 1 << 20, /* bytes of the file, but in tests                     */
    CV_GZIP_RATIO = 8, /* cells at most that are made of each byte: 16 MiB of them  */
};

/* The file that pieces are of. */
struct cv_gzip_file {
    struct cv_stream_reader
        *reader;             /* borrowed: what has come of it; NULL: it is              */
    int fd;                  /* borrowed                                            */
    uint64_t offset;         /* in it: what counts as byte 0                        */
    size_t piece;            /* bytes of each                                       */
    _Atomic uint64_t passed; /* bits: what begins before is not wanted any more     */
};

struct cv_gzip_piece {
    uint64_t begin, end; /* bytes: blocks that begin in it are looked for           */
    bool found;
    uint64_t start;            /* the first bit of the first block                  */
    uint64_t used;             /* byte up to which the file was read by `inflate`   */
    struct cv_inflate inflate; /* at the end                                        */
    size_t cells, bytes;       /* made: first so many cells, then so many bytes     */
    uint8_t window[CV_INFLATE_WINDOW]; /* what is in front of it                    */
    uint8_t *
        place; /* borrowed: where the bytes go when marks are replaced; NULL: they stay */
    uint32_t crc;  /* of all, when marks are replaced           */
    uint8_t *in;   /* owned                                     */
    uint16_t *out; /* owned                                     */
};

/* --- an input that comes once, read ahead ------------------------------------------ */

/* A ring: bytes up to `come` are there, behind them the thread that reads writes without the lock. */

enum {
    READ = 256 * 1024,
    KEPT =
        256 *
        1024, /* bytes that were taken, but may not be used yet, are still to be seen */
};

struct cv_stream_reader {
    struct cv_decoder_input input;
    pthread_t reader;
    bool reading;
    uint8_t *ring; /* owned; what is never written takes no memory */
    size_t room;
    pthread_mutex_t lock; /* for these */
    pthread_cond_t more, less;
    uint64_t taken, come;
    bool whole; /* there will be no more, */
    int error;  /* ... as reading failed; 0: it is the end */
    bool stopped;
};

static void gzip_piece_free(struct cv_gzip_piece *piece);

/* With the lock: the first byte that is there. */
static uint64_t begin_of(const struct cv_stream_reader *reader)
{
    return reader->taken > KEPT ? reader->taken - KEPT : 0;
}

/* Where the next bytes go, or NULL: no more are wanted. */
static uint8_t *wait_for_room(struct cv_stream_reader *reader, size_t *room)
{
    uint8_t *to = NULL;

    pthread_mutex_lock(&reader->lock);
    while (reader->come - begin_of(reader) == reader->room && !reader->stopped)
        pthread_cond_wait(&reader->less, &reader->lock);
    if (!reader->stopped) {
        const size_t at = (size_t)(reader->come % reader->room);
        const size_t left = reader->room - (size_t)(reader->come - begin_of(reader));

        *room = left < reader->room - at ? left : reader->room - at;
        *room = *room < READ ? *room : READ;
        to = reader->ring + at;
    }
    pthread_mutex_unlock(&reader->lock);
    return to;
}

static void *read_all(void *context)
{
    struct cv_stream_reader *reader = context;
    ssize_t got = 1;
    uint8_t *to;
    size_t room;

    while (got > 0 && (to = wait_for_room(reader, &room)) != NULL) {
        do
            got = reader->input.read(reader->input.context, to, room);
        while (got < 0 && errno == EINTR);
        pthread_mutex_lock(&reader->lock);
        reader->error = got < 0 ? errno : 0;
        reader->whole = got <= 0;
        reader->come += got > 0 ? (uint64_t)got : 0;
        pthread_cond_signal(&reader->more);
        pthread_mutex_unlock(&reader->lock);
    }
    return NULL;
}

/* With the lock: bytes that are there, from `at` on. */
static void copy(const struct cv_stream_reader *reader, uint64_t at, void *to,
                 size_t length)
{
    const size_t begin = (size_t)(at % reader->room);
    const size_t first = length < reader->room - begin ? length : reader->room - begin;

    memcpy(to, reader->ring + begin, first);
    memcpy((uint8_t *)to + first, reader->ring, length - first);
}

ssize_t cv_stream_reader_read(void *context, void *to, size_t max)
{
    struct cv_stream_reader *reader = context;
    size_t some;
    int error;

    pthread_mutex_lock(&reader->lock);
    while (reader->taken == reader->come && !reader->whole)
        pthread_cond_wait(&reader->more, &reader->lock);
    error = reader->taken == reader->come ? reader->error : 0;
    some = (size_t)(reader->come - reader->taken);
    some = some < max ? some : max;
    copy(reader, reader->taken, to, some);
    reader->taken += some;
    pthread_cond_signal(&reader->less);
    pthread_mutex_unlock(&reader->lock);
    errno = error;
    return error != 0 ? -1 : (ssize_t)some;
}

/* By any thread, without waiting: as many bytes from a place on as are there. */
static size_t stream_reader_look(struct cv_stream_reader *reader, uint64_t at, void *to,
                                 size_t max)
{
    size_t some = 0;

    pthread_mutex_lock(&reader->lock);
    if (at >= begin_of(reader) && at < reader->come) {
        some = (size_t)(reader->come - at);
        some = some < max ? some : max;
        copy(reader, at, to, some);
    }
    pthread_mutex_unlock(&reader->lock);
    return some;
}

/* How many have come; *whole: there will be no more. */
static uint64_t stream_reader_come(struct cv_stream_reader *reader, bool *whole)
{
    uint64_t come;

    pthread_mutex_lock(&reader->lock);
    come = reader->come;
    *whole = reader->whole;
    pthread_mutex_unlock(&reader->lock);
    return come;
}

void cv_stream_reader_free(struct cv_stream_reader *reader)
{
    if (reader == NULL)
        return;
    pthread_mutex_lock(&reader->lock);
    reader->stopped = true;
    pthread_cond_signal(&reader->less);
    pthread_mutex_unlock(&reader->lock);
    if (reader->reading)
        pthread_join(reader->reader, NULL);
    pthread_cond_destroy(&reader->more);
    pthread_cond_destroy(&reader->less);
    pthread_mutex_destroy(&reader->lock);
    free(reader->ring);
    free(reader);
}

enum cleave_status cv_stream_reader_open(const struct cv_decoder_input *input,
                                         size_t room, struct cv_stream_reader **out,
                                         struct cleave_error *err)
{
    struct cv_stream_reader *reader = calloc(1, sizeof *reader);
    int error;

    if (reader == NULL)
        return cv_fail_memory(err, "a decoder");
    reader->input = *input;
    reader->room = room + KEPT;
    pthread_mutex_init(&reader->lock, NULL);
    pthread_cond_init(&reader->more, NULL);
    pthread_cond_init(&reader->less, NULL);
    reader->ring = malloc(reader->room);
    error = reader->ring == NULL
                ? ENOMEM
                : cv_nosignal_thread_create(&reader->reader, NULL, read_all, reader);
    reader->reading = error == 0;
    if (error == 0) {
        *out = reader;
        return CLEAVE_OK;
    }
    cv_stream_reader_free(reader);
    return error == ENOMEM
               ? cv_fail_memory(err, "a decoder")
               : cv_fail(err, CLEAVE_EENGINE, "cannot start a thread that reads: %s",
                         strerror(error));
}

/* --- a stretch of deflate decoded ahead -------------------------------------------- */

enum {
    MORE = 128 * 1024,      /* bytes that are read behind the piece, at a time         */
    SEARCH = 8 * 16 * 1024, /* bits after which a search asks whether it is wanted     */
    SLICE = 64 * 1024,      /* cells after which decoding asks that                    */
    SPARE = 64,             /* that may be written behind                              */
    CHECKED = 256 * 1024,   /* bytes that are checked as soon as they are there        */
};

/* Where decoding is. Cells are made until the last 32 KiB of them are no marks; from then on
 * bytes, behind the cells and these 32 KiB as bytes. */
struct course {
    struct cv_gzip_piece *piece;
    struct cv_gzip_file *file;
    const uint8_t *in;
    size_t left;    /* bytes of input                                           */
    uint64_t read;  /* byte of the file behind them                             */
    size_t at;      /* cells, with the marks in front, or bytes                 */
    uint8_t *bytes; /* where they are; NULL: there are only cells               */
    bool again;     /* input that was there at first is not any more            */
    /* The last place where a block began. */
    bool block;
    uint64_t block_bits, block_made, block_used;
    unsigned block_nbits;
    size_t block_cells, block_bytes;
};

/* With those in front. */
static size_t most_cells(const struct cv_gzip_file *file)
{
    return CV_INFLATE_WINDOW + CV_GZIP_RATIO * file->piece;
}

/* NULL: no memory. */
static struct cv_gzip_piece *gzip_piece_new(const struct cv_gzip_file *file)
{
    struct cv_gzip_piece *piece = malloc(sizeof *piece);

    if (piece == NULL)
        return NULL;
    piece->in = malloc(file->piece + MORE);
    /* What is never written takes no memory. */
    piece->out = malloc(sizeof *piece->out * (most_cells(file) + SPARE));
    if (piece->in != NULL && piece->out != NULL) {
        cv_marks_fill(piece->out);
        return piece;
    }
    gzip_piece_free(piece);
    return NULL;
}

static void gzip_piece_free(struct cv_gzip_piece *piece)
{
    if (piece == NULL)
        return;
    free(piece->in);
    free(piece->out);
    free(piece);
}

/* --- input ---------------------------------------------------------------------------------- */

/* As many bytes as there are. */
static size_t read_at(const struct cv_gzip_file *file, uint64_t at, uint8_t *to,
                      size_t max)
{
    size_t got = 0;

    if (file->reader != NULL)
        return stream_reader_look(file->reader, at, to, max);
    while (got < max) {
        const ssize_t some =
            pread(file->fd, to + got, max - got, (off_t)(file->offset + at + got));

        if (some == 0 || (some < 0 && errno != EINTR))
            break;
        got += some > 0 ? (size_t)some : 0;
    }
    return got;
}

static bool read_more(struct course *course)
{
    struct cv_gzip_piece *piece = course->piece;

    course->again = true;
    course->in = piece->in;
    course->left = read_at(course->file, course->read, piece->in, MORE);
    course->read += course->left;
    return course->left > 0;
}

static bool is_passed(struct cv_gzip_file *file, uint64_t bit)
{
    return atomic_load_explicit(&file->passed, memory_order_relaxed) > bit;
}

/* --- decoding ------------------------------------------------------------------------------- */

static size_t room_of(const struct course *course)
{
    const size_t max = most_cells(course->file);

    return course->bytes == NULL
               ? max
               : sizeof(uint16_t) * (max - CV_INFLATE_WINDOW - course->piece->cells);
}

static void count(struct course *course)
{
    if (course->bytes == NULL)
        course->piece->cells = course->at - CV_INFLATE_WINDOW;
    else
        course->piece->bytes = course->at - CV_INFLATE_WINDOW;
}

static enum cv_inflate_state run(struct course *course)
{
    struct cv_gzip_piece *piece = course->piece;
    const size_t room = room_of(course);
    const size_t some = course->at + SLICE < room ? course->at + SLICE : room;
    const enum cv_inflate_state state =
        course->bytes == NULL
            ? cv_inflate_marks_run(&piece->inflate, &course->in, &course->left,
                                   piece->out, &course->at, some)
            : cv_inflate_run(&piece->inflate, &course->in, &course->left, course->bytes,
                             &course->at, some);

    count(course);
    return state;
}

/* If 32 KiB have no marks, no more can come. */
static void turn_to_bytes(struct course *course)
{
    struct cv_gzip_piece *piece = course->piece;
    const uint16_t *last = piece->out + course->at - CV_INFLATE_WINDOW;
    const size_t end = course->at;

    if (course->bytes != NULL || piece->cells < CV_INFLATE_WINDOW ||
        most_cells(course->file) - end < CV_INFLATE_WINDOW ||
        cv_marks_clean(last, CV_INFLATE_WINDOW) < CV_INFLATE_WINDOW)
        return;
    course->bytes = (uint8_t *)(piece->out + end);
    course->at = CV_INFLATE_WINDOW;
    cv_marks_narrow(last, CV_INFLATE_WINDOW, course->bytes);
}

static void note_block(struct course *course)
{
    const struct cv_gzip_piece *piece = course->piece;

    course->block = true;
    course->block_bits = piece->inflate.bits;
    course->block_nbits = piece->inflate.nbits;
    course->block_made = piece->inflate.made;
    course->block_used = course->read - course->left;
    course->block_cells = piece->cells;
    course->block_bytes = piece->bytes;
}

/* What comes behind the last block that began is left out. */
static void go_back(struct course *course)
{
    struct cv_gzip_piece *piece = course->piece;

    piece->inflate.bits = course->block_bits;
    piece->inflate.nbits = course->block_nbits;
    piece->inflate.made = course->block_made;
    piece->inflate.step = CV_INFLATE_AT_HEAD;
    piece->inflate.last = false;
    piece->inflate.paused = true;
    piece->inflate.length = 0;
    piece->used = course->block_used;
    piece->cells = course->block_cells;
    piece->bytes = course->block_bytes;
}

/* From the start on, to the end; false: no block begins there. */
static bool follow(struct course *course)
{
    struct cv_gzip_piece *piece = course->piece;
    enum cv_inflate_state state;

    for (;;) {
        state = run(course);
        if (state == CV_INFLATE_PAUSE) {
            note_block(course);
            if (8 * course->block_used - course->block_nbits >= 8 * piece->end)
                break;
        }
        if (state == CV_INFLATE_BAD || state == CV_INFLATE_END ||
            (state == CV_INFLATE_MORE && !read_more(course)) ||
            (state == CV_INFLATE_FULL && course->at == room_of(course)) ||
            is_passed(course->file, piece->start))
            break;
        turn_to_bytes(course);
    }
    piece->used = course->read - course->left;
    if (state == CV_INFLATE_BAD && course->block)
        go_back(course);
    return state != CV_INFLATE_BAD || course->block;
}

static bool decode_from(struct course *course, size_t held, uint64_t bit)
{
    struct cv_gzip_piece *piece = course->piece;

    course->in = piece->in + bit / 8;
    course->left = held - (size_t)(bit / 8);
    course->read = piece->begin + held;
    course->at = CV_INFLATE_WINDOW;
    course->bytes = NULL;
    course->block = false;
    piece->start = 8 * piece->begin + bit;
    piece->cells = piece->bytes = 0;
    cv_inflate_marks_begin(&piece->inflate);
    piece->inflate.pauses = true;
    piece->inflate.loose = true;
    cv_inflate_skip_bits(&piece->inflate, &course->in, &course->left, bit % 8);
    return follow(course);
}

/* Decode as much as can be. What cannot be read is not decoded: that is no failure here. */
static void gzip_piece_decode(struct cv_gzip_piece *piece, struct cv_gzip_file *file)
{
    struct course course = { .piece = piece, .file = file };
    const uint64_t end = 8 * (piece->end - piece->begin);
    const size_t held = read_at(file, piece->begin, piece->in,
                                (size_t)(piece->end - piece->begin) + MORE);
    uint64_t from = 0, bit;

    piece->found = false;
    while (!piece->found && !course.again && from < end) {
        const uint64_t to = from + SEARCH < end ? from + SEARCH : end;
        const uint64_t passed = atomic_load(&file->passed);

        if (passed > 8 * piece->begin + from)
            from = passed - 8 * piece->begin;
        if (from >= to)
            continue;
        if (!cv_inflate_find(piece->in, held, from, to, &piece->inflate, &bit)) {
            from = to;
            continue;
        }
        piece->found = decode_from(&course, held, bit);
        from = bit + 1;
    }
}

/* --- when the window is known --------------------------------------------------------------- */

/* ... what was made, if it stays: cells that have become bytes, and bytes behind them. */
static const uint8_t *gzip_piece_first(const struct cv_gzip_piece *piece)
{
    return (const uint8_t *)(piece->out + CV_INFLATE_WINDOW);
}

static const uint8_t *gzip_piece_rest(const struct cv_gzip_piece *piece)
{
    return (const uint8_t *)(piece->out + CV_INFLATE_WINDOW + piece->cells) +
           CV_INFLATE_WINDOW;
}

/* With its window known: the 32 KiB at its end. `out` may be the window of another. */
static void gzip_piece_tail(const struct cv_gzip_piece *piece, uint8_t *out)
{
    if (piece->bytes > 0)
        memcpy(out, gzip_piece_rest(piece) + piece->bytes - CV_INFLATE_WINDOW,
               CV_INFLATE_WINDOW);
    else
        cv_marks_resolve(piece->out + piece->cells, CV_INFLATE_WINDOW, piece->window,
                         out);
}

/* The check of what was just written is found while the processor has it at hand. */
static void gzip_piece_resolve(struct cv_gzip_piece *piece)
{
    const uint16_t *cells = piece->out + CV_INFLATE_WINDOW;
    const uint8_t *rest = gzip_piece_rest(piece);
    uint8_t *to =
        piece->place != NULL ? piece->place : (uint8_t *)(piece->out + CV_INFLATE_WINDOW);
    size_t some;

    piece->crc = 0;
    for (size_t at = 0; at < piece->cells; at += some) {
        some = piece->cells - at < CHECKED ? piece->cells - at : CHECKED;
        cv_marks_resolve(cells + at, some, piece->window, to + at);
        piece->crc = libdeflate_crc32(piece->crc, to + at, some);
    }
    for (size_t at = 0; at < piece->bytes; at += some) {
        some = piece->bytes - at < CHECKED ? piece->bytes - at : CHECKED;
        if (piece->place != NULL)
            memcpy(piece->place + piece->cells + at, rest + at, some);
        piece->crc = libdeflate_crc32(piece->crc, rest + at, some);
    }
}

/* --- one big file of gzip, by several threads -------------------------------------- */

enum {
    MOST_HELPERS = 6, /* the pipe behind is not faster than so many */
    MOST = 2 * MOST_HELPERS + 1,
    SMALLEST = 4 * CV_GZIP_PIECE,
    MISSES = 16, /* pieces in a row that were of no use, after which are left out: */
    PAUSE = 32,  /* so many */
};

struct ahead {
    struct cv_gzip gzip; /* first: what is in front */
    struct cv_gzip_file file;
    uint64_t size;
    uint64_t at;   /* bytes of the file that are used        */
    uint64_t over; /* of these: not taken from the input yet */
    uint64_t next; /* where the next piece begins            */
    uint64_t last; /* where the last that was given ends     */
    unsigned helpers;
    unsigned misses;
    uint64_t used;                                /* pieces */
    struct cv_ordered_jobs *decoding, *resolving; /* owned */
    struct cv_gzip_piece *given[MOST];            /* a ring: borrowed from `decoding` */
    unsigned first, ngiven;
    unsigned nresolving;
    struct cv_handoff_buffer *buffer; /* borrowed: where all goes; NULL */
    uint64_t arriving; /* bytes of pieces that were passed over and not given out */
    struct cv_gzip_piece *held;  /* owned: taken, but it begins further on; NULL */
    struct cv_gzip_piece *shown; /* owned: whose bytes are given out; NULL */
    bool rest;                   /* of these, the rest is still to be given */
    struct cv_gzip_piece *spare[2 * MOST]; /* owned */
    unsigned nspare;
};

bool cv_gzip_ahead_pays(uint64_t size, unsigned cores)
{
    return size >= SMALLEST && cores >= 2;
}

/* --- threads -------------------------------------------------------------------------------- */

static enum cleave_status decode_piece(void *context, unsigned thread, void *job,
                                       bool *more, struct cleave_error *err)
{
    (void)thread, (void)more, (void)err;
    gzip_piece_decode(job, context);
    return CLEAVE_OK;
}

static enum cleave_status resolve_piece(void *context, unsigned thread, void *job,
                                        bool *more, struct cleave_error *err)
{
    (void)context, (void)thread, (void)more, (void)err;
    gzip_piece_resolve(job);
    return CLEAVE_OK;
}

static void drop_piece(void *job)
{
    gzip_piece_free(job);
}

static bool start_threads(struct ahead *ahead)
{
    struct cv_ordered_options options = { .threads = ahead->helpers,
                                          .max = 2 * (size_t)ahead->helpers,
                                          .work = decode_piece,
                                          .context = &ahead->file,
                                          .drop = drop_piece,
                                          .what = "decodes" };

    if (cv_ordered_start(&options, &ahead->decoding, NULL) != CLEAVE_OK)
        return false;
    options.threads = (ahead->helpers + 1) / 2;
    options.max = ahead->helpers + 1;
    options.work = resolve_piece;
    return cv_ordered_start(&options, &ahead->resolving, NULL) == CLEAVE_OK;
}

static void close_ahead(void *state)
{
    struct ahead *ahead = state;

    atomic_store(&ahead->file.passed, UINT64_MAX);
    cv_ordered_free(ahead->decoding);
    cv_ordered_free(ahead->resolving);
    gzip_piece_free(ahead->held);
    gzip_piece_free(ahead->shown);
    while (ahead->nspare > 0)
        gzip_piece_free(ahead->spare[--ahead->nspare]);
    free(ahead);
}

static unsigned helpers_of(unsigned cores)
{
    return cores - 1 < MOST_HELPERS ? cores - 1 : MOST_HELPERS;
}

/* Pieces that are passed over but not shown, that are given, that are left to the one in front, and two that
 * are still coming. */
size_t cv_gzip_ahead_room(unsigned cores, size_t piece)
{
    return (4 * (size_t)helpers_of(cores) + 4) * (piece > 0 ? piece : CV_GZIP_PIECE);
}

void *cv_gzip_ahead_open(const struct cv_gzip_ahead_options *options)
{
    struct ahead *ahead = calloc(1, sizeof *ahead);

    if (ahead == NULL)
        return NULL;
    ahead->file.reader = options->reader;
    ahead->file.fd = options->fd;
    ahead->file.offset = options->offset;
    ahead->file.piece = options->piece > 0 ? options->piece : CV_GZIP_PIECE;
    ahead->size = options->size;
    ahead->helpers = helpers_of(options->cores);
    ahead->buffer = options->buffer;
    if (start_threads(ahead))
        return ahead;
    close_ahead(ahead);
    return NULL;
}

uint64_t cv_gzip_ahead_used(const void *state)
{
    return ((const struct ahead *)state)->used;
}

/* --- pieces --------------------------------------------------------------------------------- */

static void put_back(struct ahead *ahead, struct cv_gzip_piece *piece)
{
    ahead->spare[ahead->nspare++] = piece;
}

/* Where the last piece has to end that may be given. Of what comes, one is given when all of it has
 * come, and as much again, that a block may end in: nobody is to wait for more. */
static uint64_t known_end(const struct ahead *ahead)
{
    uint64_t come;
    bool whole;

    if (ahead->file.reader == NULL)
        return ahead->size;
    come = stream_reader_come(ahead->file.reader, &whole);
    if (whole)
        return come;
    return come > ahead->file.piece
               ? (come - ahead->file.piece) / ahead->file.piece * ahead->file.piece
               : 0;
}

/* Let pieces ahead be decoded, as many as may be. */
static void give_pieces(struct ahead *ahead)
{
    const uint64_t size = ahead->file.piece, turns = ahead->helpers + 1;
    const uint64_t end = known_end(ahead);

    if (ahead->next < ahead->at)
        ahead->next = (ahead->at / size + 1) * size;
    while (ahead->ngiven < 2 * ahead->helpers && ahead->next < end) {
        const uint64_t begin = ahead->next;
        const uint64_t left = end - begin;
        struct cv_gzip_piece *piece;

        if (begin / size % turns != 0 || ahead->misses == MISSES) {
            piece = ahead->nspare > 0 ? ahead->spare[--ahead->nspare]
                                      : gzip_piece_new(&ahead->file);
            if (piece == NULL)
                return;
            piece->begin = begin;
            piece->end = begin + (left < size ? left : size);
            ahead->given[(ahead->first + ahead->ngiven++) % MOST] = piece;
            ahead->last = begin + size;
            cv_ordered_jobs_submit(ahead->decoding, piece);
        }
        ahead->next += size;
    }
}

static struct cv_gzip_piece *take_piece(struct ahead *ahead)
{
    void *job;
    bool more;

    cv_ordered_jobs_wait(ahead->decoding, &job, &more, NULL);
    ahead->first = (ahead->first + 1) % MOST;
    ahead->ngiven--;
    return job;
}

static void miss(struct ahead *ahead, struct cv_gzip_piece *piece)
{
    const uint64_t later = ahead->at + PAUSE * ahead->file.piece;

    put_back(ahead, piece);
    ahead->misses += ahead->misses < MISSES ? 1 : 0;
    if (ahead->misses == MISSES && ahead->next < later)
        ahead->next = later / ahead->file.piece * ahead->file.piece;
}

/* Let the piece, which begins here, be given out, and go to its end. Where its bytes go is known now. */
static void pass_over(struct ahead *ahead, struct cv_gzip_piece *piece)
{
    struct cv_gzip *gzip = &ahead->gzip;
    const size_t length = piece->cells + piece->bytes;
    const uint64_t made = gzip->inflate.made + length;

    memcpy(piece->window, gzip->window + gzip->at - CV_INFLATE_WINDOW, CV_INFLATE_WINDOW);
    gzip_piece_tail(piece, gzip->window);
    gzip->at = CV_INFLATE_WINDOW;
    gzip->inflate = piece->inflate;
    gzip->inflate.made = made;
    ahead->over += piece->used - ahead->at;
    ahead->at = piece->used;
    if (ahead->misses == MISSES)
        ahead->next = ahead->last;
    ahead->misses = 0;
    ahead->used++;
    ahead->nresolving++;
    piece->place = ahead->buffer != NULL
                       ? cv_handoff_buffer_place(ahead->buffer, ahead->arriving, length)
                       : NULL;
    ahead->arriving += length;
    cv_ordered_jobs_submit(ahead->resolving, piece);
}

/* --- the thread in front ---------------------------------------------------------------------- */

/* Whether it is before a block, of which the head was not read. */
static bool is_at_block(const struct cv_gzip *gzip)
{
    return gzip->part == CV_GZIP_BODY && gzip->inflate.step == CV_INFLATE_AT_HEAD &&
           gzip->inflate.paused && !gzip->inflate.last;
}

/* Whether it may be one that is looked for, as far as bits are there to tell. */
static bool is_likely(const struct cv_inflate *inflate)
{
    return inflate->nbits < 3 || (inflate->bits & 7) == 4;
}

/* A piece that begins at `bit`, NULL: none does, or not yet. */
static struct cv_gzip_piece *piece_at(struct ahead *ahead, uint64_t bit)
{
    struct cv_gzip_piece *piece;

    while (ahead->held == NULL && ahead->ngiven > 0) {
        const struct cv_gzip_piece *next = ahead->given[ahead->first];

        if (8 * next->end > bit &&
            (8 * next->begin > bit || !is_likely(&ahead->gzip.inflate)))
            return NULL;
        /* Rather than to wait for it, give out what can be. */
        if (ahead->nresolving > 0 && !cv_ordered_ready(ahead->decoding))
            return NULL;
        piece = take_piece(ahead);
        if (piece->found && piece->start >= bit)
            ahead->held = piece;
        else
            miss(ahead, piece);
    }
    piece = ahead->held;
    if (piece == NULL || piece->start > bit)
        return NULL;
    ahead->held = NULL;
    if (piece->start == bit && ahead->gzip.inflate.made >= CV_INFLATE_WINDOW &&
        piece->used >= ahead->at)
        return piece;
    miss(ahead, piece);
    return NULL;
}

/* Pass over as many pieces as there are. */
static void go_on(struct ahead *ahead)
{
    struct cv_gzip_piece *piece;

    while (is_at_block(&ahead->gzip) && ahead->nresolving <= ahead->helpers) {
        const uint64_t bit = 8 * ahead->at - ahead->gzip.inflate.nbits;

        atomic_store(&ahead->file.passed, bit);
        give_pieces(ahead);
        piece = piece_at(ahead, bit);
        if (piece == NULL)
            break;
        pass_over(ahead, piece);
    }
}

static const uint32_t POLYNOMIAL = 0xEDB88320u;

/* Polynomials modulo that of the check, the highest power in the lowest bit. */
static uint32_t times(uint32_t a, uint32_t b)
{
    uint32_t product = 0;

    for (; a != 0; a <<= 1) {
        product ^= (a & 0x80000000u) != 0 ? b : 0;
        b = b >> 1 ^ ((b & 1) != 0 ? POLYNOMIAL : 0);
    }
    return product;
}

/* Each byte behind multiplies what is before by x^8. */
uint32_t cv_crc32_join(uint32_t before, uint32_t behind, uint64_t length)
{
    uint32_t power = 0x00800000u;

    for (; length > 0; length >>= 1) {
        if ((length & 1) != 0)
            before = times(before, power);
        power = times(power, power);
    }
    return before ^ behind;
}

static enum cv_codec_step show(struct ahead *ahead, struct cv_codec_io *io)
{
    struct cv_gzip_piece *piece = ahead->shown;

    if (ahead->rest) {
        ahead->rest = false;
        io->out = gzip_piece_rest(piece);
        io->made = piece->bytes;
    } else {
        void *job;
        bool more;

        cv_ordered_jobs_wait(ahead->resolving, &job, &more, NULL);
        piece = ahead->shown = job;
        ahead->nresolving--;
        ahead->rest = piece->place == NULL && piece->bytes > 0;
        ahead->gzip.crc =
            cv_crc32_join(ahead->gzip.crc, piece->crc, piece->cells + piece->bytes);
        io->out = piece->place != NULL ? piece->place : gzip_piece_first(piece);
        io->made = piece->cells + (piece->place != NULL ? piece->bytes : 0);
    }
    ahead->arriving -= io->made;
    return CV_CODEC_MADE;
}

static enum cv_codec_step step_ahead(void *state, struct cv_codec_io *io)
{
    struct ahead *ahead = state;

    if (!ahead->rest && ahead->shown != NULL) {
        put_back(ahead, ahead->shown);
        ahead->shown = NULL;
    }
    ahead->at = io->at + ahead->over;
    go_on(ahead);
    if (ahead->rest || ahead->nresolving > 0)
        return show(ahead, io);
    if (ahead->over > 0) {
        const size_t some = ahead->over < io->length ? (size_t)ahead->over : io->length;

        io->in += some;
        io->length -= some;
        ahead->over -= some;
        if (ahead->over > 0)
            return CV_CODEC_MORE;
    }
    return cv_gzip_step(&ahead->gzip, io);
}

static bool begin_ahead(void *state)
{
    struct ahead *ahead = state;

    cv_gzip_begin(&ahead->gzip);
    ahead->gzip.inflate.pauses = true;
    return true;
}

static void *open_none(void)
{
    return NULL;
}

const struct cv_codec cv_codec_gzip_ahead = {
    .name = "gzip",
    .begins = cv_gzip_begins,
    .pads = true,
    .open = open_none,
    .begin = begin_ahead,
    .step = step_ahead,
    .close = close_ahead,
};
