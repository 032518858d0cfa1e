/* platform_leaders.c -- workers of a platform file that others lead.
 * SPDX-License-Identifier: MIT */
#include "io/platform_leaders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/platform/leaders.h"

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

enum cleave_status cv_read_leaders(struct cv_reading *in,
                                   const struct cv_platform_view *how,
                                   enum cleave_port port, struct cleave_worker *kinds,
                                   struct cv_group *groups, struct cv_declared *declared,
                                   size_t *ngroups)
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
