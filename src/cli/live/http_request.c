/* http_request.c -- what a browser asks for. SPDX-License-Identifier: MIT */
#include "cli/live/http_request.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* A part of the request: [at, end). */
struct part {
    const char *at, *end;
};

static bool is(struct part part, const char *word)
{
    const size_t length = strlen(word);

    return (size_t)(part.end - part.at) == length &&
           strncasecmp(part.at, word, length) == 0;
}

/* The next line, without its end; none when the rest holds no whole line. */
static bool take_line(struct part *rest, struct part *line)
{
    const char *end = memchr(rest->at, '\n', (size_t)(rest->end - rest->at));

    if (end == NULL)
        return false;
    *line = (struct part){ rest->at, end > rest->at && end[-1] == '\r' ? end - 1 : end };
    rest->at = end + 1;
    return true;
}

/* What stands before the first `sign`, which is taken too; all without one. */
static struct part take_until(struct part *rest, char sign)
{
    const char *end = memchr(rest->at, sign, (size_t)(rest->end - rest->at));
    const struct part taken = { rest->at, end != NULL ? end : rest->end };

    rest->at = end != NULL ? end + 1 : rest->end;
    return taken;
}

/* Whether the line says that the request is for this machine. A page from elsewhere whose
 * name was made to stand for 127.0.0.1 gives that name. */
static bool names_this(struct part line)
{
    static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
    const char *end;

    while (line.at < line.end && (*line.at == ' ' || *line.at == '\t'))
        line.at++;
    for (end = line.end; end > line.at && end[-1] >= '0' && end[-1] <= '9';)
        end--;
    if (end > line.at && end[-1] == ':')
        line.end = end - 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is(line, names[i]))
            return true;
    return false;
}

/* "/", or "/next?after=NUMBER". */
static bool read_target(struct part target, uint64_t *after)
{
    const struct part path = take_until(&target, '=');

    *after = UINT64_MAX;
    if (is(path, "/"))
        return target.at == target.end;
    if (!is(path, "/next?after") || target.at == target.end ||
        target.end - target.at > 18)
        return false;
    for (*after = 0; target.at < target.end; target.at++) {
        if (*target.at < '0' || *target.at > '9')
            return false;
        *after = *after * 10 + (uint64_t)(*target.at - '0');
    }
    return true;
}

struct cv_http_request cv_http_request_read(const char *text, size_t length)
{
    struct part rest = { text, text + length };
    struct part first, method, target, line;
    struct cv_http_request request = { .wish = CV_HTTP_MORE };
    bool ours = false, foreign = false;

    if (!take_line(&rest, &first))
        return request;
    for (;;) {
        if (!take_line(&rest, &line))
            return request;
        if (line.at == line.end)
            break;
        if (!is(take_until(&line, ':'), "Host"))
            continue;
        if (names_this(line))
            ours = true;
        else
            foreign = true;
    }
    method = take_until(&first, ' ');
    target = take_until(&first, ' ');
    if (first.end - first.at < 6 || strncmp(first.at, "HTTP/1", 6) != 0)
        request.wish = CV_HTTP_BAD;
    else if (!ours || foreign)
        request.wish = CV_HTTP_FOREIGN;
    else if (!is(method, "GET"))
        request.wish = CV_HTTP_METHOD;
    else if (!read_target(target, &request.after))
        request.wish = CV_HTTP_ABSENT;
    else
        request.wish = CV_HTTP_PAGE;
    return request;
}
