/* trace_log.c -- a trace in memory: entries in the order they came, and facts.
 * SPDX-License-Identifier: MIT */
#include <cleave/trace.h>

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/argument.h"
#include "base/fail.h"

struct cleave_trace {
    struct cleave_entry *entries; /* owned */
    size_t count, capacity;
    struct cleave_trace_facts facts; /* owned by the arena */
    struct cv_arena arena;
};

enum cleave_status cleave_trace_new(struct cleave_trace **out, struct cleave_error *err)
{
    struct cleave_trace *trace = calloc(1, sizeof *trace);

    if (trace == NULL)
        return cv_fail_memory(err, "a trace");
    cv_arena_init(&trace->arena);
    *out = trace;
    return CLEAVE_OK;
}

void cleave_trace_free(struct cleave_trace *trace)
{
    if (trace == NULL)
        return;
    free(trace->entries);
    cv_arena_done(&trace->arena);
    free(trace);
}

void cleave_trace_clear(struct cleave_trace *trace)
{
    trace->count = 0;
}

size_t cleave_trace_count(const struct cleave_trace *trace)
{
    return trace->count;
}

const struct cleave_entry *cleave_trace_at(const struct cleave_trace *trace, size_t index)
{
    return &trace->entries[index];
}

enum cleave_status cleave_trace_add(struct cleave_trace *trace,
                                    const struct cleave_entry *entry,
                                    struct cleave_error *err)
{
    CV_EXPECT_POINTER(trace, err, "trace");
    CV_EXPECT_POINTER(entry, err, "entry");
    if (!CV_ROOM(trace->entries, &trace->capacity, trace->count + 1))
        return cv_fail_memory(err, "a trace");
    trace->entries[trace->count++] = *entry;
    return CLEAVE_OK;
}

/* A copy of `text` in place of *kept, unless it is NULL. */
static enum cleave_status keep(struct cleave_trace *trace, const char *text,
                               const char **kept, struct cleave_error *err)
{
    const char *copy = text != NULL ? cv_arena_text(&trace->arena, text) : NULL;

    if (text != NULL && copy == NULL)
        return cv_fail_memory(err, "the facts of a trace");
    if (copy != NULL)
        *kept = copy;
    return CLEAVE_OK;
}

static enum cleave_status keep_left_out(struct cleave_trace *trace,
                                        const struct cleave_trace_facts *facts,
                                        struct cleave_error *err)
{
    struct cleave_left_out *copy =
        cv_array(&trace->arena, facts->nleft_out, sizeof *copy);

    if (copy == NULL)
        return cv_fail_memory(err, "the facts of a trace");
    for (size_t i = 0; i < facts->nleft_out; i++) {
        copy[i].worker = facts->left_out[i].worker;
        CV_TRY(keep(trace, facts->left_out[i].reason, &copy[i].reason, err));
    }
    trace->facts.left_out = copy;
    trace->facts.nleft_out = facts->nleft_out;
    return CLEAVE_OK;
}

/* A copy of `count` things, or NULL when memory is short; NULL for none. */
static void *copy_of(struct cleave_trace *trace, const void *things, size_t count,
                     size_t size)
{
    void *copy = cv_array(&trace->arena, count, size);

    if (copy != NULL && count > 0)
        memcpy(copy, things, count * size);
    return copy;
}

static enum cleave_status keep_failures(struct cleave_trace *trace,
                                        const struct cleave_trace_facts *facts,
                                        struct cleave_error *err)
{
    const struct cleave_trace_failure *failures = facts->failures;
    struct cleave_trace_failure *copy =
        copy_of(trace, failures, facts->nfailures, sizeof *copy);

    if (copy == NULL)
        return cv_fail_memory(err, "the facts of a trace");
    for (size_t i = 0; i < facts->nfailures; i++) {
        CV_TRY(keep(trace, failures[i].what, &copy[i].what, err));
        CV_TRY(keep(trace, failures[i].how, &copy[i].how, err));
        CV_TRY(keep(trace, failures[i].errors, &copy[i].errors, err));
    }
    trace->facts.failures = copy;
    trace->facts.nfailures = facts->nfailures;
    return CLEAVE_OK;
}

/* *out, a pointer, becomes a copy of an array unless that is NULL. False: memory is short. */
static bool copy_to(struct cleave_trace *trace, const void *things, uint64_t count,
                    size_t size, void *out)
{
    void *copy = NULL;

    if (things != NULL)
        copy = copy_of(trace, things, (size_t)count, size);
    memcpy(out, &copy, sizeof copy);
    return things == NULL || copy != NULL;
}

static bool copy_profiles(struct cleave_trace *trace,
                          const struct cleave_profile *profiles, uint32_t n,
                          const struct cleave_profile **out)
{
    struct cleave_profile *copy;

    if (!copy_to(trace, profiles, n, sizeof *profiles, &copy))
        return false;
    *out = copy;
    for (uint32_t w = 0; copy != NULL && w < n; w++)
        if (profiles[w].nsteps > 0 &&
            !copy_to(trace, profiles[w].steps, profiles[w].nsteps,
                     sizeof *profiles[w].steps, &copy[w].steps))
            return false;
    return true;
}

static enum cleave_status keep_told(struct cleave_trace *trace,
                                    const struct cleave_policy_input *told,
                                    struct cleave_error *err)
{
    struct cleave_policy_input *kept = copy_of(trace, told, 1, sizeof *kept);
    struct cleave_setting *settings =
        copy_of(trace, told->settings, told->nsettings, sizeof *settings);
    const struct cleave_view *view = &told->view;
    const uint32_t n = view->nworkers;

    if (kept == NULL || settings == NULL)
        return cv_fail_memory(err, "the facts of a trace");
    for (size_t i = 0; i < told->nsettings; i++) {
        CV_TRY(keep(trace, told->settings[i].key, &settings[i].key, err));
        CV_TRY(keep(trace, told->settings[i].value, &settings[i].value, err));
    }
    kept->settings = settings;
    CV_TRY(keep(trace, told->reads, &kept->reads, err));
    if (!copy_to(trace, view->workers, n, sizeof *view->workers, &kept->view.workers) ||
        !copy_to(trace, view->compute_each_s, n, sizeof(double),
                 &kept->view.compute_each_s) ||
        !copy_to(trace, view->sizes, view->nitems, sizeof(double), &kept->view.sizes) ||
        !copy_to(trace, view->ready_s, n, sizeof(double), &kept->view.ready_s) ||
        !copy_to(trace, view->memory, n, sizeof(double), &kept->view.memory) ||
        !copy_to(trace, view->groups, n, sizeof(uint32_t), &kept->view.groups) ||
        !copy_profiles(trace, view->profiles, n, &kept->view.profiles))
        return cv_fail_memory(err, "the facts of a trace");
    trace->facts.told = kept;
    return CLEAVE_OK;
}

enum cleave_status cleave_trace_describe(struct cleave_trace *trace,
                                         const struct cleave_trace_facts *facts,
                                         struct cleave_error *err)
{
    struct cleave_trace_facts *kept = &trace->facts;
    const struct {
        const char *text, **kept;
    } texts[] = {
        { facts->command, &kept->command }, { facts->engine, &kept->engine },
        { facts->noise, &kept->noise },     { facts->picked, &kept->picked },
        { facts->why, &kept->why },         { facts->version, &kept->version },
        { facts->policy, &kept->policy },   { facts->bound.name, &kept->bound.name },
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CV_TRY(keep(trace, texts[i].text, texts[i].kept, err));
    if (facts->told != NULL)
        CV_TRY(keep_told(trace, facts->told, err));
    if (facts->lifespan_s > 0)
        kept->lifespan_s = facts->lifespan_s;
    if (facts->failed > 0)
        kept->failed = facts->failed;
    if (facts->left > 0)
        kept->left = facts->left;
    if (facts->bound.name != NULL)
        kept->bound.value_s = facts->bound.value_s;
    if (facts->nfailures > 0)
        CV_TRY(keep_failures(trace, facts, err));
    if (facts->nstarts > 0) {
        if (!copy_to(trace, facts->starts_s, facts->nstarts, sizeof(double),
                     &kept->starts_s))
            return cv_fail_memory(err, "the facts of a trace");
        kept->nstarts = facts->nstarts;
    }
    return facts->nleft_out > 0 ? keep_left_out(trace, facts, err) : CLEAVE_OK;
}

const struct cleave_trace_facts *cleave_trace_facts(const struct cleave_trace *trace)
{
    return &trace->facts;
}
