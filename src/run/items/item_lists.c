/* item_lists.c -- the items of a run: lists of values, and what rows they make.
 * SPDX-License-Identifier: MIT */
#include "run/items/item_lists.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"

/* More rows than any machine will run; sums of them stay exact in a double. */
static const uint64_t MOST_ROWS = UINT64_C(1) << 53;

void cv_item_lists_done(struct cv_item_lists *lists)
{
    for (size_t i = 0; i < lists->count; i++) {
        free(lists->items[i].bytes);
        free(lists->items[i].starts);
        cv_item_window_done(&lists->items[i].window);
    }
    free(lists->items);
    *lists = (struct cv_item_lists){ .items = NULL };
}

enum cleave_status cv_item_lists_begin(struct cv_item_lists *lists, bool linked,
                                       struct cleave_error *err)
{
    if (!CV_ROOM(lists->items, &lists->room, lists->count + 1))
        return cv_fail_memory(err, "the items");
    lists->items[lists->count++] = (struct cv_item_list){ .linked = linked };
    return CLEAVE_OK;
}

enum cleave_status cv_item_lists_begin_stream(struct cv_item_lists *lists,
                                              struct cleave_error *err)
{
    CV_TRY(cv_item_lists_begin(lists, false, err));
    lists->items[lists->count - 1].comes = true;
    return CLEAVE_OK;
}

enum cleave_status cv_item_lists_add_from(struct cv_item_lists *lists, const char *name,
                                          const char *bytes, size_t length,
                                          struct cleave_error *err)
{
    const struct cv_place place = { name, 0, 0, NULL };

    if (length > 0 && memchr(bytes, '\0', length) != NULL)
        return cv_fail_at(err, &place,
                          "expected items without NUL bytes, which no command can be "
                          "given; if they end in NUL: --null");
    return cv_item_lists_add(lists, bytes, length, err);
}

enum cleave_status cv_item_lists_add(struct cv_item_lists *lists, const char *bytes,
                                     size_t length, struct cleave_error *err)
{
    struct cv_item_list *list = &lists->items[lists->count - 1];

    if (list->comes) {
        CV_TRY(cv_item_window_add(&list->window, bytes, length, err));
        list->count = list->window.count;
        return CLEAVE_OK;
    }
    if (!CV_ROOM(list->bytes, &list->room, list->length + length + 1) ||
        !CV_ROOM(list->starts, &list->starts_room, list->count + 1))
        return cv_fail_memory(err, "the items");
    list->starts[list->count++] = list->length;
    if (length > 0)
        memcpy(list->bytes + list->length, bytes, length);
    list->bytes[list->length + length] = '\0';
    list->length += length + 1;
    return CLEAVE_OK;
}

static size_t count_of(const struct cv_item_list *list)
{
    return list->count > list->first ? list->count - list->first : 0;
}

/* The lists from `begin` on that are linked: how many, and how many rows they make. */
static size_t group_of(const struct cv_item_lists *lists, size_t begin, uint64_t *rows)
{
    size_t end = begin;
    bool empty = false;

    *rows = count_of(&lists->items[begin]);
    for (;
         end < lists->count && (end == begin || lists->link || lists->items[end].linked);
         end++) {
        const size_t count = count_of(&lists->items[end]);

        empty = empty || count == 0;
        if (lists->link ? count > *rows : count < *rows)
            *rows = count;
    }
    if (empty)
        *rows = 0;
    return end - begin;
}

enum cleave_status cv_item_lists_close(struct cv_item_lists *lists,
                                       struct cleave_error *err)
{
    uint64_t rows = 0;

    lists->rows = lists->count > 0;
    for (size_t at = 0; at < lists->count;) {
        at += group_of(lists, at, &rows);
        if (rows > 0 && lists->rows > MOST_ROWS / rows)
            return cv_fail(err, CLEAVE_EINPUT,
                           "expected at most 2^53 items, got lists that make more");
        lists->rows *= rows;
    }
    return CLEAVE_OK;
}

/* Value `index` of a list. */
static const char *value_at(const struct cv_item_list *list, size_t index)
{
    return list->comes ? cv_item_window_at(&list->window, index)
                       : list->bytes + list->starts[index];
}

void cv_item_lists_over(struct cv_item_lists *lists, uint64_t row)
{
    struct cv_item_list *list = &lists->items[lists->count - 1];

    cv_item_window_over(&list->window, list->first + (size_t)row);
}

void cv_item_lists_row(const struct cv_item_lists *lists, uint64_t row, const char **out)
{
    uint64_t below = lists->rows, rows;

    for (size_t at = 0, next; at < lists->count; at = next) {
        uint64_t index;

        next = at + group_of(lists, at, &rows);
        if (rows == 0 || below < rows)
            return; /* then there is no row */
        below /= rows;
        index = row / below;
        row %= below;
        for (size_t i = at; i < next; i++) {
            const struct cv_item_list *list = &lists->items[i];
            const size_t count = count_of(list);

            if (count > 0)
                out[i] = value_at(list, list->first + (size_t)(index % count));
        }
    }
}
