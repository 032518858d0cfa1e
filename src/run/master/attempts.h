/* attempts.h -- chunks under way, and whose they are. SPDX-License-Identifier: MIT
 *
 * A chunk under way is an attempt: a slot that does its piece, and what is to be known of it
 * at its end. Each worker has a desk with room for one attempt; for one of another machine
 * there are several, so that the next piece travels while one is worked on. */
#ifndef CV_ATTEMPTS_H
#define CV_ATTEMPTS_H
#include "run/failures/failure_history.h"
#include "run/common/start_limiter.h"
#include "run/master/worker_pool.h"
#include "run/slot/slot.h"

struct cv_attempt {
    struct cv_slot slot; /* first; its worker is the one that does it                  */
    uint32_t owner;      /* the one it was ordered for                                 */
    uint64_t chunk;
    uint32_t number; /* from 1                                                        */
    double began_s;  /* its first attempt                                             */
    double runs_s;   /* ... and this one                                              */
    double bound_s;  /* open: when its command was given its first byte               */
    double start_s;  /* until that read it; 0: not known                              */
    bool told;       /* that it was sent                                              */
    bool
        quiet; /* nobody is told of it: see struct cv_pending_order                      */
    bool alone;    /* it was lost with others, and is tried without them            */
    double output; /* bytes of it                                                   */
    /* More may be added to it, until it ends. Its command may have ended before it had
     * anything to do: then the slot is not busy, and waits for its first piece. */
    bool opened;
    bool closes; /* ... but nothing will, once it is known what came of `due`          */
    double due;  /* units that are to be added; 0: none                                */
    struct cv_unread_input
        unread; /* what its command may still work on                      */
    struct cv_failure_history
        past; /* who failed with it before                               */
    struct cv_content_hash content; /* of an item for the journal, before it began      */
    struct cv_piece tail; /* what is being taken back, while the answer is due         */
};

struct cv_worker_attempts {
    struct cv_attempt
        *attempts; /* owned                                                */
    uint32_t nerrands;
    uint32_t max; /* of them under way at a time; another may be while one that is open
                      waits for an order                                               */
};

/* One for each worker; none while no chunks are handed out. */
struct cv_attempt_table {
    struct cv_worker_attempts
        *items; /* owned                                                    */
    uint32_t count;
};

enum cleave_status cv_desks_open(struct cv_attempt_table *table, uint32_t nworkers,
                                 struct cleave_error *err);
/* Kills what is running. */
void cv_desks_close(struct cv_attempt_table *table);
/* Room for so many attempts of a worker that has none under way; all of them are zero. */
enum cleave_status cv_desk_room(struct cv_worker_attempts *places, uint32_t nerrands,
                                struct cleave_error *err);

/* The attempt that a slot is part of. */
struct cv_attempt *cv_attempt_of(struct cv_slot *slot);
/* Of one that is open: it has no bytes yet. */
bool cv_attempt_is_empty(const struct cv_attempt *attempt);
/* ... and waits for an order: its command can do nothing more, and nobody will say anything of it. */
bool cv_attempt_awaits_order(const struct cv_attempt *attempt);
/* Whether the worker has an attempt under way. */
bool cv_desks_busy(const struct cv_attempt_table *table, uint32_t worker);
/* The attempt of the worker that was opened and has not ended, or NULL. */
struct cv_attempt *cv_attempt_table_find_open(const struct cv_attempt_table *table,
                                              uint32_t worker);
/* An attempt of the worker, one more than usual, while one of its own is held up; or NULL. */
struct cv_attempt *cv_attempt_table_find_extra(const struct cv_attempt_table *table,
                                               uint32_t worker);
/* An attempt of the worker that is not under way, or NULL. */
struct cv_attempt *cv_desks_free(const struct cv_attempt_table *table, uint32_t worker);
/* Whether anybody has an attempt under way that failed with this party. */
bool cv_attempt_table_has_failure_of(const struct cv_attempt_table *table,
                                     uint32_t domain);
/* The one of the worker's own that would be last, or NULL. */
struct cv_attempt *cv_attempt_table_find_last(const struct cv_attempt_table *table,
                                              uint32_t worker);

/* Bytes of attempts under way that their commands have read. Of those on hosts, and of the
 * last pipe full of others, that is not known: it is what the worker does in the time that
 * has passed since. */
double cv_desks_read(const struct cv_attempt_table *table,
                     const struct cv_worker_pool *pool, double now_s);
/* The same of one worker. */
double cv_desk_read(const struct cv_attempt_table *table,
                    const struct cv_worker_pool *pool, uint32_t worker, double now_s);

/* When the oldest attempt of the worker that is under way began; NAN: there is none. */
double cv_attempt_table_oldest_start_s(const struct cv_attempt_table *table,
                                       uint32_t worker);

/* Ask all that is under way to end. */
void cv_desks_stop(struct cv_attempt_table *table);
/* Let commands that stay end; whether all have. With `stay`, those that can be given another
 * piece need not. */
bool cv_attempt_table_drain(struct cv_attempt_table *table, bool stay);
/* Kill what is running, but for those. */
void cv_attempt_table_kill(struct cv_attempt_table *table);

#endif
