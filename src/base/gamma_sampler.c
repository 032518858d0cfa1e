/* gamma_sampler.c -- gamma variates as a function of (seed, run, i, j).
 * SPDX-License-Identifier: MIT
 *
 * CV < 1: Marsaglia and Tsang, A simple method for generating gamma variables, ACM TOMS
 * 26(3), 2000. With x normal and v = (1 + c x)^3, d v has the gamma density of shape d +
 * 1/3 if x is accepted with probability exp(h),
 *     h = x^2/2 + d - d v + d log v = -3/4 d y^4 (1 - 4/5 y + ...),   y = c x,
 * so that for d not small nearly all x are accepted. */
#include "base/gamma_sampler.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* --- layers for CV > 1 -------------------------------------------------------------- */

/* If X is gamma of shape k and mean 1, then t = log X has the density
 *     f(t) = exp(k (1 + t - e^t)),
 * up to a factor, with f(0) = 1 its peak; log f is concave. For k < 1 it is the better
 * variable, as the density of X itself is unbounded at 0. Horizontal layers of one area
 * cover f: the first is a rectangle and two exponentials above the tails, the others are
 * rectangles whose upper corners the width of the next one determines. The sampler is
 * exact if the areas are equal, so the last layer may reach above the peak, and the area
 * need not be exact. */

/* Solves e^t - t - 1 = drop on the side of `t` from 0, by Newton: the function is convex,
 * so all steps after the first lead towards 0 and do not cross it. */
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

/* Stack the layers on a first one of the given height. Returns how many reach the peak,
 * with a fraction; more than CV_LAYERS are extrapolated from the last. */
static double stack(struct cv_gamma *dist, double lowest)
{
    double drop = -log(lowest) / dist->shape, wide = sqrt(2 * drop), area, above,
           last = 1;
    double low = edge_from(-(drop + wide), drop),
           high = edge_from(log1p(drop + wide), drop);
    unsigned i;

    dist->tail_low = -1 / (dist->shape * expm1(low));
    dist->tail_high = 1 / (dist->shape * expm1(high));
    dist->layer[0] = (struct cv_gamma_layer){
        low - dist->tail_low, high - low + dist->tail_low + dist->tail_high, low, high
    };
    area = lowest * dist->layer[0].width;
    dist->height[1] = above = lowest;
    for (i = 1; i < CV_LAYERS && above < 1; i++) {
        struct cv_gamma_layer *layer = &dist->layer[i];

        /* No point of the last layer is sure: there is no layer above. */
        *layer = (struct cv_gamma_layer){ low, high - low, INFINITY, -INFINITY };
        last = area / layer->width;
        dist->height[i + 1] = above += last;
        if (i == CV_LAYERS - 1 || above >= 1)
            continue;
        drop = -log(above) / dist->shape;
        layer->sure_low = low = edge_from(low, drop);
        layer->sure_high = high = edge_from(high, drop);
    }
    return i + (1 - above) / last;
}

/* Fill layer, height and tail_..., given the shape. */
static void gamma_make_layers(struct cv_gamma *dist)
{
    /* Within 3% of the height of the first layer, which is 4.5e-4 for shape 0 and 9.4e-4
     * for shape 1. */
    const double k = dist->shape, guess = 4.54e-4 + 7.54e-4 * k / (k + 0.5615);
    /* The last layer reaches a little above the peak. */
    const double aim = CV_LAYERS - 0.06;
    double low = log(0.96 * guess), high = log(1.04 * guess), middle, excess;
    double too_many = stack(dist, exp(low)) - aim, too_few = stack(dist, exp(high)) - aim;
    int side = 0;

    assert(too_many > 0 && too_few < 0);
    /* False position; an end that stays twice counts half (the Illinois rule). */
    do {
        middle = low + (high - low) * too_many / (too_many - too_few);
        excess = stack(dist, exp(middle)) - aim;
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

/* --- normal and exponential, if one word does not decide ---------------------------- */

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
            /* The tail has the same distribution, shifted. */
            shift += cv_exponential_edges[1];
        } else {
            /* Heights of the sides of the layer, relative to the density at x. */
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

/* --- gamma variates ----------------------------------------------------------------- */

static void init_cube(struct cv_gamma *dist)
{
    double surely;

    dist->d = dist->shape - 1.0 / 3;
    dist->c = 1 / sqrt(9 * dist->d);
    /* 0.4 to 4% above the least s with 1 - s x^4 <= exp(h) for all x, for every d >=
     * 2/3. */
    dist->squeeze = (1 + 0.56 / cbrt(dist->d) + 0.5 / dist->d) / (108 * dist->d);
    dist->scale = dist->mean * dist->cv * dist->cv * dist->d;
    /* One word decides |x| < 3.6542 only, so x^4 < 178.4. The branch would be
     * mispredicted too often if the bound were low. It must stay below 2^64. */
    surely = fmin(1 - 178.4 * dist->squeeze, 1 - 0x1p-53);
    dist->always = surely > 0.9 ? (uint64_t)(surely * 0x1p64) : 0;
}

void cv_gamma_init(struct cv_gamma *dist, double mean, double cv)
{
    assert(isfinite(mean) && mean >= 0 && isfinite(cv) && cv >= 0);
    memset(dist, 0, sizeof *dist);
    dist->method = CV_GAMMA_CONSTANT;
    dist->mean = mean;
    dist->cv = cv;
    if (cv < 1e-12 || mean == 0)
        return;
    dist->shape = 1 / (cv * cv);
    if (cv == 1) {
        dist->method = CV_GAMMA_EXPONENTIAL;
    } else if (cv < 1) {
        dist->method = CV_GAMMA_CUBE;
        init_cube(dist);
    } else {
        dist->method = CV_GAMMA_LOGARITHM;
        gamma_make_layers(dist);
    }
}

/* Whether the uniform u accepts the normal x; v = 1 + c x > 0. */
static bool accepts(const struct cv_gamma *dist, double x, double v, double u)
{
    double square = x * x;

    if (u < 1 - dist->squeeze * (square * square))
        return true;
    return log(u) < 0.5 * square + dist->d * (1 - v * v * v + 3 * log(v));
}

static double draw_cube(const struct cv_gamma *dist, const struct cv_word_source *words)
{
    for (;;) {
        uint64_t first = next_word(words), second = next_word(words);
        double x = cv_normal_from(first, words), v = 1 + dist->c * x;

        if (v > 0 && accepts(dist, x, v, cv_unit(second)))
            return dist->scale * (v * v * v);
    }
}

/* A point of the tail on the side of t, and whether it is accepted. The logarithm of the
 * density is concave, hence below its tangents at the sides of the first layer. */
static bool draw_tail(const struct cv_gamma *dist, const struct cv_word_source *words,
                      double *t)
{
    const struct cv_gamma_layer *first = &dist->layer[0];
    double e = cv_exponential(words), below;

    *t = *t < first->sure_low ? first->sure_low - e * dist->tail_low
                              : first->sure_high + e * dist->tail_high;
    below = log(dist->height[1]) - e - cv_gamma_log_density(dist, *t);
    return cv_exponential(words) > below;
}

static double draw_logarithm(const struct cv_gamma *dist,
                             const struct cv_word_source *words)
{
    for (;;) {
        uint64_t word = next_word(words);
        unsigned i = word & (CV_LAYERS - 1);
        const struct cv_gamma_layer *layer = &dist->layer[i];
        double t = layer->left + cv_unit(word) * layer->width;

        if (t >= layer->sure_low && t <= layer->sure_high)
            return cv_gamma_of_logarithm(dist, t);
        if (i == 0) {
            if (draw_tail(dist, words, &t))
                return cv_gamma_of_logarithm(dist, t);
        } else {
            double low = dist->height[i], high = dist->height[i + 1];

            if (log(low + cv_unit(next_word(words)) * (high - low)) <
                cv_gamma_log_density(dist, t))
                return cv_gamma_of_logarithm(dist, t);
        }
    }
}

double cv_gamma_from(const struct cv_gamma *dist, const struct cv_word_source *words)
{
    switch (dist->method) {
    case CV_GAMMA_CONSTANT:
        break;
    case CV_GAMMA_EXPONENTIAL:
        return dist->mean * cv_exponential(words);
    case CV_GAMMA_CUBE:
        return draw_cube(dist, words);
    case CV_GAMMA_LOGARITHM:
        return draw_logarithm(dist, words);
    }
    return dist->mean;
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

double cv_gamma_at_slow(const struct cv_gamma *dist, uint64_t seed, uint32_t run,
                        uint32_t i, uint32_t j)
{
    struct stream stream = { .seed = seed, .run = run, .i = i, .j = j };
    struct cv_word_source words = { next_of_stream, &stream };

    return cv_gamma_from(dist, &words);
}

double cv_normal_at(uint64_t seed, uint32_t run, uint32_t i, uint32_t j)
{
    struct stream stream = { .seed = seed, .run = run, .i = i, .j = j };
    struct cv_word_source words = { next_of_stream, &stream };

    return cv_normal_from(next_word(&words), &words);
}
