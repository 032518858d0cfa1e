/* run_item_lists.c -- the lists of items of a call: which there are, and what is in them.
 * SPDX-License-Identifier: MIT */
#include "cli/run/run_item_lists.h"

#include <string.h>
#include <cleave/execute.h>

#include "base/fail.h"
#include "cli/common/file_roles.h"
#include "cli/common/output.h"
#include "cli/log/run_rows.h"
#include "cli/run/run_values.h"
#include "run/items/item_lists.h"
#include "run/split/split.h"

/* --- finding them ------------------------------------------------------------------------- */

enum mark { NO_MARK, ITEMS, FILES };

/* ":::" and "::::", with '+' if what follows is linked to the list before. */
static enum mark mark_of(const char *word, bool *linked)
{
    const size_t colons = strspn(word, ":");

    *linked = strcmp(word + colons, "+") == 0;
    if ((word[colons] != '\0' && !*linked) || (colons != 3 && colons != 4))
        return NO_MARK;
    return colons == 3 ? ITEMS : FILES;
}

size_t cv_item_lists_words(const struct cv_call *call)
{
    size_t count = 0;
    bool linked;

    while (count < call->noperands &&
           mark_of(call->operands[count], &linked) == NO_MARK) {
        const char *slash = strrchr(call->operands[count], '/');

        if (strcmp(slash != NULL ? slash + 1 : call->operands[count], "parallel") == 0)
            return call->noperands;
        count++;
    }
    return count;
}

/* The files of '::::'; room for all operands. */
static size_t find_files(const struct cv_call *call, struct cv_other_file *out)
{
    const size_t noperands = call->noperands;
    enum mark kind = NO_MARK;
    size_t count = 0;
    bool linked;

    for (size_t i = cv_item_lists_words(call); i < noperands; i++) {
        const enum mark mark = mark_of(call->operands[i], &linked);

        if (mark != NO_MARK)
            kind = mark;
        else if (kind == FILES)
            out[count++] = (struct cv_other_file){ "::::", call->operands[i], false };
    }
    return count;
}

int cv_item_lists_check_files(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;
    struct cv_other_file *others =
        cv_array(call->arena, call->noperands + 1, sizeof *others);
    size_t count;

    if (others == NULL)
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the names of files");
    count = find_files(call, others);
    if (values->results != NULL && cv_rows_kind(values->results) != CV_ROWS_NONE &&
        strncmp(values->results, "-.", 2) != 0)
        others[count++] = (struct cv_other_file){ "--results", values->results, true };
    return cv_files_check_with(call, others, count);
}

/* --- reading them ------------------------------------------------------------------------- */

bool cv_item_delimiter(const char *text, char *out)
{
    static const char letters[] = "nt0\\", bytes[] = "\n\t\0\\";
    const char *at = text[0] == '\\' && text[1] != '\0' && text[2] == '\0'
                         ? strchr(letters, text[1])
                         : NULL;

    *out = at != NULL ? bytes[at - letters] : text[0];
    return at != NULL || text[1] == '\0';
}

/* Whether a place needs the number of all items. */
static bool counts_all(const struct cv_call *call, size_t nwords)
{
    const struct cv_run_options *values = call->values;
    bool counts = values->tagstring != NULL || values->results != NULL;

    for (size_t i = 0; i < nwords; i++)
        counts = counts || strstr(call->operands[i], "{##}") != NULL ||
                 strstr(call->operands[i], "{0#}") != NULL;
    return values->plus && counts;
}

/* Whether something has to know all items before the first is begun. */
static bool needs_all(const struct cv_run_options *values)
{
    return values->shuffle || values->fill || values->fill_words ||
           values->weight != NULL || values->costs != NULL || values->journal != NULL ||
           values->delimiter != NULL || values->policy != NULL;
}

/* The only list there is, if it is a file that is to be read as it comes; NULL: it is not. */
static const char *find_stream(const struct cv_call *call, size_t nwords)
{
    const struct cv_run_options *values = call->values;
    const char *path = NULL;
    size_t count = values->item_files.count + (values->each != 0);
    bool linked;

    if (values->each)
        path = values->inputs.count > 0 ? values->inputs.items[0] : "-";
    else if (count > 0)
        path = values->item_files.items[0];
    for (size_t i = nwords; i < call->noperands; i++) {
        if (mark_of(call->operands[i], &linked) == ITEMS)
            return NULL;
        if (mark_of(call->operands[i], &linked) == NO_MARK) {
            path = call->operands[i];
            count++;
        }
    }
    return count == 1 && (!values->each || values->inputs.count <= 1) &&
                   !needs_all(values) && !counts_all(call, nwords) &&
                   cv_item_list_is_streamed(path)
               ? path
               : NULL;
}

/* Records of inputs that are items: those of --each, or the lines of a list. */
static enum cleave_status open_stream(const struct cv_run_options *values,
                                      const char *const *paths, size_t npaths,
                                      struct cv_item_stream **out,
                                      struct cleave_error *err)
{
    struct cv_splitter *splitter;

    CV_TRY(cv_splitter_parse(values->split != NULL ? values->split
                             : values->null        ? "nul"
                                                   : "lines",
                             &splitter, err));
    return cv_item_stream_new(
        paths, npaths,
        &(struct cv_source_options){
            .raw = !values->each ||
                   (values->decode != NULL && strcmp(values->decode, "none") == 0),
            .max_record = values->max_record > 0 ? cv_record_limit(values->max_record)
                                                 : CLEAVE_MAX_RECORD },
        splitter, out, err);
}

/* Names of columns have to be there before a command can be made. */
static enum cleave_status begin_stream(const struct cv_run_options *values,
                                       struct cv_item_lists *lists,
                                       struct cv_item_stream **stream,
                                       struct cleave_error *err)
{
    bool ended = false;

    CV_TRY(cv_item_lists_begin(lists, false, err));
    while (values->header != NULL && !ended && lists->items[0].count == 0)
        CV_TRY(cv_item_stream_read(*stream, lists, &ended, err));
    if (ended) {
        cv_item_stream_free(*stream);
        *stream = NULL;
    }
    return CLEAVE_OK;
}

static enum cleave_status read_each(const struct cv_run_options *values,
                                    struct cv_item_lists *lists, struct cleave_error *err)
{
    struct cv_item_stream *stream;

    CV_TRY(cv_item_lists_begin(lists, false, err));
    CV_TRY(open_stream(values, values->inputs.items, values->inputs.count, &stream, err));
    return cv_item_stream_read_all(stream, lists, err);
}

static enum cleave_status read_file(const struct cv_run_options *values, const char *path,
                                    bool linked, struct cv_item_lists *lists,
                                    struct cleave_error *err)
{
    char mark = values->null ? '\0' : '\n';

    if (values->delimiter != NULL)
        cv_item_delimiter(values->delimiter, &mark);
    CV_TRY(cv_item_lists_begin(lists, linked, err));
    return cv_item_lists_add_file(lists, path, mark, err);
}

/* What stands behind the command: marks, and behind each its items or files. */
static enum cleave_status read_operands(const struct cv_call *call, size_t from,
                                        struct cv_item_lists *lists,
                                        struct cleave_error *err)
{
    enum mark mark = NO_MARK;
    bool linked = false;

    for (size_t i = from; i < call->noperands; i++) {
        bool next_linked;
        const enum mark next = mark_of(call->operands[i], &next_linked);

        if (next != NO_MARK) {
            mark = next;
            linked = next_linked;
            if (linked && mark == ITEMS && lists->count == 0)
                return cv_fail(
                    err, CLEAVE_EINPUT,
                    "'%s' links its items to those of a list before, and there "
                    "is none",
                    call->operands[i]);
            if (mark == ITEMS)
                CV_TRY(cv_item_lists_begin(lists, linked, err));
        } else if (mark == ITEMS) {
            CV_TRY(cv_item_lists_add(lists, call->operands[i], strlen(call->operands[i]),
                                     err));
        } else {
            CV_TRY(read_file(call->values, call->operands[i], linked && lists->count > 0,
                             lists, err));
        }
    }
    return CLEAVE_OK;
}

enum cleave_status cv_item_lists_read(const struct cv_call *call,
                                      struct cv_item_lists *lists,
                                      struct cv_item_stream **stream,
                                      struct cleave_error *err)
{
    const struct cv_run_options *values = call->values;
    const size_t nwords = cv_item_lists_words(call);
    const char *path = find_stream(call, nwords);

    lists->link = values->link != 0;
    if (path != NULL) {
        CV_TRY(open_stream(values, &path, 1, stream, err));
        return begin_stream(values, lists, stream, err);
    }
    if (values->each)
        CV_TRY(read_each(values, lists, err));
    for (size_t i = 0; i < values->item_files.count; i++)
        CV_TRY(read_file(values, values->item_files.items[i], false, lists, err));
    return read_operands(call, nwords, lists, err);
}
