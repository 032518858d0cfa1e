/* run_limits.c -- --limit KEY=K: items with the same key that run at a time.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "cli/run/run_parts.h"

struct keyed {
    const char *value;
    uint64_t item;
};

static int by_value(const void *left, const void *right)
{
    return strcmp(((const struct keyed *)left)->value,
                  ((const struct keyed *)right)->value);
}

/* The column that the first `length` bytes name, by its number or by the first row of the list. */
static int find_column(const struct cv_item_commands *commands, const char *text,
                       size_t length, size_t *out)
{
    char *end = NULL;

    *out = strtoul(text, &end, 10);
    if (end == text + length && text[0] >= '1' && text[0] <= '9')
        return CV_EXIT_DONE;
    for (*out = 1; *out <= commands->nnames; (*out)++)
        if (strlen(commands->names[*out - 1]) == length &&
            strncmp(commands->names[*out - 1], text, length) == 0)
            return CV_EXIT_DONE;
    return cv_refuse(
        "--limit: expected COLUMN=K or NAME=K, with the names of --header :, "
        "got '%s'",
        CV_ECHO(text));
}

static int read_limit(const struct cv_call *call, const struct cv_item_commands *commands,
                      const char *text, struct cleave_limit *out)
{
    const uint64_t count = commands->count;
    struct keyed *values = cv_need(call->arena, (size_t)count, sizeof *values, "--limit");
    uint32_t *keys = cv_need(call->arena, (size_t)count, sizeof *keys, "--limit");
    struct cv_item_arguments arguments = { .items = NULL };
    const char *max = strrchr(text, '=');
    struct cleave_error err;
    int status = CV_EXIT_DONE;
    size_t column;
    char *end = NULL;

    *out = (struct cleave_limit){ .keys = keys };
    if (max == NULL || max[1] < '1' || max[1] > '9' || strlen(max) > 8 ||
        (out->max = (uint32_t)strtoul(max + 1, &end, 10)) == 0 || *end != '\0')
        return cv_refuse("--limit: expected KEY=K such as 'host=2' or '1=3', got '%s'",
                         CV_ECHO(text));
    CV_DO(find_column(commands, text, (size_t)(max - text), &column));
    for (uint64_t i = 0; i < count && status == CV_EXIT_DONE; i++) {
        if (cv_item_arguments_get(commands, i, &arguments, &err) != CLEAVE_OK)
            status = cv_print_status(&err);
        else if (column > arguments.count)
            status = cv_refuse(
                "--limit: item %llu has no column %zu; --colsep sets where columns end",
                (unsigned long long)i + 1, column);
        else
            values[i] = (struct keyed){
                cv_need_text(call->arena, arguments.items[column - 1], "--limit"), i
            };
    }
    cv_item_arguments_done(&arguments);
    if (status != CV_EXIT_DONE)
        return status;
    qsort(values, (size_t)count, sizeof *values, by_value);
    for (uint64_t i = 0; i < count; i++) {
        out->nkeys += i == 0 || strcmp(values[i - 1].value, values[i].value) != 0;
        keys[values[i].item] = out->nkeys - 1;
    }
    return CV_EXIT_DONE;
}

int cv_run_limits_fill(const struct cv_call *call,
                       const struct cv_item_commands *commands, struct cleave_items *out)
{
    const struct cv_strings *texts =
        &((const struct cv_run_options *)call->values)->limits;
    struct cleave_limit *limits;

    if (texts->count == 0 || commands->count == 0)
        return CV_EXIT_DONE;
    if (commands->per != 1)
        return cv_refuse(
            "--limit: a command gets several items, which may have several keys; "
            "expected -n 1");
    limits = cv_need(call->arena, texts->count, sizeof *limits, "--limit");
    for (size_t i = 0; i < texts->count; i++)
        CV_DO(read_limit(call, commands, texts->items[i], &limits[i]));
    out->limits = limits;
    out->nlimits = texts->count;
    return CV_EXIT_DONE;
}
