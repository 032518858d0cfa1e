/* policy.h -- the events that a scheduling policy receives and the orders that it gives.
 * SPDX-License-Identifier: MIT
 *
 * A policy is a pure state machine: events in, orders out. Time comes in the event,
 * randomness from the seed in the view, memory from the arena it is given. It owns no
 * clock, lock, thread, file or socket, so the same code plans, simulates and runs.
 *
 * Life of a policy: its parameters are stored in a zeroed block of `state_size` bytes;
 * `plan` computes once what depends only on the declared costs and the load; every run
 * gets a copy of the planned block, to which `start` adds what changes during a run;
 * `decide` is called for every event and may not allocate. Memory that `plan` allocated
 * is shared by all runs and threads and is read-only after `plan` returns.
 *
 * Times are in seconds from the beginning of the run, loads in units, workers and nodes
 * are numbered from 0. Every order is checked; an invalid order ends the run with
 * CLEAVE_EPOLICY and the name of the policy.
 *
 * To use your own policy, fill a struct cleave_policy and pass it instead of a name:
 * `own_policy` of cleave_job and cleave_reduction, `own` of cleave_policy_options, or an
 * argument of cleave_replay. Policies are not registered: the library has no list that
 * could change, so threads do not share one, names cannot clash, and a policy has to live
 * only as long as the call. examples/own_policy.c is a complete policy. */
#ifndef CLEAVE_POLICY_H
#define CLEAVE_POLICY_H
#include <stdbool.h>
#include <stdint.h>
#include <cleave/platform.h>

CLEAVE_BEGIN_C

/* The task of a policy. In a reduction every worker holds a partial from the beginning,
 * or after its CLEAVE_READY; a worker that has sent its partial takes no further part.
 * Items are a load of indivisible units of given sizes: a chunk is one item. Of several
 * loads a chunk has units of one. */
enum cleave_task {
    CLEAVE_TASK_LOAD,
    CLEAVE_TASK_REDUCE,
    CLEAVE_TASK_ITEMS,
    CLEAVE_TASK_LOADS,
};

/* Actions of a node of a reduction before its own partial is ready. */
enum cleave_ready_model {
    CLEAVE_READY_ABSENT, /* none: the node is absent */
    CLEAVE_READY_EARLY,  /* receiving, but not combining */
    /* none; later one operation at a time: receiving and combining do not overlap */
    CLEAVE_READY_MERGE,
};

enum cleave_event_kind {
    CLEAVE_START,    /* once, first: workers idle, port free */
    CLEAVE_SENT,     /* chunk has arrived at worker; the master's port is free */
    CLEAVE_DONE,     /* worker has computed the chunk                                  */
    CLEAVE_WAKE,     /* the time of a CLEAVE_WAKE_AT order */
    CLEAVE_ARRIVED,  /* peer's partial has arrived at worker, whose port is free    */
    CLEAVE_COMBINED, /* worker has combined peer's partial with its own             */
    CLEAVE_RETURNED, /* the result of the chunk has arrived at the master           */
    CLEAVE_ENDED,    /* a stream has ended: units_left is now final */
    CLEAVE_RECALLED, /* `units` of the chunk were taken back from worker */
    CLEAVE_LOST,     /* the chunk was lost: its units are left again */
    /* The command of an open chunk has begun to read: it was started at start_s and
     * began to read at time_s. */
    CLEAVE_STARTED,
    /* the command has read everything that its open chunk was given so far */
    CLEAVE_DRAINED,
    CLEAVE_EXTENDED, /* `units` were added to the open chunk, maybe 0 */
    CLEAVE_PROGRESS, /* answers CLEAVE_QUERY: the command has read `units` of the chunk */
    CLEAVE_READY,    /* worker has its own partial, in a reduction with ready times     */
    /* Only in traces of real runs, not passed to policies: worker has folded `units`
     * partial results into one. */
    CLEAVE_FOLDED,
    /* Worker has joined, or has returned after a loss or a pause; it is idle and may
     * get chunks. */
    CLEAVE_CAME,
    /* Worker was ended, or has failed, with a chunk that has another copy: its result
     * is dropped, and it is idle. 0 units: the copy was not started. */
    CLEAVE_DROPPED,
};

struct cleave_event {
    enum cleave_event_kind kind;
    uint32_t worker;
    uint64_t chunk; /* chunks are numbered from 0 in the order they were ordered   */
    double units;
    double start_s; /* when the transfer or computation began                      */
    double time_s;  /* when it ended: now                                          */
    bool more;      /* other events of the same instant follow */
    uint32_t peer;  /* in a reduction: the sender */
    /* CLEAVE_DONE of an open chunk: when its command had read the end of its input; 0:
     * unknown */
    double read_s;
    double output; /* CLEAVE_PROGRESS: units that the command has written so far */
    /* CLEAVE_PROGRESS: processor time of the command so far; 0: unknown */
    double cpu_s;
    /* CLEAVE_DONE in a real run with a reduction: measured time to fold one more
     * result; 0: not measured yet */
    double fold_s;
    /* items: number of the item, several loads: of the load; set by the driver */
    uint64_t item;
};

enum cleave_order_kind {
    /* send `units` to `worker`, which computes chunks in order of arrival */
    CLEAVE_SEND,
    CLEAVE_WAKE_AT, /* give CLEAVE_WAKE for `worker` at `time_s` */
    CLEAVE_COMBINE, /* `peer` sends its partial to `worker`, which combines it */
    CLEAVE_RETURN,  /* `worker` sends the result of `chunk` back to the master      */
    CLEAVE_RECALL,  /* take back up to `units` of the chunk that `worker` is computing */
    CLEAVE_OPEN,    /* as CLEAVE_SEND, but the chunk stays open: it may be extended   */
    CLEAVE_EXTEND,  /* give the open chunk of `worker` up to `units` more             */
    /* the open chunk is complete: the command reads the end of its input */
    CLEAVE_CLOSE,
    CLEAVE_QUERY, /* report the progress of `worker`: CLEAVE_PROGRESS */
    CLEAVE_COPY,  /* `worker` also runs the chunk of `peer`; the first result counts */
};

struct cleave_order {
    enum cleave_order_kind kind;
    uint32_t worker;
    double units;
    double time_s;
    uint32_t peer;
    uint64_t chunk; /* for CLEAVE_RETURN */
    /* CLEAVE_SEND of items: the number of the item, from 0; `units` is its size. Of
     * several loads: the number of the load */
    uint64_t item;
};

/* The knowledge of a policy. Costs are the declared ones; the true costs may differ. */
struct cleave_view {
    const struct cleave_worker *workers;
    /* per worker: changes of its speed and bandwidths; NULL: constant */
    const struct cleave_profile *profiles;
    /* Per worker: limit for the units of a chunk, INFINITY: none; NULL: no limits. A
     * larger chunk is refused. */
    const double *memory;
    uint32_t nworkers;
    enum cleave_port port;
    double units_total; /* INFINITY for a stream that has not ended               */
    double units_left;  /* not yet ordered to be sent                             */
    /* units of result per unit of load; 0: no results are returned */
    double result_ratio;
    /* Above 0: do as much work as ends by this time; units_total is 0 until the plan
     * sets it. */
    double lifespan_s;
    double error;  /* expected relative error of declared costs, 0 = exact   */
    bool real;     /* not simulated: declared costs are a first guess */
    bool measured; /* the declared costs were measured, maybe long ago */
    /* port: one, and the policy has sends_first: sends overtake waiting results */
    bool sends_first;
    /* instead, results are fetched right before the next chunk of their worker */
    bool before_round;
    bool opens;  /* chunks may be opened: see cleave_order_open            */
    bool copies; /* a chunk may be run twice: see cleave_order_copy        */
    /* units that a command gets before it reads them; they cannot be recalled */
    double ahead;
    /* a stream: limit for units that wait or are being processed; 0: none */
    double hold;
    /* results are reduced at the master: number of commands that reduce at a time; 0:
     * unknown */
    uint32_t folders;
    /* results are reduced on the workers, along a tree, not at the master */
    bool folds_apart;
    /* how many times faster one worker may be than another; 0: unknown */
    double unequal;
    /* Per worker: its group, numbered from 0 without gaps. Workers of one group are
     * expected to be equal: the same machine and the same command. NULL: unknown. */
    const uint32_t *groups;
    /* how long a command may process one block that it has read, without visible
     * progress; 0: it reads evenly */
    double burst_s;
    /* relative variation of the time when the same work is repeated; 0: none */
    double varies;
    uint64_t seed;
    double transfer_s; /* reductions: declared cost of sending a partial            */
    double compute_s;  /* reductions: declared cost of combining two                */
    const double *compute_each_s; /* compute_s per node; NULL: equal */
    /* Items: declared units of each, 0 or more; their sum is units_total. The true
     * cost of an item may differ. */
    const double *sizes;
    uint64_t nitems; /* 0: the load is not made of items */
    /* Several loads: their sum is units_total. A policy without knows_releases gets units
     * of 0 for a load before its release, and CLEAVE_WAKE when it is released. */
    const struct cleave_load *loads;
    size_t nloads; /* 0: one load, or items */
    enum cleave_goal goal;
    /* Reductions: when each node has its partial (no node has it at CLEAVE_START);
     * NULL: all have it at the start. A policy that must not know the times may only
     * test for NULL. */
    const double *ready_s;
    enum cleave_ready_model ready_model;
};

struct cleave_policy;
struct cleave_setting;
/* The orders of one decision, filled by the calls cleave_order_... */
struct cleave_orders;
/* Memory, notes and forecasts for plan and start: cleave_setup_... */
struct cleave_setup;

/* Ask for `units` to be sent to `worker`. A master that is busy sends it as soon as its
 * port allows, in the order asked for. */
void cleave_order_send(struct cleave_orders *orders, uint32_t worker, double units);
/* Ask for `item` to be sent to `worker`, for loads of items. Each item is sent once, and
 * again only after CLEAVE_LOST. */
void cleave_order_item(struct cleave_orders *orders, uint32_t worker, uint64_t item);
/* Ask for `units` of one of several loads to be sent to `worker`. */
void cleave_order_load(struct cleave_orders *orders, uint32_t worker, size_t load,
                       double units);
/* Ask for the result of `chunk`, which `worker` has computed, to be sent back. Results
 * wait for the master's port in the order asked for; with port: one, results and sends
 * share it. */
void cleave_order_return(struct cleave_orders *orders, uint32_t worker, uint64_t chunk);
/* Take back up to `units` from the end of the chunk that `worker` is computing, but no
 * units that it has begun. A CLEAVE_RECALLED event has the number of units that were
 * taken back, maybe 0. An open chunk stays open. */
void cleave_order_recall(struct cleave_orders *orders, uint32_t worker, double units);
/* Open a chunk, if view->opens. A command is started for `worker`, which has to be idle,
 * and gets `units`. `units` may be 0: a command can start before its input is chosen. The
 * first unit fixes the place in the load: the first unit that no worker has. A
 * CLEAVE_SENT event has the number of units given. CLEAVE_STARTED follows when the
 * command has read some of them, and CLEAVE_DRAINED whenever it has read all of them.
 * After CLEAVE_DRAINED it waits for more input, or for the end. */
void cleave_order_open(struct cleave_orders *orders, uint32_t worker, double units);
/* Ask for up to `units` more for the open chunk of `worker`. A CLEAVE_EXTENDED event has
 * their number: fewer if the following units belong to another worker, are done, or do
 * not exist. */
void cleave_order_extend(struct cleave_orders *orders, uint32_t worker, double units);
/* Close the chunk of `worker`: its command reads the end of its input and ends
 * (CLEAVE_DONE). A command without any input is killed, and CLEAVE_DONE has 0 units. */
void cleave_order_close(struct cleave_orders *orders, uint32_t worker);
/* Ask for the progress of `worker` with its chunk: a CLEAVE_PROGRESS event follows at
 * once. */
void cleave_order_look(struct cleave_orders *orders, uint32_t worker);
/* If view->copies: `worker`, which has to be idle, also runs the chunk of `peer`; if
 * `peer` has several chunks, the oldest that can be copied. An open chunk is closed, and
 * its unread input is recalled first (CLEAVE_RECALLED). CLEAVE_DONE names the attempt
 * that ends first. CLEAVE_DROPPED names the other attempt, or `worker` if no chunk can be
 * copied. A chunk has at most one copy, and a chunk that has failed has none. */
void cleave_order_copy(struct cleave_orders *orders, uint32_t worker, uint32_t peer);
/* Ask for a CLEAVE_WAKE event at `time_s` that names `worker`. */
void cleave_order_wake(struct cleave_orders *orders, uint32_t worker, double time_s);
/* Ask `sender`, which has finished all its own combinations, to send its partial to
 * `receiver`. A receiver takes partials in the order asked for, one at a time, and
 * combines them in the order of arrival. */
void cleave_order_combine(struct cleave_orders *orders, uint32_t receiver,
                          uint32_t sender);

/* At CLEAVE_ENDED: `units` of a stream were set aside before it ended, for chunks that
 * are not ordered yet. They are added to units_left. */
void cleave_orders_keep(struct cleave_orders *orders, double units);

/* Services for `plan` and `start`, valid during the call only. Memory lives longer:
 *
 * Allocate `count` objects of `size` bytes, zeroed and aligned for any type. Memory of
 * `plan` lives as long as the plan and is shared by its runs; memory of `start` lives
 * until the run ends. It is never freed by the policy. NULL: out of memory; return
 * CLEAVE_ENOMEM. */
void *cleave_setup_alloc(struct cleave_setup *setup, size_t count, size_t size);
/* Report why a worker gets nothing; the text is copied. Users read it below a plan. */
void cleave_setup_left_out(struct cleave_setup *setup, uint32_t worker,
                           const char *reason);
/* Report which policy was picked to decide, and why. `picked` must live as long as the
 * results of the plan, like the names of policies; `why` is copied. */
void cleave_setup_picked(struct cleave_setup *setup, const char *picked, const char *why);
/* Report the schedules among which the plan is proved best, such as "schedules with these
 * orders". The text must live as long as the results of the plan. `optimal`: these are
 * all schedules to which the bound applies. */
void cleave_setup_proved(struct cleave_setup *setup, const char *among, bool optimal);
/* The mean makespan in seconds of another policy with its preset parameters for the load
 * of `view`, simulated `runs` times with the expected error. Only for the `plan` of
 * policies with CLEAVE_NEEDS_FORECAST; CLEAVE_EINPUT if forecasts are not available. */
enum cleave_status cleave_setup_forecast(struct cleave_setup *setup,
                                         const struct cleave_policy *policy,
                                         const struct cleave_view *view, uint32_t runs,
                                         double *out_s, struct cleave_error *err);
/* Make a state block of another policy, with its parameters stored, so that a policy can
 * hand over to that policy: call its `plan` with the block once; every run copies the
 * block and calls `start` and `decide` with the copy. The lifetime is that of
 * cleave_setup_alloc. */
enum cleave_status cleave_setup_state(struct cleave_setup *setup,
                                      const struct cleave_policy *policy,
                                      const struct cleave_setting *settings,
                                      size_t nsettings, void **out,
                                      struct cleave_error *err);

enum cleave_param_kind {
    CLEAVE_PARAM_REAL,  /* double   */
    CLEAVE_PARAM_COUNT, /* uint32_t */
    CLEAVE_PARAM_TEXT,  /* const char *, NULL unless given; the policy reads it */
    CLEAVE_PARAM_UNITS, /* double; may be written as 600k or 3 GB */
};

/* A parameter, stored in the state block before `plan` is called. */
struct cleave_param {
    const char *name;
    enum cleave_param_kind kind;
    size_t offset;           /* into the state block                                */
    double preset, min, max; /* numbers: the default value and the range */
    const char *summary;
};

enum {
    CLEAVE_NEEDS_EQUAL_WORKERS = 1 << 0, /* refused with the first difference found */
    CLEAVE_NEEDS_FORECAST = 1 << 1,      /* simulates other policies */
    CLEAVE_NEEDS_MULTI_PORT = 1 << 2,    /* links that share no port                */
    CLEAVE_NEEDS_SHARED_PORT = 1 << 3,   /* port: one or duplex                     */
};

struct cv_policy_inner;

/* All texts and tables are borrowed: they must live as long as the objects that use the
 * policy, and their results. Unused members are 0 or NULL; `name` and `decide` are
 * required. Calls return CLEAVE_OK or fill err (cleave_error_set). */
struct cleave_policy {
    const char *name, *summary, *reference;
    enum cleave_task task;
    unsigned needs;     /* CLEAVE_NEEDS_..., checked before `plan`                    */
    bool keeps_order;   /* reductions: combines neighbouring intervals only        */
    bool gets_arrivals; /* reductions: gets CLEAVE_ARRIVED */
    /* reductions: gets CLEAVE_READY; without it, all nodes must have their partials at
     * the start */
    bool hears_ready;
    bool one_round;     /* loads: at most one chunk per worker, whatever happens   */
    bool takes_streams; /* loads: the end of the load may be unknown */
    /* loads: orders the return of results. With other policies, results are returned
     * as they become ready. */
    bool orders_returns;
    /* loads: with port: one, sends overtake waiting results, unless the job forbids
     * it; otherwise messages keep the order asked for */
    bool sends_first;
    /* loads: gets CLEAVE_LOST when a worker is lost; for other policies a substitute
     * policy handles losses */
    bool gets_losses;
    /* Loads: orders copies itself if chunks may be opened, and gets CLEAVE_DROPPED.
     * With all other policies, an idle worker copies a late chunk when no load is
     * left. */
    bool orders_copies;
    /* Loads: orders open chunks if the view allows them, and gets CLEAVE_STARTED,
     * CLEAVE_DRAINED and CLEAVE_EXTENDED; in real runs only with gets_losses. */
    bool opens_chunks;
    /* Loads: accepts places that no worker has taken yet, which are declared with
     * almost no speed. A worker that takes a place later gets the chunks ordered for
     * the place before, or chunks ordered when a CLEAVE_CAME event names it. */
    bool takes_joiners;
    /* Loads: its chunk sizes take into account that returned results are reduced,
     * which takes time. */
    bool minds_folds;
    bool uses_profiles; /* loads: its plan uses the profiles of the view */
    /* several loads: it may know loads before their release */
    bool knows_releases;
    /* loads: the parameter with the units of every chunk except the last ones; NULL:
     * sizes differ */
    const char *one_size;
    size_t state_size;
    const struct cleave_param *params; /* ends with a zero entry; NULL: none       */
    /* Optional: once, before all runs. */
    enum cleave_status (*plan)(void *state, const struct cleave_view *view,
                               struct cleave_setup *setup, struct cleave_error *err);
    /* Optional: at the beginning of every run. */
    enum cleave_status (*start)(void *state, const struct cleave_view *view,
                                struct cleave_setup *setup, struct cleave_error *err);
    /* At every event, the first of which is CLEAVE_START: give orders, or none. */
    void (*decide)(void *state, const struct cleave_view *view,
                   const struct cleave_event *event, struct cleave_orders *orders);
    /* Optional: the units that the plan completes within the view's lifespan. For
     * policies without it, the library searches for the load that takes this time. */
    double (*work)(const void *state);
    /* Optional: upper bound on the time of a reduction if no transfer takes more than
     * `transfer_s` and no combination more than `compute_s`. Without it, the library uses
     * the time to send and combine all partials one after the other. */
    double (*longest)(const void *state, const struct cleave_view *view,
                      double transfer_s, double compute_s);
    /* Private to the library; callers set it to NULL. */
    const struct cv_policy_inner *inner;
};

/* All policies that come with the library, in the order they are listed to users: static. */
size_t cleave_policy_count(void);
const struct cleave_policy *cleave_policy_at(size_t index);
/* Find by name among those for a task. On failure err offers the nearest names. */
enum cleave_status cleave_policy_find(enum cleave_task task, const char *name,
                                      const struct cleave_policy **out,
                                      struct cleave_error *err);

CLEAVE_END_C
#endif
