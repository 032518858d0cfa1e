/* gamma_layers.h -- a ziggurat over the logarithm of a gamma variate.
 * SPDX-License-Identifier: MIT */
#ifndef CV_GAMMA_LAYERS_H
#define CV_GAMMA_LAYERS_H
#include <math.h>
#include "base/gamma_sampler.h"

/* Logarithm of the density of t = log(variate/mean), 0 at its peak t = 0. */
static inline double cv_gamma_log_density(const struct cv_gamma *distribution, double t)
{
    return distribution->shape * (t - expm1(t));
}

/* Fill layer, height and tail_... of a law whose shape is set. */
void cv_gamma_make_layers(struct cv_gamma *distribution);

#endif
