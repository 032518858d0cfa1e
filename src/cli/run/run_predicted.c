/* run_predicted.c -- what was predicted of a run, and why it came otherwise.
 * SPDX-License-Identifier: MIT
 *
 * A prediction is the plan for the declared costs, from when hosts are ready. Where it was
 * wrong, either the costs were, or the work was shared out otherwise than planned: of the
 * first it is known how much. */
#include <math.h>
#include <string.h>
#include "cli/run/run_report.h"

static const double NEAR = 0.05;  /* a prediction that is wrong by more needs a reason  */
static const double SMALL = 0.02; /* and costs that are wrong by less are none         */

static const struct cleave_worker *declared_of(const struct cleave_platform *platform,
                                               const char *name)
{
    for (uint32_t w = 0; w < cleave_platform_nworkers(platform); w++)
        if (strcmp(cleave_platform_worker_name(platform, w), name) == 0)
            return &cleave_platform_workers(platform)[w];
    return NULL;
}

/* How much longer commands and links took than declared, as a part of it; 0: no links. */
static void compare_costs(const struct cleave_execution_result *result,
                          const struct cleave_platform *platform, double *out_commands,
                          double *out_links)
{
    double busy_s = 0, said_busy_s = 0, sent_s = 0, said_sent_s = 0;

    for (uint32_t w = 0; w < result->nworkers; w++) {
        const struct cleave_worker_result *worker = &result->workers[w];
        const struct cleave_worker *said = declared_of(platform, worker->name);

        if (said == NULL || worker->chunks == 0)
            continue;
        busy_s += worker->busy_s;
        said_busy_s += (double)worker->chunks * said->compute_latency_s +
                       worker->units / said->speed_ups;
        if (!(worker->bandwidth_ups > 0))
            continue;
        sent_s += (double)worker->chunks * worker->link_latency_s +
                  worker->units / worker->bandwidth_ups;
        said_sent_s += (double)worker->chunks * said->latency_s +
                       worker->units / said->bandwidth_ups;
    }
    *out_commands = said_busy_s > 0 ? busy_s / said_busy_s - 1 : 0;
    *out_links = said_sent_s > 0 ? sent_s / said_sent_s - 1 : 0;
}

/* Links that take little of the time explain nothing, however wrong they are. */
static bool links_matter(const struct cleave_execution_result *result)
{
    double busy_s = 0, sent_s = 0;

    for (uint32_t w = 0; w < result->nworkers; w++) {
        const struct cleave_worker_result *worker = &result->workers[w];

        busy_s += worker->busy_s;
        if (worker->bandwidth_ups > 0)
            sent_s += worker->units / worker->bandwidth_ups;
    }
    return sent_s > NEAR * busy_s;
}

static void put_cost(const char *name, double over, FILE *file)
{
    if (over > 1)
        fprintf(file, "%s took %.3g times as long as the platform file says", name,
                over + 1);
    else
        fprintf(file, "%s took %.0f%% %s than the platform file says", name,
                100 * fabs(over), over > 0 ? "longer" : "less");
}

/* Whether costs that are off by `cost` are a reason for a time that is by `over`. */
static bool explains(double cost, double over)
{
    return fabs(cost) > SMALL && (cost > 0) == (over > 0);
}

void cv_run_predicted_text(const struct cleave_execution_result *result,
                           const struct cv_run_report *report, FILE *file)
{
    const double over =
        fmax(0, result->seconds - result->connect_s) / report->predicted_s - 1;
    double commands, links;

    if (!isfinite(over) || fabs(over) <= NEAR || report->platform == NULL ||
        result->failed > 0 || result->left_bytes > 0 || result->resumed > 0)
        return;
    compare_costs(result, report->platform, &commands, &links);
    commands = explains(commands, over) ? commands : 0;
    links = explains(links, over) && links_matter(result) ? links : 0;
    if (over > 1)
        fprintf(file, "cleave: %.3g times as long as predicted: ", over + 1);
    else
        fprintf(file, "cleave: %.0f%% %s than predicted: ", 100 * fabs(over),
                over > 0 ? "longer" : "less");
    if (commands != 0)
        put_cost("commands", commands, file);
    if (commands != 0 && links != 0)
        fprintf(file, ", ");
    if (links != 0)
        put_cost("links", links, file);
    if (commands == 0 && links == 0)
        fprintf(file, "not for the costs in the platform file, but because the input was "
                      "shared out in another way than planned");
    fprintf(file, "\n");
}
