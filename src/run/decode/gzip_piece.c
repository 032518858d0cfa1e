/* gzip_piece.c -- a stretch of deflate decoded ahead. SPDX-License-Identifier: MIT */
#include "run/decode/gzip_piece.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/inflate/crc32.h"
#include "run/inflate/inflate_marks.h"
#include "run/inflate/inflate.h"

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

struct cv_gzip_piece *cv_gzip_piece_new(const struct cv_gzip_file *file)
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
    cv_gzip_piece_free(piece);
    return NULL;
}

void cv_gzip_piece_free(struct cv_gzip_piece *piece)
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
        return cv_stream_reader_look(file->reader, at, to, max);
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

void cv_gzip_piece_decode(struct cv_gzip_piece *piece, struct cv_gzip_file *file)
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

const uint8_t *cv_gzip_piece_first(const struct cv_gzip_piece *piece)
{
    return (const uint8_t *)(piece->out + CV_INFLATE_WINDOW);
}

const uint8_t *cv_gzip_piece_rest(const struct cv_gzip_piece *piece)
{
    return (const uint8_t *)(piece->out + CV_INFLATE_WINDOW + piece->cells) +
           CV_INFLATE_WINDOW;
}

void cv_gzip_piece_tail(const struct cv_gzip_piece *piece, uint8_t *out)
{
    if (piece->bytes > 0)
        memcpy(out, cv_gzip_piece_rest(piece) + piece->bytes - CV_INFLATE_WINDOW,
               CV_INFLATE_WINDOW);
    else
        cv_marks_resolve(piece->out + piece->cells, CV_INFLATE_WINDOW, piece->window,
                         out);
}

/* The check of what was just written is found while the processor has it at hand. */
void cv_gzip_piece_resolve(struct cv_gzip_piece *piece)
{
    const uint16_t *cells = piece->out + CV_INFLATE_WINDOW;
    const uint8_t *rest = cv_gzip_piece_rest(piece);
    uint8_t *to =
        piece->place != NULL ? piece->place : (uint8_t *)(piece->out + CV_INFLATE_WINDOW);
    size_t some;

    piece->crc = 0;
    for (size_t at = 0; at < piece->cells; at += some) {
        some = piece->cells - at < CHECKED ? piece->cells - at : CHECKED;
        cv_marks_resolve(cells + at, some, piece->window, to + at);
        piece->crc = cv_crc32(piece->crc, to + at, some);
    }
    for (size_t at = 0; at < piece->bytes; at += some) {
        some = piece->bytes - at < CHECKED ? piece->bytes - at : CHECKED;
        if (piece->place != NULL)
            memcpy(piece->place + piece->cells + at, rest + at, some);
        piece->crc = cv_crc32(piece->crc, rest + at, some);
    }
}
