/* cut_window.c -- cut a stream at record boundaries. SPDX-License-Identifier: MIT */
#include "run/input/cut_window.h"

#include "base/fail.h"

void cv_cut_window_init(struct cv_cut_window *window, const struct cv_splitter *splitter)
{
    *window = (struct cv_cut_window){ .splitter = splitter, .torn = UINT64_MAX };
    cv_walk_init(&window->walk, 0);
}

/* The first byte of the window that belongs to a record. */
static uint64_t first_byte(const struct cv_cut_window *window)
{
    return window->offset > window->lead ? window->offset : window->lead;
}

void cv_cut_window_lead(struct cv_cut_window *window, uint64_t lead)
{
    window->lead = lead;
    if (window->offset < lead) {
        window->clear = (size_t)(lead - window->offset);
        cv_walk_again(&window->walk, lead);
    }
}

void cv_cut_window_again(struct cv_cut_window *window, const struct cv_cut_window *first,
                         uint64_t offset)
{
    cv_cut_window_init(window, first->splitter);
    window->walk.form = first->walk.form;
    cv_cut_window_take(window, (size_t)offset);
    cv_cut_window_lead(window, first->lead);
}

static void move(struct cv_cut_window *window, size_t cut)
{
    window->offset += cut;
    window->started = true;
    window->clear = 1;
    /* A walk that is further has found no boundary there, and continues. */
    if (window->walk.boundary != window->offset)
        cv_walk_again(&window->walk, window->offset);
}

/* Begin again at the start of the window. */
static void look_again(struct cv_cut_window *window)
{
    window->offset = window->group.start;
    window->started = window->offset > 0;
    window->clear = window->started ? 1 : (size_t)window->lead;
    cv_walk_again(&window->walk, first_byte(window));
    window->group.best = window->group.start;
    window->group.state = (struct cv_group_state){ 0 };
}

void cv_cut_window_take(struct cv_cut_window *window, size_t cut)
{
    if (cut == 0)
        return;
    if (window->splitter->group == NULL) {
        move(window, cut);
        return;
    }
    window->group.start += cut;
    if (window->offset < window->group.start || window->group.best < window->group.start)
        look_again(window);
}

/* Bytes before the first record start of the stream belong to the first record. */
static bool start(struct cv_cut_window *window, const struct cv_view *view)
{
    if (window->started)
        return true;
    window->started = window->splitter->kind->next(window->splitter, view, window->clear,
                                                   &window->clear);
    window->clear += window->started;
    return window->started;
}

/* For a local splitter; 0: no boundary is known. */
static size_t find_local(struct cv_cut_window *window, const struct cv_view *view,
                         size_t wanted)
{
    const struct cv_splitter *splitter = window->splitter;
    const size_t limit = wanted < view->length ? wanted : view->length;
    size_t at;

    if (!start(window, view))
        return 0;
    if (limit >= window->clear) {
        if (splitter->kind->last(splitter, view, window->clear, limit, &at))
            return at;
        window->clear = at;
    }
    if (splitter->kind->next(splitter, view, window->clear, &at))
        return at;
    window->clear = at;
    return 0;
}

static enum cleave_status walk_to(struct cv_cut_window *window, const char *bytes,
                                  size_t end, struct cleave_error *err)
{
    const size_t done = (size_t)(window->walk.at - window->offset);

    if (done >= end || window->walk.boundary >= window->walk.until)
        return CLEAVE_OK;
    return window->splitter->kind->walk(window->splitter, &window->walk, bytes + done,
                                        end - done, err);
}

static enum cleave_status find_walking(struct cv_cut_window *window, const char *bytes,
                                       size_t length, bool ended, size_t wanted,
                                       size_t *out, struct cleave_error *err)
{
    const size_t ahead = window->splitter->kind->ahead + window->splitter->prefix_length;
    struct cv_walk *walk = &window->walk;

    /* A walk that went too far for this cut begins again. */
    if (walk->boundary > first_byte(window) && walk->boundary - window->offset > wanted)
        cv_walk_again(walk, first_byte(window));
    walk->until = UINT64_MAX;
    CV_TRY(walk_to(window, bytes,
                   length > ahead && wanted < length - ahead ? wanted + ahead : length,
                   err));
    walk->until = window->offset + 1;
    CV_TRY(walk_to(window, bytes, length, err));
    *out = (size_t)(walk->boundary - window->offset);
    if (ended && walk->at >= window->offset + length) {
        if (walk->at > window->offset + length || !window->splitter->kind->whole(walk))
            window->torn = walk->boundary;
        if (*out == 0 || wanted >= length)
            *out = length;
    }
    return CLEAVE_OK;
}

static enum cleave_status find_record(struct cv_cut_window *window, const char *bytes,
                                      size_t length, bool ended, size_t wanted,
                                      size_t *out, struct cleave_error *err)
{
    const struct cv_view view = { bytes, length, window->offset, ended };
    size_t cut;

    if (length == 0) {
        *out = 0;
        return CLEAVE_OK;
    }
    if (window->splitter->kind->walk != NULL)
        return find_walking(window, bytes, length, ended, wanted, out, err);
    if (ended && wanted >= length) {
        *out = length;
        return CLEAVE_OK;
    }
    cut = find_local(window, &view, wanted);
    *out = cut == 0 && ended ? length : cut;
    return CLEAVE_OK;
}

/* A boundary between groups: look at each record. */
static enum cleave_status find_group(struct cv_cut_window *window, const char *bytes,
                                     size_t length, bool ended, size_t wanted,
                                     size_t *out, struct cleave_error *err)
{
    const uint64_t start = window->group.start;

    if (window->group.best - start > wanted && window->group.best > start)
        look_again(window);
    for (;;) {
        const struct cv_group_state before = window->group.state;
        const uint64_t lead = first_byte(window);
        size_t record = 0, at;
        bool first;

        if (lead > window->offset && lead - start < length)
            move(window, (size_t)(lead - window->offset));
        at = (size_t)(window->offset - start);
        first = window->offset <= start || window->offset <= window->lead;
        if (at < length)
            CV_TRY(find_record(window, bytes + at, length - at, ended, 1, &record, err));
        if (record == 0)
            break;
        if (cv_group_add(window->splitter, &window->group.state, bytes + at, record) &&
            !first) {
            const bool far = at > wanted;

            if (!far || window->group.best == start)
                window->group.best = window->offset;
            if (far) { /* this record is looked at again when more is wanted */
                window->group.state = before;
                break;
            }
        }
        move(window, record);
    }
    *out = (size_t)(window->group.best - start);
    if (ended && window->offset - start == length && (*out == 0 || wanted >= length))
        *out = length;
    return CLEAVE_OK;
}

enum cleave_status cv_cut_window_find(struct cv_cut_window *window, const char *bytes,
                                      size_t length, bool ended, size_t wanted,
                                      size_t *out, struct cleave_error *err)
{
    return window->splitter->group != NULL
               ? find_group(window, bytes, length, ended, wanted, out, err)
               : find_record(window, bytes, length, ended, wanted, out, err);
}
