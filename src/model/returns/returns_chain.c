/* returns_chain.c -- shares along one order. SPDX-License-Identifier: MIT
 *
 * For worker k of the order let s, R, r be its times per unit and a, c, b its fixed times
 * for the send, the computation and the return.
 *
 * FIFO. Subtracting the rows of neighbours leaves
 *
 *     u_k := (R + s) w + c + a of worker k  =  (R + r) w + c + b of worker k-1,
 *
 * so every share follows from u_1, and row 1 says u_1 + sum of (r w + b) = L. Without
 * fixed costs w_k = u_1 F_(k-1) / (R_k + s_k) where F is the product of (R + r)/(R + s).
 *
 * LIFO. The time left for worker k is the computation of worker k-1: its row is
 * (s + R + r) w + a + c + b = R w + c of worker k-1, or L for the first. */
#include "model/returns/returns_internal.h"

#include <math.h>

/* A port may be overfull by this part: rounding. */
static const double port_noise = 1e-12;
/* With fixed costs shares are differences: row 1 must hold to this part. */
static const double row_noise = 1e-11;
/* Products above this are scaled down to avoid overflow. */
static const double large = 1e120;

bool cv_orders_chain(const uint32_t *send, const uint32_t *back, uint32_t n,
                     enum cv_chain *out)
{
    bool fifo = true, lifo = true;

    for (uint32_t k = 0; k < n; k++) {
        fifo = fifo && back[k] == send[k];
        lifo = lifo && back[k] == send[n - 1 - k];
    }
    *out = fifo ? CV_CHAIN_FIFO : CV_CHAIN_LIFO;
    return fifo || lifo;
}

static double sum_of(const double *shares, uint32_t n)
{
    double sum = 0;

    for (uint32_t k = 0; k < n; k++)
        sum += shares[k];
    return sum;
}

/* All terms are positive, so every share is accurate. */
static void fifo_linear(const struct cv_trip *trips, const uint32_t *order, uint32_t n,
                        double lifespan_s, double *shares)
{
    double u = 1, first_u = 1, returns = 0;
    uint32_t first = 0; /* shares before this one are zero */

    for (uint32_t k = 0; k < n; k++) {
        const struct cv_trip *t = &trips[order[k]];

        shares[k] = u / (t->compute_s + t->send_s);
        returns += t->back_s * shares[k];
        u = (t->compute_s + t->back_s) * shares[k];
        if (!(u > large) && !(returns > large))
            continue;
        for (uint32_t j = first; j <= k; j++) {
            shares[j] /= large;
            first += shares[j] == 0 && j == first;
        }
        first_u /= large;
        returns /= large;
        u /= large;
    }
    for (uint32_t k = 0; k < n; k++)
        shares[k] *= lifespan_s / (first_u + returns);
}

void cv_fifo_step(struct cv_fifo_walk *walk, const struct cv_trip *t)
{
    const double unit_s = t->compute_s + t->send_s, port_s = t->send_s + t->back_s;
    const double slope = walk->slope / unit_s;
    const double offset = (walk->offset - t->compute_fixed_s - t->send_fixed_s) / unit_s;

    walk->work_slope += slope;
    walk->work_offset += offset;
    walk->back_slope += t->back_s * slope;
    walk->back_offset += t->back_s * offset + t->back_fixed_s;
    walk->port_slope += port_s * slope;
    walk->port_offset += port_s * offset + t->send_fixed_s + t->back_fixed_s;
    walk->least_u = fmax(walk->least_u, -offset / slope);
    walk->slope = (t->compute_s + t->back_s) * slope;
    walk->offset =
        (t->compute_s + t->back_s) * offset + t->compute_fixed_s + t->back_fixed_s;
}

static struct cv_fifo_walk fifo_sums(const struct cv_trip *trips, const uint32_t *order,
                                     uint32_t n)
{
    struct cv_fifo_walk walk = { .slope = 1 };

    for (uint32_t k = 0; k < n; k++)
        cv_fifo_step(&walk, &trips[order[k]]);
    return walk;
}

static void fifo_from(const struct cv_trip *trips, const uint32_t *order, uint32_t n,
                      double u, double *shares)
{
    for (uint32_t k = 0; k < n; k++) {
        const struct cv_trip *t = &trips[order[k]];

        shares[k] =
            (u - t->compute_fixed_s - t->send_fixed_s) / (t->compute_s + t->send_s);
        u = (t->compute_s + t->back_s) * shares[k] + t->compute_fixed_s + t->back_fixed_s;
    }
}

static void lifo_tight(const struct cv_trip *trips, const uint32_t *order, uint32_t n,
                       double lifespan_s, double *shares)
{
    double left = lifespan_s;

    for (uint32_t k = 0; k < n; k++) {
        const struct cv_trip *t = &trips[order[k]];

        shares[k] = (left - cv_trip_once_s(t)) / cv_trip_unit_s(t);
        left = t->compute_s * shares[k] + t->compute_fixed_s;
    }
}

static bool has_fixed(const struct cv_trip *trips, const uint32_t *order, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (cv_trip_once_s(&trips[order[k]]) > 0)
            return true;
    return false;
}

double cv_chain_tight(const struct cv_returns *returns, enum cv_chain kind,
                      const uint32_t *order, uint32_t n, double lifespan_s,
                      double *shares)
{
    const struct cv_trip *trips = returns->trips;

    if (kind == CV_CHAIN_LIFO) {
        lifo_tight(trips, order, n, lifespan_s, shares);
    } else if (!has_fixed(trips, order, n)) {
        fifo_linear(trips, order, n, lifespan_s, shares);
    } else {
        const struct cv_fifo_walk sums = fifo_sums(trips, order, n);

        fifo_from(trips, order, n,
                  (lifespan_s - sums.back_offset) / (1 + sums.back_slope), shares);
    }
    return sum_of(shares, n);
}

static double messages_s(const struct cv_trip *trips, const uint32_t *order, uint32_t n,
                         const double *shares)
{
    double sum = 0;

    for (uint32_t k = 0; k < n; k++) {
        const struct cv_trip *t = &trips[order[k]];

        sum += (t->send_s + t->back_s) * shares[k] + t->send_fixed_s + t->back_fixed_s;
    }
    return sum;
}

/* Row 1 and the port row, in u_1 and the share x of the last worker:
 *
 *     u_1 (1 + returns.slope) + returns.offset + r x + b = L
 *     u_1 messages.slope + messages.offset + (s + r) x + a + b = L
 *
 * with sums over the others. The row of the last worker then has room: while the other
 * rows are tight it grows with x, as does the port. */
static bool fill_port(const struct cv_trip *trips, const uint32_t *order, uint32_t n,
                      double lifespan_s, double *shares)
{
    const struct cv_fifo_walk sums = fifo_sums(trips, order, n - 1);
    const struct cv_trip *t = &trips[order[n - 1]];
    const double load = sums.port_slope / (1 + sums.back_slope);
    const double free_s = lifespan_s - sums.back_offset - t->back_fixed_s;
    const double room_s =
        lifespan_s - sums.port_offset - t->send_fixed_s - t->back_fixed_s - load * free_s;
    const double x = room_s / (t->send_s + t->back_s * (1 - load));

    if (n == 1 || !(x > 0) || !isfinite(x))
        return false;
    fifo_from(trips, order, n - 1, (free_s - t->back_s * x) / (1 + sums.back_slope),
              shares);
    shares[n - 1] = x;
    return true;
}

static bool row_holds(const struct cv_trip *trips, const uint32_t *order, uint32_t n,
                      double lifespan_s, const double *shares)
{
    double sum = 0;

    for (uint32_t k = 0; k < n; k++) {
        const struct cv_trip *t = &trips[order[k]];

        sum += t->back_s * shares[k] + t->back_fixed_s;
        if (k == 0)
            sum += (t->send_s + t->compute_s) * shares[k] + t->send_fixed_s +
                   t->compute_fixed_s;
    }
    return n == 0 || fabs(sum - lifespan_s) <= row_noise * lifespan_s;
}

double cv_chain_fill(const struct cv_returns *returns, enum cv_chain kind,
                     const uint32_t *order, uint32_t n, double lifespan_s, double *shares)
{
    double work = cv_chain_tight(returns, kind, order, n, lifespan_s, shares);

    /* LIFO always fits: the last row holds all messages. */
    if (returns->single && kind == CV_CHAIN_FIFO && n > 1 &&
        !(messages_s(returns->trips, order, n, shares) <=
          lifespan_s * (1 + port_noise))) {
        if (!fill_port(returns->trips, order, n, lifespan_s, shares))
            return -1;
        work = sum_of(shares, n);
    }
    for (uint32_t k = 0; k < n; k++)
        if (!(shares[k] > 0) || !isfinite(shares[k]))
            return -1;
    if (kind == CV_CHAIN_FIFO && !row_holds(returns->trips, order, n, lifespan_s, shares))
        return -1;
    return work;
}

/* With v_k = F_(k-1) / (R_k + s_k), work per second of lifespan is sum v / (1 + sum r v).
 * It is at least `rate` iff sum (1 - rate r) v >= rate, and that sum is built up from the
 * end: with V the sum over the later ones, worker k makes it
 *
 *     (1 - rate r)/(R + s) + V (R + r)/(R + s),
 *
 * which is monotone in V, so taking worker k whenever that is more is best. */
double cv_chain_value(const struct cv_returns *returns, const uint32_t *order, uint32_t n,
                      double rate, bool *keep)
{
    double value = 0;

    for (uint32_t k = n; k-- > 0;) {
        const struct cv_trip *t = &returns->trips[order[k]];
        const double gain = 1 - rate * t->back_s, loss = value * (t->send_s - t->back_s);
        const bool worth = gain >= loss;

        if (worth)
            value += (gain - loss) / (t->compute_s + t->send_s);
        keep[k] = worth;
    }
    return value;
}

double cv_chain_rate(const struct cv_returns *returns, const uint32_t *order, uint32_t n,
                     const bool *keep)
{
    double u = 1, first_u = 1, work = 0, back = 0;

    for (uint32_t k = 0; k < n; k++) {
        const struct cv_trip *t = &returns->trips[order[k]];
        const double share = u / (t->compute_s + t->send_s);

        if (!keep[k])
            continue;
        work += share;
        back += t->back_s * share;
        u = (t->compute_s + t->back_s) * share;
        if (u > large || back > large) {
            work /= large;
            back /= large;
            first_u /= large;
            u /= large;
        }
    }
    return work / (first_u + back);
}

/* The best rate equals its value: raise it to the rate of its best set until that is
 * no more. */
static void choose_fifo(const struct cv_returns *returns, const uint32_t *order,
                        uint32_t n, bool *keep)
{
    double rate = 0;

    for (;;) {
        double reached;

        cv_chain_value(returns, order, n, rate, keep);
        reached = cv_chain_rate(returns, order, n, keep);
        if (!(reached > rate * (1 + 1e-15)))
            return;
        rate = reached;
    }
}

/* As cv_chain_value with 1/(s + R + r) for the worker and R/(s + R + r) for the later
 * ones. No rate is needed: returns cost the later workers only. */
static void choose_lifo(const struct cv_returns *returns, const uint32_t *order,
                        uint32_t n, bool *keep)
{
    double value = 0;

    for (uint32_t k = n; k-- > 0;) {
        const struct cv_trip *t = &returns->trips[order[k]];
        const double loss = value * (t->send_s + t->back_s);

        keep[k] = 1 >= loss;
        if (keep[k])
            value += (1 - loss) / cv_trip_unit_s(t);
    }
}

uint32_t cv_chain_prune(const struct cv_returns *returns, enum cv_chain kind,
                        uint32_t *order, uint32_t n, bool *keep)
{
    uint32_t kept = 0;

    if (kind == CV_CHAIN_FIFO)
        choose_fifo(returns, order, n, keep);
    else
        choose_lifo(returns, order, n, keep);
    for (uint32_t k = 0; k < n; k++)
        if (keep[k])
            order[kept++] = order[k];
    return kept;
}
