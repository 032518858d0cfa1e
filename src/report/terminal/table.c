/* table.c -- aligned tables in text. SPDX-License-Identifier: MIT */
#include "report/terminal/table.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"

enum { DIGITS = 5 };

void cv_table_init(struct cv_table *table, const char *columns)
{
    char *rest = strdup(columns);

    *table = (struct cv_table){ .titles = rest, .failed = rest == NULL };
    while (rest != NULL) {
        const char *title = strsep(&rest, "|");
        const char mark = strchr("#+~%^", title[0]) != NULL ? title[0] : '\0';

        assert(table->ncolumns < CV_TABLE_COLUMNS);
        table->columns[table->ncolumns++] =
            (struct cv_column){ title + (mark != '\0'), mark };
    }
}

void cv_table_done(struct cv_table *table)
{
    for (size_t i = 0; i < table->ncells; i++)
        free(table->cells[i].text);
    free(table->cells);
    free(table->titles);
    *table = (struct cv_table){ .cells = NULL };
}

static struct cv_cell *add_cell(struct cv_table *table)
{
    if (!CV_ROOM(table->cells, &table->capacity, table->ncells + 1)) {
        table->failed = true;
        return NULL;
    }
    table->cells[table->ncells] = (struct cv_cell){ NULL, NAN };
    return &table->cells[table->ncells++];
}

static void set_text(struct cv_table *table, struct cv_cell *cell, const char *text)
{
    cell->text = strdup(text);
    if (cell->text == NULL) {
        table->failed = true;
        return;
    }
    for (char *c = cell->text; *c != '\0'; c++) { /* names come from files */
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    }
}

void cv_table_add(struct cv_table *table, const char *format, ...)
{
    struct cv_cell *cell;
    va_list values;

    va_start(values, format);
    while ((format = strchr(format, '%')) != NULL && (cell = add_cell(table)) != NULL) {
        if (*++format == 's')
            set_text(table, cell, va_arg(values, const char *));
        else if (*format == 'u')
            cell->value = va_arg(values, unsigned);
        else
            cell->value = va_arg(values, double);
    }
    va_end(values);
}

size_t cv_shown_width(const char *text)
{
    size_t width = 0;

    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* How the numbers of a column are shown. */
struct format {
    double scale;       /* shown = value * scale          */
    const char *suffix; /* after the number               */
    int decimals;       /* -1: as %e, for extreme columns */
};

static int decimals_for(double max, int digits)
{
    int before;

    if (max < 1e-4 || max >= 1e9)
        return max == 0 ? 0 : -1;
    before = (int)floor(log10(max)) + 1;
    /* Rounding may carry into another digit: 9999.96 has five before the point. */
    if (max >= pow(10, before) - 0.5 * pow(10, before - digits))
        before++;
    return before >= digits ? 0 : digits - (before > 1 ? before : 1);
}

static struct format format_for(char mark, double max)
{
    static const struct {
        double from;
        const char *suffix;
    } prefixes[] = { { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" } };
    struct format format = { 1, "", 0 };

    if (mark == '%' || mark == '^')
        return (struct format){ 100, "%", mark == '^' ? 2 : 1 };
    for (size_t i = 0; mark == '~' && i < 3; i++) {
        if (max >= prefixes[i].from && max < 1e15) {
            format.scale = 1 / prefixes[i].from;
            format.suffix = prefixes[i].suffix;
            break;
        }
    }
    format.decimals = decimals_for(max * format.scale, DIGITS);
    return format;
}

static void show(const struct format *format, double value, char *buffer, size_t size)
{
    if (isnan(value))
        snprintf(buffer, size, "-");
    else if (format->decimals < 0)
        snprintf(buffer, size, "%.*e%s", DIGITS - 1, value * format->scale,
                 format->suffix);
    else
        snprintf(buffer, size, "%.*f%s", format->decimals, value * format->scale,
                 format->suffix);
}

const char *cv_show_number(double value, char buffer[CV_NUMBER_ROOM])
{
    const struct format format = format_for('#', fabs(value));

    show(&format, value, buffer, CV_NUMBER_ROOM);
    return buffer;
}

/* A number alone drops the zeros that a column needs for alignment: 2000, 2.5M. */
const char *cv_show_units(double value, char buffer[CV_NUMBER_ROOM])
{
    const struct format format = format_for('~', fabs(value));
    size_t length;

    show(&(struct format){ format.scale, "", format.decimals }, value, buffer,
         CV_NUMBER_ROOM);
    length = strlen(buffer);
    if (format.decimals > 0) {
        while (buffer[length - 1] == '0')
            length--;
        if (buffer[length - 1] == '.')
            length--;
    }
    snprintf(buffer + length, CV_NUMBER_ROOM - length, "%s", format.suffix);
    return buffer;
}

/* Integers need no decimals. */
static struct format column_format(const struct cv_table *table, size_t column)
{
    double max = 0;
    bool whole = true;
    struct format format;

    for (size_t i = column; i < table->ncells; i += table->ncolumns) {
        const double value = table->cells[i].value;

        if (table->cells[i].text != NULL || isnan(value))
            continue;
        max = fmax(max, fabs(value));
        whole = whole && value == floor(value);
    }
    format = format_for(table->columns[column].mark, max);
    if (whole && format.scale == 1 && format.decimals > 0)
        format.decimals = 0;
    else if (table->columns[column].mark == '+' && format.decimals > 1)
        format.decimals = 1;
    return format;
}

void cv_wrap(struct cv_text *out, const char *words, size_t at, size_t indent,
             size_t width)
{
    bool first = true;

    while (*words != '\0') {
        const size_t length = strcspn(words, " \n");

        if (!first && at + 1 + length > width) {
            cv_text_add(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            cv_text_add(out, " ");
            at++;
        }
        cv_text_add(out, "%.*s", (int)length, words);
        at += length;
        first = false;
        words += length;
        if (*words == '\n') {
            cv_text_add(out, "\n\n%*s", (int)indent, "");
            at = indent;
            first = true;
        }
        if (*words != '\0')
            words++;
    }
}

struct layout {
    struct format formats[CV_TABLE_COLUMNS];
    size_t widths[CV_TABLE_COLUMNS];
    size_t last_at; /* first column of the last cell */
    size_t width;   /* screen width                  */
};

static const char *cell_text(const struct cv_table *table, const struct layout *layout,
                             size_t index, char buffer[CV_NUMBER_ROOM])
{
    const struct cv_cell *cell = &table->cells[index];

    if (cell->text != NULL)
        return cell->text;
    show(&layout->formats[index % table->ncolumns], cell->value, buffer, CV_NUMBER_ROOM);
    return buffer;
}

static void lay_out(const struct cv_table *table, size_t width, struct layout *out)
{
    char buffer[CV_NUMBER_ROOM];

    out->width = width;
    out->last_at = 2 * table->ncolumns;
    for (size_t c = 0; c < table->ncolumns; c++) {
        out->formats[c] = column_format(table, c);
        out->widths[c] = cv_shown_width(table->columns[c].title);
        for (size_t i = c; i < table->ncells; i += table->ncolumns) {
            const size_t shown = cv_shown_width(cell_text(table, out, i, buffer));

            if (shown > out->widths[c])
                out->widths[c] = shown;
        }
        if (c + 1 < table->ncolumns)
            out->last_at += out->widths[c];
    }
}

static void write_cell(const struct cv_table *table, const struct layout *layout,
                       size_t column, const char *text, struct cv_text *out)
{
    const size_t shown = cv_shown_width(text), width = layout->widths[column];
    const int pad = (int)(width > shown ? width - shown : 0);
    const bool last = column + 1 == table->ncolumns;

    cv_text_add(out, "  ");
    if (table->columns[column].mark != '\0')
        cv_text_add(out, "%*s%s", pad, "", text);
    else if (!last)
        cv_text_add(out, "%s%*s", text, pad, "");
    else if (layout->last_at + 20 < layout->width)
        cv_wrap(out, text, layout->last_at, layout->last_at, layout->width);
    else
        cv_text_add(out, "%s", text); /* too little room to wrap in */
}

static void write_table(const struct cv_table *table, bool bold, size_t width,
                        struct cv_text *out)
{
    char buffer[CV_NUMBER_ROOM];
    struct layout layout;

    if (table->failed) {
        out->failed = true;
        return;
    }
    lay_out(table, width, &layout);
    cv_text_add(out, "%s", bold ? "\033[1m" : "");
    for (size_t c = 0; c < table->ncolumns; c++)
        write_cell(table, &layout, c, table->columns[c].title, out);
    cv_text_add(out, "%s\n", bold ? "\033[0m" : "");
    for (size_t i = 0; i < table->ncells; i++) {
        const size_t c = i % table->ncolumns;

        write_cell(table, &layout, c, cell_text(table, &layout, i, buffer), out);
        if (c + 1 == table->ncolumns)
            cv_text_add(out, "\n");
    }
}

void cv_table_take(struct cv_table *table, bool bold, size_t width, struct cv_text *out)
{
    write_table(table, bold, width, out);
    cv_table_done(table);
}
