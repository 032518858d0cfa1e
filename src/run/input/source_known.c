/* source_known.c -- what an earlier run has finished. SPDX-License-Identifier: MIT */
#include "run/input/source.h"

#include "base/arena.h"
#include "base/fail.h"
#include "run/input/source_internal.h"

enum cleave_status cv_source_know(struct cv_source *source, size_t file, uint64_t begin,
                                  uint64_t end, uint64_t tag, struct cleave_error *err)
{
    const size_t nfiles = source->stream != NULL ? 1 : source->nfiles;
    const struct cv_source_known *last =
        source->nknown > 0 ? &source->known[source->nknown - 1] : NULL;

    if (file >= nfiles || begin >= end ||
        (last != NULL &&
         (file < last->file || (file == last->file && begin < last->end))))
        return cv_fail(err, CLEAVE_EENGINE,
                       "expected finished ranges of the %zu inputs in order, got one of "
                       "input %zu that is not",
                       nfiles, file + 1);
    if (!CV_ROOM(source->known, &source->known_capacity, source->nknown + 1))
        return cv_fail_memory(err, "a list of finished ranges");
    source->known[source->nknown++] =
        (struct cv_source_known){ .file = file, .begin = begin, .end = end, .tag = tag };
    return CLEAVE_OK;
}

static enum cleave_status is_boundary(struct cv_source *source, size_t index,
                                      uint64_t offset, bool *out,
                                      struct cleave_error *err)
{
    uint64_t cut = offset;

    if (offset > 0 && offset < source->files[index].size)
        CV_TRY(cv_source_cut(source, index, offset - 1, source->files[index].size, offset,
                             &cut, err));
    *out = cut == offset && offset <= source->files[index].size;
    return CLEAVE_OK;
}

/* Whether a known range of a regular file is whole records. If so, take it. */
static enum cleave_status judge_file(struct cv_source *source,
                                     const struct cv_source_known *known, bool *out,
                                     struct cv_piece *piece, struct cleave_error *err)
{
    bool begins, ends;

    CV_TRY(cv_source_use(source, known->file, err));
    CV_TRY(is_boundary(source, known->file, known->begin, &begins, err));
    CV_TRY(is_boundary(source, known->file, known->end, &ends, err));
    *out = begins && ends;
    if (!*out)
        return CLEAVE_OK;
    CV_TRY(cv_source_make(source, known->file,
                          (struct cv_range){ known->begin, known->end }, piece, err));
    CV_TRY(cv_range_set_remove(&source->pending, piece->begin, piece->end, err));
    cv_source_at_work(source, piece, true);
    return CLEAVE_OK;
}

enum cleave_status cv_source_known(struct cv_source *source, enum cv_known *state,
                                   struct cv_piece *piece, uint64_t *tag,
                                   struct cleave_error *err)
{
    const struct cv_source_known *known;
    struct cv_piece found = { .fd = -1, .mate_fd = -1 };
    bool whole;

    if (source->next_known == source->nknown) {
        *state = CV_KNOWN_END;
        return CLEAVE_OK;
    }
    known = &source->known[source->next_known];
    if (source->stream != NULL && !known->judged) {
        *state = CV_KNOWN_WAIT;
        return CLEAVE_OK;
    }
    whole = !known->broken;
    if (source->stream == NULL)
        CV_TRY(judge_file(source, known, &whole, &found, err));
    else if (whole)
        CV_TRY(cv_source_make(source, 0, (struct cv_range){ known->begin, known->end },
                              &found, err));
    if (!whole) {
        found.file = known->file;
        found.name = source->stream != NULL ? source->stream->name
                                            : source->files[known->file].name;
        found.body = (struct cv_range){ known->begin, known->end };
    }
    *state = whole ? CV_KNOWN_PIECE : CV_KNOWN_BROKEN;
    *piece = found;
    *tag = known->tag;
    source->next_known++;
    return CLEAVE_OK;
}
