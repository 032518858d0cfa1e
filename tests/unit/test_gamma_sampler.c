/* test_gamma_sampler.c -- gamma, normal and exponential variates named by numbers.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/gamma_sampler.h"
#include "base/random.h"
#include "law_check.h"

enum { DRAWS = 100000 };

static const double cvs[] = { 0.001, 0.01, 0.1,   0.3, 0.5, 0.8, 0.999, 1,
                              1.001, 1.2,  1.732, 3,   10,  30,  100 };
enum { NCVS = sizeof cvs / sizeof *cvs };

static double sample[DRAWS], other[DRAWS];

/* --- the tables --------------------------------------------------------------------- */

static double normal_density(double x)
{
    return exp(-x * x / 2);
}

static double exponential_density(double x)
{
    return exp(-x);
}

static void check_layers(const double *edges, double (*density)(double), double tail)
{
    double edge = edges[1], area = edge * density(edge) + tail;

    assert_true(fabs(edges[0] * density(edge) / area - 1) < 1e-14);
    for (int i = 0; i < CV_LAYERS; i++) {
        double parallel = edges[i], narrow = edges[i + 1];

        assert_true(narrow < parallel);
        if (i > 0)
            assert_true(fabs(parallel * (density(narrow) - density(parallel)) / area -
                             1) < 1e-11);
    }
    assert_true(edges[CV_LAYERS] == 0);
}

static void layers_have_one_area(void **state)
{
    double edge = cv_normal_edges[1];

    (void)state;
    check_layers(cv_normal_edges, normal_density,
                 sqrt(2 * atan(1)) * erfc(edge / sqrt(2)));
    check_layers(cv_exponential_edges, exponential_density,
                 exp(-cv_exponential_edges[1]));
}

/* --- the short way ------------------------------------------------------------------ */

/* The logarithm of the chance to accept x, as gamma_sampler.c has it. */
static double exact_exponent(const struct cv_gamma *distribution, double x)
{
    double y = distribution->c * x, sum = 0, power = y * y * y;

    if (fabs(y) > 0.3)
        return distribution->d * (4.5 * y * y + 1 - pow(1 + y, 3) + 3 * log1p(y));
    /* The first terms of the logarithm's series cancel the other terms exactly. */
    for (int n = 4; n < 40; n++)
        sum += (n % 2 == 0 ? -3.0 : 3.0) * (power *= y) / n;
    return distribution->d * sum;
}

static void squeeze_accepts_no_more_than_the_law(void **state)
{
    (void)state;
    for (int n = 0; n < 440; n++) {
        const double shape = pow(1.07, n);
        struct cv_gamma distribution;

        cv_gamma_init(&distribution, 1, 1 / sqrt(shape * (1 + 1e-9)));
        assert_int_equal(distribution.method, CV_GAMMA_CUBE);
        for (int m = -4000; m < 4000; m++) {
            double x = fmax(0.01 * m, -0.99999 / distribution.c);
            double bound = 1 - distribution.squeeze * x * x * x * x;

            /* Apart from rounding, which at these x is far below one chance in 2^53. */
            assert_true(bound <= exp(exact_exponent(&distribution, x)) + 1e-15);
        }
        if (distribution.always > 0) {
            double x = 3.6542, all = (double)distribution.always * 0x1p-64;

            assert_true(cv_normal_edges[1] < x && distribution.c * x < 1);
            assert_true(all <= 1 - distribution.squeeze * x * x * x * x);
        }
    }
}

/* A law so narrow that nearly every word is accepted, and at most all are. */
static void narrow_laws_accept_nearly_all(void **state)
{
    static const double narrow[] = { 1e-7, 3e-9, 1e-9, 1e-11, 2e-12 };

    (void)state;
    for (size_t k = 0; k < sizeof narrow / sizeof *narrow; k++) {
        struct cv_gamma distribution;

        cv_gamma_init(&distribution, 1, narrow[k]);
        assert_true(distribution.always > UINT64_MAX - (UINT64_C(1) << 20));
        for (uint32_t i = 0; i < 1000; i++)
            assert_true(cv_gamma_at(&distribution, 1, 2, i, 3) ==
                        cv_gamma_at_slow(&distribution, 1, 2, i, 3));
    }
}

static void short_way_gives_the_same_value(void **state)
{
    (void)state;
    for (size_t k = 0; k < NCVS; k++) {
        struct cv_gamma distribution;

        cv_gamma_init(&distribution, 2.5, cvs[k]);
        for (uint32_t i = 0; i < DRAWS; i++) {
            double x = cv_gamma_at(&distribution, 5, 3, i, 8);

            assert_true(x >= 0 && isfinite(x));
            assert_true(x == cv_gamma_at_slow(&distribution, 5, 3, i, 8));
        }
    }
}

/* Every layer of a law's own ziggurat has the area of the first with its tails, and where
 * a point is called sure the density is above the layer. */
static void layers_of_a_law_cover_it(void **state)
{
    (void)state;
    for (int n = 0; n < 36; n++) {
        const double cv = 1.0001 * pow(1.3, n);
        struct cv_gamma distribution;
        double area;

        cv_gamma_init(&distribution, 1, cv);
        assert_int_equal(distribution.method, CV_GAMMA_LOGARITHM);
        area = distribution.height[1] * distribution.layer[0].width;
        assert_true(distribution.height[0] == 0 &&
                    distribution.height[CV_LAYERS - 1] < 1);
        /* Little of the last layer is above the peak, where all points are refused. */
        assert_true(distribution.height[CV_LAYERS] >= 1 &&
                    distribution.height[CV_LAYERS] < 1.01);
        for (int i = 0; i < CV_LAYERS; i++) {
            const struct cv_gamma_layer *layer = &distribution.layer[i];
            double high = distribution.height[i + 1], low = distribution.height[i], right;

            assert_true(fabs((high - low) * layer->width / area - 1) < 1e-11);
            if (i == CV_LAYERS - 1)
                break;
            right = layer->left + layer->width;
            assert_true(layer->left < layer->sure_low && layer->sure_high < right);
            assert_true(fabs(cv_gamma_log_density(&distribution, layer->sure_low) -
                             log(high)) < 1e-11);
            assert_true(fabs(cv_gamma_log_density(&distribution, layer->sure_high) -
                             log(high)) < 1e-11);
        }
    }
}

/* --- the laws ----------------------------------------------------------------------- */

static void gamma_follows_its_law(void **state)
{
    (void)state;
    for (size_t k = 0; k < NCVS; k++) {
        const double mean_cv[] = { 0.7, cvs[k] };
        /* The series of the reference takes some 8/CV terms. */
        const uint32_t n = cvs[k] < 0.05 ? DRAWS / 10 : DRAWS;
        struct cv_gamma distribution;

        cv_gamma_init(&distribution, mean_cv[0], mean_cv[1]);
        for (uint32_t i = 0; i < n; i++)
            sample[i] = cv_gamma_at(&distribution, 12345, 0, i / 100, i % 100);
        assert_true(kolmogorov(sample, n, gamma_cdf, mean_cv) < 1.95);
    }
}

static void gamma_has_its_moments(void **state)
{
    (void)state;
    for (size_t k = 0; k < NCVS; k++) {
        const double n = 10.0 * DRAWS, cv = cvs[k];
        double sum = 0, squares = 0, excess;
        struct cv_gamma distribution;

        cv_gamma_init(&distribution, 4, cv);
        for (uint32_t i = 0; i < 10 * DRAWS; i++) {
            double x = cv_gamma_at(&distribution, 99, (uint32_t)k, 17, i) / 4 - 1;

            sum += x;
            squares += x * x;
        }
        /* Five standard errors; the fourth central moment is 3 s^4 + 6 s^6 for mean 1. */
        assert_true(fabs(sum / n) < 5 * cv / sqrt(n));
        excess = sqrt((2 + 6 * cv * cv) / n);
        assert_true(fabs(squares / n / (cv * cv) - 1) < 5 * excess);
    }
}

static void no_spread_gives_the_mean(void **state)
{
    struct cv_gamma distribution;

    (void)state;
    cv_gamma_init(&distribution, 3, 0);
    assert_true(cv_gamma_at(&distribution, 1, 2, 3, 4) == 3 &&
                cv_gamma_at_slow(&distribution, 1, 2, 3, 4) == 3);
    cv_gamma_init(&distribution, 3, 1e-13);
    assert_true(cv_gamma_at(&distribution, 1, 2, 3, 4) == 3);
    cv_gamma_init(&distribution, 3, 1e-9);
    assert_true(fabs(cv_gamma_at(&distribution, 1, 2, 3, 4) / 3 - 1) < 1e-8);
    cv_gamma_init(&distribution, 0, 2);
    assert_true(cv_gamma_at(&distribution, 1, 2, 3, 4) == 0);
}

static double shifted_exponential_tail(double x, const double *edge)
{
    return 1 - exp(*edge - x);
}

/* Beyond the widest rectangle the law begins again. */
static void exponentials_have_their_tail(void **state)
{
    const double edge = cv_exponential_edges[1], n = 5e6, chance = exp(-edge);
    struct cv_gamma distribution;
    size_t beyond = 0;

    (void)state;
    cv_gamma_init(&distribution, 1, 1);
    for (uint32_t i = 0; i < (uint32_t)n; i++) {
        double e = cv_gamma_at(&distribution, 4, 1, i, 0);

        if (e > edge)
            sample[beyond++] = e;
    }
    assert_true(fabs((double)beyond - n * chance) < 4 * sqrt(n * chance));
    assert_true(kolmogorov(sample, beyond, shifted_exponential_tail, &edge) < 1.95);
}

static void normals_follow_their_law(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < DRAWS; i++)
        sample[i] = cv_normal_at(1, i, 2, 3);
    assert_true(kolmogorov(sample, DRAWS, normal_cdf, NULL) < 1.95);
}

/* --- what seldom happens ------------------------------------------------------------ */

/* Words with a chosen first one. */
struct forced {
    uint64_t first;
    bool taken;
    struct cv_random random;
};

static uint64_t next_forced(void *source)
{
    struct forced *forced = source;
    uint64_t word = forced->taken ? cv_random_bits(&forced->random) : forced->first;

    forced->taken = true;
    return word;
}

/* The word that gives this layer and u in (0, 1), or in (-1, 1) for the normal. */
static uint64_t word_of(unsigned layer, double u)
{
    return (uint64_t)(u * 0x1p52) << 12 | layer;
}

static uint64_t signed_word_of(unsigned layer, double u)
{
    return (uint64_t)(int64_t)(u * 0x1p52) << 11 | layer;
}

/* The abscissa that a first word gives, its chance to be accepted, a draw with it. */
struct seldom {
    uint64_t first;
    double x, chance;
    double (*draw)(const struct seldom *seldom, const struct cv_word_source *words);
    const struct cv_gamma *distribution;
};

static double draw_normal(const struct seldom *seldom, const struct cv_word_source *words)
{
    (void)seldom;
    return cv_normal_from(words->next(words->source), words);
}

static double draw_gamma(const struct seldom *seldom, const struct cv_word_source *words)
{
    return cv_gamma_from(seldom->distribution, words);
}

static void check_chance(const struct seldom *seldom)
{
    const double n = 4000;
    double accepted = 0;

    assert_true(seldom->chance >= 0 && seldom->chance <= 1);
    for (uint32_t i = 0; i < (uint32_t)n; i++) {
        struct forced forced = { .first = seldom->first };
        struct cv_word_source words = { next_forced, &forced };

        cv_random_at(&forced.random, 8, i, (uint32_t)seldom->first, 0);
        accepted += seldom->draw(seldom, &words) == seldom->x;
    }
    assert_true(fabs(accepted - n * seldom->chance) <=
                4 * sqrt(n * seldom->chance * (1 - seldom->chance)));
}

/* A part of the way from the sure part of a layer to its edge, in widths of the layer. */
static double in_doubt(const double *edge, double part)
{
    const double sure = edge[1] / edge[0];

    return sure + part * (1 - sure);
}

static void check_normal(unsigned i, double part, bool negative)
{
    const double *edge = &cv_normal_edges[i];
    double u = in_doubt(edge, part), low = normal_density(edge[0]);
    struct seldom point = { .first = signed_word_of(i, negative ? -u : u),
                            .draw = draw_normal };

    point.x = cv_sign_unit(point.first) * edge[0];
    point.chance = (normal_density(point.x) - low) / (normal_density(edge[1]) - low);
    check_chance(&point);
}

static void check_exponential(unsigned i, double part)
{
    const double *edge = &cv_exponential_edges[i];
    double low = exponential_density(edge[0]);
    struct cv_gamma distribution;
    struct seldom point = { .first = word_of(i, in_doubt(edge, part)),
                            .draw = draw_gamma,
                            .distribution = &distribution };

    cv_gamma_init(&distribution, 1, 1);
    point.x = cv_unit(point.first) * edge[0];
    point.chance =
        (exponential_density(point.x) - low) / (exponential_density(edge[1]) - low);
    check_chance(&point);
}

/* Left of the sure part, right of it, or anywhere in the last layer. */
static void check_logarithm(double cv, unsigned i, double part, bool negative)
{
    struct cv_gamma distribution;
    const struct cv_gamma_layer *layer = &distribution.layer[i];
    struct seldom point = { .draw = draw_gamma, .distribution = &distribution };
    double left, right, t;

    cv_gamma_init(&distribution, 1, cv);
    left = (layer->sure_low - layer->left) / layer->width;
    right = (layer->sure_high - layer->left) / layer->width;
    if (i == CV_LAYERS - 1)
        point.first = word_of(i, part);
    else
        point.first = word_of(i, negative ? part * left : right + part * (1 - right));
    t = layer->left + cv_unit(point.first) * layer->width;
    point.x = cv_gamma_of_logarithm(&distribution, t);
    point.chance =
        (exp(cv_gamma_log_density(&distribution, t)) - distribution.height[i]) /
        (distribution.height[i + 1] - distribution.height[i]);
    check_chance(&point);
}

/* If one word leaves it open, a point is accepted with the probability of the density. */
static void points_between_layers_are_accepted_by_chance(void **state)
{
    static const unsigned some[] = { 1, 2, 50, 128, 250, 254, 255 };

    (void)state;
    for (size_t k = 0; k < 4 * sizeof some / sizeof *some; k++) {
        unsigned i = some[k / 4];
        double part = 0.1 + 0.25 * (double)(k % 4);

        check_normal(i, part, k % 2 == 1);
        check_exponential(i, part);
        check_logarithm(1.2, i, part, false);
        check_logarithm(1.2, i, part, true);
        check_logarithm(6, i, part, k % 2 == 1);
    }
}

static double normal_tail_cdf(double x, const double *edge)
{
    return 1 - erfc(x / sqrt(2)) / erfc(*edge / sqrt(2));
}

/* Gamma of mean 1 and given CV, below the first value or above it. */
static double low_tail_cdf(double x, const double *edge_mean_cv)
{
    return gamma_cdf(x, edge_mean_cv + 1) / gamma_cdf(edge_mean_cv[0], edge_mean_cv + 1);
}

static double high_tail_cdf(double x, const double *edge_mean_cv)
{
    double below = gamma_cdf(edge_mean_cv[0], edge_mean_cv + 1);

    return (gamma_cdf(x, edge_mean_cv + 1) - below) / (1 - below);
}

/* A first word that leads to a tail; words outside were refused there. */
static void tails_follow_their_law(void **state)
{
    static const double some[] = { 1.01, 1.5, 5 };
    const double edge = cv_normal_edges[1];

    (void)state;
    for (uint32_t i = 0; i < DRAWS; i++) {
        struct forced forced = { .taken = true };
        struct cv_word_source words = { next_forced, &forced };
        double sign = i % 2 == 0 ? 1 : -1;

        cv_random_at(&forced.random, 9, i, 0, 0);
        sample[i] = sign * cv_normal_from(signed_word_of(0, sign * 0.97), &words);
    }
    assert_true(kolmogorov(sample, DRAWS, normal_tail_cdf, &edge) < 1.95);
    for (size_t k = 0; k < 2 * sizeof some / sizeof *some; k++) {
        bool high = k % 2 == 0;
        double parameter[] = { 0, 1, some[k / 2] };
        struct cv_gamma distribution;
        size_t n = 0;

        cv_gamma_init(&distribution, 1, some[k / 2]);
        parameter[0] =
            exp(high ? distribution.layer[0].sure_high : distribution.layer[0].sure_low);
        for (uint32_t i = 0; i < DRAWS; i++) {
            struct forced forced = { .first = word_of(0, high ? 1 - 1e-9 : 1e-9) };
            struct cv_word_source words = { next_forced, &forced };
            double x;

            cv_random_at(&forced.random, 10, i, (uint32_t)k, 0);
            x = cv_gamma_from(&distribution, &words);
            if (high ? x > parameter[0] : x < parameter[0])
                sample[n++] = x;
        }
        assert_true(n > DRAWS / 2);
        assert_true(
            kolmogorov(sample, n, high ? high_tail_cdf : low_tail_cdf, parameter) < 1.95);
    }
}

/* --- the streams -------------------------------------------------------------------- */

static void streams_are_functions_of_their_name(void **state)
{
    struct cv_random_block block = cv_philox(1, 2, 3, 4, 0);
    struct cv_gamma distribution;

    (void)state;
    /* The sequence of a seed must not change between versions. */
    assert_true(block.word[0] == UINT64_C(0x87986bcde2b33067));
    assert_true(block.word[1] == UINT64_C(0xb39f47aaa1db6cd7));
    cv_gamma_init(&distribution, 1, 0.5);
    for (uint32_t i = 0; i < 1000; i++) {
        double x = cv_gamma_at(&distribution, 7, 1, i, 1000 - i);

        /* Draws in between change nothing. */
        (void)cv_gamma_at(&distribution, 7, 1, i, i);
        assert_true(x == cv_gamma_at(&distribution, 7, 1, i, 1000 - i));
        assert_true(x != cv_gamma_at(&distribution, 8, 1, i, 1000 - i));
        assert_true(x != cv_gamma_at(&distribution, 7, 2, i, 1000 - i));
        assert_true(x != cv_gamma_at(&distribution, 7, 1, 1000 - i, i) || i == 500);
    }
}

/* Draw (u, v) under neighbouring names, as uniforms: unrelated ones have no correlation,
 * and u + v and u - v, wrapped to (0, 1), are uniform. */
static void check_neighbours(const struct cv_gamma *distribution, const uint32_t *step)
{
    const double unit[] = { 0, 1 }, mean_cv[] = { distribution->mean, distribution->cv };
    double product = 0;

    for (uint32_t n = 0; n < DRAWS; n++) {
        uint32_t i = 3 * (n % 300), j = 3 * (n / 300);
        double u = gamma_cdf(cv_gamma_at(distribution, 21, 6, i, j), mean_cv);
        double v = gamma_cdf(cv_gamma_at(distribution, 21 + step[0], 6 + step[1],
                                         i + step[2], j + step[3]),
                             mean_cv);

        product += (u - 0.5) * (v - 0.5);
        sample[n] = u + v - floor(u + v);
        other[n] = u - v - floor(u - v);
    }
    assert_true(fabs(12 * product / DRAWS) < 4 / sqrt(DRAWS));
    assert_true(kolmogorov(sample, DRAWS, uniform_cdf, unit) < 1.95);
    assert_true(kolmogorov(other, DRAWS, uniform_cdf, unit) < 1.95);
}

static void neighbouring_streams_are_unrelated(void **state)
{
    /* In seed, run, i and j. */
    static const uint32_t steps[][4] = {
        { 1, 0, 0, 0 }, { 0, 1, 0, 0 },          { 0, 0, 1, 0 },          { 0, 0, 0, 1 },
        { 0, 0, 1, 1 }, { 0, 0, 1, UINT32_MAX }, { 0, 0x80000000, 0, 0 }, { 0, 1, 1, 1 },
    };
    static const double some[] = { 0.4, 1, 1.5 };

    (void)state;
    for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
        struct cv_gamma distribution;

        cv_gamma_init(&distribution, 1, some[k]);
        for (size_t s = 0; s < sizeof steps / sizeof *steps; s++)
            check_neighbours(&distribution, steps[s]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_have_one_area),
        cmocka_unit_test(squeeze_accepts_no_more_than_the_law),
        cmocka_unit_test(narrow_laws_accept_nearly_all),
        cmocka_unit_test(short_way_gives_the_same_value),
        cmocka_unit_test(layers_of_a_law_cover_it),
        cmocka_unit_test(gamma_follows_its_law),
        cmocka_unit_test(gamma_has_its_moments),
        cmocka_unit_test(no_spread_gives_the_mean),
        cmocka_unit_test(exponentials_have_their_tail),
        cmocka_unit_test(points_between_layers_are_accepted_by_chance),
        cmocka_unit_test(tails_follow_their_law),
        cmocka_unit_test(normals_follow_their_law),
        cmocka_unit_test(streams_are_functions_of_their_name),
        cmocka_unit_test(neighbouring_streams_are_unrelated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
