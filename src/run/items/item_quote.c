/* item_quote.c -- values between the words of a shell's command line.
 * SPDX-License-Identifier: MIT */
#include "run/items/item_quote.h"

static bool is_plain(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '.' ||
           byte == '+' || byte == '/';
}

/* Quotes that hold nothing are left out at both ends, but not between two '. */
static void add_quoted(struct cv_text *out, const char *bytes, size_t length)
{
    size_t at = 0;

    while (at < length) {
        size_t end = at;

        if (bytes[at] == '\'') {
            cv_text_add(out, "%s\"'\"", at > 0 && bytes[at - 1] == '\'' ? "''" : "");
            at++;
            continue;
        }
        while (end < length && bytes[end] != '\'')
            end++;
        cv_text_add(out, "'%.*s'", (int)(end - at), bytes + at);
        at = end;
    }
}

void cv_item_quote(struct cv_text *out, const char *bytes, size_t length)
{
    size_t plain = 0;

    while (plain < length && is_plain(bytes[plain]))
        plain++;
    if (length == 0)
        cv_text_add(out, "''");
    else if (plain == length)
        cv_text_add(out, "%.*s", (int)length, bytes);
    else
        add_quoted(out, bytes, length);
}

/* Within '...' no byte means anything but the one that ends it; within "..." a backslash takes the
 * meaning of the byte behind it. Shells that do not know $'...' take it for '...', which a number
 * does not end. */
static const char *escaped(enum cv_item_quotes quotes, char byte)
{
    switch (byte) {
    case '\'':
        return quotes == CV_ITEM_SINGLE   ? "'\\''"
               : quotes == CV_ITEM_DOLLAR ? "\\047"
                                          : NULL;
    case '\\':
        return quotes == CV_ITEM_SINGLE ? NULL : "\\\\";
    case '"':
        return quotes == CV_ITEM_DOUBLE ? "\\\"" : NULL;
    case '$':
        return quotes == CV_ITEM_DOUBLE ? "\\$" : NULL;
    case '`':
        return quotes == CV_ITEM_DOUBLE ? "\\`" : NULL;
    default:
        return NULL;
    }
}

void cv_item_quote_within(struct cv_text *out, enum cv_item_quotes quotes,
                          const char *bytes, size_t length)
{
    size_t from = 0;

    if (quotes == CV_ITEM_UNQUOTED) {
        cv_item_quote(out, bytes, length);
        return;
    }
    for (size_t at = 0; at < length; at++) {
        const char *text = escaped(quotes, bytes[at]);

        if (text == NULL)
            continue;
        cv_text_add(out, "%.*s%s", (int)(at - from), bytes + from, text);
        from = at + 1;
    }
    cv_text_add(out, "%.*s", (int)(length - from), bytes + from);
}
