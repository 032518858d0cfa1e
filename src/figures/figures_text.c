/* figures_text.c -- figures as text and as JSON. SPDX-License-Identifier: MIT */
#include "figures/figures_text.h"

#include <stdio.h>

#include "base/text.h"
#include "cli/common/output.h"
#include "report/terminal/table.h"

/* A paragraph indented by four. */
static void add_paragraph(struct cv_text *text, const char *words, unsigned width)
{
    cv_text_add(text, "    ");
    cv_wrap(text, words, 4, 4, width);
    cv_text_add(text, "\n");
}

int cv_figures_list(void)
{
    const struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };

    for (size_t i = 0; i < cv_figure_count(); i++) {
        const struct cv_figure *figure = cv_figure_at(i);

        cv_text_add(&text, "%s%s%s%s\n", i > 0 ? "\n" : "",
                    screen.colour ? "\033[1m" : "", cv_figure_name(figure),
                    screen.colour ? "\033[0m" : "");
        add_paragraph(&text, figure->title, screen.width);
        add_paragraph(&text, figure->source, screen.width);
        add_paragraph(&text, figure->says, screen.width);
    }
    return cv_print_take(&text);
}

int cv_figures_list_json(void)
{
    struct cv_json json;

    cv_result_open(&json);
    cv_field_list(&json, "figures");
    for (size_t i = 0; i < cv_figure_count(); i++) {
        const struct cv_figure *figure = cv_figure_at(i);

        cv_field_line(&json, NULL);
        cv_field_text(&json, "name", cv_figure_name(figure));
        cv_field_text(&json, "title", figure->title);
        cv_field_text(&json, "source", figure->source);
        cv_field_text(&json, "says", figure->says);
        cv_json_end(&json);
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

int cv_figure_text(const struct cv_figure *figure, const struct cv_figure_result *result)
{
    const struct cv_screen screen = cv_screen_facts();
    struct cv_column columns[CV_TABLE_COLUMNS] = { { result->label, CV_COLUMN_TEXT } };
    struct cv_text text = { NULL, 0, 0, false };
    const size_t nshown = result->nshown > 0 ? result->nshown : result->ncolumns;
    struct cv_table table;

    for (size_t i = 0; i < nshown; i++)
        columns[i + 1] = (struct cv_column){ result->columns[i], CV_COLUMN_NUMBER };
    cv_text_add(&text, "%s: %s\n\n", cv_figure_name(figure), figure->title);
    cv_table_init(&table, columns, nshown + 1);
    for (const struct cv_figure_row *row = result->rows; row != NULL; row = row->next) {
        if (row->file_only)
            continue;
        cv_table_text(&table, row->label);
        for (size_t i = 0; i < nshown; i++)
            cv_table_number(&table, row->values[i]);
    }
    cv_table_write(&table, screen.colour, screen.width, &text);
    cv_table_done(&table);
    cv_text_add(&text, "\n");
    add_claims(&text, result, screen.width);
    if (result->note != NULL) {
        cv_text_add(&text, "\n  ");
        cv_wrap(&text, result->note, 2, 2, screen.width);
        cv_text_add(&text, "\n");
    }
    return cv_print_take(&text);
}

void cv_figure_json(struct cv_json *json, const struct cv_figure *figure,
                    const struct cv_figure_result *result)
{
    cv_field_object(json, NULL);
    cv_field_text(json, "name", cv_figure_name(figure));
    cv_field_text(json, "title", figure->title);
    cv_field_text(json, "source", figure->source);
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
