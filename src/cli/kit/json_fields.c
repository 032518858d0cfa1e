/* json_fields.c -- members of a JSON object, key and value at once.
 * SPDX-License-Identifier: MIT */
#include "cli/kit/json_fields.h"

#include "cli/kit/output.h"

static void put_key(struct cv_json *json, const char *key)
{
    if (key != NULL)
        cv_json_key(json, key);
}

void cv_field_object(struct cv_json *json, const char *key)
{
    put_key(json, key);
    cv_json_object(json);
}

void cv_field_list(struct cv_json *json, const char *key)
{
    put_key(json, key);
    cv_json_list(json);
}

void cv_field_line(struct cv_json *json, const char *key)
{
    put_key(json, key);
    cv_json_on_line(json);
    cv_json_object(json);
}

void cv_field_text(struct cv_json *json, const char *key, const char *text)
{
    put_key(json, key);
    cv_json_text(json, text);
}

void cv_field_number(struct cv_json *json, const char *key, double value)
{
    put_key(json, key);
    cv_json_number(json, value);
}

void cv_field_count(struct cv_json *json, const char *key, uint64_t value)
{
    put_key(json, key);
    cv_json_count(json, value);
}

void cv_field_bool(struct cv_json *json, const char *key, bool value)
{
    put_key(json, key);
    cv_json_bool(json, value);
}

void cv_result_open(struct cv_json *json)
{
    cv_json_init(json, stdout, true);
    cv_json_object(json);
}

int cv_result_close(struct cv_json *json)
{
    cv_json_end(json);
    return cv_json_close(json) ? CV_EXIT_DONE : CV_EXIT_FAILED;
}
