/* lead_rules.c -- who leads whom, in words. SPDX-License-Identifier: MIT */
#include "model/platform/lead_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct named {
    const char *name;
    uint32_t index;
};

/* Names that are looked for, and what is known of who leads whom. */
struct applying {
    const struct cv_lead_names *names;
    struct named *sorted; /* owned: those that have one */
    size_t nsorted;
    uint32_t *leader;
    struct cleave_error *err;
};

static int compare_named(const void *left, const void *right)
{
    const struct named *a = left, *b = right;

    return strcmp(a->name, b->name);
}

static enum cleave_status find(const struct applying *applying, const char *name,
                               uint32_t *out)
{
    const struct named key = { name, 0 };
    const struct named *found =
        bsearch(&key, applying->sorted, applying->nsorted, sizeof key, compare_named);
    char shown[80];

    if (found == NULL)
        return cv_fail(applying->err, CLEAVE_EINPUT,
                       "--via: expected the name of a worker, got '%s'",
                       cv_shown(name, strlen(name), shown, sizeof shown));
    *out = found->index;
    return CLEAVE_OK;
}

static enum cleave_status put_behind(const struct applying *applying, uint32_t index,
                                     uint32_t leader)
{
    const char *const *names = applying->names->items;

    if (index == leader)
        return cv_fail(applying->err, CLEAVE_EINPUT, "--via: '%s' cannot lead itself",
                       names[leader]);
    if (applying->leader[index] != CV_NO_LEADER && applying->leader[index] != leader)
        return cv_fail(applying->err, CLEAVE_EINPUT,
                       "--via: '%s' is behind '%s' and behind '%s': expected one of them",
                       names[index], names[applying->leader[index]], names[leader]);
    applying->leader[index] = leader;
    return CLEAVE_OK;
}

static enum cleave_status apply_list(const struct applying *applying,
                                     const struct cv_lead_rule *rule)
{
    uint32_t leader, index;

    CV_TRY(find(applying, rule->leader, &leader));
    for (size_t i = 0; rule->led[i] != NULL; i++) {
        CV_TRY(find(applying, rule->led[i], &index));
        CV_TRY(put_behind(applying, index, leader));
    }
    return CLEAVE_OK;
}

/* Whether a worker is behind `above`, or behind one that is. */
static bool is_behind(const struct applying *applying, uint32_t index, uint32_t above)
{
    uint32_t steps = 0;

    while (applying->leader[index] != CV_NO_LEADER && steps++ < applying->names->count) {
        index = applying->leader[index];
        if (index == above)
            return true;
    }
    return false;
}

/* All who are left, but those whom the leader itself is behind. */
static enum cleave_status apply_all(const struct applying *applying,
                                    const struct cv_lead_rule *rule)
{
    const struct cv_lead_names *names = applying->names;
    uint32_t leader, count = 0;

    CV_TRY(find(applying, rule->leader, &leader));
    for (uint32_t i = 0; i < names->count; i++) {
        if (names->items[i] == NULL || i == leader ||
            applying->leader[i] != CV_NO_LEADER || is_behind(applying, leader, i) ||
            (names->others != NULL && !names->others[i]))
            continue;
        applying->leader[i] = leader;
        count++;
    }
    return count > 0 ? CLEAVE_OK
                     : cv_fail(applying->err, CLEAVE_EINPUT,
                               "--via %s: there is nobody else that it could lead",
                               rule->leader);
}

static enum cleave_status check_circles(const struct applying *applying)
{
    for (uint32_t i = 0; i < applying->names->count; i++)
        if (is_behind(applying, i, i))
            return cv_fail(applying->err, CLEAVE_EINPUT,
                           "--via: '%s' is behind itself: leaders go in circles",
                           applying->names->items[i]);
    return CLEAVE_OK;
}

static enum cleave_status apply(const struct applying *applying,
                                const struct cv_lead_rule *rules, size_t count)
{
    const struct cv_lead_rule *all = NULL;

    for (size_t i = 0; i < count; i++) {
        if (rules[i].led == NULL && all != NULL)
            return cv_fail(applying->err, CLEAVE_EINPUT,
                           "--via: expected one leader of all others, got '%s' and "
                           "'%s': say whom each leads, --via %s:HOSTS",
                           all->leader, rules[i].leader, all->leader);
        if (rules[i].led == NULL)
            all = &rules[i];
        else
            CV_TRY(apply_list(applying, &rules[i]));
    }
    if (all != NULL)
        CV_TRY(apply_all(applying, all));
    return check_circles(applying);
}

enum cleave_status cv_lead_rules_apply(const struct cv_lead_rule *rules, size_t count,
                                       const struct cv_lead_names *names,
                                       uint32_t *leader, struct cleave_error *err)
{
    struct applying applying = { .names = names, .leader = leader, .err = err };
    enum cleave_status status;

    applying.sorted = calloc(names->count + 1U, sizeof *applying.sorted);
    if (applying.sorted == NULL)
        return cv_fail_memory(err, "the workers");
    for (uint32_t i = 0; i < names->count; i++)
        if (names->items[i] != NULL)
            applying.sorted[applying.nsorted++] = (struct named){ names->items[i], i };
    qsort(applying.sorted, applying.nsorted, sizeof *applying.sorted, compare_named);
    status = apply(&applying, rules, count);
    free(applying.sorted);
    return status;
}
