/* reduce_costs.c -- costs of sending and combining partials. SPDX-License-Identifier: MIT */
#include "model/reduce/reduce_costs.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/argument.h"
#include "base/fail.h"
#include "base/quantity.h"
#include "base/random.h"
#include "base/text.h"

static bool usable(const double *costs, size_t count, size_t skip_step)
{
    for (size_t i = 0; i < count; i++)
        if (i % skip_step != 0 && (!(costs[i] >= 0) || isinf(costs[i])))
            return false;
    return true;
}

enum cleave_status cleave_costs_new(uint32_t nodes, const double *transfer,
                                    const double *compute, struct cleave_costs **out,
                                    struct cleave_error *err)
{
    struct cleave_costs *costs;
    size_t cells = (size_t)nodes * nodes;

    if (nodes < 1)
        return cv_fail(err, CLEAVE_EINPUT, "expected 1 or more nodes, got %u", nodes);
    CV_EXPECT_POINTER(transfer, err, "transfer");
    CV_EXPECT_POINTER(compute, err, "compute");
    CV_EXPECT_POINTER(out, err, "out");
    /* The diagonal is not used: every (nodes + 1)-th cell. */
    if (!usable(transfer, cells, (size_t)nodes + 1))
        return cv_fail(err, CLEAVE_EINPUT, "expected transfer costs of 0 or more");
    for (uint32_t i = 0; i < nodes; i++)
        if (!(compute[i] >= 0) || isinf(compute[i]))
            return cv_fail(err, CLEAVE_EINPUT, "expected compute costs of 0 or more");
    costs = calloc(1, sizeof *costs);
    if (costs == NULL)
        return cv_fail_memory(err, "costs");
    cv_arena_init(&costs->arena);
    costs->nodes = nodes;
    if (!CV_NEW(&costs->arena, costs->transfer, cells) ||
        !CV_NEW(&costs->arena, costs->compute, nodes)) {
        cleave_costs_free(costs);
        return cv_fail_memory(err, "costs");
    }
    memcpy(costs->transfer, transfer, cells * sizeof *transfer);
    memcpy(costs->compute, compute, nodes * sizeof *compute);
    *out = costs;
    return CLEAVE_OK;
}

void cleave_costs_free(struct cleave_costs *costs)
{
    if (costs == NULL)
        return;
    cv_arena_done(&costs->arena);
    free(costs);
}

uint32_t cleave_costs_nodes(const struct cleave_costs *costs)
{
    return costs->nodes;
}

void cv_reduce_costs_seed(struct cv_reduce_costs *costs, uint64_t seed)
{
    costs->transfer_seed = cv_random_derive(seed, 0);
    costs->compute_seed = cv_random_derive(seed, 1);
    costs->ready_seed = cv_random_derive(seed, 2);
}

/* By how much transfers between clusters raise the mean over all pairs. */
static double mean_factor(const struct cv_reduce_costs *costs)
{
    double n = costs->nodes, size = costs->cluster, near, last;

    if (costs->cluster == 0 || costs->nodes < 2)
        return 1;
    last = fmod(n, size);
    near = (floor(n / size) * size * (size - 1) + last * (last - 1)) / (n * (n - 1));
    return near + (1 - near) * costs->remote;
}

double cv_mean_transfer(const struct cv_reduce_costs *costs)
{
    double sum = 0;
    uint32_t n = costs->nodes;

    if (costs->exact == NULL)
        return cv_distribution_mean(&costs->transfer) * mean_factor(costs);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            if (i != j)
                sum += costs->exact->transfer[(size_t)i * n + j];
    return n > 1 ? sum / ((double)n * (n - 1)) : 0;
}

double cv_mean_compute(const struct cv_reduce_costs *costs)
{
    double sum = 0;

    if (costs->exact == NULL)
        return cv_distribution_mean(&costs->compute);
    for (uint32_t i = 0; i < costs->nodes; i++)
        sum += costs->exact->compute[i];
    return sum / costs->nodes;
}

enum {
    FIELDS_MOST = 3,
    FIELD_SIZE = 64, /* longer numbers are mistakes */
    SHOWN_SIZE = 80,
};

/* The range of a field of a law. */
enum field { FIELD_TIME, FIELD_CV, FIELD_CHANCE };

static const struct range {
    enum cv_quantity quantity;
    double max;
    const char *expected;
} ranges[] = {
    [FIELD_TIME] = { CV_SECONDS, 1e100, "expected a time from 0 to 1e100" },
    [FIELD_CV] = { CV_NUMBER, 100, "expected a number from 0 to 100" },
    [FIELD_CHANCE] = { CV_NUMBER, 1, "expected a number from 0 to 1" },
};

static struct cv_distribution gamma_law(double mean, double cv)
{
    struct cv_distribution distribution = { .kind = CV_LAW_GAMMA,
                                            .mean = mean,
                                            .cv = mean > 0 ? cv : 0 };

    cv_gamma_init(&distribution.gamma, mean, cv);
    return distribution;
}

struct cv_distribution cv_distribution_constant(double x)
{
    return gamma_law(x, 0);
}

/* Fields are times, except CV and P. */
static const struct form {
    const char *name;  /* the text before the colon */
    const char *usage; /* the whole, for messages   */
    enum cv_distribution_kind kind;
    double cv; /* for a gamma law without that field */
} forms[] = {
    { "gamma", "gamma:MEAN,CV", CV_LAW_GAMMA, 0 },
    { "exp", "exp:MEAN", CV_LAW_GAMMA, 1 },
    { "const", "const:X", CV_LAW_GAMMA, 0 },
    { "bernoulli", "bernoulli:LOW,HIGH,P", CV_LAW_BERNOULLI, 0 },
    { "uniform", "uniform:LOW,HIGH", CV_LAW_UNIFORM, 0 },
    { "lognormal", "lognormal:MEAN,CV", CV_LAW_LOGNORMAL, 0 },
};

static unsigned count_commas(const char *text)
{
    unsigned commas = 0;

    for (; *text != '\0'; text++)
        commas += *text == ',';
    return commas;
}

static struct cv_distribution make_law(const struct form *form, const double *field)
{
    const double first = field[0], second = field[1], p = field[2];
    struct cv_distribution law = { .kind = form->kind };

    if (form->kind == CV_LAW_GAMMA)
        return gamma_law(first, count_commas(form->usage) > 0 ? second : form->cv);
    if (form->kind == CV_LAW_LOGNORMAL) {
        /* Without spread, or with a mean that has no logarithm, it is a constant. */
        if (first == 0 || second == 0)
            return gamma_law(first, 0);
        law.mean = first;
        law.cv = second;
        law.sigma = sqrt(log1p(second * second));
        law.mu = log(first) - law.sigma * law.sigma / 2;
        return law;
    }
    law.low = first;
    law.high = second;
    if (form->kind == CV_LAW_BERNOULLI) {
        law.p = p;
        law.mean = (1 - p) * first + p * second;
        if (law.mean > 0)
            law.cv = (second - first) * sqrt(p * (1 - p)) / law.mean;
    } else {
        law.mean = first / 2 + second / 2;
        if (law.mean > 0)
            law.cv = (second - first) / sqrt(12) / law.mean;
    }
    return law;
}

enum { NFORMS = sizeof forms / sizeof *forms };

double cv_distribution_draw_other(const struct cv_distribution *distribution,
                                  uint64_t seed, uint32_t run, uint32_t i, uint32_t j)
{
    const struct cv_random_block block = cv_philox(seed, run, i, j, 0);
    const double ends[] = { distribution->low, distribution->high };
    double x;

    switch (distribution->kind) {
    case CV_LAW_GAMMA:
        return cv_gamma_at(&distribution->gamma, seed, run, i, j);
    case CV_LAW_LOGNORMAL:
        if (!cv_normal_sure(block.word[0], &x))
            x = cv_normal_at(seed, run, i, j);
        return exp(distribution->mu + distribution->sigma * x);
    case CV_LAW_UNIFORM:
        return distribution->low +
               (distribution->high - distribution->low) * cv_unit(block.word[0]);
    case CV_LAW_BERNOULLI:
        return ends[cv_unit(block.word[0]) <
                    distribution->p]; /* no jump, as none can be guessed */
    }
    return distribution->mean;
}

static const char *name_at(const void *context, size_t index)
{
    (void)context;
    return forms[index].name;
}

static enum cleave_status fail_name(const char *text, size_t length,
                                    struct cleave_error *err)
{
    char name[SHOWN_SIZE], nearest[160];

    cv_shown(text, length, name, sizeof name);
    cv_suggest(name, NFORMS, name_at, NULL, nearest, sizeof nearest);
    return cv_fail(err, CLEAVE_EINPUT, "expected a time such as 5ms or a law, got '%s'%s",
                   name, nearest);
}

static enum cleave_status fail_form(const struct form *form, const char *text,
                                    struct cleave_error *err)
{
    char shown[SHOWN_SIZE];

    return cv_fail(err, CLEAVE_EINPUT, "expected %s, got '%s'", form->usage,
                   cv_shown(text, strlen(text), shown, sizeof shown));
}

/* Read a number of a law, whose name in the usage is `name`, or with form NULL a number alone. */
static enum cleave_status read_field(const struct form *form, const char *name,
                                     const char *text, size_t length, double *out,
                                     struct cleave_error *err)
{
    const struct range *range = &ranges[form == NULL   ? FIELD_TIME
                                        : *name == 'C' ? FIELD_CV
                                        : *name == 'P' ? FIELD_CHANCE
                                                       : FIELD_TIME];
    char field[FIELD_SIZE], shown[SHOWN_SIZE];
    const char *expected = range->expected;
    double value = 0;

    if (length < sizeof field) {
        memcpy(field, text, length);
        field[length] = '\0';
        expected = cv_quantity_parse(field, range->quantity, &value);
        if (expected == NULL && (value < 0 || value > range->max))
            expected = range->expected;
    }
    if (expected == NULL) {
        *out = fabs(value); /* -0 is 0 */
        return CLEAVE_OK;
    }
    cv_shown(text, length, shown, sizeof shown);
    if (form == NULL)
        return cv_fail(err, CLEAVE_EINPUT, "%s, got '%s'", expected, shown);
    return cv_fail(err, CLEAVE_EINPUT, "%.*s of %s: %s, got '%s'",
                   (int)strcspn(name, ","), name, form->usage, expected, shown);
}

static bool starts_number(char c)
{
    return c == '+' || c == '-' || c == '.' || (c >= '0' && c <= '9');
}

static enum cleave_status read_fields(const struct form *form, const char *text,
                                      const char *fields, double *out,
                                      struct cleave_error *err)
{
    const unsigned commas = count_commas(fields);
    const char *name = strchr(form->usage, ':') + 1;

    if (commas != count_commas(form->usage))
        return fail_form(form, text, err);
    for (unsigned i = 0; i <= commas; i++) {
        size_t length = strcspn(fields, ",");

        CV_TRY(read_field(form, name, fields, length, &out[i], err));
        fields += length + (fields[length] == ',');
        name += strcspn(name, ",") + 1;
    }
    return CLEAVE_OK;
}

enum cleave_status cv_distribution_parse(const char *text, struct cv_distribution *out,
                                         struct cleave_error *err)
{
    const size_t length = strcspn(text, ":");
    const struct form *form = NULL;
    double field[FIELDS_MOST] = { 0 };

    if (starts_number(text[0])) {
        CV_TRY(read_field(NULL, NULL, text, strlen(text), field, err));
        *out = gamma_law(field[0], 0);
        return CLEAVE_OK;
    }
    for (size_t i = 0; i < NFORMS; i++)
        if (strlen(forms[i].name) == length && memcmp(forms[i].name, text, length) == 0)
            form = &forms[i];
    if (form == NULL)
        return fail_name(text, length, err);
    if (text[length] == '\0')
        return fail_form(form, text, err);
    CV_TRY(read_fields(form, text, text + length + 1, field, err));
    if ((form->kind == CV_LAW_UNIFORM || form->kind == CV_LAW_BERNOULLI) &&
        field[0] > field[1])
        return cv_fail(err, CLEAVE_EINPUT, "%s: expected LOW at most HIGH, got '%s'",
                       form->usage, text);
    *out = make_law(form, field);
    return CLEAVE_OK;
}
