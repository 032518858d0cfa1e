/* gzip_ahead.c -- one big file of gzip, by several threads. SPDX-License-Identifier: MIT
 *
 * There are two pools: threads of the first find and decode pieces, those of the second replace
 * marks in pieces whose window is known, which is before they are asked for. Of as many pieces as
 * there are threads of the first pool and one more, one is left to the thread in front, which decodes
 * it to bytes at once. */
#include "run/decode/gzip_ahead.h"

#include <stdlib.h>
#include <string.h>

#include "run/decode/codec_gzip.h"
#include "run/inflate/crc32.h"
#include "run/decode/gzip_piece.h"
#include "run/inflate/inflate_internal.h"
#include "run/common/threads.h"

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
    cv_gzip_piece_decode(job, context);
    return CLEAVE_OK;
}

static enum cleave_status resolve_piece(void *context, unsigned thread, void *job,
                                        bool *more, struct cleave_error *err)
{
    (void)context, (void)thread, (void)more, (void)err;
    cv_gzip_piece_resolve(job);
    return CLEAVE_OK;
}

static void drop_piece(void *job)
{
    cv_gzip_piece_free(job);
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
    cv_gzip_piece_free(ahead->held);
    cv_gzip_piece_free(ahead->shown);
    while (ahead->nspare > 0)
        cv_gzip_piece_free(ahead->spare[--ahead->nspare]);
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
    come = cv_stream_reader_come(ahead->file.reader, &whole);
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
                                      : cv_gzip_piece_new(&ahead->file);
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
    cv_gzip_piece_tail(piece, gzip->window);
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

static enum cv_codec_step show(struct ahead *ahead, struct cv_codec_io *io)
{
    struct cv_gzip_piece *piece = ahead->shown;

    if (ahead->rest) {
        ahead->rest = false;
        io->out = cv_gzip_piece_rest(piece);
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
        io->out = piece->place != NULL ? piece->place : cv_gzip_piece_first(piece);
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
