/* html_page.c -- the frame of a page that needs no other file.
 * SPDX-License-Identifier: MIT */
#include "report/page/html_page.h"

#include <math.h>
#include <string.h>
#include <cleave/version.h>
#include "base/quantity.h"
#include "base/text.h"
#include "report/page/page_text.h"
#include "report/terminal/table.h"

/* The policy forbids the page to load anything; a served page may ask its own server. */
static const char head[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"generator\" content=\"cleave " CLEAVE_VERSION "\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

static void put_lines(FILE *file, const char *const *lines)
{
    for (; *lines != NULL; lines++)
        fputs(*lines, file);
}

void cv_page_open(FILE *file, const char *title, bool served)
{
    fputs(head, file);
    cv_page_element(file, served ? "; connect-src 'self'\">\n<title>" : "\">\n<title>",
                    title, "</title>\n<style>\n");
    put_lines(file, cv_page_style);
    fputs("</style>\n</head>\n<body>\n", file);
}

void cv_page_close(FILE *file, bool served)
{
    fprintf(file, "<footer>Made by cleave " CLEAVE_VERSION ". %s</footer>\n<script>\n",
            served ? "This page keeps itself new while the run lasts; saved, it needs no "
                     "other file."
                   : "This page needs no other file and no network.");
    put_lines(file, cv_page_script);
    fputs("</script>\n</body>\n</html>\n", file);
}

void cv_page_text(FILE *file, const char *text)
{
    static const char signs[] = "<>&\"";
    static const char *const names[] = { "&lt;", "&gt;", "&amp;", "&quot;" };

    for (size_t left = strlen(text), length; left > 0; text += length, left -= length) {
        const char *sign = strchr(signs, *text);

        length = cv_utf8(text, left, NULL);
        if (length == 0 ||
            (length == 1 && (unsigned char)*text < 0x20 && *text != '\n')) {
            fputs("\xef\xbf\xbd", file); /* the replacement character */
            length = 1;
        } else if (sign != NULL) {
            fputs(names[sign - signs], file);
        } else {
            fwrite(text, 1, length, file);
        }
    }
}

void cv_page_element(FILE *file, const char *before, const char *text, const char *after)
{
    fputs(before, file);
    cv_page_text(file, text);
    fputs(after, file);
}

void cv_page_number(FILE *file, double value)
{
    char buffer[CV_NUMBER_ROOM];

    fputs(isnan(value) ? "\xe2\x80\x93" : cv_show_number(value, buffer), file);
}

void cv_page_json_number(FILE *file, double value)
{
    char buffer[CV_NUMBER_SIZE];

    fputs(isfinite(value) ? cv_number_full(value, buffer) : "null", file);
}

void cv_page_section(FILE *file, const char *id, const char *title)
{
    fprintf(file, "<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">%s</h2>\n", id, id,
            title);
}

void cv_page_table(FILE *file, const char *name, const char *heads)
{
    fputs("<div class=\"scroll\"", file);
    if (name != NULL)
        fprintf(file, " tabindex=\"0\" role=\"region\" aria-label=\"%s\"", name);
    fprintf(file, "><table%s>\n<thead><tr>", name != NULL ? " class=\"sort\"" : "");
    while (*heads != '\0') {
        const bool number = heads[0] == '#', plain = heads[0] == '!';
        size_t length;

        heads += number || plain;
        length = strcspn(heads, "|");
        fprintf(file, "<th scope=\"col\"%s%s>%.*s</th>", number ? " class=\"n\"" : "",
                plain ? " data-plain" : "", (int)length, heads);
        heads += length + (heads[length] == '|');
    }
    fputs("</tr></thead>\n<tbody>\n", file);
}

void cv_page_table_end(FILE *file)
{
    fputs("</tbody></table></div>\n", file);
}

void cv_page_again(FILE *file, const char *command)
{
    cv_page_section(file, "again", "Do it again");
    if (command != NULL)
        cv_page_element(file, "<div class=\"again\"><pre><code>", command,
                        "</code></pre><button type=\"button\" class=\"copy live\">Copy"
                        "</button></div>\n");
    else
        fputs("<p>The trace does not name its command.</p>\n", file);
}

int cv_page_decimals(double max)
{
    int before;

    if (!(max >= 1e-3 && max < 1e9))
        return max == 0 ? 0 : -1;
    before = (int)floor(log10(max)) + 1;
    return before >= 5 ? 0 : before > 1 ? 5 - before : 4;
}

double cv_page_step(double wish)
{
    static const double factors[] = { 1, 2, 5, 10 };
    const double power = pow(10, floor(log10(wish)));

    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        if (factors[i] * power >= wish)
            return factors[i] * power;
    return 10 * power;
}

void cv_page_number_cell(FILE *file, double value, int decimals)
{
    cv_page_best_cell(file, value, decimals, false);
}

void cv_page_best_cell(FILE *file, double value, int decimals, bool best)
{
    fprintf(file, "<td class=\"n%s\" data-v=\"", best ? " best" : "");
    cv_page_json_number(file, isnan(value) ? -1 : value);
    fputs("\">", file);
    if (isnan(value) || decimals < 0)
        cv_page_number(file, value);
    else
        fprintf(file, "%.*f", decimals, value);
    fputs("</td>", file);
}

void cv_page_percent_cell(FILE *file, double part)
{
    if (isnan(part))
        fputs("<td class=\"n\" data-v=\"-1\">\xe2\x80\x93</td>", file);
    else
        fprintf(file, "<td class=\"n\" data-v=\"%.9g\">%.1f%%</td>", part, 100 * part);
}

void cv_page_count_cell(FILE *file, unsigned long long count)
{
    fprintf(file, "<td class=\"n\" data-v=\"%llu\">%llu</td>", count, count);
}
