/* figure_list.h -- all figures, by name. SPDX-License-Identifier: MIT */
#ifndef CV_FIGURE_LIST_H
#define CV_FIGURE_LIST_H
#include "cli/figures/figure_names.h"
#include "figures/common/figure.h"

#define X(id, name) extern const struct cv_figure cv_figure_##id;
CV_FIGURES(X)
#undef X

size_t cv_figure_count(void);
const struct cv_figure *cv_figure_at(size_t index);
const char *cv_figure_name(const struct cv_figure *figure);
enum cleave_status cv_figure_find(const char *name, const struct cv_figure **out,
                                  struct cleave_error *err);

#endif
