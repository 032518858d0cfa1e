/* comparison.h -- several policies, maybe for many values of one thing, and how to show
 * them. SPDX-License-Identifier: MIT */
#ifndef CV_COMPARISON_H
#define CV_COMPARISON_H
#include <cleave/policy.h>
#include <cleave/run.h>
#include "base/text.h"
#include "cli/common/output.h"
#include "cli/compare/sweep.h"
#include "cli/common/verb.h"

struct cv_json;

struct cv_compare_cell {
    const struct cleave_policy *policy;
    struct cleave_stats stats; /* a single run has only its mean */
    double cost;               /* of the plan for a budget       */
    const char *reason;        /* why it does not apply, or NULL */
};

struct cv_comparison {
    struct cv_sweep sweep;
    const struct cleave_policy **policies;
    size_t npolicies;
    struct cv_compare_cell *cells; /* npolicies for each value of the sweep            */
    struct cleave_bound *bounds;   /* per value: holds for all policies                */
    uint64_t runs;                 /* of each policy and value; 1 when costs are exact */
    bool noisy;                    /* costs vary: runs are drawn, even if only one     */
    bool lives;                    /* as much as ends within a lifespan: more is better */
};

bool cv_compare_is_sweep(const struct cv_comparison *found);
const struct cv_compare_cell *cv_compare_cells(const struct cv_comparison *found,
                                               size_t index);
/* What is compared: the mean time or, with a lifespan, the units; NAN when it does not
 * apply. */
double cv_compare_value(const struct cv_comparison *found,
                        const struct cv_compare_cell *cell);
/* How far a cell is from the bound and from the best of its value. */
double cv_compare_over_bound(const struct cv_comparison *found, size_t index,
                             const struct cv_compare_cell *cell);
double cv_compare_over_best(const struct cv_comparison *found, size_t index,
                            const struct cv_compare_cell *cell);

/* Sort the cells by what is compared, those that do not apply last. */
void cv_compare_sort(struct cv_comparison *found);
/* Whether anything applies anywhere; if not, it is complained about. */
int cv_compare_any(const struct cv_comparison *found);

/* One row per value, one column per policy. */
void cv_compare_sweep_table(const struct cv_comparison *found,
                            const struct cv_screen *screen, struct cv_text *out);
/* Those that do not apply, with the reason at the first value. */
void cv_compare_reasons(const struct cv_comparison *found, const struct cv_screen *screen,
                        struct cv_text *out);
void cv_compare_csv(const struct cv_comparison *found, struct cv_text *out);
/* Field "not_applicable": those that do not apply for a value of the sweep, and why. */
void cv_compare_json_reasons(struct cv_json *json, const struct cv_comparison *found,
                             size_t index);

/* Options that both comparisons have beside their own: where a page goes. */
struct cv_compare_output {
    const char *page;
    int force;
};
/* Rows of an option table; WHERE(name) is the offset of a field of the struct above. */
/* clang-format off */
#define CV_COMPARE_OUTPUT_OPTIONS(WHERE)                                               \
    { .name = "--output", .letter = 'o', .kind = CV_OPTION_TEXT, .argument = "FILE",   \
      .offset = WHERE(page), .file = CV_FILE_KEPT,                                     \
      .help = "Write a page with plots and tables to this file instead; - is standard " \
              "output." },                                                             \
    { .name = "--force", .letter = 'f', .value = 1, .offset = WHERE(force),            \
      .help = "Replace that file if it exists." }
/* clang-format on */

/* What a page says beside the numbers. */
struct cv_compare_words {
    const char *title;
    const char *measure; /* "mean makespan in s" */
    const char *facts;   /* how it was made: runs, noise, seed */
};

/* Write the page to the file that --output named. Returns an exit status. */
int cv_compare_page(const struct cv_comparison *found,
                    const struct cv_compare_output *output,
                    const struct cv_compare_words *words, const struct cv_call *call);

#endif
