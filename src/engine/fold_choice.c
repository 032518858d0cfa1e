/* fold_choice.c -- which partials the next step folds, and where.
 * SPDX-License-Identifier: MIT
 *
 * How many at a time: let a fold cost its start and the bytes that go through it, and let
 * what comes out be as large as all that went in (lines put together), or as one of them
 * (sums), or between. Then FEW at a time are done no later than when they are folded two
 * by two side by side, which takes 2 + 2 + 2 against 6 at the best and has five starts, of
 * which three are one after the other. So work is shared with one worker more only when
 * there are more than FEW for each. */
#include "engine/fold_plan.h"

#include "engine/fold_plan_internal.h"

/* GRAIN: bytes that a command goes through while another one is started; windows that
 * differ by less are alike. To choose by less would only cut runs in the middle. */
enum { FEW = 6, GRAIN = 64 * 1024 };

/* Whether so many are worth a start now: their bytes, which would go through it, or else
 * there are enough of them. */
static bool worthwhile(const struct cv_fold_plan *plan, bool patient, size_t count,
                       uint64_t grains)
{
    return !patient || grains > 0 || count >= FEW || count == plan->max;
}

/* How many of so many a step takes when `among` workers could fold. */
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
    bool moves;      /* something has to move                                         */
    uint64_t weight; /* grains of bytes that are read or moved                        */
};

/* How many partials wait that could be folded; *out_among workers could do it. */
static size_t look_around(struct cv_fold_plan *plan, const bool *may, size_t *out_among)
{
    size_t ready = 0;

    for (uint32_t w = 0; w < plan->nworkers; w++)
        plan->hands[w] = (struct cv_fold_hand){ 0 };
    for (size_t i = 0; i < plan->count; i++) {
        if (!cv_fold_linked(plan, i) && (i == 0 || !cv_fold_linked(plan, i - 1)))
            continue;
        ready++;
        plan->hands[cv_fold_seat(&plan->items[i])].ready = true;
    }
    *out_among = 0;
    for (uint32_t w = 0; w < plan->nworkers; w++)
        *out_among += may[w] && plan->hands[w].ready;
    return ready;
}

/* Where the window could be folded so that the fewest bytes move. The hands say who has
 * how many. */
static void place(const struct cv_fold_plan *plan, const bool *may, struct window *window)
{
    const struct cv_fold_item *items = plan->items + window->first;
    uint64_t bytes = 0, max = 0;

    window->at = CV_FOLD_NOBODY;
    for (size_t i = 0; i < window->count; i++) {
        const uint32_t holder = cv_fold_seat(&items[i]);

        bytes += items[i].bytes;
        if (!may[holder] ||
            (window->at != CV_FOLD_NOBODY && plan->hands[holder].bytes <= max))
            continue;
        window->at = holder;
        max = plan->hands[holder].bytes;
    }
    window->moves = false;
    for (size_t i = 0; i < window->count; i++)
        window->moves |= cv_fold_seat(&items[i]) != window->at;
    window->weight = (2 * bytes - max) / GRAIN;
}

static bool better(const struct window *one, const struct window *other)
{
    if (other->count == 0 || one->count != other->count)
        return one->count > other->count;
    return one->moves != other->moves ? other->moves : one->weight < other->weight;
}

/* Look at all windows of `take` in the run of `length` items from `first` on. */
static void search_run(struct cv_fold_plan *plan, const bool *may, bool patient,
                       size_t first, size_t length, size_t take, struct window *best)
{
    const struct cv_fold_item *items = plan->items + first;
    size_t count = length < take ? length : take;

    /* One that would be left alone is taken along. */
    if (length == take + 1 && take < plan->max)
        count = length;
    for (size_t i = 0; i < length; i++)
        plan->hands[cv_fold_seat(&items[i])].bytes = 0;
    for (size_t i = 0; i < length; i++) {
        struct window window = { .first = first + i + 1 - count, .count = count };

        plan->hands[cv_fold_seat(&items[i])].bytes += items[i].bytes;
        if (i + 1 < count)
            continue;
        place(plan, may, &window);
        if (window.at != CV_FOLD_NOBODY && better(&window, best) &&
            worthwhile(plan, patient, count, window.weight))
            *best = window;
        plan->hands[cv_fold_seat(&items[i + 1 - count])].bytes -=
            items[i + 1 - count].bytes;
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
    take = share(plan, ready, among);
    for (size_t first = 0, length; first < plan->count; first += length) {
        for (length = 1; cv_fold_linked(plan, first + length - 1);)
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

static void look_at_hands(struct cv_fold_plan *plan)
{
    for (uint32_t w = 0; w < plan->nworkers; w++)
        plan->hands[w] = (struct cv_fold_hand){ 0 };
    for (size_t i = 0; i < plan->count; i++) {
        struct cv_fold_hand *hand = &plan->hands[cv_fold_seat(&plan->items[i])];

        hand->count++;
        hand->free += !plan->items[i].busy;
    }
}

/* Put the item among the smallest `take`, the smallest first; how many there are then. */
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

/* The smallest `take` of those that `home` has; or, if that is nobody, of the ones of
 * workers that have no other and may fold. */
static size_t pick(const struct cv_fold_plan *plan, const bool *may, uint32_t home,
                   size_t take, size_t *picks)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->count; i++) {
        const uint32_t holder = cv_fold_seat(&plan->items[i]);

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

/* What one worker has, or else one partial each of those that have no other. */
static size_t choose_any(struct cv_fold_plan *plan, const bool *may, bool patient,
                         size_t *picks, uint32_t *out_at)
{
    size_t lone = 0, count;

    look_at_hands(plan);
    for (uint32_t w = 0; w < plan->nworkers; w++) {
        const struct cv_fold_hand *hand = &plan->hands[w];

        /* If others are busy there, it may be folded with them later. */
        lone += may[w] && hand->free == 1 && hand->count == 1;
        if (!may[w] || hand->free < 2)
            continue;
        *out_at = w;
        count = pick(plan, may, w, plan->max, picks);
        if (worthwhile(plan, patient, count, grains(plan, picks, count)))
            return count;
    }
    if (lone < 2)
        return 0;
    count = pick(plan, may, CV_FOLD_NOBODY, share(plan, lone, lone), picks);
    *out_at = cv_fold_seat(&plan->items[picks[count - 1]]);
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
        struct cv_fold_item *item = &plan->items[picks[i]];

        item->busy = true;
        out->parts[i] = cv_fold_part_of(item);
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
                     : cv_fold_linked(plan, i) || (i > 0 && cv_fold_linked(plan, i - 1));
    return ready > 1 ? ready : 0;
}
