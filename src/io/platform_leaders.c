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

static bool has_leaders(const struct cv_declared *declared, size_t count)
{
    for (size_t g = 0; g < count; g++)
        if (declared[g].via != NULL)
            return true;
    return false;
}

enum cleave_status cv_read_leaders(struct cv_reading *in, enum cleave_port port,
                                   struct cleave_worker *kinds, struct cv_group *groups,
                                   struct cv_declared *declared, size_t *ngroups)
{
    struct leaders leaders = {
        .in = in, .groups = groups, .declared = declared, .ngroups = *ngroups
    };
    uint32_t n = (uint32_t)*ngroups, circle = CV_NO_LEADER;
    enum cleave_status status;
    size_t kept = 0;

    if (!has_leaders(declared, *ngroups))
        return CLEAVE_OK;
    status = find_leaders(&leaders);
    if (status == CLEAVE_OK)
        status = cv_leaders_collapse(port, leaders.leader, kinds, groups, &n, &circle,
                                     in->err);
    if (circle != CV_NO_LEADER)
        status = fail_via(&leaders, circle, "leaders that lead to the master");
    for (size_t g = 0; status == CLEAVE_OK && g < *ngroups; g++)
        if (leaders.leader[g] == CV_NO_LEADER)
            declared[kept++] = declared[g];
    if (status == CLEAVE_OK)
        *ngroups = n;
    free(leaders.by_name);
    free(leaders.leader);
    return status;
}
