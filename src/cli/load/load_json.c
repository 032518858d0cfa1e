/* load_json.c -- plans and simulations as JSON on stdout. SPDX-License-Identifier: MIT */
#include "cli/load/load_json.h"

#include "cli/common/output.h"
#include "cli/load/plan_text.h"

void cv_field_bound(struct cv_json *json, const char *key,
                    const struct cleave_bound *bound)
{
    cv_field_line(json, key);
    cv_field_text(json, "name", bound->name);
    cv_field_number(json, "value", bound->value_s);
    cv_json_end(json);
}

void cv_field_times(struct cv_json *json, const char *key,
                    const struct cleave_stats *stats)
{
    cv_field_object(json, key);
    cv_field_stats(json, stats);
    cv_json_end(json);
}

void cv_field_load(struct cv_json *json, double units, double lifespan_s,
                   double result_ratio)
{
    cv_field_number(json, lifespan_s > 0 ? "work" : "load", units);
    if (lifespan_s > 0)
        cv_field_number(json, "lifespan", lifespan_s);
    if (result_ratio > 0)
        cv_field_number(json, "result_ratio", result_ratio);
}

static void json_chunk(struct cv_json *json, const struct cleave_chunk *chunk,
                       const struct cleave_platform *platform)
{
    cv_field_line(json, NULL);
    cv_field_text(json, "worker", cleave_platform_worker_name(platform, chunk->worker));
    cv_field_count(json, "round", chunk->round);
    cv_field_number(json, "units", chunk->units);
    cv_field_number(json, "send_start", chunk->send_start_s);
    cv_field_number(json, "send_end", chunk->send_end_s);
    cv_field_number(json, "compute_start", chunk->compute_start_s);
    cv_field_number(json, "compute_end", chunk->compute_end_s);
    cv_field_number(json, "return_start", chunk->return_start_s);
    cv_field_number(json, "return_end", chunk->return_end_s);
    cv_json_end(json);
}

int cv_plan_json(const struct cleave_schedule *schedule,
                 const struct cleave_platform *platform, const struct cv_price *price,
                 uint64_t seed)
{
    struct cv_json json;

    cv_result_open(&json);
    cv_field_text(&json, "policy", schedule->policy);
    cv_field_text(&json, "picked", schedule->picked);
    cv_field_text(&json, "why", schedule->why);
    cv_field_load(&json, schedule->load, schedule->lifespan_s, schedule->result_ratio);
    cv_field_count(&json, "seed", seed);
    cv_field_number(&json, "makespan", schedule->makespan_s);
    cv_field_number(&json, "utilisation", schedule->utilisation);
    cv_field_count(&json, "rounds", schedule->rounds);
    cv_field_bound(&json, "bound", &schedule->bound);
    cv_field_number(&json, "over_bound", cv_schedule_over(schedule));
    cv_field_bool(&json, "optimal", schedule->optimal);
    cv_field_text(&json, "proved_among", schedule->proved);
    cv_field_list(&json, "bounds");
    for (size_t i = 0; i < schedule->nbounds; i++)
        cv_field_bound(&json, NULL, &schedule->bounds[i]);
    cv_json_end(&json);
    if (schedule->nfacts > 0) {
        cv_field_line(&json, "method");
        for (size_t i = 0; i < schedule->nfacts; i++)
            cv_field_number(&json, schedule->facts[i].name, schedule->facts[i].value);
        cv_json_end(&json);
    }
    cv_price_json(&json, schedule, platform, price);
    cv_field_list(&json, "chunks");
    for (size_t k = 0; k < schedule->nchunks; k++)
        json_chunk(&json, &schedule->chunks[k], platform);
    cv_json_end(&json);
    cv_field_list(&json, "left_out");
    for (size_t i = 0; i < schedule->nleft_out; i++) {
        const struct cleave_left_out *left = &schedule->left_out[i];

        cv_field_line(&json, NULL);
        cv_field_text(&json, "worker",
                      cleave_platform_worker_name(platform, left->worker));
        cv_field_text(&json, "reason", left->reason);
        cv_json_end(&json);
    }
    cv_price_json_left_out(&json, price);
    cv_json_end(&json);
    return cv_result_close(&json);
}
