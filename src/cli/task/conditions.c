/* conditions.c -- undeclared effects of simulated runs. SPDX-License-Identifier: MIT */
#include "base/quantity.h"
#include "cli/task/load_task.h"
#include "engine/rate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A worker by its name, else by its number. False: there is none. */
static bool find_worker(const struct cleave_platform *platform, const char *name,
                        size_t length, uint32_t *out)
{
    const uint32_t n = cleave_platform_nworkers(platform);
    uint64_t number = 0;

    for (uint32_t w = 0; w < n; w++) {
        const char *own = cleave_platform_worker_name(platform, w);

        if (strlen(own) == length && memcmp(own, name, length) == 0) {
            *out = w;
            return true;
        }
    }
    for (size_t i = 0; i < length && number < n; i++) {
        if (name[i] < '0' || name[i] > '9')
            return false;
        number = 10 * number + (uint64_t)(name[i] - '0');
    }
    *out = (uint32_t)number;
    return length > 0 && number < n;
}

static int read_hang(const char *text, const struct cleave_platform *platform,
                     struct cleave_hang *out)
{
    const char *at = strrchr(text, '@');
    const char *fault;

    if (at == NULL)
        return cv_refuse("--hang: expected WORKER@TIME, got '%s'", CV_ECHO(text));
    if (!find_worker(platform, text, (size_t)(at - text), &out->worker))
        return cv_refuse("--hang: expected the name of a worker or its number from 0 to "
                         "%u before the @, got '%s'",
                         cleave_platform_nworkers(platform) - 1, CV_ECHO(text));
    fault = cv_quantity_parse(at + 1, CV_SECONDS, &out->time_s);
    if (fault != NULL || !(out->time_s >= 0))
        return cv_refuse("--hang: %s, got '%s'",
                         fault != NULL ? fault : "expected a time of 0 or more",
                         CV_ECHO(at + 1));
    return CV_EXIT_DONE;
}

static int read_hangs(const struct cv_task_call *task,
                      const struct cv_task_options *options,
                      const struct cleave_platform *platform,
                      struct cleave_conditions *out)
{
    const size_t count = options->hangs.count;
    struct cleave_hang *hangs =
        cv_need(task->arena, count, sizeof *hangs, "the workers that hang");

    for (size_t i = 0; i < count; i++)
        CV_DO(read_hang(options->hangs.items[i], platform, &hangs[i]));
    out->hangs = hangs;
    out->nhangs = count;
    out->timeout_s = options->host_timeout_s;
    return CV_EXIT_DONE;
}

/* Whether the worker has the name, as it is or with a number after a point. */
static bool has_name(const char *worker, const char *name)
{
    const size_t length = strlen(name);

    return strcmp(name, "*") == 0 || (strncmp(worker, name, length) == 0 &&
                                      (worker[length] == '\0' || worker[length] == '.'));
}

/* The workers of one name that follow one another and have no rate yet. */
static int read_rates(struct cv_task_call *task, const struct cv_task_options *options,
                      const struct cleave_platform *platform,
                      struct cleave_conditions *out)
{
    const uint32_t n = cleave_platform_nworkers(platform);
    char *rest = cv_need_text(task->arena, options->rates, "the rates"), *name;
    struct cleave_rate *rates = cv_need(task->arena, n, sizeof *rates, "the rates");
    bool *rated = cv_need(task->arena, n, sizeof *rated, "the rates");

    while ((name = strsep(&rest, ",")) != NULL) {
        struct cleave_rate rate = { .count = 0 };
        char *text = strchr(name, '@');

        if (text != NULL)
            *text++ = '\0';
        if (text == NULL || !cv_rate_parse(text, &rate) ||
            (!rate.by_weight && rate.amount < 1))
            return cv_refuse(
                "--rates: expected NAME@N/TIME such as 'api@60/min', got '%s%s%s'",
                CV_ECHO(name), text != NULL ? "@" : "",
                text != NULL ? CV_ECHO(text) : "");
        while (rate.first < n &&
               (rated[rate.first] ||
                !has_name(cleave_platform_worker_name(platform, rate.first), name)))
            rate.first++;
        while (rate.first + rate.count < n && !rated[rate.first + rate.count] &&
               has_name(cleave_platform_worker_name(platform, rate.first + rate.count),
                        name))
            rated[rate.first + rate.count++] = true;
        if (rate.count == 0)
            return cv_refuse("--rates: no worker without a rate is called '%s'",
                             CV_ECHO(name));
        for (uint32_t w = rate.first + rate.count; w < n; w++)
            if (!rated[w] && has_name(cleave_platform_worker_name(platform, w), name))
                return cv_refuse("--rates: workers '%s' do not follow one another in the "
                                 "platform; expected a rate for each part",
                                 CV_ECHO(name));
        rates[out->nrates++] = rate;
    }
    out->rates = rates;
    return CV_EXIT_DONE;
}

/* As they are typed. */
static char *conditions_words(const struct cv_task_call *task,
                              const struct cv_task_options *options)
{
    struct cv_text words = { NULL, 0, 0, false };

    if (options->answers_s > 0)
        cv_text_add(&words, ", answers after %s s", CV_SHOW_NUMBER(options->answers_s));
    if (options->stalls != NULL)
        cv_text_add(&words, ", stalls %s", CV_ECHO(options->stalls));
    for (size_t i = 0; i < options->hangs.count; i++)
        cv_text_add(&words, ", hang %s", CV_ECHO(options->hangs.items[i]));
    if (options->cost_law != NULL)
        cv_text_add(&words, ", costs %s", CV_ECHO(options->cost_law));
    if (options->rates != NULL)
        cv_text_add(&words, ", rates %s", CV_ECHO(options->rates));
    if (options->copies)
        cv_text_add(&words, ", copies");
    return words.length > 0 || words.failed ? cv_text_take(&words, task->arena) : NULL;
}

int cv_conditions_read(struct cv_task_call *task, const struct cv_task_options *options,
                       struct cv_load_job *load)
{
    struct cleave_conditions *out = &task->trial.conditions;
    struct cleave_error err;

    *out = (struct cleave_conditions){ .answers_s = options->answers_s };
    if (options->stalls != NULL &&
        cleave_stalls_parse(options->stalls, &out->stalls, &err) != CLEAVE_OK)
        return cv_refuse("--stalls: %s", err.text);
    if (options->cost_law != NULL &&
        cleave_cost_law_parse(options->cost_law, &out->costs, &err) != CLEAVE_OK)
        return cv_refuse("--cost-law: %s", err.text);
    if (options->hangs.count > 0)
        CV_DO(read_hangs(task, options, load->platform, out));
    if (options->rates != NULL)
        CV_DO(read_rates(task, options, load->platform, out));
    load->job.copies = options->copies != 0;
    load->conditions = conditions_words(task, options);
    if (load->conditions != NULL)
        load->conditions += strlen(", ");
    return CV_EXIT_DONE;
}

bool cv_conditions_vary(const struct cleave_conditions *conditions)
{
    return conditions->stalls.every_s > 0 || conditions->costs.kind != CLEAVE_COST_EVEN;
}
