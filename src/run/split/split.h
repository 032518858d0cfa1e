/* split.h -- splitters: where an input may be cut. SPDX-License-Identifier: MIT
 *
 * A splitter defines the boundaries between the records of an input of n bytes: 0, n, and those
 * between. A chunk runs from one boundary to another, so that concatenated chunks are the input and
 * each begins with a record. Each split_*.c defines its splitters in its head.
 *
 * Lines end in \n or \r\n; the last one need not. If another file follows, an incomplete last line
 * gets \n, a paragraph \n and an empty line, a record of nul a zero byte. Bytes before the first
 * record start (fasta, fastq, paragraph, regex) belong to the first record.
 *
 * A splitter is read-only once parsed and may be shared by threads, unless it keeps records together
 * by an expression. */
#ifndef CV_SPLIT_H
#define CV_SPLIT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>
#include "run/common/piece_part.h"

struct cv_splitter;

/* Parse "lines", "fixed:4096", "regex:[0-9]+" and so on. *out is owned by the caller. The error of an
 * unknown name suggests similar ones. */
enum cleave_status cv_splitter_parse(const char *text, struct cv_splitter **out,
                                     struct cleave_error *err);
void cv_splitter_free(struct cv_splitter *splitter);
/* Make it another kind, as for cv_splitter_parse; the settings below stay. To be called before it is
 * used. */
enum cleave_status cv_splitter_become(struct cv_splitter *splitter, const char *text,
                                      struct cleave_error *err);

/* Cut only between groups of `records` records (0: no groups), or of adjacent records with the same
 * key: a column ("2", separated by tabs, or as in csv) or the match of an expression (NULL: no
 * groups). A header belongs to no group. */
enum cleave_status cv_splitter_set_records(struct cv_splitter *splitter, uint64_t records,
                                           struct cleave_error *err);
enum cleave_status cv_splitter_set_together(struct cv_splitter *splitter,
                                            const char *text, struct cleave_error *err);
/* Define the header: the first record ("", NULL), the first N records ("3"), or all lines at the start
 * that begin with a text ("#"). */
enum cleave_status cv_splitter_set_header(struct cv_splitter *splitter, const char *how,
                                          struct cleave_error *err);
bool cv_splitter_is_headed(const struct cv_splitter *splitter);
/* Whether the bytes of the header are not records: such lines, and if records are in groups. */
bool cv_splitter_leads(const struct cv_splitter *splitter);
/* Where the header ends in the first `length` bytes of an input. *found: false if more bytes are
 * needed; always true if the input ends there. */
enum cleave_status cv_splitter_head(const struct cv_splitter *splitter, const char *bytes,
                                    size_t length, bool ends, bool *found, size_t *out,
                                    struct cleave_error *err);

/* The text that was parsed and the settings above, as journals store it: borrowed. */
const char *cv_splitter_text(const struct cv_splitter *splitter);
/* Whether a chunk may need more than its bytes: the head of the input (cv_splitter_head) before it,
 * without its first byte if that is a comma, and an end after it. */
bool cv_splitter_frames(const struct cv_splitter *splitter);
/* Whether that end depends on the input (xml). */
bool cv_splitter_has_tail(const struct cv_splitter *splitter);

/* The number of records in bytes between two boundaries, at `offset` of the input; `form` as in
 * struct cv_walk. */
enum cleave_status cv_splitter_count_from(const struct cv_splitter *splitter, int form,
                                          uint64_t offset, const char *bytes,
                                          size_t length, uint64_t *out,
                                          struct cleave_error *err);

/* A part of a record. */
struct cv_key_text {
    const char *bytes; /* borrowed from the record */
    size_t length;
};
/* Whether columns of the first record may be names (csv). */
bool cv_splitter_has_columns(const struct cv_splitter *splitter);
/* A column of a record, from 1, without quotes around it: separated by tabs, or as in csv. False: the
 * record has fewer. */
bool cv_splitter_column(const struct cv_splitter *splitter, unsigned column,
                        const char *bytes, size_t length, struct cv_key_text *out);

/* The bytes that complete the last record of an input, given its last bytes. `length` is at
 * least 1, and CV_CLOSING_LOOK if the input has as many. */
enum { CV_CLOSING_LOOK = 3 };
enum cv_closing cv_splitter_closing(const struct cv_splitter *splitter, const char *last,
                                    size_t length);

/* All splitters, the default first: "fixed", and "BYTES" if an argument must follow a colon, else
 * NULL. Borrowed, static. */
size_t cv_splitter_kinds(void);
const char *cv_splitter_name(size_t index);
const char *cv_splitter_needs(size_t index);

#endif
