/* worker_health.h -- whether a chunk failed because of the chunk or because of who did it.
 * SPDX-License-Identifier: MIT
 *
 * A machine that lacks a file fails every chunk, and faster than others do theirs: whoever
 * hands out work by demand gives most of the input to it. So a failure is in doubt when its
 * party (worker_health.h) has not succeeded yet, or has failed several times in a row, and then
 * another party is to try the same chunk. If that succeeds, the first one is refuted: it
 * rests, each time twice as long, and is left out when it has been refuted five times
 * without a success. If it fails as well, the party was right, and twice as many
 * failures in a row are believed from then on: where all commands fail, few chunks are
 * tried twice. */
#ifndef CV_WORKER_HEALTH_H
#define CV_WORKER_HEALTH_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "run/common/poller.h"

enum { CV_HISTORY_PARTIES = 8 };

struct cv_bisect_group;

/* All zero: it has not failed. */
struct cv_failure_history {
    uint32_t domains[CV_HISTORY_PARTIES]; /* it failed with these, the last one last   */
    uint8_t ways
        [CV_HISTORY_PARTIES]; /* how, by the numbers of cv_worker_health_note_failure    */
    uint32_t count;
    struct cv_bisect_group
        *family; /* it is a part of a piece that failed; NULL: it is not  */
};

static inline bool cv_failure_history_has(const struct cv_failure_history *history,
                                          uint32_t domain)
{
    for (uint32_t i = 0; i < history->count; i++)
        if (history->domains[i] == domain)
            return true;
    return false;
}

/* Whether what comes of it will say something of that party. */
static inline bool cv_failure_history_doubts(const struct cv_failure_history *history,
                                             uint32_t domain)
{
    return history->family == NULL && cv_failure_history_has(history, domain);
}

/* It has failed with this one, too, in that way. Of many the first is forgotten. */
static inline void cv_failure_history_add(struct cv_failure_history *history,
                                          uint32_t domain, uint8_t way)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < history->count; i++)
        if (history->domains[i] != domain) {
            history->domains[kept] = history->domains[i];
            history->ways[kept++] = history->ways[i];
        }
    if (kept == CV_HISTORY_PARTIES) {
        for (kept = 0; kept + 1 < CV_HISTORY_PARTIES; kept++) {
            history->domains[kept] = history->domains[kept + 1];
            history->ways[kept] = history->ways[kept + 1];
        }
    }
    history->ways[kept] = way;
    history->domains[kept++] = domain;
    history->count = kept;
}

enum {
    CV_TRUST_REFUTED = 5, /* times without a success: left out                        */
    CV_HEALTH_CROSS_CHECKS =
        4,             /* so many parties try a chunk that is in doubt, at most    */
    CV_TRUST_WAYS = 4, /* so many ways to fail are told apart                      */
};

struct cv_worker_health;

struct cv_health_record {
    struct cv_worker_health *health;
    uint32_t domain;
    bool proven;       /* it has succeeded                                             */
    uint32_t streak;   /* failures since then that others have not confirmed           */
    uint32_t patience; /* so many in a row are in doubt; 0 is 1                        */
    uint32_t refuted;  /* how often, since it last succeeded                           */
    bool resting, out;
    struct cv_timer timer; /* until the rest is over                                   */
    uint64_t failures;     /* in all                                                   */
    uint32_t rests;
    char ways[CV_TRUST_WAYS][80]; /* how they ended, behind "the command"              */
    uint8_t nways;
    uint8_t last_way;    /* of its last one, from 1; 0: another one                    */
    uint8_t refuted_way; /* of the last one that others succeeded with                 */
};

/* All zero but what it calls: nobody is known. */
struct cv_worker_health {
    struct cv_health_record
        *items; /* owned: by party                                      */
    uint32_t count;
    struct cv_poller *poller; /* borrowed                                              */
    bool anybody;             /* has succeeded                                         */
    uint32_t nresting;        /* those left out included                               */
    void (*rests)(void *context, uint32_t domain);   /* it begins to, or is left out    */
    void (*is_back)(void *context, uint32_t domain); /* its rest is over                */
    void *context;
};

enum cleave_status cv_worker_health_open(struct cv_worker_health *health,
                                         uint32_t nworkers, struct cv_poller *poller,
                                         struct cleave_error *err);
void cv_worker_health_close(struct cv_worker_health *health);

/* A command of the party has failed, as `how` says behind "the command". Whether that is in doubt; *way is
 * for the history of the piece. */
bool cv_worker_health_note_failure(struct cv_worker_health *health, uint32_t domain,
                                   const char *how, uint8_t *way);
/* A command of the party has succeeded, on a piece with that history. */
enum cleave_status cv_worker_health_note_success(struct cv_worker_health *health,
                                                 uint32_t domain,
                                                 const struct cv_failure_history *history,
                                                 struct cleave_error *err);
/* A piece is given up: those who failed with it were right. */
void cv_worker_health_confirm_failure(struct cv_worker_health *health,
                                      const struct cv_failure_history *history);

/* Whether the party is to get nothing. */
bool cv_worker_health_in_backoff(const struct cv_worker_health *health, uint32_t domain);
/* Whether so little is known of it that, while others try what it failed, it is to get
 * nothing new. */
bool cv_worker_health_suspects(const struct cv_worker_health *health, uint32_t domain);
/* Whether it is back from a rest, and has not succeeded since: one chunk at a time. */
bool cv_worker_health_is_probing(const struct cv_worker_health *health, uint32_t domain);
/* Whether the rest of somebody will be over. */
bool cv_worker_health_awaits(const struct cv_worker_health *health);
/* Nobody else is there, or somebody has mended it: all are to go on. */
void cv_worker_health_clear_backoff(struct cv_worker_health *health);

/* Why it rests, or is left out: "its last 5 commands failed, ...". */
void cv_worker_health_reason(const struct cv_health_record *standing, char *out,
                             size_t size);

/* How many processes of our control group the system has killed so far for want of memory;
 * 0 where nobody says. */
uint64_t cv_memory_kills(void);

/* The same by what a file of it says: memory.events, or memory.oom_control of old. */
uint64_t cv_memory_kills_in(const char *text);
/* Where that file is, by what /proc/self/cgroup says, of version 2, or of version 1 if there
 * is no other; empty: nowhere. */
void cv_memory_kills_file(const char *groups, char *out, size_t size);

#endif
