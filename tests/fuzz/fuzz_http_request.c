/* fuzz_http_request.c -- any bytes as the request of a browser. SPDX-License-Identifier:
 * MIT
 *
 * The bytes are somewhere in memory that ends with them. The answer is decided only after
 * the empty line that ends a head, and later bytes do not change it. A request that gets
 * a page asked for one, by the name of this machine, as an independent reader by lines
 * and words sees it. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/live/live.h"
#include "fuzz_target.h"

/* A copy without readable bytes after it. */
static struct cv_http_request read_exactly(const uint8_t *data, size_t size)
{
    char *text = malloc(size > 0 ? size : 1);
    struct cv_http_request request;

    require(text != NULL);
    memcpy(text, data, size);
    request = cv_http_request_read(text, size, "");
    free(text);
    return request;
}

/* Length of the head with the empty line that ends it; 0: incomplete. */
static size_t head_length(const uint8_t *data, size_t size)
{
    size_t line = 0;

    for (size_t i = 0, lines = 0; i < size; i++) {
        if (data[i] != '\n')
            continue;
        if (lines > 0 && (i == line || (i == line + 1 && data[line] == '\r')))
            return i + 1;
        line = i + 1;
        lines++;
    }
    return 0;
}

/* Whether a line of a head is a name of a host, and whether it is one of this machine. */
static bool is_host(const char *line, bool *ours)
{
    static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
    const char *value = strchr(line, ':');
    size_t length;

    if (value == NULL || value - line != 4 || strncasecmp(line, "Host", 4) != 0)
        return false;
    value += 1 + strspn(value + 1, " \t");
    *ours = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        length = strlen(names[i]);
        if (strncasecmp(value, names[i], length) != 0)
            continue;
        if (value[length] == ':' || value[length] == '\0')
            *ours |= strspn(value + length, ":0123456789") == strlen(value + length) &&
                     strchr(value + length + (value[length] == ':'), ':') == NULL;
    }
    return true;
}

/* Every host that is named has to be this machine, and one has to be. */
static bool for_this_machine(char *head)
{
    bool ours = false, any = false;
    char *rest = NULL;

    (void)strtok_r(head, "\n", &rest);
    for (char *line; (line = strtok_r(NULL, "\n", &rest)) != NULL;) {
        if (line[0] != '\0' && line[strlen(line) - 1] == '\r')
            line[strlen(line) - 1] = '\0';
        if (!is_host(line, &ours))
            continue;
        if (!ours)
            return false;
        any = true;
    }
    return any;
}

/* Conditions for a page: a request to this machine, with these words. */
static void check_page(const uint8_t *data, size_t length, uint64_t after)
{
    char *head = malloc(length + 1);
    char expected[64];

    require(head != NULL);
    memcpy(head, data, length);
    head[length] = '\0';
    if (strlen(head) == length) {
        if (after == UINT64_MAX)
            require(strncasecmp(head, "GET / ", 6) == 0 ||
                    strncasecmp(head, "GET /= ", 7) == 0);
        else {
            require(after < UINT64_C(1000000000000000000));
            require(strncasecmp(head, "GET /next?after=", 16) == 0);
            snprintf(expected, sizeof expected, "%llu HTTP/1", (unsigned long long)after);
            require(strncmp(head + 16 + strspn(head + 16, "0"),
                            after > 0 ? expected : " ",
                            after > 0 ? strlen(expected) : 1) == 0);
        }
        require(for_this_machine(head));
    }
    free(head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct cv_http_request request = read_exactly(data, size);
    const size_t length = head_length(data, size);
    struct cv_http_request alone;

    require(request.wish <= CV_HTTP_METHOD);
    require((request.wish == CV_HTTP_MORE) == (length == 0));
    if (length == 0)
        return 0;
    alone = read_exactly(data, length);
    require(alone.wish == request.wish && alone.after == request.after);
    require(read_exactly(data, length - 1).wish == CV_HTTP_MORE);
    if (request.wish == CV_HTTP_PAGE)
        check_page(data, length, request.after);
    return 0;
}
