/* learn.h -- measured costs of workers. SPDX-License-Identifier: MIT
 *
 * Speeds, latencies and links as measured, who holds what, and from that how long each
 * worker is busy and when all could end together. */
#ifndef CV_LEARN_H
#define CV_LEARN_H
#include "policy/common/fit.h"
#include "policy/common/setup.h"
#include "policy/pull/pull.h"

/* Chunks a worker may hold, and those it may lose one after the other before it is left
 * out. */
enum { CV_AHEAD = 2, CV_LOSSES = 3 };
/* A link and its worker that are equally fast come out a little different, by the last digits
 * of times: within this part of it neither is the slower one. */
static const double CV_ALIKE = 1e-9;

struct cv_worker_observation {
    struct cv_fit compute, link;
    double effective_ups;   /* speed, as far as the port can keep up                  */
    double sizes[CV_AHEAD]; /* units held, the oldest first                       */
    uint64_t numbers[CV_AHEAD]; /* numbers of these chunks */
    uint32_t held, there;       /* chunks not finished, and the arrived ones among them */
    double began_s;             /* start of the oldest, after its arrival */
    double sending_s;  /* since then the oldest that is not there is on its way    */
    double largest;    /* units of the largest chunk that arrived                */
    uint32_t lost;     /* chunks lost, one after the other                       */
    uint32_t measured; /* chunks done, and units of the first of them            */
    double first;
    bool firm; /* its chunk cannot be recalled */
};

struct cv_learned_costs {
    struct cv_worker_observation *workers;
    uint32_t taken;         /* places up to the last used one */
    uint32_t *by_bandwidth; /* these workers: widest first */
    struct cv_ready *ready; /* scratch of time_left                                */
    double port_use;        /* part of a shared port that full speed takes            */
    double latency_s;       /* mean over workers that are sure of it; below 0: none   */
    double speed_ups;       /* mean over known workers; 0: none                       */
    double usual_s;         /* mean time of their largest chunks                      */
    uint32_t present;       /* workers that can be given something, at least 1        */
    uint64_t numbered, arrived; /* chunks given, and the arrived ones */
    double excess; /* units more than were asked for, mean: half a record             */
};

enum cleave_status cv_learned_costs_init(struct cv_learned_costs *known,
                                         const struct cleave_view *view,
                                         struct cleave_setup *setup,
                                         struct cleave_error *err);

static inline bool cv_shares_port(const struct cleave_view *view)
{
    return view->port != CLEAVE_PORT_MULTI;
}

static inline bool cv_is_out(const struct cv_worker_observation *seen)
{
    return seen->lost >= CV_LOSSES;
}

/* Units were given to a worker, have arrived there, or were removed. */
void cv_learned_costs_give(struct cv_learned_costs *known, uint32_t worker, double units,
                           double now_s);
void cv_learned_costs_arrived(struct cv_learned_costs *known,
                              const struct cleave_event *event);
void cv_learned_costs_drop(struct cv_learned_costs *known,
                           const struct cleave_event *event);

/* Units of the largest chunk that the worker got or is being sent. A stream gives no more
 * than it has: ordered units that never arrived say nothing. */
double cv_largest_of(const struct cv_worker_observation *seen);

/* Costs of a worker; without measurements, the mean of the others. */
double cv_speed_of(const struct cv_learned_costs *known,
                   const struct cv_worker_observation *seen);
double cv_latency_of(const struct cv_learned_costs *known,
                     const struct cv_worker_observation *seen);
double cv_link_time(const struct cv_worker_observation *seen, double units);
double cv_compute_time(const struct cv_learned_costs *known,
                       const struct cv_worker_observation *seen, double units);

/* After a chunk has been measured: means, and what the port allows. */
void cv_learned_costs_pool(struct cv_learned_costs *known);
/* The worker has joined or rejoined. */
void cv_learned_costs_came(struct cv_learned_costs *known, uint32_t worker);

/* How long a worker is busy, from now; when it would come to the first unit of another
 * chunk. A chunk that is late is thought to take as long again as it is late. */
double cv_rest_of(const struct cv_learned_costs *known,
                  const struct cv_worker_observation *seen, double now_s);

#endif
