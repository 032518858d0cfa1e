/* gzip_ahead.c -- one large gzip member, decoded by several threads. SPDX-License-Identifier: MIT
 *
 * Two pools: threads of the first find and decode pieces; threads of the second replace the marks
 * of pieces whose window is known. One piece of each row of `helpers` + 1 is left to the consumer,
 * which decodes it directly to bytes. */
#include "run/decode/gzip_ahead.h"

#include <errno.h>
#include <libdeflate.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/fail.h"
#include "run/common/piece_part.h"
#include "run/common/threads.h"
#include "run/decode/formats.h"
#include "run/inflate/inflate.h"
#include "run/inflate/inflate_marks.h"

enum {
    PIECE = 1 << 20, /* bytes of the file, except in tests     */
    MAX_RATIO = 8,   /* cells for each byte: 16 MiB for PIECE   */
};

struct gzip_file {
    struct cv_stream_reader *reader; /* borrowed: a stream; NULL: the file `fd`       */
    int fd;                          /* borrowed                                      */
    uint64_t offset;                 /* in the file, of byte 0                        */
    size_t piece;                    /* bytes of a piece                              */
    _Atomic uint64_t passed;         /* position of the consumer, in bits             */
};

/* Output that is decoded before the bytes in front of it are known. It begins with the first block
 * that is found in [begin, end) and ends before the first block at or after `end`, or earlier: at
 * the end of a member, at damage, or if there is too much output. `inflate` can continue at the end.
 * The consumer verifies that a block really begins at `start`. */
struct piece {
    uint64_t begin, end; /* bytes of the file in which a block is searched */
    bool found;
    uint64_t start;            /* first bit of the first block                      */
    uint64_t used;             /* bytes of the file that `inflate` has read         */
    struct cv_inflate inflate; /* at the end of the piece                           */
    size_t cells, bytes;       /* output: first cells, then bytes                   */
    uint8_t window[CV_INFLATE_WINDOW]; /* the output before the piece */
    uint8_t *place; /* borrowed: destination of the bytes; NULL: they stay in `out` */
    uint32_t crc;   /* CRC of the output, once marks are replaced */
    uint8_t *in;    /* owned */
    uint16_t *out;  /* owned */
};

/* --- read-ahead of a stream ------------------------------------------------------------------- */

/* A ring. The reader thread writes after `come` without the lock. */

enum {
    READ = 256 * 1024,
    KEPT = 256 * 1024, /* bytes before `taken` that others can still see */
};

struct cv_stream_reader {
    struct cv_decoder_input input;
    pthread_t reader;
    bool reading;
    uint8_t *ring; /* owned; pages that are never written take no memory */
    size_t room;
    pthread_mutex_t lock; /* for the members below */
    pthread_cond_t more, less;
    uint64_t taken, come; /* bytes that the consumer has read, that have arrived */
    bool whole;           /* no more will arrive                                 */
    int error;            /* errno of a failed read; 0: the end                  */
    bool stopped;
};

/* The first byte in the ring; to be called with the lock. */
static uint64_t oldest_byte(const struct cv_stream_reader *reader)
{
    return reader->taken > KEPT ? reader->taken - KEPT : 0;
}

/* Where to read the next bytes to; NULL: stopped. */
static uint8_t *wait_for_room(struct cv_stream_reader *reader, size_t *room)
{
    uint8_t *to = NULL;

    pthread_mutex_lock(&reader->lock);
    while (reader->come - oldest_byte(reader) == reader->room && !reader->stopped)
        pthread_cond_wait(&reader->less, &reader->lock);
    if (!reader->stopped) {
        const size_t at = (size_t)(reader->come % reader->room);
        const size_t left = reader->room - (size_t)(reader->come - oldest_byte(reader));

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
        got = TEMP_FAILURE_RETRY(reader->input.read(reader->input.context, to, room));
        pthread_mutex_lock(&reader->lock);
        reader->error = got < 0 ? errno : 0;
        reader->whole = got <= 0;
        reader->come += got > 0 ? (uint64_t)got : 0;
        pthread_cond_signal(&reader->more);
        pthread_mutex_unlock(&reader->lock);
    }
    return NULL;
}

/* Copy bytes of the ring; to be called with the lock. */
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

/* Bytes of the ring from `at`, as many as there are; does not wait. Called by any thread. */
static size_t stream_reader_look(struct cv_stream_reader *reader, uint64_t at, void *to,
                                 size_t max)
{
    size_t some = 0;

    pthread_mutex_lock(&reader->lock);
    if (at >= oldest_byte(reader) && at < reader->come) {
        some = (size_t)(reader->come - at);
        some = some < max ? some : max;
        copy(reader, at, to, some);
    }
    pthread_mutex_unlock(&reader->lock);
    return some;
}

/* Bytes that have arrived; *whole: no more will. */
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

struct cv_stream_reader *cv_stream_reader_open(const struct cv_decoder_input *input,
                                               size_t room)
{
    struct cv_stream_reader *reader = calloc(1, sizeof *reader);

    if (reader == NULL)
        return NULL;
    reader->input = *input;
    reader->room = room + KEPT;
    pthread_mutex_init(&reader->lock, NULL);
    pthread_cond_init(&reader->more, NULL);
    pthread_cond_init(&reader->less, NULL);
    reader->ring = malloc(reader->room);
    reader->reading = reader->ring != NULL &&
                      cv_nosignal_thread_create(&reader->reader, read_all, reader) == 0;
    if (reader->reading)
        return reader;
    cv_stream_reader_free(reader);
    return NULL;
}

/* --- pieces --------------------------------------------------------------------------------- */

enum {
    MORE = 128 * 1024,      /* bytes that are read after the piece, at a time        */
    SEARCH = 8 * 16 * 1024, /* bits between tests whether a piece is obsolete        */
    SLICE = 64 * 1024,      /* cells between such tests                              */
    SPARE = 64,             /* cells that may be written beyond the end              */
    CHECKED = 256 * 1024,   /* bytes whose checksum is computed while they are cached */
};

/* The state of decoding a piece. Output is cells until the last 32 KiB contain no marks, then
 * bytes, which follow the cells and a copy of these 32 KiB as bytes. */
struct progress {
    struct piece *piece;
    struct gzip_file *file;
    const uint8_t *in;
    size_t left;    /* bytes of input                                   */
    uint64_t read;  /* offset in the file after them                    */
    size_t at;      /* cells or bytes of output, with the window        */
    uint8_t *bytes; /* output as bytes; NULL: there are only cells      */
    bool again;     /* the first input was overwritten                  */
    bool block;     /* the state at the last start of a block:          */
    uint64_t block_bits, block_made, block_used;
    unsigned block_nbits;
    size_t block_cells, block_bytes;
};

/* Cells of a piece, with the window. */
static size_t max_cells(const struct gzip_file *file)
{
    return CV_INFLATE_WINDOW + MAX_RATIO * file->piece;
}

static void free_piece(void *job)
{
    struct piece *piece = job;

    if (piece == NULL)
        return;
    free(piece->in);
    free(piece->out);
    free(piece);
}

static struct piece *new_piece(const struct gzip_file *file)
{
    struct piece *piece = malloc(sizeof *piece);

    if (piece == NULL)
        return NULL;
    piece->in = malloc(file->piece + MORE);
    /* Pages that are never written take no memory. */
    piece->out = malloc(sizeof *piece->out * (max_cells(file) + SPARE));
    if (piece->in != NULL && piece->out != NULL) {
        cv_marks_fill(piece->out);
        return piece;
    }
    free_piece(piece);
    return NULL;
}

/* Returns less than `max` at the end of the file or of the bytes that have arrived. */
static size_t read_at(const struct gzip_file *file, uint64_t at, uint8_t *to, size_t max)
{
    const struct cv_part part = { .fd = file->fd, .end = UINT64_MAX };
    ssize_t got;

    if (file->reader != NULL)
        return stream_reader_look(file->reader, at, to, max);
    got = cv_part_read(&part, file->offset + at, to, max);
    return got > 0 ? (size_t)got : 0;
}

static bool read_more(struct progress *progress)
{
    struct piece *piece = progress->piece;

    progress->again = true;
    progress->in = piece->in;
    progress->left = read_at(progress->file, progress->read, piece->in, MORE);
    progress->read += progress->left;
    return progress->left > 0;
}

static size_t room_of(const struct progress *progress)
{
    const size_t max = max_cells(progress->file);

    return progress->bytes == NULL
               ? max
               : sizeof(uint16_t) * (max - CV_INFLATE_WINDOW - progress->piece->cells);
}

static enum cv_inflate_state run(struct progress *progress)
{
    struct piece *piece = progress->piece;
    const size_t room = room_of(progress);
    const size_t some = progress->at + SLICE < room ? progress->at + SLICE : room;
    const enum cv_inflate_state state =
        progress->bytes == NULL
            ? cv_inflate_marks_run(&piece->inflate, &progress->in, &progress->left,
                                   piece->out, &progress->at, some)
            : cv_inflate_run(&piece->inflate, &progress->in, &progress->left,
                             progress->bytes, &progress->at, some);

    *(progress->bytes == NULL ? &piece->cells : &piece->bytes) =
        progress->at - CV_INFLATE_WINDOW;
    return state;
}

/* Without a mark in the last 32 KiB, no more marks are possible. */
static void switch_to_bytes(struct progress *progress)
{
    struct piece *piece = progress->piece;
    const uint16_t *last = piece->out + progress->at - CV_INFLATE_WINDOW;
    const size_t end = progress->at;

    if (progress->bytes != NULL || piece->cells < CV_INFLATE_WINDOW ||
        max_cells(progress->file) - end < CV_INFLATE_WINDOW ||
        cv_marks_clean(last, CV_INFLATE_WINDOW) < CV_INFLATE_WINDOW)
        return;
    progress->bytes = (uint8_t *)(piece->out + end);
    progress->at = CV_INFLATE_WINDOW;
    cv_marks_narrow(last, CV_INFLATE_WINDOW, progress->bytes);
}

static void note_block(struct progress *progress)
{
    const struct piece *piece = progress->piece;

    progress->block = true;
    progress->block_bits = piece->inflate.bits;
    progress->block_nbits = piece->inflate.nbits;
    progress->block_made = piece->inflate.made;
    progress->block_used = progress->read - progress->left;
    progress->block_cells = piece->cells;
    progress->block_bytes = piece->bytes;
}

/* Undo everything after the last start of a block. */
static void undo_block(struct progress *progress)
{
    struct piece *piece = progress->piece;

    piece->inflate.bits = progress->block_bits;
    piece->inflate.nbits = progress->block_nbits;
    piece->inflate.made = progress->block_made;
    piece->inflate.step = CV_INFLATE_AT_HEAD;
    piece->inflate.last = false;
    piece->inflate.paused = true;
    piece->inflate.length = 0;
    piece->used = progress->block_used;
    piece->cells = progress->block_cells;
    piece->bytes = progress->block_bytes;
}

/* Decode from the start to the end of the piece; false: no block begins at the start. */
static bool decode_blocks(struct progress *progress)
{
    struct piece *piece = progress->piece;
    enum cv_inflate_state state;

    for (;;) {
        state = run(progress);
        if (state == CV_INFLATE_PAUSE) {
            note_block(progress);
            if (8 * progress->block_used - progress->block_nbits >= 8 * piece->end)
                break;
        }
        if (state == CV_INFLATE_BAD || state == CV_INFLATE_END ||
            (state == CV_INFLATE_MORE && !read_more(progress)) ||
            (state == CV_INFLATE_FULL && progress->at == room_of(progress)) ||
            atomic_load_explicit(&progress->file->passed, memory_order_relaxed) >
                piece->start)
            break;
        switch_to_bytes(progress);
    }
    piece->used = progress->read - progress->left;
    if (state == CV_INFLATE_BAD && progress->block)
        undo_block(progress);
    return state != CV_INFLATE_BAD || progress->block;
}

static bool decode_from(struct progress *progress, size_t held, uint64_t bit)
{
    struct piece *piece = progress->piece;

    progress->in = piece->in + bit / 8;
    progress->left = held - (size_t)(bit / 8);
    progress->read = piece->begin + held;
    progress->at = CV_INFLATE_WINDOW;
    progress->bytes = NULL;
    progress->block = false;
    piece->start = 8 * piece->begin + bit;
    piece->cells = piece->bytes = 0;
    cv_inflate_marks_begin(&piece->inflate);
    piece->inflate.pauses = true;
    piece->inflate.loose = true;
    cv_inflate_skip_bits(&piece->inflate, &progress->in, &progress->left, bit % 8);
    return decode_blocks(progress);
}

/* Errors are left to the consumer: a piece then ends early, or is not found. */
static void find_and_decode(struct piece *piece, struct gzip_file *file)
{
    struct progress progress = { .piece = piece, .file = file };
    const uint64_t end = 8 * (piece->end - piece->begin);
    const size_t held = read_at(file, piece->begin, piece->in,
                                (size_t)(piece->end - piece->begin) + MORE);
    uint64_t from = 0, bit;

    piece->found = false;
    while (!piece->found && !progress.again && from < end) {
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
        piece->found = decode_from(&progress, held, bit);
        from = bit + 1;
    }
}

/* The bytes in `out` after the cells. */
static const uint8_t *rest_bytes(const struct piece *piece)
{
    return (const uint8_t *)(piece->out + CV_INFLATE_WINDOW + piece->cells) +
           CV_INFLATE_WINDOW;
}

/* The last 32 KiB of a piece whose window is known. */
static void tail_of_piece(const struct piece *piece, uint8_t *out)
{
    if (piece->bytes > 0)
        memcpy(out, rest_bytes(piece) + piece->bytes - CV_INFLATE_WINDOW,
               CV_INFLATE_WINDOW);
    else
        cv_marks_resolve(piece->out + piece->cells, CV_INFLATE_WINDOW, piece->window,
                         out);
}

/* Replace the marks of a piece whose window is known, move the output to its place, and compute
 * its checksum. */
static void resolve_marks(struct piece *piece)
{
    const uint16_t *cells = piece->out + CV_INFLATE_WINDOW;
    const uint8_t *rest = rest_bytes(piece);
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

/* --- threads -------------------------------------------------------------------------------- */

enum {
    MAX_HELPERS = 6, /* more are faster than the pipe of a command */
    MAX_PIECES = 2 * MAX_HELPERS + 1,
    SMALLEST = 4 * PIECE,
    MISSES = 16, /* useless pieces in a row before a pause */
    PAUSE = 32,  /* pieces that are left out then          */
};

struct ahead {
    struct cv_gzip gzip; /* first: the decoder of the consumer */
    struct gzip_file file;
    uint64_t size;
    uint64_t at;   /* bytes of the file that are used               */
    uint64_t over; /* used bytes that are still in the input        */
    uint64_t next; /* offset of the next piece                      */
    uint64_t last; /* end of the last submitted piece               */
    unsigned helpers;
    unsigned misses;
    uint64_t used;                                /* pieces that were given out */
    struct cv_ordered_jobs *decoding, *resolving; /* owned */
    struct piece *given[MAX_PIECES];              /* a ring, borrowed from `decoding` */
    unsigned first, ngiven;
    unsigned nresolving;
    struct cv_handoff_buffer *buffer; /* borrowed: destination of all output; NULL */
    uint64_t arriving;   /* bytes of pieces that are resolved and not given out */
    struct piece *held;  /* owned: decoded, but it begins later; NULL           */
    struct piece *shown; /* owned: its bytes are given out; NULL                */
    bool rest;           /* bytes after its cells are still to be given out     */
    struct piece *spare[2 * MAX_PIECES]; /* owned */
    unsigned nspare;
};

bool cv_gzip_ahead_pays(uint64_t size, unsigned cores)
{
    return size >= SMALLEST && cores >= 2;
}

static bool decode_piece(void *context, void *job)
{
    find_and_decode(job, context);
    return false;
}

static bool resolve_piece(void *context, void *job)
{
    (void)context;
    resolve_marks(job);
    return false;
}

static bool start_threads(struct ahead *ahead)
{
    struct cv_ordered_options options = { .threads = ahead->helpers,
                                          .max = 2 * (size_t)ahead->helpers,
                                          .work = decode_piece,
                                          .context = &ahead->file,
                                          .drop = free_piece };

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
    free_piece(ahead->held);
    free_piece(ahead->shown);
    while (ahead->nspare > 0)
        free_piece(ahead->spare[--ahead->nspare]);
    free(ahead);
}

static unsigned count_helpers(unsigned cores)
{
    return cores - 1 < MAX_HELPERS ? cores - 1 : MAX_HELPERS;
}

/* Room for pieces that are resolved, submitted, left to the consumer, and two that arrive. */
size_t cv_gzip_ahead_room(unsigned cores, size_t piece)
{
    return (4 * (size_t)count_helpers(cores) + 4) * (piece > 0 ? piece : PIECE);
}

void *cv_gzip_ahead_open(const struct cv_gzip_ahead_options *options)
{
    struct ahead *ahead = calloc(1, sizeof *ahead);

    if (ahead == NULL)
        return NULL;
    ahead->file.reader = options->reader;
    ahead->file.fd = options->fd;
    ahead->file.offset = options->offset;
    ahead->file.piece = options->piece > 0 ? options->piece : PIECE;
    ahead->size = options->size;
    ahead->helpers = count_helpers(options->cores);
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

/* --- submission of pieces --------------------------------------------------------------------- */

static void recycle(struct ahead *ahead, struct piece *piece)
{
    ahead->spare[ahead->nspare++] = piece;
}

/* The end of the last piece that may be submitted. A piece of a stream must have arrived, and as
 * much again for its last block: helpers do not wait for input. */
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

/* Submit as many pieces as possible. */
static void submit_pieces(struct ahead *ahead)
{
    const uint64_t size = ahead->file.piece, turns = ahead->helpers + 1;
    const uint64_t end = known_end(ahead);

    if (ahead->next < ahead->at)
        ahead->next = (ahead->at / size + 1) * size;
    while (ahead->ngiven < 2 * ahead->helpers && ahead->next < end) {
        const uint64_t begin = ahead->next;
        const uint64_t left = end - begin;
        struct piece *piece;

        if (begin / size % turns != 0 || ahead->misses == MISSES) {
            piece = ahead->nspare > 0 ? ahead->spare[--ahead->nspare]
                                      : new_piece(&ahead->file);
            if (piece == NULL)
                return;
            piece->begin = begin;
            piece->end = begin + (left < size ? left : size);
            ahead->given[(ahead->first + ahead->ngiven++) % MAX_PIECES] = piece;
            ahead->last = begin + size;
            cv_ordered_jobs_submit(ahead->decoding, piece);
        }
        ahead->next += size;
    }
}

static struct piece *take_piece(struct ahead *ahead)
{
    bool more;

    ahead->first = (ahead->first + 1) % MAX_PIECES;
    ahead->ngiven--;
    return cv_ordered_jobs_wait(ahead->decoding, &more);
}

static void note_miss(struct ahead *ahead, struct piece *piece)
{
    const uint64_t later = ahead->at + PAUSE * ahead->file.piece;

    recycle(ahead, piece);
    ahead->misses += ahead->misses < MISSES ? 1 : 0;
    if (ahead->misses == MISSES && ahead->next < later)
        ahead->next = later / ahead->file.piece * ahead->file.piece;
}

/* Skip to the end of a piece that begins here, and have its marks replaced. */
static void skip_piece(struct ahead *ahead, struct piece *piece)
{
    struct cv_gzip *gzip = &ahead->gzip;
    const size_t length = piece->cells + piece->bytes;
    const uint64_t made = gzip->inflate.made + length;

    memcpy(piece->window, gzip->window + gzip->at - CV_INFLATE_WINDOW, CV_INFLATE_WINDOW);
    tail_of_piece(piece, gzip->window);
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

/* --- the consumer --------------------------------------------------------------------------- */

/* Whether the decoder is before the header of a block. */
static bool is_at_block(const struct cv_gzip *gzip)
{
    return gzip->part == CV_GZIP_BODY && gzip->inflate.step == CV_INFLATE_AT_HEAD &&
           gzip->inflate.paused && !gzip->inflate.last;
}

/* Whether cv_inflate_find could have found this block, as far as the bits tell. */
static bool is_likely(const struct cv_inflate *inflate)
{
    return inflate->nbits < 3 || (inflate->bits & 7) == 4;
}

/* The piece that begins at `bit`; NULL: none, or it is not decoded yet. */
static struct piece *piece_at(struct ahead *ahead, uint64_t bit)
{
    struct piece *piece;

    while (ahead->held == NULL && ahead->ngiven > 0) {
        const struct piece *next = ahead->given[ahead->first];

        if (8 * next->end > bit &&
            (8 * next->begin > bit || !is_likely(&ahead->gzip.inflate)))
            return NULL;
        /* Give out other pieces instead of waiting. */
        if (ahead->nresolving > 0 && !cv_ordered_ready(ahead->decoding))
            return NULL;
        piece = take_piece(ahead);
        if (piece->found && piece->start >= bit)
            ahead->held = piece;
        else
            note_miss(ahead, piece);
    }
    piece = ahead->held;
    if (piece == NULL || piece->start > bit)
        return NULL;
    ahead->held = NULL;
    if (piece->start == bit && ahead->gzip.inflate.made >= CV_INFLATE_WINDOW &&
        piece->used >= ahead->at)
        return piece;
    note_miss(ahead, piece);
    return NULL;
}

/* Skip as many pieces as possible. */
static void skip_pieces(struct ahead *ahead)
{
    struct piece *piece;

    while (is_at_block(&ahead->gzip) && ahead->nresolving <= ahead->helpers) {
        const uint64_t bit = 8 * ahead->at - ahead->gzip.inflate.nbits;

        atomic_store(&ahead->file.passed, bit);
        submit_pieces(ahead);
        piece = piece_at(ahead, bit);
        if (piece == NULL)
            break;
        skip_piece(ahead, piece);
    }
}

static const uint32_t POLYNOMIAL = 0xEDB88320u;

/* Product of polynomials modulo the one of CRC-32, the highest power in the lowest bit. */
static uint32_t times(uint32_t a, uint32_t b)
{
    uint32_t product = 0;

    for (; a != 0; a <<= 1) {
        product ^= (a & 0x80000000u) != 0 ? b : 0;
        b = b >> 1 ^ ((b & 1) != 0 ? POLYNOMIAL : 0);
    }
    return product;
}

/* Each byte that follows multiplies the remainder by x^8. */
uint32_t cv_crc32_join(uint32_t before, uint32_t after, uint64_t length)
{
    uint32_t power = 0x00800000u;

    for (; length > 0; length >>= 1) {
        if ((length & 1) != 0)
            before = times(before, power);
        power = times(power, power);
    }
    return before ^ after;
}

static enum cv_codec_step give_out(struct ahead *ahead, struct cv_codec_io *io)
{
    struct piece *piece = ahead->shown;

    if (ahead->rest) {
        ahead->rest = false;
        io->out = rest_bytes(piece);
        io->made = piece->bytes;
    } else {
        bool more;

        piece = ahead->shown = cv_ordered_jobs_wait(ahead->resolving, &more);
        ahead->nresolving--;
        ahead->rest = piece->place == NULL && piece->bytes > 0;
        ahead->gzip.crc =
            cv_crc32_join(ahead->gzip.crc, piece->crc, piece->cells + piece->bytes);
        io->out = piece->place != NULL
                      ? piece->place
                      : (const uint8_t *)(piece->out + CV_INFLATE_WINDOW);
        io->made = piece->cells + (piece->place != NULL ? piece->bytes : 0);
    }
    ahead->arriving -= io->made;
    return CV_CODEC_MADE;
}

static enum cv_codec_step step_ahead(void *state, struct cv_codec_io *io)
{
    struct ahead *ahead = state;

    if (!ahead->rest && ahead->shown != NULL) {
        recycle(ahead, ahead->shown);
        ahead->shown = NULL;
    }
    ahead->at = io->at + ahead->over;
    skip_pieces(ahead);
    if (ahead->rest || ahead->nresolving > 0)
        return give_out(ahead, io);
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
