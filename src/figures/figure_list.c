/* figure_list.c -- all figures, by name. SPDX-License-Identifier: MIT */
#include "figures/figure_list.h"

#include <string.h>
#include "base/text.h"

static const struct {
    const char *name;
    const struct cv_figure *figure;
} figures[] = {
#define X(id, name) { name, &cv_figure_##id },
    CV_FIGURES(X)
#undef X
};

size_t cv_figure_count(void)
{
    return sizeof figures / sizeof *figures;
}

const struct cv_figure *cv_figure_at(size_t index)
{
    return index < cv_figure_count() ? figures[index].figure : NULL;
}

const char *cv_figure_name(const struct cv_figure *figure)
{
    size_t i = 0;

    while (i < cv_figure_count() && figures[i].figure != figure)
        i++;
    return i < cv_figure_count() ? figures[i].name : "";
}

static const char *name_at(const void *context, size_t index)
{
    (void)context;
    return figures[index].name;
}

enum cleave_status cv_figure_find(const char *name, const struct cv_figure **out,
                                  struct cleave_error *err)
{
    char near[256];

    for (size_t i = 0; i < cv_figure_count(); i++)
        if (strcmp(figures[i].name, name) == 0) {
            *out = figures[i].figure;
            return CLEAVE_OK;
        }
    cv_suggest(name, cv_figure_count(), name_at, NULL, near, sizeof near);
    return cv_fail(err, CLEAVE_EINPUT, "unknown figure '%s'%s", name, near);
}
