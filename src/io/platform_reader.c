/* platform_reader.c -- platform files: YAML, or JSON, which YAML contains.
 * SPDX-License-Identifier: MIT
 *
 * The file is read in one pass, every value being checked where it stands, so that a
 * message names line, column and field. What costs may be is said in the table of the model. */
#include <cleave/platform.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "io/platform_leaders.h"
#include "io/reading.h"
#include "model/platform/platform_internal.h"
#include "model/platform/worker_fields.h"

enum {
    FILE_MOST = 256 << 20, /* bytes */
    SLOTS_MOST = 1000000,
    GPUS_MOST = 1024,
};

/* What is known of a worker while it is read. */
struct draft {
    struct cleave_worker worker;
    struct cv_group group;
    unsigned line, column;             /* of its name                        */
    unsigned count_line, count_column; /* of its count, 0 if there was none  */
    double from_s, until_s;            /* when it is there                   */
    const char *via;                   /* who leads it; NULL: the master     */
    unsigned via_line, via_column;
};

struct reader {
    struct cv_reading in;
    enum cleave_port port;
    struct cleave_worker *kinds;
    struct cv_group *groups;
    struct cv_declared *places; /* of each group */
    size_t ngroups, kinds_capacity, groups_capacity, places_capacity;
    bool leads;     /* somebody is led by another */
    uint64_t total; /* workers so far */
};

enum field_kind { NAME, TEXT, VIA, COUNT, SLOTS, GPUS, PROFILE, TIME, UNITS, PRICE };

/* What a worker has besides its costs, which model/platform/worker_fields.h lists. */
struct field {
    const char *name;
    enum field_kind kind;
    bool required;
    size_t offset; /* into struct draft */
};

static const struct field before[] = {
    { "name", NAME, true, 0 },
    { "count", COUNT, false, offsetof(struct draft, group.count) },
};
static const struct field behind[] = {
    { "profile", PROFILE, false, 0 },
    { "from", TIME, false, offsetof(struct draft, from_s) },
    { "until", TIME, false, offsetof(struct draft, until_s) },
    { "memory", UNITS, false, offsetof(struct draft, group.memory) },
    { "cost", PRICE, false, offsetof(struct draft, group.cost) },
    { "via", VIA, false, 0 },
    { "ssh", TEXT, false, offsetof(struct draft, group.ssh) },
    { "slots", SLOTS, false, offsetof(struct draft, group.slots) },
    { "gpus", GPUS, false, offsetof(struct draft, group.gpus) },
    { "command", TEXT, false, offsetof(struct draft, group.command) },
};
enum {
    NBEFORE = sizeof before / sizeof *before,
    NBEHIND = sizeof behind / sizeof *behind,
    NFIELDS = NBEFORE + CV_WORKER_FIELDS + NBEHIND,
};

/* The cost that field `index` is; NULL: it is something else. */
static const struct cv_worker_field *cost_at(size_t index)
{
    return index >= NBEFORE && index < NBEFORE + CV_WORKER_FIELDS
               ? &cv_worker_fields[index - NBEFORE]
               : NULL;
}

/* Field `index`, which is no cost. */
static const struct field *field_at(size_t index)
{
    return index < NBEFORE ? &before[index] : &behind[index - NBEFORE - CV_WORKER_FIELDS];
}

static const char *const top_fields[] = { "port", "workers" };
enum { NTOP = sizeof top_fields / sizeof *top_fields };

static const char *field_name(const void *context, size_t index)
{
    const struct cv_worker_field *cost = cost_at(index);

    (void)context;
    return cost != NULL ? cost->name : field_at(index)->name;
}

static bool is_required(size_t index)
{
    const struct cv_worker_field *cost = cost_at(index);

    return cost != NULL ? cost->required : field_at(index)->required;
}

static const char *top_name(const void *context, size_t index)
{
    (void)context;
    return top_fields[index];
}

/* --- Workers ------------------------------------------------------------------------ */

/* A number, or as many as there are. */
static enum cleave_status take_gpus(struct reader *reader, const struct cv_token *token,
                                    uint32_t *out)
{
    if (cv_read_is_string(token) && strcmp(token->text, "auto") == 0) {
        *out = CV_GPUS_AUTO;
        return CLEAVE_OK;
    }
    return cv_read_whole(&reader->in, token, GPUS_MOST, out) == CLEAVE_OK
               ? CLEAVE_OK
               : cv_read_fail(&reader->in, token,
                              "expected auto or a whole number from 1 to 1024");
}

static enum cleave_status take_field(struct reader *reader, const struct field *field,
                                     const struct cv_token *token, struct draft *draft)
{
    void *target = (char *)draft + field->offset;

    switch (field->kind) {
    case NAME:
        draft->line = token->line;
        draft->column = token->column;
        return cv_read_text(&reader->in, token, true, &draft->group.name);
    case TEXT:
        return cv_read_text(&reader->in, token, false, target);
    case VIA:
        draft->via_line = token->line;
        draft->via_column = token->column;
        return cv_read_text(&reader->in, token, true, &draft->via);
    case COUNT:
        draft->count_line = token->line;
        draft->count_column = token->column;
        return cv_read_whole(&reader->in, token, CLEAVE_MAX_WORKERS, target);
    case SLOTS:
        return cv_read_whole(&reader->in, token, SLOTS_MOST, target);
    case GPUS:
        return take_gpus(reader, token, target);
    case PROFILE:
        return cv_read_profile(&reader->in, token, &draft->group.steps,
                               &draft->group.nsteps);
    case TIME:
        return cv_read_ranged(&reader->in, token, CV_SECONDS, false, target);
    case UNITS:
        return cv_read_ranged(&reader->in, token, CV_UNITS, true, target);
    case PRICE:
        return cv_read_ranged(&reader->in, token, CV_NUMBER, false, target);
    }
    return CLEAVE_OK;
}

static bool grow(struct reader *reader)
{
    const size_t needed = reader->ngroups + 1;

    return CV_ROOM(reader->kinds, &reader->kinds_capacity, needed) &&
           CV_ROOM(reader->groups, &reader->groups_capacity, needed) &&
           CV_ROOM(reader->places, &reader->places_capacity, needed);
}

/* Add a worker whose fields are all read; `token` began it. */
static enum cleave_status keep_worker(struct reader *reader, const struct cv_token *token,
                                      const struct draft *draft)
{
    reader->total += draft->group.count;
    if (reader->total > CLEAVE_MAX_WORKERS) {
        struct cv_place place = cv_read_place(&reader->in, token);
        size_t path = strlen(reader->in.field);

        if (draft->count_line != 0) {
            place.line = draft->count_line;
            place.column = draft->count_column;
            snprintf(reader->in.field + path, sizeof reader->in.field - path, ".count");
        }
        return cv_fail_at(reader->in.err, &place,
                          "expected at most %u workers in all, got %llu",
                          CLEAVE_MAX_WORKERS, (unsigned long long)reader->total);
    }
    if (!grow(reader))
        return cv_fail_memory(reader->in.err, "a platform");
    reader->kinds[reader->ngroups] = draft->worker;
    reader->groups[reader->ngroups] = draft->group;
    reader->places[reader->ngroups++] =
        (struct cv_declared){ draft->line, draft->column, draft->via, draft->via_line,
                              draft->via_column };
    return CLEAVE_OK;
}

static enum cleave_status take_value(struct reader *reader, size_t index,
                                     const struct cv_token *token, struct draft *draft)
{
    const struct cv_worker_field *cost = cost_at(index);

    if (cost == NULL)
        return take_field(reader, field_at(index), token, draft);
    return cv_read_ranged(&reader->in, token, cost->quantity, cost->positive,
                          cv_worker_cost(&draft->worker, cost));
}

/* Costs that were left out are as those that they are like. */
static void fill_in(struct draft *draft, const unsigned seen[NFIELDS])
{
    for (size_t i = 0; i < CV_WORKER_FIELDS; i++) {
        const struct cv_worker_field *like = cv_worker_field_like(&cv_worker_fields[i]);

        if (like != NULL && seen[NBEFORE + i] == 0)
            *cv_worker_cost(&draft->worker, &cv_worker_fields[i]) =
                cv_worker_cost_of(&draft->worker, like);
    }
}

static size_t index_of(const char *name)
{
    size_t i = 0;

    while (strcmp(field_name(NULL, i), name) != 0)
        i++;
    return i;
}

/* `from` and `until` are short for a profile: away before, and away for good after. */
static enum cleave_status fill_times(struct reader *reader, const struct cv_token *token,
                                     struct draft *draft, const unsigned seen[NFIELDS])
{
    const bool from = seen[index_of("from")] != 0 && draft->from_s > 0,
               until = seen[index_of("until")] != 0;
    struct cv_place place = cv_read_place(&reader->in, token);
    struct cleave_step *steps;
    uint32_t n = 0;

    if (seen[index_of("profile")] != 0 && (seen[index_of("from")] != 0 || until))
        return cv_fail_at(reader->in.err, &place,
                          "expected a profile, or from and until, got both");
    if (until && !(draft->until_s > draft->from_s))
        return cv_fail_at(reader->in.err, &place,
                          "expected until to be after %s, got %g s",
                          from ? "from" : "the beginning", draft->until_s);
    if (!from && !until)
        return CLEAVE_OK;
    steps = cv_array(&reader->in.arena, 3, sizeof *steps);
    if (steps == NULL)
        return cv_fail_memory(reader->in.err, "a profile");
    if (from) {
        steps[n++] = (struct cleave_step){ 0, 0 };
        steps[n++] = (struct cleave_step){ draft->from_s, 1 };
    }
    if (until)
        steps[n++] = (struct cleave_step){ draft->until_s, 0 };
    draft->group.steps = steps;
    draft->group.nsteps = n;
    return CLEAVE_OK;
}

/* One entry of the list; reader->in.field is its path. */
static enum cleave_status take_worker(struct reader *reader, const struct cv_token *token)
{
    struct draft draft = { .group = { .count = 1 } };
    unsigned seen[NFIELDS] = { 0 };
    size_t path = strlen(reader->in.field);
    struct cv_token key;

    if (token->node != CV_NODE_MAP)
        return cv_read_fail(&reader->in, token,
                            "expected a mapping with the fields of a worker");
    for (;;) {
        struct cv_token value;
        size_t index;

        CV_TRY(cv_read_next(&reader->in, &key));
        if (key.node == CV_NODE_END)
            break;
        CV_TRY(cv_read_key(&reader->in, &key, field_name, NFIELDS, seen, &index));
        snprintf(reader->in.field + path, sizeof reader->in.field - path, ".%s",
                 field_name(NULL, index));
        CV_TRY(cv_read_next(&reader->in, &value));
        CV_TRY(take_value(reader, index, &value, &draft));
        reader->in.field[path] = '\0';
    }
    for (size_t i = 0; i < NFIELDS; i++)
        if (is_required(i) && seen[i] == 0) {
            struct cv_place place = cv_read_place(&reader->in, token);

            /* If the file is broken here, that is the reason. */
            CV_TRY(cv_read_next(&reader->in, &key));
            return cv_fail_at(reader->in.err, &place, "required field '%s' is missing",
                              field_name(NULL, i));
        }
    if (draft.group.slots > 0 && draft.group.gpus > 0) {
        struct cv_place place = cv_read_place(&reader->in, token);

        return cv_fail_at(reader->in.err, &place,
                          "expected slots or gpus, got both: slots without a GPU are "
                          "another worker");
    }
    fill_in(&draft, seen);
    CV_TRY(fill_times(reader, token, &draft, seen));
    return keep_worker(reader, token, &draft);
}

static enum cleave_status take_workers(struct reader *reader,
                                       const struct cv_token *token)
{
    struct cv_token item;

    if (token->node != CV_NODE_LIST)
        return cv_read_fail(&reader->in, token, "expected a list of workers");
    for (;;) {
        CV_TRY(cv_read_next(&reader->in, &item));
        if (item.node == CV_NODE_END)
            break;
        snprintf(reader->in.field, sizeof reader->in.field, "workers[%zu]",
                 reader->ngroups);
        CV_TRY(take_worker(reader, &item));
    }
    snprintf(reader->in.field, sizeof reader->in.field, "workers");
    if (reader->ngroups == 0) {
        struct cv_place place = cv_read_place(&reader->in, token);

        return cv_fail_at(reader->in.err, &place,
                          "expected a list of workers, got an empty list");
    }
    return CLEAVE_OK;
}

static enum cleave_status take_port(struct reader *reader, const struct cv_token *token)
{
    static const enum cleave_port ports[] = { CLEAVE_PORT_ONE, CLEAVE_PORT_DUPLEX,
                                              CLEAVE_PORT_MULTI };

    for (size_t i = 0; cv_read_is_string(token) && i < sizeof ports / sizeof *ports; i++)
        if (strcmp(token->text, cleave_port_name(ports[i])) == 0) {
            reader->port = ports[i];
            return CLEAVE_OK;
        }
    return cv_read_fail(&reader->in, token, "expected one, duplex or multi");
}

static enum cleave_status take_top(void *context, size_t index,
                                   const struct cv_token *value)
{
    return index == 0 ? take_port(context, value) : take_workers(context, value);
}

static enum cleave_status build(struct reader *reader, struct cleave_platform **out)
{
    uint32_t clash[2] = { 0, 0 };
    enum cleave_status status;
    struct cv_place place;

    status = cv_platform_build(reader->port, reader->kinds, reader->groups,
                               (uint32_t)reader->ngroups, out, clash, reader->in.err);
    if (status != CLEAVE_EINPUT || clash[1] == 0)
        return status;
    snprintf(reader->in.field, sizeof reader->in.field, "workers[%lu].name",
             (unsigned long)clash[1]);
    place = (struct cv_place){ reader->in.file, reader->places[clash[1]].line,
                               reader->places[clash[1]].column, reader->in.field };
    /* Of base and base.number the latter is the name that both have. */
    return cv_fail_at(reader->in.err, &place,
                      "duplicate name '%s'; first used at line %u",
                      reader->groups[clash[reader->groups[clash[1]].count == 1]].name,
                      reader->places[clash[0]].line);
}

enum cleave_status cv_platform_parse_as(const char *name, const char *text, size_t length,
                                        const struct cv_platform_view *how,
                                        struct cleave_platform **out,
                                        struct cleave_error *err)
{
    struct reader reader = { .in = { .file = name, .err = err } };
    const struct cv_fields top = { top_name, NTOP, 1, take_top, &reader };
    unsigned seen[NTOP] = { 0 };
    enum cleave_status status = cv_read_mapping(&reader.in, text, length, &top, seen);

    if (status == CLEAVE_OK)
        status = cv_read_leaders(&reader.in, how, reader.port, reader.kinds,
                                 reader.groups, reader.places, &reader.ngroups);
    if (status == CLEAVE_OK)
        status = build(&reader, out);
    free(reader.kinds);
    free(reader.groups);
    free(reader.places);
    cv_arena_done(&reader.in.arena);
    return status;
}

enum cleave_status cleave_platform_parse(const char *name, const char *text,
                                         size_t length, struct cleave_platform **out,
                                         struct cleave_error *err)
{
    return cv_platform_parse_as(name, text, length, &(struct cv_platform_view){ 0 }, out,
                                err);
}

enum cleave_status cv_platform_load_as(const char *path,
                                       const struct cv_platform_view *how,
                                       struct cleave_platform **out,
                                       struct cleave_error *err)
{
    enum cleave_status status;
    size_t length;
    char *text;

    CV_TRY(cv_input_read(path, FILE_MOST, &text, &length, err));
    status = cv_platform_parse_as(cv_input_name(path), text, length, how, out, err);
    free(text);
    return status;
}

enum cleave_status cleave_platform_load(const char *path, struct cleave_platform **out,
                                        struct cleave_error *err)
{
    return cv_platform_load_as(path, &(struct cv_platform_view){ 0 }, out, err);
}
