/* worker_health.h -- whether a chunk or the worker is the cause of a failure.
 * SPDX-License-Identifier: MIT
 *
 * A host that lacks a file fails every chunk, faster than others finish theirs, and
 * would be given most of the input. So a failure is doubtful if its failure domain has
 * not succeeded yet, or failed several times in a row. Another domain then tries the
 * same chunk. If it succeeds, the first domain backs off, each time twice as long, and
 * is excluded after CV_TRUST_REFUTED times without a success. If it fails too, the first
 * domain was right, and twice as many failures in a row are accepted from it without a
 * cross-check. No failure is doubtful once CV_TRUST_DOMAINS domains have failed and none has
 * succeeded: the command fails, and cross-checks of each domain would only repeat that. */
#ifndef CV_WORKER_HEALTH_H
#define CV_WORKER_HEALTH_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "run/common/poller.h"

enum { CV_HISTORY_PARTIES = 8 };

struct cv_bisect_group;

/* The failures of a piece; all zero: none. */
struct cv_failure_history {
    struct {
        uint32_t domain;
        uint8_t way;             /* as numbered by cv_worker_health_note_failure */
    } items[CV_HISTORY_PARTIES]; /* one for each domain, the last failure last */
    uint32_t count;
    struct cv_bisect_group *family; /* parts of a piece that failed; or NULL */
};

static inline bool cv_failure_history_has(const struct cv_failure_history *history,
                                          uint32_t domain)
{
    for (uint32_t i = 0; i < history->count; i++)
        if (history->items[i].domain == domain)
            return true;
    return false;
}

/* Add a failure. The oldest one is forgotten if there are too many. */
static inline void cv_failure_history_add(struct cv_failure_history *history,
                                          uint32_t domain, uint8_t way)
{
    uint32_t kept = 0;

    for (uint32_t i = history->count == CV_HISTORY_PARTIES &&
                      !cv_failure_history_has(history, domain);
         i < history->count; i++)
        if (history->items[i].domain != domain)
            history->items[kept++] = history->items[i];
    history->items[kept].domain = domain;
    history->items[kept].way = way;
    history->count = kept + 1;
}

enum {
    CV_TRUST_REFUTED = 5, /* refuted failures without a success: exclude the domain */
    CV_HEALTH_CROSS_CHECKS = 4, /* domains that try a doubtful chunk */
    CV_TRUST_WAYS = 4,          /* different kinds of failure */
    CV_TRUST_DOMAINS = 16,
};

struct cv_worker_health;

struct cv_health_record {
    struct cv_worker_health *health;
    uint32_t domain;
    bool proven;
    uint32_t streak; /* failures since its last success that others have not confirmed */
    uint32_t patience; /* failures in a row that are doubtful; 0 means 1 */
    uint32_t refuted;  /* refuted failures since its last success */
    uint32_t retried;  /* pieces that it failed with and that are being tried again */
    bool resting, out;
    struct cv_timer timer; /* end of the back-off */
    /* The worker with this number, not its whole domain: */
    bool later;           /* it rests, because its command asked to be run later */
    uint32_t postponed;   /* such requests since its last success */
    double since_s;       /* begin of its last rest */
    double until_s;       /* end of its last rest */
    struct cv_timer wait; /* until then */
    uint64_t failures;    /* in all */
    uint32_t rests;
    char ways[CV_TRUST_WAYS][80]; /* how commands ended: "exited with status 1" */
    uint8_t nways;
    uint8_t last_way;    /* kind of its last failure, from 1; 0: another kind */
    uint8_t refuted_way; /* kind of the last failure that was refuted */
};

/* All zero but the callbacks. */
struct cv_worker_health {
    struct cv_health_record *items; /* owned: one for each domain */
    uint32_t count;
    struct cv_poller *poller; /* borrowed                                              */
    bool anybody;             /* any domain has succeeded */
    uint32_t nfailed;         /* domains that have failed */
    uint32_t nresting;        /* domains in back-off or excluded */
    /* a back-off begins, or the domain is excluded */
    void (*rests)(void *context, uint32_t domain);
    void (*is_back)(void *context, uint32_t domain); /* the back-off has expired */
    /* the rest of a worker has ended; it began at since_s */
    void (*rested)(void *context, uint32_t worker, double since_s);
    void *context;
};

/* Also of an open one: a run begins again if its input is damaged. */
enum cleave_status cv_worker_health_open(struct cv_worker_health *health,
                                         uint32_t nworkers, struct cv_poller *poller,
                                         struct cleave_error *err);
void cv_worker_health_close(struct cv_worker_health *health);

/* Note that a command of the domain failed; `how` describes its end. Returns whether
 * this is doubtful; *way is for the failure history of the piece. */
bool cv_worker_health_note_failure(struct cv_worker_health *health, uint32_t domain,
                                   const char *how, uint8_t *way);
/* Note that a command of the domain succeeded on a piece with that history. */
void cv_worker_health_note_success(struct cv_worker_health *health, uint32_t domain,
                                   const struct cv_failure_history *history);
/* A piece is given up: the failures of all its domains are confirmed. */
void cv_worker_health_confirm_failure(struct cv_worker_health *health,
                                      const struct cv_failure_history *history);

/* Give the domain no work for a moment, until others may be there. */
void cv_worker_health_pause(struct cv_worker_health *health, uint32_t domain);

/* The command of an attempt that began at began_s asked to be run later: let the worker rest.
 * told_s: for how long; 0: 1 s, and twice as long after each further request without a
 * success, up to 64 s. Attempts that began before the rest do not make the next one longer. Returns the
 * seconds until the end of the rest. */
double cv_worker_health_postpone(struct cv_worker_health *health, uint32_t worker,
                                 double began_s, double told_s);
/* The worker has succeeded: its next rest is a short one. */
void cv_worker_health_answered(struct cv_worker_health *health, uint32_t worker);
/* Whether the worker rests because its command asked for it. */
bool cv_worker_health_is_postponed(const struct cv_worker_health *health,
                                   uint32_t worker);

/* A piece with that history will be tried again; that attempt has ended. */
void cv_worker_health_note_retry(struct cv_worker_health *health,
                                 const struct cv_failure_history *history);
void cv_worker_health_note_retried(struct cv_worker_health *health,
                                   const struct cv_failure_history *history);

/* Whether the domain gets no work. */
bool cv_worker_health_in_backoff(const struct cv_worker_health *health, uint32_t domain);
/* Whether the domain gets nothing new, because others try the pieces it failed with. */
bool cv_worker_health_suspects(const struct cv_worker_health *health, uint32_t domain);
/* Whether the domain has not succeeded since its last back-off: it gets one chunk at a
 * time. */
bool cv_worker_health_is_probing(const struct cv_worker_health *health, uint32_t domain);
/* Whether a back-off or rest will expire. */
bool cv_worker_health_awaits(const struct cv_worker_health *health);
/* End all back-offs: no other domain is left, or the user has fixed the cause. */
void cv_worker_health_clear_backoff(struct cv_worker_health *health);

/* The reason for a back-off or exclusion: "its last 5 commands failed, ...". */
void cv_worker_health_reason(const struct cv_health_record *standing, char *out,
                             size_t size);

/* Processes of this control group that the system has killed for lack of memory; 0 if
 * unknown. */
uint64_t cv_memory_kills(void);

/* The same number from the text of memory.events, or of memory.oom_control in version
 * 1. */
uint64_t cv_memory_kills_in(const char *text);
/* The path of that file, from the text of /proc/self/cgroup; empty: there is none. */
void cv_memory_kills_file(const char *groups, char *out, size_t size);

#endif
