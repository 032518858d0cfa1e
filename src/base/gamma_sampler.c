/* gamma_sampler.c -- gamma variates as a function of (seed, run, i, j).
 * SPDX-License-Identifier: MIT
 *
 * The methods in full; the header says which and why. Marsaglia and Tsang, A simple
 * method for generating gamma variables, ACM TOMS 26(3), 2000: with x normal and
 * v = (1 + c x)^3, d v has the gamma density of shape d + 1/3 if x is accepted with
 * probability exp(h),
 *     h = x^2/2 + d - d v + d log v = -3/4 d y^4 (1 - 4/5 y + ...),   y = c x,
 * so that for d not small nearly all x are accepted. */
#include "base/gamma_sampler.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* --- a ziggurat over the logarithm of a gamma variate ------------------------------ */

/* If X is gamma of shape k and mean 1, then t = log X has the density
 *     f(t) = exp(k (1 + t - e^t)),
 * up to a factor, with f(0) = 1 its peak; log f is concave. For k < 1 it is the better
 * variable, as the density of X itself is unbounded at 0. Horizontal layers of one area
 * cover f: all but the first are rectangles whose upper corners the next one's width
 * determines, the first is a rectangle and two exponentials above the tails. Whatever the
 * edges, the sampler follows f exactly as long as the areas are equal, so the last layer
 * may well reach above the peak and the area need not be found to the last bit. */

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

/* Fill layer, height and tail_... of a law whose shape is set. */
static void gamma_make_layers(struct cv_gamma *distribution)
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

/* --- gamma variates as a function of (seed, run, i, j) ----------------------------- */

/* --- normal and exponential, where one word does not decide ------------------------- */

static uint64_t next_word(const struct cv_word_source *words)
{
    return words->next(words->source);
}

static double exponential_from(unsigned layer, double u,
                               const struct cv_word_source *more)
{
    double x, upper, lower, shift = 0;

    while (!cv_exponential_sure(layer, u, &x)) {
        uint64_t word;

        if (layer == 0) {
            /* The tail is the law itself, shifted. */
            shift += cv_exponential_edges[1];
        } else {
            /* Heights of the layer's sides over the height of the density at x. */
            lower = exp(x - cv_exponential_edges[layer]);
            upper = exp(x - cv_exponential_edges[layer + 1]);
            if (lower + cv_unit(next_word(more)) * (upper - lower) < 1)
                break;
        }
        word = next_word(more);
        layer = word & (CV_LAYERS - 1);
        u = cv_unit(word);
    }
    return shift + x;
}

double cv_exponential(const struct cv_word_source *words)
{
    uint64_t word = next_word(words);

    return exponential_from(word & (CV_LAYERS - 1), cv_unit(word), words);
}

/* Beyond the widest rectangle of the normal, by Marsaglia's method of 1964. */
static double normal_tail(const struct cv_word_source *more)
{
    const double edge = cv_normal_edges[1];
    double x, y;

    do {
        x = cv_exponential(more) / edge;
        y = cv_exponential(more);
    } while (2 * y <= x * x);
    return edge + x;
}

double cv_normal_from(uint64_t word, const struct cv_word_source *more)
{
    double x;

    while (!cv_normal_sure(word, &x)) {
        unsigned layer = word & (CV_LAYERS - 1);
        double wide = cv_normal_edges[layer], narrow, lower, upper;

        if (layer == 0)
            return copysign(normal_tail(more), x);
        narrow = cv_normal_edges[layer + 1];
        lower = exp(0.5 * (x * x - wide * wide));
        upper = exp(0.5 * (x * x - narrow * narrow));
        if (lower + cv_unit(next_word(more)) * (upper - lower) < 1)
            break;
        word = next_word(more);
    }
    return x;
}

/* --- gamma -------------------------------------------------------------------------- */

static void init_cube(struct cv_gamma *distribution)
{
    double surely;

    distribution->d = distribution->shape - 1.0 / 3;
    distribution->c = 1 / sqrt(9 * distribution->d);
    /* The least s with 1 - s x^4 <= exp(h) for all x is (1 + o(1))/(108 d); this is above
     * it by 0.4 to 4% for every d >= 2/3, as the tests check. */
    distribution->squeeze = (1 + 0.56 / cbrt(distribution->d) + 0.5 / distribution->d) /
                            (108 * distribution->d);
    distribution->scale =
        distribution->mean * distribution->cv * distribution->cv * distribution->d;
    /* One word decides |x| < 3.6542 only, so x^4 < 178.4. Where that is too coarse to
     * help, the comparison must never hold: it would be guessed wrong too often. */
    surely = 1 - 178.4 * distribution->squeeze;
    /* Of a very narrow law it is 1, but no word is as large as 2^64. */
    surely = fmin(surely, 1 - 0x1p-53);
    distribution->always = surely > 0.9 ? (uint64_t)(surely * 0x1p64) : 0;
}

void cv_gamma_init(struct cv_gamma *distribution, double mean, double cv)
{
    assert(isfinite(mean) && mean >= 0 && isfinite(cv) && cv >= 0);
    memset(distribution, 0, sizeof *distribution);
    distribution->method = CV_GAMMA_CONSTANT;
    distribution->mean = mean;
    distribution->cv = cv;
    if (cv < 1e-12 || mean == 0)
        return;
    distribution->shape = 1 / (cv * cv);
    if (cv == 1) {
        distribution->method = CV_GAMMA_EXPONENTIAL;
    } else if (cv < 1) {
        distribution->method = CV_GAMMA_CUBE;
        init_cube(distribution);
    } else {
        distribution->method = CV_GAMMA_LOGARITHM;
        gamma_make_layers(distribution);
    }
}

/* Whether the normal x, of which v is 1 + c x > 0, is accepted by the uniform u. */
static bool accepts(const struct cv_gamma *distribution, double x, double v, double u)
{
    double square = x * x;

    if (u < 1 - distribution->squeeze * (square * square))
        return true;
    return log(u) < 0.5 * square + distribution->d * (1 - v * v * v + 3 * log(v));
}

static double draw_cube(const struct cv_gamma *distribution,
                        const struct cv_word_source *words)
{
    for (;;) {
        uint64_t first = next_word(words), second = next_word(words);
        double x = cv_normal_from(first, words), v = 1 + distribution->c * x;

        if (v > 0 && accepts(distribution, x, v, cv_unit(second)))
            return distribution->scale * (v * v * v);
    }
}

/* Beyond the sides of the first layer the logarithm of the density, which is concave, is
 * below its tangents there. The tail on the side of t; whether it is accepted. */
static bool draw_tail(const struct cv_gamma *distribution,
                      const struct cv_word_source *words, double *t)
{
    const struct cv_gamma_layer *first = &distribution->layer[0];
    double e = cv_exponential(words), below;

    *t = *t < first->sure_low ? first->sure_low - e * distribution->tail_low
                              : first->sure_high + e * distribution->tail_high;
    below = log(distribution->height[1]) - e - cv_gamma_log_density(distribution, *t);
    return cv_exponential(words) > below;
}

static double draw_logarithm(const struct cv_gamma *distribution,
                             const struct cv_word_source *words)
{
    for (;;) {
        uint64_t word = next_word(words);
        unsigned i = word & (CV_LAYERS - 1);
        const struct cv_gamma_layer *layer = &distribution->layer[i];
        double t = layer->left + cv_unit(word) * layer->width;

        if (t >= layer->sure_low && t <= layer->sure_high)
            return cv_gamma_of_logarithm(distribution, t);
        if (i == 0) {
            if (draw_tail(distribution, words, &t))
                return cv_gamma_of_logarithm(distribution, t);
        } else {
            double low = distribution->height[i], high = distribution->height[i + 1];

            if (log(low + cv_unit(next_word(words)) * (high - low)) <
                cv_gamma_log_density(distribution, t))
                return cv_gamma_of_logarithm(distribution, t);
        }
    }
}

double cv_gamma_from(const struct cv_gamma *distribution,
                     const struct cv_word_source *words)
{
    switch (distribution->method) {
    case CV_GAMMA_CONSTANT:
        break;
    case CV_GAMMA_EXPONENTIAL:
        return distribution->mean * cv_exponential(words);
    case CV_GAMMA_CUBE:
        return draw_cube(distribution, words);
    case CV_GAMMA_LOGARITHM:
        return draw_logarithm(distribution, words);
    }
    return distribution->mean;
}

/* The words of the stream (seed, run, i, j), two to a block. */
struct stream {
    uint64_t seed;
    uint32_t run, i, j, taken;
    struct cv_random_block block;
};

static uint64_t next_of_stream(void *source)
{
    struct stream *stream = source;
    unsigned which = stream->taken % 2;

    if (which == 0)
        stream->block =
            cv_philox(stream->seed, stream->run, stream->i, stream->j, stream->taken / 2);
    stream->taken++;
    return stream->block.word[which];
}

double cv_gamma_at_slow(const struct cv_gamma *distribution, uint64_t seed, uint32_t run,
                        uint32_t i, uint32_t j)
{
    struct stream stream = { .seed = seed, .run = run, .i = i, .j = j };
    struct cv_word_source words = { next_of_stream, &stream };

    return cv_gamma_from(distribution, &words);
}

double cv_normal_at(uint64_t seed, uint32_t run, uint32_t i, uint32_t j)
{
    struct stream stream = { .seed = seed, .run = run, .i = i, .j = j };
    struct cv_word_source words = { next_of_stream, &stream };

    return cv_normal_from(next_word(&words), &words);
}
