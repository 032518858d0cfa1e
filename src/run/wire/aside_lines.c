/* aside_lines.c -- which lines of what a host said matter. SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "run/wire/connect_stderr.h"

#define KEY_CHANGED "REMOTE HOST IDENTIFICATION HAS CHANGED"
#define FORGET_KEY "ssh-keygen "
/* What ssh says of every host that it comes to for the first time. */
#define FIRST_TIME "Warning: Permanently added "

struct line {
    const char *at;
    size_t length;
};

/* The line from *at on without blanks and line ends around it; false: there is none. */
static bool next_line(const struct cv_connect_stderr *login_stderr, size_t *at,
                      struct line *out)
{
    const char *begin, *end;

    if (*at >= login_stderr->nkept)
        return false;
    begin = login_stderr->kept + *at;
    end = memchr(begin, '\n', login_stderr->nkept - *at);
    if (end == NULL)
        end = login_stderr->kept + login_stderr->nkept;
    *at = (size_t)(end - login_stderr->kept) + 1;
    while (begin < end && isspace((unsigned char)*begin))
        begin++;
    while (begin < end && isspace((unsigned char)end[-1]))
        end--;
    *out = (struct line){ begin, (size_t)(end - begin) };
    return true;
}

/* Whether it says anything, and not of every host. */
static bool matters(const struct line *line)
{
    if (line->length >= strlen(FIRST_TIME) &&
        memcmp(line->at, FIRST_TIME, strlen(FIRST_TIME)) == 0)
        return false;
    for (size_t i = 0; i < line->length; i++)
        if (isalnum((unsigned char)line->at[i]) || (unsigned char)line->at[i] > 127)
            return true;
    return false;
}

bool cv_connect_stderr_last(const struct cv_connect_stderr *login_stderr, char *out,
                            size_t size)
{
    struct line line, last[2] = { { NULL, 0 }, { NULL, 0 } };
    char shown[160];
    int n = 0;

    for (size_t at = 0; next_line(login_stderr, &at, &line);)
        if (matters(&line)) {
            last[0] = last[1];
            last[1] = line;
        }
    out[0] = '\0';
    for (int i = 0; i < 2; i++)
        if (last[i].length > 0 && n >= 0 && (size_t)n < size)
            n += snprintf(out + n, size - (size_t)n, "%s%s", n > 0 ? "; " : "",
                          cv_shown(last[i].at, last[i].length, shown, sizeof shown));
    return n > 0;
}

bool cv_connect_stderr_first(const struct cv_connect_stderr *login_stderr, char *out,
                             size_t size, size_t *others)
{
    struct line line;
    size_t count = 0;

    out[0] = '\0';
    for (size_t at = 0; next_line(login_stderr, &at, &line);)
        if (matters(&line) && count++ == 0)
            cv_shown(line.at, line.length, out, size);
    *others = count > 0 ? count - 1 : 0;
    return count > 0;
}

bool cv_connect_stderr_key_changed(const struct cv_connect_stderr *login_stderr,
                                   char *out, size_t size)
{
    struct line line;
    bool changed = false;

    out[0] = '\0';
    for (size_t at = 0; next_line(login_stderr, &at, &line);) {
        changed = changed ||
                  memmem(line.at, line.length, KEY_CHANGED, strlen(KEY_CHANGED)) != NULL;
        if (changed && line.length > strlen(FORGET_KEY) &&
            memcmp(line.at, FORGET_KEY, strlen(FORGET_KEY)) == 0)
            cv_shown(line.at, line.length, out, size);
    }
    return changed;
}
