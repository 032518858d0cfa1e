/* policy.h -- what a scheduling policy is told and what it may ask for.
 * SPDX-License-Identifier: MIT
 *
 * A policy is a pure state machine: events in, orders out. Time comes in the event,
 * randomness from the seed in the view, memory from the arena it is given. It owns no
 * clock, lock, thread, file or socket, so the same code plans, simulates and runs.
 *
 * Life of a policy: its parameters are stored in a zeroed block of `state_size` bytes;
 * `plan` computes once what depends only on the declared costs and the load; every run
 * gets a copy of the planned block, to which `start` adds what changes during a run;
 * `decide` is called for every event and may not allocate. What `plan` allocated is
 * shared by all runs and threads: read-only from then on.
 *
 * Times are in seconds from the beginning of the run, loads in units, workers and nodes
 * are numbered from 0. Every order is checked; one that makes no sense ends the run with
 * CLEAVE_EPOLICY and the name of the policy.
 *
 * A policy of your own is a struct cleave_policy that you fill and pass where a name would
 * stand: `own_policy` of cleave_job and cleave_reduction, `own` of cleave_policy_options, or an argument
 * of cleave_replay. Nothing has to be registered beforehand: the library keeps no list
 * that could change, so that two threads never meet in one, no two parts of a program
 * fight for a name, and a policy can live as long or as short as a call.
 * examples/own_policy.c is a whole one. */
#ifndef CLEAVE_POLICY_H
#define CLEAVE_POLICY_H
#include <stdbool.h>
#include <stdint.h>
#include <cleave/platform.h>

CLEAVE_BEGIN_C

/* What a policy is for. In a reduction every worker holds a partial from the beginning,
 * or from its CLEAVE_READY on, and a worker that has sent its partial away is out. Items
 * are a load that comes in units of given sizes, each of which goes to one worker as a
 * whole: a chunk is an item. */
enum cleave_task {
    CLEAVE_TASK_LOAD,
    CLEAVE_TASK_REDUCE,
    CLEAVE_TASK_ITEMS,
};

/* What a node of a reduction may do before its own partial is ready. */
enum cleave_ready_model {
    CLEAVE_READY_ABSENT, /* nothing: it is not there                                   */
    CLEAVE_READY_EARLY,  /* receive, but not combine                                   */
    CLEAVE_READY_MERGE,  /* nothing, and later one thing at a time: no overlap         */
};

enum cleave_event_kind {
    CLEAVE_START,    /* once, first: workers idle, port free                           */
    CLEAVE_SENT,     /* chunk has arrived at worker; the master's port is free for it  */
    CLEAVE_DONE,     /* worker has computed the chunk                                  */
    CLEAVE_WAKE,     /* the time asked for by CLEAVE_WAKE_AT has come                  */
    CLEAVE_ARRIVED,  /* peer's partial has arrived at worker, whose port is free    */
    CLEAVE_COMBINED, /* worker has combined peer's partial with its own             */
    CLEAVE_RETURNED, /* the result of the chunk has arrived at the master           */
    CLEAVE_ENDED,    /* a stream has ended: units_left is now all there is          */
    CLEAVE_RECALLED, /* so many units of the chunk were taken back from worker      */
    CLEAVE_LOST,     /* the chunk came to nothing: its units are left again         */
    CLEAVE_STARTED,  /* the command of an open chunk has begun to read: it was begun
                        at start_s, and has read since time_s                          */
    CLEAVE_DRAINED,  /* the command has read all that its open chunk was given so far */
    CLEAVE_EXTENDED, /* so many units were added to the open chunk, maybe none        */
    CLEAVE_PROGRESS, /* answers CLEAVE_QUERY: so many units of the chunk have been read */
    CLEAVE_READY,    /* worker has its own partial, in a reduction with ready times     */
    CLEAVE_FOLDED,   /* only in traces of real runs, told to no policy: worker has folded
                        so many partial results (`units`) into one                      */
    CLEAVE_CAME,     /* worker has joined, or has returned after a loss or a pause: it is
                        idle and may be given work                                      */
    CLEAVE_DROPPED,  /* worker was ended, or has failed, with a chunk of which there is
                        another copy: nothing came of it, and it is idle. 0 units: the
                        copy was not begun                                              */
};

struct cleave_event {
    enum cleave_event_kind kind;
    uint32_t worker;
    uint64_t chunk; /* chunks are numbered from 0 in the order they were ordered   */
    double units;
    double start_s; /* when the transfer or computation began                      */
    double time_s;  /* when it ended: now                                          */
    bool more;      /* other events of this very instant follow this one           */
    uint32_t peer;  /* the sender, in a reduction                                  */
    double read_s;  /* of CLEAVE_DONE of what was an open chunk: when its command had
                       read the end of its input; 0: not known                     */
    double output;  /* of CLEAVE_PROGRESS: units that the command has written so far   */
    double cpu_s;   /* of CLEAVE_PROGRESS: processor time it took so far; 0: not known */
    double fold_s;  /* of CLEAVE_DONE in a real run whose results are reduced: what one
                       result more takes to be folded, as far as was seen; 0: not yet */
    uint64_t item;  /* items: which one the chunk is; set by the driver            */
};

enum cleave_order_kind {
    CLEAVE_SEND,    /* send `units` to `worker`, who computes chunks as they come   */
    CLEAVE_WAKE_AT, /* call again at `time_s`, about `worker`                       */
    CLEAVE_COMBINE, /* `peer` sends its partial to `worker`, who combines it        */
    CLEAVE_RETURN,  /* `worker` sends the result of `chunk` back to the master      */
    CLEAVE_RECALL,  /* take up to `units` of what `worker` is computing back        */
    CLEAVE_OPEN,    /* as CLEAVE_SEND, but the chunk stays open: it may be extended   */
    CLEAVE_EXTEND,  /* give the open chunk of `worker` up to `units` more             */
    CLEAVE_CLOSE,   /* that is all of it: the command reads the end of its input      */
    CLEAVE_QUERY, /* say how far `worker` has come with its chunk: CLEAVE_PROGRESS      */
    CLEAVE_COPY, /* `worker` runs the chunk that `peer` has as well: the first one counts */
};

struct cleave_order {
    enum cleave_order_kind kind;
    uint32_t worker;
    double units;
    double time_s;
    uint32_t peer;
    uint64_t chunk; /* of CLEAVE_RETURN                                             */
    uint64_t item;  /* of CLEAVE_SEND of items: which one, numbered from 0; units is its
                       size                                                          */
};

/* What a policy knows. Costs are those declared; the true ones may differ. */
struct cleave_view {
    const struct cleave_worker *workers;
    const struct cleave_profile *profiles; /* per worker: how its speed and bandwidths
                                              change; NULL: nobody's do               */
    const double *memory; /* per worker: units of the largest chunk it takes, INFINITY:
                             any; NULL: any for all. A larger one is refused         */
    uint32_t nworkers;
    enum cleave_port port;
    double units_total;  /* INFINITY for a stream that has not ended               */
    double units_left;   /* not yet ordered to be sent                             */
    double result_ratio; /* units of result per unit of load; 0: nothing comes back */
    double lifespan_s;   /* above 0: do as much as ends by then; units_total is 0
                            until the plan says how much that is                   */
    double error;        /* expected relative error of declared costs, 0 = exact   */
    bool real;           /* not simulated: declared costs are a first guess        */
    bool measured;       /* the declared costs were measured, if long ago          */
    bool sends_first;    /* port: one, the policy says so too: sends overtake results that
                            wait                                                   */
    bool before_round;   /* ... instead of that they are fetched right before the next
                            chunk of their worker                                  */
    bool opens;          /* chunks may be opened: see cleave_order_open            */
    bool copies;         /* a chunk may be run twice: see cleave_order_copy        */
    double ahead;        /* units that a command is given before it reads them, which
                            cannot be recalled                                     */
    double hold;         /* of a stream: units that may wait or be at work at a time;
                            0: any number                                          */
    uint32_t folders;    /* of a load whose results are reduced at the master: how many
                            commands reduce at a time; 0: not known                */
    bool folds_apart;    /* ... not there but where they are made, along a tree    */
    double unequal;      /* how many times faster one worker may be than another; 0:
                            not known                                              */
    /* Per worker: its group, numbered from 0 without gaps. Workers of one group are alike,
     * by what is known beforehand: the same machine and the same command. NULL: not known. */
    const uint32_t *groups;
    double burst_s; /* for so long a command may be at work on what it has read at
                            once, and seem to stand still; 0: it reads evenly      */
    double varies;  /* by about this part the same takes more or less time when it is
                            done again; 0: it does not                             */
    uint64_t seed;
    double transfer_s; /* reductions: declared cost of sending a partial            */
    double compute_s;  /* reductions: declared cost of combining two                */
    const double *compute_each_s; /* the same per node; NULL: alike                 */
    const double *sizes; /* items: units of each, 0 or more, as far as is known; their sum
                            is units_total. What an item turns out to cost may differ  */
    uint64_t nitems;     /* 0: this load is not made of items                        */
    const double *ready_s; /* reductions: when each node has its partial, which nobody
                              does at CLEAVE_START; a policy that must not know looks
                              at nothing but whether it is NULL: all are there       */
    enum cleave_ready_model ready_model;
};

struct cleave_policy;
struct cleave_setting;
struct
    cleave_orders; /* of one decision: filled by the calls cleave_order_...            */
struct
    cleave_setup; /* for plan and start: memory, notes, forecasts; cleave_setup_...   */

/* Ask for `units` to be sent to `worker`. A master that is busy sends it as soon as its
 * port allows, in the order asked for. */
void cleave_order_send(struct cleave_orders *orders, uint32_t worker, double units);
/* Ask for `item` to be sent to `worker`, for loads of items. Each is sent once, and again
 * only if CLEAVE_LOST says that nothing came of it. */
void cleave_order_item(struct cleave_orders *orders, uint32_t worker, uint64_t item);
/* Ask for the result of `chunk`, which `worker` has computed, to be sent back. Results wait
 * for the master's port in the order asked for; on port: one they share it with sends. */
void cleave_order_return(struct cleave_orders *orders, uint32_t worker, uint64_t chunk);
/* Ask for up to `units` of the chunk that `worker` is computing, from its end, as far as it
 * has not come to them. A CLEAVE_RECALLED event says how many are left again, maybe none.
 * An open chunk stays open. */
void cleave_order_recall(struct cleave_orders *orders, uint32_t worker, double units);
/* Open chunks, where the view says so. A command is started for `worker`, which has
 * nothing else to do, and fed `units`, which may be 0: a command can start while it is not
 * known yet what it is to read. Where it reads is decided with the first unit: from the
 * first one on that nobody has. A CLEAVE_SENT event says how much was given. CLEAVE_STARTED
 * comes when it has read some of it, CLEAVE_DRAINED whenever it has read all that it was
 * given. Then it waits for more, or for the end. */
void cleave_order_open(struct cleave_orders *orders, uint32_t worker, double units);
/* Ask for up to `units` more for the open chunk of `worker`. A CLEAVE_EXTENDED event says how
 * many there are: fewer if what follows is somebody else's, or done, or the end. */
void cleave_order_extend(struct cleave_orders *orders, uint32_t worker, double units);
/* Close the chunk of `worker`: its command reads the end and ends (CLEAVE_DONE). One that
 * was never given anything is killed, and CLEAVE_DONE says 0 units. */
void cleave_order_close(struct cleave_orders *orders, uint32_t worker);
/* Ask how far `worker` is with its chunk: a CLEAVE_PROGRESS event comes at once. */
void cleave_order_look(struct cleave_orders *orders, uint32_t worker);
/* Where the view says so: `worker`, which has nothing to do, runs the chunk of `peer` as
 * well; if `peer` has several, the oldest that can be copied. An open chunk is closed, and
 * its unread input is recalled first (CLEAVE_RECALLED). CLEAVE_DONE names the attempt that is
 * done first. CLEAVE_DROPPED names the other one, or `worker` if nothing can be copied. There
 * is at most one copy of a chunk, and none of a chunk that has failed. */
void cleave_order_copy(struct cleave_orders *orders, uint32_t worker, uint32_t peer);
/* Ask for a CLEAVE_WAKE event at `time_s` that names `worker`. */
void cleave_order_wake(struct cleave_orders *orders, uint32_t worker, double time_s);
/* Ask `sender`, whose own combinations are all done, to send its partial to `receiver`.
 * A receiver takes partials in the order asked for, one at a time, and combines them in
 * the order of arrival. */
void cleave_order_combine(struct cleave_orders *orders, uint32_t receiver,
                          uint32_t sender);

/* At CLEAVE_ENDED: `units` of a stream were set aside before it ended, for chunks that are
 * not ordered yet. They come on top of what is left. */
void cleave_orders_keep(struct cleave_orders *orders, double units);

/* What `plan` and `start` may use. All of it is theirs for the call only, apart from the
 * memory.
 *
 * `count` things of `size` bytes, zeroed and aligned for any type. What `plan` asks for
 * lives as long as the plan and is shared by its runs, what `start` asks for until the run
 * ends; nothing is to be freed. NULL when memory is short: return CLEAVE_ENOMEM then. */
void *cleave_setup_alloc(struct cleave_setup *setup, size_t count, size_t size);
/* Say why a worker gets nothing; the text is copied. Users read it below a plan. */
void cleave_setup_left_out(struct cleave_setup *setup, uint32_t worker,
                           const char *reason);
/* Say which policy decides in the end, and why. `picked` must live as long as what comes
 * of the plan, as the names of policies do; `why` is copied. */
void cleave_setup_picked(struct cleave_setup *setup, const char *picked, const char *why);
/* Say among which schedules the plan is proved best: "schedules with these orders". The
 * text must live as long as what comes of the plan. `optimal`: these are all schedules
 * that the bound speaks of. */
void cleave_setup_proved(struct cleave_setup *setup, const char *among, bool optimal);
/* The mean makespan in seconds of another policy with its preset parameters for the load
 * of `view`, simulated `runs` times with the expected error. Only for the `plan` of
 * policies with CLEAVE_NEEDS_FORECAST; CLEAVE_EINPUT where it is not offered. */
enum cleave_status cleave_setup_forecast(struct cleave_setup *setup,
                                         const struct cleave_policy *policy,
                                         const struct cleave_view *view, uint32_t runs,
                                         double *out_s, struct cleave_error *err);
/* A state block of another policy with its parameters stored, so that a policy can hand
 * over to it: its `plan` is called with it once, and every run copies it and calls `start`
 * and `decide` with the copy. It lives as other memory does. */
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
    double preset, min, max; /* of numbers: the value if none is given, the range   */
    const char *summary;
};

enum {
    CLEAVE_NEEDS_EQUAL_WORKERS = 1 << 0, /* refused with the first difference found */
    CLEAVE_NEEDS_FORECAST = 1 << 1,      /* tries other policies in simulation      */
    CLEAVE_NEEDS_MULTI_PORT = 1 << 2,    /* links that share no port                */
    CLEAVE_NEEDS_SHARED_PORT = 1 << 3,   /* port: one or duplex                     */
};

struct cv_policy_inner;

/* All texts and tables are borrowed: they must live as long as what the policy is given
 * to, and what comes of it. What is not used is 0 or NULL; `name` and `decide` are needed. Calls return CLEAVE_OK or fill err (cleave_error_set). */
struct cleave_policy {
    const char *name, *summary, *reference;
    enum cleave_task task;
    unsigned needs;      /* CLEAVE_NEEDS_..., checked before `plan`                    */
    bool keeps_order;    /* reductions: combines neighbouring intervals only        */
    bool gets_arrivals;  /* reductions: is told of CLEAVE_ARRIVED                   */
    bool hears_ready;    /* reductions: is told of CLEAVE_READY; without it, all nodes
                            must have their partials at the start                   */
    bool one_round;      /* loads: at most one chunk per worker, whatever happens   */
    bool takes_streams;  /* loads: the load may be without a known end              */
    bool orders_returns; /* loads: says when results come back. Those of other
                            policies come back as they get ready                    */
    bool sends_first; /* loads: on port: one sends go before results that wait, unless the
                            job says otherwise; else messages go in the order asked for */
    bool gets_losses; /* loads: is told of CLEAVE_LOST when a worker has gone; for
                            other policies somebody else stands in for it           */
    bool orders_copies; /* loads: orders copies itself where chunks may be opened, and is
                            told of CLEAVE_DROPPED. For all others an idle worker copies
                            what is late when nothing is left to be ordered         */
    bool opens_chunks;  /* loads: gives orders about open chunks where it may, and is
                            told of CLEAVE_STARTED, CLEAVE_DRAINED and CLEAVE_EXTENDED; in
                            real runs only if it hears of losses                    */
    bool takes_joiners; /* loads: there may be places that nobody has taken yet, which
                            are declared with next to no speed. Whoever takes one later
                            gets work: what was ordered for the place before, or what
                            is ordered when a CLEAVE_CAME event names it             */
    bool minds_folds;   /* loads: its sizes are for results that are reduced when they
                             are back, which takes a time that others do not count  */
    bool uses_profiles; /* loads: its plan follows from the profiles of the view     */
    const char *one_size; /* loads: the parameter that holds the units of every chunk,
                             the last ones aside; NULL: chunks have many sizes       */
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
    /* Optional: how many units the plan does within the view's lifespan. For policies
     * without it the load that takes so long is looked for. */
    double (*work)(const void *state);
    /* Optional: a reduction never takes longer if no transfer takes more than `transfer_s`
     * and no combination more than `compute_s`. Without it, one partial after the other. */
    double (*longest)(const void *state, const struct cleave_view *view,
                      double transfer_s, double compute_s);
    /* Private to the library: NULL from outside. */
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
