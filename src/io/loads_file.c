/* loads_file.c -- several loads from a jobs file. SPDX-License-Identifier: MIT */
#include "io/loads_file.h"

#include <stdlib.h>
#include <string.h>
#include "io/input.h"
#include "io/reading.h"

enum { FILE_MOST = 64 << 20 }; /* bytes */

struct reader {
    struct cv_reading in;
    uint32_t nworkers;
    struct cleave_load *loads; /* owned */
    unsigned *lines;           /* owned: lines of the names */
    size_t count, capacity, nlines;
    struct cleave_load load; /* the one that is being read, ... */
    double *compute;         /* its costs, and how many were given */
    uint32_t ncosts;
};

enum field { NAME, UNITS, WEIGHT, RELEASE, COMPUTE, TRANSFER, NFIELDS };

static const char *const fields[NFIELDS] = { "name",    "units",   "weight",
                                             "release", "compute", "transfer" };

static enum cleave_status take_name(struct reader *reader, const struct cv_token *token,
                                    struct cleave_load *load)
{
    CV_TRY(cv_read_text(&reader->in, token, true, &load->name));
    for (size_t i = 0; i < reader->count; i++)
        if (strcmp(reader->loads[i].name, load->name) == 0)
            return cv_read_refuse(&reader->in, token,
                                  "expected another name: '%s' is the load of line %u",
                                  load->name, reader->lines[i]);
    if (!CV_ROOM(reader->lines, &reader->nlines, reader->count + 1))
        return cv_fail_memory(reader->in.err, "the loads");
    reader->lines[reader->count] = token->line;
    return CLEAVE_OK;
}

static enum cleave_status take_cost(void *context, size_t index,
                                    const struct cv_token *token)
{
    struct reader *reader = context;

    if (index == reader->nworkers)
        return cv_read_fail(&reader->in, token,
                            "expected one number per worker, no more");
    reader->ncosts = (uint32_t)index + 1;
    return cv_read_ranged(&reader->in, token, CV_NUMBER, true, &reader->compute[index]);
}

/* A number for all workers, or a list with one for each. */
static enum cleave_status take_compute(struct reader *reader,
                                       const struct cv_token *token)
{
    struct cv_reading *in = &reader->in;

    if (token->node != CV_NODE_LIST) {
        CV_TRY(cv_read_ranged(in, token, CV_NUMBER, true, &reader->compute[0]));
        for (uint32_t i = 1; i < reader->nworkers; i++)
            reader->compute[i] = reader->compute[0];
        return CLEAVE_OK;
    }
    reader->ncosts = 0;
    CV_TRY(cv_read_list(in, token, "", true, take_cost, reader));
    return reader->ncosts == reader->nworkers
               ? CLEAVE_OK
               : cv_read_refuse(in, token,
                                "expected one number, or %u: one per worker; got %u",
                                reader->nworkers, reader->ncosts);
}

static enum cleave_status take_field(void *context, size_t field,
                                     const struct cv_token *token)
{
    struct reader *reader = context;
    struct cleave_load *load = &reader->load;

    switch (field) {
    case NAME:
        return take_name(reader, token, load);
    case UNITS:
        return cv_read_ranged(&reader->in, token, CV_UNITS, true, &load->units);
    case WEIGHT:
        return cv_read_ranged(&reader->in, token, CV_NUMBER, true, &load->weight);
    case RELEASE:
        return cv_read_ranged(&reader->in, token, CV_SECONDS, false, &load->release_s);
    case COMPUTE:
        return take_compute(reader, token);
    default:
        return cv_read_ranged(&reader->in, token, CV_NUMBER, false, &load->transfer);
    }
}

/* One entry of the list; in.field is its path. */
static enum cleave_status take_load(void *context, size_t number,
                                    const struct cv_token *token)
{
    struct reader *reader = context;
    struct cv_reading *in = &reader->in;
    const struct cv_fields all = { cv_name_in_list, fields, NFIELDS, take_field, reader };
    unsigned seen[NFIELDS] = { 0 };

    reader->compute = cv_array(in->arena, reader->nworkers, sizeof *reader->compute);
    if (reader->compute == NULL)
        return cv_fail_memory(in->err, "the loads");
    for (uint32_t i = 0; i < reader->nworkers; i++)
        reader->compute[i] = 1;
    reader->load =
        (struct cleave_load){ .weight = 1, .transfer = 1, .compute = reader->compute };
    CV_TRY(cv_read_map(in, token, "expected a mapping with the fields of a load", &all,
                       seen));
    for (size_t i = 0; i <= UNITS; i++)
        if (seen[i] == 0)
            return cv_read_refuse(in, token, "required field '%s' is missing", fields[i]);
    if (number == CV_LOADS_MOST)
        return cv_read_refuse(in, token, "expected at most %d loads", CV_LOADS_MOST);
    if (!CV_ROOM(reader->loads, &reader->capacity, reader->count + 1))
        return cv_fail_memory(in->err, "the loads");
    reader->loads[reader->count++] = reader->load;
    return CLEAVE_OK;
}

static enum cleave_status take_loads(void *context, size_t index,
                                     const struct cv_token *token)
{
    (void)index; /* the only field */
    return cv_read_list(&((struct reader *)context)->in, token,
                        "expected a list of loads", false, take_load, context);
}

enum cleave_status cv_loads_parse(const char *name, const char *text, size_t length,
                                  uint32_t nworkers, struct cv_arena *arena,
                                  struct cv_loads_list *out, struct cleave_error *err)
{
    static const char *const top[] = { "loads" };
    struct reader reader = { .in = { .file = name, .arena = arena, .err = err },
                             .nworkers = nworkers };
    const struct cv_fields fields_of_file = { cv_name_in_list, top, 1, take_loads,
                                              &reader };
    unsigned seen[1] = { 0 };
    enum cleave_status status =
        cv_read_file(&reader.in, text, length, &fields_of_file, 0, seen);

    if (status == CLEAVE_OK) {
        out->items = cv_array(arena, reader.count, sizeof *out->items);
        out->count = reader.count;
        if (out->items != NULL)
            memcpy(out->items, reader.loads, reader.count * sizeof *out->items);
        else
            status = cv_fail_memory(err, "the loads");
    }
    free(reader.loads);
    free(reader.lines);
    return status;
}

enum cleave_status cv_loads_read(const char *path, uint32_t nworkers,
                                 struct cv_arena *arena, struct cv_loads_list *out,
                                 struct cleave_error *err)
{
    enum cleave_status status;
    size_t length;
    char *text;

    CV_TRY(cv_input_read(path, FILE_MOST, &text, &length, err));
    status = cv_loads_parse(cv_input_name(path), text, length, nworkers, arena, out, err);
    free(text);
    return status;
}
