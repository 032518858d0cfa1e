/* fit.h -- latency and rate, fitted to measured times. SPDX-License-Identifier: MIT
 *
 * A chunk of u units takes about latency + u / rate. The fit minimises relative errors,
 * since a chunk that takes ten times as long is off by ten times as much; weights of old
 * chunks decay. Chunks of one size cannot separate latency and rate: then a latency known
 * from other workers decides. */
#ifndef CV_FIT_H
#define CV_FIT_H
#include <stdbool.h>

struct cv_fit {
    double weight, units, time, units2, cross; /* faded sums, relative to the time */
    double latency_s, rate_ups;                /* rate 0: unknown */
    double recent_s;                           /* time of the newest chunk          */
    bool sure; /* sizes differed enough to separate both */
};

/* A chunk of `units` took `time_s`; chunks without either are ignored. `elsewhere_s`: a
 * latency known from other workers, below 0: none. */
void cv_fit_add(struct cv_fit *fit, double units, double time_s, double elsewhere_s);
/* cv_fit_add with `kept` as the weight that older chunks keep: near 1 for many small ones
 * with independent noise. */
void cv_fit_add_kept(struct cv_fit *fit, double units, double time_s, double elsewhere_s,
                     double kept);

#endif
