/* knapsack_internal.h -- shared by the parts of the knapsack solver.
 * SPDX-License-Identifier: MIT
 *
 * Weights become integers: doubles are multiples of one power of 2, and 126 bits hold them for
 * all but absurd ranges, so sums and comparisons are exact and fast. Items of one weight form
 * a size: the most profitable ones are taken first.
 *
 * A pattern is a set of items that one bin holds. With x_p bins filled by pattern p and y_i
 * items of segment i counted, the program over patterns is
 *
 *     most  sum_i profit_i y_i                       0 <= y_i <= count_i
 *     row of a size s    sum_{i in s} y_i - sum_p a_sp x_p <= fixed_s
 *     row of the bins    sum_p x_p <= bins           0 <= x_p <= limit_p
 *
 * where fixed_s items are in bins already. Patterns may hold more than there is: the excess is
 * not counted. All columns at 0 is feasible, so every solve may start there. Profits are
 * divided by the largest. */
#ifndef CV_KNAPSACK_INTERNAL_H
#define CV_KNAPSACK_INTERNAL_H
#include "base/random.h"
#include "model/simplex/simplex.h"
#include "select/knapsack/knapsack.h"

__extension__ typedef unsigned __int128 cv_wide;

/* Items of one class within a size. */
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

struct cv_instance {
    struct cv_arena *arena; /* memory for solving */
    struct cv_size *sizes;  /* by decreasing weight */
    uint32_t nsizes, nsegments;
    uint32_t nbins; /* 0: no bin holds any item */
    /* capacity of a bin; no items add up to a size between this and the real capacity */
    cv_wide capacity;
    struct cv_segment *segments; /* size by size                         */
    uint32_t *by_density;        /* all segments                         */
    double free_profit;          /* items whose weight was rounded to 0  */
    double grain;                /* profits are multiples of it; 0: of nothing useful */
    bool rounded;                /* some weights are not exact                     */
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

/* A part of the work left, to be returned by cv_work_return. */
static inline struct cv_work cv_work_share(const struct cv_work *work, uint64_t max)
{
    return (struct cv_work){ max < work->left ? max : work->left, 0 };
}

static inline void cv_work_return(struct cv_work *work, const struct cv_work *share)
{
    (void)cv_work_spend(work, share->spent);
}

/* As a double, within its last bits: the compiler's own way is slow on some machines. */
static inline double cv_wide_double(cv_wide value)
{
    return (double)(uint64_t)(value >> 64) * 0x1p64 + (double)(uint64_t)value;
}

/* floor(capacity / weight), at most `most`. */
uint32_t cv_wide_times(cv_wide capacity, cv_wide weight, uint32_t max);

enum cleave_status cv_knapsack_check(const struct cv_knapsack *problem,
                                     struct cleave_error *err);

/* Weights that do not fit into the integers are rounded up, so that every answer holds,
 * or down, so that every bound does; or down and the bins are seen as one. */
enum cv_making { CV_FOR_ANSWERS, CV_FOR_BOUNDS, CV_AS_ONE_BIN };

bool cv_instance_make(const struct cv_knapsack *problem, enum cv_making making,
                      struct cv_arena *arena, struct cv_instance *out);
/* The capacity of all bins together. */
cv_wide cv_instance_capacity(const struct cv_instance *instance);
/* Items of a segment that are left when `used` of its size are. */
static inline uint32_t cv_segment_left(const struct cv_segment *segment, uint32_t used)
{
    if (used <= segment->before)
        return segment->count;
    used -= segment->before;
    return used < segment->count ? segment->count - used : 0;
}

struct cv_single_item {
    cv_wide weight;
    double profit;
    uint32_t count, tag;
};

/* A knapsack with one bin. */
struct cv_single {
    struct cv_single_item *items; /* by decreasing density */
    uint32_t nitems;
    cv_wide capacity;
    double floor;     /* only more than this is wanted                       */
    double tolerance; /* gains not larger than this are not wanted           */
    uint64_t max;     /* most work                                           */
    uint32_t *best;   /* out, per item: how many; untouched if nothing was found */
    struct cv_single_room *room;
    uint32_t *count, *sizes; /* scratch, per size; count is all 0 between uses */
};

struct cv_single_result {
    double value;  /* -1: nothing above the floor */
    double upper;  /* no selection has more       */
    bool complete; /* the search was not stopped  */
};

bool cv_single_init(struct cv_single *single, const struct cv_instance *instance);
/* Add items to the list; to the last ones if these are the same. */
void cv_single_append(struct cv_single *single, cv_wide weight, double profit,
                      uint32_t count, uint32_t tag);
struct cv_single_result cv_single_solve(const struct cv_single *single,
                                        struct cv_work *work);
/* Order items by decreasing density, ties by increasing weight, then tag. */
void cv_single_sort(struct cv_single *single);

/* Lower the capacity to a sum which items can reach. */
bool cv_instance_tighten(struct cv_instance *instance, struct cv_work *work);
double cv_instance_surrogate_lp(const struct cv_instance *instance);
/* A bound on profits lowered to a profit that is possible. */
double cv_instance_round(const struct cv_instance *instance, double bound);
/* The bound of the surrogate knapsack with whole items; take[size] gets how many. */
double cv_instance_surrogate_kp(const struct cv_instance *instance,
                                struct cv_single *single, struct cv_work *work,
                                uint64_t max, uint32_t *take, bool *out_exact);

/* Whether a value equals a bound up to rounding. */
static inline bool cv_reaches(double value, double bound)
{
    return value >= bound - 1e-12 * bound;
}

struct cv_fill_part {
    uint32_t size, count;
};

struct cv_fill_bin {
    cv_wide left;
    struct cv_fill_part *parts;
    size_t nparts, capacity;
};

struct cv_fill {
    const struct cv_instance *instance;
    struct cv_fill_bin *bins;
    uint32_t *used;           /* per size                              */
    double profit;            /* after cv_fill_count                   */
    struct cv_fill_bin spare; /* memory for the parts of one bin       */
    bool failed;              /* memory was short: bins lack some items */
};

bool cv_fill_init(struct cv_fill *fill, const struct cv_instance *instance);
void cv_fill_done(struct cv_fill *fill);
void cv_fill_clear(struct cv_fill *fill);
void cv_fill_copy(struct cv_fill *to, const struct cv_fill *from);
/* The items must be there and have room. */
void cv_fill_put(struct cv_fill *fill, uint32_t bin, uint32_t size, uint32_t count);
void cv_fill_empty_bin(struct cv_fill *fill, uint32_t bin);
/* Add up the profit. */
double cv_fill_count(struct cv_fill *fill);
/* Put items by decreasing density into the fullest bins with room for them. */
void cv_fill_greedy(struct cv_fill *fill, struct cv_work *work);
/* The classes in each bin. False when memory is short, now or before. */
bool cv_fill_answer(const struct cv_fill *fill, const struct cv_knapsack *problem,
                    struct cv_arena *arena, struct cv_knapsack_answer *out);

/* Pack take[size] items bin after bin, each as full as can be, and fill the rest. */
void cv_fill_split(struct cv_fill *fill, const uint32_t *take, struct cv_single *single,
                   struct cv_work *work);
/* Refill single bins from unused items until nothing is gained: all bins, or those with
 * only[bin] set. */
void cv_fill_improve(struct cv_fill *fill, const bool *only, struct cv_single *single,
                     struct cv_work *work);
/* Fill the empty bins one after the other, with profits changed a little at random. */
void cv_fill_noisily(struct cv_fill *fill, struct cv_random *random,
                     struct cv_single *single, struct cv_work *work);
/* Refill pairs of bins to exchange items for more profitable ones. */
void cv_fill_pairs(struct cv_fill *fill, struct cv_single *single, struct cv_work *work);
/* Put all of take[size] into the bins of the trial. False if no way is found. */
bool cv_fill_pack(struct cv_fill *trial, const uint32_t *take, struct cv_work *work);

/* Rows for which the inverse of the basis is kept in full. */
enum { CV_MASTER_ROWS = 160 };

/* Columns: a slack per row, a y per segment, then the patterns. */
struct cv_master {
    const struct cv_instance *instance;
    double scale;                      /* the largest profit */
    uint32_t nrows, npatterns, nfixed; /* nfixed: slacks and segments */
    /* Per pattern. */
    uint32_t *count; /* number of items of each size, pattern by pattern */
    double *values;  /* x_p, after cv_master_values */
    size_t count_capacity, values_capacity;
    struct cv_simplex simplex; /* with arrays of the master */
    size_t state_capacity, limit_capacity;
    double *rhs, *dual; /* per row */
    double *inverse;    /* inverse of the basis, row by row */
    double objective;
    unsigned pivots;      /* since the inverse was made */
    struct cv_work *work; /* while solving */
    bool failed;          /* memory was short: patterns are missing */
};

bool cv_master_init(struct cv_master *master, const struct cv_instance *instance);
void cv_master_done(struct cv_master *master);
/* Add a pattern (count per size, copied) unless it is known, or in any case. */
void cv_master_add(struct cv_master *master, const uint32_t *count);
void cv_master_append(struct cv_master *master, const uint32_t *count);
/* Go back to all columns at 0. rhs must be >= 0. */
void cv_master_reset(struct cv_master *master);
/* The optimum over the patterns known; false when work ran out or numbers failed, the
 * values are feasible then too. */
bool cv_master_solve(struct cv_master *master, struct cv_work *work);
void cv_master_values(struct cv_master *master);

static inline const uint32_t *cv_master_pattern(const struct cv_master *master,
                                                uint32_t pattern)
{
    return master->count + (size_t)pattern * master->instance->nsizes;
}

/* The most bins that a pattern may fill. */
static inline double *cv_master_limit(const struct cv_master *master, uint32_t pattern)
{
    return master->simplex.limit + master->nfixed + pattern;
}

struct cv_generator {
    const struct cv_instance *instance;
    struct cv_master master;
    struct cv_single *single;
    struct cv_work *work;
    uint32_t *count;      /* a pattern                                        */
    double upper;         /* no pattern has more worth                        */
    struct cv_fill trial; /* filled bins are not part of the program          */
    bool *open;           /* per bin: to be refilled after a dive             */
    struct cv_random random;
    uint32_t nroot; /* patterns kept between dives */
    uint64_t price; /* work for a pattern          */
    bool priced;    /* upper belongs to the duals */
};

/* To be released by cv_generator_done, also after a failure. */
bool cv_generator_init(struct cv_generator *generator, const struct cv_instance *instance,
                       struct cv_single *single, struct cv_work *work);
void cv_generator_done(struct cv_generator *generator);
/* Items of a size that are in no bin of the trial. */
uint32_t cv_generator_left(const struct cv_generator *generator, uint32_t size);
/* The bound on the profit at the duals; valid if `priced`. */
double cv_generator_bound(const struct cv_generator *generator);
/* Add all other items that fit into `rest` to the pattern in `count`. */
void cv_generator_complete(struct cv_generator *generator, cv_wide rest);
/* Solve the program over all patterns, as far as `rounds` and work allow. The duals may lower
 * *bound; `best` is a profit that is known to be possible. */
void cv_generate(struct cv_generator *generator, unsigned rounds, double best,
                 double *bound);

#endif
