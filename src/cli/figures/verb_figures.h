/* verb_figures.h -- options of cleave figures. SPDX-License-Identifier: MIT
 *
 * Both `cleave` and cleave-figures read them: `cleave` for its help and to pass them on,
 * cleave-figures to run. */
#ifndef CV_VERB_FIGURES_H
#define CV_VERB_FIGURES_H
#include "cli/common/verb.h"

enum { CV_MOST_FIGURES = 64 }; /* names in one call */

struct cv_figures_options {
    const char *out;
    uint64_t threads;
    int list, quick, json, force, csv_only;
};

/* The `run` of this verb starts cleave-figures with the same words. */
extern const struct cv_verb cv_verb_figures;

#endif
