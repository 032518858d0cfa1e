/* figures_main.c -- the program cleave-figures, which `cleave figures` starts.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/text.h"
#include "cli/common/output.h"
#include "cli/figures/verb_figures.h"
#include "figures/common/figure.h"
#include "figures/common/figure_gnuplot.h"
#include "io/json_out.h"
#include "report/terminal/table.h"

static const struct named {
    const char *name;
    const struct cv_figure *facts;
} named[] = {
#define X(id, name) { name, &cv_figure_##id },
    CV_FIGURES(X)
#undef X
};

enum { FIGURES = sizeof named / sizeof *named };

struct figure_files {
    const char *folder;
    bool force; /* replace files that exist          */
    bool svg;   /* pictures too: they need gnuplot   */
};

/* --- figures as files: NAME.csv and NAME.svg ---------------------------------------- */

enum { PATH_ROOM = 4096 };

static bool path_of(const struct figure_files *files, const struct named *figure,
                    const char *ending, char path[PATH_ROOM])
{
    return snprintf(path, PATH_ROOM, "%s/%s.%s", files->folder, figure->name, ending) <
           PATH_ROOM;
}

static int see_free(const struct figure_files *files, const struct named *figure,
                    const char *ending)
{
    char path[PATH_ROOM];
    struct stat info;

    if (!path_of(files, figure, ending, path))
        return cv_refuse("--out: the path is too long");
    if (!files->force && stat(path, &info) == 0 && S_ISREG(info.st_mode))
        return cv_refuse("--out: '%s' exists; use --force to replace it", CV_ECHO(path));
    return CV_EXIT_DONE;
}

/* Make the directory, and check for existing files and for gnuplot before the work, which
 * may take minutes. */
static int figure_files_begin(const struct figure_files *files,
                              const struct named *const *figures, size_t count)
{
    const char *shown = CV_ECHO(files->folder);
    struct cleave_error err;
    struct stat info;
    int status = CV_EXIT_DONE;

    if (files->svg && cv_gnuplot_check(&err) != CLEAVE_OK)
        return cv_print_error(CV_EXIT_ENGINE,
                              "--out: %s; install gnuplot, or use --csv-only for files "
                              "without pictures",
                              err.text);
    if (mkdir(files->folder, 0777) != 0 && errno != EEXIST)
        return cv_print_error(CV_EXIT_FAILED, "--out: cannot make the folder '%s': %s",
                              shown, strerror(errno));
    if (stat(files->folder, &info) == 0 && !S_ISDIR(info.st_mode))
        return cv_refuse("--out: '%s' is not a folder", shown);
    if (access(files->folder, W_OK | X_OK) != 0)
        return cv_print_error(CV_EXIT_FAILED, "--out: cannot write into '%s': %s", shown,
                              strerror(errno));
    for (size_t i = 0; i < count && status == CV_EXIT_DONE; i++) {
        status = see_free(files, figures[i], "csv");
        if (status == CV_EXIT_DONE && files->svg)
            status = see_free(files, figures[i], "svg");
    }
    return status;
}

/* Labels and columns are our own texts and hold no quotes. */
static void add_table(FILE *file, const struct cv_figure_result *result)
{
    fprintf(file, "\"%s\"", result->label);
    for (size_t i = 0; i < result->ncolumns; i++)
        fprintf(file, ",\"%s\"", result->columns[i]);
    for (size_t r = 0; r < result->nrows; r++) {
        const struct cv_figure_row *row = &result->rows[r];

        fprintf(file, "\n\"%s\"", row->label);
        for (size_t i = 0; i < result->ncolumns; i++)
            if (isnan(row->values[i]))
                fputs(",", file);
            else
                fprintf(file, ",%.17g", row->values[i]);
    }
    fputs("\n", file);
}

static int write_file(const struct figure_files *files, const struct named *figure,
                      const struct cv_figure_result *result, bool svg)
{
    struct cv_output_file out;
    struct cleave_error err;
    char path[PATH_ROOM];
    int status, closed;

    if (!path_of(files, figure, svg ? "svg" : "csv", path))
        return CV_EXIT_USAGE;
    status = cv_output_open(&out, "--out", path, files->force ? 0 : CV_NEW_FILE_ONLY);
    if (status != CV_EXIT_DONE)
        return status;
    if (!svg)
        add_table(out.file, result);
    else if (cv_gnuplot_draw(figure->name, result, fileno(out.file), &err) != CLEAVE_OK)
        status = cv_print_status(&err);
    closed = cv_output_close(&out, status != CV_EXIT_DONE);
    return status != CV_EXIT_DONE ? status : closed;
}

/* --- figures as text and as JSON ---------------------------------------------------- */

/* A paragraph indented by four. */
static void add_paragraph(struct cv_text *text, const char *words, unsigned width)
{
    cv_text_add(text, "    ");
    cv_wrap(text, words, 4, 4, width);
    cv_text_add(text, "\n");
}

static int figures_list(void)
{
    const struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };

    for (size_t i = 0; i < FIGURES; i++) {
        const struct named *figure = &named[i];

        cv_text_add(&text, "%s%s%s%s\n", i > 0 ? "\n" : "",
                    screen.colour ? "\033[1m" : "", figure->name,
                    screen.colour ? "\033[0m" : "");
        add_paragraph(&text, figure->facts->title, screen.width);
        add_paragraph(&text, figure->facts->source, screen.width);
        add_paragraph(&text, figure->facts->says, screen.width);
    }
    return cv_print_take(&text);
}

static int figures_list_json(void)
{
    struct cv_json json;

    cv_result_open(&json);
    cv_field_list(&json, "figures");
    for (size_t i = 0; i < FIGURES; i++) {
        const struct named *figure = &named[i];

        cv_fields(&json, "{name %s, title %s, source %s, says %s}", figure->name,
                  figure->facts->title, figure->facts->source, figure->facts->says);
    }
    cv_json_end(&json);
    return cv_result_close(&json);
}

static void add_claims(struct cv_text *text, const struct cv_figure_result *result,
                       unsigned width)
{
    for (const struct cv_claim *claim = result->claims; claim != NULL;
         claim = claim->next) {
        char line[1024];

        snprintf(line, sizeof line, "%s: %s", claim->claim, claim->numbers);
        cv_text_add(text, "  %-8s ", claim->holds ? "holds" : "differs");
        cv_wrap(text, line, 11, 11, width);
        cv_text_add(text, "\n");
    }
}

/* One figure that was made: its table, its claims as they came out, its note. */
static int figure_text(const struct named *figure, const struct cv_figure_result *result)
{
    const struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false }, columns = text;
    const size_t nshown = result->nshown > 0 ? result->nshown : result->ncolumns;
    struct cv_table table;

    cv_text_add(&columns, "%s", result->label);
    for (size_t i = 0; i < nshown; i++)
        cv_text_add(&columns, "|#%s", result->columns[i]);
    cv_text_add(&text, "%s: %s\n\n", figure->name, figure->facts->title);
    cv_table_init(&table, columns.failed ? "" : columns.bytes);
    cv_text_end(&columns, &text);
    for (size_t r = 0; r < result->nrows; r++) {
        const struct cv_figure_row *row = &result->rows[r];

        if (row->file_only)
            continue;
        cv_table_add(&table, "%s", row->label);
        for (size_t i = 0; i < nshown; i++)
            cv_table_add(&table, "%g", row->values[i]);
    }
    cv_table_take(&table, screen.colour, screen.width, &text);
    cv_text_add(&text, "\n");
    add_claims(&text, result, screen.width);
    if (result->note != NULL) {
        cv_text_add(&text, "\n  ");
        cv_wrap(&text, result->note, 2, 2, screen.width);
        cv_text_add(&text, "\n");
    }
    return cv_print_take(&text);
}

static void figure_json(struct cv_json *json, const struct named *figure,
                        const struct cv_figure_result *result)
{
    cv_field_object(json, NULL);
    cv_fields(json, "name %s, title %s, source %s", figure->name, figure->facts->title,
              figure->facts->source);
    cv_field_list(json, "rows");
    for (size_t r = 0; r < result->nrows; r++) {
        cv_field_line(json, NULL);
        cv_field_text(json, result->label, result->rows[r].label);
        for (size_t i = 0; i < result->ncolumns; i++)
            cv_field_number(json, result->columns[i], result->rows[r].values[i]);
        cv_json_end(json);
    }
    cv_json_end(json);
    cv_field_list(json, "claims");
    for (const struct cv_claim *claim = result->claims; claim != NULL;
         claim = claim->next)
        cv_fields(json, "{claim %s, holds %d, numbers %s}", claim->claim, claim->holds,
                  claim->numbers);
    cv_json_end(json);
    cv_json_end(json);
}

/* --- the program cleave-figures ----------------------------------------------------- */

struct making {
    const struct cv_figures_options *values;
    struct figure_files files;
    struct cv_json json;
    size_t count;
};

static int make_figure(const struct named *figure, size_t place, struct making *all)
{
    const struct cv_figures_options *values = all->values;
    struct cv_progress progress;
    struct cv_figure_job job = { .threads = (unsigned)values->threads,
                                 .quick = values->quick != 0,
                                 .progress = &progress };
    struct cv_figure_result result;
    int status = CV_EXIT_DONE;
    char what[80];

    if (all->count > 1)
        snprintf(what, sizeof what, "%zu/%zu %s", place + 1, all->count, figure->name);
    else
        snprintf(what, sizeof what, "%s", figure->name);
    cv_progress_init(&progress, what, 1);
    cv_progress_show(&progress, 0);
    cv_figure_make(figure->facts, &job, &result);
    cv_progress_done(&progress);
    if (values->json)
        figure_json(&all->json, figure, &result);
    else {
        if (place > 0)
            fputs("\n", stdout);
        status = figure_text(figure, &result);
        fflush(stdout); /* the next one may take minutes */
    }
    if (status == CV_EXIT_DONE && all->files.folder != NULL)
        status = write_file(&all->files, figure, &result, false);
    if (status == CV_EXIT_DONE && all->files.folder != NULL && all->files.svg &&
        result.plots != NULL)
        status = write_file(&all->files, figure, &result, true);
    cv_arena_done(&result.arena);
    return status;
}

static const char *name_at(const void *context, size_t index)
{
    (void)context;
    return named[index].name;
}

/* All names are judged before the first figure is made; a repeated name counts once. */
static int choose(const struct cv_call *call, const struct named **out, size_t *out_count)
{
    const size_t wanted = call->noperands > 0 ? call->noperands : (size_t)FIGURES;
    struct cleave_error err;
    size_t count = 0;
    char near[256];

    for (size_t i = 0; i < wanted && count < CV_MOST_FIGURES; i++) {
        size_t at = i, k = 0;

        if (call->noperands > 0)
            for (at = 0; at < FIGURES && strcmp(named[at].name, call->operands[i]) != 0;)
                at++;
        if (at == FIGURES) {
            cv_suggest(call->operands[i], FIGURES, name_at, NULL, near, sizeof near);
            cv_fail(&err, CLEAVE_EINPUT, "unknown figure '%s'%s", call->operands[i],
                    near);
            return cv_print_status(&err);
        }
        out[count] = &named[at];
        while (k < count && out[k] != out[count])
            k++;
        if (k == count)
            count++;
    }
    *out_count = count;
    return CV_EXIT_DONE;
}

static int make_figures(const struct cv_call *call)
{
    const struct cv_figures_options *values = call->values;
    const struct named *chosen[CV_MOST_FIGURES] = { NULL };
    struct making all = { .values = values,
                          .files = { .folder = values->out,
                                     .force = values->force != 0,
                                     .svg = !values->csv_only } };
    int status;

    if (values->list)
        return values->json ? figures_list_json() : figures_list();
    if (values->out == NULL && (values->csv_only || values->force))
        return cv_refuse("%s: needs --out", values->csv_only ? "--csv-only" : "--force");
    status = choose(call, chosen, &all.count);
    if (status == CV_EXIT_DONE && values->out != NULL)
        status = figure_files_begin(&all.files, chosen, all.count);
    if (status != CV_EXIT_DONE)
        return status;
    if (values->json) {
        cv_result_open(&all.json);
        cv_field_list(&all.json, "figures");
    }
    for (size_t i = 0; i < all.count && status == CV_EXIT_DONE; i++)
        status = make_figure(chosen[i], i, &all);
    if (values->json) {
        int closed;

        cv_json_end(&all.json);
        closed = cv_result_close(&all.json);
        status = status == CV_EXIT_DONE ? closed : status;
    }
    return status;
}

int main(int argc, char **argv)
{
    const int skipped = argc > 0 ? 1 : 0;
    struct cv_verb figures = cv_verb_figures;

    figures.run = make_figures;
    cv_guard_streams();
    return cv_finish_output(cv_verb_call(&figures, argc - skipped, argv + skipped));
}
