/* rounds_full.c -- workers as fast as a full duplex port lets them be.
 * SPDX-License-Identifier: MIT
 *
 * The closed form lets every worker compute without a pause, so where the port cannot keep all
 * of them busy its sizes are those of another problem. If workers are taken to be as slow as the
 * port's time allows, they are right again, and a schedule for slower workers holds for
 * faster ones. The speeds are those of the most units in a second: for prices of the time of sends
 * and of returns, workers whose units cost least come first, as fast as they are, as long as there is time
 * both ways; the best of a few prices counts. */
#include "model/rounds/rounds_full.h"

#include <math.h>

#include "model/returns/returns_internal.h"

enum { PRICES = 4 };
/* Less than this is lost: the port is not full. Who is kept busy for less is left out. */
static const double LOST = 1e-3, LEAST = 0.05;

/* Units per second of each worker for one ratio of prices, and their sum; negative when memory is
 * short. */
static double speeds_for(const struct cv_returns *returns, double send_price,
                         double *speed, struct cv_arena *arena)
{
    const uint32_t n = returns->n;
    uint32_t *order = cv_array(arena, n, sizeof *order);
    double *cost = cv_array(arena, n, sizeof *cost);
    double send_left = 1, back_left = 1, sum = 0;

    for (uint32_t i = 0; cost != NULL && i < n; i++)
        cost[i] = send_price * returns->trips[i].send_s +
                  (1 - send_price) * returns->trips[i].back_s;
    if (order == NULL || cost == NULL || !cv_returns_sort(cost, n, arena, order))
        return -1;
    for (uint32_t k = 0; k < n; k++) {
        const struct cv_trip *t = &returns->trips[order[k]];
        double max = fmin(1 / t->compute_s, send_left / t->send_s);

        if (t->back_s > 0)
            max = fmin(max, back_left / t->back_s);
        speed[order[k]] = max = fmax(0, max);
        send_left -= max * t->send_s;
        back_left -= max * t->back_s;
        sum += max;
    }
    return sum;
}

static bool take_workers(const struct cv_returns *returns, const double *speed,
                         struct cv_arena *arena, struct cv_full_port *out)
{
    out->trips = cv_array(arena, returns->n, sizeof *out->trips);
    out->worker = cv_array(arena, returns->n, sizeof *out->worker);
    if (out->trips == NULL || out->worker == NULL)
        return false;
    for (uint32_t i = 0; i < returns->n; i++) {
        if (!(speed[i] * returns->trips[i].compute_s > LEAST))
            continue;
        out->trips[out->n] = returns->trips[i];
        out->trips[out->n].compute_s = fmax(1 / speed[i], returns->trips[i].compute_s);
        out->worker[out->n++] = i;
    }
    return true;
}

bool cv_full_port(const struct cv_returns *returns, struct cv_arena *arena,
                  struct cv_full_port *out)
{
    double *speed[2] = { cv_array(arena, returns->n, sizeof(double)),
                         cv_array(arena, returns->n, sizeof(double)) };
    double all = 0, best = 0;
    unsigned kept = 0;

    *out = (struct cv_full_port){ .n = 0 };
    if (speed[0] == NULL || speed[1] == NULL)
        return false;
    for (uint32_t i = 0; i < returns->n; i++)
        all += 1 / returns->trips[i].compute_s;
    for (unsigned i = 0; i <= PRICES; i++) {
        const double sum =
            speeds_for(returns, (double)i / PRICES, speed[1 - kept], arena);

        if (sum < 0)
            return false;
        if (sum > best) {
            best = sum;
            kept = 1 - kept;
        }
    }
    if (returns->single || !(best < (1 - LOST) * all))
        return true;
    return take_workers(returns, speed[kept], arena, out);
}
