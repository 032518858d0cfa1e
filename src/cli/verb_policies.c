/* verb_policies.c -- cleave policies. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <cleave/policy.h>
#include "cli/json_fields.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "report/table.h"

struct policies_options {
    int json;
};

/* clang-format off */
static const struct cv_option options[] = {
    { .name = "--json", .value = 1, .offset = offsetof(struct policies_options, json),
      .help = "Write JSON: name, summary, needs, parameters and reference of each." },
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = { { "Output", options }, { NULL, NULL } };

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
    return kind == CLEAVE_PARAM_COUNT ? "count" : "real";
}

static void json_policy(struct cv_json *json, const struct cleave_policy *policy)
{
    cv_field_object(json, NULL);
    cv_field_text(json, "name", policy->name);
    cv_field_text(json, "summary", policy->summary);
    cv_field_list(json, "needs");
    for (size_t i = 0; i < NEEDS; i++) {
        if (policy->needs & needs[i].bit)
            cv_field_text(json, NULL, needs[i].name);
    }
    cv_json_end(json);
    cv_field_list(json, "parameters");
    for (const struct cleave_param *p = policy->params; p != NULL && p->name != NULL;
         p++) {
        cv_field_line(json, NULL);
        cv_field_text(json, "name", p->name);
        cv_field_text(json, "kind", kind_name(p->kind));
        cv_field_number(json, "default", p->preset);
        cv_field_number(json, "least", p->least);
        cv_field_number(json, "most", p->most);
        cv_field_text(json, "summary", p->summary);
        cv_json_end(json);
    }
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

static int show_list(void)
{
    static const struct cv_column columns[] = {
        { "policy", CV_COLUMN_TEXT },
        { "parameters", CV_COLUMN_TEXT },
        { "what it does", CV_COLUMN_TEXT },
    };
    struct cv_text text = { NULL, 0, 0, false };
    const struct cv_screen screen = cv_screen_facts();
    struct cv_table table;

    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < cleave_policy_count(); i++) {
        const struct cleave_policy *policy = cleave_policy_at(i);
        const struct cleave_param *p = policy->params;
        char names[128] = "";
        size_t length = 0;

        for (; p != NULL && p->name != NULL && length < sizeof names; p++)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                       length > 0 ? ", " : "", p->name);
        cv_table_text(&table, policy->name);
        cv_table_text(&table, names);
        cv_table_text(&table, policy->summary);
    }
    cv_table_write(&table, screen.colour, screen.width, &text);
    cv_table_done(&table);
    cv_text_add(&text, "\n'cleave policies NAME' tells more about one.\n");
    return cv_print_take(&text);
}

/* "4", "0.5", "no limit". */
static const char *limit(double value, char buffer[CV_NUMBER_ROOM])
{
    if (value >= UINT32_MAX)
        return "no limit";
    snprintf(buffer, CV_NUMBER_ROOM, "%.6g", value);
    return buffer;
}

static void add_params(const struct cleave_param *param, struct cv_text *text)
{
    static const struct cv_column columns[] = {
        { "parameter", CV_COLUMN_TEXT }, { "default", CV_COLUMN_TEXT },
        { "least", CV_COLUMN_TEXT },     { "most", CV_COLUMN_TEXT },
        { "meaning", CV_COLUMN_TEXT },
    };
    char number[CV_NUMBER_ROOM];
    const struct cv_screen screen = cv_screen_facts();
    struct cv_table table;

    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (; param->name != NULL; param++) {
        cv_table_text(&table, param->name);
        cv_table_text(&table, limit(param->preset, number));
        cv_table_text(&table, limit(param->least, number));
        cv_table_text(&table, limit(param->most, number));
        cv_table_text(&table, param->summary);
    }
    cv_text_add(text, "\n");
    cv_table_write(&table, screen.colour, screen.width, text);
    cv_table_done(&table);
}

static int show_one(const struct cleave_policy *policy)
{
    struct cv_text text = { NULL, 0, 0, false };

    cv_text_add(&text, "%s: %s\n", policy->name, policy->summary);
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

static int run(const struct cv_call *call)
{
    const struct policies_options *values = call->values;
    const struct cleave_policy *only = NULL;
    struct cleave_error err;

    if (call->noperands > 0 &&
        cleave_policy_find(call->operands[0], &only, &err) != CLEAVE_OK)
        return cv_complain_error(&err);
    if (values->json)
        return show_json(only);
    return only != NULL ? show_one(only) : show_list();
}

const struct cv_verb cv_verb_policies = {
    .name = "policies",
    .summary = "list the ways to split a load, and their parameters",
    .description = "Lists the policies that --policy takes. With a name: what that one "
                   "needs, its parameters with their ranges, and where it comes from.",
    .operands = "[NAME]",
    .max_operands = 1,
    .groups = groups,
    .examples = "cleave policies\ncleave policies xmi",
    .values_size = sizeof(struct policies_options),
    .run = run,
};
