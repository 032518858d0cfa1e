/* source.h -- the input of a run, handed out in pieces. SPDX-License-Identifier: MIT
 *
 * The input is regular files, one stream (standard input or any other non-regular file), or items.
 * Its bytes have addresses from 0, through all files. A piece is a range of one file that begins
 * and ends at record boundaries. The end of a file ends a record: if the last record lacks its end
 * and another file with bytes follows, the piece has a `closing`. Pieces are taken from the lowest
 * range, at its beginning or at its end; a piece that failed is put back, whole or in part, and
 * others are finished.
 *
 * A stream is kept in memory. Reading pauses while `hold` bytes are taken or can be taken, and
 * finished pieces release memory. At most that, one record and some megabytes are kept.
 *
 * With `header`, the first record of each file is in its first piece and is given to the command
 * again before each later piece. With `pairs`, a piece has a range of a second file with as many
 * records; sizes and addresses refer to the first file. */
#ifndef CV_SOURCE_H
#define CV_SOURCE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>
#include "run/common/piece_part.h"
#include "run/split/split.h"

struct cleave_items;
struct cleave_key_limit;
struct cv_codec;
struct cv_format_choice;
struct cv_source;

/* Resident memory of the master should stay below 64 MiB: this and some megabytes. */
enum { CV_SOURCE_HOLD = 48 << 20 };

struct cv_source_options {
    const struct cv_splitter *splitter; /* borrowed while the source is in use */
    struct cv_splitter *choose; /* `splitter`, which becomes that of the format that the
                                   names and first bytes of the inputs show; NULL: it stays */
    bool waits;        /* nothing can be taken before cv_source_start                 */
    bool no_header;    /* with `choose`: the format has no header                     */
    bool header;       /* repeat the first record of a file before each piece         */
    const char *pairs; /* borrowed: the second file; NULL: none                       */
    uint64_t hold; /* bytes kept of a stream, if records are shorter; 0: CV_SOURCE_HOLD */
    unsigned shares;     /* a piece of a stream has at most hold / shares bytes; 0: 4   */
    uint64_t max_record; /* a longer record is an error; 0: no limit                    */
    bool raw;            /* neither decode nor refuse compressed and binary inputs      */
    const struct cv_codec *codec; /* the format of all inputs; NULL: detect it          */
    const char *fetch; /* borrowed: a command that writes ranges of inputs; NULL      */
    const char *size;  /* borrowed, with fetch: the size, or a command that writes it */
    bool sized;        /* decode an input, if necessary, to learn its size            */
    bool twice;        /* a compressed file is read twice, so it is not a stream      */
    bool no_index;     /* ignore files written by cv_source_index                     */
    bool numbers;      /* cv_source_records can number the records of a stream        */
};

/* `paths` are borrowed for this call; "-" or no path is standard input. *out is owned by the
 * caller. */
enum cleave_status cv_source_open(const char *const *paths, size_t npaths,
                                  const struct cv_source_options *options,
                                  struct cv_source **out, struct cleave_error *err);
/* A source of items, which are borrowed. An item is one byte at the address that is its number;
 * records of the splitter have one byte. If more items may arrive, they are requested while fewer
 * than `hold` can be taken. */
enum cleave_status cv_source_open_items(const struct cleave_items *items, uint64_t hold,
                                        const struct cv_splitter *splitter,
                                        struct cv_source **out, struct cleave_error *err);
void cv_source_free(struct cv_source *source);
/* Check files before the first piece is taken. They must be text, unless `raw` or records have a
 * fixed size; headers must be the same, except for a byte order mark and the end of the line; files
 * of `fixed` and `fastq` must end with a record. For streams and `csv`, use
 * cv_source_check_end at the end. */
enum cleave_status cv_source_validate(struct cv_source *source, struct cleave_error *err);

/* Weigh all records, as they arrive if it is a stream: units are weights from now on, else bytes.
 * `text` is that of struct cleave_input; "": each record weighs 1. To be called before cv_source_start and the first take, after
 * cv_source_head_alone. heavy_first: heavy records of files are taken before light ones, unless records are in groups.
 * `limits` are borrowed while the source is in use: their keys are read as well. */
enum cleave_status cv_source_weigh(struct cv_source *source, const char *text,
                                   double missing, bool heavy_first,
                                   const struct cleave_key_limit *limits, size_t nlimits,
                                   struct cleave_error *err);

/* --- pieces ----------------------------------------------------------------------------- */

enum cv_take {
    CV_TAKE_PIECE,
    CV_TAKE_WAIT, /* more may arrive, or cv_source_known has ranges           */
    CV_TAKE_END,  /* all input was taken, and only put_back can add some      */
};

/* The piece with the lowest address, of about `wanted` bytes: it ends at the first boundary after
 * them, or earlier at the end of a file, of a range that was put back, or of a memory segment of a
 * stream. While a stream may grow, it has at least min(wanted, hold / shares) bytes, unless the
 * stream is full. */
enum cleave_status cv_source_take(struct cv_source *source, uint64_t wanted,
                                  enum cv_take *state, struct cv_piece *out,
                                  struct cleave_error *err);
/* As cv_source_take, by units. If records are weighed, the piece has at most `wanted` or one record.
 * If the last records are heavier than twice that, and are not more than the faster workers that are
 * busy, these get them: CV_TAKE_WAIT. */
struct cv_taker {
    bool fast;       /* records that are heavier than the order are not left to others */
    unsigned faster; /* busy workers that are at least twice as fast */
    uint64_t most;   /* records or items that the piece may have; 0: no limit */
    /* Whether a record with these keys may be taken; NULL: all records may. The piece ends before
     * a record that may not. CV_TAKE_WAIT: no record may be taken now. */
    bool (*allows)(const void *context, const uint64_t *keys);
    const void *context;
};
enum cleave_status cv_source_take_units(struct cv_source *source, double wanted,
                                        const struct cv_taker *taker, enum cv_take *state,
                                        struct cv_piece *out, struct cleave_error *err);
/* One item; CV_TAKE_END if it was taken already. */
enum cleave_status cv_source_take_item(struct cv_source *source, uint64_t item,
                                       enum cv_take *state, struct cv_piece *out,
                                       struct cleave_error *err);
/* The first item from `from` on that was not taken; false: there is none. */
bool cv_source_find_item(const struct cv_source *source, uint64_t from, uint64_t *out);
/* Bytes that the next piece could have now. */
uint64_t cv_source_ready(const struct cv_source *source);
/* Extend a piece by the bytes after it: *out is the longer piece. CV_TAKE_END if they were taken or
 * belong to another file. For a stream, CV_TAKE_WAIT if they are still to arrive and there is room
 * for them. */
enum cleave_status cv_source_take_behind(struct cv_source *source,
                                         const struct cv_piece *piece, uint64_t wanted,
                                         enum cv_take *state, struct cv_piece *out,
                                         struct cleave_error *err);
/* Where the largest range begins. False: pieces are taken from the first range, because boundaries in
 * a range cannot be found without reading what is before them. */
bool cv_source_largest(const struct cv_source *source, uint64_t *out_begin);
/* Whether the range from `begin` could extend a piece. */
bool cv_source_extends(const struct cv_source *source, const struct cv_piece *piece,
                       uint64_t begin);
/* As cv_source_take, from the largest range: from its beginning, or `last`, from its end. `room`: if
 * possible, this many bytes from the beginning of the piece to that end stay free. */
enum cleave_status cv_source_take_largest(struct cv_source *source, uint64_t wanted,
                                          bool last, uint64_t room, enum cv_take *state,
                                          struct cv_piece *out, struct cleave_error *err);
/* A piece without bytes, for a command that gets some later. */
struct cv_piece cv_source_blank(const struct cv_source *source);
/* Split a piece at the first boundary at or after `from`, an offset in the file. *tail is empty if
 * there is none. The source does not change: to give up the tail, put it back. */
enum cleave_status cv_source_part(struct cv_source *source, const struct cv_piece *piece,
                                  uint64_t from, struct cv_piece *head,
                                  struct cv_piece *tail, struct cleave_error *err);
/* A piece, or a part of it, must be taken again. */
enum cleave_status cv_source_put_back(struct cv_source *source,
                                      const struct cv_piece *piece,
                                      struct cleave_error *err);
/* A finished piece of files must be put back. */
void cv_source_use_again(struct cv_source *source, const struct cv_piece *piece);
/* The bytes of a piece are no longer needed. */
enum cleave_status cv_source_finish(struct cv_source *source,
                                    const struct cv_piece *piece,
                                    struct cleave_error *err);
/* After a failed read: whether a decoded file is damaged. If so, the file now ends with the last
 * record before the damage, and cv_source_check_end will report it. No piece may be in use;
 * the ranges of `left` that are still readable can be taken. */
bool cv_source_shorten(struct cv_source *source, const struct cv_range_set *left);
bool cv_source_is_short(const struct cv_source *source);
/* Fails if the file of the piece was changed since the source was opened. To be called after the
 * command has read the piece. */
enum cleave_status cv_source_check(struct cv_source *source, const struct cv_piece *piece,
                                   struct cleave_error *err);
/* After that: the name of the file if its ctime has changed, but not its size and mtime, so that its
 * bytes may have changed. Returned once for each file; NULL: no change. */
const char *cv_source_was_modified(struct cv_source *source,
                                   const struct cv_piece *piece);
/* The hash of header, body, closing and mate of a piece that is not finished. */
enum cleave_status cv_source_hash(struct cv_source *source, const struct cv_piece *piece,
                                  struct cv_content_hash *out, struct cleave_error *err);
/* The number of the first record of a piece in its file, from 1, and the number of records. Reads
 * the file before the piece, once. *first is 0 for a stream without `numbers`. The piece must not
 * be finished if it is of a stream. */
enum cleave_status cv_source_records(struct cv_source *source,
                                     const struct cv_piece *piece, uint64_t *first,
                                     uint64_t *count, struct cleave_error *err);

/* A decoded file, for flows (lazy_reader.h) in another thread. It stays open until it is given
 * back. Functions of the source are still for one thread at a time. */
enum cleave_status cv_source_lend(struct cv_source *source, size_t file,
                                  struct cv_part *out, struct cleave_error *err);
void cv_source_give_back(struct cv_source *source, size_t file);

/* Write FILE.cleave-index, with some boundaries, for each file; later sources read it. *slots is
 * the number of boundaries. Fails for splitters that find boundaries anywhere. */
enum cleave_status cv_source_index(struct cv_source *source, bool force, uint64_t *slots,
                                   struct cleave_error *err);

/* The end of the header of a file; 0: none. */
enum cleave_status cv_source_header_end(struct cv_source *source, size_t file,
                                        uint64_t *out, struct cleave_error *err);

/* False: what shows the format of a stream, or its header, has not arrived. */
bool cv_source_has_header(const struct cv_source *source);
/* The format that was chosen, and whether it has a header that was not asked for. */
const struct cv_format_choice *cv_source_choice(const struct cv_source *source,
                                                bool *header);
/* Whether records have a header, which each command gets. */
bool cv_source_has_head(const struct cv_source *source);
/* From now on the header of the first file with bytes is a piece, at address 0. To be called before
 * the first take, once the header has arrived. *out is its end, 0 if it has no bytes, and *bytes
 * the header, borrowed from the source, or NULL if it is not text. */
enum cleave_status cv_source_head_alone(struct cv_source *source, const char **bytes,
                                        uint64_t *out, struct cleave_error *err);
/* Whether the piece is that header, and other bytes follow. */
bool cv_source_is_head(const struct cv_source *source, const struct cv_piece *piece);

/* --- facts ------------------------------------------------------------------------------ */

/* Bytes and units in total, and units that can be taken: INFINITY while more may arrive. */
double cv_source_total(const struct cv_source *source);
double cv_source_units(const struct cv_source *source);
double cv_source_left(const struct cv_source *source);
bool cv_source_is_weighed(const struct cv_source *source);
/* All amounts of units are multiples of this power of two: 1, or less than the lightest record. */
double cv_source_grain(const struct cv_source *source);
/* The number of records of a piece, without a header; only if records are weighed. */
uint64_t cv_source_count(const struct cv_source *source, const struct cv_piece *piece);
/* The keys of all records in a range between boundaries, one for each limit. */
const uint64_t *cv_source_keys(const struct cv_source *source, struct cv_range range,
                               uint64_t *count);
/* The largest weight so far. */
double cv_source_heaviest(const struct cv_source *source);
/* The last bytes of a piece that have at most `units`. */
uint64_t cv_source_tail(const struct cv_source *source, const struct cv_piece *piece,
                        double units);
/* Bytes in total that are known: for a stream, the bytes that have arrived. */
uint64_t cv_source_extent(const struct cv_source *source);
/* When the first bytes and the end of a stream arrived, by cv_clock_s; 0: not yet, or not a stream. */
double cv_source_first_s(const struct cv_source *source);
double cv_source_ended_s(const struct cv_source *source);
/* Bytes that a source may hold while more may arrive; 0 for files. */
double cv_source_hold(const struct cv_source *source);

/* A file or stream: its name, borrowed from the source, and the addresses of its bytes. */
struct cv_source_span {
    const char *name;
    uint64_t begin, end;
};
/* The file of an address, or the last one. */
struct cv_source_span cv_source_span_at(const struct cv_source *source, uint64_t address);

/* Fail if the last record of a file is incomplete, for example because a quote is never closed.
 * To be called at the end; may read the rest of a file (csv). */
enum cleave_status cv_source_check_end(struct cv_source *source,
                                       struct cleave_error *err);

/* Whether a large input is one compressed block, so that one core decodes it: *note has advice. */
bool cv_source_lone(const struct cv_source *source, struct cleave_error *note);
/* Whether the size of a stream is known, because it is a compressed file and was `sized`. */
bool cv_source_foretold(const struct cv_source *source, uint64_t *bytes);
/* Whether a BGZF file lacks its EOF block: *note names it. */
bool cv_source_unended(const struct cv_source *source, struct cleave_error *note);
/* The format that an input seems to have if it is split by lines, but a record is not a line; NULL:
 * none (run/split/format_guess.h). To be called at the end. */
const struct cv_format_guess *cv_source_like(const struct cv_source *source);

/* --- input that arrives ------------------------------------------------------------------ */

/* The descriptor to poll before cv_source_pump; -1: none, as cv_source_take reads the input (files,
 * /dev/zero). */
int cv_source_poll_fd(const struct cv_source *source);
/* If false, do not poll: there is nothing to read, or no room. Changes with every call of take,
 * finish, known and pump. */
bool cv_source_wants(const struct cv_source *source);
/* Whether it is a stream that can be polled, and wants more. */
bool cv_source_flows(const struct cv_source *source);
/* Read; does not wait if the descriptor is readable. */
enum cleave_status cv_source_pump(struct cv_source *source, struct cleave_error *err);

/* --- ranges that an earlier run has finished --------------------------------------------------- */

/* Bytes [begin, end) of a file were finished by an earlier run, which knows them as `tag`. To be
 * called before the first take, in order. cv_source_take does not give out these ranges. */
enum cleave_status cv_source_know(struct cv_source *source, size_t file, uint64_t begin,
                                  uint64_t end, uint64_t tag, struct cleave_error *err);

/* Let pieces be taken; no known range is added after this. */
enum cleave_status cv_source_start(struct cv_source *source, struct cleave_error *err);

enum cv_known {
    CV_KNOWN_PIECE, /* *piece was taken: finish it or put it back                        */
    CV_KNOWN_BROKEN, /* not whole records of this input (any more): its bytes can be taken; */
    /* only file, name and body of *piece are set                          */
    CV_KNOWN_WAIT, /* the stream has not arrived that far                               */
    CV_KNOWN_END,
};

/* The next known range. Files give out all of them before the first take. */
enum cleave_status cv_source_known(struct cv_source *source, enum cv_known *state,
                                   struct cv_piece *piece, uint64_t *tag,
                                   struct cleave_error *err);

/* --- identity --------------------------------------------------------------------------- */

struct cv_input {
    const char *path; /* borrowed from the source: absolute; "-" for standard input */
    uint64_t device, inode;
    int64_t size;     /* -1: a stream  */
    int64_t mtime_ns; /* since 1970    */
    bool packed;      /* compressed    */
    bool fetched;     /* no file       */
};

/* The files in order, then the second file of pairs. */
size_t cv_source_inputs(const struct cv_source *source);
struct cv_input cv_source_input(const struct cv_source *source, size_t index);
/* Whether a path leads to one of them. */
bool cv_source_has(const struct cv_source *source, const char *path);

/* --- compressed bytes of pieces, for hosts that decode them (source_packed.c) ------------------ */

/* Whether a piece of a decoded file can be decoded by a host that has the file, and by a host that is
 * sent the blocks, for which the piece must begin close to the start of a block. */
bool cv_source_unpacked(const struct cv_source *source, const struct cv_piece *piece);
bool cv_source_packs(const struct cv_source *source, const struct cv_piece *piece);
/* The fetch command of a piece that is fetched, with the name and size of its input; NULL: it is
 * not. Borrowed from the source. */
const char *cv_source_fetches(const struct cv_source *source,
                              const struct cv_piece *piece, const char **name,
                              uint64_t *size);
/* The format of the file, by name. */
const char *cv_source_form(const struct cv_source *source, const struct cv_piece *piece);
/* The bytes of the file that hold the piece: whole blocks, or (cover) without the unneeded end of the
 * last block. */
struct cv_range cv_source_span(const struct cv_source *source,
                               const struct cv_piece *piece);
struct cv_range cv_source_cover(struct cv_source *source, const struct cv_piece *piece);
/* Given the file up to byte `in`: decoded end of complete blocks, and of blocks that have begun. */
uint64_t cv_source_unpacks(const struct cv_source *source, const struct cv_piece *piece,
                           uint64_t in);
uint64_t cv_source_touches(const struct cv_source *source, const struct cv_piece *piece,
                           uint64_t in);
/* The index of the first block of the piece. */
size_t cv_source_first_block(const struct cv_source *source,
                             const struct cv_piece *piece);
/* Up to `max` blocks, from index *next, that begin before byte `in` of the file. *next moves after
 * them, and *out_end is the decoded end of the last one. Small BGZF blocks are partly left out. */
enum cleave_status cv_source_blocks(const struct cv_source *source,
                                    const struct cv_piece *piece, uint64_t in,
                                    size_t *next, struct cv_packed_block *blocks,
                                    size_t max, size_t *count, uint64_t *out_end,
                                    struct cleave_error *err);
/* Decode the piece here, to find out whether it is damaged. */
enum cleave_status cv_source_try(struct cv_source *source, const struct cv_piece *piece,
                                 struct cleave_error *err);

#endif
