/* verb_figures.c -- cleave figures. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "cli/json_fields.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "report/figure.h"
#include "report/table.h"

enum { MOST_NAMES = 64 };

struct figures_options {
    const char *out;
    uint64_t threads;
    int list, quick, json, force;
};

#define FIELD(name) offsetof(struct figures_options, name)

static const struct cv_option making[] = {
    { .name = "--quick",
      .value = 1,
      .offset = FIELD(quick),
      .help = "A rough version in seconds: a part of the settings." },
    { .name = "--threads",
      .kind = CV_OPTION_COUNT,
      .argument = "N",
      .offset = FIELD(threads),
      .least = 0,
      .most = 256,
      .help = "Threads to use; the result is the same on any number. Default 0: one per "
              "core." },
    { .name = NULL },
};

static const struct cv_option output[] = {
    { .name = "--list",
      .value = 1,
      .offset = FIELD(list),
      .help = "Only list the figures there are." },
    { .name = "--out",
      .kind = CV_OPTION_TEXT,
      .argument = "DIR",
      .offset = FIELD(out),
      .help = "Also write each figure as DIR/NAME.csv. The folder is made if missing." },
    { .name = "--force",
      .value = 1,
      .offset = FIELD(force),
      .help = "Replace CSV files that exist." },
    { .name = "--json",
      .value = 1,
      .offset = FIELD(json),
      .help = "Write JSON: columns, rows and judged claims of each figure." },
    { .name = NULL },
};

static const struct cv_option_group groups[] = {
    { "Making", making },
    { "Output", output },
    { NULL, NULL },
};

static int list_figures(bool as_json)
{
    static const struct cv_column columns[] = { { "figure", CV_COLUMN_TEXT },
                                                { "what it shows", CV_COLUMN_TEXT } };
    const struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    struct cv_table table;
    struct cv_json json;

    if (as_json) {
        cv_result_open(&json);
        cv_field_list(&json, "figures");
        for (size_t i = 0; i < cv_figure_count(); i++) {
            cv_field_line(&json, NULL);
            cv_field_text(&json, "name", cv_figure_at(i)->name);
            cv_field_text(&json, "title", cv_figure_at(i)->title);
            cv_json_end(&json);
        }
        cv_json_end(&json);
        return cv_result_close(&json);
    }
    cv_table_init(&table, columns, 2);
    for (size_t i = 0; i < cv_figure_count(); i++) {
        cv_table_text(&table, cv_figure_at(i)->name);
        cv_table_text(&table, cv_figure_at(i)->title);
    }
    cv_table_write(&table, screen.colour, screen.width, &text);
    cv_table_done(&table);
    return cv_print_take(&text);
}

static int show_text(const struct cv_figure *figure,
                     const struct cv_figure_result *result)
{
    const struct cv_screen screen = cv_screen_facts();
    struct cv_column columns[CV_TABLE_COLUMNS] = { { result->label, CV_COLUMN_TEXT } };
    struct cv_text text = { NULL, 0, 0, false };
    const size_t nshown = result->nshown > 0 ? result->nshown : result->ncolumns;
    struct cv_table table;

    for (size_t i = 0; i < nshown; i++)
        columns[i + 1] = (struct cv_column){ result->columns[i], CV_COLUMN_NUMBER };
    cv_text_add(&text, "%s: %s\n\n", figure->name, figure->title);
    cv_table_init(&table, columns, nshown + 1);
    for (const struct cv_figure_row *row = result->rows; row != NULL; row = row->next) {
        cv_table_text(&table, row->label);
        for (size_t i = 0; i < nshown; i++)
            cv_table_number(&table, row->values[i]);
    }
    cv_table_write(&table, screen.colour, screen.width, &text);
    cv_table_done(&table);
    cv_text_add(&text, "\n");
    for (const struct cv_claim *claim = result->claims; claim != NULL;
         claim = claim->next) {
        char line[1024];

        snprintf(line, sizeof line, "%s: %s", claim->claim, claim->numbers);
        cv_text_add(&text, "  %-8s ", claim->holds ? "holds" : "differs");
        cv_wrap(&text, line, 11, 11, screen.width);
        cv_text_add(&text, "\n");
    }
    if (result->note != NULL) {
        cv_text_add(&text, "\n  ");
        cv_wrap(&text, result->note, 2, 2, screen.width);
        cv_text_add(&text, "\n");
    }
    return cv_print_take(&text);
}

static void add_json(struct cv_json *json, const struct cv_figure *figure,
                     const struct cv_figure_result *result)
{
    cv_field_object(json, NULL);
    cv_field_text(json, "name", figure->name);
    cv_field_text(json, "title", figure->title);
    cv_field_list(json, "rows");
    for (const struct cv_figure_row *row = result->rows; row != NULL; row = row->next) {
        cv_field_line(json, NULL);
        cv_field_text(json, result->label, row->label);
        for (size_t i = 0; i < result->ncolumns; i++)
            cv_field_number(json, result->columns[i], row->values[i]);
        cv_json_end(json);
    }
    cv_json_end(json);
    cv_field_list(json, "claims");
    for (const struct cv_claim *claim = result->claims; claim != NULL;
         claim = claim->next) {
        cv_field_line(json, NULL);
        cv_field_text(json, "claim", claim->claim);
        cv_field_bool(json, "holds", claim->holds);
        cv_field_text(json, "numbers", claim->numbers);
        cv_json_end(json);
    }
    cv_json_end(json);
    cv_json_end(json);
}

/* Labels and columns are our own texts and hold no quotes. */
static int write_csv(const struct cv_figure *figure,
                     const struct cv_figure_result *result,
                     const struct figures_options *values)
{
    char path[4096];
    FILE *file;

    if (mkdir(values->out, 0777) != 0 && errno != EEXIST)
        return cv_complain(CV_EXIT_FAILED, "--out: cannot make the folder '%s': %s",
                           values->out, strerror(errno));
    if (snprintf(path, sizeof path, "%s/%s.csv", values->out, figure->name) >=
        (int)sizeof path)
        return cv_complain(CV_EXIT_USAGE, "--out: the path is too long");
    file = cv_open_output("--out", path, values->force);
    if (file == NULL)
        return CV_EXIT_USAGE;
    fprintf(file, "\"%s\"", result->label);
    for (size_t i = 0; i < result->ncolumns; i++)
        fprintf(file, ",\"%s\"", result->columns[i]);
    for (const struct cv_figure_row *row = result->rows; row != NULL; row = row->next) {
        fprintf(file, "\n\"%s\"", row->label);
        for (size_t i = 0; i < result->ncolumns; i++)
            if (isnan(row->values[i]))
                fputs(",", file);
            else
                fprintf(file, ",%.17g", row->values[i]);
    }
    fputs("\n", file);
    return cv_close_output("--out", path, file, false);
}

static void show_progress(void *context, uint64_t done, uint64_t total)
{
    struct cv_progress *progress = context;

    progress->total = total;
    cv_progress_show(progress, done);
}

static int make_figure(const struct cv_figure *figure,
                       const struct figures_options *values, struct cv_json *json)
{
    struct cv_progress progress;
    struct cv_figure_job job = { .threads = (unsigned)values->threads,
                                 .quick = values->quick != 0,
                                 .progress = show_progress,
                                 .context = &progress };
    struct cv_figure_result result;
    struct cleave_error err;
    enum cleave_status made;
    int status = CV_EXIT_DONE;

    cv_progress_init(&progress, figure->name, 1);
    made = cv_figure_make(figure, &job, &result, &err);
    cv_progress_done(&progress);
    if (made != CLEAVE_OK)
        return cv_complain_error(&err);
    if (values->json)
        add_json(json, figure, &result);
    else
        status = show_text(figure, &result);
    if (status == CV_EXIT_DONE && values->out != NULL)
        status = write_csv(figure, &result, values);
    cv_figure_done(&result);
    return status;
}

/* All names are judged before the first figure is made. */
static int choose(const struct cv_call *call, const struct cv_figure **out,
                  size_t *out_count)
{
    struct cleave_error err;

    *out_count = call->noperands > 0 ? call->noperands : cv_figure_count();
    for (size_t i = 0; i < *out_count; i++) {
        if (call->noperands == 0)
            out[i] = cv_figure_at(i);
        else if (cv_figure_find(call->operands[i], &out[i], &err) != CLEAVE_OK)
            return cv_complain_error(&err);
    }
    return CV_EXIT_DONE;
}

static int run(const struct cv_call *call)
{
    const struct figures_options *values = call->values;
    const struct cv_figure *chosen[MOST_NAMES];
    struct cv_json json;
    size_t count;
    int status;

    if (values->list)
        return list_figures(values->json);
    status = choose(call, chosen, &count);
    if (status != CV_EXIT_DONE)
        return status;
    if (values->json) {
        cv_result_open(&json);
        cv_field_list(&json, "figures");
    }
    for (size_t i = 0; i < count && status == CV_EXIT_DONE; i++)
        status = make_figure(chosen[i], values, &json);
    if (values->json) {
        int closed;

        cv_json_end(&json);
        closed = cv_result_close(&json);
        status = status == CV_EXIT_DONE ? closed : status;
    }
    return status;
}

const struct cv_verb cv_verb_figures = {
    .name = "figures",
    .summary = "make figures and tables of the papers again, and judge their claims",
    .description =
        "Makes the named figures, or all of them: a table each, what the paper "
        "claims of it, and whether that holds here, with the numbers.",
    .operands = "[NAME]...",
    .max_operands = MOST_NAMES,
    .groups = groups,
    .examples = "cleave figures --list\ncleave figures umr-table3 --quick",
    .values_size = sizeof(struct figures_options),
    .run = run,
};
