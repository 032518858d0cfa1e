/* xmi.h -- multi-installment with latencies, for other policies and for checks.
 * SPDX-License-Identifier: MIT */
#ifndef CV_XMI_H
#define CV_XMI_H
#include <cleave/policy.h>
#include "model/load/plan.h"

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

/* Room for `chunks` chunks on up to `workers` workers; false when memory is short. */
bool cv_recursion_init(struct cv_recursion *recursion, struct cv_arena *arena,
                       size_t chunks, uint32_t workers);
/* Begin again with n workers like `worker`. */
void cv_recursion_start(struct cv_recursion *recursion,
                        const struct cleave_worker *worker, uint32_t n);

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

/* Whether chunks computing for total_s in all can be cut as the recursion says so far
 * with none negative. Once false, it is false for every longer series. */
bool cv_recursion_feasible(const struct cv_recursion *recursion, double total_s);

/* It may be, but the digits that cancel do not say: see wide_recursion.h. */
bool cv_recursion_doubtful(const struct cv_recursion *recursion, double total_s);

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

#endif
