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
};

enum field { NAME, UNITS, WEIGHT, RELEASE, COMPUTE, TRANSFER, NFIELDS };

static const char *const fields[NFIELDS] = { "name",    "units",   "weight",
                                             "release", "compute", "transfer" };

static const char *field_name(const void *context, size_t index)
{
    (void)context;
    return fields[index];
}

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

/* A number for all workers, or a list with one for each. */
static enum cleave_status take_compute(struct reader *reader,
                                       const struct cv_token *token, double *compute)
{
    struct cv_reading *in = &reader->in;
    const size_t path = strlen(in->field);
    const struct cv_token list = *token;
    struct cv_token item;
    uint32_t count = 0;

    if (token->node != CV_NODE_LIST) {
        CV_TRY(cv_read_ranged(in, token, CV_NUMBER, true, &compute[0]));
        for (uint32_t i = 1; i < reader->nworkers; i++)
            compute[i] = compute[0];
        return CLEAVE_OK;
    }
    for (;; count++) {
        CV_TRY(cv_read_next(in, &item));
        if (item.node == CV_NODE_END)
            break;
        cv_read_path(in, path, "[%u]", count);
        if (count == reader->nworkers)
            return cv_read_fail(in, &item, "expected one number per worker, no more");
        CV_TRY(cv_read_ranged(in, &item, CV_NUMBER, true, &compute[count]));
        in->field[path] = '\0';
    }
    return count == reader->nworkers
               ? CLEAVE_OK
               : cv_read_refuse(in, &list,
                                "expected one number, or %u: one per worker; got %u",
                                reader->nworkers, count);
}

static enum cleave_status take_field(struct reader *reader, enum field field,
                                     const struct cv_token *token,
                                     struct cleave_load *load, double *compute)
{
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
        return take_compute(reader, token, compute);
    default:
        return cv_read_ranged(&reader->in, token, CV_NUMBER, false, &load->transfer);
    }
}

/* One entry of the list; in.field is its path. */
static enum cleave_status take_load(struct reader *reader, const struct cv_token *token)
{
    struct cv_reading *in = &reader->in;
    struct cleave_load load = { .weight = 1, .transfer = 1 };
    double *compute = cv_array(in->arena, reader->nworkers, sizeof *compute);
    unsigned seen[NFIELDS] = { 0 };
    const size_t path = strlen(in->field);
    const struct cv_token entry = *token;
    struct cv_token key, value;
    size_t index;

    if (compute == NULL)
        return cv_fail_memory(in->err, "the loads");
    for (uint32_t i = 0; i < reader->nworkers; i++)
        compute[i] = 1;
    if (token->node != CV_NODE_MAP)
        return cv_read_fail(in, token, "expected a mapping with the fields of a load");
    for (;;) {
        CV_TRY(cv_read_next(in, &key));
        if (key.node == CV_NODE_END)
            break;
        CV_TRY(cv_read_key(in, &key, field_name, NULL, NFIELDS, seen, &index));
        cv_read_path(in, path, ".%s", fields[index]);
        CV_TRY(cv_read_next(in, &value));
        CV_TRY(take_field(reader, (enum field)index, &value, &load, compute));
        in->field[path] = '\0';
    }
    for (index = 0; index <= UNITS; index++)
        if (seen[index] == 0)
            return cv_read_refuse(in, &entry, "required field '%s' is missing",
                                  fields[index]);
    if (reader->count == CV_LOADS_MOST)
        return cv_read_refuse(in, &entry, "expected at most %d loads", CV_LOADS_MOST);
    if (!CV_ROOM(reader->loads, &reader->capacity, reader->count + 1))
        return cv_fail_memory(in->err, "the loads");
    load.compute = compute;
    reader->loads[reader->count++] = load;
    return CLEAVE_OK;
}

static enum cleave_status take_loads(void *context, size_t index,
                                     const struct cv_token *token)
{
    struct reader *reader = context;
    const struct cv_token list = *token;
    struct cv_token item;

    (void)index; /* the only field */
    if (token->node != CV_NODE_LIST)
        return cv_read_fail(&reader->in, token, "expected a list of loads");
    for (;;) {
        CV_TRY(cv_read_next(&reader->in, &item));
        if (item.node == CV_NODE_END)
            break;
        cv_read_path(&reader->in, 0, "loads[%zu]", reader->count);
        CV_TRY(take_load(reader, &item));
    }
    cv_read_path(&reader->in, 0, "loads");
    return reader->count > 0
               ? CLEAVE_OK
               : cv_read_refuse(&reader->in, &list,
                                "expected a list of loads, got an empty list");
}

enum cleave_status cv_loads_parse(const char *name, const char *text, size_t length,
                                  uint32_t nworkers, struct cv_arena *arena,
                                  struct cv_loads_list *out, struct cleave_error *err)
{
    static const char *const top[] = { "loads" };
    struct reader reader = { .in = { .file = name, .arena = arena, .err = err },
                             .nworkers = nworkers };
    const struct cv_fields fields_of_file = { top, 1, 0, take_loads, &reader };
    unsigned seen[1] = { 0 };
    enum cleave_status status =
        cv_read_mapping(&reader.in, text, length, &fields_of_file, seen);

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
