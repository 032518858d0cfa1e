/* gamma_layers.c -- a ziggurat over the logarithm of a gamma variate.
 * SPDX-License-Identifier: MIT
 *
 * If X is gamma of shape k and mean 1, then t = log X has the density
 *     f(t) = exp(k (1 + t - e^t)),
 * up to a factor, with f(0) = 1 its peak; log f is concave. For k < 1 it is the better
 * variable, as the density of X itself is unbounded at 0. Horizontal layers of one area
 * cover f: all but the first are rectangles whose upper corners the next one's width
 * determines, the first is a rectangle and two exponentials above the tails. Whatever the
 * edges, the sampler follows f exactly as long as the areas are equal, so the last layer
 * may well reach above the peak and the area need not be found to the last bit. */
#include "base/gamma_layers.h"

#include <assert.h>

/* The t on the side of `t` from 0 at which e^t - t - 1 = drop. By Newton: the function is
 * convex, so that all steps but the first lead towards 0 and none leads across. */
static double edge_from(double t, double drop)
{
    for (int turn = 0; turn < 60; turn++) {
        double slope = expm1(t), step = (slope - t - drop) / slope;

        t -= step;
        if (fabs(step) < 1e-7 * fabs(t)) /* the next would be the square of this */
            break;
    }
    return t;
}

/* Stack the layers on a first one of the given height. How many it takes to reach the
 * peak, a broken number; if that is more than there are, by continuing the last. */
static double stack(struct cv_gamma *distribution, double lowest)
{
    double drop = -log(lowest) / distribution->shape, wide = sqrt(2 * drop), area, above,
           last = 1;
    double low = edge_from(-(drop + wide), drop),
           high = edge_from(log1p(drop + wide), drop);
    unsigned i;

    distribution->tail_low = -1 / (distribution->shape * expm1(low));
    distribution->tail_high = 1 / (distribution->shape * expm1(high));
    distribution->layer[0] = (struct cv_gamma_layer){
        low - distribution->tail_low,
        high - low + distribution->tail_low + distribution->tail_high, low, high
    };
    area = lowest * distribution->layer[0].width;
    distribution->height[1] = above = lowest;
    for (i = 1; i < CV_LAYERS && above < 1; i++) {
        struct cv_gamma_layer *layer = &distribution->layer[i];

        /* The last layer has nothing above it that would make a point sure. */
        *layer = (struct cv_gamma_layer){ low, high - low, INFINITY, -INFINITY };
        last = area / layer->width;
        distribution->height[i + 1] = above += last;
        if (i == CV_LAYERS - 1 || above >= 1)
            continue;
        drop = -log(above) / distribution->shape;
        layer->sure_low = low = edge_from(low, drop);
        layer->sure_high = high = edge_from(high, drop);
    }
    return i + (1 - above) / last;
}

void cv_gamma_make_layers(struct cv_gamma *distribution)
{
    /* The height of the first layer rises from 4.5e-4 for shape 0 to 9.4e-4 for shape 1;
     * this is within 3% of it. */
    const double k = distribution->shape, guess = 4.54e-4 + 7.54e-4 * k / (k + 0.5615);
    /* A little of the last layer is to be above the peak. */
    const double aim = CV_LAYERS - 0.06;
    double low = log(0.96 * guess), high = log(1.04 * guess), middle, excess;
    double too_many = stack(distribution, exp(low)) - aim,
           too_few = stack(distribution, exp(high)) - aim;
    int side = 0;

    assert(too_many > 0 && too_few < 0);
    /* False position; an end that stays twice counts half (the Illinois rule). */
    do {
        middle = low + (high - low) * too_many / (too_many - too_few);
        excess = stack(distribution, exp(middle)) - aim;
        if (excess > 0) {
            too_few /= side > 0 ? 2 : 1;
            too_many = excess;
            low = middle;
            side = 1;
        } else {
            too_many /= side < 0 ? 2 : 1;
            too_few = excess;
            high = middle;
            side = -1;
        }
    } while (fabs(excess) > 0.05);
}
