/* ziggurat.h -- normal and exponential variates out of random words.
 * SPDX-License-Identifier: MIT
 *
 * The area below a density is cut into CV_LAYERS layers of one area. A point of a layer
 * drawn at random is most often to the left of the next layer up: then it lies below the
 * density and its abscissa is the variate, for one word, two table entries and one
 * product. Only else (1.2% of the normals, 2.3% of the exponentials) more words are taken
 * and the density is computed. The layer and the abscissa come from different bits of the
 * word (Doornik, 2005, on Marsaglia and Tsang, 2000). */
#ifndef CV_ZIGGURAT_H
#define CV_ZIGGURAT_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { CV_LAYERS = 256 };

/* Abscissas of the right edges, from the lowest layer up; the last is 0. */
extern const double cv_normal_edges[CV_LAYERS + 1];
extern const double cv_exponential_edges[CV_LAYERS + 1];

struct cv_word_source {
    uint64_t (*next)(void *source);
    void *source; /* borrowed */
};

/* Uniform in (0, 1): the middle of one of 2^52 cells, from the 52 upper bits. */
static inline double cv_unit(uint64_t word)
{
    return ((double)(word >> 12) + 0.5) * 0x1p-52;
}

/* Uniform in (-1, 1), never 0, from the 53 upper bits. */
static inline double cv_sign_unit(uint64_t word)
{
    /* All known compilers shift negative numbers arithmetically. */
    return ((double)((int64_t)word >> 11) + 0.5) * 0x1p-52;
}

/* Whether `word` alone decides, and the variate. The layer is in the 8 lower bits. */
static inline bool cv_normal_sure(uint64_t word, double *out)
{
    const double *edge = &cv_normal_edges[word & (CV_LAYERS - 1)];

    *out = cv_sign_unit(word) * edge[0];
    return fabs(*out) < edge[1];
}

/* `u` in (0, 1) must not share bits with `layer`, which is below CV_LAYERS. */
static inline bool cv_exponential_sure(unsigned layer, double u, double *out)
{
    *out = u * cv_exponential_edges[layer];
    return *out < cv_exponential_edges[layer + 1];
}

/* The variate of `word` and of more words if needed. */
double cv_normal_from(uint64_t word, const struct cv_word_source *more);
double cv_exponential(const struct cv_word_source *words);

#endif
