/* run_limits.c -- --limit KEY=K: items and records with the same key that run at a time.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "cli/run/run_parts.h"
#include "run/input/record_weight.h"

struct keyed {
    const char *value;
    uint64_t item;
};

static int by_value(const void *left, const void *right)
{
    return strcmp(((const struct keyed *)left)->value,
                  ((const struct keyed *)right)->value);
}

/* The column that the first `length` bytes name, by its number or by the first row of the list; 0: they
 * are a field of JSON objects. */
static int find_column(const struct cv_item_commands *commands, const char *text,
                       size_t length, size_t *out)
{
    char *end = NULL;

    *out = 0;
    if (text[0] == '.')
        return CV_EXIT_DONE;
    *out = strtoul(text, &end, 10);
    if (end == text + length && text[0] >= '1' && text[0] <= '9')
        return CV_EXIT_DONE;
    for (*out = 1; *out <= commands->nnames; (*out)++)
        if (strlen(commands->names[*out - 1]) == length &&
            strncmp(commands->names[*out - 1], text, length) == 0)
            return CV_EXIT_DONE;
    return cv_refuse(
        "--limit: expected COLUMN=K, .FIELD=K or NAME=K, with the names of --header :, "
        "got '%s'",
        CV_ECHO(text));
}

/* Read KEY=K. */
static int parse_limit(const char *text, size_t *key_length, uint32_t *max)
{
    const char *is = strrchr(text, '=');
    char *end;

    if (is == NULL || is == text || is[1] < '1' || is[1] > '9' || strlen(is) > 8 ||
        (*max = (uint32_t)strtoul(is + 1, &end, 10)) == 0 || *end != '\0')
        return cv_refuse("--limit: expected KEY=K such as 'host=2' or '1=3', got '%s'",
                         CV_ECHO(text));
    *key_length = (size_t)(is - text);
    return CV_EXIT_DONE;
}

static int copy_value(const struct cv_item_arguments *arguments, uint64_t item,
                      const struct cv_item_key *key, struct cv_text *out)
{
    const size_t at = key->column > 0 ? key->column - 1 : 0;
    const char *text = at < arguments->count ? arguments->items[at] : "";
    struct cv_key_text found = { text, strlen(text) };

    if (key->column > arguments->count && !key->optional)
        return cv_refuse("%s: item %llu has no column %zu; --colsep sets the separator",
                         key->option, (unsigned long long)item + 1, key->column);
    if (key->column == 0 &&
        (!cv_weight_find_field(text, strlen(text), key->field, &found) ||
         (found.length == 0 && !key->optional)))
        return cv_refuse("%s: item %llu: expected a JSON object with %s, got '%s'",
                         key->option, (unsigned long long)item + 1, CV_ECHO(key->field),
                         CV_ECHO(text));
    cv_text_add(out, "%.*s", (int)found.length, found.bytes);
    return out->failed ? cv_no_memory(key->option) : CV_EXIT_DONE;
}

int cv_item_value(const struct cv_item_commands *commands, uint64_t item,
                  const struct cv_item_key *key, struct cv_text *out)
{
    struct cv_item_arguments arguments = { .items = NULL };
    struct cleave_error err;
    const int status =
        cv_item_arguments_get(commands, item, &arguments, &err) == CLEAVE_OK
            ? copy_value(&arguments, item, key, out)
            : cv_print_status(&err);

    cv_item_arguments_done(&arguments);
    return status;
}

static int read_limit(const struct cv_call *call, const struct cv_item_commands *commands,
                      const char *text, struct cleave_limit *out)
{
    const uint64_t count = commands->count;
    struct keyed *values = cv_need(call->arena, (size_t)count, sizeof *values, "--limit");
    uint32_t *keys = cv_need(call->arena, (size_t)count, sizeof *keys, "--limit");
    char *field = cv_need_text(call->arena, text, "--limit");
    struct cv_item_key key = { "--limit", 0, field, false };
    size_t length = 0;

    *out = (struct cleave_limit){ .keys = keys };
    CV_DO(parse_limit(text, &length, &out->max));
    CV_DO(find_column(commands, text, length, &key.column));
    field[length] = '\0';
    for (uint64_t i = 0; i < count; i++) {
        struct cv_text value = { NULL, 0, 0, false };

        CV_DO(cv_item_value(commands, i, &key, &value));
        values[i] = (struct keyed){ cv_text_take(&value, call->arena), i };
        if (values[i].value == NULL)
            return cv_no_memory("--limit");
    }
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

int cv_run_limits_read(const struct cv_call *call, struct cleave_input *out)
{
    const struct cv_strings *texts =
        &((const struct cv_run_options *)call->values)->limits;
    struct cleave_key_limit *limits =
        cv_need(call->arena, texts->count, sizeof *limits, "--limit");

    for (size_t i = 0; i < texts->count; i++) {
        size_t length = 0;

        CV_DO(parse_limit(texts->items[i], &length, &limits[i].max));
        limits[i].key = cv_arena_print(call->arena, "%.*s", (int)length, texts->items[i]);
        if (limits[i].key == NULL)
            return cv_no_memory("--limit");
    }
    out->limits = limits;
    out->nlimits = texts->count;
    return CV_EXIT_DONE;
}
