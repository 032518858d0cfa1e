/* verb_lists.c -- cleave policies, cleave engines and cleave version. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <cleave/policy.h>
#include <cleave/version.h>
#include "cli/common/job_options.h"
#include "report/terminal/table.h"

struct list_options {
    int json;
};

#define CV_VALUES struct list_options
/* clang-format off */
static const struct cv_option options[] = {
    CV_FLAG(0, "--json", 1, json,
        "Write JSON: name, task, summary, needs, parameters, reference of each."),
};
/* clang-format on */

static const struct {
    unsigned bit;
    const char *name, *text;
} needs[] = {
    { CLEAVE_NEEDS_EQUAL_WORKERS, "equal-workers", "all workers alike" },
    { CLEAVE_NEEDS_MULTI_PORT, "multi-port", "a master with port: multi" },
};

enum { NEEDS = sizeof needs / sizeof *needs };

static const char *kind_name(enum cleave_param_kind kind)
{
    return kind == CLEAVE_PARAM_COUNT  ? "count"
           : kind == CLEAVE_PARAM_TEXT ? "text"
                                       : "real";
}

static const struct {
    const char *name, *heads;
} tasks[] = {
    [CLEAVE_TASK_LOAD] = { "load", "for a load|description [parameters]" },
    [CLEAVE_TASK_REDUCE] = { "reduce", "for a reduction|description [parameters]" },
    [CLEAVE_TASK_ITEMS] = { "items", "for items|description [parameters]" },
    [CLEAVE_TASK_LOADS] = { "loads", "for several loads|description [parameters]" },
};

static void json_policy(struct cv_json *json, const struct cleave_policy *policy)
{
    cv_field_object(json, NULL);
    cv_fields(json, "name %s, task %s, summary %s", policy->name,
              tasks[policy->task].name, policy->summary);
    cv_field_list(json, "needs");
    for (size_t i = 0; i < NEEDS; i++) {
        if (policy->needs & needs[i].bit)
            cv_field_text(json, NULL, needs[i].name);
    }
    cv_json_end(json);
    cv_field_list(json, "parameters");
    for (const struct cleave_param *p = policy->params; p != NULL && p->name != NULL; p++)
        cv_fields(json, "{name %s, kind %s, default %g, least %g, most %g, summary %s}",
                  p->name, kind_name(p->kind), p->preset, p->min, p->max, p->summary);
    cv_json_end(json);
    cv_field_text(json, "reference", policy->reference);
    cv_json_end(json);
}

static int show_json(const struct cleave_policy *only)
{
    struct cv_json json;

    cv_result_open(&json);
    cv_field_list(&json, "policies");
    for (size_t i = 0; i < cleave_policy_count(); i++) {
        if (only == NULL || only == cleave_policy_at(i))
            json_policy(&json, cleave_policy_at(i));
    }
    cv_json_end(&json);
    return cv_result_close(&json);
}

/* The name, and "summary [rounds, min_chunk]". */
static void add_summary(const struct cleave_policy *policy, struct cv_table *table)
{
    const struct cleave_param *p = policy->params;
    struct cv_text text = { NULL, 0, 0, false };

    cv_text_add(&text, "%s", policy->summary);
    for (; p != NULL && p->name != NULL; p++)
        cv_text_add(&text, "%s%s", p == policy->params ? " [" : ", ", p->name);
    if (policy->params != NULL && policy->params->name != NULL)
        cv_text_add(&text, "]");
    table->failed = table->failed || text.failed;
    cv_table_add(table, "%s %s", policy->name, text.bytes != NULL ? text.bytes : "");
    cv_text_done(&text);
}

static int show_list(void)
{
    struct cv_text text = { NULL, 0, 0, false };
    const struct cv_screen screen = cv_screen_facts();

    for (size_t t = 0; t < sizeof tasks / sizeof *tasks; t++) {
        struct cv_table table;

        cv_table_init(&table, tasks[t].heads);
        for (size_t i = 0; i < cleave_policy_count(); i++)
            if ((size_t)cleave_policy_at(i)->task == t)
                add_summary(cleave_policy_at(i), &table);
        cv_table_take(&table, screen.colour, screen.width, &text);
        cv_text_add(&text, "\n");
    }
    cv_text_add(&text, "'cleave policies NAME' tells more about one.\n");
    return cv_print_take(&text);
}

/* "4", "0.5", "no limit"; "-" for a word. */
static const char *limit(const struct cleave_param *param, double value,
                         char buffer[CV_NUMBER_ROOM])
{
    if (param->kind == CLEAVE_PARAM_TEXT)
        return "-";
    if (value >= UINT32_MAX)
        return "no limit";
    snprintf(buffer, CV_NUMBER_ROOM, "%.6g", value);
    return buffer;
}

static void add_params(const struct cleave_param *param, struct cv_text *text)
{
    char preset[CV_NUMBER_ROOM], min[CV_NUMBER_ROOM], max[CV_NUMBER_ROOM];
    const struct cv_screen screen = cv_screen_facts();
    struct cv_table table;

    cv_table_init(&table, "parameter|default|least|most|meaning");
    for (; param->name != NULL; param++)
        cv_table_add(&table, "%s %s %s %s %s", param->name,
                     limit(param, param->preset, preset), limit(param, param->min, min),
                     limit(param, param->max, max), param->summary);
    cv_text_add(text, "\n");
    cv_table_take(&table, screen.colour, screen.width, text);
}

static int show_one(const struct cleave_policy *policy)
{
    struct cv_text text = { NULL, 0, 0, false };

    cv_text_add(&text, "%s: %s\n", policy->name, policy->summary);
    if (policy->task == CLEAVE_TASK_REDUCE)
        cv_text_add(&text, "combines   %s\n",
                    policy->keeps_order ? "neighbours only: the order is kept"
                                        : "in any order");
    for (size_t i = 0; i < NEEDS; i++) {
        if (policy->needs & needs[i].bit)
            cv_text_add(&text, "needs      %s\n", needs[i].text);
    }
    if (policy->reference != NULL)
        cv_text_add(&text, "reference  %s\n", policy->reference);
    if (policy->params != NULL && policy->params->name != NULL)
        add_params(policy->params, &text);
    else
        cv_text_add(&text, "parameters none\n");
    return cv_print_take(&text);
}

static const char *policy_name(const void *context, size_t index)
{
    (void)context;
    return cleave_policy_at(index)->name;
}

static int run(const struct cv_call *call)
{
    const struct list_options *values = call->values;
    const struct cleave_policy *only = NULL;
    size_t index = 0;

    if (call->noperands > 0) {
        CV_DO(cv_name_find("unknown policy", call->operands[0], cleave_policy_count(),
                           policy_name, NULL, &index));
        only = cleave_policy_at(index);
    }
    if (values->json)
        return show_json(only);
    return only != NULL ? show_one(only) : show_list();
}

const struct cv_verb cv_verb_policies = {
    .name = "policies",
    .summary = "list the ways to share out and to reduce, with parameters",
    .description = "Lists the policies that --policy takes. With a name: what that one "
                   "needs, its parameters with their ranges, and where it comes from.",
    .operands = "[NAME]",
    .max_operands = 1,
    .groups = CV_GROUPS(CV_GROUP("Output", options)),
    .examples = "cleave policies\ncleave policies greedy",
    .values_size = sizeof(struct list_options),
    .run = run,
};

/* clang-format off */
static const struct cv_option engines_table[] = {
    CV_FLAG(0, "--json", 1, json, "Write JSON: name, built and summary of each engine."),
};
/* clang-format on */

static int engines_show_json(void)
{
    struct cv_json json;

    cv_result_open(&json);
    cv_field_list(&json, "engines");
    for (size_t i = 0; i < CV_ENGINES; i++)
        cv_fields(&json, "{name %s, built %d, summary %s}", cv_engines[i].name,
                  cv_engine_is_here(&cv_engines[i]), cv_engines[i].summary);
    cv_json_end(&json);
    return cv_result_close(&json);
}

static int engines_run(const struct cv_call *call)
{
    const struct list_options *values = call->values;
    struct cv_text text = { NULL, 0, 0, false };
    const struct cv_screen screen = cv_screen_facts();
    struct cv_table table;

    if (values->json)
        return engines_show_json();
    cv_table_init(&table, "engine|state|description");
    for (size_t i = 0; i < CV_ENGINES; i++)
        cv_table_add(&table, "%s %s %s", cv_engines[i].name,
                     cv_engine_is_here(&cv_engines[i]) ? "here" : "missing",
                     cv_engines[i].summary);
    cv_table_take(&table, screen.colour, screen.width, &text);
    return cv_print_take(&text);
}

const struct cv_verb cv_verb_engines = {
    .name = "engines",
    .summary = "list the engines that simulate or run a schedule",
    .description =
        "Lists the engines that --engine takes, and whether they are installed. simgrid "
        "is a separate program, cleave-simgrid, which is built if SimGrid is installed.",
    .groups = CV_GROUPS(CV_GROUP("Output", engines_table)),
    .examples = "cleave engines",
    .values_size = sizeof(struct list_options),
    .run = engines_run,
};

/* clang-format off */
static const struct cv_option version_options[] = {
    CV_FLAG(0, "--json", 1, json, "Write JSON."),
};
/* clang-format on */

static int version_run(const struct cv_call *call)
{
    const struct list_options *values = call->values;

    if (values->json)
        printf("{\"version\": \"%s\"}\n", cleave_version());
    else
        printf("cleave %s\n", cleave_version());
    return CV_EXIT_DONE;
}

const struct cv_verb cv_verb_version = {
    .name = "version",
    .summary = "show the version",
    .description = "Shows the version of the program. 'cleave --version' does the same.",
    .groups = CV_GROUPS(CV_GROUP("Output", version_options)),
    .examples = "cleave version",
    .values_size = sizeof(struct list_options),
    .run = version_run,
};
