/* knapsack.c -- the multiple knapsack, from cheap answers to proved ones.
 * SPDX-License-Identifier: MIT */
#include "select/knapsack/knapsack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/fail.h"
#include "select/knapsack/knapsack_fill.h"

/* --- a fixed-point number as long as the range of doubles -------------------------- */

enum { LOWEST = -1074, LIMB_BITS = 32 };

void cv_exact_begin(struct cv_exact_sum *sum)
{
    memset(sum, 0, sizeof *sum);
}

static void carry(struct cv_exact_sum *sum)
{
    uint64_t over = 0;

    for (size_t i = 0; i < CV_EXACT_LIMBS; i++) {
        const uint64_t limb = sum->limb[i] + over;

        sum->limb[i] = limb & UINT32_MAX;
        over = limb >> LIMB_BITS;
    }
    sum->terms = 0;
}

/* Add value * 2^bit, where bit counts from the lowest bit of the number. */
static void add_shifted(struct cv_exact_sum *sum, uint64_t value, unsigned bit)
{
    const unsigned limb = bit / LIMB_BITS, shift = bit % LIMB_BITS;
    const uint64_t low = (value & UINT32_MAX) << shift;
    const uint64_t high = (value >> LIMB_BITS) << shift;

    sum->limb[limb] += low & UINT32_MAX;
    sum->limb[limb + 1] += (low >> LIMB_BITS) + (high & UINT32_MAX);
    sum->limb[limb + 2] += high >> LIMB_BITS;
}

void cv_exact_add(struct cv_exact_sum *sum, double value, uint32_t count)
{
    int exponent;
    const double fraction = frexp(value, &exponent);
    const uint64_t mantissa = (uint64_t)ldexp(fraction, 53);
    const int lowest = exponent - 53;
    /* Below the normal range the mantissa ends in zeros; its bits start at LOWEST. */
    const unsigned lost = lowest < LOWEST ? (unsigned)(LOWEST - lowest) : 0;
    const unsigned bit = lowest < LOWEST ? 0 : (unsigned)(lowest - LOWEST);
    const uint64_t whole = mantissa >> lost;

    if (value == 0 || count == 0)
        return;
    /* Three numbers below 2^33 go to a limb each time. */
    if (++sum->terms >= UINT32_C(1) << 28)
        carry(sum);
    add_shifted(sum, (whole & UINT32_MAX) * count, bit);
    add_shifted(sum, (whole >> LIMB_BITS) * count, bit + LIMB_BITS);
}

int cv_exact_compare(struct cv_exact_sum *sum, double value)
{
    struct cv_exact_sum other;

    cv_exact_begin(&other);
    cv_exact_add(&other, value, 1);
    carry(&other);
    carry(sum);
    for (size_t i = CV_EXACT_LIMBS; i-- > 0;)
        if (sum->limb[i] != other.limb[i])
            return sum->limb[i] < other.limb[i] ? -1 : 1;
    return 0;
}

/* --- the multiple knapsack, from cheap answers to proved ones ---------------------- */

/* The best filling so far, a place to try others, and the bound. */
struct contest {
    const struct cv_instance *instance;
    struct cv_fill best, trial;
    struct cv_single_workspace *room;
    double bound;
    uint32_t *take; /* the selection of the surrogate knapsack */
};

static bool keep_trial(struct contest *contest)
{
    if (cv_fill_count(&contest->trial) <= contest->best.profit)
        return true;
    return cv_fill_copy(&contest->best, &contest->trial);
}

static bool solved(const struct contest *contest)
{
    return cv_reaches(contest->best.profit + contest->instance->free_profit,
                      contest->bound);
}

/* Bounds that see the bins as one, and fillings made from them. */
static bool try_surrogate(struct contest *contest, struct cv_work *work)
{
    double bound;
    bool exact;

    contest->bound =
        cv_instance_round(contest->instance, cv_instance_surrogate_lp(contest->instance));
    if (!cv_fill_greedy(&contest->trial, work) || !keep_trial(contest))
        return false;
    if (solved(contest))
        return true;
    if (!cv_instance_surrogate_kp(contest->instance, work, work->left / 8, contest->take,
                                  &bound, &exact))
        return false;
    contest->bound = bound < contest->bound ? bound : contest->bound;
    if (solved(contest))
        return true;
    return cv_fill_split(&contest->trial, contest->take, contest->room, work) &&
           keep_trial(contest);
}

/* Fill single bins anew in the best filling. */
static bool try_improve(struct contest *contest, struct cv_work *work)
{
    struct cv_work share = cv_work_share(work, work->left / 8);
    const bool made = cv_fill_copy(&contest->trial, &contest->best) &&
                      cv_fill_improve(&contest->trial, NULL, contest->room, &share) &&
                      cv_fill_pairs(&contest->trial, contest->room, &share) &&
                      keep_trial(contest);

    cv_work_return(work, &share);
    return made;
}

/* Try to find room for all that the surrogate knapsack selects: the optimum, then. */
static bool try_pack(struct contest *contest, struct cv_work *work)
{
    struct cv_work share = cv_work_share(work, work->left / 8);
    bool packed;
    const bool made =
        cv_fill_pack(&contest->trial, contest->take, &share, &packed) &&
        (!packed || (cv_fill_greedy(&contest->trial, &share) && keep_trial(contest)));

    cv_work_return(work, &share);
    return made;
}

static bool try_all(struct contest *contest, struct cv_work *work)
{
    bool (*const ways[])(struct contest *, struct cv_work *) = { try_surrogate,
                                                                 try_improve, try_pack };

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (!ways[i](contest, work))
            return false;
        if (solved(contest))
            return true;
    }
    return cv_patterns_solve(contest->instance, work, contest->room, &contest->best,
                             &contest->bound);
}

/* Solve an instance; with an answer wanted or, if `out` is NULL, for the bound alone. */
static bool run(struct cv_instance *instance, const struct cv_knapsack *problem,
                struct cv_work *work, struct cv_arena *arena, double *out_bound,
                struct cv_knapsack_answer *out)
{
    struct contest contest = { .instance = instance };
    bool made = cv_instance_tighten(instance, work);

    contest.room = cv_single_room_new();
    contest.take =
        calloc(instance->nsizes > 0 ? instance->nsizes : 1, sizeof *contest.take);
    made = made && contest.room != NULL && contest.take != NULL &&
           cv_fill_init(&contest.best, instance) &&
           cv_fill_init(&contest.trial, instance) && try_all(&contest, work);
    if (made && out != NULL)
        made = cv_fill_answer(&contest.best, problem, arena, out);
    *out_bound = contest.bound;
    cv_fill_done(&contest.best);
    cv_fill_done(&contest.trial);
    free(contest.take);
    cv_single_room_free(contest.room);
    return made;
}

static bool solve(const struct cv_knapsack *problem, uint64_t work_units,
                  struct cv_arena *arena, struct cv_knapsack_answer *out)
{
    struct cv_work work = { work_units > 0 ? work_units : CV_KNAPSACK_WORK, 0 };
    struct cv_instance instance;
    struct cv_arena own;
    bool made;

    cv_arena_init(&own);
    made = cv_instance_make(problem, CV_FOR_ANSWERS, &own, &instance) &&
           run(&instance, problem, &work, arena, &out->upper_bound, out);
    if (made && instance.rounded) {
        /* The answer holds for the larger weights; the bound must for the smaller. */
        work.left += (work_units > 0 ? work_units : CV_KNAPSACK_WORK) / 2;
        cv_arena_reset(&own);
        made = cv_instance_make(problem, CV_FOR_BOUNDS, &own, &instance) &&
               run(&instance, problem, &work, arena, &out->upper_bound, NULL);
    }
    cv_arena_done(&own);
    out->work = work.spent;
    out->optimal = made && cv_reaches(out->profit, out->upper_bound);
    if (out->optimal || out->upper_bound < out->profit)
        out->upper_bound = out->profit;
    return made;
}

static bool bin_holds(const struct cv_knapsack *problem,
                      const struct cv_knapsack_answer *answer, uint32_t bin)
{
    const double capacity =
        problem->capacities != NULL ? problem->capacities[bin] : problem->capacity;
    struct cv_exact_sum sum;

    if (answer->first[bin] > answer->first[bin + 1])
        return false;
    cv_exact_begin(&sum);
    for (size_t i = answer->first[bin]; i < answer->first[bin + 1]; i++)
        cv_exact_add(&sum, problem->classes[answer->parts[i].item_class].weight,
                     answer->parts[i].count);
    return cv_exact_compare(&sum, capacity) <= 0;
}

/* cv_knapsack_holds with counts: zeros, one per class. */
static bool answer_holds(const struct cv_knapsack *problem,
                         const struct cv_knapsack_answer *answer, uint64_t *counts)
{
    uint64_t selected = 0;
    double profit = 0;
    bool holds = answer->first[0] == 0;

    for (size_t i = 0; i < answer->first[problem->nbins] && holds; i++) {
        holds = answer->parts[i].item_class < problem->nclasses;
        if (holds)
            counts[answer->parts[i].item_class] += answer->parts[i].count;
        selected += answer->parts[i].count;
    }
    for (uint32_t b = 0; b < problem->nbins && holds; b++)
        holds = bin_holds(problem, answer, b);
    for (uint32_t i = 0; i < problem->nclasses; i++) {
        holds = holds && counts[i] <= problem->classes[i].count;
        profit += problem->classes[i].profit * (double)counts[i];
    }
    return holds && selected == answer->selected && profit == answer->profit;
}

enum cleave_status cv_knapsack_solve(const struct cv_knapsack *problem, uint64_t work,
                                     struct cv_arena *arena,
                                     struct cv_knapsack_answer *out,
                                     struct cleave_error *err)
{
    struct cv_knapsack_answer answer = { .profit = 0 };
    uint64_t *counts;

    CV_TRY(cv_knapsack_check(problem, err));
    if (!CV_NEW(arena, counts, problem->nclasses) ||
        !solve(problem, work, arena, &answer))
        return cv_fail_memory(err, "the selection of items");
    if (!answer_holds(problem, &answer, counts))
        return cv_fail(err, CLEAVE_EPOLICY, "a bin was filled beyond its capacity");
    *out = answer;
    return CLEAVE_OK;
}

enum cleave_status cv_knapsack_surrogate_lp(const struct cv_knapsack *problem,
                                            double *out_bound, struct cleave_error *err)
{
    struct cv_instance instance;
    struct cv_arena own;
    bool made;

    CV_TRY(cv_knapsack_check(problem, err));
    cv_arena_init(&own);
    made = cv_instance_make(problem, CV_AS_ONE_BIN, &own, &instance);
    if (made)
        *out_bound = cv_instance_surrogate_lp(&instance);
    cv_arena_done(&own);
    return made ? CLEAVE_OK : cv_fail_memory(err, "a bound");
}

bool cv_knapsack_holds(const struct cv_knapsack *problem,
                       const struct cv_knapsack_answer *answer)
{
    uint64_t *counts =
        calloc(problem->nclasses > 0 ? problem->nclasses : 1, sizeof *counts);
    const bool holds = counts != NULL && answer_holds(problem, answer, counts);

    free(counts);
    return holds;
}
