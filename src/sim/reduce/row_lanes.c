/* row_lanes.c -- simulated runs of a small reduction, a few side by side.
 * SPDX-License-Identifier: MIT */
#include "sim/reduce/row_lanes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "policy/reduce/row_lane.h"

enum { LANES = 8 };

/* How much is known of the law of transfers. */
enum usual { ANY_LAW, GAMMA, EXPONENTIAL };

struct wake {
    uint32_t node, kind;
    double time_s;
};

/* A lane and what it needs to begin anew. */
struct place {
    struct cv_row_lane lane;
    uint32_t run;
    struct cv_run_result *result; /* NULL: the lane is free                         */
    struct cv_arena arena;        /* of the run: what is to be fresh                */
    void *start;                  /* owned: its bytes at the start                  */
};

struct cv_row_lanes {
    const struct cv_planned *planned;    /* borrowed */
    const struct cv_reduce_costs *costs; /* borrowed */
    enum usual usual;
    bool plain;
    bool simple;    /* combinations have no random cost                          */
    double added_s; /* then: what one adds to its transfer, if they are not apart */
    /* What all runs begin with. */
    struct cv_lane_node start_nodes[CV_LANE_NODES];
    struct cv_lane_begin start_begins[CV_LANE_NODES];
    struct wake start_wakes[CV_LANE_WAKES * CV_LANE_NODES];
    uint32_t nstart_begins, nstart_wakes, start_sent;
    uint32_t nready;             /* nodes whose partials come later: all or none */
    struct cv_row_pair *network; /* owned: sorts as many keys as begin           */
    size_t network_wide, network_size;
    struct place place[LANES];
};

/* --- runs ------------------------------------------------------------------------------- */

static double draw_combination(const struct cv_row_lanes *all, const struct place *place,
                               const struct cv_lane_begin *begin)
{
    return cv_compute_cost(all->costs, place->run, begin->node, begin->nth);
}

/* `usual`, a constant, says what is known of the law: a loop of draws need not ask. */
static CV_ALWAYS_INLINE double draw_transfer(const struct cv_reduce_costs *costs,
                                             uint32_t run,
                                             const struct cv_lane_begin *begin,
                                             enum usual usual)
{
    const struct cv_gamma *distribution = &costs->transfer.gamma;

    if (usual == ANY_LAW)
        return cv_transfer_cost(costs, run, begin->sender, begin->node);
#if defined(__GNUC__)
    if (usual == EXPONENTIAL && distribution->method != CV_GAMMA_EXPONENTIAL)
        __builtin_unreachable();
#endif
    return cv_gamma_at(distribution, costs->transfer_seed, run, begin->sender,
                       begin->node);
}

static CV_ALWAYS_INLINE void draw_start_as(const struct cv_row_lanes *all,
                                           struct place *place, enum usual usual)
{
    for (uint32_t i = 0; i < all->nstart_begins; i++)
        place->lane.costs_s[i] =
            draw_transfer(all->costs, place->run, &all->start_begins[i], usual);
}

static CV_ALWAYS_INLINE void draw_first_as(const struct cv_row_lanes *all,
                                           struct place *const *some, int count,
                                           enum usual usual)
{
    for (int i = 0; i < count; i++)
        some[i]->lane.costs_s[0] =
            draw_transfer(all->costs, some[i]->run, &some[i]->lane.begins[0], usual);
}

/* The transfers that begin at the start of a run. */
CV_FLATTEN static void draw_start(const struct cv_row_lanes *all, struct place *place)
{
    if (all->usual == EXPONENTIAL)
        draw_start_as(all, place, EXPONENTIAL);
    else if (all->usual == GAMMA)
        draw_start_as(all, place, GAMMA);
    else
        draw_start_as(all, place, ANY_LAW);
}

/* The first transfer that begins in each of some lanes, for all in a row: it is mostly the
 * only one. */
CV_FLATTEN static void draw_first(const struct cv_row_lanes *all,
                                  struct place *const *some, int count)
{
    if (all->usual == EXPONENTIAL)
        draw_first_as(all, some, count, EXPONENTIAL);
    else if (all->usual == GAMMA)
        draw_first_as(all, some, count, GAMMA);
    else
        draw_first_as(all, some, count, ANY_LAW);
}

/* The key of what begins now. Costs are laws here, no instance. If combinations have no
 * random cost, that of its transfer has been drawn as the `nth`. */
static CV_ALWAYS_INLINE uint64_t key_of(const struct cv_row_lanes *all,
                                        struct place *place,
                                        const struct cv_lane_begin *begin, uint32_t nth)
{
    struct cv_row_lane *lane = &place->lane;
    double end_s = lane->now_s;

    if (all->simple) {
        end_s += lane->costs_s[nth];
        return cv_lane_key(lane, begin->node, begin->kind, end_s + all->added_s);
    }
    if (all->plain || begin->kind == CV_LANE_TRANSFER)
        end_s += draw_transfer(all->costs, place->run, begin, ANY_LAW);
    if (begin->kind == CV_LANE_COMBINATION)
        end_s += draw_combination(all, place, begin);
    return cv_lane_key(lane, begin->node, begin->kind, end_s);
}

CV_FLATTEN static void lay_out_start(const struct cv_row_lanes *all, struct place *place)
{
    struct cv_row_lane *lane = &place->lane;
    uint64_t *keys = lane->keys + CV_ROW_GAP;

    for (uint32_t i = 0; i < all->nstart_begins; i++) {
        const struct cv_lane_begin *begin = &all->start_begins[i];

        lane->start_s[begin->node * CV_LANE_KINDS + begin->kind] = 0;
        *keys++ = key_of(all, place, begin, i);
    }
    for (uint32_t i = 0; i < all->nstart_wakes; i++) {
        const struct wake *wake = &all->start_wakes[i];

        *keys++ = cv_lane_key(lane, wake->node, wake->kind, wake->time_s);
    }
    for (uint32_t i = 0; i < all->nready; i++)
        *keys++ =
            cv_lane_key(lane, i, CV_LANE_READY, cv_ready_time(all->costs, place->run, i));
    cv_row_sort(&lane->row, lane->keys,
                all->nstart_begins + all->nstart_wakes + all->nready, all->network,
                all->network_wide, all->network_size);
}

/* The rest that begins in a lane is drawn on the way. */
CV_FLATTEN static void add_begun(const struct cv_row_lanes *all,
                                 struct place *const *some, int count)
{
    uint64_t keys[LANES];

    for (int i = 0; i < count; i++)
        keys[i] = key_of(all, some[i], &some[i]->lane.begins[0], 0);
    for (int i = 0; i < count; i++) {
        struct cv_row_lane *lane = &some[i]->lane;

        cv_row_add(&lane->row, lane->keys, keys[i]);
        for (uint32_t k = 1; k < lane->nbegins; k++) {
            if (all->simple)
                lane->costs_s[k] =
                    draw_transfer(all->costs, some[i]->run, &lane->begins[k], ANY_LAW);
            cv_row_add(&lane->row, lane->keys, key_of(all, some[i], &lane->begins[k], k));
        }
        lane->nbegins = 0;
    }
}

static void start_run(const struct cv_row_lanes *all, struct place *place, uint32_t run,
                      struct cv_run_result *result)
{
    struct cv_row_lane *lane = &place->lane;

    memcpy(lane->memory, place->start, lane->fresh);
    place->run = run;
    place->result = result;
    lane->now_s = lane->length_s = 0;
    lane->over = lane->undecided = false;
    lane->nbegins = 0;
    lane->sent = all->start_sent;
    if (all->simple)
        draw_start(all, place);
    if (lane->take != NULL)
        return;
    memcpy(lane->nodes, all->start_nodes, lane->view.nworkers * sizeof *lane->nodes);
    lay_out_start(all, place);
}

static void finish_run(struct place *place)
{
    const struct cv_row_lane *lane = &place->lane;
    uint32_t n = lane->view.nworkers;
    bool is_good = !lane->undecided && !lane->orders.out_of_memory && lane->sent + 1 == n;

    *place->result = (struct cv_run_result){ is_good ? lane->length_s : NAN, 0, n - 1 };
    place->result = NULL;
}

/* The loops of policies that have none of their own. */
CV_FLATTEN static void go_by_events(struct cv_row_lane *lane,
                                    const struct cleave_policy *policy)
{
    if (policy->gets_arrivals)
        cv_lane_go(lane, policy->decide, 0);
    else
        cv_lane_go(lane, policy->decide, CV_LANE_PLAIN);
}

/* Runs still to be made. */
struct work {
    uint64_t next, end;
    struct cv_run_result *results; /* of the next one on */
};

/* Whether there is a run in a place, after a look for a new one. */
CV_FLATTEN static bool refill(const struct cv_row_lanes *all, struct place *place,
                              struct work *work)
{
    if (work->next == work->end)
        return false;
    start_run(all, place, (uint32_t)work->next++, work->results++);
    return true;
}

/* Let all lanes go on; `some` are those in which something has begun. Returns how many,
 * negative if there is no run left. */
CV_FLATTEN static int go_all(struct cv_row_lanes *all, struct work *work,
                             struct place **some)
{
    const struct cleave_policy *policy = all->planned->policy;
    const struct cv_policy_inner *inner = policy->inner;
    int count = 0;
    bool any = false;

    for (int i = 0; i < LANES; i++) {
        struct place *place = &all->place[i];

        if (place->result == NULL && !refill(all, place, work))
            continue;
        if (inner != NULL && inner->go != NULL)
            inner->go(&place->lane);
        else
            go_by_events(&place->lane, policy);
        some[count] = place;
        count += place->lane.nbegins > 0; /* hard to guess, hence no branch */
        if (place->lane.over)
            finish_run(place);
        any = true;
    }
    return any ? count : -1;
}

void cv_row_lanes_run(struct cv_row_lanes *all, uint64_t begin, uint64_t end,
                      struct cv_run_result *results)
{
    struct work work = { begin, end, results };
    struct place *some[LANES];
    int count;

    while ((count = go_all(all, &work, some)) >= 0) {
        if (all->simple)
            draw_first(all, some, count);
        if (all->place[0].lane.take == NULL)
            add_begun(all, some, count);
        else
            for (int i = 0; i < count; i++)
                some[i]->lane.take(&some[i]->lane);
    }
}

/* --- before the first run --------------------------------------------------------------- */

static enum cleave_status start_policy(const struct cv_row_lanes *all,
                                       struct place *place, struct cleave_error *err)
{
    const struct cleave_policy *policy = all->planned->policy;
    struct cleave_setup setup = { .arena = &place->arena };
    struct cv_row_lane *lane = &place->lane;

    cv_arena_reset(&place->arena);
    lane->view = all->planned->view;
    lane->orders.units_left = &lane->view.units_left;
    lane->state = cv_array(&place->arena, 1, policy->state_size);
    if (lane->state == NULL)
        return cv_fail_memory(err, "the state of a reduction");
    for (uint32_t i = 0; i < lane->view.nworkers; i++)
        lane->nodes[i] =
            (struct cv_lane_node){ .port.first = CV_LANE_NONE,
                                   .processor.first = CV_LANE_NONE,
                                   .asleep[CV_LANE_WAKES - 1] = all->nready > 0,
                                   .unready = all->nready > 0 };
    memcpy(lane->state, all->planned->state, policy->state_size);
    if (policy->start != NULL)
        CV_TRY(policy->start(lane->state, &lane->view, &setup, err));
    lane->take = cv_lane_combines_at_once(lane) ? setup.take : NULL;
    return CLEAVE_OK;
}

/* Let the policy decide at the start, and keep what that came to. */
static enum cleave_status prepare(struct cv_row_lanes *all, struct place *place,
                                  struct cleave_error *err)
{
    const struct cleave_event event = { .kind = CLEAVE_START };
    struct cv_row_lane *lane = &place->lane;

    lane->compute_is_constant = cv_compute_is_constant(all->costs);
    lane->compute_s = cv_mean_compute(all->costs);
    do { /* once more if it took several blocks of memory */
        CV_TRY(start_policy(all, place, err));
        lane->memory = cv_arena_bytes(&place->arena, &lane->fresh);
    } while (lane->memory == NULL);
    cv_row_sort(&lane->row, lane->keys, 0, NULL, 0, 0);
    cv_lane_decide(lane, &event, all->planned->policy->decide,
                   all->plain ? CV_LANE_PLAIN : 0);
    place->start = malloc(lane->fresh);
    if (place->start == NULL)
        return cv_fail_memory(err, "the runs side by side");
    memcpy(place->start, lane->memory, lane->fresh);
    all->nstart_wakes = 0;
    for (uint32_t i = lane->row.head; i < lane->row.tail; i++) {
        uint32_t number = lane->keys[i] % CV_LANE_NUMBERS;

        all->start_wakes[all->nstart_wakes++] =
            (struct wake){ number / CV_LANE_KINDS, number % CV_LANE_KINDS,
                           lane->end_s[number] };
    }
    memcpy(all->start_nodes, lane->nodes, sizeof all->start_nodes);
    memcpy(all->start_begins, lane->begins, sizeof lane->begins);
    all->nstart_begins = lane->nbegins;
    all->start_sent = lane->sent;
    lane->nbegins = 0;
    return CLEAVE_OK;
}

static enum cleave_status plan_sort(struct cv_row_lanes *all, struct cleave_error *err)
{
    uint32_t count = all->nstart_begins + all->nstart_wakes + all->nready;

    all->network_size = cv_row_network(count, NULL, &all->network_wide);
    all->network = calloc(all->network_size + 1, sizeof *all->network);
    if (all->network == NULL)
        return cv_fail_memory(err, "the runs side by side");
    cv_row_network(count, all->network, &all->network_wide);
    return CLEAVE_OK;
}

enum cleave_status cv_row_lanes_open(const struct cv_planned *planned,
                                     const struct cv_reduce_costs *costs,
                                     struct cv_row_lanes **out, struct cleave_error *err)
{
    struct cv_row_lanes *all = calloc(1, sizeof *all);
    enum cleave_status status = CLEAVE_OK;

    if (all == NULL)
        return cv_fail_memory(err, "the runs side by side");
    all->planned = planned;
    all->costs = costs;
    all->plain = !planned->policy->gets_arrivals;
    all->simple = cv_compute_is_constant(costs);
    all->nready = costs->has_ready ? costs->nodes : 0;
    if (costs->transfer.kind == CV_LAW_GAMMA)
        all->usual =
            costs->transfer.gamma.method == CV_GAMMA_EXPONENTIAL ? EXPONENTIAL : GAMMA;
    all->added_s = all->plain ? cv_mean_compute(costs) : 0;
    for (int i = 0; i < LANES && status == CLEAVE_OK; i++)
        status = prepare(all, &all->place[i], err);
    if (status == CLEAVE_OK)
        status = plan_sort(all, err);
    if (status != CLEAVE_OK)
        cv_row_lanes_close(all);
    else
        *out = all;
    return status;
}

void cv_row_lanes_close(struct cv_row_lanes *all)
{
    if (all == NULL)
        return;
    for (int i = 0; i < LANES; i++) {
        struct place *place = &all->place[i];

        cv_arena_done(&place->arena);
        free(place->start);
        free(place->lane.orders.items);
    }
    free(all->network);
    free(all);
}
