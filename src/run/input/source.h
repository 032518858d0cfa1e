/* source.h -- the input of a run, handed out in pieces. SPDX-License-Identifier: MIT
 *
 * The input is either regular files, one after the other, or one stream: standard input
 * or anything else that is no regular file. Its bytes have addresses from 0 on through
 * all files. A piece is a range of one file that begins and ends at record boundaries;
 * every file ends a record, and where its last one lacks its end while another file with
 * bytes follows, the end is put behind it (`closing`). Pieces are taken from the lowest address on; what was taken
 * is put back when it failed, in whole or in part, or finished.
 *
 * A stream is kept in memory. Reading stops while as much as `hold` bytes are waiting or
 * at work, and memory is given back as pieces finish. At worst that, a record and some
 * megabytes at the edges of pieces are kept; a record may have no more than `max_record`.
 *
 * With `header`, the first record of each file is in its first piece and is to be given to
 * the command again before each later one. With `pairs`, a piece has a range of a second
 * file with as many records; sizes and addresses are those of the first. */
#ifndef CV_SOURCE_H
#define CV_SOURCE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>
#include "run/common/piece_part.h"
#include "run/common/range_set.h"
#include "run/split/split.h"

struct cleave_items;
struct cv_codec;
struct cv_source;

/* The master is to stay below 64 MiB, and this and some megabytes more are resident. */
enum { CV_SOURCE_HOLD = 48 << 20 };

struct cv_source_options {
    const struct cv_splitter
        *splitter; /* borrowed while the source is in use             */
    bool header;   /* repeat the first record of a file before each piece              */
    const char
        *pairs;    /* borrowed: the file of the mates; NULL: none                      */
    uint64_t hold; /* most bytes kept of a stream, unless a record has more; 0: below   */
    unsigned
        shares; /* a piece of a stream has at most hold / shares bytes; 0: 4        */
    uint64_t max_record; /* a longer record is an error; 0: none is                     */
    bool raw; /* decode nothing: take compressed and other binary inputs as they are */
    const struct cv_codec *
        codec; /* inputs have this form (run/decode/codec.h); NULL: that of their bytes */
    const char
        *fetch; /* borrowed: a command gives ranges of inputs (run/fetch); NULL: files */
    const char
        *size;     /* borrowed, with that: how many bytes there are, or who tells      */
    bool sized;    /* how much there is has to be known, if it takes to decode all     */
    bool no_index; /* do not read what cv_source_index has written */
    bool numbers;  /* let cv_source_records number the records of a stream             */
};

/* All that one start of the command is given: `header`, then `body`, of the file, then
 * `closing`; and `mate` of another. Ranges without bytes are not to be given. */
struct cv_piece {
    uint64_t begin,
        end;          /* addresses in the input                                       */
    size_t file;      /* index of the file                                            */
    const char *name; /* borrowed from the source: its name, for messages             */
    int fd;           /* borrowed until all that was taken of the file is finished;   */
                      /* -1: a stream, whose bytes are here, until it is finished:    */
    struct cv_lazy_reader
        *well; /* borrowed as `fd`: in its place; NULL: it is the file     */
    const char *header_bytes, *body_bytes;
    struct cv_range header, body; /* of the file, as users count                      */
    unsigned skip; /* bytes before `body` that belong to it, and are not given */
    enum cv_closing closing; /* in no file: neither in `body` nor in `end`           */
    const char
        *closing_text; /* borrowed from the source: of CV_CLOSING_TEXT            */
    int mate_fd;       /* -1: no mates */
    struct cv_lazy_reader *mate_well; /* as `well`  */
    struct cv_range mate;
};

/* The parts that a command is given. */
struct cv_part cv_piece_header(const struct cv_piece *piece);
struct cv_part cv_piece_body(const struct cv_piece *piece);
struct cv_part cv_piece_closing(const struct cv_piece *piece);
struct cv_part cv_piece_mate(const struct cv_piece *piece);

/* `paths` are borrowed for this call; "-" or no path at all is standard input. Opening a
 * FIFO waits for a writer. *out is owned by the caller. */
enum cleave_status cv_source_open(const char *const *paths, size_t npaths,
                                  const struct cv_source_options *options,
                                  struct cv_source **out, struct cleave_error *err);
/* A source of items, which are borrowed with it: each is a byte at the address that is its
 * number, and the splitter is that of records of one byte. More of them are asked for, if more
 * may come, while fewer than `hold` wait. */
enum cleave_status cv_source_open_items(const struct cleave_items *items, uint64_t hold,
                                        const struct cv_splitter *splitter,
                                        struct cv_source **out, struct cleave_error *err);
void cv_source_free(struct cv_source *source);
/* Look at the files before anything is given out: they have to be text, unless `raw` or
 * records are of a fixed size (streams are looked at as they come); headers have to be the same, but for a
 * byte order mark and the end of the line; files of fixed and fastq have to end where a
 * record does. Of a stream, and of csv, only cv_source_ends_in_record can tell. */
enum cleave_status cv_source_validate(struct cv_source *source, struct cleave_error *err);

/* --- pieces ----------------------------------------------------------------------------- */

enum cv_take {
    CV_TAKE_PIECE,
    CV_TAKE_WAIT, /* more may come from the stream, or from cv_source_known        */
    CV_TAKE_END,  /* nothing is waiting, and nothing will but what is put back     */
};

/* The first piece that is waiting, of about `wanted` bytes: up to the first boundary at or
 * after as many, or less at the end of a file, of what was put back or, of a stream, of a
 * stretch of memory. Of a stream that
 * may have more, no less than `wanted` is given, or hold / shares, unless it is full. */
enum cleave_status cv_source_take(struct cv_source *source, uint64_t wanted,
                                  enum cv_take *state, struct cv_piece *out,
                                  struct cleave_error *err);
/* This item, of a source of items; CV_TAKE_END if it is not waiting. */
enum cleave_status cv_source_take_item(struct cv_source *source, uint64_t item,
                                       enum cv_take *state, struct cv_piece *out,
                                       struct cleave_error *err);
/* Bytes that a piece of what has come could have now. */
uint64_t cv_source_ready(const struct cv_source *source);
/* The same for what directly follows a piece: *out is the piece with it. CV_TAKE_END if that
 * is not waiting, or in another file; of a stream, CV_TAKE_WAIT only while it is to come and
 * there is room for it, and whatever has come is given. */
enum cleave_status cv_source_take_behind(struct cv_source *source,
                                         const struct cv_piece *piece, uint64_t wanted,
                                         enum cv_take *state, struct cv_piece *out,
                                         struct cleave_error *err);
/* A piece without bytes, for a command that is to get some later. */
struct cv_piece cv_source_blank(const struct cv_source *source);
/* Part a piece at the first boundary at or after byte `from` of its body (an offset in the
 * file). *tail is empty if there is none before its end. Nothing else changes: to give up
 * the tail, put it back. */
enum cleave_status cv_source_part(struct cv_source *source, const struct cv_piece *piece,
                                  uint64_t from, struct cv_piece *head,
                                  struct cv_piece *tail, struct cleave_error *err);
/* A piece, or what is left of it, is to be done again. */
enum cleave_status cv_source_put_back(struct cv_source *source,
                                      const struct cv_piece *piece,
                                      struct cleave_error *err);
/* A piece is done with and its bytes are not needed any more. */
enum cleave_status cv_source_finish(struct cv_source *source,
                                    const struct cv_piece *piece,
                                    struct cleave_error *err);
/* After a failure to read: whether it is damage of a file that is decoded. If so, the file
 * ends with the last record before it from now on, nothing behind that is given out, and
 * cv_source_ends_in_record will say so. Nothing is at work any more; what waits is what is in `left`
 * and can be had. */
bool cv_source_shorten(struct cv_source *source, const struct cv_range_set *left);
/* Whether a file was shortened. */
bool cv_source_is_short(const struct cv_source *source);
/* Fails if the file of the piece has been changed since the source was opened: what the
 * command has read is then uncertain. To be asked once it has read the piece. */
enum cleave_status cv_source_check(struct cv_source *source, const struct cv_piece *piece,
                                   struct cleave_error *err);
/* After that: the name of its file if something of that was changed that may be its bytes, though
 * size and mtime are as they were. NULL: nothing was, or it was asked before. */
const char *cv_source_was_modified(struct cv_source *source,
                                   const struct cv_piece *piece);
/* The hash of all that the command is given: header, body, closing, mate. Not for pieces that were
 * finished. */
enum cleave_status cv_source_hash(struct cv_source *source, const struct cv_piece *piece,
                                  struct cv_content_hash *out, struct cleave_error *err);
/* The number of the first record of a piece in its file, from 1, and how many there are.
 * Reads what comes before the piece, once. *first is 0 for a stream without `numbers`.
 * Not for pieces of a stream that were finished. */
enum cleave_status cv_source_records(struct cv_source *source,
                                     const struct cv_piece *piece, uint64_t *first,
                                     uint64_t *count, struct cleave_error *err);

/* All of a file that is decoded, for another thread that reads it by flows (piece_part.h). It stays open until
 * it is given back. Calls of the source are still those of one thread at a time. */
enum cleave_status cv_source_lend(struct cv_source *source, size_t file,
                                  struct cv_part *out, struct cleave_error *err);
void cv_source_give_back(struct cv_source *source, size_t file);

/* Write FILE.cleave-index for each file, which later sources read, with some boundaries; how
 * many there are. Not for splitters that tell boundaries from the bytes near them. */
enum cleave_status cv_source_index(struct cv_source *source, bool force, uint64_t *slots,
                                   struct cleave_error *err);

/* Where the header of a file ends; 0 without one. The file is opened for it. */
enum cleave_status cv_source_header_end(struct cv_source *source, size_t file,
                                        uint64_t *out, struct cleave_error *err);

/* --- sizes ------------------------------------------------------------------------------ */

/* Bytes in all, and bytes that wait to be taken: INFINITY while a stream may have more. */
double cv_source_total(const struct cv_source *source);
double cv_source_left(const struct cv_source *source);
/* When, by the clock, the end of a stream had come; 0: it has not, or it is none. */
double cv_source_ended_s(const struct cv_source *source);
/* When its first bytes had come, in the same way. */
double cv_source_first_s(const struct cv_source *source);
/* Of a stream: most bytes that wait or are at work at a time; 0 for files. */
double cv_source_hold(const struct cv_source *source);
/* Bytes in all, as far as they are known: of a stream, those that have come. */
uint64_t cv_source_extent(const struct cv_source *source);

/* A file, or the stream: its name as users gave it, borrowed from the source, the address
 * of its first byte and that behind its last. */
struct cv_source_span {
    const char *name;
    uint64_t begin, end;
};
/* The one that an address is in, or the last one. */
struct cv_source_span cv_source_span_at(const struct cv_source *source, uint64_t address);

/* Whether a file ends in a record that is cut short, as by a quote that is never closed:
 * then *note says which. To be asked at the end; may read what was not looked at before
 * (csv: at most all after the last cut). */
enum cleave_status cv_source_ends_in_record(struct cv_source *source, bool *out,
                                            struct cleave_error *note,
                                            struct cleave_error *err);

/* Whether an input is large and one block, so that all workers wait for one decoder: then *note
 * says what would be better. */
bool cv_source_lone(const struct cv_source *source, struct cleave_error *note);
/* Whether it is known how much will come of a stream: of a compressed file that was `sized`. */
bool cv_source_foretold(const struct cv_source *source, uint64_t *bytes);
/* Whether files of BGZF end without the block that says so: then *note says which. */
bool cv_source_unended(const struct cv_source *source, struct cleave_error *note);
/* Of what is cut between lines: what it seems to be, by its first bytes, in which a record is not a
 * line (run/split/format_guess.h); NULL: nothing of the kind. To be asked at the end. */
const struct cv_format_guess *cv_source_like(const struct cv_source *source);

/* --- streams ---------------------------------------------------------------------------- */

/* The descriptor to wait on until it is readable, or -1: regular files, and streams that
 * need no waiting as cv_source_take reads them (/dev/zero). */
int cv_source_poll_fd(const struct cv_source *source);
/* Whether there is more to read and room for it: poll only then. Changes with every call
 * of take, finish, known and pump. */
bool cv_source_wants(const struct cv_source *source);
/* Whether it is a stream of which more is read as it comes. */
bool cv_source_flows(const struct cv_source *source);
/* Read what is there, without waiting when the descriptor is readable. */
enum cleave_status cv_source_pump(struct cv_source *source, struct cleave_error *err);

/* --- what an earlier run has finished ----------------------------------------------------- */

/* Before the first take: bytes [begin, end) of file `file` were finished by an earlier run,
 * which knows them as `tag`. To be said in order of files and offsets. They are not given
 * out by cv_source_take, but by cv_source_known, to be compared with what they were. */
enum cleave_status cv_source_know(struct cv_source *source, size_t file, uint64_t begin,
                                  uint64_t end, uint64_t tag, struct cleave_error *err);

enum cv_known {
    CV_KNOWN_PIECE,  /* *piece counts as taken: finish it or put it back              */
    CV_KNOWN_BROKEN, /* it is not whole records of this input (any more): the bytes   */
                     /* there are will be taken again; only file, begin, end are set  */
    CV_KNOWN_WAIT,   /* the stream has not come so far                                */
    CV_KNOWN_END,    /* there are no more                                             */
};

/* The next of them, in order. Nothing is taken before files have given all of them. */
enum cleave_status cv_source_known(struct cv_source *source, enum cv_known *state,
                                   struct cv_piece *piece, uint64_t *tag,
                                   struct cleave_error *err);

/* --- identity --------------------------------------------------------------------------- */

struct cv_input {
    const char *path; /* borrowed from the source: absolute; "-" for standard input */
    uint64_t device, inode;
    int64_t size;     /* -1: a stream  */
    int64_t mtime_ns; /* since 1970    */
    bool packed;      /* it is decoded */
};

/* The files in order, and after them that of the mates. */
size_t cv_source_inputs(const struct cv_source *source);
struct cv_input cv_source_input(const struct cv_source *source, size_t index);

#endif
