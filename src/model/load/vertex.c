/* vertex.c -- sizes for a given send order that leave no gap and end all together.
 * SPDX-License-Identifier: MIT
 *
 * Let D_k be the time from the arrival of chunk k to the end. With no gap anywhere chunk
 * k computes from its arrival to that of the worker's next chunk k', or to the end:
 *
 *     alpha + units_k / S = D_k - D_k'        (D_k' = 0 for the last chunk of a worker)
 *     D_(k-1)             = D_k + beta + units_k / B
 *
 * and D of the last chunk is the unknown x. All slopes are positive, by induction.
 *
 * The linear program of an order is: least T with arrival_k + (computing of chunk k and
 * all later chunks of its worker) <= T for every k. Its dual asks for y >= 0, sum y = 1,
 * and Y_l / B + Z_l / S = z for every chunk l, where Y_l sums y from l on and Z_l sums y
 * over the worker's chunks up to l. Subtracting that equation for two successive chunks
 * of a worker gives y_l = (S / B) (sum of y from the one before up to l); a first chunk
 * has y_l = S (z - Y_l / B). So y is affine in z, and sum y = 1 fixes z. */
#include "model/load/vertex.h"

#include <math.h>

/* Sizes this small against the load are rounding errors of a zero. */
static const double size_noise = 1e-13;
/* Sizes that miss the load by more than this part of it are what cancellation left. */
static const double sum_noise = 1e-9;

bool cv_vertex_room_init(struct cv_vertex_workspace *room, struct cv_arena *arena,
                         size_t chunks, uint32_t nworkers)
{
    room->size = cv_array(arena, chunks, sizeof *room->size);
    room->lead = cv_array(arena, nworkers, sizeof *room->lead);
    return room->size != NULL && room->lead != NULL;
}

static double give_up(size_t n, double *units, bool *out_feasible)
{
    for (size_t k = 0; k < n; k++)
        units[k] = 0;
    *out_feasible = false;
    return INFINITY;
}

double cv_vertex_solve(const struct cleave_worker *workers, double load,
                       const uint32_t *seq, size_t n, struct cv_vertex_workspace *room,
                       double *units, bool *out_feasible)
{
    struct cv_affine ahead = { 0, 1 }, sum = { 0, 0 };
    double x, makespan, total;

    for (size_t k = 0; k < n; k++)
        room->lead[seq[k]] = (struct cv_affine){ 0, 0 };
    for (size_t k = n; k-- > 0;) {
        const struct cleave_worker *worker = &workers[seq[k]];
        struct cv_affine *lead = &room->lead[seq[k]], *size = &room->size[k];

        size->offset =
            worker->speed_ups * (ahead.offset - lead->offset - worker->compute_latency_s);
        size->slope = worker->speed_ups * (ahead.slope - lead->slope);
        *lead = ahead;
        ahead.offset += worker->latency_s + size->offset / worker->bandwidth_ups;
        ahead.slope += size->slope / worker->bandwidth_ups;
        sum.offset += size->offset;
        sum.slope += size->slope;
    }
    x = (load - sum.offset) / sum.slope;
    makespan = ahead.offset + ahead.slope * x;
    if (n == 0 || !isfinite(x) || !isfinite(makespan))
        return give_up(n, units, out_feasible);
    *out_feasible = true;
    total = 0;
    for (size_t k = 0; k < n; k++) {
        units[k] = room->size[k].offset + room->size[k].slope * x;
        if (units[k] < 0 && units[k] >= -size_noise * load)
            units[k] = 0;
        if (units[k] < 0)
            *out_feasible = false;
        total += units[k];
    }
    if (fabs(total - load) > sum_noise * load)
        return give_up(n, units, out_feasible);
    return makespan;
}

bool cv_vertex_multipliers(const struct cleave_worker *workers, const uint32_t *seq,
                           size_t n, struct cv_vertex_workspace *room, double *multiplier)
{
    struct cv_affine before = { 0, 0 }; /* sum of y up to here, in z */
    bool nonnegative = true;
    double z;

    /* lead: the sum up to, without, the worker's chunk before; NaN when there is none. */
    for (size_t k = 0; k < n; k++)
        room->lead[seq[k]] = (struct cv_affine){ NAN, NAN };
    for (size_t k = 0; k < n; k++) {
        const struct cleave_worker *worker = &workers[seq[k]];
        const double ratio = worker->speed_ups / worker->bandwidth_ups;
        struct cv_affine *lead = &room->lead[seq[k]], *y = &room->size[k];

        if (isnan(lead->offset)) {
            y->offset = ratio * (before.offset - 1);
            y->slope = worker->speed_ups + ratio * before.slope;
        } else {
            y->offset = ratio * (before.offset - lead->offset);
            y->slope = ratio * (before.slope - lead->slope);
        }
        *lead = before;
        before.offset += y->offset;
        before.slope += y->slope;
    }
    z = (1 - before.offset) / before.slope;
    for (size_t k = 0; k < n; k++) {
        multiplier[k] = room->size[k].offset + room->size[k].slope * z;
        if (!(multiplier[k] >= 0))
            nonnegative = false;
    }
    return nonnegative;
}
