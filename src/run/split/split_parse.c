/* split_parse.c -- splitters by name. SPDX-License-Identifier: MIT */
#include "run/split/split.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/text.h"
#include "run/split/split_kind.h"

static const struct cv_split_kind *const kinds[] = {
#define X(name) &cv_split_##name,
    CV_SPLIT_MAP(X)
#undef X
};

size_t cv_splitter_kinds(void)
{
    return sizeof kinds / sizeof kinds[0];
}

const char *cv_splitter_name(size_t index)
{
    return kinds[index]->name;
}

const char *cv_splitter_needs(size_t index)
{
    return kinds[index]->optional ? NULL : kinds[index]->takes;
}

const char *cv_splitter_text(const struct cv_splitter *splitter)
{
    return splitter->text;
}

bool cv_splitter_pairs(const struct cv_splitter *splitter)
{
    return splitter->kind->pairs;
}

bool cv_splitter_frames(const struct cv_splitter *splitter)
{
    return splitter->kind->frames;
}

bool cv_splitter_has_tail(const struct cv_splitter *splitter)
{
    return splitter->kind->tail != NULL;
}

void cv_splitter_free(struct cv_splitter *splitter)
{
    if (splitter == NULL)
        return;
    cv_split_regex_free(splitter);
    cv_split_group_free(splitter);
    free(splitter->head_prefix);
    free(splitter->text);
    free(splitter);
}

static const char *kind_name(const void *context, size_t index)
{
    (void)context;
    return cv_splitter_name(index);
}

/* What others call kinds of records that need no splitter of their own; NULL: nothing known. */
static const char *find_other_name(const char *name)
{
    static const char *const others[][2] = {
        { "tsv", "lines, or csv:tab where quotes hold ends of lines" },
        { "tab", "lines, or csv:tab where quotes hold ends of lines" },
        { "ndjson", "jsonl" },
        { "text", "lines" },
        { "txt", "lines" },
        { "sam", "lines with --header '@'" },
        { "vcf", "lines with --header '#'" },
    };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i][0]) == 0)
            return others[i][1];
    return NULL;
}

/* The kind whose name is the first `length` bytes of `text`. */
static enum cleave_status find_kind(const char *text, size_t length,
                                    const struct cv_split_kind **out,
                                    struct cleave_error *err)
{
    char shown[64], near[128];

    for (size_t i = 0; i < cv_splitter_kinds(); i++) {
        const char *name = kinds[i]->name;

        if (strlen(name) == length && memcmp(name, text, length) == 0) {
            *out = kinds[i];
            return CLEAVE_OK;
        }
    }
    cv_shown(text, length, shown, sizeof shown);
    if (find_other_name(shown) != NULL)
        return cv_fail(err, CLEAVE_EINPUT, "unknown splitter '%s': its records are %s",
                       shown, find_other_name(shown));
    cv_suggest(shown, cv_splitter_kinds(), kind_name, NULL, near, sizeof near);
    return cv_fail(err, CLEAVE_EINPUT, "unknown splitter '%s'%s", shown, near);
}

/* Whether something follows the name as it should. */
static enum cleave_status check_argument(const struct cv_split_kind *kind,
                                         const char *colon, struct cleave_error *err)
{
    char shown[64];

    if (kind->takes == NULL && colon != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected '%s' with nothing after its name, got '%s%s'",
                       kind->name, kind->name,
                       cv_shown(colon, strlen(colon), shown, sizeof shown));
    if (kind->takes != NULL && !kind->optional && (colon == NULL || colon[1] == '\0'))
        return cv_fail(err, CLEAVE_EINPUT, "expected '%s:%s', got '%s%s'", kind->name,
                       kind->takes, kind->name, colon == NULL ? "" : colon);
    return CLEAVE_OK;
}

enum cleave_status cv_splitter_parse(const char *text, struct cv_splitter **out,
                                     struct cleave_error *err)
{
    const char *colon = strchr(text, ':');
    const struct cv_split_kind *kind = NULL;
    struct cv_splitter *splitter;
    enum cleave_status status = CLEAVE_OK;

    CV_TRY(find_kind(text, colon != NULL ? (size_t)(colon - text) : strlen(text), &kind,
                     err));
    CV_TRY(check_argument(kind, colon, err));
    splitter = calloc(1, sizeof *splitter);
    if (splitter == NULL)
        return cv_fail_memory(err, "a splitter");
    splitter->kind = kind;
    splitter->byte = '\n';
    splitter->text = strdup(text);
    if (splitter->text == NULL)
        status = cv_fail_memory(err, "a splitter");
    else if (kind->parse != NULL)
        status = kind->parse(splitter, colon != NULL ? colon + 1 : "", err);
    if (status != CLEAVE_OK) {
        cv_splitter_free(splitter);
        return status;
    }
    *out = splitter;
    return CLEAVE_OK;
}
