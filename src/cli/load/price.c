/* price.c -- plans for a deadline or a budget, and what plans cost.
 * SPDX-License-Identifier: MIT */
#include "cli/load/price.h"

#include <math.h>

#include "cli/common/output.h"
#include "io/json_out.h"
#include "report/terminal/table.h"

int cv_price_open(const struct cv_load_options *options, const struct cv_load_job *load,
                  struct cv_price *out)
{
    struct cleave_error err;

    *out = (struct cv_price){ { fmax(0, options->deadline_s), fmax(0, options->budget) },
                              load->platform,
                              NULL };
    if (options->deadline_s == 0 || options->budget == 0)
        return cv_print_error(CV_EXIT_USAGE, "%s: expected more than 0",
                              options->budget == 0 ? "--budget" : "--deadline");
    if (options->deadline_s > 0 && options->budget > 0)
        return cv_print_error(CV_EXIT_USAGE, "expected --deadline or --budget, got both");
    if (cleave_rent(&load->job, &out->terms, &out->rental, &err) == CLEAVE_OK)
        return CV_EXIT_DONE;
    if (err.status != CLEAVE_EINPUT)
        return cv_print_status(&err);
    return cv_print_error(CV_EXIT_USAGE, "%s: %s",
                          options->deadline_s > 0 ? "--deadline" : "--budget", err.text);
}

void cv_price_judge(const struct cv_price *price, struct cleave_schedule *schedule)
{
    const struct cleave_rental *rental = price->rental;

    schedule->bound = rental->bound;
    schedule->bounds = &rental->bound;
    schedule->nbounds = 1;
    schedule->proved = NULL;
    schedule->optimal = price->terms.deadline_s > 0
                            ? schedule->cost <= rental->least_cost * (1 + 1e-9)
                            : schedule->makespan_s <= rental->bound.value_s * (1 + 1e-9);
}

size_t cv_price_unpaid(const struct cv_price *price)
{
    return price == NULL ? 0
                         : cleave_platform_nworkers(price->whole) -
                               cleave_platform_nworkers(price->rental->platform);
}

const char *cv_price_unpaid_name(const struct cv_price *price, size_t index)
{
    const uint32_t npaid = cleave_platform_nworkers(price->rental->platform);
    uint32_t next = 0;

    for (uint32_t w = 0; w < cleave_platform_nworkers(price->whole); w++) {
        if (next < npaid && price->rental->workers[next] == w)
            next++;
        else if (index-- == 0)
            return cleave_platform_worker_name(price->whole, w);
    }
    return "";
}

const char *cv_price_unpaid_reason(const struct cv_price *price)
{
    return price->terms.deadline_s > 0
               ? "not paid for: no plan was found that is cheaper with it"
               : "not paid for: no plan was found that is faster with it, for this money";
}

void cv_price_text(const struct cleave_schedule *schedule, const struct cv_price *price,
                   struct cv_text *out)
{
    char number[CV_NUMBER_ROOM];

    if (schedule->paid_s == NULL)
        return;
    cv_text_add(out, "cost      %s", cv_show_number(schedule->cost, number));
    if (price != NULL && price->terms.budget > 0)
        cv_text_add(out, " of %s", cv_show_number(price->terms.budget, number));
    if (price != NULL && price->terms.deadline_s > 0)
        cv_text_add(out, "; none that ends by %s s",
                    cv_show_number(price->terms.deadline_s, number));
    if (price != NULL && price->terms.deadline_s > 0)
        cv_text_add(out, " costs less than %s",
                    cv_show_number(price->rental->least_cost, number));
    cv_text_add(out, "\n");
}

void cv_price_json(struct cv_json *json, const struct cleave_schedule *schedule,
                   const struct cleave_platform *platform, const struct cv_price *price)
{
    if (schedule->paid_s == NULL)
        return;
    cv_field_number(json, "cost", schedule->cost);
    if (price != NULL) {
        const bool deadline = price->terms.deadline_s > 0;

        cv_field_number(json, deadline ? "deadline" : "budget",
                        deadline ? price->terms.deadline_s : price->terms.budget);
        cv_field_line(json, "cost_bound");
        cv_field_text(json, "name", deadline ? "deadline" : "any deadline");
        cv_field_number(json, "value", price->rental->least_cost);
        cv_json_end(json);
    }
    cv_field_list(json, "costs");
    for (uint32_t w = 0; w < cleave_platform_nworkers(platform); w++) {
        if (!(schedule->paid_s[w] > 0))
            continue;
        cv_field_line(json, NULL);
        cv_field_text(json, "worker", cleave_platform_worker_name(platform, w));
        cv_field_number(json, "paid_s", schedule->paid_s[w]);
        cv_field_number(json, "cost",
                        schedule->paid_s[w] * cleave_platform_cost(platform, w));
        cv_json_end(json);
    }
    cv_json_end(json);
}

void cv_price_json_left_out(struct cv_json *json, const struct cv_price *price)
{
    for (size_t i = 0; i < cv_price_unpaid(price); i++) {
        cv_field_line(json, NULL);
        cv_field_text(json, "worker", cv_price_unpaid_name(price, i));
        cv_field_text(json, "reason", cv_price_unpaid_reason(price));
        cv_json_end(json);
    }
}
