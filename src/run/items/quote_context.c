/* quote_context.c -- in which quotes of a shell's line a place stands.
 * SPDX-License-Identifier: MIT */
#include "run/items/quote_context.h"

#include <string.h>

struct cv_item_within cv_item_within_begin(const char *const *words)
{
    struct cv_item_within within = { .depth = 0 };

    /* The patterns of a case have a bracket that closes nothing. */
    for (size_t i = 0; words[i] != NULL; i++)
        within.lost = within.lost || strstr(words[i], "esac") != NULL;
    return within;
}

static char innermost(const struct cv_item_within *within)
{
    return within->depth > 0 ? within->open[within->depth - 1] : '\0';
}

static void begin(struct cv_item_within *within, char what)
{
    if (within->depth == CV_ITEM_NESTED)
        within->lost = true;
    else
        within->open[within->depth++] = what;
}

/* A byte outside of quotes, be it in $(...) or `...`. */
static void read_plain(struct cv_item_within *within, char byte)
{
    const char inside = innermost(within), before = within->before;

    /* In a here-document, unlike behind <<<, quotes are none. */
    within->lost = within->less == 2 && byte != '<';
    within->less = byte == '<' ? within->less + 1 : 0;
    if (byte == '\\')
        within->escaped = true;
    else if ((byte == ')' && inside == '(') || (byte == '`' && inside == '`'))
        within->depth--;
    else if (byte == '\'' && before == '$')
        begin(within, '$');
    else if (byte == '\'' || byte == '"' || byte == '(' || byte == '`')
        begin(within, byte);
    else if (byte == '#' && (before == '\0' || strchr(" \t\n;&|(`", before) != NULL))
        within->comment = true;
}

static void read_byte(struct cv_item_within *within, char byte)
{
    const char inside = innermost(within);

    if (within->comment)
        within->comment = byte != '\n';
    else if (inside == '\0' || inside == '(' || inside == '`')
        read_plain(within, byte);
    else if (byte == (inside == '"' ? '"' : '\''))
        within->depth--;
    else if (inside != '\'' && byte == '\\')
        within->escaped = true;
    else if (inside == '"' && (byte == '`' || (byte == '(' && within->before == '$')))
        begin(within, byte);
}

void cv_item_within_read(struct cv_item_within *within, const char *text, size_t length)
{
    for (size_t i = 0; i < length && !within->lost; i++) {
        if (within->escaped) {
            within->escaped = false;
            within->before = 'x';
            continue;
        }
        read_byte(within, text[i]);
        within->before = text[i];
    }
}

enum cv_item_quotes cv_item_within_now(const struct cv_item_within *within)
{
    switch (within->lost ? '\0' : innermost(within)) {
    case '\'':
        return CV_ITEM_SINGLE;
    case '"':
        return CV_ITEM_DOUBLE;
    case '$':
        return CV_ITEM_DOLLAR;
    default:
        return CV_ITEM_UNQUOTED;
    }
}
