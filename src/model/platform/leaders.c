/* leaders.c -- workers that are led by others. SPDX-License-Identifier: MIT */
#include "model/platform/leaders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/compare.h"
#include "base/text.h"

/* Number of leaders above; UINT32_MAX: they go in circles. */
static uint32_t depth_of(const uint32_t *leader, uint32_t ngroups, uint32_t group)
{
    uint32_t depth = 0;

    while (leader[group] != CV_NO_LEADER && depth <= ngroups) {
        group = leader[group];
        depth++;
    }
    return depth <= ngroups ? depth : UINT32_MAX;
}

static void set_rate(const struct cv_led_tree *tree, struct cv_led_node *node)
{
    double room = 1;

    node->rate_ups = node->costs.speed_ups;
    node->start_s = node->costs.compute_latency_s;
    for (uint32_t i = 0; i < node->nchildren; i++) {
        const struct cv_led_node *child = &tree->nodes[node->children[0][i]];
        const double link_ups = child->costs.bandwidth_ups;
        double units = child->count * fmin(child->rate_ups, link_ups);

        if (tree->port != CLEAVE_PORT_MULTI) {
            units = fmin(units, room * link_ups);
            room = fmax(0, room - units / link_ups);
        }
        node->rate_ups += units;
        node->start_s = fmin(node->start_s, child->costs.latency_s + child->start_s);
    }
}

void cv_led_set_rates(struct cv_led_tree *tree)
{
    for (uint32_t i = 0; i < tree->nnodes; i++)
        set_rate(tree, &tree->nodes[tree->deepest_first[i]]);
}

struct cleave_worker cv_led_stand_in(const struct cv_led_node *node)
{
    struct cleave_worker out = node->costs;

    out.speed_ups = node->rate_ups;
    out.compute_latency_s = node->start_s;
    return out;
}

struct cv_led_tree *cv_led_packed(const struct cv_led_tree *tree, double extra_s,
                                  struct cv_arena *arena)
{
    struct cv_led_tree *out = cv_array(arena, 1, sizeof *out);
    struct cv_led_node *nodes = cv_array(arena, tree->nnodes, sizeof *nodes);

    if (out == NULL || nodes == NULL)
        return NULL;
    *out = *tree;
    out->nodes = nodes;
    for (uint32_t v = 0; v < tree->nnodes; v++) {
        nodes[v] = tree->nodes[v];
        nodes[v].costs.speed_ups /= 1 + nodes[v].costs.speed_ups * extra_s;
    }
    cv_led_set_rates(out);
    return out;
}

struct cv_led_tree *cv_led_of_star(enum cleave_port port,
                                   const struct cleave_worker *workers, uint32_t nworkers,
                                   struct cv_arena *arena)
{
    struct cv_led_tree *tree = cv_array(arena, 1, sizeof *tree);
    struct cv_ranked *ranked = cv_array(arena, nworkers, sizeof *ranked);
    uint32_t *top, *tops;

    if (tree == NULL || ranked == NULL || !CV_NEW(arena, top, nworkers) ||
        !CV_NEW(arena, tops, nworkers) || !CV_NEW(arena, tree->nodes, nworkers))
        return NULL;
    for (uint32_t w = 0; w < nworkers; w++) {
        tree->nodes[w] = (struct cv_led_node){
            .costs = workers[w], .parent = CV_NO_LEADER, .count = 1, .places = 1
        };
        set_rate(tree, &tree->nodes[w]);
        ranked[w] = (struct cv_ranked){ -workers[w].bandwidth_ups, w };
        top[w] = w;
    }
    qsort(ranked, nworkers, sizeof *ranked, cv_rank_up);
    for (uint32_t w = 0; w < nworkers; w++)
        tops[w] = ranked[w].index;
    tree->port = port;
    tree->nnodes = tree->ntops = nworkers;
    tree->deepest_first = tree->tops = tops;
    tree->top = top;
    return tree;
}

/* Fill deepest_first: groups of greater depth first, then by number. */
static bool sort_by_depth(const uint32_t *depth, uint32_t n, struct cv_arena *arena,
                          struct cv_led_tree *tree)
{
    struct cv_ranked *ranked = cv_array(arena, n, sizeof *ranked);
    uint32_t *order = cv_array(arena, n, sizeof *order);

    if (ranked == NULL || order == NULL)
        return false;
    for (uint32_t g = 0; g < n; g++)
        ranked[g] = (struct cv_ranked){ -(double)depth[g], g };
    qsort(ranked, n, sizeof *ranked, cv_rank_up);
    for (uint32_t g = 0; g < n; g++)
        order[g] = ranked[g].index;
    tree->deepest_first = order;
    return true;
}

/* Sort the children of all nodes by one of the orders. */
static bool sort_children(struct cv_led_tree *tree, int order, struct cv_arena *arena)
{
    const uint32_t n = tree->nnodes;
    struct cv_ranked *ranked = cv_array(arena, n, sizeof *ranked);
    uint32_t *lists = cv_array(arena, n, sizeof *lists), *at = lists, *filled, *tops;

    if (ranked == NULL || lists == NULL || !CV_NEW(arena, filled, n) ||
        !CV_NEW(arena, tops, n))
        return false;
    tree->ntops = 0;
    for (uint32_t v = 0; v < n; v++) {
        const struct cv_led_node *node = &tree->nodes[v];

        ranked[v] =
            (struct cv_ranked){ order == 0 ? -node->costs.bandwidth_ups
                                           : node->costs.latency_s + node->start_s,
                                v };
        tree->nodes[v].children[order] = at;
        at += node->nchildren;
    }
    qsort(ranked, n, sizeof *ranked, cv_rank_up);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t parent = tree->nodes[ranked[i].index].parent;

        if (parent == CV_NO_LEADER)
            tops[tree->ntops++] = ranked[i].index;
        else
            lists[tree->nodes[parent].children[order] - lists + filled[parent]++] =
                ranked[i].index;
    }
    if (order == 0)
        tree->tops = tops;
    return true;
}

/* Places, costs and the number of led workers, deepest groups first. */
static void add_up(struct cv_led_tree *tree, struct cv_group *groups)
{
    for (uint32_t i = 0; i < tree->nnodes; i++) {
        const uint32_t v = tree->deepest_first[i], parent = tree->nodes[v].parent;
        const double count = tree->nodes[v].count;

        tree->nodes[v].places++;
        if (parent == CV_NO_LEADER)
            continue;
        tree->nodes[parent].places += tree->nodes[v].count * tree->nodes[v].places;
        groups[parent].cost += count * groups[v].cost;
        groups[parent].led += count * (1 + groups[v].led);
    }
}

static enum cleave_status fill_nodes(struct cv_led_tree *tree, const uint32_t *leader,
                                     const struct cleave_worker *kinds,
                                     const struct cv_group *groups, uint32_t *depth,
                                     struct cv_arena *arena, uint32_t *reterr_group,
                                     struct cleave_error *err)
{
    for (uint32_t g = 0; g < tree->nnodes; g++) {
        struct cv_led_node *node = &tree->nodes[g];

        depth[g] = depth_of(leader, tree->nnodes, g);
        if (depth[g] == UINT32_MAX) {
            *reterr_group = g;
            return cv_fail(err, CLEAVE_EINPUT, "leaders go in circles");
        }
        node->costs = kinds[g];
        node->parent = leader[g];
        node->count = groups[g].count;
        node->name = cv_arena_text(arena, groups[g].name);
        if (node->name == NULL)
            return cv_fail_memory(err, "a tree of leaders");
        if (leader[g] != CV_NO_LEADER)
            tree->nodes[leader[g]].nchildren++;
    }
    return CLEAVE_OK;
}

enum cleave_status cv_leaders_collapse(enum cleave_port port, const uint32_t *leader,
                                       struct cleave_worker *kinds,
                                       struct cv_group *groups, uint32_t ngroups,
                                       struct cv_arena *arena, struct cv_led_tree **out,
                                       uint32_t *reterr_group, struct cleave_error *err)
{
    struct cv_led_tree *tree = cv_array(arena, 1, sizeof *tree);
    uint32_t *depth = cv_array(arena, ngroups, sizeof *depth);

    if (tree == NULL || depth == NULL || !CV_NEW(arena, tree->nodes, ngroups))
        return cv_fail_memory(err, "a tree of leaders");
    tree->port = port;
    tree->nnodes = ngroups;
    CV_TRY(fill_nodes(tree, leader, kinds, groups, depth, arena, reterr_group, err));
    if (!sort_by_depth(depth, ngroups, arena, tree) || !sort_children(tree, 0, arena))
        return cv_fail_memory(err, "a tree of leaders");
    add_up(tree, groups);
    cv_led_set_rates(tree);
    if (!sort_children(tree, 1, arena))
        return cv_fail_memory(err, "a tree of leaders");
    for (uint32_t g = 0; g < ngroups; g++)
        if (leader[g] == CV_NO_LEADER && tree->nodes[g].nchildren > 0)
            kinds[g] = cv_led_stand_in(&tree->nodes[g]);
    *out = tree;
    return CLEAVE_OK;
}

double cv_platform_led(const struct cleave_platform *platform)
{
    double led = 0;

    for (uint32_t g = 0; g < platform->ngroups; g++)
        led += platform->groups[g].count * platform->groups[g].led;
    return led;
}

struct named {
    const char *name;
    uint32_t index;
};

/* Names to look up, and the leaders found so far. */
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
                       "hosts.via: expected the name of a worker, got '%s'",
                       cv_shown(name, strlen(name), shown, sizeof shown));
    *out = found->index;
    return CLEAVE_OK;
}

static enum cleave_status put_behind(const struct applying *applying, uint32_t index,
                                     uint32_t leader)
{
    const char *const *names = applying->names->items;

    if (index == leader)
        return cv_fail(applying->err, CLEAVE_EINPUT, "hosts.via: '%s' cannot lead itself",
                       names[leader]);
    if (applying->leader[index] != CV_NO_LEADER && applying->leader[index] != leader)
        return cv_fail(applying->err, CLEAVE_EINPUT,
                       "hosts.via: '%s' is led by '%s' and by '%s': expected one leader",
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

/* Whether `above` leads a worker, directly or not. */
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

/* All other workers without a leader, except the leaders of this one. */
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
    return count > 0
               ? CLEAVE_OK
               : cv_fail(applying->err, CLEAVE_EINPUT,
                         "hosts.via %s: no other host is left to lead", rule->leader);
}

static enum cleave_status check_circles(const struct applying *applying)
{
    for (uint32_t i = 0; i < applying->names->count; i++)
        if (is_behind(applying, i, i))
            return cv_fail(applying->err, CLEAVE_EINPUT,
                           "hosts.via: '%s' leads itself: leaders form a circle",
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
                           "hosts.via: expected one leader of all other hosts, got '%s' "
                           "and '%s': name the hosts of each, hosts.via %s:HOSTS",
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
