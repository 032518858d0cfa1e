/* xmi.h -- multi-installment with latencies, for other policies and for checks.
 * SPDX-License-Identifier: MIT */
#ifndef CV_XMI_H
#define CV_XMI_H
#include <cleave/policy.h>
#include "model/load/plan.h"
#include "model/load/vertex.h"

extern const struct cleave_policy cleave_policy_xmi;

/* The chunk recursion on `workers` equal workers. Chunks are counted from the last one
 * sent: chunk i computes for offset + slope g seconds, g being the time of chunk 0. */
struct cv_recursion {
    uint32_t workers;
    double latency_s;       /* of a message                                       */
    double drift_s;         /* workers * latency - compute latency                */
    double ratio;           /* speed / bandwidth                                  */
    struct cv_affine *time; /* per chunk                                          */
    struct cv_affine *tail; /* per worker: sum of the round before from there on  */
    size_t count;           /* chunks so far                                      */
    uint32_t place;         /* of the next chunk in its round                     */
    struct cv_affine head;  /* sum of this round so far                           */
    struct cv_affine sum;   /* of all so far                                      */
    double min;             /* least g for which no chunk is negative             */
};

/* One more chunk. Window sums are the end of one round plus the beginning of the next,
 * so that nothing is subtracted: chunks may shrink by many orders of magnitude towards
 * the first one sent, and would drown in the rounding errors of a difference. */
static inline void cv_recursion_step(struct cv_recursion *r)
{
    struct cv_affine *time = &r->time[r->count];

    if (r->count < r->workers) {
        time->slope = 1 + r->ratio * r->head.slope;
        time->offset = (double)r->count * r->latency_s + r->ratio * r->head.offset;
    } else {
        time->slope = r->ratio * (r->head.slope + r->tail[r->place].slope);
        time->offset =
            r->drift_s + r->ratio * (r->head.offset + r->tail[r->place].offset);
    }
    if (time->offset + r->min * time->slope < 0)
        r->min = -time->offset / time->slope;
    r->head.slope += time->slope;
    r->head.offset += time->offset;
    r->sum.slope += time->slope;
    r->sum.offset += time->offset;
    r->count++;
    if (++r->place < r->workers)
        return;
    r->tail[r->workers - 1] = *time;
    for (uint32_t i = r->workers - 1; i-- > 0;) {
        time--;
        r->tail[i].slope = r->tail[i + 1].slope + time->slope;
        r->tail[i].offset = r->tail[i + 1].offset + time->offset;
    }
    r->place = 0;
    r->head = (struct cv_affine){ 0, 0 };
}

struct cv_xmi {
    uint32_t workers, rounds;
    bool feasible;       /* no chunk is negative                              */
    double last_s;       /* computing time of the last chunk, latency left out */
    double makespan_s;   /* NAN unless feasible                               */
    struct cv_plan plan; /* workers 0 .. workers - 1                          */
};

/* Exactly n workers and `rounds` rounds; sizes may come out negative. */
enum cleave_status cv_xmi_fixed(const struct cleave_worker *worker, uint32_t n,
                                double load, uint32_t rounds, struct cv_arena *arena,
                                struct cv_xmi *out, struct cleave_error *err);

/* The most workers up to `nworkers` for which no chunk is negative. When there is no
 * such number out->workers is 0, out->feasible false and the plan empty. */
enum cleave_status cv_xmi_plan(const struct cleave_worker *worker, uint32_t nworkers,
                               double load, uint32_t rounds, struct cv_arena *arena,
                               struct cv_xmi *out, struct cleave_error *err);

extern const struct cleave_policy cleave_policy_xmi_k;

struct cv_xmi_k {
    uint32_t workers;
    size_t chunks;
    double makespan_s;
    struct cv_plan plan; /* workers 0 .. workers - 1                           */
};

/* Equal workers; at most max_chunks chunks, at least 1. There always is a plan. */
enum cleave_status cv_xmi_k_plan(const struct cleave_worker *worker, uint32_t nworkers,
                                 double load, size_t max_chunks, struct cv_arena *arena,
                                 struct cv_xmi_k *out, struct cleave_error *err);

extern const struct cleave_policy cleave_policy_mi;

/* All n workers, sizes as if there were no latencies; out->makespan_s is with them. */
enum cleave_status cv_mi_plan(const struct cleave_worker *worker, uint32_t n, double load,
                              uint32_t rounds, struct cv_arena *arena, struct cv_xmi *out,
                              struct cleave_error *err);

#endif
