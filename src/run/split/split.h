/* split.h -- where an input may be cut. SPDX-License-Identifier: MIT
 *
 * A splitter names the boundaries between the records of an input of n bytes: 0, n and
 * those between. A chunk runs from one boundary to another, so that chunks put one after
 * the other are the input byte for byte and each begins where a record begins.
 *
 *   lines, jsonl   after every newline
 *   nul            after every zero byte
 *   csv            after every newline outside quotes. A quote opens only where a field
 *                  begins, so that one in the middle of 5" pipe is plain text; "" within
 *                  quotes is a quote. csv:; and csv:tab take another separator than a
 *                  comma. A quote that is never closed makes the rest one record.
 *   json           values of JSON over any number of lines: before each of a sequence, or
 *                  before each comma of an array that is the whole input. Pieces of an array
 *                  are arrays: their comma is left out (`frames`). json:values: an array at
 *                  the start is a value like others
 *   xml:ELEMENT    before the start of every element of that name that is within no other of
 *                  it. Chunks are given with what is before the first, and the ends of what
 *                  is open there (`frames`)
 *   fasta          before every line that begins with >
 *   fastq          before the @ of every record: sequence and quality may run over several
 *                  lines, the quality is as long as the sequence. Anything else is an
 *                  error, but for empty lines between records and a last record that the
 *                  end of the input cuts short.
 *   paragraph      before a line that is not empty and follows an empty one
 *   warc           before every record of a web archive; the bytes of its block, as many as
 *                  Content-Length says, are leapt over
 *   tar            before every member of an archive; zeros at the end belong to the last. Chunks
 *                  are archives
 *   bam            before every alignment of a BAM file, decoded; chunks are given with its head
 *   pcap           before every packet of a capture; chunks are given with its head
 *                  (`frames`)
 *   fixed:BYTES    at every multiple of BYTES; a last record that is shorter is torn
 *   regex:RE       before every line at whose first byte a match of the POSIX extended
 *                  expression RE begins. RE sees the first 64 KiB of the line, without
 *                  its end (newline, and a carriage return before it); one with a newline
 *                  (\n) sees 64 KiB with all line ends as they are, and . matches none
 *
 * Lines end in \n or \r\n, and the last one need not. Where another file follows, a line
 * that lacks its end gets \n, a paragraph \n and an empty line, a record of nul its zero. What stands before the first record
 * start (of fasta, fastq, paragraph, regex) belongs to the first record.
 *
 * A splitter is read-only once parsed and may be shared by threads, but for one that keeps
 * records together by an expression. */
#ifndef CV_SPLIT_H
#define CV_SPLIT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>
#include "run/common/piece_part.h"

struct cv_splitter;

/* Read "lines", "fixed:4096", "regex:[0-9]+" and so on. *out is owned by the caller; an
 * unknown name is answered with the nearest ones. */
enum cleave_status cv_splitter_parse(const char *text, struct cv_splitter **out,
                                     struct cleave_error *err);
void cv_splitter_free(struct cv_splitter *splitter);

/* Cut only between groups: of so many records (0: any), of neighbours with the same key, a
 * column ("2": parted by tabs, of csv by its separator) or what an expression matches (NULL:
 * any). A header is of no group. */
enum cleave_status cv_splitter_set_records(struct cv_splitter *splitter, uint64_t records,
                                           struct cleave_error *err);
enum cleave_status cv_splitter_set_together(struct cv_splitter *splitter,
                                            const char *text, struct cleave_error *err);
/* What the header is, where one is asked for: the first record ("", NULL), so many ("3"),
 * or all lines at the start that begin with a text ("#"). */
enum cleave_status cv_splitter_set_header(struct cv_splitter *splitter, const char *how,
                                          struct cleave_error *err);
/* Whether no record begins before its end: of such lines, and where records are in groups. */
bool cv_splitter_leads(const struct cv_splitter *splitter);
/* Where the header ends in the first `length` bytes of an input. *found is false if that
 * takes more of them; never if the input ends there. */
enum cleave_status cv_splitter_head(const struct cv_splitter *splitter, const char *bytes,
                                    size_t length, bool ends, bool *found, size_t *out,
                                    struct cleave_error *err);

/* The text that was parsed, and what else was asked of it: borrowed, valid until the splitter is freed. */
const char *cv_splitter_text(const struct cv_splitter *splitter);
/* Whether two inputs can be cut side by side (cut_file.h; fastq). */
bool cv_splitter_pairs(const struct cv_splitter *splitter);

/* Whether chunks may need more than their bytes: if the input has a head (cv_splitter_head),
 * it is put before every chunk but the first, whose first byte is left out if it is a
 * comma, and what closes it behind every chunk but the last. */
bool cv_splitter_frames(const struct cv_splitter *splitter);
/* Whether what closes chunks is a text of the input's own (xml). */
bool cv_splitter_has_tail(const struct cv_splitter *splitter);

/* How many records are in `length` bytes that begin and end at boundaries. They begin at
 * `offset` of the input, of which a walk knows the `form`. */
enum cleave_status cv_splitter_count_from(const struct cv_splitter *splitter, int form,
                                          uint64_t offset, const char *bytes,
                                          size_t length, uint64_t *out,
                                          struct cleave_error *err);

/* What has to be put behind the last bytes of an input, so that its last record is whole
 * and something else can follow: `length` is at least one, and CV_CLOSING_LOOK where the
 * input has as many. */
enum { CV_CLOSING_LOOK = 3 };
enum cv_closing cv_splitter_closing(const struct cv_splitter *splitter, const char *last,
                                    size_t length);

/* The splitters there are, the default first: "fixed", and "BYTES" if something has to
 * follow a colon, else NULL. Borrowed, static. */
size_t cv_splitter_kinds(void);
const char *cv_splitter_name(size_t index);
const char *cv_splitter_needs(size_t index);

#endif
