/* json_fields.h -- members of a JSON object, key and value at once.
 * SPDX-License-Identifier: MIT
 *
 * With key NULL the value is an element of a list. */
#ifndef CV_JSON_FIELDS_H
#define CV_JSON_FIELDS_H
#include "io/json_out.h"

void cv_field_object(struct cv_json *json, const char *key);
void cv_field_list(struct cv_json *json, const char *key);
/* An object that is written on one line. */
void cv_field_line(struct cv_json *json, const char *key);
void cv_field_text(struct cv_json *json, const char *key, const char *text);
void cv_field_number(struct cv_json *json, const char *key, double value);
void cv_field_count(struct cv_json *json, const char *key, uint64_t value);
void cv_field_bool(struct cv_json *json, const char *key, bool value);

/* Begin the object that is the whole result, on stdout; end it. Ending returns an exit
 * status; why a write failed is told when stdout is closed. */
void cv_result_open(struct cv_json *json);
int cv_result_close(struct cv_json *json);

#endif
