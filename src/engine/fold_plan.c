/* fold_plan.c -- which worker folds which partial results. SPDX-License-Identifier: MIT */
#include "engine/fold_plan.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/fail.h"

static const size_t NONE = SIZE_MAX;

/* An interval of the input. */
struct span {
    uint64_t begin, end;
    struct span *next;
};

struct item {
    uint64_t id, begin, end, bytes;
    uint32_t holder;
    uint32_t ahead; /* the worker that a copy went ahead to, or CV_FOLD_NOBODY       */
    uint64_t name;  /* number of the copy */
    bool busy;
    struct span *spans; /* owned: inputs of the partial */
};

/* A worker during a decision. */
struct hand {
    size_t count, free; /* partials that it holds; those that are not busy */
    bool ready;         /* one of them could be folded                                */
    uint64_t bytes;     /* held by it in the run of neighbours that is searched */
};

struct cv_fold_plan {
    bool commutative, apart;
    uint32_t nworkers, max;
    struct item *items; /* owned: by begin                                    */
    size_t count, room;
    struct hand *hands; /* owned: per worker                                  */
};

static struct cv_fold_part part_of(const struct item *item)
{
    return (struct cv_fold_part){ item->id, item->bytes, item->holder, item->ahead,
                                  item->name };
}

/* The worker where it can be folded without a transfer. */
static uint32_t seat(const struct item *item)
{
    return item->ahead != CV_FOLD_NOBODY ? item->ahead : item->holder;
}

static void count_partials(const struct cv_fold_plan *plan)
{
    memset(plan->hands, 0, plan->nworkers * sizeof *plan->hands);
    for (size_t i = 0; i < plan->count; i++) {
        struct hand *hand = &plan->hands[seat(&plan->items[i])];

        hand->count++;
        hand->free += !plan->items[i].busy;
    }
}

/* Order kept: whether item `index` and the next one can be folded. */
static bool is_linked(const struct cv_fold_plan *plan, size_t index)
{
    const struct item *item = plan->items + index;

    return index + 1 < plan->count && !item->busy && !item[1].busy &&
           item->end == item[1].begin && (!plan->apart || item->holder == item[1].holder);
}

enum cleave_status cv_fold_plan_new(uint32_t nworkers, bool commutative, bool apart,
                                    uint32_t max, struct cv_fold_plan **out,
                                    struct cleave_error *err)
{
    struct cv_fold_plan *plan = calloc(1, sizeof *plan);

    assert(max >= 2 && max <= CV_FOLD_STEP_MOST);
    if (plan != NULL)
        plan->hands = calloc((size_t)nworkers + 1, sizeof *plan->hands);
    if (plan == NULL || plan->hands == NULL) {
        free(plan);
        return cv_fail_memory(err, "the reduction");
    }
    plan->commutative = commutative;
    plan->apart = apart;
    plan->nworkers = nworkers;
    plan->max = max;
    *out = plan;
    return CLEAVE_OK;
}

static void free_spans(struct span *spans)
{
    while (spans != NULL) {
        struct span *next = spans->next;

        free(spans);
        spans = next;
    }
}

void cv_fold_plan_free(struct cv_fold_plan *plan)
{
    if (plan == NULL)
        return;
    for (size_t i = 0; i < plan->count; i++)
        free_spans(plan->items[i].spans);
    free(plan->items);
    free(plan->hands);
    free(plan);
}

static void remove_item(struct cv_fold_plan *plan, size_t index)
{
    memmove(plan->items + index, plan->items + index + 1,
            (plan->count - index - 1) * sizeof *plan->items);
    plan->count--;
}

static size_t find(const struct cv_fold_plan *plan, uint64_t id)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].id == id)
            return i;
    return NONE;
}

static void add_spans(struct item *item, struct span *spans)
{
    struct span **end = &item->spans;

    while (*end != NULL)
        end = &(*end)->next;
    *end = spans;
}

enum cleave_status cv_fold_plan_add(struct cv_fold_plan *plan, uint64_t id,
                                    uint64_t begin, uint64_t end, uint32_t holder,
                                    uint64_t bytes, struct cleave_error *err)
{
    struct span *span;
    size_t at = plan->count;

    assert(begin < end && holder < plan->nworkers);
    if (!CV_ROOM(plan->items, &plan->room, plan->count + 1))
        return cv_fail_memory(err, "partial results");
    span = malloc(sizeof *span);
    if (span == NULL)
        return cv_fail_memory(err, "partial results");
    *span = (struct span){ begin, end, NULL };
    while (at > 0 && plan->items[at - 1].begin > begin)
        at--;
    memmove(plan->items + at + 1, plan->items + at,
            (plan->count - at) * sizeof *plan->items);
    plan->items[at] = (struct item){ .id = id,
                                     .begin = begin,
                                     .end = end,
                                     .bytes = bytes,
                                     .holder = holder,
                                     .ahead = CV_FOLD_NOBODY,
                                     .spans = span };
    plan->count++;
    return CLEAVE_OK;
}

/* --- ends of steps -------------------------------------------------------------------- */

/* Partials that went ahead to the worker of an ended step may be folded. */
static void release_ahead(struct cv_fold_plan *plan, const struct cv_fold_step *step)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].ahead == step->at)
            plan->items[i].busy = false;
}

void cv_fold_plan_done(struct cv_fold_plan *plan, const struct cv_fold_step *step,
                       uint64_t id, uint64_t bytes)
{
    struct item *item;

    /* The first part absorbs the other parts. */
    for (uint32_t i = 1; i < step->count; i++) {
        const size_t from = find(plan, step->parts[i].id);
        const size_t to = find(plan, step->parts[0].id);

        assert(from != NONE && to != NONE);
        item = &plan->items[to];
        add_spans(item, plan->items[from].spans);
        if (!plan->commutative)
            item->end = plan->items[from].end;
        remove_item(plan, from);
    }
    item = &plan->items[find(plan, step->parts[0].id)];
    item->id = id;
    item->bytes = bytes;
    item->holder = step->at;
    item->ahead = CV_FOLD_NOBODY;
    item->busy = false;
    release_ahead(plan, step);
}

void cv_fold_plan_undo(struct cv_fold_plan *plan, const struct cv_fold_step *step)
{
    for (uint32_t i = 0; i < step->count; i++) {
        const size_t at = find(plan, step->parts[i].id);

        if (at == NONE)
            continue;
        plan->items[at].busy = false;
        plan->items[at].ahead = CV_FOLD_NOBODY;
    }
    release_ahead(plan, step);
}

bool cv_fold_step_has(const struct cv_fold_step *step, uint32_t worker)
{
    for (uint32_t i = 0; i < step->count; i++)
        if (step->parts[i].holder == worker)
            return true;
    return step->at == worker;
}

enum cleave_status
cv_fold_plan_lose(struct cv_fold_plan *plan, uint32_t worker,
                  enum cleave_status (*again)(void *context, uint64_t begin, uint64_t end,
                                              struct cleave_error *err),
                  void *context, struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    struct item lost = { 0 };

    for (size_t i = plan->count; i-- > 0;) {
        if (plan->items[i].ahead == worker) {
            plan->items[i].ahead = CV_FOLD_NOBODY;
            plan->items[i].busy = false;
        }
        if (plan->items[i].holder != worker)
            continue;
        assert(!plan->items[i].busy);
        add_spans(&lost, plan->items[i].spans);
        remove_item(plan, i);
    }
    for (const struct span *span = lost.spans; span != NULL && status == CLEAVE_OK;
         span = span->next)
        status = again(context, span->begin, span->end, err);
    free_spans(lost.spans);
    return status;
}

size_t cv_fold_plan_count(const struct cv_fold_plan *plan)
{
    return plan->count;
}

static uint64_t covered(const struct item *item)
{
    uint64_t bytes = 0;

    for (const struct span *span = item->spans; span != NULL; span = span->next)
        bytes += span->end - span->begin;
    return bytes;
}

uint64_t cv_fold_plan_covered(const struct cv_fold_plan *plan)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < plan->count; i++)
        bytes += covered(&plan->items[i]);
    return bytes;
}

bool cv_fold_plan_last(const struct cv_fold_plan *plan, uint64_t *out_id,
                       uint32_t *out_holder, uint64_t *out_bytes)
{
    const struct item *item = plan->items;

    if (plan->count != 1 || item->busy)
        return false;
    *out_id = item->id;
    *out_holder = item->holder;
    *out_bytes = item->bytes;
    return true;
}

bool cv_fold_plan_holds(const struct cv_fold_plan *plan, uint32_t worker)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].holder == worker)
            return true;
    return false;
}

static bool are_neighbours(const struct item *left, const struct item *right)
{
    return left->holder == right->holder && left->end == right->begin;
}

bool cv_fold_plan_pick(struct cv_fold_plan *plan,
                       bool (*leaves)(void *context,
                                      const struct cv_fold_leaver *partial),
                       void *context, struct cv_fold_leaver *out)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct item *item = &plan->items[i];

        if (item->busy)
            continue;
        *out = (struct cv_fold_leaver){
            .id = item->id,
            .bytes = item->bytes,
            .begin = item->begin,
            .end = item->end,
            .covers = covered(item),
            .holder = item->holder,
            .grows = (i > 0 && are_neighbours(item - 1, item)) ||
                     (i + 1 < plan->count && are_neighbours(item, item + 1))
        };
        item->busy = leaves(context, out);
        if (item->busy)
            return true;
    }
    return false;
}

void cv_fold_plan_stay(struct cv_fold_plan *plan, uint64_t id)
{
    plan->items[find(plan, id)].busy = false;
}

void cv_fold_plan_leave(struct cv_fold_plan *plan, uint64_t id)
{
    const size_t at = find(plan, id);

    free_spans(plan->items[at].spans);
    remove_item(plan, at);
}

/* --- which partial goes ahead to a worker that folds ------------------------------- */

/* Order kept: the smaller one of the two neighbours of the step's result. Else the
 * smallest partial that is alone at its worker; that worker must be idle, as more may
 * soon arrive there. */

static bool smaller(const struct item *one, const struct item *other)
{
    return other == NULL || one->bytes < other->bytes;
}

static bool may_go(const struct item *item, uint32_t to)
{
    return !item->busy && item->holder != to && item->ahead == CV_FOLD_NOBODY;
}

static bool is_expecting(const struct cv_fold_plan *plan, uint32_t worker)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].ahead == worker)
            return true;
    return false;
}

static struct item *neighbour(const struct cv_fold_plan *plan,
                              const struct cv_fold_step *step)
{
    const uint64_t first = step->parts[0].id, last = step->parts[step->count - 1].id;
    struct item *items = plan->items, *found = NULL;

    for (size_t i = 0; i < plan->count; i++) {
        const bool before = i + 1 < plan->count && items[i + 1].id == first &&
                            items[i + 1].begin == items[i].end;
        const bool after =
            i > 0 && items[i - 1].id == last && items[i - 1].end == items[i].begin;

        if ((before || after) && may_go(&items[i], step->at) && smaller(&items[i], found))
            found = &items[i];
    }
    return found;
}

static struct item *lone(const struct cv_fold_plan *plan, const bool *may, uint32_t to)
{
    struct item *found = NULL;

    count_partials(plan);
    for (size_t i = 0; i < plan->count; i++) {
        struct item *item = &plan->items[i];

        if (may_go(item, to) && may[item->holder] &&
            plan->hands[item->holder].count == 1 && smaller(item, found))
            found = item;
    }
    return found;
}

bool cv_fold_plan_ahead(struct cv_fold_plan *plan, const struct cv_fold_step *step,
                        const bool *may, uint64_t name, struct cv_fold_part *out)
{
    struct item *item;

    if (is_expecting(plan, step->at))
        return false;
    item = plan->commutative ? lone(plan, may, step->at) : neighbour(plan, step);
    if (item == NULL)
        return false;
    item->busy = true;
    item->ahead = step->at;
    item->name = name | (item->id & CV_FOLD_RESULT);
    *out = part_of(item);
    return true;
}

bool cv_fold_plan_lose_ahead(struct cv_fold_plan *plan, uint32_t worker,
                             struct cv_fold_part *out)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct item *item = &plan->items[i];

        if (item->holder != worker || item->ahead == CV_FOLD_NOBODY)
            continue;
        *out = part_of(item);
        item->ahead = CV_FOLD_NOBODY;
        item->busy = false;
        return true;
    }
    return false;
}

/* --- which partials the next step folds, and where --------------------------------- */

/* Let a fold cost its start and the bytes that it reads, and let the result be as large
 * as all inputs (concatenation), or as one of them (sums), or between. Then FEW at a time
 * are done no later than if they are folded two by two in parallel, which takes 2 + 2 + 2
 * against 6 at best, with five starts, three of them one after the other. So another
 * worker shares the work only if there are more than FEW for each. */

/* GRAIN: bytes that a command reads while another one starts. Windows that differ by less
 * are equal, so that runs are not cut in the middle for nothing. */
enum { FEW = 6, GRAIN = 64 * 1024 };

/* Whether to start a fold now: for its bytes, or for the number of its partials. */
static bool worthwhile(const struct cv_fold_plan *plan, bool patient, size_t count,
                       uint64_t grains)
{
    return !patient || count == plan->max ||
           (!plan->apart && (grains > 0 || count >= FEW));
}

/* How many of the `ready` partials a step takes if `among` workers could fold. */
static size_t share(const struct cv_fold_plan *plan, size_t ready, size_t among)
{
    size_t steps = (ready + FEW - 1) / FEW, take;

    if (steps > among)
        steps = among;
    if (steps == 0)
        steps = 1;
    take = (ready + steps - 1) / steps;
    return take < 2 ? 2 : take > plan->max ? plan->max : take;
}

/* --- order kept --------------------------------------------------------------------------- */

/* Neighbours that could be folded in one step. */
struct window {
    size_t first, count;
    uint32_t at;
    bool moves;      /* a partial has to be sent */
    uint64_t weight; /* read or sent, in GRAINs */
};

/* Number of partials that could be folded; *out_among workers could do it. */
static size_t look_around(struct cv_fold_plan *plan, const bool *may, size_t *out_among)
{
    size_t ready = 0;

    memset(plan->hands, 0, plan->nworkers * sizeof *plan->hands);
    for (size_t i = 0; i < plan->count; i++) {
        if (!is_linked(plan, i) && (i == 0 || !is_linked(plan, i - 1)))
            continue;
        ready++;
        plan->hands[seat(&plan->items[i])].ready = true;
    }
    *out_among = 0;
    for (uint32_t w = 0; w < plan->nworkers; w++)
        *out_among += may[w] && plan->hands[w].ready;
    return ready;
}

/* The worker that can fold the window with the fewest bytes sent. hands[].bytes is set. */
static void place(const struct cv_fold_plan *plan, const bool *may, struct window *window)
{
    const struct item *items = plan->items + window->first;
    uint64_t bytes = 0, max = 0;

    window->at = CV_FOLD_NOBODY;
    for (size_t i = 0; i < window->count; i++) {
        const uint32_t holder = seat(&items[i]);

        bytes += items[i].bytes;
        if (!may[holder] ||
            (window->at != CV_FOLD_NOBODY && plan->hands[holder].bytes <= max))
            continue;
        window->at = holder;
        max = plan->hands[holder].bytes;
    }
    window->moves = false;
    for (size_t i = 0; i < window->count; i++)
        window->moves |= seat(&items[i]) != window->at;
    window->weight = (2 * bytes - max) / GRAIN;
}

static bool better(const struct window *one, const struct window *other)
{
    if (other->count == 0 || one->count != other->count)
        return one->count > other->count;
    return one->moves != other->moves ? other->moves : one->weight < other->weight;
}

/* Search all windows of `take` in the run of `length` items at `first`. */
static void search_run(struct cv_fold_plan *plan, const bool *may, bool patient,
                       size_t first, size_t length, size_t take, struct window *best)
{
    const struct item *items = plan->items + first;
    size_t count = length < take ? length : take;

    /* Take one more rather than leave it alone. */
    if (length == take + 1 && take < plan->max)
        count = length;
    for (size_t i = 0; i < length; i++)
        plan->hands[seat(&items[i])].bytes = 0;
    for (size_t i = 0; i < length; i++) {
        struct window window = { .first = first + i + 1 - count, .count = count };

        plan->hands[seat(&items[i])].bytes += items[i].bytes;
        if (i + 1 < count)
            continue;
        place(plan, may, &window);
        if (window.at != CV_FOLD_NOBODY && better(&window, best) &&
            worthwhile(plan, patient, count, window.weight))
            *best = window;
        plan->hands[seat(&items[i + 1 - count])].bytes -= items[i + 1 - count].bytes;
    }
}

static size_t choose_neighbours(struct cv_fold_plan *plan, const bool *may, bool patient,
                                size_t *picks, uint32_t *out_at)
{
    struct window best = { 0 };
    size_t among, take;
    const size_t ready = look_around(plan, may, &among);

    if (among == 0)
        return 0;
    take = plan->apart ? plan->max : share(plan, ready, among);
    for (size_t first = 0, length; first < plan->count; first += length) {
        for (length = 1; is_linked(plan, first + length - 1);)
            length++;
        if (length > 1)
            search_run(plan, may, patient, first, length, take, &best);
    }
    for (size_t i = 0; i < best.count; i++)
        picks[i] = best.first + i;
    *out_at = best.at;
    return best.count;
}

/* --- commutative -------------------------------------------------------------------------- */

/* Insert the item into the smallest `take`, in order; returns their number. */
static size_t insert(const struct cv_fold_plan *plan, size_t item, size_t take,
                     size_t *picks, size_t count)
{
    const uint64_t bytes = plan->items[item].bytes;
    size_t at;

    if (count == take && plan->items[picks[count - 1]].bytes <= bytes)
        return count;
    at = count < take ? count++ : take - 1;
    for (; at > 0 && plan->items[picks[at - 1]].bytes > bytes; at--)
        picks[at] = picks[at - 1];
    picks[at] = item;
    return count;
}

/* The smallest `take` at `home`; CV_FOLD_NOBODY: of partials that are alone at a worker that may fold. */
static size_t pick(const struct cv_fold_plan *plan, const bool *may, uint32_t home,
                   size_t take, size_t *picks)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->count; i++) {
        const uint32_t holder = seat(&plan->items[i]);

        if (!plan->items[i].busy &&
            (home != CV_FOLD_NOBODY ? holder == home
                                    : may[holder] && plan->hands[holder].count == 1))
            count = insert(plan, i, take, picks, count);
    }
    return count;
}

static uint64_t grains(const struct cv_fold_plan *plan, const size_t *picks, size_t count)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += plan->items[picks[i]].bytes;
    return bytes / GRAIN;
}

/* Partials of one worker, or else one partial each of workers that hold no other. */
static size_t choose_any(struct cv_fold_plan *plan, const bool *may, bool patient,
                         size_t *picks, uint32_t *out_at)
{
    size_t lone = 0, count;

    count_partials(plan);
    for (uint32_t w = 0; w < plan->nworkers; w++) {
        const struct hand *hand = &plan->hands[w];

        /* A partial next to busy ones may be folded with them later. */
        lone += may[w] && hand->free == 1 && hand->count == 1;
        if (!may[w] || hand->free < 2)
            continue;
        *out_at = w;
        count = pick(plan, may, w, plan->max, picks);
        if (worthwhile(plan, patient, count, grains(plan, picks, count)))
            return count;
    }
    if (lone < 2 || plan->apart)
        return 0;
    count = pick(plan, may, CV_FOLD_NOBODY, share(plan, lone, lone), picks);
    *out_at = seat(&plan->items[picks[count - 1]]);
    return worthwhile(plan, patient, count, grains(plan, picks, count)) ? count : 0;
}

bool cv_fold_plan_next(struct cv_fold_plan *plan, const bool *may, bool patient,
                       struct cv_fold_step *out)
{
    size_t picks[CV_FOLD_STEP_MOST] = { 0 };
    uint32_t at = CV_FOLD_NOBODY;
    const size_t count = plan->commutative
                             ? choose_any(plan, may, patient, picks, &at)
                             : choose_neighbours(plan, may, patient, picks, &at);

    if (count == 0)
        return false;
    *out = (struct cv_fold_step){ .at = at, .count = (uint32_t)count };
    for (size_t i = 0; i < count; i++) {
        struct item *item = &plan->items[picks[i]];

        item->busy = true;
        out->parts[i] = part_of(item);
        if (item->ahead != at)
            item->ahead = CV_FOLD_NOBODY;
    }
    return true;
}

size_t cv_fold_plan_ready(const struct cv_fold_plan *plan)
{
    size_t ready = 0;

    for (size_t i = 0; i < plan->count; i++)
        ready += plan->commutative
                     ? !plan->items[i].busy
                     : is_linked(plan, i) || (i > 0 && is_linked(plan, i - 1));
    return ready > 1 ? ready : 0;
}

/* --- measured times to move and to fold ----------------------------------------------- */

/* Bytes of a step, or only those that move after the order. */
static double bytes_of(const struct cv_fold_step *step, bool moving)
{
    double bytes = 0;

    for (uint32_t i = 0; i < step->count; i++)
        if (!moving ||
            (step->parts[i].holder != step->at && step->parts[i].ahead != step->at))
            bytes += (double)step->parts[i].bytes;
    return bytes;
}

/* Whether the step waited for a partial that was sent ahead. */
static bool was_expecting(const struct cv_fold_step *step)
{
    for (uint32_t i = 0; i < step->count; i++)
        if (step->parts[i].ahead == step->at)
            return true;
    return false;
}

static double time_of(const struct cv_fit *fit, double bytes)
{
    return fit->rate_ups > 0 ? fit->latency_s + bytes / fit->rate_ups : INFINITY;
}

void cv_fold_pace_saw(struct cv_fold_pace *pace, const struct cv_fold_step *step,
                      double whole_s, double fold_s)
{
    const double all = bytes_of(step, false), moved = bytes_of(step, true);

    if (fold_s < 0 && moved <= 0 && !was_expecting(step))
        fold_s = whole_s;
    if (fold_s >= 0)
        cv_fit_add(&pace->fold, all, fold_s, -1);
    else
        fold_s = time_of(&pace->fold, all);
    if (moved > 0 && !was_expecting(step) && isfinite(fold_s))
        cv_fit_add(&pace->transfer, moved, whole_s - fold_s, -1);
}

double cv_fold_pace_near_s(const struct cv_fold_pace *pace,
                           const struct cv_fold_step *step, double given_s,
                           uint64_t bytes)
{
    const double moved = bytes_of(step, true);
    const double transfer_s = time_of(&pace->transfer, (double)bytes);

    if (!isfinite(transfer_s))
        return INFINITY;
    return given_s + (moved > 0 ? time_of(&pace->transfer, moved) : 0) +
           time_of(&pace->fold, bytes_of(step, false)) - transfer_s;
}
