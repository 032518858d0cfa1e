/* figures_text.h -- figures as text and as JSON. SPDX-License-Identifier: MIT */
#ifndef CV_FIGURES_TEXT_H
#define CV_FIGURES_TEXT_H
#include "io/json_out.h"
#include "figures/figure_list.h"

/* What there is: each figure's name, what it shows, where it is in print and what is
 * claimed of it. Return an exit status. */
int cv_figures_list(void);
int cv_figures_list_json(void);

/* One figure that was made: its table, its claims as they came out, its note. */
int cv_figure_text(const struct cv_figure *figure, const struct cv_figure_result *result);
void cv_figure_json(struct cv_json *json, const struct cv_figure *figure,
                    const struct cv_figure_result *result);

#endif
