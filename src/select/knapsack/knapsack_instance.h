/* knapsack_instance.h -- what the parts of the knapsack solver share.
 * SPDX-License-Identifier: MIT
 *
 * Weights become integers: doubles are multiples of one power of 2, and 126 bits hold
 * them for all but absurd ranges, so sums and comparisons are exact and fast. Items of
 * one weight form a size: whatever the number taken, they are the most profitable ones.
 * Bins of one capacity form a group. */
#ifndef CV_KNAPSACK_INSTANCE_H
#define CV_KNAPSACK_INSTANCE_H
#include "select/knapsack/knapsack.h"

__extension__ typedef unsigned __int128 cv_wide;

/* Items of one class among those of its weight. */
struct cv_segment {
    double profit;
    uint32_t count, item_class, size;
    uint32_t before; /* items of the size that are more profitable */
};

struct cv_size {
    cv_wide weight;            /* > 0                                       */
    uint32_t count;            /* no more than the bins together could hold */
    uint32_t first, nsegments; /* in `segments`, by decreasing profit       */
};

struct cv_knapsack_group {
    cv_wide capacity; /* of a bin; no items add up to between this and the real one */
    uint32_t first, nbins;
};

struct cv_instance {
    struct cv_size *sizes; /* by decreasing weight */
    uint32_t nsizes, nsegments, ngroups, nbins;
    struct cv_segment *segments;      /* size by size                                   */
    uint32_t *by_density;             /* all segments                                   */
    struct cv_knapsack_group *groups; /* by increasing capacity; all hold some item     */
    uint32_t *bin;                    /* per bin of the groups, in turn: its real index */
    double free_profit;               /* of items whose weight was rounded to nothing   */
    double grain; /* profits are multiples of it; 0: of nothing useful */
    bool rounded; /* some weights are not exact                     */
};

/* Effort that is left. */
struct cv_work {
    uint64_t left, spent;
};

/* Account for `units` of work; false when there is none left. */
static inline bool cv_work_spend(struct cv_work *work, uint64_t units)
{
    work->spent += units;
    if (units >= work->left) {
        work->left = 0;
        return false;
    }
    work->left -= units;
    return true;
}

/* A part of what is left, to be given back by cv_work_return. */
static inline struct cv_work cv_work_share(const struct cv_work *work, uint64_t max)
{
    return (struct cv_work){ max < work->left ? max : work->left, 0 };
}

static inline void cv_work_return(struct cv_work *work, const struct cv_work *share)
{
    (void)cv_work_spend(work, share->spent);
}

/* --- knapsack_instance.c ---------------------------------------------------------------- */

/* As a double, within its last bits: the compiler's own way is slow on some machines. */
static inline double cv_wide_double(cv_wide value)
{
    return (double)(uint64_t)(value >> 64) * 0x1p64 + (double)(uint64_t)value;
}

/* floor(capacity / weight), at most `most`. */
uint32_t cv_wide_times(cv_wide capacity, cv_wide weight, uint32_t max);

/* --- knapsack_instance.c ------------------------------------------------------------- */

enum cleave_status cv_knapsack_check(const struct cv_knapsack *problem,
                                     struct cleave_error *err);

/* Weights that do not fit into the integers are rounded up, so that every answer holds,
 * or down, so that every bound does; or down and the bins are seen as one. */
enum cv_making { CV_FOR_ANSWERS, CV_FOR_BOUNDS, CV_AS_ONE_BIN };

bool cv_instance_make(const struct cv_knapsack *problem, enum cv_making making,
                      struct cv_arena *arena, struct cv_instance *out);
/* Profit of the best `count` items of a size. */
double cv_size_profit(const struct cv_instance *instance, uint32_t size, uint32_t count);
/* Items of a segment that are left when `used` of its size are. */
static inline uint32_t cv_segment_left(const struct cv_segment *segment, uint32_t used)
{
    if (used <= segment->before)
        return segment->count;
    used -= segment->before;
    return used < segment->count ? segment->count - used : 0;
}

/* --- knapsack_instance.c: one bin ----------------------------------------------------- */

struct cv_single_item {
    cv_wide weight;
    double profit;
    uint32_t count, tag;
};

struct cv_single {
    struct cv_single_item *items; /* by decreasing density */
    uint32_t nitems;
    cv_wide capacity;
    double floor;     /* only more than this is looked for                       */
    double tolerance; /* gains not larger than this are not looked for           */
    uint64_t max;     /* most work                                               */
    uint32_t *best;   /* out, per item: how many; untouched if nothing was found */
};

struct cv_single_result {
    double value;  /* -1: nothing above the floor         */
    double upper;  /* no selection has more               */
    bool complete; /* the search came to its end         */
};

/* Memory for the search; grows as needed. */
struct cv_single_workspace;
struct cv_single_workspace *cv_single_room_new(void);
void cv_single_room_free(struct cv_single_workspace *room);

/* Add items to the list; to the last ones if these are the same. */
void cv_single_append(struct cv_single *single, cv_wide weight, double profit,
                      uint32_t count, uint32_t tag);
bool cv_single_solve(const struct cv_single *single, struct cv_single_workspace *room,
                     struct cv_work *work, struct cv_single_result *out);
/* Order items by decreasing density, ties by increasing weight, then tag. */
bool cv_single_sort(struct cv_single_item *items, uint32_t nitems);

/* --- knapsack_instance.c ---------------------------------------------------------------- */

/* Lower the capacities to sums which items can reach. */
bool cv_instance_tighten(struct cv_instance *instance, struct cv_work *work);
double cv_instance_surrogate_lp(const struct cv_instance *instance);
/* A bound on profits lowered to a profit that is possible. */
double cv_instance_round(const struct cv_instance *instance, double bound);
/* The surrogate knapsack with whole items; take[size] gets how many, if not NULL. */
bool cv_instance_surrogate_kp(const struct cv_instance *instance, struct cv_work *work,
                              uint64_t max, uint32_t *take, double *out_bound,
                              bool *out_exact);

/* Whether a value cannot be told from a bound above it. */
static inline bool cv_reaches(double value, double bound)
{
    return value >= bound - 1e-12 * bound;
}

#endif
