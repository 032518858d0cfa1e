/* split_head.c -- what stands before all records and is given with each chunk.
 * SPDX-License-Identifier: MIT
 *
 * A header is a number of records, one unless told, or all lines at the start that begin
 * with some text, as the # of VCF or the @ of SAM. Such lines are no records: quotes in a
 * comment do not count. */
#include "run/split/split_kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/text.h"

enum { MOST_RECORDS = 1000000 };

/* Let the text of the splitter, which journals compare, say what else is asked of it. */
enum cleave_status cv_splitter_say(struct cv_splitter *splitter, const char *option,
                                   const char *argument, struct cleave_error *err)
{
    char *longer = NULL;

    if (asprintf(&longer, "%s %s %s", splitter->text, option, argument) < 0)
        return cv_fail_memory(err, "a splitter");
    free(splitter->text);
    splitter->text = longer;
    return CLEAVE_OK;
}

enum cleave_status cv_splitter_set_header(struct cv_splitter *splitter, const char *how,
                                          struct cleave_error *err)
{
    char shown[64], *end;
    unsigned long count;

    if (splitter->kind->frames)
        return cv_fail(err, CLEAVE_EINPUT,
                       "--header: expected records with a header, but %s "
                       "has none",
                       splitter->kind->name);
    splitter->headed = true;
    if (how == NULL || how[0] == '\0' || strcmp(how, ":") == 0 || strcmp(how, "1") == 0)
        return CLEAVE_OK;
    if (how[0] >= '0' && how[0] <= '9') {
        count = strtoul(how, &end, 10);
        if (*end != '\0' || count < 1 || count > MOST_RECORDS)
            return cv_fail(err, CLEAVE_EINPUT,
                           "--header: expected a number of records from 1 to %d, or how "
                           "its lines begin, as '#', got '%s'",
                           MOST_RECORDS, cv_shown(how, strlen(how), shown, sizeof shown));
        splitter->head_records = count;
    } else if (strchr(how, '\n') != NULL || splitter->record_bytes > 0) {
        return cv_fail(
            err, CLEAVE_EINPUT,
            "--header: expected lines that begin with '%s', but %s has no such "
            "lines",
            cv_shown(how, strlen(how), shown, sizeof shown), splitter->kind->name);
    } else {
        splitter->head_prefix = strdup(how);
        if (splitter->head_prefix == NULL)
            return cv_fail_memory(err, "a header");
    }
    return cv_splitter_say(splitter, "--header", how, err);
}

bool cv_splitter_leads(const struct cv_splitter *splitter)
{
    return splitter->head_prefix != NULL || (splitter->headed && splitter->group != NULL);
}

/* The lines at the start that begin as they should. */
static bool find_lines(const struct cv_splitter *splitter, const char *bytes,
                       size_t length, bool ends, size_t *out)
{
    const size_t prefix = strlen(splitter->head_prefix);
    const char end = splitter->kind->ends_in_byte ? splitter->byte : '\n';
    size_t line = 0;

    for (;;) {
        const size_t mark =
            line == 0 && length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        const char *newline;

        *out = line;
        if (length - line < mark + prefix ||
            memcmp(bytes + line + mark, splitter->head_prefix, prefix) != 0)
            return ends || length - line >= 3 + prefix ||
                   (line > 0 && length - line >= prefix);
        newline = memchr(bytes + line, end, length - line);
        if (newline == NULL) {
            *out = length;
            return ends;
        }
        line = (size_t)(newline - bytes) + 1;
    }
}

static bool find_starts(const struct cv_splitter *splitter, const struct cv_view *view,
                        uint64_t records, size_t *out)
{
    size_t at = 0;

    if (!splitter->kind->next(splitter, view, 0, &at))
        return false;
    for (; records > 0; records--)
        if (!splitter->kind->next(splitter, view, at + 1, &at))
            return false;
    *out = at;
    return at <= view->length;
}

enum cleave_status cv_splitter_head(const struct cv_splitter *splitter, const char *bytes,
                                    size_t length, bool ends, bool *found, size_t *out,
                                    struct cleave_error *err)
{
    const uint64_t records = splitter->head_records > 0 ? splitter->head_records : 1;
    const struct cv_view view = { bytes, length, 0, ends };
    struct cv_walk walk;

    *found = false;
    if (splitter->kind->frames) {
        *found = splitter->kind->head(splitter, bytes, length, out) || ends;
        return CLEAVE_OK;
    }
    if (splitter->head_prefix != NULL) {
        *found = find_lines(splitter, bytes, length, ends, out);
    } else if (splitter->record_bytes > 0) {
        *found = length / splitter->record_bytes >= records;
        *out = (size_t)(records * splitter->record_bytes);
    } else if (splitter->kind->walk == NULL) {
        *found = find_starts(splitter, &view, records, out);
    } else {
        cv_walk_init(&walk, 0);
        do {
            const size_t done = walk.at < length ? (size_t)walk.at : length;

            walk.until = walk.boundary + 1;
            CV_TRY(
                splitter->kind->walk(splitter, &walk, bytes + done, length - done, err));
        } while (walk.found < records && walk.boundary >= walk.until && walk.at < length);
        *found = walk.found >= records;
        *out = (size_t)walk.boundary;
    }
    if (!*found && ends) {
        *found = true;
        *out = length;
    }
    return CLEAVE_OK;
}
