/* split_kind.h -- what the search for cuts asks of a splitter. SPDX-License-Identifier: MIT
 *
 * A kind is local or not. A local one tells from a few bytes around a position whether a
 * record starts there (`next`, `last`). One that is not local has to know all bytes
 * since a record start: it walks (`walk`). */
#ifndef CV_SPLIT_KIND_H
#define CV_SPLIT_KIND_H
#include <regex.h>
#include "run/split/split.h"

/* A part of the input in memory. */
struct cv_view {
    const char *bytes; /* borrowed                                   */
    size_t length;
    uint64_t offset; /* of bytes[0] in the input                     */
    bool ends;       /* whether the input ends where the view does   */
};

/* A walk from a record start on. It may stop and go on at any byte. */
struct cv_walk {
    uint64_t at;       /* offset of the next byte to look at             */
    uint64_t boundary; /* the last boundary found; at first, the start   */
    uint64_t found;    /* boundaries found                               */
    uint64_t until;    /* stop at the first boundary here or later, or   */
    uint64_t max;      /* once so many were found (fastq only)           */
    bool begun;        /* some of the record after `boundary` was seen   */
    bool bad;          /* the bytes are not in the format                */
    int form;          /* what kind->form says, or 0                     */
    /* for the kind alone; zero at a record start */
    int phase;
    bool carriage;              /* the last byte of the line so far was \r        */
    uint64_t line;              /* bytes of the line so far                       */
    uint64_t sequence, quality; /* lengths so far in this record                  */
};

enum { CV_FORM_LOOK = 4 };

struct cv_split_kind {
    const char *name;
    const char *takes; /* what follows a colon, NULL when nothing may     */
    bool optional;     /* whether it may be left out                      */
    /* A boundary of a file cannot be told from the bytes near it: all bytes before it
     * have to be read once (csv). */
    bool needs_pass;
    bool
        leaps; /* a walk may end behind the bytes it was given: those between are not read */
    bool pairs;
    bool frames;       /* chunks are given with a head and an end: cv_splitter_frames */
    bool bare;         /* ... of which that is all: nothing is left out or put behind */
    const char *eats;  /* inputs are this, as magic.c calls it, and no text; or NULL  */
    bool parted;       /* records are parted by empty lines                */
    bool ends_in_byte; /* a record starts after every splitter->byte       */
    /* Bytes before a position that are looked at to judge it. */
    unsigned behind;
    /* Bytes from a position on that walk must see to know it for a boundary. */
    unsigned ahead;
    /* Set up the splitter from what follows the colon, "" when that was left out. */
    enum cleave_status (*parse)(struct cv_splitter *splitter, const char *argument,
                                struct cleave_error *err);
    /* The first record start at or after `from`. If false, *out is where to go on with a
     * longer view: no record starts in [from, *out). Position 0 of a view counts only if
     * it is where the input begins. */
    bool (*next)(const struct cv_splitter *splitter, const struct cv_view *view,
                 size_t from, size_t *out);
    /* The last record start in [from, to], where 1 <= from and to <= length. If false, no
     * record starts in [from, *out). */
    bool (*last)(const struct cv_splitter *splitter, const struct cv_view *view,
                 size_t from, size_t to, size_t *out);
    /* What the first CV_FORM_LOOK bytes of an input say of all of it, as the order of bytes in
     * numbers: walk->form of walks that begin behind them. 0: nothing. Or NULL. */
    int (*form)(const char *bytes, size_t length);
    /* Look at `length` bytes that begin at walk->at, all or (`leaps`: or more) as far as `until` and `most`
     * tell. */
    enum cleave_status (*walk)(const struct cv_splitter *splitter, struct cv_walk *walk,
                               const char *bytes, size_t length,
                               struct cleave_error *err);
    /* If `frames`: where the part of an input ends that is given before each chunk; 0 if
     * what is in chunks needs none. False: the bytes are too few to tell. */
    bool (*head)(const struct cv_splitter *splitter, const char *bytes, size_t length,
                 size_t *out);
    /* What closes a chunk but the last, given that head: owned by the caller, NULL if there is
     * no memory. Without it a chunk begins with a comma, and is closed as an array. */
    char *(*tail)(const char *head, size_t length);
    /* Whether an input may end where the walk is without cutting a record short. */
    bool (*whole)(const struct cv_walk *walk);
};

struct cv_split_group; /* split_group.h */

struct cv_splitter {
    const struct cv_split_kind *kind;
    char *text;            /* owned                                          */
    char byte;             /* that ends a record, or separates fields        */
    uint64_t record_bytes; /* fixed; else 0                                  */
    char *prefix;          /* owned: with which every match begins; or NULL  */
    size_t prefix_length;
    bool many_lines;    /* of regex: it sees more than one line */
    bool plain;         /* whether that is the whole expression           */
    regex_t *regex;     /* owned; of regex alone                          */
    regex_t *regex_cut; /* owned: the same for lines of which the end is not seen */
    struct cv_split_group *group; /* owned: records that stay together; or NULL */
    bool headed;                  /* a header was asked for */
    uint64_t head_records;        /* of a header, if one is asked for; 0: one      */
    char *head_prefix; /* owned: with which the lines of a header begin; or NULL */
};

/* All kinds, in the order they are listed to users; the first is the default. The command
 * line, the help and the completions read this list, and tests go over it. */
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

/* Release what the kind regex has. */
void cv_split_regex_free(struct cv_splitter *splitter);

/* Begin at a record start. */
void cv_walk_init(struct cv_walk *walk, uint64_t offset);
/* Begin at another one of the same input. */
void cv_walk_again(struct cv_walk *walk, uint64_t offset);
/* Records walked over, the one that was begun included. */
uint64_t cv_walk_records(const struct cv_walk *walk);

/* How many of the bytes are `byte`. */
uint64_t cv_count_byte(const char *bytes, size_t length, char byte);

/* --- records that stay together ------------------------------------------------------------ */

enum { CV_GROUP_LOOK = 65536 }; /* bytes of a record in which its key is */

bool cv_splitter_groups(const struct cv_splitter *splitter);
/* Records of a group; 0: they have the same key. */
uint64_t cv_group_records(const struct cv_splitter *splitter);

struct cv_key_text {
    const char *bytes; /* borrowed from the record */
    size_t length;
};
struct cv_key_text cv_group_key_text(const struct cv_splitter *splitter,
                                     const char *bytes, size_t length);

struct cv_group_key {
    uint64_t high, low; /* its hash */
};

/* Where one stands in a row of records; all zero before the first. */
struct cv_group_state {
    uint64_t count; /* records of the group so far */
    struct cv_group_key key;
};
/* The next record: whether it begins a new group. */
bool cv_group_add(const struct cv_splitter *splitter, struct cv_group_state *state,
                  const char *bytes, size_t length);

#endif
