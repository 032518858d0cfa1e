/* quick_costs.c -- cost files that hold nothing but plain JSON, read at once.
 * SPDX-License-Identifier: MIT */
#include "io/quick_costs.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/quantity.h"
#include "io/costs_file.h"

bool cv_doubles_add(struct cv_doubles *list, double value)
{
    if (list->count == list->capacity) {
        double *grown =
            cv_grow(list->at, &list->capacity, list->count + 1, sizeof *list->at);

        if (grown == NULL)
            return false;
        list->at = grown;
    }
    list->at[list->count++] = value;
    return true;
}

void cv_costs_draft_clear(struct cv_costs_draft *draft)
{
    free(draft->transfer.at);
    free(draft->compute.at);
    *draft = (struct cv_costs_draft){ .nodes = 0 };
}

struct scan {
    const char *at, *end;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The next character behind spaces, which is not taken; 0 at the end. */
static char peek(struct scan *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\n'))
        scan->at++;
    return scan->at < scan->end ? *scan->at : '\0';
}

static bool take(struct scan *scan, char c)
{
    if (peek(scan) != c)
        return false;
    scan->at++;
    return true;
}

/* A time of 0 or more, as JSON spells numbers. Up to 15 digits and a small power of ten
 * are exact in doubles, so that one division rounds once; others go the long way. */
static bool take_time(struct scan *scan, double *out)
{
    static const double tens[] = { 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
    const char *from, *c;
    unsigned long long whole = 0;
    unsigned digits = 0, decimals = 0;
    char number[64];

    peek(scan);
    from = c = scan->at;
    for (; is_digit(*c); c++, digits++)
        whole = digits < 15 ? whole * 10 + (unsigned)(*c - '0') : whole;
    if (c == from || (*from == '0' && digits > 1))
        return false;
    if (*c == '.') {
        for (c++; is_digit(*c); c++, digits++, decimals++)
            whole = digits < 15 ? whole * 10 + (unsigned)(*c - '0') : whole;
        if (decimals == 0)
            return false;
    }
    if (digits <= 15 && *c != 'e' && *c != 'E') {
        *out = (double)whole / tens[decimals];
        scan->at = c;
        return true;
    }
    c += strspn(c, "eE+-0123456789");
    if ((size_t)(c - from) >= sizeof number)
        return false;
    memcpy(number, from, (size_t)(c - from));
    number[c - from] = '\0';
    scan->at = c;
    return cv_quantity_parse(number, CV_SECONDS, out) == NULL;
}

/* A list of at least one time; `diagonal` is the index at which 0 is kept. */
static bool take_list(struct scan *scan, struct cv_doubles *list, size_t diagonal,
                      size_t most)
{
    size_t n = 0;

    if (!take(scan, '['))
        return false;
    do {
        double time_s;

        if (n == most || !take_time(scan, &time_s) ||
            !cv_doubles_add(list, n == diagonal ? 0 : time_s))
            return false;
        n++;
    } while (take(scan, ','));
    return take(scan, ']');
}

static bool take_matrix(struct scan *scan, struct cv_costs_draft *draft)
{
    size_t rows = 0;

    if (draft->nodes != 0 || !take(scan, '['))
        return false;
    do {
        const size_t before = draft->transfer.count;

        if ((rows > 0 && rows == draft->nodes) ||
            !take_list(scan, &draft->transfer, rows, CV_COSTS_NODES))
            return false;
        if (rows++ == 0)
            draft->nodes = draft->transfer.count;
        if (draft->transfer.count - before != draft->nodes)
            return false;
    } while (take(scan, ','));
    return rows == draft->nodes && take(scan, ']');
}

static bool take_key(struct scan *scan, const char *key)
{
    const size_t length = strlen(key);

    peek(scan);
    if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, key, length) != 0)
        return false;
    scan->at += length;
    return take(scan, ':');
}

bool cv_costs_read_quickly(const char *text, size_t length, struct cv_costs_draft *draft)
{
    struct scan scan = { text, text + length };

    if (!take(&scan, '{'))
        return false;
    do {
        if (take_key(&scan, "\"transfer\"")) {
            if (!take_matrix(&scan, draft))
                return false;
        } else if (!draft->has_compute && take_key(&scan, "\"compute\"")) {
            draft->has_compute = true;
            if (!take_list(&scan, &draft->compute, CV_COSTS_NODES, CV_COSTS_NODES))
                return false;
        } else {
            return false;
        }
    } while (take(&scan, ','));
    return take(&scan, '}') && peek(&scan) == '\0' && scan.at == scan.end &&
           draft->nodes > 0 &&
           (!draft->has_compute || draft->compute.count == draft->nodes);
}
