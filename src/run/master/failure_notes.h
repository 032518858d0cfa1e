/* failure_notes.h -- a note for each failed chunk, but not a thousand equal ones.
 * SPDX-License-Identifier: MIT
 *
 * Of every way to fail the first ones are told with their place in the input; the rest is
 * counted and told at the end. The job log has them all. */
#ifndef CV_FAILURE_NOTES_H
#define CV_FAILURE_NOTES_H
#include <cleave/execute.h>
#include "run/master/attempts.h"

enum {
    CV_FAILURES_TOLD = 10, /* of each kind             */
    CV_FAILURE_KINDS = 8,  /* the last is for the rest */
    CV_FAILURE_TEXT = 160,
    CV_BAD_KEPT = 10000,
};

/* All zero at first. */
struct cv_failure_notes {
    struct {
        char how[CV_FAILURE_TEXT]; /* behind "the command" */
        uint64_t count;
    } kinds[CV_FAILURE_KINDS];
    size_t nkinds;
    /* What failed when it could not be parted any more; the first ones. */
    struct cv_bad_records {
        uint64_t begin, end, first, count; /* addresses; records of the file, from 1   */
    } * bad;                               /* owned */
    size_t nbad, bad_room;
};

void cv_failure_notes_done(struct cv_failure_notes *notes);
/* Remember the records of a piece that is given up. */
enum cleave_status cv_note_bad(struct cv_failure_notes *notes, struct cv_source *source,
                               const struct cv_piece *piece, struct cleave_error *err);

/* A chunk is given up. */
void cv_note_failure(struct cv_failure_notes *notes,
                     const struct cleave_execution *request, struct cv_source *source,
                     const struct cv_attempt *attempt);
/* The run is over: tell what was only counted. */
void cv_note_failures_end(const struct cv_failure_notes *notes,
                          const struct cleave_execution *request);

#endif
