/* platform_file.c -- platform files: YAML, or JSON, which YAML contains.
 * SPDX-License-Identifier: MIT
 *
 * One table of fields, together with the table of costs in the model, drives reading and
 * writing. The file is read in one pass. Every value is checked where it is read, so that a
 * message has line, column and field. */
#include "io/platform_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/argument.h"
#include "base/quantity.h"
#include "base/text.h"
#include "io/input.h"
#include "io/reading.h"
#include "model/platform/platform_internal.h"

enum {
    FILE_MOST = 256 << 20, /* bytes */
    SLOTS_MOST = 1000000,
    GPUS_MOST = 1024,
};

/* A name, and where the file has it. */
struct name {
    const char *text; /* NULL: not given */
    unsigned line, column;
};

/* One entry of `workers`. */
struct entry {
    struct cleave_worker worker;
    struct cv_group group;
    struct cv_host_fields host;
    struct name name, via;             /* via: the leader; not given: the master */
    unsigned count_line, count_column; /* 0: not given                           */
    double from_s, until_s;            /* when it takes part; 0: not given       */
};

struct reader {
    struct cv_reading in;
    enum cleave_port port;
    struct entry *entries; /* owned */
    size_t count, capacity;
    uint64_t total; /* workers so far */
};

enum kind { NAME, TEXT, WHOLE, GPUS, PROFILE, NUMBER };

struct field { /* NOLINT(clang-analyzer-optin.performance.Padding): as it is read */
    const char *name;
    enum kind kind;
    size_t offset; /* into struct entry */
    bool required, positive;
    enum cv_quantity quantity; /* for kind NUMBER */
    uint32_t most;             /* for kind WHOLE */
};

#define AT(member) offsetof(struct entry, member)

/* The costs of the model come after the first FIRST fields. */
static const struct field fields[] = {
    { .name = "name", NAME, AT(name), .required = true },
    { .name = "count", WHOLE, AT(group.count), .most = CLEAVE_MAX_WORKERS },
    { .name = "profile", PROFILE },
    { .name = "from", NUMBER, AT(from_s), .quantity = CV_SECONDS },
    { .name = "until", NUMBER, AT(until_s), .quantity = CV_SECONDS },
    { .name = "memory",
      NUMBER,
      AT(group.memory),
      .quantity = CV_UNITS,
      .positive = true },
    { .name = "cost", NUMBER, AT(group.cost), .quantity = CV_NUMBER },
    { .name = "via", NAME, AT(via) },
    { .name = "ssh", TEXT, AT(host.ssh) },
    { .name = "slots", WHOLE, AT(host.slots), .most = SLOTS_MOST },
    { .name = "gpus", GPUS, AT(host.gpus) },
    { .name = "command", TEXT, AT(host.command) },
    { .name = "rate", TEXT, AT(host.rate) },
};
enum { FIRST = 2, NFIELDS = sizeof fields / sizeof *fields + CV_WORKER_FIELDS };

/* The cost that field `index` is; NULL: it is not a cost. */
static const struct cv_worker_field *cost_at(size_t index)
{
    return index >= FIRST && index < FIRST + CV_WORKER_FIELDS
               ? &cv_worker_fields[index - FIRST]
               : NULL;
}

static struct field field_at(size_t index)
{
    const struct cv_worker_field *cost = cost_at(index);

    return cost == NULL ? fields[index < FIRST ? index : index - CV_WORKER_FIELDS]
                        : (struct field){ .name = cost->name,
                                          .kind = NUMBER,
                                          .offset = AT(worker) + cost->offset,
                                          .required = cost->required,
                                          .positive = cost->positive,
                                          .quantity = cost->quantity };
}

static const char *field_name(const void *context, size_t index)
{
    (void)context;
    return field_at(index).name;
}

/* Leaders of the entries of a file. */
struct leaders {
    struct reader *reader;
    const struct entry **by_name; /* sorted */
    uint32_t *leader;             /* per entry; CV_NO_LEADER: the master */
};

static int compare_names(const void *left, const void *right)
{
    const struct entry *const *a = left, *const *b = right;

    return strcmp((*a)->name.text, (*b)->name.text);
}

static enum cleave_status fail_via(struct reader *reader, size_t index,
                                   const char *expected)
{
    const struct name *via = &reader->entries[index].via;
    struct cv_reading *in = &reader->in;
    const struct cv_place place = { in->file, via->line, via->column, in->field };
    char shown[128];

    snprintf(in->field, sizeof in->field, "workers[%zu].via", index);
    return cv_fail_at(in->err, &place, "expected %s, got '%s'", expected,
                      cv_shown(via->text, strlen(via->text), shown, sizeof shown));
}

/* The place of a name in `by_name`, or NULL. */
static const struct entry **find_name(const struct leaders *leaders, const char *name)
{
    const struct entry key = { .name.text = name }, *at = &key;

    return bsearch(&at, leaders->by_name, leaders->reader->count, sizeof at,
                   compare_names);
}

static enum cleave_status find_leader(const struct leaders *leaders, size_t index)
{
    struct reader *reader = leaders->reader;
    const char *via = reader->entries[index].via.text;
    const struct entry **end = leaders->by_name + reader->count, **found;

    leaders->leader[index] = CV_NO_LEADER;
    if (via == NULL)
        return CLEAVE_OK;
    found = find_name(leaders, via);
    if (found == NULL)
        return fail_via(reader, index, "the name of another worker");
    if ((found > leaders->by_name && strcmp(found[-1]->name.text, via) == 0) ||
        (found + 1 < end && strcmp(found[1]->name.text, via) == 0))
        return fail_via(reader, index, "a name that one worker has");
    if (reader->entries[index].group.nsteps > 0)
        return fail_via(reader, index,
                        "a worker with a profile, or times, to be led by the master");
    leaders->leader[index] = (uint32_t)(*found - reader->entries);
    return CLEAVE_OK;
}

static enum cleave_status find_leaders(struct leaders *leaders)
{
    struct reader *reader = leaders->reader;

    for (size_t i = 0; i < reader->count; i++)
        leaders->by_name[i] = &reader->entries[i];
    qsort(leaders->by_name, reader->count, sizeof *leaders->by_name, compare_names);
    for (size_t i = 0; i < reader->count; i++)
        CV_TRY(find_leader(leaders, i));
    return CLEAVE_OK;
}

/* Whether the worker is another machine. */
static bool is_host(const struct cv_host_fields *host)
{
    return host->ssh != NULL || host->slots > 0;
}

/* A rule for all other workers means the hosts, if the file has any. */
static enum cleave_status apply_rules(struct leaders *leaders,
                                      const struct cv_platform_view *view)
{
    struct reader *reader = leaders->reader;
    const char **names = cv_array(reader->in.arena, reader->count, sizeof *names);
    bool *hosts = cv_array(reader->in.arena, reader->count, sizeof *hosts), any = false;

    if (names == NULL || hosts == NULL)
        return cv_fail_memory(reader->in.err, "a platform");
    for (size_t i = 0; i < reader->count; i++) {
        names[i] = reader->entries[i].name.text;
        hosts[i] = is_host(&reader->entries[i].host);
        any = any || hosts[i];
    }
    CV_TRY(cv_lead_rules_apply(view->rules, view->nrules,
                               &(struct cv_lead_names){ names, any ? hosts : NULL,
                                                        (uint32_t)reader->count },
                               leaders->leader, reader->in.err));
    for (size_t i = 0; i < reader->count; i++)
        if (leaders->leader[i] != CV_NO_LEADER && reader->entries[i].group.nsteps > 0)
            return cv_fail(reader->in.err, CLEAVE_EINPUT,
                           "hosts.via: '%s' has a profile, or times: expected it to be "
                           "led by the master",
                           names[i]);
    return CLEAVE_OK;
}

/* Whether the chain of leaders from an entry reaches entry `as`. */
static bool leads_to(const struct leaders *leaders, uint32_t entry, uint32_t as)
{
    for (size_t steps = 0; steps <= leaders->reader->count && entry != CV_NO_LEADER;
         steps++) {
        if (entry == as)
            return true;
        entry = leaders->leader[entry];
    }
    return false;
}

/* Keep the worker called `as` and all that it leads. */
static enum cleave_status view_as(struct leaders *leaders, const char *as)
{
    struct reader *reader = leaders->reader;
    const struct entry **found = find_name(leaders, as);
    uint32_t *places = cv_array(reader->in.arena, reader->count, sizeof *places);
    uint32_t own, kept = 0;
    struct cv_group *group;
    struct cv_host_fields *host;

    if (found == NULL)
        return cv_fail(reader->in.err, CLEAVE_EINPUT, "hosts.as: %s has no worker '%s'",
                       reader->in.file, as);
    if (places == NULL)
        return cv_fail_memory(reader->in.err, "a platform");
    own = (uint32_t)(*found - reader->entries);
    group = &reader->entries[own].group;
    host = &reader->entries[own].host;
    group->count = host->slots > 0 ? host->slots : 1;
    host->slots = 0;
    host->ssh = host->command = host->rate = NULL;
    for (uint32_t i = 0; i < reader->count; i++)
        places[i] = leads_to(leaders, i, own) ? kept++ : CV_NO_LEADER;
    for (uint32_t i = 0; i < reader->count; i++) {
        const uint32_t leader = leaders->leader[i], to = places[i];

        if (to == CV_NO_LEADER)
            continue;
        reader->entries[to] = reader->entries[i];
        leaders->leader[to] = i == own || leader == own ? CV_NO_LEADER : places[leader];
    }
    reader->count = kept;
    return CLEAVE_OK;
}

static enum cleave_status take_gpus(struct cv_reading *in, const struct cv_token *token,
                                    uint32_t *out)
{
    if (cv_read_is_string(token) && strcmp(token->text, "auto") == 0) {
        *out = CV_GPUS_AUTO;
        return CLEAVE_OK;
    }
    return cv_read_whole(in, token, GPUS_MOST, out) == CLEAVE_OK
               ? CLEAVE_OK
               : cv_read_fail(in, token,
                              "expected auto or a whole number from 1 to 1024");
}

static enum cleave_status take_field(struct cv_reading *in, const struct field *field,
                                     const struct cv_token *token, struct entry *entry)
{
    void *target = (char *)entry + field->offset;
    struct name *name = target;

    switch (field->kind) {
    case NAME:
        name->line = token->line;
        name->column = token->column;
        return cv_read_text(in, token, true, &name->text);
    case TEXT:
        return cv_read_text(in, token, false, target);
    case WHOLE:
        if (target == &entry->group.count) {
            entry->count_line = token->line;
            entry->count_column = token->column;
        }
        return cv_read_whole(in, token, field->most, target);
    case GPUS:
        return take_gpus(in, token, target);
    case PROFILE:
        return cv_read_profile(in, token, &entry->group.steps, &entry->group.nsteps);
    case NUMBER:
        return cv_read_ranged(in, token, field->quantity, field->positive, target);
    }
    return CLEAVE_OK;
}

/* Add an entry whose fields are all read; `token` began it. */
static enum cleave_status keep_entry(struct reader *reader, const struct cv_token *token,
                                     const struct entry *entry)
{
    reader->total += entry->group.count;
    if (reader->total > CLEAVE_MAX_WORKERS) {
        struct cv_token at = *token;

        if (entry->count_line != 0) {
            at.line = entry->count_line;
            at.column = entry->count_column;
            cv_read_path(&reader->in, strlen(reader->in.field), ".count");
        }
        return cv_read_refuse(&reader->in, &at,
                              "expected at most %u workers in all, got %llu",
                              CLEAVE_MAX_WORKERS, (unsigned long long)reader->total);
    }
    if (!CV_ROOM(reader->entries, &reader->capacity, reader->count + 1))
        return cv_fail_memory(reader->in.err, "a platform");
    reader->entries[reader->count++] = *entry;
    return CLEAVE_OK;
}

/* A cost that was not given is the cost that it is like. */
static void fill_costs(struct entry *entry, const unsigned seen[NFIELDS])
{
    for (size_t i = 0; i < CV_WORKER_FIELDS; i++) {
        const struct cv_worker_field *like = cv_worker_field_like(&cv_worker_fields[i]);

        if (like != NULL && seen[FIRST + i] == 0)
            *cv_worker_cost(&entry->worker, &cv_worker_fields[i]) =
                cv_worker_cost_of(&entry->worker, like);
    }
}

static bool is_given(const char *name, const unsigned seen[NFIELDS])
{
    size_t i = 0;

    while (strcmp(field_name(NULL, i), name) != 0)
        i++;
    return seen[i] != 0;
}

/* `from` and `until` are a profile: absent before, and absent for good after. */
static enum cleave_status fill_times(struct cv_reading *in, const struct cv_token *token,
                                     struct entry *entry, const unsigned seen[NFIELDS])
{
    const bool from = entry->from_s > 0, until = is_given("until", seen);
    struct cleave_step *steps;
    uint32_t n = 0;

    if (is_given("profile", seen) && (is_given("from", seen) || until))
        return cv_read_refuse(in, token,
                              "expected a profile, or from and until, got both");
    if (until && !(entry->until_s > entry->from_s))
        return cv_read_refuse(in, token, "expected until to be after %s, got %g s",
                              from ? "from" : "the beginning", entry->until_s);
    if (!from && !until)
        return CLEAVE_OK;
    if (!CV_NEW(in->arena, steps, 3))
        return cv_fail_memory(in->err, "a profile");
    if (from) {
        steps[n++] = (struct cleave_step){ 0, 0 };
        steps[n++] = (struct cleave_step){ entry->from_s, 1 };
    }
    if (until)
        steps[n++] = (struct cleave_step){ entry->until_s, 0 };
    entry->group.steps = steps;
    entry->group.nsteps = n;
    return CLEAVE_OK;
}

/* An entry that is being read. */
struct draft {
    struct cv_reading *in;
    struct entry entry;
};

static enum cleave_status take_member(void *context, size_t index,
                                      const struct cv_token *value)
{
    struct draft *draft = context;
    const struct field field = field_at(index);

    return take_field(draft->in, &field, value, &draft->entry);
}

/* One entry of the list; in.field is its path. */
static enum cleave_status take_entry(void *context, size_t number,
                                     const struct cv_token *token)
{
    struct reader *reader = context;
    struct cv_reading *in = &reader->in;
    struct draft draft = { in, { .group = { .count = 1 } } };
    struct entry *entry = &draft.entry;
    unsigned seen[NFIELDS] = { 0 };
    struct cv_token next;

    (void)number; /* all are read in order */
    CV_TRY(
        cv_read_map(in, token, "expected a mapping with the fields of a worker",
                    &(struct cv_fields){ field_name, NULL, NFIELDS, take_member, &draft },
                    seen));
    for (size_t i = 0; i < NFIELDS; i++)
        if (field_at(i).required && seen[i] == 0) {
            /* If the file is broken here, that is the reason. */
            CV_TRY(cv_read_next(in, &next));
            return cv_read_refuse(in, token, "required field '%s' is missing",
                                  field_name(NULL, i));
        }
    if (entry->host.slots > 0 && entry->host.gpus > 0)
        return cv_read_refuse(in, token,
                              "expected slots or gpus, got both: slots without a GPU are "
                              "another worker");
    fill_costs(entry, seen);
    CV_TRY(fill_times(in, token, entry, seen));
    entry->group.name = entry->host.name = entry->name.text;
    return keep_entry(reader, token, entry);
}

static enum cleave_status take_port(struct reader *reader, const struct cv_token *token)
{
    for (enum cleave_port port = CLEAVE_PORT_ONE; port <= CLEAVE_PORT_MULTI; port++)
        if (cv_read_is_string(token) &&
            strcmp(token->text, cleave_port_name(port)) == 0) {
            reader->port = port;
            return CLEAVE_OK;
        }
    return cv_read_fail(&reader->in, token, "expected one, duplex or multi");
}

static const char *const top_fields[] = { "port", "workers" };
enum { NTOP = sizeof top_fields / sizeof *top_fields };

static enum cleave_status take_top(void *context, size_t index,
                                   const struct cv_token *value)
{
    struct reader *reader = context;

    return index == 0 ? take_port(reader, value)
                      : cv_read_list(&reader->in, value, "expected a list of workers",
                                     false, take_entry, reader);
}

/* Build, with a message about duplicate names that has their lines. */
static enum cleave_status build(struct reader *reader, const struct cleave_worker *kinds,
                                const struct cv_group *groups,
                                struct cleave_platform **out)
{
    uint32_t clash[2] = { 0, 0 };
    const enum cleave_status status =
        cv_platform_build(reader->port, kinds, groups, (uint32_t)reader->count, out,
                          clash, reader->in.err);
    const struct entry *first = &reader->entries[clash[0]],
                       *second = &reader->entries[clash[1]];
    struct cv_place place = { reader->in.file, second->name.line, second->name.column,
                              reader->in.field };

    if (status != CLEAVE_EINPUT || clash[1] == 0)
        return status;
    cv_read_path(&reader->in, 0, "workers[%lu].name", (unsigned long)clash[1]);
    /* If base and base.number clash, the latter is the name that both have. */
    return cv_fail_at(reader->in.err, &place,
                      "duplicate name '%s'; first used at line %u",
                      (second->group.count == 1 ? second : first)->name.text,
                      first->name.line);
}

/* The leader of every entry; the view may remove entries. */
static enum cleave_status resolve_leaders(struct reader *reader,
                                          const struct cv_platform_view *view,
                                          uint32_t *leader)
{
    struct leaders leaders = {
        .reader = reader,
        .by_name = cv_array(reader->in.arena, reader->count, sizeof *leaders.by_name),
        .leader = leader,
    };

    if (leaders.by_name == NULL || leader == NULL)
        return cv_fail_memory(reader->in.err, "a platform");
    CV_TRY(find_leaders(&leaders));
    if (view->nrules > 0)
        CV_TRY(apply_rules(&leaders, view));
    return view->as != NULL ? view_as(&leaders, view->as) : CLEAVE_OK;
}

static bool has_leaders(const struct reader *reader)
{
    for (size_t i = 0; i < reader->count; i++)
        if (reader->entries[i].via.text != NULL)
            return true;
    return false;
}

/* Remove the entries that are led; places[] are the numbers that the others had. */
static void keep_tops(struct reader *reader, const uint32_t *leader,
                      struct cleave_worker *kinds, struct cv_group *groups,
                      struct cv_host_fields *hosts, uint32_t *places)
{
    size_t kept = 0;

    for (size_t i = 0; i < reader->count; i++) {
        if (leader != NULL && leader[i] != CV_NO_LEADER)
            continue;
        kinds[kept] = kinds[i];
        groups[kept] = groups[i];
        hosts[kept] = reader->entries[i].host;
        places[kept] = (uint32_t)i;
        reader->entries[kept++] = reader->entries[i];
    }
    reader->count = kept;
}

/* Give a platform the tree of its leaders. `places`: the node of each group. */
static enum cleave_status plant(struct cleave_platform *platform,
                                struct cv_led_tree *tree, struct cv_arena *tree_arena,
                                const uint32_t *places, struct cleave_error *err)
{
    if (!CV_NEW(tree_arena, tree->top, platform->nworkers))
        return cv_fail_memory(err, "a tree of leaders");
    for (uint32_t g = 0; g < platform->ngroups; g++)
        for (uint32_t i = 0; i < platform->groups[g].count; i++)
            tree->top[platform->groups[g].first + i] = places[g];
    platform->tree = tree;
    platform->tree_arena = *tree_arena;
    cv_arena_init(tree_arena);
    return CLEAVE_OK;
}

/* Make the platform, whose workers are those without a leader. */
static enum cleave_status build_tops(struct reader *reader, const uint32_t *leader,
                                     struct cv_arena *tree_arena,
                                     struct cv_platform_file *out)
{
    const size_t n = reader->count;
    struct cv_arena *arena = reader->in.arena;
    struct cleave_worker *kinds;
    struct cv_group *groups;
    struct cv_host_fields *hosts;
    struct cv_led_tree *tree = NULL;
    uint32_t *places, circle = CV_NO_LEADER;
    enum cleave_status status = CLEAVE_OK;

    if (!CV_NEW(arena, kinds, n) || !CV_NEW(arena, groups, n) ||
        !CV_NEW(arena, hosts, n) || !CV_NEW(arena, places, n))
        return cv_fail_memory(reader->in.err, "a platform");
    for (size_t i = 0; i < n; i++) {
        kinds[i] = reader->entries[i].worker;
        groups[i] = reader->entries[i].group;
    }
    if (leader != NULL)
        status = cv_leaders_collapse(reader->port, leader, kinds, groups, (uint32_t)n,
                                     tree_arena, &tree, &circle, reader->in.err);
    if (circle != CV_NO_LEADER)
        return fail_via(reader, circle, "leaders that lead to the master");
    CV_TRY(status);
    keep_tops(reader, leader, kinds, groups, hosts, places);
    out->hosts = hosts;
    CV_TRY(build(reader, kinds, groups, &out->platform));
    if (reader->count == n)
        return CLEAVE_OK;
    status = plant(out->platform, tree, tree_arena, places, reader->in.err);
    if (status != CLEAVE_OK) {
        cleave_platform_free(out->platform);
        out->platform = NULL;
    }
    return status;
}

static enum cleave_status finish(struct reader *reader,
                                 const struct cv_platform_view *view,
                                 struct cv_platform_file *out)
{
    struct cv_arena tree_arena;
    uint32_t *leader = NULL;
    enum cleave_status status;

    if (view->as != NULL || view->nrules > 0 || has_leaders(reader)) {
        leader = cv_array(reader->in.arena, reader->count, sizeof *leader);
        CV_TRY(resolve_leaders(reader, view, leader));
    }
    cv_arena_init(&tree_arena);
    status = build_tops(reader, leader, &tree_arena, out);
    cv_arena_done(&tree_arena);
    return status;
}

enum cleave_status cv_platform_parse_as(const char *name, const char *text, size_t length,
                                        const struct cv_platform_view *view,
                                        struct cv_arena *arena,
                                        struct cv_platform_file *out,
                                        struct cleave_error *err)
{
    struct reader reader = { .in = { .file = name, .arena = arena, .err = err } };
    const struct cv_fields top = { cv_name_in_list, top_fields, NTOP, take_top, &reader };
    unsigned seen[NTOP] = { 0 };
    enum cleave_status status = cv_read_file(&reader.in, text, length, &top, 1, seen);

    CV_THEN(status, finish(&reader, view, out));
    free(reader.entries);
    return status;
}

static enum cleave_status parse(const char *name, const char *text, size_t length,
                                const struct cv_platform_view *view,
                                struct cleave_platform **out, struct cleave_error *err)
{
    struct cv_platform_file file = { *out, NULL };
    struct cv_arena arena;
    enum cleave_status status;

    cv_arena_init(&arena);
    status = cv_platform_parse_as(name, text, length, view, &arena, &file, err);
    cv_arena_done(&arena);
    *out = file.platform;
    return status;
}

enum cleave_status cleave_platform_parse(const char *name, const char *text,
                                         size_t length, struct cleave_platform **out,
                                         struct cleave_error *err)
{
    CV_EXPECT_POINTER(name, err, "name");
    CV_EXPECT_POINTER(text, err, "text");
    CV_EXPECT_POINTER(out, err, "out");
    return parse(name, text, length, &(struct cv_platform_view){ 0 }, out, err);
}

enum cleave_status cv_platform_load_as(const char *path,
                                       const struct cv_platform_view *view,
                                       struct cleave_platform **out,
                                       struct cleave_error *err)
{
    enum cleave_status status;
    size_t length;
    char *text;

    CV_TRY(cv_input_read(path, FILE_MOST, &text, &length, err));
    status = parse(cv_input_name(path), text, length, view, out, err);
    free(text);
    return status;
}

enum cleave_status cleave_platform_load(const char *path, struct cleave_platform **out,
                                        struct cleave_error *err)
{
    CV_EXPECT_POINTER(path, err, "path");
    CV_EXPECT_POINTER(out, err, "out");
    return cv_platform_load_as(path, &(struct cv_platform_view){ 0 }, out, err);
}

/* Characters that the reader refuses even in a comment become question marks. */
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

static void write_text(const char *text, FILE *file)
{
    if (is_plain(text)) {
        fputs(text, file);
        return;
    }
    putc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', file);
        putc(*text, file);
    }
    putc('"', file);
}

static void write_profile(const struct cv_group *group, FILE *file)
{
    char from[CV_NUMBER_SIZE], factor[CV_NUMBER_SIZE];

    putc('[', file);
    for (uint32_t i = 0; i < group->nsteps; i++)
        fprintf(file, "%s[%s, %s]", i > 0 ? ", " : "",
                cv_number_short(group->steps[i].from_s, from),
                cv_number_short(group->steps[i].factor, factor));
    putc(']', file);
}

/* Write a field unless the reader would assume its value. */
static void write_field(size_t index, const struct entry *entry, FILE *file)
{
    const struct field field = field_at(index);
    const struct cv_worker_field *cost = cost_at(index),
                                 *like = cost != NULL ? cv_worker_field_like(cost) : NULL;
    const void *value = (const char *)entry + field.offset;
    const char *text =
        field.kind == NAME || field.kind == TEXT ? *(const char *const *)value : NULL;
    const uint32_t whole =
        field.kind == WHOLE || field.kind == GPUS ? *(const uint32_t *)value : 0;
    const double number = field.kind == NUMBER ? *(const double *)value : 0;
    const bool profile = field.kind == PROFILE && entry->group.nsteps > 0,
               several = whole > (value == &entry->group.count ? 1 : 0);
    char digits[CV_NUMBER_SIZE];

    if (cost != NULL ? like != NULL && number == cv_worker_cost_of(&entry->worker, like)
                     : text == NULL && !several && !(number > 0) && !profile)
        return;
    fprintf(file, index == 0 ? "  - %s: " : "    %s: ", field.name);
    if (text != NULL)
        write_text(text, file);
    else if (profile)
        write_profile(&entry->group, file);
    else if (whole == CV_GPUS_AUTO)
        fputs("auto", file);
    else
        fputs(cv_number_short(whole > 0 ? whole : number, digits), file);
    putc('\n', file);
}

static void write_entry(struct entry *entry, FILE *file)
{
    struct cv_group *group = &entry->group;
    const uint32_t n = group->nsteps;

    /* The reader accepts a last factor of 0 as `until` only. */
    if (n > 0 && !(group->steps[n - 1].factor > 0)) {
        entry->from_s = n > 1 ? group->steps[1].from_s : 0;
        entry->until_s = group->steps[n - 1].from_s;
        group->nsteps = 0;
    }
    for (size_t i = 0; i < NFIELDS; i++)
        write_field(i, entry, file);
}

enum cleave_status cv_platform_write(const struct cleave_platform *platform,
                                     const struct cv_host_fields *hosts,
                                     const char *comment, FILE *file,
                                     struct cleave_error *err)
{
    const bool grouped = platform->ngroups > 0;

    errno = 0;
    if (comment != NULL)
        write_comment(comment, file);
    fprintf(file, "port: %s\nworkers:\n", cleave_port_name(platform->port));
    for (uint32_t i = 0;
         i < (grouped ? platform->ngroups : platform->nworkers) && !ferror(file); i++) {
        struct entry entry = { .group = { .count = 1 } };

        if (grouped)
            entry.group = platform->groups[i];
        if (hosts != NULL)
            entry.host = hosts[i];
        entry.name.text = grouped ? entry.group.name : platform->names[i];
        entry.worker = platform->workers[grouped ? entry.group.first : i];
        write_entry(&entry, file);
    }
    if (fflush(file) != 0 || ferror(file))
        return cv_fail(err, CLEAVE_EINPUT, "cannot write: %s",
                       strerror(errno != 0 ? errno : EIO));
    return CLEAVE_OK;
}
