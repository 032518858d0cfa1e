/* stream_recurrence.h -- how the load of a worker follows measured rounds.
 * SPDX-License-Identifier: MIT
 *
 * After each round the load becomes load tau / sigma, where sigma is what the round took
 * as seen from its first part, of theta times the load, which was computed in C seconds:
 *
 *     sigma = (C - g) / theta + 2 g          g: the compute latency as it is declared
 *
 * With S the speed and f the true latency this is load' = load tau S / (load + c S), with
 * c = 2 g + (f - g) / theta. In 1 / load it is linear: it converges from any load to
 * S (tau - c), with the factor c / tau per round, if c < tau; else the load goes to 0. */
#ifndef STREAM_RECURRENCE_H
#define STREAM_RECURRENCE_H
#include <stdint.h>

struct recurrence {
    double speed_ups, latency_s;
    double declared_latency_s; /* g; no matter which for theta = 1/2      */
    double tau_s, theta;
};

/* Measured value for a round with this load. Not positive for small loads when theta <
 * 1/2 and the declared latency is above f / (1 - 2 theta). */
double recurrence_sigma(const struct recurrence *recurrence, double load);
/* Loads and measures of `rounds` rounds, starting with a first load. */
void recurrence_run(const struct recurrence *recurrence, double first_load,
                    uint32_t rounds, double *loads, double *sigmas);

/* Where the load goes; negative: to 0. */
double recurrence_fixed_point(const struct recurrence *recurrence);
/* By which the distance of 1 / load to its limit shrinks per round. */
double recurrence_factor(const struct recurrence *recurrence);
/* The final length of a round: tau when the declared latency is right. */
double recurrence_round(const struct recurrence *recurrence);

#endif
