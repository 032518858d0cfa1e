/* outlet.h -- where the outputs of chunks go. SPDX-License-Identifier: MIT
 *
 * There are three kinds: outputs are written as they are (outlet_open.c), folded by
 * commands on this machine (outlet_fold.c), or kept by the hosts that made them and folded
 * there (outlet_kept.c). Nobody else knows which it is. */
#ifndef CV_OUTLET_H
#define CV_OUTLET_H
#include "run/fold/fold.h"
#include "run/master/books.h"
#include "run/master/desk.h"
#include "run/master/staff.h"

struct cv_outlet;

/* What is NULL does nothing, or has nothing to do. */
struct cv_outlet_kind {
    enum cleave_status (*add)(struct cv_outlet *outlet, struct cv_store *store,
                              const struct cv_piece *piece, const struct cv_slot *maker,
                              struct cleave_error *err);
    enum cleave_status (*skip)(struct cv_outlet *outlet, uint64_t begin, uint64_t end,
                               struct cleave_error *err);
    enum cleave_status (*first)(struct cv_outlet *outlet, uint32_t worker, bool *out,
                                struct cleave_error *err);
    enum cleave_status (*work)(struct cv_outlet *outlet, struct cleave_error *err);
    uint32_t (*busy)(const struct cv_outlet *outlet);
    void (*stop)(struct cv_outlet *outlet);
    enum cleave_status (*status)(struct cv_outlet *outlet, bool *out_command,
                                 struct cleave_error *err);
    enum cleave_status (*relieve)(struct cv_outlet *outlet, bool *out_done,
                                  struct cleave_error *err);
    enum cleave_status (*settle)(struct cv_outlet *outlet, bool *out_done,
                                 struct cleave_error *err);
    struct cv_fold_counts (*counts)(const struct cv_outlet *outlet);
    uint64_t (*covered)(const struct cv_outlet *outlet);
    void (*free)(struct cv_outlet *outlet);
};

/* The first member of each kind's own struct. */
struct cv_outlet {
    const struct cv_outlet_kind *kind;
    bool may_lose; /* what was added, so that its piece has to be done again: the source
                    * must not forget it */
};

/* All is borrowed. */
struct cv_outlet_options {
    const struct cleave_execution *asked;
    struct cv_poller *poller;
    struct cv_gather *gather; /* `separate` if cv_outlet_separate says so              */
    struct cv_staff *staff;
    struct cv_books *books;
    const struct cv_desks *desks;
    struct cv_fold_log *log; /* folds that were made; NULL: nobody wants to know        */
    struct cv_gate *gate;    /* of this machine                                         */
};

/* Open the kind that was asked for; the staff is there (outlet_open.c). */
enum cleave_status cv_outlet_open(const struct cv_outlet_options *options,
                                  struct cv_outlet **out, struct cleave_error *err);
/* Whether results are folded where they were made. */
bool cv_outlet_apart(const struct cleave_execution *asked);
/* How many commands fold at a time; 0: none does. */
uint32_t cv_outlet_folders(const struct cv_staff *staff,
                           const struct cleave_execution *asked);
/* Whether each output has to be a file of its own. */
bool cv_outlet_separate(const struct cleave_execution *asked);
/* Kills what is running; may be NULL, as in the next. */
void cv_outlet_free(struct cv_outlet *outlet);
/* Commands that were started, and how many of them because one before had failed. */
struct cv_fold_counts cv_outlet_counts(const struct cv_outlet *outlet);

/* The store is the whole output of the piece, and not the caller's any more. `maker` is
 * the slot that made it; NULL: an earlier run. */
enum cleave_status cv_outlet_add(struct cv_outlet *outlet, struct cv_store *store,
                                 const struct cv_piece *piece,
                                 const struct cv_slot *maker, struct cleave_error *err);
/* None will come for bytes [begin, end) of the input. */
enum cleave_status cv_outlet_skip(struct cv_outlet *outlet, uint64_t begin, uint64_t end,
                                  struct cleave_error *err);

/* --- while chunks run --------------------------------------------------------------------- */

/* Whether the worker has to fold before it begins its next chunk; it is let to. */
enum cleave_status cv_outlet_first(struct cv_outlet *outlet, uint32_t worker, bool *out,
                                   struct cleave_error *err);
/* Let all workers fold that have nothing else to do. */
enum cleave_status cv_outlet_work(struct cv_outlet *outlet, struct cleave_error *err);
/* How many commands fold that are waited for; 0: none. */
uint32_t cv_outlet_busy(const struct cv_outlet *outlet);
/* Ask what runs to end; start nothing more. */
void cv_outlet_stop(struct cv_outlet *outlet);
/* See to what was lost. Fails once folding has; *out_command says whether it was the
 * command. */
enum cleave_status cv_outlet_status(struct cv_outlet *outlet, bool *out_command,
                                    struct cleave_error *err);

/* --- while none runs ---------------------------------------------------------------------- */

/* Go on until there is room for more outputs; or until the result is with the gather. If
 * *out_done is false, let the poller wait, look at the status, and call again. */
enum cleave_status cv_outlet_relieve(struct cv_outlet *outlet, bool *out_done,
                                     struct cleave_error *err);
enum cleave_status cv_outlet_settle(struct cv_outlet *outlet, bool *out_done,
                                    struct cleave_error *err);
/* Once it is: fails if the result is not that of `bytes` bytes of the input. */
enum cleave_status cv_outlet_check(const struct cv_outlet *outlet, uint64_t bytes,
                                   struct cleave_error *err);

#endif
