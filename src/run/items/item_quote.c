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
