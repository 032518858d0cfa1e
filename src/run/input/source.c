/* source.c -- the input of a run, handed out in pieces. SPDX-License-Identifier: MIT */
#include "run/input/source.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/execute.h>

#include "base/arena.h"
#include "base/bisect.h"
#include "base/fail.h"
#include "base/file_target.h"
#include "run/input/source_kind.h"
#include "run/split/split_kind.h"

static void free_weights(struct cv_source_weights *weights)
{
    if (weights == NULL)
        return;
    cv_weigher_free(weights->weigher);
    cv_weight_index_done(&weights->index);
    free(weights->text);
    free(weights->keys);
    free(weights->found);
    free(weights);
}

void cv_source_free(struct cv_source *source)
{
    if (source == NULL)
        return;
    source->kind->free(source);
    free_weights(source->weights);
    cv_range_set_done(&source->pending);
    cv_content_hasher_free(source->hasher);
    free(source->known);
    free(source->head);
    free(source);
}

/* --- weights ------------------------------------------------------------------------------ */

void cv_source_weights_note(struct cv_source *source, uint64_t begin, uint64_t end,
                            bool pending)
{
    struct cv_source_weights *weights = source->weights;
    double units;

    if (weights == NULL)
        return;
    units = cv_weight_index_between(&weights->index, begin, end);
    weights->left += pending ? units : -units;
    cv_weight_index_note(&weights->index, begin, end, pending);
}

void cv_source_weights_recount(struct cv_source *source)
{
    struct cv_range range;

    if (source->weights == NULL)
        return;
    source->weights->left = 0;
    cv_weight_index_note(&source->weights->index, 0, UINT64_MAX, false);
    for (uint64_t at = 0; cv_range_set_find(&source->pending, at, &range); at = range.end)
        cv_source_weights_note(source, range.begin, range.end, true);
}

/* --- pieces ------------------------------------------------------------------------------- */

enum cleave_status cv_source_find_header(struct cv_source *source, size_t index,
                                         uint64_t *out, struct cleave_error *err)
{
    struct cv_source_file *file = &source->files[index];

    if (source->header && !file->headed && source->stream == NULL) {
        CV_TRY(cv_cut_file_header(&file->cut, &file->header_end, err));
        file->headed = true;
    }
    *out = file->header_end;
    return CLEAVE_OK;
}

/* The text that closes pieces of a framed input with this header: borrowed. */
static enum cleave_status find_tail(struct cv_source *source, size_t index,
                                    uint64_t header, const char **out,
                                    struct cleave_error *err)
{
    struct cv_source_file *file = &source->files[index];
    const char *bytes = file->header;
    size_t length;

    if (file->tail == NULL) {
        if (bytes == NULL)
            CV_TRY(cv_cut_file_read(&file->cut, 0, (size_t)header, (size_t)header, &bytes,
                                    &length, err));
        file->tail = source->splitter->kind->tail(bytes, (size_t)header);
    }
    *out = file->tail;
    return *out == NULL ? cv_fail_memory(err, "the end of a chunk") : CLEAVE_OK;
}

enum cleave_status cv_source_cut(struct cv_source *source, size_t file, uint64_t begin,
                                 uint64_t end, uint64_t target, uint64_t *out,
                                 struct cleave_error *err)
{
    uint64_t header;

    CV_TRY(cv_source_find_header(source, file, &header, err));
    if (begin == 0 && target <= header)
        target = header + 1;
    if (target < end)
        return source->kind->cut(source, file, begin, end, target, out, err);
    *out = end;
    return CLEAVE_OK;
}

/* Make a piece a whole document: an array, or elements in their root. */
static enum cleave_status frame(struct cv_source *source, uint64_t header,
                                struct cv_piece *piece, struct cleave_error *err)
{
    const bool last = source->stream != NULL
                          ? !source->open && piece->body.end == source->total
                          : piece->body.end == source->files[piece->file].size;

    if (source->splitter->kind->bare)
        return CLEAVE_OK;
    if (cv_splitter_has_tail(source->splitter)) {
        CV_TRY(find_tail(source, piece->file, header, &piece->closing_text, err));
        if (!last)
            piece->closing = CV_CLOSING_TEXT;
        return CLEAVE_OK;
    }
    piece->skip = piece->body.begin > 0;
    piece->body.begin += piece->skip;
    if (piece->body_bytes != NULL)
        piece->body_bytes += piece->skip;
    if (!last)
        piece->closing = CV_CLOSING_ARRAY;
    return CLEAVE_OK;
}

enum cleave_status cv_source_make(struct cv_source *source, size_t file,
                                  struct cv_range body, struct cv_piece *out,
                                  struct cleave_error *err)
{
    struct cv_piece piece = { .file = file, .body = body, .fd = -1, .mate_fd = -1 };
    uint64_t header;

    CV_TRY(cv_source_find_header(source, file, &header, err));
    if (body.begin > 0)
        piece.header.end = header;
    CV_TRY(source->kind->fill(source, body, &piece, err));
    piece.end = piece.begin + (body.end - body.begin);
    piece.units =
        source->weights != NULL
            ? cv_weight_index_between(&source->weights->index, piece.begin, piece.end)
            : (double)(piece.end - piece.begin);
    if (header > 0 && cv_splitter_frames(source->splitter))
        CV_TRY(frame(source, header, &piece, err));
    *out = piece;
    return CLEAVE_OK;
}

struct cv_piece cv_source_blank(const struct cv_source *source)
{
    const struct cv_source_file *mate = source->mate;

    return (struct cv_piece){ .fd = -1,
                              .mate_fd = mate != NULL ? mate->fd : -1,
                              .mate_lazy = mate != NULL ? mate->cut.reader : NULL };
}

/* --- the header as a piece ---------------------------------------------------------------- */

bool cv_source_has_header(const struct cv_source *source)
{
    return source->stream == NULL || !source->open ||
           (source->choose == NULL && source->files->headed);
}

bool cv_source_has_head(const struct cv_source *source)
{
    return source->header && !cv_splitter_frames(source->splitter);
}

const struct cv_format_choice *cv_source_choice(const struct cv_source *source,
                                                bool *header)
{
    *header = source->chose_header;
    return &source->choice;
}

enum cleave_status cv_source_choose(struct cv_source *source,
                                    const struct cv_source_file *file, const char *bytes,
                                    size_t length, bool ends, bool *decided,
                                    struct cleave_error *err)
{
    struct cv_splitter *splitter = source->choose;

    CV_TRY(cv_format_choose(file->borrowed ? NULL : file->name, bytes, length, ends,
                            &source->choice, decided, err));
    if (!*decided)
        return CLEAVE_OK;
    source->choose = NULL;
    CV_TRY(cv_splitter_become(splitter, source->choice.split, err));
    source->chose_header =
        source->choice.header != NULL && !source->header && !source->no_header;
    if (source->chose_header)
        CV_TRY(cv_splitter_set_header(splitter, source->choice.header, err));
    source->header =
        source->header || source->chose_header || cv_splitter_frames(splitter);
    return CLEAVE_OK;
}

bool cv_source_is_head(const struct cv_source *source, const struct cv_piece *piece)
{
    return source->alone > 0 && piece->begin == 0 && piece->end == source->alone &&
           source->total > source->alone;
}

/* Where a piece that begins at an address must end. */
static uint64_t end_at(const struct cv_source *source, uint64_t address)
{
    const uint64_t end = source->kind->end_at(source, address);

    return address < source->alone && source->alone < end ? source->alone : end;
}

/* --- taking ----------------------------------------------------------------------------- */

static bool arrives(const struct cv_source *source, uint64_t address)
{
    return source->kind->arrives != NULL && source->kind->arrives(source, address);
}

static void note_use(struct cv_source *source, const struct cv_piece *piece, bool begins)
{
    if (source->kind->in_use != NULL)
        source->kind->in_use(source, piece, begins);
}

enum cleave_status cv_source_remove(struct cv_source *source,
                                    const struct cv_piece *piece,
                                    struct cleave_error *err)
{
    CV_TRY(cv_range_set_remove(&source->pending, piece->begin, piece->end, err));
    cv_source_weights_note(source, piece->begin, piece->end, false);
    note_use(source, piece, true);
    return CLEAVE_OK;
}

/* The range to take from, at or after an address. Without one, *state is WAIT or END. */
static enum cleave_status choose(struct cv_source *source, uint64_t from,
                                 uint64_t *wanted, enum cv_take *state,
                                 struct cv_range *range, struct cleave_error *err)
{
    const bool known = source->next_known < source->nknown;
    uint64_t header, end;

    if (*wanted == 0)
        *wanted = 1;
    if (source->max_piece > 0 && *wanted > source->max_piece)
        *wanted = source->max_piece;
    while (cv_source_wants(source) && cv_source_poll_fd(source) < 0 &&
           source->pending.total < *wanted)
        CV_TRY(cv_source_pump(source, err));
    *state = source->open || known ? CV_TAKE_WAIT : CV_TAKE_END;
    if ((known && source->stream == NULL) ||
        !cv_range_set_find(&source->pending, from, range))
        return CLEAVE_OK;
    if (range->begin < from)
        range->begin = from;
    end = end_at(source, range->begin);
    if (range->end > end)
        range->end = end;
    if (arrives(source, range->end)) {
        CV_TRY(cv_source_find_header(source, 0, &header, err));
        if (range->end - range->begin < *wanted || range->end <= header)
            return CLEAVE_OK;
    }
    *state = CV_TAKE_PIECE;
    return CLEAVE_OK;
}

/* Take a piece of about `wanted` units from the start of a pending range. */
static enum cleave_status take_from(struct cv_source *source, struct cv_range range,
                                    uint64_t wanted, struct cv_piece *out,
                                    struct cleave_error *err)
{
    uint64_t base;
    size_t file;

    CV_TRY(source->kind->locate(source, range.begin, &file, &base, err));
    range.begin -= base;
    range.end -= base;
    if (wanted < range.end - range.begin)
        CV_TRY(cv_source_cut(source, file, range.begin, range.end,
                             range.begin + (wanted > 0 ? wanted : 1), &range.end, err));
    CV_TRY(cv_source_make(source, file, range, out, err));
    if (source->kind->limit != NULL)
        CV_TRY(source->kind->limit(source, out, err));
    return cv_source_remove(source, out, err);
}

static enum cleave_status take_at(struct cv_source *source, uint64_t from,
                                  uint64_t wanted, enum cv_take *state,
                                  struct cv_piece *out, struct cleave_error *err)
{
    const struct cleave_items *items = source->items;
    struct cv_range range;
    struct cv_piece piece;

    CV_TRY(choose(source, from, &wanted, state, &range, err));
    if (*state != CV_TAKE_PIECE)
        return CLEAVE_OK;
    if (wanted > range.end - range.begin)
        wanted = range.end - range.begin;
    if (items != NULL && items->fits != NULL && wanted > 1)
        CV_TRY(items->fits(items->context, range.begin, wanted, &wanted, err));
    CV_TRY(take_from(source, range, wanted, &piece, err));
    *out = piece;
    return CLEAVE_OK;
}

enum cleave_status cv_source_take(struct cv_source *source, uint64_t wanted,
                                  enum cv_take *state, struct cv_piece *out,
                                  struct cleave_error *err)
{
    return take_at(source, 0, wanted, state, out, err);
}

/* Pending records that are compared with an order. */
enum { LOOK = 64 };

struct fitting {
    uint64_t at;     /* start of the first record that fits, or of the lightest one */
    double weight;   /* of that record */
    unsigned looked; /* records up to the one that fits, or all */
};

/* In the order of the input, among the next `most` pending records. */
static struct fitting find_fitting(const struct cv_source *source, double wanted,
                                   unsigned most)
{
    const struct cv_weight_index *index = &source->weights->index;
    struct fitting best = { .weight = INFINITY };
    struct cv_range range;
    uint64_t at = 0, end;

    for (; best.looked < most && best.weight > wanted &&
           cv_range_set_find(&source->pending, at, &range);
         best.looked++, at = end) {
        double weight;

        at = at > range.begin ? at : range.begin;
        end = cv_weight_index_cut(index, at, 0);
        weight = cv_weight_index_between(index, at, end);
        if (weight < best.weight) {
            best.weight = weight;
            best.at = at;
        }
    }
    return best;
}

/* An order is about half of what its worker does until the end of the run. */
static const double SHARE = 2;

/* Whether the last records are too heavy for this worker, and others will take them. */
static bool leaves_rest(const struct cv_source *source, double wanted,
                        const struct cv_taker *taker)
{
    const struct fitting rest =
        taker->faster > 0 ? find_fitting(source, SHARE * wanted, taker->faster + 1)
                          : (struct fitting){ .looked = 1 };

    return rest.looked <= taker->faster && rest.weight > SHARE * wanted;
}

/* Where a piece for an order is to start. Only in files, and not in groups, records can be skipped; a
 * header that is a piece comes first. */
static uint64_t find_start(const struct cv_source *source, uint64_t first, double wanted,
                           bool fast)
{
    const struct cv_weight_index *index = &source->weights->index;
    uint64_t from;

    if (source->stream != NULL || source->splitter->group != NULL ||
        first < source->alone)
        return first;
    if (index->by_weight == NULL)
        return fast ? first : find_fitting(source, wanted, LOOK).at;
    return cv_weight_index_pick(index, wanted, fast, &from) ? from : first;
}

/* The records of a stream begin after its header; a header of a file is not in the index. */
static uint64_t skip_header(const struct cv_source *source, uint64_t address)
{
    const uint64_t header = source->stream != NULL ? source->files->header_end : 0;

    return address > header ? address : header;
}

/* The first pending records that may start. Groups are taken in order. */
static bool find_allowed(const struct cv_source *source, const struct cv_taker *taker,
                         uint64_t *out_begin, uint64_t *out_end)
{
    const bool grouped = source->splitter->group != NULL;
    struct cv_range range;

    for (uint64_t at = 0; cv_range_set_find(&source->pending, at, &range); at = range.end)
        if (cv_weight_index_find_allowed(&source->weights->index, range.begin, range.end,
                                         taker->allows, taker->context, out_begin,
                                         out_end))
            return !grouped || *out_begin == range.begin;
        else if (grouped)
            return false;
    return false;
}

enum cleave_status cv_source_take_units(struct cv_source *source, double wanted,
                                        const struct cv_taker *taker, enum cv_take *state,
                                        struct cv_piece *out, struct cleave_error *err)
{
    const struct cv_weight_index *index;
    struct cv_range first;
    uint64_t from, end, last, allowed = UINT64_MAX;

    if (source->weights == NULL)
        return take_at(source, 0,
                       taker->most > 0 ? (uint64_t)fmin(wanted, (double)taker->most)
                                       : (uint64_t)wanted,
                       state, out, err);
    index = &source->weights->index;
    if (!cv_range_set_find(&source->pending, 0, &first))
        return take_at(source, 0, 1, state, out, err);
    *state = CV_TAKE_WAIT;
    if (source->stream == NULL && leaves_rest(source, wanted, taker))
        return CLEAVE_OK;
    if (taker->allows == NULL)
        from = find_start(source, first.begin, wanted, taker->fast);
    else if (!find_allowed(source, taker, &from, &allowed))
        return CLEAVE_OK;
    end = cv_weight_index_cut(index, from, wanted);
    end = end < allowed ? end : allowed;
    last = cv_weight_index_after(index, skip_header(source, from), taker->most);
    return take_at(source, from, (end < last ? end : last) - from, state, out, err);
}

enum cleave_status cv_source_take_item(struct cv_source *source, uint64_t item,
                                       enum cv_take *state, struct cv_piece *out,
                                       struct cleave_error *err)
{
    struct cv_range waiting;
    struct cv_piece piece;

    *state = CV_TAKE_END;
    if (!cv_range_set_find(&source->pending, item, &waiting) || waiting.begin > item)
        return CLEAVE_OK;
    CV_TRY(cv_source_make(source, 0, (struct cv_range){ item, item + 1 }, &piece, err));
    CV_TRY(cv_source_remove(source, &piece, err));
    *state = CV_TAKE_PIECE;
    *out = piece;
    return CLEAVE_OK;
}

bool cv_source_find_item(const struct cv_source *source, uint64_t from, uint64_t *out)
{
    struct cv_range waiting;

    if (!cv_range_set_find(&source->pending, from, &waiting))
        return false;
    *out = waiting.begin > from ? waiting.begin : from;
    return true;
}

uint64_t cv_source_ready(const struct cv_source *source)
{
    struct cv_range first;

    return cv_range_set_find(&source->pending, 0, &first) ? first.end - first.begin : 0;
}

/* The pending range directly after a piece that could be joined to it. */
static enum cv_take find_after(const struct cv_source *source,
                               const struct cv_piece *piece, struct cv_range *out)
{
    const uint64_t max = end_at(source, piece->begin);

    if (piece->end < max && arrives(source, piece->end))
        return CV_TAKE_WAIT;
    if (piece->end >= max || !cv_range_set_find(&source->pending, piece->end, out) ||
        out->begin != piece->end)
        return CV_TAKE_END;
    out->end = out->end < max ? out->end : max;
    return CV_TAKE_PIECE;
}

enum cleave_status cv_source_take_behind(struct cv_source *source,
                                         const struct cv_piece *piece, uint64_t wanted,
                                         enum cv_take *state, struct cv_piece *out,
                                         struct cleave_error *err)
{
    struct cv_piece longer = *piece, added;
    struct cv_range range;

    while (arrives(source, piece->end) && cv_source_poll_fd(source) < 0)
        CV_TRY(cv_source_pump(source, err));
    *state = find_after(source, piece, &range);
    if (*state != CV_TAKE_PIECE)
        return CLEAVE_OK;
    CV_TRY(take_from(source, range, wanted, &added, err));
    longer.end = added.end;
    longer.units += added.units;
    longer.body.end = added.body.end;
    longer.mate.end = added.mate.end;
    longer.closing = added.closing;
    *out = longer;
    return CLEAVE_OK;
}

bool cv_source_index_helps(const struct cv_splitter *splitter)
{
    return splitter->kind->needs_pass ||
           (splitter->group != NULL && cv_group_records(splitter) > 0);
}

size_t cv_source_file_at(const struct cv_source *source, uint64_t address)
{
    size_t n;

    CV_BISECT(n, source->nfiles, i, source->files[i].base <= address);
    return n > 0 ? n - 1 : 0;
}

static struct cv_range largest_range(const struct cv_source *source)
{
    struct cv_range best = { 0, 0 }, range;

    for (uint64_t at = 0; cv_range_set_find(&source->pending, at, &range);) {
        const uint64_t end = end_at(source, range.begin);

        at = range.end;
        range.end = range.end < end ? range.end : end;
        if (range.end - range.begin > best.end - best.begin)
            best = range;
    }
    return best;
}

bool cv_source_largest(const struct cv_source *source, uint64_t *out_begin)
{
    if (source->stream != NULL || source->items != NULL || source->mate != NULL ||
        cv_source_index_helps(source->splitter))
        return false;
    *out_begin = largest_range(source).begin;
    return source->files[cv_source_file_at(source, *out_begin)].decoded == NULL;
}

bool cv_source_extends(const struct cv_source *source, const struct cv_piece *piece,
                       uint64_t begin)
{
    struct cv_range range;

    return find_after(source, piece, &range) == CV_TAKE_PIECE && range.begin == begin;
}

enum cleave_status cv_source_take_largest(struct cv_source *source, uint64_t wanted,
                                          bool last, uint64_t room, enum cv_take *state,
                                          struct cv_piece *out, struct cleave_error *err)
{
    struct cv_range range;
    uint64_t base, begin, size;
    size_t file;

    CV_TRY(choose(source, 0, &wanted, state, &range, err));
    if (*state != CV_TAKE_PIECE)
        return CLEAVE_OK;
    range = largest_range(source);
    size = range.end - range.begin;
    if (!last)
        room = size;
    else if (room < wanted || room >= size)
        room = wanted;
    if (room < size) {
        CV_TRY(source->kind->locate(source, range.begin, &file, &base, err));
        CV_TRY(cv_source_cut(source, file, range.begin - base, range.end - base,
                             range.end - base - room, &begin, err));
        if (base + begin < range.end)
            range.begin = base + begin;
    }
    return take_from(source, range, wanted, out, err);
}

enum cleave_status cv_source_part(struct cv_source *source, const struct cv_piece *piece,
                                  uint64_t from, struct cv_piece *head,
                                  struct cv_piece *tail, struct cleave_error *err)
{
    struct cv_range first = piece->body, second = first;
    struct cv_piece one = *piece, two = *piece;

    first.begin -= piece->skip;
    if (from <= piece->body.begin)
        from = piece->body.begin + 1;
    if (from < first.end)
        CV_TRY(cv_source_cut(source, piece->file, first.begin, first.end, from,
                             &first.end, err));
    second.begin = first.end;
    if (second.begin < second.end) {
        CV_TRY(cv_source_make(source, piece->file, first, &one, err));
        CV_TRY(cv_source_make(source, piece->file, second, &two, err));
    } else {
        two.body = (struct cv_range){ piece->body.end, piece->body.end };
        two.begin = piece->end;
        two.units = 0;
        two.skip = 0;
        two.header = (struct cv_range){ 0, 0 };
        two.closing = CV_CLOSING_NONE;
        two.mate.begin = two.mate.end;
    }
    *head = one;
    *tail = two;
    return CLEAVE_OK;
}

enum cleave_status cv_source_put_back(struct cv_source *source,
                                      const struct cv_piece *piece,
                                      struct cleave_error *err)
{
    CV_TRY(cv_range_set_put(&source->pending, piece->begin, piece->end, err));
    cv_source_weights_note(source, piece->begin, piece->end, true);
    note_use(source, piece, false);
    return CLEAVE_OK;
}

void cv_source_use_again(struct cv_source *source, const struct cv_piece *piece)
{
    note_use(source, piece, true);
}

enum cleave_status cv_source_finish(struct cv_source *source,
                                    const struct cv_piece *piece,
                                    struct cleave_error *err)
{
    return source->kind->finish(source, piece, err);
}

/* --- ranges that an earlier run has finished --------------------------------------------------- */

enum cleave_status cv_source_know(struct cv_source *source, size_t file, uint64_t begin,
                                  uint64_t end, uint64_t tag, struct cleave_error *err)
{
    const struct cv_source_known *last =
        source->nknown > 0 ? &source->known[source->nknown - 1] : NULL;

    if (file >= source->nfiles || begin >= end ||
        (last != NULL &&
         (file < last->file || (file == last->file && begin < last->end))))
        return cv_fail(err, CLEAVE_EENGINE,
                       "expected finished ranges of the %zu inputs in order, got one of "
                       "input %zu that is not",
                       source->nfiles, file + 1);
    if (!CV_ROOM(source->known, &source->known_capacity, source->nknown + 1))
        return cv_fail_memory(err, "a list of finished ranges");
    source->known[source->nknown++] =
        (struct cv_source_known){ .file = file, .begin = begin, .end = end, .tag = tag };
    return CLEAVE_OK;
}

enum cleave_status cv_source_start(struct cv_source *source, struct cleave_error *err)
{
    const bool waited = source->waits;

    source->waits = false;
    return waited && source->kind->start != NULL ? source->kind->start(source, err)
                                                 : CLEAVE_OK;
}

enum cleave_status cv_source_known(struct cv_source *source, enum cv_known *state,
                                   struct cv_piece *piece, uint64_t *tag,
                                   struct cleave_error *err)
{
    const struct cv_source_known *known;
    struct cv_piece found = { .fd = -1, .mate_fd = -1 };
    bool ready, whole;

    if (source->next_known == source->nknown) {
        *state = CV_KNOWN_END;
        return CLEAVE_OK;
    }
    known = &source->known[source->next_known];
    CV_TRY(source->kind->judge(source, known, &ready, &whole, &found, err));
    if (!ready) {
        *state = CV_KNOWN_WAIT;
        return CLEAVE_OK;
    }
    if (!whole) {
        found.file = known->file;
        found.name = source->files[known->file].name;
        found.body = (struct cv_range){ known->begin, known->end };
    }
    *state = whole ? CV_KNOWN_PIECE : CV_KNOWN_BROKEN;
    *piece = found;
    *tag = known->tag;
    source->next_known++;
    return CLEAVE_OK;
}

/* --- input that arrives ------------------------------------------------------------------ */

int cv_source_poll_fd(const struct cv_source *source)
{
    return source->kind->poll_fd != NULL ? source->kind->poll_fd(source) : -1;
}

bool cv_source_wants(const struct cv_source *source)
{
    return source->open && source->kind->has_room(source);
}

bool cv_source_flows(const struct cv_source *source)
{
    return source->stream != NULL && cv_source_poll_fd(source) >= 0 &&
           cv_source_wants(source);
}

enum cleave_status cv_source_pump(struct cv_source *source, struct cleave_error *err)
{
    return cv_source_wants(source) ? source->kind->pump(source, err) : CLEAVE_OK;
}

/* --- facts ------------------------------------------------------------------------------ */

double cv_source_total(const struct cv_source *source)
{
    return source->open ? INFINITY : (double)source->total;
}

double cv_source_units(const struct cv_source *source)
{
    return source->weights == NULL || source->open
               ? cv_source_total(source)
               : cv_weight_index_total(&source->weights->index);
}

double cv_source_left(const struct cv_source *source)
{
    return source->open              ? INFINITY
           : source->weights != NULL ? source->weights->left
                                     : (double)source->pending.total;
}

bool cv_source_is_weighed(const struct cv_source *source)
{
    return source->weights != NULL;
}

double cv_source_grain(const struct cv_source *source)
{
    return source->weights != NULL && source->weights->index.grain > 0
               ? source->weights->index.grain
               : 1;
}

uint64_t cv_source_count(const struct cv_source *source, const struct cv_piece *piece)
{
    const uint64_t begin = skip_header(source, piece->begin);

    return piece->end > begin
               ? cv_weight_index_count(&source->weights->index, begin, piece->end)
               : 0;
}

const uint64_t *cv_source_keys(const struct cv_source *source, struct cv_range range,
                               uint64_t *count)
{
    return cv_weight_index_keys(&source->weights->index, range.begin, range.end, count);
}

double cv_source_heaviest(const struct cv_source *source)
{
    return source->weights != NULL ? source->weights->index.heaviest : 0;
}

uint64_t cv_source_tail(const struct cv_source *source, const struct cv_piece *piece,
                        double units)
{
    return source->weights != NULL
               ? piece->end - cv_weight_index_cut_last(&source->weights->index,
                                                       piece->begin, piece->end, units)
               : (uint64_t)fmin(units, (double)(piece->end - piece->begin));
}

uint64_t cv_source_extent(const struct cv_source *source)
{
    return source->total;
}

double cv_source_first_s(const struct cv_source *source)
{
    return source->first_s;
}

double cv_source_ended_s(const struct cv_source *source)
{
    return source->open ? 0 : source->ended_s;
}

double cv_source_hold(const struct cv_source *source)
{
    return (double)source->hold;
}

struct cv_source_span cv_source_span_at(const struct cv_source *source, uint64_t address)
{
    const struct cv_source_file *file = source->files;
    size_t next = 1;

    for (; next < source->nfiles && source->files[next].base <= address; next++)
        if (source->files[next].size > 0)
            file = &source->files[next];
    /* Up to the next file, even if this one was shortened. */
    return (struct cv_source_span){ file->name, file->base,
                                    next < source->nfiles ? source->files[next].base
                                                          : source->total };
}

enum cleave_status cv_source_hash(struct cv_source *source, const struct cv_piece *piece,
                                  struct cv_content_hash *out, struct cleave_error *err)
{
    const struct cv_part parts[] = { cv_piece_header(piece), cv_piece_body(piece),
                                     cv_piece_closing(piece), cv_piece_mate(piece) };

    if (source->hasher == NULL)
        CV_TRY(cv_content_hasher_new(&source->hasher, err));
    cv_content_hasher_reset(source->hasher);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        CV_TRY(cv_content_hasher_add_part(source->hasher, &parts[i], err));
    *out = cv_content_hasher_finish(source->hasher);
    return CLEAVE_OK;
}

enum cleave_status cv_source_records(struct cv_source *source,
                                     const struct cv_piece *piece, uint64_t *first,
                                     uint64_t *count, struct cleave_error *err)
{
    return source->kind->count(source, piece, first, count, err);
}

enum cleave_status cv_source_cannot_read(const char *name, struct cleave_error *err)
{
    return cv_fail_at(err, CV_FILE(name), "cannot read: %s", strerror(errno));
}

enum cleave_status cv_source_fail_torn(const char *name, uint64_t offset,
                                       struct cleave_error *err)
{
    return cv_fail_at(err, CV_FILE(name),
                      "the last record, from byte %" PRIu64
                      " on, is cut short by the end",
                      offset);
}

enum cleave_status cv_source_check_end(struct cv_source *source, struct cleave_error *err)
{
    struct cleave_error note = source->damage;
    bool torn = source->shortened;

    if (!torn)
        CV_TRY(source->kind->find_torn(source, &torn, &note, err));
    return torn ? cv_fail_again(err, &note) : CLEAVE_OK;
}

bool cv_source_is_short(const struct cv_source *source)
{
    return source->shortened;
}

const struct cv_format_guess *cv_source_like(const struct cv_source *source)
{
    return source->splitter->kind == &cv_split_lines ? source->like : NULL;
}

bool cv_source_foretold(const struct cv_source *source, uint64_t *bytes)
{
    *bytes = source->files->foretold_bytes;
    return source->files->foretold;
}

size_t cv_source_inputs(const struct cv_source *source)
{
    return source->nfiles + (source->mate != NULL);
}

struct cv_input cv_source_input(const struct cv_source *source, size_t index)
{
    const struct cv_source_file *file =
        index < source->nfiles ? &source->files[index] : source->mate;

    return (struct cv_input){
        .path = file->path,
        .device = file->device,
        .inode = file->inode,
        .size = source->stream != NULL  ? -1
                : file->decoded != NULL ? (int64_t)file->packed_size
                                        : (int64_t)file->size,
        .mtime_ns = source->stream != NULL ? 0 : file->mtime_ns,
        .packed = file->decoded != NULL,
        .fetched = file->fetched != NULL,
    };
}

bool cv_source_has(const struct cv_source *source, const char *path)
{
    struct cv_file_identity identity = { .known = false };

    cv_file_identify(path, &identity);
    if (!identity.known || identity.name[0] != '\0')
        return false;
    for (size_t i = 0; i < cv_source_inputs(source); i++) {
        const struct cv_input input = cv_source_input(source, i);

        if ((uint64_t)identity.device == input.device &&
            (uint64_t)identity.number == input.inode)
            return true;
    }
    return false;
}
