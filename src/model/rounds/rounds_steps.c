/* rounds_steps.c -- the bound for few workers: prices on the port's time, improved by steps.
 * SPDX-License-Identifier: MIT
 *
 * Every price proves a bound, so any way to find good ones will do. Prices begin as straight
 * lines: sends are dear at the beginning, returns at the end, or both at all times. A cell
 * becomes dearer if best responses take more of it than there is, else cheaper (steps along a
 * subgradient of the value), and prices are put in order again. Steps begin on few cells; then
 * each cell is cut in two. docs/theory/rounds.md has figures. */
#include "model/rounds/rounds_internal.h"

#include <math.h>
#include <string.h>

enum { FIRST_CELLS = 20, TURNS = 4, STEPS = 40, PATIENCE = 8 };
enum { LEVELS = 6 };          /* prices tried at first, each half the one before */
enum { ROUGH = 3, SURE = 8 }; /* values to find a root */
/* A cell in the middle is (1 + DENSE) / (1 - DENSE) times as long as at the ends, where chunks
 * are small. */
static const double DENSE = 0.6;
/* Part of the load that the first step is meant to gain, if the value were linear. */
static const double GAIN = 0.1;
static const double LEAST_GAIN = 1e-5; /* part of the load that counts as a gain */
static const double NEAR = 2e-4; /* part of the load that ends the search for a root */
static const double SAFE = 1 - 1e-9; /* allowance for rounding */

struct prices {
    const struct cv_rounds *rounds;
    const struct cv_kinds *kinds;
    struct cv_arena *arena;
    struct cv_price_steps now;
    struct cv_port_use use;
    double *part;        /* edges as parts of the end */
    double *send, *back; /* the best prices so far    */
    double *sum;         /* room to put prices in order */
    uint32_t *count;
};

static bool make_room(struct prices *p, uint32_t cells)
{
    const size_t n = (size_t)cells + 1;

    p->now.cells = cells;
    return cv_price_steps_init(&p->now, cells, p->arena) &&
           cv_port_use_init(&p->use, cells, p->arena) && CV_NEW(p->arena, p->part, n) &&
           CV_NEW(p->arena, p->send, n) && CV_NEW(p->arena, p->back, n) &&
           CV_NEW(p->arena, p->sum, n) && CV_NEW(p->arena, p->count, n);
}

static void set_edges(struct prices *p)
{
    const double turn = 2 * acos(-1);

    for (uint32_t i = 0; i <= p->now.cells; i++) {
        const double at = (double)i / p->now.cells;

        p->part[i] = at - DENSE * sin(turn * at) / turn;
    }
    p->part[p->now.cells] = 1;
}

/* Straight lines from and to this price, or as a price of a full port the same at all times. */
static void set_lines(struct prices *p, double price, bool flat)
{
    for (uint32_t i = 0; i < p->now.cells; i++) {
        const double middle = 0.5 * (p->part[i] + p->part[i + 1]);

        p->now.send[i] = price * (flat ? 1 : 1 - middle);
        p->now.back[i] = price * (flat ? 1 : middle);
    }
}

static double value_at(struct prices *p, double end_s)
{
    for (uint32_t i = 0; i <= p->now.cells; i++)
        p->now.edge[i] = p->part[i] * end_s;
    cv_price_steps_sum(&p->now);
    return cv_rounds_lagrangian(p->rounds, p->kinds, &p->now, &p->use);
}

/* Move *end_s to where the value is 0; the last end that is proved too soon. */
static double find_root(struct prices *p, int values, double *end_s)
{
    const double load = p->rounds->load;
    double low_s = 0, low = -load, high_s = 0, high = 0;

    for (int i = 0; i < values; i++) {
        const double value = value_at(p, *end_s);
        double slope;

        if (value < 0 && *end_s > low_s) {
            low_s = *end_s;
            low = value;
        } else if (value >= 0 && (high_s <= 0 || *end_s < high_s)) {
            high_s = *end_s;
            high = value;
        }
        if (value < 0 && value > -NEAR * load)
            break;
        slope =
            high_s > low_s ? (high - low) / (high_s - low_s) : (load + value) / *end_s;
        if (!(slope > 0)) /* nothing has a price, and no chunk ends so soon */
            break;
        *end_s -= value / slope;
        *end_s *= 1 - 0.5 * NEAR;
        if (*end_s <= low_s)
            break;
    }
    return low_s;
}

/* The nearest prices that rise or, from the last to the first, fall: neighbours in the wrong
 * order get their mean. */
static void put_in_order(struct prices *p, double *price, bool rising)
{
    const uint32_t last = p->now.cells - 1;
    uint32_t groups = 0;

    for (uint32_t i = 0; i <= last; i++) {
        p->sum[groups] = price[rising ? i : last - i];
        p->count[groups++] = 1;
        for (; groups > 1 && p->sum[groups - 2] * p->count[groups - 1] >
                                 p->sum[groups - 1] * p->count[groups - 2];
             groups--) {
            p->sum[groups - 2] += p->sum[groups - 1];
            p->count[groups - 2] += p->count[groups - 1];
        }
    }
    for (uint32_t g = 0, i = 0; g < groups; g++)
        for (uint32_t k = 0; k < p->count[g]; k++, i++)
            price[rising ? i : last - i] = fmax(0, p->sum[g] / p->count[g]);
}

/* The part of cell i that best responses leave free, for sends and for returns: the slope of
 * the value by their prices. The time of a single port is paid once. */
struct slope {
    double send, back;
};

static struct slope slope_of(const struct prices *p, uint32_t i)
{
    const double length_s = p->now.edge[i + 1] - p->now.edge[i];
    const bool single = p->rounds->returns.single,
               sends = p->now.send[i] > p->now.back[i];

    return (struct slope){ (single && !sends ? 0 : 1) - p->use.send_s[i] / length_s,
                           (single && sends ? 0 : 1) - p->use.back_s[i] / length_s };
}

/* One step from the prices of the last value. False: nothing can be gained. */
static bool step(struct prices *p, double gain)
{
    double norm = 0, far;

    for (uint32_t i = 0; i < p->now.cells; i++) {
        const struct slope slope = slope_of(p, i);

        norm += (slope.send * slope.send + slope.back * slope.back) *
                (p->now.edge[i + 1] - p->now.edge[i]);
    }
    far = gain * p->rounds->load / norm;
    if (!isfinite(far))
        return false;
    for (uint32_t i = 0; i < p->now.cells; i++) {
        const struct slope slope = slope_of(p, i);

        p->now.send[i] -= far * slope.send;
        p->now.back[i] -= far * slope.back;
    }
    put_in_order(p, p->now.send, false);
    put_in_order(p, p->now.back, true);
    return true;
}

/* Improve the prices for this end. Steps become shorter when they gain nothing. */
static void improve(struct prices *p, double end_s, double gain)
{
    const size_t size = p->now.cells * sizeof *p->send;
    double best = INFINITY;
    int in_vain = 0;

    for (int i = 0; i < STEPS; i++) {
        const double value = value_at(p, end_s);

        if (value < best - LEAST_GAIN * p->rounds->load) {
            best = value;
            in_vain = 0;
            memcpy(p->send, p->now.send, size);
            memcpy(p->back, p->now.back, size);
        } else if (++in_vain > PATIENCE) {
            in_vain = 0;
            gain /= 2;
            memcpy(p->now.send, p->send, size);
            memcpy(p->now.back, p->back, size);
            (void)value_at(p, end_s);
        }
        if (!step(p, gain))
            break;
    }
    memcpy(p->now.send, p->send, size);
    memcpy(p->now.back, p->back, size);
}

static bool halve_cells(struct prices *p)
{
    const struct prices old = *p;

    if (!make_room(p, 2 * old.now.cells))
        return false;
    for (uint32_t i = 0; i < p->now.cells; i++) {
        p->part[i] =
            i % 2 == 0 ? old.part[i / 2] : 0.5 * (old.part[i / 2] + old.part[i / 2 + 1]);
        p->now.send[i] = old.now.send[i / 2];
        p->now.back[i] = old.now.back[i / 2];
    }
    p->part[p->now.cells] = 1;
    return true;
}

/* Begin with the height of the lines that proves most; the end that it proves. */
static double begin(struct prices *p, double lifespan_s)
{
    double speed = 0, price, best_price = 0, best = lifespan_s > 0 ? INFINITY : 0;
    bool flat = false;

    for (uint32_t i = 0; i < p->rounds->returns.n; i++)
        speed += 1 / p->rounds->returns.trips[i].compute_s;
    for (int i = 0; i < 2 * LEVELS; i++) {
        double end_s = p->rounds->load / speed, value;

        price = ldexp(speed, -(i / 2));
        set_lines(p, price, i % 2 == 1);
        value = lifespan_s > 0 ? value_at(p, lifespan_s) : find_root(p, SURE, &end_s);
        if (lifespan_s > 0 ? value < best : value > best) {
            best = value;
            best_price = price;
            flat = i % 2 == 1;
        }
    }
    set_lines(p, best_price, flat);
    return lifespan_s > 0 ? lifespan_s : best;
}

double cv_rounds_bound_few(const struct cv_rounds *rounds, const struct cv_kinds *kinds,
                           double lifespan_s, struct cv_arena *arena)
{
    struct prices p = { .rounds = rounds, .kinds = kinds, .arena = arena };
    double end_s, gain = GAIN;

    if (!make_room(&p, FIRST_CELLS))
        return -1;
    set_edges(&p);
    end_s = begin(&p, lifespan_s);
    for (int turn = 0; turn < TURNS && end_s > 0; turn++, gain /= 2) {
        improve(&p, end_s, gain);
        if (!halve_cells(&p))
            return -1;
        if (!(lifespan_s > 0))
            (void)find_root(&p, ROUGH, &end_s);
    }
    if (lifespan_s > 0)
        return (rounds->load + value_at(&p, lifespan_s)) / SAFE;
    return end_s > 0 ? SAFE * find_root(&p, SURE, &end_s) : 0;
}
