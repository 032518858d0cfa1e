/* reduce_costs.c -- costs of sending and combining partials. SPDX-License-Identifier: MIT */
#include "model/reduce/reduce_costs.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
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

static struct cv_distribution make_gamma(const double *field)
{
    return gamma_law(field[0], field[1]);
}

static struct cv_distribution make_exponential(const double *field)
{
    return gamma_law(field[0], 1);
}

static struct cv_distribution make_constant(const double *field)
{
    return gamma_law(field[0], 0);
}

struct cv_distribution cv_distribution_constant(double x)
{
    return gamma_law(x, 0);
}

static struct cv_distribution make_bernoulli(const double *field)
{
    struct cv_distribution distribution = {
        .kind = CV_LAW_BERNOULLI, .low = field[0], .high = field[1], .p = field[2]
    };

    distribution.mean =
        (1 - distribution.p) * distribution.low + distribution.p * distribution.high;
    if (distribution.mean > 0)
        distribution.cv = (distribution.high - distribution.low) *
                          sqrt(distribution.p * (1 - distribution.p)) / distribution.mean;
    return distribution;
}

static struct cv_distribution make_uniform(const double *field)
{
    struct cv_distribution distribution = { .kind = CV_LAW_UNIFORM,
                                            .low = field[0],
                                            .high = field[1] };

    distribution.mean = distribution.low / 2 + distribution.high / 2;
    if (distribution.mean > 0)
        distribution.cv =
            (distribution.high - distribution.low) / sqrt(12) / distribution.mean;
    return distribution;
}

static struct cv_distribution make_lognormal(const double *field)
{
    struct cv_distribution distribution = { .kind = CV_LAW_LOGNORMAL,
                                            .mean = field[0],
                                            .cv = field[1] };

    /* Without spread, or with a mean that has no logarithm, it is a constant. */
    if (distribution.mean == 0 || distribution.cv == 0)
        return gamma_law(distribution.mean, 0);
    distribution.sigma = sqrt(log1p(distribution.cv * distribution.cv));
    distribution.mu =
        log(distribution.mean) - distribution.sigma * distribution.sigma / 2;
    return distribution;
}

static const struct form {
    const char *name;  /* the text before the colon */
    const char *usage; /* the whole, for messages      */
    unsigned nfields;
    struct {
        const char *name;
        enum field kind;
    } field[FIELDS_MOST];
    struct cv_distribution (*make)(const double *field);
} forms[] = {
    { "gamma",
      "gamma:MEAN,CV",
      2,
      { { "MEAN", FIELD_TIME }, { "CV", FIELD_CV } },
      make_gamma },
    { "exp", "exp:MEAN", 1, { { "MEAN", FIELD_TIME } }, make_exponential },
    { "const", "const:X", 1, { { "X", FIELD_TIME } }, make_constant },
    { "bernoulli",
      "bernoulli:LOW,HIGH,P",
      3,
      { { "LOW", FIELD_TIME }, { "HIGH", FIELD_TIME }, { "P", FIELD_CHANCE } },
      make_bernoulli },
    { "uniform",
      "uniform:LOW,HIGH",
      2,
      { { "LOW", FIELD_TIME }, { "HIGH", FIELD_TIME } },
      make_uniform },
    { "lognormal",
      "lognormal:MEAN,CV",
      2,
      { { "MEAN", FIELD_TIME }, { "CV", FIELD_CV } },
      make_lognormal },
};

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

/* Read a number of a law or, with form NULL, a number that stands alone. */
static enum cleave_status read_field(const struct form *form, unsigned which,
                                     const char *text, size_t length, double *out,
                                     struct cleave_error *err)
{
    const struct range *range =
        &ranges[form == NULL ? FIELD_TIME : form->field[which].kind];
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
    return cv_fail(err, CLEAVE_EINPUT, "%s of %s: %s, got '%s'", form->field[which].name,
                   form->usage, expected, shown);
}

static bool starts_number(char c)
{
    return c == '+' || c == '-' || c == '.' || (c >= '0' && c <= '9');
}

static enum cleave_status read_fields(const struct form *form, const char *text,
                                      const char *fields, double *out,
                                      struct cleave_error *err)
{
    unsigned commas = 0;

    for (const char *c = fields; *c != '\0'; c++)
        commas += *c == ',';
    if (commas + 1 != form->nfields)
        return fail_form(form, text, err);
    for (unsigned i = 0; i < form->nfields; i++) {
        size_t length = strcspn(fields, ",");

        CV_TRY(read_field(form, i, fields, length, &out[i], err));
        fields += length + (fields[length] == ',');
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
        CV_TRY(read_field(NULL, 0, text, strlen(text), field, err));
        *out = make_constant(field);
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
    if ((form->make == make_uniform || form->make == make_bernoulli) &&
        field[0] > field[1])
        return cv_fail(err, CLEAVE_EINPUT, "%s: expected LOW at most HIGH, got '%s'",
                       form->usage, text);
    *out = form->make(field);
    return CLEAVE_OK;
}
