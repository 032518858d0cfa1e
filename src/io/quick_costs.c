/* quick_costs.c -- cost files that hold nothing but plain JSON, read at once.
 * SPDX-License-Identifier: MIT */
#include "io/quick_costs.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "io/costs_file.h"
#include "io/json_in.h"

bool cv_doubles_add(struct cv_doubles *list, double value)
{
    if (!CV_ROOM(list->at, &list->capacity, list->count + 1))
        return false;
    list->at[list->count++] = value;
    return true;
}

void cv_costs_draft_clear(struct cv_costs_draft *draft)
{
    free(draft->transfer.at);
    free(draft->compute.at);
    *draft = (struct cv_costs_draft){ .nodes = 0 };
}

/* --- what follows takes the text apart; errors need no words ---------------------------- */

/* A list of at least one time; `diagonal` is the index at which 0 is kept. */
static bool take_list(struct cv_json_in *in, struct cv_doubles *list, size_t diagonal)
{
    bool first = true, more;
    size_t n = 0;

    if (cv_json_in_open(in, '[', NULL) != CLEAVE_OK)
        return false;
    for (;; n++) {
        double time_s;

        if (cv_json_in_more(in, ']', &first, &more, NULL) != CLEAVE_OK)
            return false;
        if (!more)
            return n > 0;
        if (n == CV_COSTS_NODES || cv_json_in_peek(in) == '-' ||
            cv_json_in_number(in, &time_s, NULL) != CLEAVE_OK ||
            !cv_doubles_add(list, n == diagonal ? 0 : time_s))
            return false;
    }
}

static bool take_matrix(struct cv_json_in *in, struct cv_costs_draft *draft)
{
    bool first = true, more;
    size_t rows = 0;

    if (draft->nodes != 0 || cv_json_in_open(in, '[', NULL) != CLEAVE_OK)
        return false;
    for (;; rows++) {
        const size_t before = draft->transfer.count;

        if (cv_json_in_more(in, ']', &first, &more, NULL) != CLEAVE_OK)
            return false;
        if (!more)
            return rows > 0 && rows == draft->nodes;
        if ((rows > 0 && rows == draft->nodes) || !take_list(in, &draft->transfer, rows))
            return false;
        if (rows == 0)
            draft->nodes = draft->transfer.count;
        if (draft->transfer.count - before != draft->nodes)
            return false;
    }
}

static bool take_fields(struct cv_json_in *in, struct cv_costs_draft *draft)
{
    bool first = true, more;
    const char *key;

    if (cv_json_in_open(in, '{', NULL) != CLEAVE_OK)
        return false;
    for (;;) {
        if (cv_json_in_more(in, '}', &first, &more, NULL) != CLEAVE_OK)
            return false;
        if (!more)
            return cv_json_in_end(in, NULL) == CLEAVE_OK && draft->nodes > 0 &&
                   (!draft->has_compute || draft->compute.count == draft->nodes);
        if (cv_json_in_key(in, &key, NULL) != CLEAVE_OK)
            return false;
        if (strcmp(key, "transfer") == 0) {
            if (!take_matrix(in, draft))
                return false;
        } else if (strcmp(key, "compute") == 0 && !draft->has_compute) {
            draft->has_compute = true;
            if (!take_list(in, &draft->compute, CV_COSTS_NODES))
                return false;
        } else {
            return false;
        }
    }
}

bool cv_costs_read_quickly(const char *text, size_t length, struct cv_costs_draft *draft)
{
    struct cv_json_in in;
    bool understood;

    /* These are spaces in JSON, but YAML has opinions on them. */
    if (memchr(text, '\t', length) != NULL || memchr(text, '\r', length) != NULL)
        return false;
    cv_json_in_init(&in, NULL);
    cv_json_in_whole(&in, text, length);
    understood = take_fields(&in, draft);
    cv_json_in_done(&in);
    return understood;
}
