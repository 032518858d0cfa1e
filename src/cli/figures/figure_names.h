/* figure_names.h -- the figures of the papers, by name. SPDX-License-Identifier: MIT
 *
 * The figures themselves are in the program cleave-figures; `cleave` completes their
 * names. */
#ifndef CV_FIGURE_NAMES_H
#define CV_FIGURE_NAMES_H

/* All figures and their names, in the order they are listed. */
#define CV_FIGURES(X)                               \
    X(umr_table1, "umr-table1")                     \
    X(umr_table3, "umr-table3")                     \
    X(umr_fig4, "umr-fig4")                         \
    X(umr_fig5, "umr-fig5")                         \
    X(umr_fig6, "umr-fig6")                         \
    X(umr_fig7, "umr-fig7")                         \
    X(reduce_example, "associative-fig1")           \
    X(reduce_strategy, "associative-fig2")          \
    X(reduce_four, "nonclairvoyant-fig1")           \
    X(reduce_eight, "nonclairvoyant-fig2")          \
    X(reduce_ratios, "nonclairvoyant-table1")       \
    X(reduce_markov, "nonclairvoyant-markov")       \
    X(reduce_cv, "nonclairvoyant-fig3")             \
    X(reduce_bernoulli, "nonclairvoyant-bernoulli") \
    X(reduce_overlap, "nonclairvoyant-fig4a")       \
    X(reduce_best, "nonclairvoyant-fig4b")          \
    X(returns_lifo, "returns-fig2")                 \
    X(returns_fifo, "returns-fig3")                 \
    X(returns_laws, "returns-laws")                 \
    X(returns_crossover, "fifo-lifo-crossover")     \
    X(returns_computing, "returns-theorem4")        \
    X(returns_small, "returns-small-results")       \
    X(returns_ratio, "returns-theorem5")            \
    X(returns_regions, "returns-regions")           \
    X(streams_table1, "streams-table1")             \
    X(streams_schedule, "streams-fig1")             \
    X(streams_selection, "streams-fig3")            \
    X(streams_convergence, "streams-fig4")          \
    X(streams_period, "streams-fig5")               \
    X(streams_dynamicity, "streams-fig6")           \
    X(streams_auto, "streams-auto")

#endif
