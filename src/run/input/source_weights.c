/* source_weights.c -- weighs the records of a source and reads their keys. SPDX-License-Identifier: MIT
 *
 * Files are read once before the run, a stream as it arrives. */
#include <stdlib.h>
#include <string.h>

#include <cleave/execute.h>

#include "base/fail.h"
#include "base/text.h"
#include "run/input/cut_window.h"
#include "run/input/source_kind.h"

enum { BLOCK = 1 << 20 };

/* Add a record at an offset of a file. A header belongs to the first record, unless it is a piece. */
static enum cleave_status add_record(struct cv_source *source,
                                     const struct cv_source_file *file, uint64_t header,
                                     const char *bytes, uint64_t begin, uint64_t end,
                                     struct cleave_error *err)
{
    struct cv_source_weights *weights = source->weights;
    double weight = 0;

    weights->number++;
    if (end <= header && source->stream == NULL && file->base + end != source->alone)
        return CLEAVE_OK;
    if (begin < header && end > header) { /* the header is not records */
        bytes += header - begin;
        begin = header;
    }
    for (unsigned i = 0; end > header && i < weights->index.nkeys; i++)
        CV_TRY(cv_record_key_read(&weights->keys[i], bytes, (size_t)(end - begin),
                                  file->name, weights->number, i, &weights->found[i],
                                  err));
    if (end > header && weights->weigher != NULL)
        CV_TRY(cv_weigher_feed(weights->weigher, bytes, (size_t)(end - begin), err));
    else if (end > header)
        CV_TRY(cv_record_weight_read(&weights->how, bytes, (size_t)(end - begin),
                                     file->name, weights->number, &weight, err));
    return cv_weight_index_add(&weights->index, file->base + end, weight,
                               end > header ? weights->found : NULL, err);
}

/* Add the complete records in a window, which moves. */
static enum cleave_status add_records(struct cv_source *source,
                                      const struct cv_source_file *file, uint64_t header,
                                      struct cv_cut_window *window, const char *bytes,
                                      uint64_t begin, size_t length, bool ended,
                                      size_t *used, struct cleave_error *err)
{
    size_t cut;

    for (*used = 0; *used < length; *used += cut) {
        CV_TRY(cv_cut_window_find(window, bytes + *used, length - *used, ended, 1, &cut,
                                  err));
        if (cut == 0)
            return CLEAVE_OK;
        CV_TRY(add_record(source, file, header, bytes + *used, begin + *used,
                          begin + *used + cut, err));
        cv_cut_window_take(window, cut);
    }
    return CLEAVE_OK;
}

/* Read what the text means, which may take the header of the input. */
static enum cleave_status learn_how(struct cv_source *source,
                                    const struct cv_source_file *file, const char *head,
                                    uint64_t header, struct cleave_error *err)
{
    struct cv_source_weights *weights = source->weights;

    if (weights->known)
        return CLEAVE_OK;
    weights->records = *source->splitter;
    weights->records.group = NULL;
    CV_TRY(cv_record_weight_init(&weights->how, weights->text, CV_VALUE_WEIGHT,
                                 weights->missing, &weights->records, head,
                                 (size_t)header, file->name, err));
    for (unsigned i = 0; i < weights->index.nkeys; i++)
        CV_TRY(cv_record_weight_init(&weights->keys[i], weights->limits[i].key,
                                     CV_VALUE_KEY, 0, &weights->records, head,
                                     (size_t)header, file->name, err));
    weights->known = true;
    if (weights->how.kind == CV_WEIGHT_COMMAND && source->stream != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "input.weight: a command weighs files, got a stream; expected "
                       ".FIELD or a column");
    return CLEAVE_OK;
}

/* --- files ---------------------------------------------------------------------------------- */

/* Add the records of a file in use. */
static enum cleave_status read_records(struct cv_source *source,
                                       struct cv_source_file *file, uint64_t header,
                                       struct cleave_error *err)
{
    struct cv_cut_window window;
    size_t min = BLOCK, length, used;
    const char *bytes;

    cv_cut_window_init(&window, &source->weights->records);
    if (header > 0 && cv_splitter_leads(source->splitter))
        cv_cut_window_lead(&window, header);
    source->weights->number = 0;
    for (uint64_t at = 0; at < file->size; at += used) {
        CV_TRY(cv_cut_file_read(&file->cut, at, min, BLOCK, &bytes, &length, err));
        CV_TRY(add_records(source, file, header, &window, bytes, at, length,
                           at + length >= file->size, &used, err));
        if (used == 0 && source->max_record > 0 && length > source->max_record)
            return cv_cut_fail_long(file->name, false, at, source->max_record, err);
        min = used == 0 ? 2 * length : BLOCK;
    }
    return CLEAVE_OK;
}

/* Set the weights of the new records, from `record`, to the answers of the command. */
static enum cleave_status take_answers(struct cv_source_weights *weights, size_t record,
                                       const struct cv_source_file *file,
                                       struct cleave_error *err)
{
    const size_t count = weights->index.count - record;
    const char *bytes;
    size_t length, got = 0;
    double weight;

    for (; got < count && cv_weigher_next(weights->weigher, &bytes, &length); got++) {
        CV_TRY(cv_record_weight_parse(&weights->how, bytes, length, file->name, got + 1,
                                      &weight, err));
        cv_weight_index_set(&weights->index, record + got, weight);
    }
    if (got == count && !cv_weigher_next(weights->weigher, &bytes, &length))
        return CLEAVE_OK;
    return cv_fail_at(err, CV_FILE(file->name),
                      "input.weight: expected a number for each of %zu records from "
                      "'%s', got %s",
                      count, CV_SHOWN(weights->text, 40), got < count ? "fewer" : "more");
}

static enum cleave_status weigh_file(struct cv_source *source, size_t i,
                                     struct cleave_error *err)
{
    struct cv_source_weights *weights = source->weights;
    struct cv_source_file *file = &source->files[i];
    const char *head = NULL;
    uint64_t header;
    size_t length = 0, record;

    CV_TRY(cv_source_header_end(source, i, &header, err));
    if (header > 0)
        CV_TRY(cv_cut_file_read(&file->cut, 0, (size_t)header, (size_t)header, &head,
                                &length, err));
    CV_TRY(learn_how(source, file, head, header, err));
    record = weights->index.count + (source->alone > 0 && file->base == 0);
    if (weights->how.kind == CV_WEIGHT_COMMAND)
        CV_TRY(cv_weigher_start(weights->text, &weights->weigher, err));
    CV_TRY(read_records(source, file, header, err));
    if (weights->weigher == NULL)
        return CLEAVE_OK;
    CV_TRY(cv_weigher_finish(weights->weigher, err));
    CV_TRY(take_answers(weights, record, file, err));
    cv_weigher_free(weights->weigher);
    weights->weigher = NULL;
    return CLEAVE_OK;
}

/* Bytes of a file after its last record, such as the header of a file without records. */
static enum cleave_status add_rest(struct cv_source *source,
                                   const struct cv_source_file *file,
                                   struct cleave_error *err)
{
    const struct cv_weight_index *index = &source->weights->index;
    const uint64_t end = file->base + file->size;

    return file->size == 0 ||
                   (index->count > 0 && index->records[index->count - 1].end == end)
               ? CLEAVE_OK
               : cv_weight_index_add(&source->weights->index, end, 0, NULL, err);
}

enum cleave_status cv_source_weigh(struct cv_source *source, const char *text,
                                   double missing, bool heavy_first,
                                   const struct cleave_key_limit *limits, size_t nlimits,
                                   struct cleave_error *err)
{
    struct cv_source_weights *weights = calloc(1, sizeof *weights);

    source->weights = weights;
    if (weights == NULL)
        return cv_fail_memory(err, "the weights of records");
    weights->text = strdup(text);
    weights->limits = limits;
    weights->index.nkeys = (unsigned)nlimits;
    weights->keys = calloc(nlimits + 1, sizeof *weights->keys);
    weights->found = calloc(nlimits + 1, sizeof *weights->found);
    if (weights->text == NULL || weights->keys == NULL || weights->found == NULL)
        return cv_fail_memory(err, "the weights of records");
    weights->missing = missing;
    if (source->stream != NULL)
        return CLEAVE_OK;
    for (size_t i = 0; i < source->nfiles; i++) {
        if (source->files[i].size == 0)
            continue;
        CV_TRY(weigh_file(source, i, err));
        CV_TRY(add_rest(source, &source->files[i], err));
    }
    cv_weight_index_settle(&weights->index);
    cv_source_weights_recount(source);
    if (heavy_first && source->splitter->group == NULL)
        CV_TRY(cv_weight_index_sort(&weights->index, err));
    return CLEAVE_OK;
}

/* --- streams -------------------------------------------------------------------------------- */

enum cleave_status cv_source_weigh_arrived(struct cv_source *source, const char *bytes,
                                           uint64_t begin, uint64_t end,
                                           const struct cv_cut_window *window,
                                           struct cleave_error *err)
{
    struct cv_source_weights *weights = source->weights;
    const struct cv_source_file *file = source->files;
    struct cv_cut_window records, first = *window;
    size_t used;

    CV_TRY(learn_how(source, file, file->header, file->header_end, err));
    first.splitter = &weights->records;
    cv_cut_window_again(&records, &first, begin);
    CV_TRY(add_records(source, file, file->header_end, &records, bytes, begin,
                       (size_t)(end - begin), true, &used, err));
    cv_weight_index_settle(&weights->index);
    return CLEAVE_OK;
}
