/* split_kind.h -- the implementation of a splitter. SPDX-License-Identifier: MIT
 *
 * A local kind tells from some bytes around a position whether a record starts there (`next`,
 * `last`). Any other kind needs all bytes since a record start (`walk`). */
#ifndef CV_SPLIT_KIND_H
#define CV_SPLIT_KIND_H
#include <regex.h>
#include "run/split/split.h"

/* A part of the input in memory. */
struct cv_view {
    const char *bytes; /* borrowed */
    size_t length;
    uint64_t offset; /* of bytes[0] in the input             */
    bool ends;       /* the input ends where the view does   */
};

/* A walk from a record start. It may stop and continue at any byte. */
struct cv_walk {
    uint64_t at;       /* offset of the next byte                             */
    uint64_t boundary; /* the last boundary found; at first, the start        */
    uint64_t found;    /* boundaries found                                    */
    uint64_t until;    /* stop at the first boundary here or later            */
    uint64_t max;      /* stop once this many were found (fastq only)         */
    bool begun;        /* a byte of the record after `boundary` was seen      */
    bool bad;          /* it failed: the bytes are not in the format          */
    int form;          /* result of kind->form, or 0                          */
    /* For the kind; zero at a record start. */
    int phase;
    bool carriage;
    uint64_t line, sequence, quality;
};

enum { CV_FORM_LOOK = 4 };
enum cv_verdict { CV_IS_NOT, CV_IS_START, CV_NEEDS_MORE };

struct cv_split_kind {
    const char *name;
    const char *takes; /* the argument after a colon; NULL: none                 */
    bool optional;     /* the argument may be omitted                            */
    bool needs_pass;   /* boundaries are found only by reading all bytes before  */
    bool leaps;        /* a walk may end after the given bytes: skip those between */
    bool pairs;        /* two inputs can be cut together (cut_file.h)            */
    bool frames;       /* cv_splitter_frames                                     */
    bool bare;         /* ... with a head and nothing else                       */
    const char *eats;  /* name in magic.c of the binary format it is for; NULL: text */
    bool spaced;       /* empty lines separate records                           */
    bool ends_in_byte; /* a record starts after every splitter->byte,            */
    char byte;         /* ... which is this one                                  */
    unsigned behind;   /* bytes before a position that are needed to judge it    */
    unsigned ahead; /* bytes from a position that `walk` needs to find a boundary there */
    /* Set up the splitter from its argument, "" if that was omitted. */
    enum cleave_status (*parse)(struct cv_splitter *splitter, const char *argument,
                                struct cleave_error *err);
    /* Whether a record starts with a line, if only its bytes decide: for next_line and
     * last_line of split_local.c. */
    enum cv_verdict (*judge)(const struct cv_splitter *splitter,
                             const struct cv_view *view, size_t line);
    /* The first record start at or after `from`. If false, *out is where to continue with a longer
     * view: no record starts in [from, *out). Position 0 of a view counts only at offset 0. */
    bool (*next)(const struct cv_splitter *splitter, const struct cv_view *view,
                 size_t from, size_t *out);
    /* The last record start in [from, to], where 1 <= from and to <= length. If false, no record
     * starts in [from, *out). */
    bool (*last)(const struct cv_splitter *splitter, const struct cv_view *view,
                 size_t from, size_t to, size_t *out);
    /* A property of the whole input, such as its byte order, from its first CV_FORM_LOOK bytes, for
     * walks that begin after them; 0: none. May be NULL. */
    int (*form)(const char *bytes, size_t length);
    /* Process `length` bytes at walk->at, or up to `until` and `max`. */
    enum cleave_status (*walk)(const struct cv_splitter *splitter, struct cv_walk *walk,
                               const char *bytes, size_t length,
                               struct cleave_error *err);
    /* With `leaps`, for the walk of split_leaps.c: whether a record starts with this byte; and read
     * the byte, after which the walk may skip others. */
    bool (*starts)(const struct cv_walk *walk, char byte);
    enum cleave_status (*take)(struct cv_walk *walk, char byte, struct cleave_error *err);
    /* With `frames`: the end of the bytes that precede each chunk; 0: none are needed. False: too few
     * bytes. */
    bool (*head)(const struct cv_splitter *splitter, const char *bytes, size_t length,
                 size_t *out);
    /* The end of each chunk but the last, given that head: owned by the caller; NULL: no memory. A
     * kind without it has chunks that begin with a comma and end as an array. */
    char *(*tail)(const char *head, size_t length);
    /* Whether the input may end where the walk is. */
    bool (*whole)(const struct cv_walk *walk);
};

struct cv_split_group;

struct cv_splitter {
    const struct cv_split_kind *kind;
    char *text;            /* owned: cv_splitter_text                            */
    char byte;             /* ends a record, or separates fields                 */
    uint64_t record_bytes; /* of fixed; else 0                                   */
    char *prefix;          /* owned: start of every match (regex), element (xml) */
    size_t prefix_length;
    bool many_lines;    /* the expression has a newline                             */
    bool plain;         /* the prefix is the whole expression                       */
    bool opens;         /* \`|RE: a record starts where the input does            */
    regex_t *regex;     /* owned; NULL: another kind                                */
    regex_t *regex_cut; /* owned: the expression for lines whose end is not seen    */
    struct cv_split_group *group; /* owned: records that stay together; NULL        */
    bool headed;                  /* a header was asked for                         */
    uint64_t head_records;        /* records of the header; 0: one                  */
    char *head_prefix; /* owned: start of the lines of a header; NULL               */
};

/* All kinds, in the order of the help; the first is the default. Command line, help, completions and
 * tests use this list. */
#define CV_SPLIT_MAP(X) \
    X(lines)            \
    X(nul)              \
    X(csv)              \
    X(jsonl)            \
    X(json)             \
    X(xml)              \
    X(fasta)            \
    X(fastq)            \
    X(paragraph)        \
    X(warc)             \
    X(tar)              \
    X(bam)              \
    X(pcap)             \
    X(fixed)            \
    X(regex)

#define X(name) extern const struct cv_split_kind cv_split_##name;
CV_SPLIT_MAP(X)
#undef X

/* Begin at a record start; again: at another one of the same input. */
static inline void cv_walk_init(struct cv_walk *walk, uint64_t offset)
{
    *walk = (struct cv_walk){
        .at = offset, .boundary = offset, .until = UINT64_MAX, .max = UINT64_MAX
    };
}
static inline void cv_walk_again(struct cv_walk *walk, uint64_t offset)
{
    const int form = walk->form;

    cv_walk_init(walk, offset);
    walk->form = form;
}
/* Complete records, and a record that has begun. */
static inline uint64_t cv_walk_records(const struct cv_walk *walk)
{
    return walk->found + walk->begun;
}

/* For kinds: a record begins at walk->at. False: the walk ends there. */
static inline bool cv_walk_begin_record(struct cv_walk *walk)
{
    walk->boundary = walk->at;
    walk->found++;
    walk->begun = false;
    return walk->at < walk->until;
}

/* For kinds: the error of a byte at walk->at (split_local.c). */
enum cleave_status cv_walk_fail(const struct cv_walk *walk, const char *expected,
                                char got, struct cleave_error *err);

/* The number of bytes equal to `byte`. */
uint64_t cv_count_byte(const char *bytes, size_t length, char byte);

/* --- records that stay together ------------------------------------------------------------ */

enum { CV_GROUP_LOOK = 65536 }; /* bytes of a record that can hold its key */

/* Records of a group; 0: those with the same key. */
uint64_t cv_group_records(const struct cv_splitter *splitter);

struct cv_key_text cv_group_key_text(const struct cv_splitter *splitter,
                                     const char *bytes, size_t length);

/* The state between two records; all zero before the first. */
struct cv_group_state {
    uint64_t count;     /* records of the group so far */
    uint64_t high, low; /* hash of its key             */
};
/* Add a record: whether it begins a new group. */
bool cv_group_add(const struct cv_splitter *splitter, struct cv_group_state *state,
                  const char *bytes, size_t length);

#endif
