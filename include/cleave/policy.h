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
 * shared by all runs and threads: read-only from then on. */
#ifndef CLEAVE_POLICY_H
#define CLEAVE_POLICY_H
#include <stdbool.h>
#include <stdint.h>
#include <cleave/platform.h>

CLEAVE_BEGIN_C

/* What a policy is for. In a reduction every worker holds a partial from the beginning,
 * and a worker that has sent its partial away is out. */
enum cleave_task {
    CLEAVE_TASK_LOAD,
    CLEAVE_TASK_REDUCE,
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
};

enum cleave_order_kind {
    CLEAVE_SEND,    /* send `units` to `worker`, who computes chunks as they come   */
    CLEAVE_WAKE_AT, /* call again at `time_s`, about `worker`                       */
    CLEAVE_COMBINE, /* `peer` sends its partial to `worker`, who combines it        */
    CLEAVE_RETURN,  /* `worker` sends the result of `chunk` back to the master      */
    CLEAVE_RECALL,  /* take up to `units` of what `worker` is computing back        */
};

struct cleave_order {
    enum cleave_order_kind kind;
    uint32_t worker;
    double units;
    double time_s;
    uint32_t peer;
    uint64_t chunk; /* of CLEAVE_RETURN                                             */
};

/* What a policy knows. Costs are those declared; the true ones may differ. */
struct cleave_view {
    const struct cleave_worker *workers;
    uint32_t nworkers;
    enum cleave_port port;
    double units_total;  /* INFINITY for a stream that has not ended               */
    double units_left;   /* not yet ordered to be sent                             */
    double result_ratio; /* units of result per unit of load; 0: nothing comes back */
    double lifespan_s;   /* above 0: do as much as ends by then; units_total is 0
                            until the plan says how much that is                   */
    double error;        /* expected relative error of declared costs, 0 = exact   */
    bool real;           /* not simulated: declared costs are a first guess        */
    uint64_t seed;
    double transfer_s; /* reductions: declared cost of sending a partial            */
    double compute_s;  /* reductions: declared cost of combining two                */
    const double *compute_each_s; /* the same per node; NULL: alike                 */
};

struct cleave_orders; /* filled by the calls below */
struct cleave_lane;   /* a simulated run: src/policy/reduce/row_lane.h */
struct
    cleave_setup; /* memory, notes and forecasts for plan and start: src/policy/kit/setup.h */

/* Ask for `units` to be sent to `worker`. A master that is busy sends it as soon as its
 * port allows, in the order asked for. */
void cleave_order_send(struct cleave_orders *orders, uint32_t worker, double units);
/* Ask for the result of `chunk`, which `worker` has computed, to be sent back. Results wait
 * for the master's port in the order asked for; on port: one they share it with sends. */
void cleave_order_return(struct cleave_orders *orders, uint32_t worker, uint64_t chunk);
/* Ask for up to `units` of the chunk that `worker` is computing, from its end, as far as it
 * has not come to them. A CLEAVE_RECALLED event says how many are left again, maybe none. */
void cleave_order_recall(struct cleave_orders *orders, uint32_t worker, double units);
/* Ask for a CLEAVE_WAKE event at `time_s` that names `worker`. */
void cleave_order_wake(struct cleave_orders *orders, uint32_t worker, double time_s);
/* Ask `sender`, whose own combinations are all done, to send its partial to `receiver`.
 * A receiver takes partials in the order asked for, one at a time, and combines them in
 * the order of arrival. */
void cleave_order_combine(struct cleave_orders *orders, uint32_t receiver,
                          uint32_t sender);

enum cleave_param_kind {
    CLEAVE_PARAM_REAL,  /* double   */
    CLEAVE_PARAM_COUNT, /* uint32_t */
    CLEAVE_PARAM_TEXT,  /* const char *, NULL unless given; the policy reads it */
};

struct cleave_param {
    const char *name;
    enum cleave_param_kind kind;
    size_t offset; /* into the state block */
    double preset, least, most;
    const char *summary;
};

enum {
    CLEAVE_NEEDS_EQUAL_WORKERS = 1 << 0, /* refused with the first difference found */
    CLEAVE_NEEDS_FORECAST = 1 << 1,      /* tries other policies in simulation      */
    CLEAVE_NEEDS_MULTI_PORT = 1 << 2,    /* links that share no port                */
    CLEAVE_NEEDS_SHARED_PORT = 1 << 3,   /* port: one or duplex                     */
};

/* A reduction that always does the same, whatever costs turn out to be: every node sends
 * to its parent when it has combined all it receives. */
enum { CLEAVE_NO_PARENT = UINT32_MAX };
struct cleave_fixed_tree {
    uint32_t *parent; /* per node; CLEAVE_NO_PARENT for the root                     */
    bool in_turn;     /* senders are received in the order of their numbers; else
                         first come, first served                                   */
    uint32_t ahead;   /* at most so many partials wait or are being combined when
                         the next transfer begins: 0, 1, or UINT32_MAX for any      */
};

struct cleave_policy {
    const char *name, *summary, *reference;
    enum cleave_task task;
    unsigned needs;
    bool keeps_order;    /* reductions: combines neighbouring intervals only        */
    bool hears_arrivals; /* reductions: is told of CLEAVE_ARRIVED                   */
    bool one_round;      /* loads: at most one chunk per worker, whatever happens   */
    bool takes_streams;  /* loads: the load may be without a known end              */
    bool orders_returns; /* loads: says when results come back. Those of other
                            policies come back as they get ready                    */
    bool hears_losses;   /* loads: is told of CLEAVE_LOST when a worker has gone; for
                            other policies somebody else stands in for it           */
    size_t state_size;
    const struct cleave_param *params; /* ends with a zero entry; NULL: none       */
    enum cleave_status (*plan)(void *state, const struct cleave_view *view,
                               struct cleave_setup *setup, struct cleave_error *err);
    enum cleave_status (*start)(void *state, const struct cleave_view *view,
                                struct cleave_setup *setup, struct cleave_error *err);
    void (*decide)(void *state, const struct cleave_view *view,
                   const struct cleave_event *event, struct cleave_orders *orders);
    /* Optional: how many units the plan does within the view's lifespan. For policies
     * without it the load that takes so long is looked for. */
    double (*work)(const void *state);
    /* Optional: a reduction never takes longer if no transfer takes more than `transfer_s`
     * and no combination more than `compute_s`. Without it, one partial after the other. */
    double (*longest)(const void *state, const struct cleave_view *view,
                      double transfer_s, double compute_s);
    /* Optional: if `decide` only carries out a fixed tree, describe it (`out->parent` has
     * room for all nodes), so that many runs need no events; false if not. */
    bool (*fixed)(const void *state, const struct cleave_view *view,
                  struct cleave_fixed_tree *out);
    /* Optional: the inner loop of simulated reductions with `decide` compiled into it;
     * src/policy/reduce/row_lane.h says how. */
    void (*go)(struct cleave_lane *lane);
};

/* All policies, in the order they are listed to users. */
size_t cleave_policy_count(void);
const struct cleave_policy *cleave_policy_at(size_t index);
/* Find by name among those for a task. On failure err offers the nearest names. */
enum cleave_status cleave_policy_find(enum cleave_task task, const char *name,
                                      const struct cleave_policy **out,
                                      struct cleave_error *err);

CLEAVE_END_C
#endif
