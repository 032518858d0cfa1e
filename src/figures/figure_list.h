/* figure_list.h -- all figures, by name. SPDX-License-Identifier: MIT */
#ifndef CV_FIGURE_LIST_H
#define CV_FIGURE_LIST_H
#include "figures/kit/figure.h"

/* All figures, in the order they are listed. */
#define CV_FIGURES(X)      \
    X(umr_table1)          \
    X(umr_table3)          \
    X(umr_fig4)            \
    X(umr_fig5)            \
    X(umr_fig6)            \
    X(umr_fig7)            \
    X(reduce_example)      \
    X(reduce_strategy)     \
    X(reduce_four)         \
    X(reduce_eight)        \
    X(reduce_ratios)       \
    X(reduce_markov)       \
    X(reduce_cv)           \
    X(reduce_overlap)      \
    X(reduce_best)         \
    X(returns_lifo)        \
    X(returns_fifo)        \
    X(returns_laws)        \
    X(returns_crossover)   \
    X(returns_computing)   \
    X(returns_small)       \
    X(returns_ratio)       \
    X(returns_regions)     \
    X(streams_table1)      \
    X(streams_schedule)    \
    X(streams_selection)   \
    X(streams_convergence) \
    X(streams_period)      \
    X(streams_dynamicity)  \
    X(streams_auto)

#define X(name) extern const struct cv_figure cv_figure_##name;
CV_FIGURES(X)
#undef X

size_t cv_figure_count(void);
const struct cv_figure *cv_figure_at(size_t index);
enum cleave_status cv_figure_find(const char *name, const struct cv_figure **out,
                                  struct cleave_error *err);

#endif
