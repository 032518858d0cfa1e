/* platform_file.c -- platform files: YAML, or JSON, which YAML contains.
 * SPDX-License-Identifier: MIT
 *
 * The file is read in one pass, every value being checked where it stands, so that a
 * message names line, column and field. What costs may be is said in the table of the model. */
#include "io/platform_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <cleave/platform.h>
#include "base/quantity.h"
#include "base/text.h"
#include "io/input.h"
#include "io/reading.h"
#include "model/platform/leaders.h"
#include "model/platform/platform_internal.h"

/* --- workers of a platform file that others lead ----------------------------------- */

/* All that is known of the workers, and their groups by name. */
struct leaders {
    struct cv_reading *in;
    const struct cv_group *groups;
    const struct cv_declared *declared;
    size_t ngroups;
    const struct cv_group **by_name; /* owned */
    uint32_t *leader;                /* owned: per group */
};

static int compare_names(const void *left, const void *right)
{
    const struct cv_group *const *a = left, *const *b = right;

    return strcmp((*a)->name, (*b)->name);
}

/* Fail at what stands behind `via` of a group. */
static enum cleave_status fail_via(const struct leaders *leaders, size_t group,
                                   const char *expected)
{
    const struct cv_declared *at = &leaders->declared[group];
    struct cv_reading *in = leaders->in;
    const struct cv_place place = { in->file, at->via_line, at->via_column, in->field };
    char shown[128];

    snprintf(in->field, sizeof in->field, "workers[%zu].via", group);
    return cv_fail_at(in->err, &place, "expected %s, got '%s'", expected,
                      cv_shown(at->via, strlen(at->via), shown, sizeof shown));
}

static enum cleave_status find_leader(const struct leaders *leaders, size_t group)
{
    const struct cv_group named = { .name = leaders->declared[group].via };
    const struct cv_group *key = &named, **end = leaders->by_name + leaders->ngroups,
                          **found;

    leaders->leader[group] = CV_NO_LEADER;
    if (named.name == NULL)
        return CLEAVE_OK;
    found = bsearch(&key, leaders->by_name, leaders->ngroups, sizeof *leaders->by_name,
                    compare_names);
    if (found == NULL)
        return fail_via(leaders, group, "the name of another worker");
    if ((found > leaders->by_name && strcmp(found[-1]->name, named.name) == 0) ||
        (found + 1 < end && strcmp(found[1]->name, named.name) == 0))
        return fail_via(leaders, group, "a name that one worker has");
    if (leaders->groups[group].nsteps > 0)
        return fail_via(leaders, group,
                        "a worker with a profile, or times, to be led by the master");
    leaders->leader[group] = (uint32_t)(*found - leaders->groups);
    return CLEAVE_OK;
}

static enum cleave_status find_leaders(struct leaders *leaders)
{
    leaders->by_name = calloc(leaders->ngroups, sizeof *leaders->by_name);
    leaders->leader = calloc(leaders->ngroups, sizeof *leaders->leader);
    if (leaders->by_name == NULL || leaders->leader == NULL)
        return cv_fail_memory(leaders->in->err, "a platform");
    for (size_t g = 0; g < leaders->ngroups; g++)
        leaders->by_name[g] = &leaders->groups[g];
    qsort(leaders->by_name, leaders->ngroups, sizeof *leaders->by_name, compare_names);
    for (size_t g = 0; g < leaders->ngroups; g++)
        CV_TRY(find_leader(leaders, g));
    return CLEAVE_OK;
}

/* Whether a worker is another machine that is reached from here. */
static bool is_host(const struct cv_group *group)
{
    return group->ssh != NULL || group->slots > 0;
}

/* Who leads whom by --via, of which "all others" are hosts, if there are some. */
static enum cleave_status appoint(struct leaders *leaders,
                                  const struct cv_platform_view *how)
{
    const char **names = cv_array(&leaders->in->arena, leaders->ngroups, sizeof *names);
    bool *hosts = cv_array(&leaders->in->arena, leaders->ngroups, sizeof *hosts);
    bool any = false;

    if (names == NULL || hosts == NULL)
        return cv_fail_memory(leaders->in->err, "a platform");
    for (size_t g = 0; g < leaders->ngroups; g++) {
        names[g] = leaders->groups[g].name;
        hosts[g] = is_host(&leaders->groups[g]);
        any = any || hosts[g];
    }
    CV_TRY(cv_lead_rules_apply(how->rules, how->nrules,
                               &(struct cv_lead_names){ names, any ? hosts : NULL,
                                                        (uint32_t)leaders->ngroups },
                               leaders->leader, leaders->in->err));
    for (size_t g = 0; g < leaders->ngroups; g++)
        if (leaders->leader[g] != CV_NO_LEADER && leaders->groups[g].nsteps > 0)
            return cv_fail(leaders->in->err, CLEAVE_EINPUT,
                           "--via: '%s' has a profile, or times: expected it to be led "
                           "by the master",
                           names[g]);
    return CLEAVE_OK;
}

static bool has_leaders(const struct cv_declared *declared, size_t count)
{
    for (size_t g = 0; g < count; g++)
        if (declared[g].via != NULL)
            return true;
    return false;
}

/* Whether the leaders of a group lead to group `as`, or it is that. */
static bool is_behind(const struct leaders *leaders, uint32_t group, uint32_t as)
{
    for (size_t steps = 0; steps <= leaders->ngroups && group != CV_NO_LEADER; steps++) {
        if (group == as)
            return true;
        group = leaders->leader[group];
    }
    return false;
}

/* The worker of this name: its own slots are places on its machine. */
static enum cleave_status become(struct leaders *leaders, const char *as,
                                 struct cv_group *groups, uint32_t *out)
{
    const struct cv_group named = { .name = as };
    const struct cv_group *key = &named, **found;
    struct cv_group *own;

    found = bsearch(&key, leaders->by_name, leaders->ngroups, sizeof *leaders->by_name,
                    compare_names);
    if (found == NULL)
        return cv_fail(leaders->in->err, CLEAVE_EINPUT,
                       "%s: there is no worker '%s' to be (--as)", leaders->in->file, as);
    *out = (uint32_t)(*found - leaders->groups);
    own = &groups[*out];
    own->count = own->slots > 0 ? own->slots : 1;
    own->slots = 0;
    own->ssh = own->command = NULL;
    return CLEAVE_OK;
}

/* Take all who are not behind `as` out of the arrays. */
static void keep_behind(struct leaders *leaders, uint32_t as, struct cleave_worker *kinds,
                        struct cv_group *groups, struct cv_declared *declared,
                        uint32_t *places)
{
    const size_t count = leaders->ngroups;
    uint32_t kept = 0;

    for (uint32_t g = 0; g < count; g++)
        places[g] = is_behind(leaders, g, as) ? kept++ : CV_NO_LEADER;
    for (uint32_t g = 0; g < count; g++) {
        const uint32_t leader = leaders->leader[g], to = places[g];

        if (to == CV_NO_LEADER)
            continue;
        kinds[to] = kinds[g];
        groups[to] = groups[g];
        declared[to] = declared[g];
        leaders->leader[to] = g == as || leader == as ? CV_NO_LEADER : places[leader];
    }
    leaders->ngroups = kept;
}

static enum cleave_status look_as(struct leaders *leaders, const char *as,
                                  struct cleave_worker *kinds, struct cv_group *groups,
                                  struct cv_declared *declared)
{
    uint32_t *places, at = 0;

    if (as == NULL)
        return CLEAVE_OK;
    CV_TRY(become(leaders, as, groups, &at));
    places = calloc(leaders->ngroups, sizeof *places);
    if (places == NULL)
        return cv_fail_memory(leaders->in->err, "a platform");
    keep_behind(leaders, at, kinds, groups, declared, places);
    free(places);
    return CLEAVE_OK;
}

/* Let leaders stand for all who are behind them (model/platform/leaders.h), and take these
 * out of the arrays, of which `ngroups` elements are left. */
static enum cleave_status read_leaders(struct cv_reading *in,
                                       const struct cv_platform_view *how,
                                       enum cleave_port port, struct cleave_worker *kinds,
                                       struct cv_group *groups,
                                       struct cv_declared *declared, size_t *ngroups)
{
    struct leaders leaders = {
        .in = in, .groups = groups, .declared = declared, .ngroups = *ngroups
    };
    uint32_t n = 0, circle = CV_NO_LEADER;
    enum cleave_status status;
    size_t kept = 0;

    if (how->as == NULL && how->nrules == 0 && !has_leaders(declared, *ngroups))
        return CLEAVE_OK;
    status = find_leaders(&leaders);
    if (status == CLEAVE_OK && how->nrules > 0)
        status = appoint(&leaders, how);
    if (status == CLEAVE_OK)
        status = look_as(&leaders, how->as, kinds, groups, declared);
    n = (uint32_t)leaders.ngroups;
    if (status == CLEAVE_OK)
        status = cv_leaders_collapse(port, leaders.leader, kinds, groups, &n, &circle,
                                     in->err);
    if (circle != CV_NO_LEADER)
        status = fail_via(&leaders, circle, "leaders that lead to the master");
    for (size_t g = 0; status == CLEAVE_OK && g < leaders.ngroups; g++)
        if (leaders.leader[g] == CV_NO_LEADER)
            declared[kept++] = declared[g];
    if (status == CLEAVE_OK)
        *ngroups = n;
    free(leaders.by_name);
    free(leaders.leader);
    return status;
}

/* --- platform files: YAML, or JSON, which YAML contains ---------------------------- */

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
        status = read_leaders(&reader.in, how, reader.port, reader.kinds, reader.groups,
                              reader.places, &reader.ngroups);
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

/* --- write a platform file --------------------------------------------------------- */

/* What the reader would not take, not even in a comment, becomes a question mark. */
static void write_comment(const char *comment, FILE *file)
{
    size_t left = strlen(comment), n;
    bool begin = true;

    for (; left > 0; left -= n, comment += n) {
        if (begin)
            fputs(*comment == '\n' ? "#" : "# ", file);
        begin = *comment == '\n';
        n = cv_utf8(comment, left, NULL);
        if (n > 0 && (begin || cv_printable(comment, n, true)))
            fwrite(comment, 1, n, file);
        else
            putc('?', file);
        n = n > 0 ? n : 1;
    }
    if (!begin)
        putc('\n', file);
}

/* Whether a text needs no quotes in YAML, for any reader: it cannot be taken for a
 * number, a truth value or null, and has no special characters. */
static bool is_plain(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    static const char *const words[] = { "y",   "n",    "yes",   "no",  "on",
                                         "off", "true", "false", "null" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0)
            return false;
    return strchr("0123456789._-", text[0]) == NULL &&
           text[strspn(text, letters)] == '\0';
}

static void write_text(const char *key, const char *text, FILE *file)
{
    fprintf(file, "%s: ", key);
    if (is_plain(text)) {
        fprintf(file, "%s\n", text);
        return;
    }
    putc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', file);
        putc(*text, file);
    }
    fputs("\"\n", file);
}

static void write_number(const char *key, double value, FILE *file)
{
    char number[CV_NUMBER_SIZE];

    fprintf(file, "    %s: %s\n", key, cv_number_short(value, number));
}

static void write_steps(const struct cv_group *group, FILE *file)
{
    char from[CV_NUMBER_SIZE], factor[CV_NUMBER_SIZE];

    /* Only `until` makes somebody go for good. */
    if (!(group->steps[group->nsteps - 1].factor > 0)) {
        if (group->nsteps > 1)
            write_number("from", group->steps[1].from_s, file);
        write_number("until", group->steps[group->nsteps - 1].from_s, file);
        return;
    }
    fputs("    profile: [", file);
    for (uint32_t i = 0; i < group->nsteps; i++)
        fprintf(file, "%s[%s, %s]", i > 0 ? ", " : "",
                cv_number_short(group->steps[i].from_s, from),
                cv_number_short(group->steps[i].factor, factor));
    fputs("]\n", file);
}

static void write_worker(const char *name, const struct cleave_worker *worker,
                         const struct cv_group *group, FILE *file)
{
    write_text("  - name", name, file);
    if (group != NULL && group->count > 1)
        fprintf(file, "    count: %lu\n", (unsigned long)group->count);
    for (size_t i = 0; i < CV_WORKER_FIELDS; i++) {
        const struct cv_worker_field *field = &cv_worker_fields[i];
        const struct cv_worker_field *like = cv_worker_field_like(field);
        const double value = cv_worker_cost_of(worker, field);

        if (like == NULL || value != cv_worker_cost_of(worker, like))
            write_number(field->name, value, file);
    }
    if (group == NULL)
        return;
    if (group->nsteps > 0)
        write_steps(group, file);
    if (group->memory > 0)
        write_number("memory", group->memory, file);
    if (group->cost > 0)
        write_number("cost", group->cost, file);
    if (group->ssh != NULL)
        write_text("    ssh", group->ssh, file);
    if (group->slots > 0)
        fprintf(file, "    slots: %lu\n", (unsigned long)group->slots);
    if (group->gpus == CV_GPUS_AUTO)
        fputs("    gpus: auto\n", file);
    else if (group->gpus > 0)
        fprintf(file, "    gpus: %lu\n", (unsigned long)group->gpus);
    if (group->command != NULL)
        write_text("    command", group->command, file);
}

enum cleave_status cv_platform_write(const struct cleave_platform *platform,
                                     const char *comment, FILE *file,
                                     struct cleave_error *err)
{
    errno = 0;
    if (comment != NULL)
        write_comment(comment, file);
    fprintf(file, "port: %s\nworkers:\n", cleave_port_name(platform->port));
    if (platform->ngroups == 0)
        for (uint32_t i = 0; i < platform->nworkers && !ferror(file); i++)
            write_worker(platform->names[i], &platform->workers[i], NULL, file);
    for (uint32_t g = 0; g < platform->ngroups && !ferror(file); g++) {
        const struct cv_group *group = &platform->groups[g];

        write_worker(group->name, &platform->workers[group->first], group, file);
    }
    if (fflush(file) != 0 || ferror(file))
        return cv_fail(err, CLEAVE_EINPUT, "cannot write: %s",
                       strerror(errno != 0 ? errno : EIO));
    return CLEAVE_OK;
}
