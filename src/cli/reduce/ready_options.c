/* ready_options.c -- when partials become ready, as typed. SPDX-License-Identifier: MIT */
#include "cli/reduce/ready_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cli/common/output.h"
#include "io/costs_file.h"
#include "model/ready/ready_times.h"
#include "model/reduce/reduce_costs.h"

static const char *const models[] = {
    [CLEAVE_READY_ABSENT] = "absent",
    [CLEAVE_READY_EARLY] = "early",
    [CLEAVE_READY_MERGE] = "merge",
};

const char *cv_ready_model_name(enum cleave_ready_model model)
{
    return models[model];
}

static int read_model(const char *text, enum cleave_ready_model *out)
{
    char shown[CV_ECHO_ROOM];

    for (int i = CLEAVE_READY_ABSENT; i <= CLEAVE_READY_MERGE; i++)
        if (strcmp(text, models[i]) == 0) {
            *out = (enum cleave_ready_model)i;
            return CV_EXIT_DONE;
        }
    return cv_print_error(CV_EXIT_USAGE,
                          "--ready-model: expected absent, early or merge, got '%s'",
                          cv_echo(text, shown));
}

/* A number, or what has the form of a law; a file of such a name can be called ./NAME. */
static bool is_law(const char *text)
{
    const size_t name = strspn(text, "abcdefghijklmnopqrstuvwxyz");

    if (strcmp(text, "-") == 0)
        return false;
    return strchr("+-.0123456789", text[0]) != NULL
               ? strchr(text, '/') == NULL && text[0] != '\0'
               : name > 0 && text[name] == ':';
}

int cv_ready_read(const struct cv_reduce_options *options, struct cv_reduce_job *out)
{
    struct cleave_error err;
    struct cv_distribution distribution;
    size_t count = 0;
    const uint64_t nodes =
        out->costs != NULL ? cleave_costs_nodes(out->costs) : options->nodes;
    int status = CV_EXIT_DONE;

    if (options->ready_model != NULL)
        status = read_model(options->ready_model, &out->job.ready_model);
    if (status != CV_EXIT_DONE)
        return status;
    if (options->ready == NULL)
        return options->ready_model == NULL
                   ? CV_EXIT_DONE
                   : cv_print_error(
                         CV_EXIT_USAGE,
                         "--ready-model goes with --ready FILE or --ready LAW");
    if (is_law(options->ready)) {
        if (cv_distribution_parse(options->ready, &distribution, &err) != CLEAVE_OK)
            return cv_print_error(CV_EXIT_USAGE, "--ready: %s", err.text);
        out->job.ready = options->ready;
        return CV_EXIT_DONE;
    }
    if (cv_ready_load(options->ready, &out->ready_s, &count, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    if (nodes != 0 && nodes != count)
        return cv_print_error(CV_EXIT_USAGE,
                              "--ready: the file has %zu times, but there are %llu nodes",
                              count, (unsigned long long)nodes);
    out->job.ready_s = out->ready_s;
    if (out->costs == NULL)
        out->job.nodes = (uint32_t)count;
    return CV_EXIT_DONE;
}

bool cv_ready_is_random(const struct cleave_reduction *job)
{
    struct cv_distribution distribution;

    return job->ready != NULL &&
           cv_distribution_parse(job->ready, &distribution, NULL) == CLEAVE_OK &&
           cv_distribution_cv(&distribution) > 0;
}

/* --- what is known ----------------------------------------------------------------------- */

double cv_ready_mean_bound(const struct cleave_reduction *job)
{
    struct cv_distribution ready, d, c;
    struct cv_ready_job equal = { .model = job->ready_model };
    struct cv_ready_steps steps;
    double rate;

    if (cv_distribution_parse(job->ready, &ready, NULL) != CLEAVE_OK)
        return 0;
    if (job->costs != NULL ||
        cv_distribution_parse(job->transfer, &d, NULL) != CLEAVE_OK ||
        cv_distribution_parse(job->compute, &c, NULL) != CLEAVE_OK)
        return cv_distribution_mean(&ready); /* the last is no earlier than the mean */
    equal.d = cv_distribution_mean(&d);
    equal.c = cv_distribution_mean(&c);
    steps = cv_ready_steps(&equal);
    rate = cv_ready_rate(steps.a, steps.b);
    if (!cv_ready_is_exact(&equal))
        return cv_distribution_mean(&ready) + (job->nodes > 1 ? equal.c : 0);
    return cv_distribution_mean(&ready) + (isinf(rate) ? 0 : log(job->nodes) / rate);
}
