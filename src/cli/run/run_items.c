/* run_items.c -- one command for each item: what was asked for. SPDX-License-Identifier: MIT
 *
 * The words and signs are those of GNU parallel; docs/guide/items.md has them all. */
#include "cli/run/run_items.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cleave/execute.h>
#include "base/fail.h"
#include "cli/common/call_files.h"
#include "cli/common/output.h"
#include "cli/log/job_log.h"
#include "cli/run/run_results.h"
#include "cli/run/run_options.h"
#include "run/items/item_lists.h"
#include "run/split/split.h"

/* --- the lists of items of a call: which there are, and what is in them ------------ */

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

/* Operands before the first of ":::" and the like; all if there is none, or if they are another
 * program's. */
static size_t item_lists_words(const struct cv_call *call)
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

    for (size_t i = item_lists_words(call); i < noperands; i++) {
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
        return cv_no_memory("the names of files");
    count = find_files(call, others);
    if (values->results != NULL && cv_rows_kind(values->results) != CV_ROWS_NONE &&
        strncmp(values->results, "-.", 2) != 0)
        others[count++] = (struct cv_other_file){ "--results", values->results, true };
    return cv_files_check(call, others, count);
}

/* --- reading them ------------------------------------------------------------------------- */

/* What --delimiter says; false: it is not one byte. */
static bool item_delimiter(const char *text, char *out)
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
        item_delimiter(values->delimiter, &mark);
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
                    "'%s' links its items to those of a list before, and there is none",
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

/* All lists; or *stream, from which the only one is to come, in whole or in part. It is the
 * caller's also when that fails. */
static enum cleave_status item_lists_read(const struct cv_call *call,
                                          struct cv_item_lists *lists,
                                          struct cv_item_stream **stream,
                                          struct cleave_error *err)
{
    const struct cv_run_options *values = call->values;
    const size_t nwords = item_lists_words(call);
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

/* --- one command for each item: what was asked for --------------------------------- */

/* --- finding them ------------------------------------------------------------------------- */

bool cv_run_items_asked(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;

    return !values->literal && (values->each || values->item_files.count > 0 ||
                                item_lists_words(call) < call->noperands);
}

/* --- opening them ------------------------------------------------------------------------- */

static int check_values(const struct cv_run_options *values)
{
    char mark;

    if (values->delimiter != NULL && !item_delimiter(values->delimiter, &mark))
        return cv_refuse(
            "--delimiter: expected one byte, or one of \\n, \\t and \\0, got '%s'",
            values->delimiter);
    if (values->header != NULL && cv_header_how(values->header)[0] != '\0')
        return cv_refuse(
            "--header: of items expected ':', the names in their first row, got '%s'",
            values->header);
    return CV_EXIT_DONE;
}

/* A seed of its own for each run that is shuffled. */
static uint64_t new_seed(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000007 + (uint64_t)now.tv_nsec + 1;
}

int cv_run_items_open(const struct cv_call *call, uint32_t workers,
                      struct cv_run_items *out)
{
    const struct cv_run_options *values = call->values;
    const size_t nwords = item_lists_words(call);
    const char **words = cv_array(call->arena, nwords + 1, sizeof *words);
    struct cv_item_lists lists = { .items = NULL };
    struct cv_item_stream *stream = NULL;
    struct cleave_error err;
    enum cleave_status status;

    CV_DO(check_values(values));
    if (words == NULL)
        return cv_no_memory("the command");
    memcpy(words, call->operands, nwords * sizeof *words);
    status = item_lists_read(call, &lists, &stream, &err);
    if (status != CLEAVE_OK)
        cv_item_stream_free(stream);
    if (status == CLEAVE_OK)
        status = cv_item_commands_init(
            &out->commands, &lists, stream,
            &(struct cv_item_options){
                .words = words,
                .replacements = { .plus = values->plus != 0,
                                  .whole = values->replace,
                                  .definitions = values->rules.items,
                                  .ndefinitions = values->rules.count },
                .separator = values->colsep,
                .header = values->header != NULL,
                .no_arguments = values->max_args == 0,
                .literal = values->quote != 0,
                .per = values->max_args == CV_ARGS_ONE ? values->max_lines
                                                       : values->max_args,
                .many = values->fill || values->fill_words,
                .repeats = values->fill_words != 0,
                .spread = workers,
                .shuffle = values->shuffle ? new_seed() : 0,
                .remote = cv_hosts_asked(values) || values->mpi || values->slurm,
                .shown_only = values->dry_run != 0 },
            &err);
    cv_item_lists_done(&lists);
    if (status != CLEAVE_OK)
        return cv_print_status(&err);
    return cv_run_results_open(call, out) == CV_EXIT_DONE ? cv_item_files_open(call, out)
                                                          : CV_EXIT_USAGE;
}

/* --- giving them to the run --------------------------------------------------------------- */

static enum cleave_status get_words(void *context, uint64_t item, uint32_t slot,
                                    char ***out, struct cleave_error *err)
{
    const struct cv_run_items *items = context;

    return cv_item_commands_words(&items->commands, item, slot, out, err);
}

static enum cleave_status get_several(void *context, uint64_t first, uint64_t count,
                                      uint32_t slot, char ***out,
                                      struct cleave_error *err)
{
    const struct cv_run_items *items = context;
    uint64_t cuts[2];
    const struct cv_item_commands some =
        cv_item_commands_some(&items->commands, first, count, cuts);

    return cv_item_commands_words(&some, 0, slot, out, err);
}

static enum cleave_status count_fitting(void *context, uint64_t first, uint64_t count,
                                        uint64_t *out, struct cleave_error *err)
{
    const struct cv_run_items *items = context;

    return cv_item_commands_fit(&items->commands, first, count, out, err);
}

/* As many items for a command as a policy says, and fit. */
static void fill_many(struct cleave_execution *out)
{
    out->items.max = UINT32_MAX;
    out->items.fits = count_fitting;
    out->items.several = get_several;
    out->items.files = NULL;
    out->policy.block = 0;
}

/* Arguments may be names of files. */
static enum cleave_status get_files(void *context, uint64_t item, char ***out,
                                    struct cleave_error *err)
{
    const struct cv_run_items *items = context;
    struct cv_item_arguments arguments = { .items = NULL };
    struct cv_item_words names = { .bytes = NULL };
    enum cleave_status status =
        cv_item_arguments_get(&items->commands, item, &arguments, err);

    for (size_t i = 0; status == CLEAVE_OK && i < arguments.count; i++) {
        cv_item_words_put(&names, arguments.items[i], strlen(arguments.items[i]));
        cv_item_words_break(&names);
    }
    if (status == CLEAVE_OK) {
        *out = cv_item_words_take(&names);
        status = *out != NULL ? CLEAVE_OK : cv_fail_memory(err, "a command");
    }
    cv_item_words_done(&names);
    cv_item_arguments_done(&arguments);
    return status;
}

/* The command as it was run, cut where it is too long for a line. */
static void describe(void *context, uint64_t first, uint64_t count, char *out,
                     size_t size)
{
    const struct cv_run_items *items = context;
    struct cv_text line = { NULL, 0, 0, false };
    struct cleave_error ignored;

    out[0] = '\0';
    if (cv_item_commands_run_line(&items->commands, first, count, 1, &line, &ignored) ==
            CLEAVE_OK &&
        line.bytes != NULL)
        cv_shown(line.bytes, line.length, out, size < 200 ? size : 200);
    cv_text_done(&line);
}

static enum cleave_status get_more(void *context, uint64_t *count, bool *ended,
                                   struct cleave_error *err)
{
    struct cv_run_items *items = context;

    CV_TRY(cv_item_commands_more(&items->commands, ended, err));
    *count = items->commands.count;
    return CLEAVE_OK;
}

static int get_coming(void *context)
{
    const struct cv_run_items *items = context;

    return cv_item_stream_fd(items->commands.stream);
}

static void item_over(void *context, uint64_t item)
{
    struct cv_run_items *items = context;

    cv_item_commands_release(&items->commands, item);
}

/* The program that all commands have, so that it is looked for once. */
int cv_run_items_fill(const struct cv_call *call, struct cv_run_items *items,
                      struct cleave_execution *out)
{
    const struct cv_run_options *values = call->values;
    const struct cv_item_commands *commands = &items->commands;
    const char **words = cv_array(call->arena, 2, sizeof *words);
    char *program = commands->shell == NULL
                        ? cv_item_template_program(&commands->template)
                        : strdup(commands->shell);

    if (words != NULL && program != NULL)
        words[0] = cv_arena_text(call->arena, program);
    free(program);
    if (words == NULL || words[0] == NULL)
        return cv_no_memory("the command");
    out->command = words;
    out->items = (struct cleave_items){ .count = commands->count,
                                        .words = get_words,
                                        .files = get_files,
                                        .describe = describe,
                                        .context = items };
    if (commands->stream != NULL) {
        out->items.more = get_more;
        out->items.comes = get_coming;
        out->items.over = item_over;
    }
    cv_run_results_fill(items, &out->items);
    out->input = (struct cleave_input){ .count = 0 };
    out->policy.block = 1;
    out->output.direct = values->ungroup != 0;
    out->output.lines = out->output.lines && !values->ungroup;
    out->output.early = false;
    /* As in a shell: a command is run once, whatever comes of it. */
    out->failures.strict = true;
    if (out->failures.halt == CLEAVE_HALT_ALL_FAIL)
        out->failures.halt = CLEAVE_HALT_NEVER;
    if (values->many)
        fill_many(out);
    return cv_item_files_fill(call, items, out);
}

/* Lines from `from` on. */
static int show_lines(struct cv_item_commands *commands, uint64_t from)
{
    struct cleave_error err;

    for (uint64_t i = from; i < commands->count; i++) {
        struct cv_text line = { NULL, 0, 0, false };

        if (cv_item_commands_line(commands, i, 1, &line, &err) != CLEAVE_OK) {
            cv_text_done(&line);
            return cv_print_status(&err);
        }
        fwrite(line.bytes, 1, line.length, stdout);
        fputc('\n', stdout);
        cv_text_done(&line);
        if (commands->stream != NULL)
            cv_item_commands_release(commands, i);
    }
    return CV_EXIT_DONE;
}

int cv_run_items_show(struct cv_run_items *items)
{
    struct cv_item_commands *commands = &items->commands;
    int status = show_lines(commands, 0);
    struct cleave_error err;

    for (bool ended = commands->stream == NULL; status == CV_EXIT_DONE && !ended;) {
        const uint64_t from = commands->count;

        if (cv_item_commands_more(commands, &ended, &err) != CLEAVE_OK)
            return cv_print_status(&err);
        status = show_lines(commands, from);
        fflush(stdout); /* more may come much later */
    }
    return status;
}
