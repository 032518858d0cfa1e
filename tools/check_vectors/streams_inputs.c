/* streams_inputs.c -- inputs that cases of several data streams share.
 * SPDX-License-Identifier: MIT */
#include "streams_inputs.h"

double *case_room(struct vector_case *c, size_t count)
{
    double *room = cv_array(c->arena, count, sizeof *room);

    if (room == NULL)
        case_fail(c, "out of memory");
    return room;
}

bool case_stream_worker(struct vector_case *c, const struct json *value,
                        struct cleave_worker *out)
{
    enum { FIELDS = 6 };
    double numbers[FIELDS];
    struct cleave_platform *platform = NULL;
    struct cleave_error err;

    if (value == NULL || value->kind != JSON_LIST || value->count != FIELDS) {
        case_fail(c, "input: expected a worker as a list of six numbers");
        return false;
    }
    for (size_t i = 0; i < FIELDS; i++) {
        if (value->items[i].kind != JSON_NUMBER) {
            case_fail(c, "input: expected a worker as a list of six numbers");
            return false;
        }
        numbers[i] = value->items[i].number;
    }
    *out = (struct cleave_worker){ numbers[0], numbers[1], numbers[2],
                                   numbers[3], numbers[4], numbers[5] };
    if (cleave_platform_new(CLEAVE_PORT_ONE, out, 1, &platform, &err) != CLEAVE_OK) {
        case_fail(c, "input: %s: %s", err.field, err.text);
        return false;
    }
    cleave_platform_free(platform);
    return true;
}

/* A number for all workers or a list of one per worker; NULL when it is not listed. */
static const double *per_worker(struct vector_case *c, const char *name, uint32_t n)
{
    const struct json *value = json_get(c->in, name);
    double *list;
    size_t count;

    if (value == NULL)
        return NULL;
    if (value->kind == JSON_LIST) {
        list = case_numbers(c, name, &count);
        if (list != NULL && count != n)
            case_fail(c, "input %s: expected one number per worker", name);
        return list;
    }
    list = case_room(c, n);
    for (uint32_t w = 0; list != NULL && w < n; w++)
        list[w] = case_number(c, name);
    return list;
}

struct cv_stream_ring case_ring(struct vector_case *c)
{
    const struct json *value = json_get(c->in, "workers");
    const struct cv_stream_ring none = { 0 };
    struct cv_stream_ring ring = { 0 };
    struct cleave_worker *workers;

    if (value == NULL || value->kind != JSON_LIST || value->count == 0) {
        case_fail(c, "input workers: expected a list");
        return none;
    }
    workers = cv_array(c->arena, value->count, sizeof *workers);
    if (workers == NULL) {
        case_fail(c, "out of memory");
        return none;
    }
    for (size_t w = 0; w < value->count; w++)
        if (!case_stream_worker(c, &value->items[w], &workers[w]))
            return none;
    ring.workers = workers;
    ring.n = (uint32_t)value->count;
    ring.result_ratio = case_number(c, "rho");
    ring.tau_s = case_has(c, "tau") ? case_number(c, "tau") : 0;
    ring.theta = per_worker(c, "theta", ring.n);
    ring.margin = per_worker(c, "lam", ring.n);
    return c->result == CASE_PASSED ? ring : none;
}
