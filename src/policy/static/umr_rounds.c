/* umr_rounds.c -- uniform rounds: sizes, expected time, how many are best.
 * SPDX-License-Identifier: MIT
 *
 * The formulas are at the head of umr.c. */
#include "policy/static/umr_rounds.h"

#include <math.h>
#include <stdbool.h>

/* So near to rho = 1 the formula for rho = 1 has more digits than the general one. */
static const double near_one = 1e-8;

struct cv_umr_sums cv_umr_add(const struct cv_umr_sums *before,
                              const struct cleave_worker *worker,
                              struct cv_umr_line *line)
{
    const double use = worker->speed_ups / worker->bandwidth_ups;
    const double rate = worker->speed_ups / (1 + use),
                 link = rate / worker->bandwidth_ups;
    const double start_s = worker->latency_s + worker->compute_latency_s;
    const double least_s = (line->offset + start_s) / line->slope;
    struct cv_umr_sums p = *before;

    p.sigma += worker->speed_ups;
    p.a += worker->speed_ups * worker->compute_latency_s;
    p.rho += use;
    p.kappa += worker->latency_s - use * worker->compute_latency_s;
    p.wait_offset += worker->speed_ups * p.kappa;
    p.wait_slope += worker->speed_ups * p.rho;
    p.latency_s = fmax(p.latency_s, worker->compute_latency_s);
    p.level_rate += rate * line->slope;
    p.level_lost += rate * (line->offset + start_s);
    p.level_least_s = fmax(p.level_least_s, least_s);
    line->offset += worker->latency_s - link * (line->offset + start_s);
    line->slope -= link * line->slope;
    return p;
}

double cv_umr_theta(const struct cv_umr_sums *p)
{
    return fabs(p->rho - 1) < near_one ? 1 : 1 / p->rho;
}

double cv_umr_eta(const struct cv_umr_sums *p)
{
    return cv_umr_theta(p) == 1 ? INFINITY : p->sigma * p->kappa / (1 - p->rho) - p->a;
}

/* F above: positive while one more round is worth it. theta is not 1. */
static double worth(const struct cv_umr_sums *p, double load, double rounds)
{
    const double theta = cv_umr_theta(p), eta = cv_umr_eta(p), log_theta = log(theta);
    const double power = rounds * log_theta;
    double value = eta - (load - rounds * eta) * log_theta / expm1(-power);

    if (p->a > 0)
        value -= 2 * p->a / p->rho * expm1(power) / (theta - 1);
    return value;
}

double cv_umr_real_rounds(const struct cv_umr_sums *p, double load)
{
    double low = 0, high = 1;

    if (cv_umr_theta(p) == 1) {
        const double cost = p->a / p->sigma + p->kappa / 4;

        return cost > 0 ? sqrt(load / (2 * p->sigma) / cost) : INFINITY;
    }
    while (worth(p, load, high) > 0) {
        low = high;
        high *= 2;
        if (high > 1e12)
            return INFINITY;
    }
    for (int i = 0; i < 200; i++) {
        const double middle = low + (high - low) / 2;

        if (middle <= low || middle >= high)
            break;
        if (worth(p, load, middle) > 0)
            low = middle;
        else
            high = middle;
    }
    return low + (high - low) / 2;
}

uint32_t cv_umr_whole_rounds(const struct cv_umr_sums *p, double load, uint32_t max)
{
    uint32_t low = 0, high = 1; /* low: worth it or 0; high: not */

    if (cv_umr_theta(p) == 1) {
        const double root = cv_umr_real_rounds(p, load);

        return root >= max ? max : (uint32_t)root;
    }
    while (high <= max && worth(p, load, high) > 0) {
        low = high;
        high = high > max / 2 ? max + 1 : 2 * high;
    }
    if (low == max)
        return max;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;

        if (worth(p, load, middle) > 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Summing from the largest round, so that nothing cancels, whatever rho is. With y the
 * time of the largest round and r <= 1 the others are r^j y + kappa (1 + r + .. ). */
struct cv_umr_shape cv_umr_shape_of(const struct cv_umr_sums *p, double load,
                                    uint32_t rounds)
{
    const bool grow = p->rho <= 1;
    const double r = grow ? p->rho : 1 / p->rho;
    double power = 1, sum = 0, powers = 0, sums = 0;
    double total, largest, smallest;
    struct cv_umr_shape shape;

    /* For rho > 1 the largest is the first, and t_j = r^j t_0 - kappa (r + .. + r^j). */
    for (uint32_t j = 0; j < rounds; j++) {
        powers += power;
        sums += grow ? sum : -r * sum;
        if (j + 1 == rounds)
            break;
        sum = 1 + r * sum;
        power *= r;
    }
    total = (load + rounds * p->a) / p->sigma;
    largest = (total - sums * p->kappa) / powers;
    smallest = power * largest + (grow ? sum : -r * sum) * p->kappa;
    shape.first_s = grow ? smallest : largest;
    shape.last_s = grow ? largest : smallest;
    shape.second_last_s = p->rho * shape.last_s + p->kappa;
    shape.expected_s = total + (p->rho * shape.first_s + p->kappa) / 2;
    return shape;
}

double cv_umr_end(const struct cv_umr_sums *p, double load, uint32_t rounds,
                  const struct cv_umr_shape *shape, double *out_last_s)
{
    const double wait = p->wait_offset + p->wait_slope * shape->first_s;
    const double base = (load + rounds * p->a) / p->sigma;

    *out_last_s = wait / p->sigma + shape->last_s;
    return base + wait / p->sigma;
}
