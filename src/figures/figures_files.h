/* figures_files.h -- figures as files: NAME.csv and NAME.svg.
 * SPDX-License-Identifier: MIT */
#ifndef CV_FIGURES_FILES_H
#define CV_FIGURES_FILES_H
#include "figures/figure_list.h"

struct cv_figure_files {
    const char *folder;
    bool force; /* replace files that exist          */
    bool svg;   /* pictures too: they need gnuplot   */
};

/* Before the work, which may take minutes: make the folder, see that nothing stands in
 * the way of a figure's files and that there is a gnuplot. Return an exit status. */
int cv_figure_files_begin(const struct cv_figure_files *files,
                          const struct cv_figure *const *figures, size_t count);

int cv_figure_files_write(const struct cv_figure_files *files,
                          const struct cv_figure *figure,
                          const struct cv_figure_result *result);

#endif
