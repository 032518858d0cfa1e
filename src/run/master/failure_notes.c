/* failure_notes.c -- a note for each failed chunk, but not a thousand equal ones.
 * SPDX-License-Identifier: MIT */
#include "run/master/failure_notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"

void cv_failure_notes_done(struct cv_failure_notes *notes)
{
    free(notes->bad);
    notes->bad = NULL;
    notes->nbad = notes->bad_room = 0;
}

enum cleave_status cv_note_bad(struct cv_failure_notes *notes, struct cv_source *source,
                               const struct cv_piece *piece, struct cleave_error *err)
{
    struct cv_bad_records bad = { .begin = piece->begin, .end = piece->end };

    if (notes->nbad == CV_BAD_KEPT)
        return CLEAVE_OK;
    if (!CV_ROOM(notes->bad, &notes->bad_room, notes->nbad + 1))
        return cv_fail_memory(err, "records that failed");
    CV_TRY(cv_source_records(source, piece, &bad.first, &bad.count, err));
    notes->bad[notes->nbad++] = bad;
    return CLEAVE_OK;
}

/* How many of the kind there have been, this one included. */
static uint64_t count_kind(struct cv_failure_notes *notes, const char *how)
{
    size_t kind = 0;

    while (kind < notes->nkinds && strcmp(notes->kinds[kind].how, how) != 0)
        kind++;
    if (kind == CV_FAILURE_KINDS) {
        kind = CV_FAILURE_KINDS - 1;
        snprintf(notes->kinds[kind].how, CV_FAILURE_TEXT, "failed in other ways");
    } else if (kind == notes->nkinds) {
        snprintf(notes->kinds[kind].how, CV_FAILURE_TEXT, "%s", how);
        notes->nkinds++;
    }
    return ++notes->kinds[kind].count;
}

/* Which part of the input it was, or which item. */
static void name_piece(const struct cleave_execution *request, struct cv_source *source,
                       const struct cv_piece *piece, char *out, size_t size)
{
    const struct cleave_items *items = &request->items;
    uint64_t first = 0, count = 0;
    struct cleave_error ignored;
    char records[80] = "", name[300] = "";

    if (items->words != NULL) {
        const uint64_t end = piece->end;
        char to[40] = "";

        if (items->describe != NULL)
            items->describe(items->context, piece->begin, end - piece->begin, name,
                            sizeof name);
        if (end - piece->begin > 1)
            snprintf(to, sizeof to, " to %llu", (unsigned long long)end);
        snprintf(out, size, "item%s %llu%s%s%s%s", to[0] != '\0' ? "s" : "",
                 (unsigned long long)piece->begin + 1, to, name[0] != '\0' ? " (" : "",
                 name, name[0] != '\0' ? ")" : "");
        return;
    }
    if (cv_source_records(source, piece, &first, &count, &ignored) == CLEAVE_OK &&
        count > 0 && first > 0)
        snprintf(records, sizeof records, " (records %llu to %llu)",
                 (unsigned long long)first, (unsigned long long)(first + count - 1));
    snprintf(out, size, "%s: bytes %llu to %llu%s", piece->name,
             (unsigned long long)piece->body.begin, (unsigned long long)piece->body.end,
             records);
}

void cv_note_failure(struct cv_failure_notes *notes,
                     const struct cleave_execution *request, struct cv_source *source,
                     const struct cv_attempt *attempt)
{
    char text[600], where[400], how[CV_FAILURE_TEXT];

    if (request->listener.note == NULL)
        return;
    cv_slot_describe_end(&attempt->slot, how, sizeof how);
    if (count_kind(notes, how) > CV_FAILURES_TOLD)
        return;
    name_piece(request, source, &attempt->slot.piece, where, sizeof where);
    snprintf(text, sizeof text, "%s: the command %s%s", where, how,
             request->failures.retries > 0 && attempt->number > 1
                 ? ", also when tried again"
                 : "");
    request->listener.note(request->listener.context, text);
}

void cv_note_failures_end(const struct cv_failure_notes *notes,
                          const struct cleave_execution *request)
{
    char text[300];

    for (size_t i = 0; i < notes->nkinds; i++) {
        const uint64_t count = notes->kinds[i].count;

        if (count <= CV_FAILURES_TOLD || request->listener.note == NULL)
            continue;
        snprintf(text, sizeof text, "%llu more %s%s failed: the command %s",
                 (unsigned long long)(count - CV_FAILURES_TOLD),
                 request->items.words != NULL ? "item" : "chunk",
                 count - CV_FAILURES_TOLD == 1 ? "" : "s", notes->kinds[i].how);
        request->listener.note(request->listener.context, text);
    }
}
