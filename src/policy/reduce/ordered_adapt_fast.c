/* ordered_adapt_fast.c -- ordered-adapt in simulation when combining takes no time.
 * SPDX-License-Identifier: MIT
 *
 * What is left of its rules then is: merge with the neighbour idle longest, and wait for
 * the whole binomial buddy block. The general rules in ordered_adapt.c are the reference;
 * tests compare the two run by run, to the bit.
 *
 * Time need not pass everywhere at once. Nobody sends to a node that receives, and it does
 * nothing before that ends: until then, what happens on one side of it does not depend on
 * the other side. So a node whose transfer ends before those of the nearest nodes that
 * receive on its left and right is ready, whatever the time elsewhere: all that it will
 * look at is decided. No events need sorting, and given who ends later than the next one,
 * a few operations on sets tell who is ready. Of two equal times that of the lower node
 * counts as earlier, as everywhere; that is the left one.
 *
 * A node that is ready beside an idle one sends or waits; else it rests, that is, becomes
 * idle. Nodes rest only when nobody sends, all at once: whether one rests can hardly be
 * guessed, and wrong guesses are what takes the time here. */
#include <math.h>
#include <string.h>

#include "policy/reduce/ordered_adapt.h"

/* --- sets of places --------------------------------------------------------------------- */

static inline uint64_t just(uint32_t place)
{
    return (uint64_t)1 << place;
}

static inline uint64_t below(uint32_t place)
{
    return just(place) - 1;
}

static inline uint64_t above(uint32_t place)
{
    return ~(uint64_t)1 << place;
}

/* Of a set that is not empty. */
static inline uint32_t lowest(uint64_t set)
{
    return (uint32_t)__builtin_ctzll(set);
}

static inline uint32_t highest(uint64_t set)
{
    return 63 ^ (uint32_t)__builtin_clzll(set);
}

/* Of every member of `some`, which are in `all`, the next one in `all`: carries run through
 * the gaps. */
static inline uint64_t next_ones(uint64_t some, uint64_t all)
{
    return ((some << 1) + ~all) & all;
}

/* --- buddies ---------------------------------------------------------------------------- */

static const struct lean_buddy no_buddy = { LEAN_NO_BUDDY, LEAN_NO_BUDDY };

static uint16_t span_of(uint32_t first, uint32_t past)
{
    return (uint16_t)(first << SPAN_BITS | past);
}

/* As whole_buddy, but before it is known what the neighbours are. */
static struct lean_buddy buddy_of(uint32_t first, uint32_t last, uint32_t last_of_all)
{
    struct lean_buddy buddy = no_buddy;
    uint32_t width = 1, begin, end;

    if (first == 0 && last == last_of_all)
        return no_buddy;
    do {
        width *= 2;
        begin = first / width * width;
        end = begin + width - 1 < last_of_all ? begin + width - 1 : last_of_all;
    } while (last > end || (first == begin && last == end));
    if (first == begin)
        buddy.past = (uint8_t)(end + 1);
    else if (last == end)
        buddy.first = (uint8_t)begin;
    return buddy;
}

const struct lean_buddy *cv_fast_ordered_buddies(struct cv_arena *arena, uint32_t npairs,
                                                 bool may_wait)
{
    struct lean_buddy *buddies = cv_array(arena, SPAN_COUNT, sizeof *buddies);

    if (buddies == NULL)
        return NULL;
    for (uint32_t i = 0; i < SPAN_COUNT; i++)
        buddies[i] = no_buddy;
    for (uint32_t first = 0; may_wait && first < npairs; first++)
        for (uint32_t last = first; last < npairs; last++)
            buddies[span_of(first, last + 1)] = buddy_of(first, last, npairs - 1);
    return buddies;
}

/* --- decisions -------------------------------------------------------------------------- */

static inline uint64_t receivers(const struct lean_sets *sets)
{
    return sets->blocks & ~sets->idle;
}

static inline uint64_t lean_ready(const struct lean_sets *sets)
{
    return ~sets->later & next_ones(sets->later, receivers(sets));
}

static inline uint64_t lean_senders(const struct lean_sets *sets)
{
    return lean_ready(sets) & (sets->gaps | next_ones(sets->gaps, receivers(sets)));
}

/* What a node beside an idle one does: it waits, or sends. */
struct lean_choice {
    bool waits;
    uint32_t to;
    uint32_t span; /* of both */
};

/* As consider, with no branch that cannot be guessed. */
static CV_ALWAYS_INLINE struct lean_choice lean_choose(const struct lean *lean,
                                                       const struct lean_sets *sets,
                                                       uint32_t place,
                                                       struct lean_buddy buddy)
{
    const uint32_t left = highest(sets->blocks & below(place));
    const uint32_t right = lowest(sets->blocks & above(place));
    const bool left_idle = sets->idle >> left & 1, right_idle = sets->idle >> right & 1;
    const bool left_longer = lean->end_s[left] <= lean->end_s[right];
    const uint32_t span = lean->span[place];
    const uint32_t left_first = lean->span[left] >> SPAN_BITS;
    const uint32_t right_past = lean->span[right] & SPAN_PAST;
    const bool left_is_buddy = left_first == buddy.first;
    const bool right_is_buddy = right_past == buddy.past;
    const bool goes_left =
        left_is_buddy | (!right_is_buddy & left_idle & (!right_idle | left_longer));

    return (struct lean_choice){
        .waits = (left_is_buddy & !left_idle) | (right_is_buddy & !right_idle),
        .to = cv_pick(goes_left, left, right),
        .span = cv_pick(goes_left, left_first << SPAN_BITS | (span & SPAN_PAST),
                        (span & ~(uint32_t)SPAN_PAST) | right_past),
    };
}

/* From a node to a neighbour that is idle. The receiver is not yet compared with others:
 * it has no end. */
static CV_ALWAYS_INLINE void lean_send(struct cv_row_lane *lane, struct lean *lean,
                                       struct lean_sets *sets, uint32_t from,
                                       const struct lean_choice *choice, double now_s)
{
    const uint32_t to = choice->to;

    sets->blocks &= ~just(from);
    sets->gaps &= ~just(from);
    sets->idle &= ~(just(from) | just(to));
    sets->waits &= ~(just(from) | just(to));
    sets->waited &= ~(just(from) | just(to));
    lean->span[to] = (uint16_t)choice->span;
    lean->begin_s[to] = now_s;
    lane->begins[0].node = 2 * (to - 1);
    lane->begins[0].sender = 2 * (from - 1);
    lane->nbegins = 1;
}

/* The cost of what has begun is there. The one before the receiver counts as later until
 * now: it ends after the transfer began. */
static CV_ALWAYS_INLINE void lean_take_cost(const struct cv_row_lane *lane,
                                            struct lean *lean, struct lean_sets *sets)
{
    const uint64_t receive = receivers(sets);
    const uint32_t place = lane->begins[0].node / 2 + 1;
    const uint32_t before = highest(receive & below(place));
    const uint32_t after = lowest(receive & above(place));
    const double end_s = lean->begin_s[place] + lane->costs_s[0];

    lean->end_s[place] = end_s;
    sets->later &= ~((uint64_t)(lean->end_s[before] <= end_s) << before);
    sets->later |= (uint64_t)(end_s > lean->end_s[after]) << place;
    sets->gaps &= ~just(before);
    sets->gaps |= (uint64_t)((sets->idle & (just(place) - just(before))) != 0) << before;
    sets->gaps |= (uint64_t)((sets->idle & (just(after) - just(place))) != 0) << place;
}

/* A node that was ready is now idle. `receive` are those that did when it was ready. */
static CV_ALWAYS_INLINE void lean_rest(const struct lean *lean, struct lean_sets *sets,
                                       uint32_t place, uint64_t receive)
{
    const uint32_t before = highest(receive & below(place));
    const uint32_t after = lowest(receive & above(place));

    sets->idle |= just(place);
    sets->gaps = (sets->gaps | just(before)) & ~just(place);
    sets->later &= ~((uint64_t)(lean->end_s[before] <= lean->end_s[after]) << before);
}

/* --- waits ------------------------------------------------------------------------------ */

static void lean_wait(struct cv_row_lane *lane, struct lean *lean, uint32_t place,
                      double wait, double now_s)
{
    const double until_s = now_s + wait * (lean->end_s[place] - lean->begin_s[place]);

    if (lean->sets.waits & just(place))
        return;
    lean->sets.waits |= just(place);
    lean->until_s[place] = until_s;
    if (!(until_s >= now_s && until_s <= 1e300))
        lane->over = lane->undecided = true;
}

/* A ready node waits for one neighbour; the other one, which is idle, may look again. */
CV_FLATTEN static void lean_wait_beside(struct cv_row_lane *lane, struct lean *lean,
                                        uint32_t place, const struct ordered_adapt *adapt)
{
    struct lean_sets *sets = &lean->sets;
    const uint64_t receive = receivers(sets);
    const uint32_t left = highest(sets->blocks & below(place));
    const uint32_t other =
        sets->idle & just(left) ? left : lowest(sets->blocks & above(place));
    const double now_s = lean->end_s[place];
    struct lean_buddy buddy = no_buddy;
    struct lean_choice choice;

    lean_rest(lean, sets, place, receive);
    lean_wait(lane, lean, place, adapt->wait, now_s);
    if (!(sets->waited & just(other)))
        buddy = adapt->buddies[lean->span[other]];
    choice = lean_choose(lean, sets, other, buddy);
    if (choice.waits) {
        lean_wait(lane, lean, other, adapt->wait, now_s);
        sets->senders = lean_senders(sets);
    } else {
        sets->later |= just(highest(receive & below(place)));
        lean_send(lane, lean, sets, other, &choice, now_s);
    }
}

/* The wait that ends first among those that end before anything else happens beside them,
 * or 0. */
static uint32_t lean_due(const struct lean *lean)
{
    const uint64_t receive = receivers(&lean->sets);
    double first_s = INFINITY;
    uint32_t due = 0;

    for (uint64_t todo = lean->sets.waits; todo != 0; todo &= todo - 1) {
        const uint32_t place = lowest(todo);
        const double until_s = lean->until_s[place];
        const double before_s = lean->end_s[highest(receive & below(place))];
        const double after_s = lean->end_s[lowest(receive & above(place))];
        const bool is_due = until_s < first_s && until_s < before_s && until_s <= after_s;

        due = cv_pick(is_due, place, due);
        first_s = is_due ? until_s : first_s;
    }
    return due;
}

/* End what waits are due, until a node sends: true then. */
CV_FLATTEN static bool lean_wake(struct cv_row_lane *lane, struct lean *lean)
{
    struct lean_sets *sets = &lean->sets;
    uint32_t place;

    while ((place = lean_due(lean)) != 0) {
        const uint64_t receive = receivers(sets);
        const uint64_t beside = just(highest(sets->blocks & below(place))) |
                                just(lowest(sets->blocks & above(place)));

        sets->waits &= ~just(place);
        sets->waited |= just(place);
        if (beside & sets->idle) {
            const struct lean_choice choice = lean_choose(lean, sets, place, no_buddy);

            sets->later |= just(highest(receive & below(place)));
            lean_send(lane, lean, sets, place, &choice, lean->until_s[place]);
            return true;
        }
    }
    return false;
}

/* --- runs ------------------------------------------------------------------------------- */

void cv_fast_ordered_start(struct lean *lean, uint32_t nnodes)
{
    const uint32_t npairs = (nnodes + 1) / 2;

    lean->sets = (struct lean_sets){
        .blocks = (((uint64_t)1 << npairs) - 1) << 1 | LEAN_ENDS,
        .idle = (uint64_t)(nnodes % 2) << npairs,
    };
    lean->span[LEAN_LEFT_END] = lean->span[LEAN_RIGHT_END] =
        span_of(SPAN_PAST, SPAN_PAST);
    for (uint32_t i = 0; i < npairs; i++)
        lean->span[i + 1] = span_of(i, i + 1);
}

/* All that begins at the start has its costs. */
CV_FLATTEN static void lean_begin(struct cv_row_lane *lane, struct lean *lean)
{
    const uint32_t count = lane->view.nworkers / 2;
    uint64_t later = 0;

    /* The general rules' memory is not used. */
    lane->fresh = (size_t)((char *)lean->end_s - lane->memory);
    lean->is_begun = true;
    lean->end_s[LEAN_LEFT_END] = lean->end_s[LEAN_RIGHT_END] = INFINITY;
    memcpy(lean->end_s + 1, lane->costs_s, count * sizeof *lean->end_s);
    memset(lean->begin_s + 1, 0, (count + 1) * sizeof *lean->begin_s);
    lean->end_s[count + 1] = 0; /* the last one, if it is odd: idle */
    for (uint32_t i = count; i-- > 1;)
        later = later << 1 | (lane->costs_s[i - 1] > lane->costs_s[i]);
    lean->sets.later = later << 1 | (count > 0); /* the left end, if anyone receives */
    lean->sets.gaps = lean->sets.idle >> 1;
    lean->sets.senders = lean_senders(&lean->sets);
}

/* Nobody is ready, or the only one left is. */
static void lean_end(struct cv_row_lane *lane, const struct lean *lean, uint64_t ready)
{
    lane->over = true;
    if ((ready & ~LEAN_ENDS) == 0)
        return;
    lane->now_s = lean->end_s[lowest(ready)];
    cv_lane_all_sent(lane);
}

/* Apart from cv_fast_ordered_go, since it is the same for all runs side by side and has no branch:
 * when these go on, what they branch on has been there for long. */
CV_FLATTEN void cv_fast_ordered_take(struct cv_row_lane *lane)
{
    struct lean *lean = ((const struct ordered_adapt *)lane->state)->lean;
    struct lean_sets sets = lean->sets;

    lean_take_cost(lane, lean, &sets);
    lean->sets.later = sets.later;
    lean->sets.gaps = sets.gaps;
    lean->sets.senders = lean_senders(&sets);
}

CV_FLATTEN void cv_fast_ordered_go(struct cv_row_lane *lane)
{
    const struct ordered_adapt *adapt = lane->state;
    struct lean *lean = adapt->lean;
    struct lean_buddy buddy = no_buddy;
    struct lean_choice choice;
    struct lean_sets sets;
    uint32_t place;

    if (!lean->is_begun)
        lean_begin(lane, lean);
    lane->nbegins = 0;
    if (lean->sets.waits != 0 && lean_wake(lane, lean))
        return;
    sets = lean->sets;
    while (sets.senders == 0) {
        const uint64_t receive = receivers(&sets), ready = lean_ready(&sets);

        if ((ready & ~LEAN_ENDS) == 0 || sets.blocks == (ready | LEAN_ENDS)) {
            lean_end(lane, lean, ready);
            return;
        }
        for (uint64_t todo = ready; todo != 0; todo &= todo - 1)
            lean_rest(lean, &sets, lowest(todo), receive);
        sets.senders = lean_senders(&sets);
    }
    place = lowest(sets.senders);
    if (lean->end_s[place] > 0)
        buddy = adapt->buddies[lean->span[place]];
    choice = lean_choose(lean, &sets, place, buddy);
    if (choice.waits) {
        lean->sets = sets;
        lean_wait_beside(lane, lean, place, adapt);
    } else {
        lean_send(lane, lean, &sets, place, &choice, lean->end_s[place]);
        lean->sets = sets;
    }
}
