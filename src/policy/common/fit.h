/* fit.h -- what chunks cost, from those seen so far. SPDX-License-Identifier: MIT
 *
 * A chunk of u units takes latency + u / rate, more or less. The fit minimises relative
 * errors, since a chunk that takes ten times as long is off by ten times as much; old
 * chunks fade. Chunks of one size cannot tell the latency from the rate: then the latency
 * of others, if there is any, decides. */
#ifndef CV_FIT_H
#define CV_FIT_H
#include <stdbool.h>

struct cv_fit {
    double weight, units, time, units2, cross; /* faded sums, relative to the time */
    double latency_s, rate_ups;                /* rate 0: nothing is known          */
    double recent_s;                           /* time of the newest chunk          */
    bool sure;                                 /* sizes differed enough to tell     */
};

/* A chunk of `units` took `time_s`; nothing is learnt from chunks without either.
 * `elsewhere_s` is a latency known from others, below 0: none. */
void cv_fit_add(struct cv_fit *fit, double units, double time_s, double elsewhere_s);
/* The same where so much is kept of the weight of those before: near 1 where many small things
 * are seen that vary by themselves. */
void cv_fit_add_kept(struct cv_fit *fit, double units, double time_s, double elsewhere_s,
                     double kept);

#endif
