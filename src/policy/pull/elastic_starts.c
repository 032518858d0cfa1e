/* elastic_starts.c -- do those that are slow take longer to start? SPDX-License-Identifier: MIT
 *
 * A machine that is slow is so when a command starts, too. Then starts differ from worker to worker, and
 * that of one worker does not vary: what its last one took is what its next one takes. */
#include <math.h>

#include "policy/pull/elastic_costs.h"

/* Starts that vary by such a part differ much; such a part of that is far less. */
static const double MUCH = 0.2, FAR_LESS = 0.25;

void cv_elastic_pool_slow_starts(struct cv_elastic *elastic)
{
    const double vary = elastic->usual_start_s - elastic->mean_start_s;
    double sum = 0, apart = 0;
    uint32_t count = 0;

    elastic->start_varies = -1;
    if (!elastic->apart || !(vary > MUCH * elastic->mean_start_s))
        return;
    for (uint32_t w = 0; w < elastic->n; w++)
        if (elastic->hands[w].start_s >= 0 && cv_elastic_own_speed(elastic, w) > 0) {
            sum += elastic->hands[w].start_s * cv_elastic_own_speed(elastic, w);
            count++;
        }
    for (uint32_t w = 0; count > 2 && w < elastic->n; w++)
        if (elastic->hands[w].start_s >= 0 && cv_elastic_own_speed(elastic, w) > 0)
            apart += fabs(elastic->hands[w].start_s * cv_elastic_own_speed(elastic, w) -
                          sum / count);
    if (count > 2 && apart / sum < FAR_LESS * vary / elastic->mean_start_s)
        elastic->start_varies = apart / sum;
}

double cv_elastic_usual_start(const struct cv_elastic *elastic, uint32_t worker)
{
    const double own_s = elastic->hands[worker].start_s;

    return own_s >= 0 && elastic->start_varies >= 0 ? own_s * (1 + elastic->start_varies)
                                                    : elastic->usual_start_s;
}
