/* retry_queue.h -- pieces to run again, before new orders. SPDX-License-Identifier: MIT
 *
 * Such a piece was taken from the source and counts as running, but no worker has it. */
#ifndef CV_RETRY_QUEUE_H
#define CV_RETRY_QUEUE_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "run/failures/worker_health.h"
#include "run/input/source.h"

/* The last step of a chunk that was reported to the policy. */
enum cv_reported {
    CV_REPORTED_ORDER, /* nothing since its order */
    CV_REPORTED_SENT,
    CV_UNREPORTED, /* the policy did not order the chunk, or got its end */
};

/* A chunk, over all its attempts. */
struct cv_chunk {
    uint64_t number;
    uint32_t owner;   /* the worker that the policy ordered it for                      */
    uint32_t attempt; /* number of the current or next attempt, from 1                  */
    double began_s;   /* start of the first attempt                                     */
    enum cv_reported reported;
    bool runs_alone; /* lost together with others, and retried without them */
    bool copied;     /* two workers ran it at the same time */
    struct cv_failure_history past;
};

struct cv_retry {
    struct cv_chunk chunk;
    struct cv_piece piece;
};

/* All zero: empty. */
struct cv_retry_queue {
    struct cv_retry *items; /* owned: the first is the next                            */
    size_t count, room;
};

void cv_retry_queue_done(struct cv_retry_queue *agains);
/* A part of a piece that failed goes before all others, any other piece after them. */
enum cleave_status cv_retry_queue_push(struct cv_retry_queue *agains,
                                       const struct cv_retry *again,
                                       struct cleave_error *err);
struct cv_retry cv_retry_queue_take(struct cv_retry_queue *agains, size_t index);
/* Whether a worker can retry a piece. */
enum cv_availability {
    CV_CAN_NOT,   /* absent */
    CV_CAN_LATER, /* busy */
    CV_CAN_NOW,
};
struct cv_candidate {
    uint32_t domain;
    enum cv_availability can;
    bool proven;  /* a command of the worker has succeeded */
    bool suspect; /* the worker waits until others have tried its failed pieces */
};

/* One candidate for each worker. Candidates of a domain follow one another, and its
 * number is the index of its first candidate. The sums spare most searches a look at
 * every worker. */
struct cv_candidates {
    struct cv_candidate *items;
    size_t count;
    struct cv_candidate_sum {
        size_t there, now;
    } sums[2]; /* [0]: candidates that are not suspect, [1]: suspect ones */
};

/* Set the next candidate; `count` is 0 before the first one. */
void cv_candidates_add(struct cv_candidates *among, struct cv_candidate candidate);
/* The candidate was given work. */
void cv_candidates_take(struct cv_candidates *among, size_t index);
/* Whether none can retry a piece now. */
bool cv_candidates_all_busy(const struct cv_candidates *among);
/* The candidate that retries it, or SIZE_MAX if none can now. The order of preference: a
 * domain without a failure of this piece that is not suspect; a domain without a failure
 * of this piece; any domain except the last one; the last one. A better candidate that is
 * only busy is waited for, except for parts of a piece that failed. */
size_t cv_candidates_pick(const struct cv_candidates *among,
                          const struct cv_retry *again);

enum {
    CV_FAMILY_BAD = 16, /* single records that fail before one succeeds: stop splitting */
    CV_FAMILY_MOST = 2000 /* limit of parts of one piece */
};

/* All parts of a piece that failed. */
struct cv_bisect_group {
    struct cv_bisect_group *next; /* list of all groups */
    uint32_t made, bad;           /* parts in all; single records that failed */
    bool any_good; /* a part has succeeded                                         */
    bool isolates; /* split to single records */
};

/* Split a piece near its middle. *tail is empty if it is a single record. */
enum cleave_status cv_piece_bisect(struct cv_source *source, const struct cv_piece *piece,
                                   struct cv_piece *head, struct cv_piece *tail,
                                   struct cleave_error *err);

void cv_bisect_groups_free(struct cv_bisect_group *groups);
/* A piece was split in two. Makes a group if *family is NULL, and adds it to the list. */
enum cleave_status cv_bisect_group_split(struct cv_bisect_group **groups,
                                         struct cv_bisect_group **family, bool isolates,
                                         struct cleave_error *err);
/* Whether splitting pieces of the group further is useless. */
bool cv_bisect_group_hopeless(const struct cv_bisect_group *family);
/* A part has ended; `family` may be NULL. */
void cv_bisect_group_over(struct cv_bisect_group *family, bool good, bool single);

enum { CV_BLAME_LOSSES = 3 };

struct cv_poison_suspect {
    uint64_t begin, end; /* addresses                                                  */
    uint32_t losses;
    uint32_t nhosts;
    const void *hosts[CV_BLAME_LOSSES]; /* different hosts, by address */
};

/* All zero: no suspects. */
struct cv_poison_tracker {
    struct cv_poison_suspect *suspects; /* owned; no two overlap */
    size_t count, room;
};

void cv_poison_tracker_done(struct cv_poison_tracker *poison);

/* A host was lost while it ran [begin, end); `machines` take part in the run.
 * *out_hosts is the number of hosts lost with this range if it is poison, else 0. */
enum cleave_status cv_poison_tracker_lost(struct cv_poison_tracker *poison,
                                          uint64_t begin, uint64_t end, const void *host,
                                          uint32_t machines, uint32_t *out_hosts,
                                          struct cleave_error *err);
/* The range is done or was given up. */
enum cleave_status cv_poison_tracker_clear(struct cv_poison_tracker *poison,
                                           uint64_t begin, uint64_t end,
                                           struct cleave_error *err);

#endif
