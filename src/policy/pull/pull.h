/* pull.h -- workers ask, the master serves. SPDX-License-Identifier: MIT
 *
 * A worker asks for work when it holds fewer than `prefetch` unfinished chunks and the
 * sending of its last one has begun. Requests are served first come first served as the
 * port gets free; simultaneous requests by chunks already given, then by decreasing
 * bandwidth, then by index. Self-scheduling, guided, factoring and the second phase of
 * rumr and rx differ only in the size they hand out. */
#ifndef CV_PULL_H
#define CV_PULL_H
#include <stdint.h>
#include "policy/common/setup.h"

struct cv_request {
    double time_s;
    uint32_t given, rank, worker;
};

/* Units for `worker`'s next chunk, before limits. Called once per chunk, in order. */
typedef double cv_pull_size(void *state, const struct cleave_view *view, uint32_t worker);

struct cv_pull {
    uint32_t prefetch;
    double min;               /* smallest chunk handed out                      */
    const double *least_each; /* per worker, instead; NULL: the same for all */
    const bool *member;       /* workers that may ask; NULL: all */
    uint32_t nmembers;
    const uint32_t *rank; /* by decreasing bandwidth: shared by all runs    */
    uint32_t *given;      /* per worker: chunks sent so far                 */
    uint32_t *unfinished; /* per worker                                     */
    uint32_t *held_back;  /* per worker: chunks of an earlier phase to come */
    bool *vacant;         /* per worker: the place is unused */
    /* Requests, at most one per worker. Usually each request follows all before it and
     * joins the line; simultaneous requests out of order are in the heap. */
    struct cv_request *line, *heap;
    uint32_t line_first, nline, nheap, max;
    bool port_busy;
};

/* In plan and in start of the policy that pulls; `member` is set before by policies that
 * serve only some workers. */
enum cleave_status cv_pull_plan(struct cv_pull *pull, const struct cleave_view *view,
                                struct cleave_setup *setup, struct cleave_error *err);
enum cleave_status cv_pull_start(struct cv_pull *pull, const struct cleave_view *view,
                                 struct cleave_setup *setup, struct cleave_error *err);

/* Take note of an event: workers that became free or ask. */
void cv_pull_note(struct cv_pull *pull, const struct cleave_view *view,
                  const struct cleave_event *event);
/* Take note of a chunk that an earlier phase hands out now. */
void cv_pull_given(struct cv_pull *pull, const struct cleave_view *view, uint32_t worker,
                   double now_s);
/* Serve requests while the port is free and units are left. */
void cv_pull_serve(struct cv_pull *pull, void *state, const struct cleave_view *view,
                   double now_s, cv_pull_size *size, struct cleave_orders *orders);

/* A `decide` for policies that only pull. */
void cv_pull_decide(struct cv_pull *pull, void *state, const struct cleave_view *view,
                    const struct cleave_event *event, cv_pull_size *size,
                    struct cleave_orders *orders);

/* Batches of N requests that share half of the units left at their beginning. */
struct cv_batch {
    double share;  /* units of each request of this batch, on average */
    uint32_t left; /* requests left in this batch                     */
};

double cv_batch_next(struct cv_batch *batch, const struct cleave_view *view, uint32_t n);

/* Means over the members (NULL: everyone). */
double cv_mean_speed(const struct cleave_view *view, const bool *member);
/* The overhead of one chunk expressed in units: the mean work of a worker while it starts
 * one and the port serves everyone once, S (alpha + n beta). */
double cv_overhead_units(const struct cleave_view *view, const bool *member);
/* The least chunk of a shrinking policy when none is asked for: the overhead above, but
 * at least a thousandth of an equal share and at most an equal share. */
double cv_least_chunk(const struct cleave_view *view);

/* Refuse a least size of chunks that is so small that chunks would never end; 0 is none.
 * In a real run there is a record in each. */
enum cleave_status cv_pull_check_size(const char *policy, const char *param, double units,
                                      const struct cleave_view *view,
                                      struct cleave_error *err);

/* Parameters of a policy of state type `type` with a struct cv_pull at `member`. Asking
 * ahead hides the transfer of small equal chunks; with shrinking chunks it hands out the
 * large chunks before slow workers are known. */
#define CV_PREFETCH_PARAM(type, member, preset)                                     \
    {                                                                               \
        "prefetch", CLEAVE_PARAM_COUNT, offsetof(type, member.prefetch), preset, 1, \
            1000, "a worker asks when it holds fewer unfinished chunks than this"   \
    }
#define CV_LEAST_PARAM(type, member)                                          \
    {                                                                         \
        "least", CLEAVE_PARAM_UNITS, offsetof(type, member.min), 0, 0, 1e300, \
            "units of the smallest chunk; 0: what covers the latencies"       \
    }

/* From when on a worker could do something more, and how fast. */
struct cv_ready {
    double in_s; /* from now; INFINITY: never */
    double speed_ups;
};

/* In how many seconds they have done `units`: T with sum of speed (T - in)+ = units.
 * INFINITY: never. O(n) a time; few times. */
double cv_end_together(const struct cv_ready *workers, uint32_t n, double units);

#endif
