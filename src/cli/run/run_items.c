/* run_items.c -- one command for each item: lists, commands and sizes. SPDX-License-Identifier: MIT
 *
 * The words and signs are those of GNU parallel; docs/guide/items.md and placeholders.md list them. */
#include "cli/run/run_parts.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cleave/execute.h>
#include "base/file_target.h"
#include "base/quantity.h"
#include "base/random.h"
#include "io/sizes_file.h"
#include "run/input/record_weight.h"
#include "policy/compound/registry.h"
#include "run/items/item_lists.h"
#include "run/split/split.h"

enum mark { NO_MARK, ITEMS, FILES };

static enum mark mark_of(const char *word, bool *linked)
{
    const size_t colons = strspn(word, ":");

    *linked = strcmp(word + colons, "+") == 0;
    if ((word[colons] != '\0' && !*linked) || (colons != 3 && colons != 4))
        return NO_MARK;
    return colons == 3 ? ITEMS : FILES;
}

/* 'parallel' has its own ":::". */
size_t cv_item_command_words(const struct cv_call *call)
{
    size_t count = 0;
    bool linked;

    while (count < call->noperands && mark_of(call->operands[count], &linked) == NO_MARK)
        if (strcmp(cv_file_name(call->operands[count++]), "parallel") == 0)
            return call->noperands;
    return count;
}

static size_t find_files(const struct cv_call *call, struct cv_other_file *out)
{
    const size_t noperands = call->noperands;
    enum mark kind = NO_MARK;
    size_t count = 0;
    bool linked;

    for (size_t i = cv_item_command_words(call); i < noperands; i++) {
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
        cv_need(call->arena, call->noperands + 1, sizeof *others, "the names of files");
    size_t count = find_files(call, others);

    if (values->results != NULL && cv_rows_kind(values->results) != CV_ROWS_NONE &&
        strncmp(values->results, "-.", 2) != 0)
        others[count++] = (struct cv_other_file){ "--results", values->results, true };
    return cv_files_check(call, others, count);
}

/* Read --delimiter; false: it is not one byte. */
static bool item_delimiter(const char *text, char *out)
{
    static const char letters[] = "nt0\\", bytes[] = "\n\t\0\\";
    const char *at = text[0] == '\\' && text[1] != '\0' && text[2] == '\0'
                         ? strchr(letters, text[1])
                         : NULL;

    *out = at != NULL ? bytes[at - letters] : text[0];
    return at != NULL || text[1] == '\0';
}

static bool counts_all(const struct cv_call *call, size_t nwords)
{
    const struct cv_run_options *values = call->values;
    bool counts = values->tagstring != NULL || values->results != NULL;

    for (size_t i = 0; i < nwords; i++)
        counts = counts || strstr(call->operands[i], "{##}") != NULL ||
                 strstr(call->operands[i], "{0#}") != NULL;
    return values->plus && counts;
}

/* Whether all items must be known before the first one starts. */
static bool needs_all(const struct cv_run_options *values)
{
    return values->shuffle || values->fill || values->fill_words ||
           values->weight != NULL || values->limits.count > 0 || values->costs != NULL ||
           values->journal != NULL || values->delimiter != NULL || values->policy != NULL;
}

/* The list, if it is the only one and is read while commands run; NULL otherwise. */
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

static enum cleave_status open_stream(const struct cv_run_options *values,
                                      const char *const *paths, size_t npaths,
                                      struct cv_item_stream **out,
                                      struct cleave_error *err)
{
    struct cv_splitter *splitter;

    CV_TRY(cv_splitter_parse(values->split != NULL && strcmp(values->split, "auto") != 0
                                 ? values->split
                             : values->null ? "nul"
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

/* Add an item, or several that --delimiter separates. */
static enum cleave_status add_operand(const struct cv_call *call, const char *item,
                                      struct cv_item_lists *lists,
                                      struct cleave_error *err)
{
    const struct cv_run_options *values = call->values;
    const char *end;
    char mark = '\0';

    if (values->delimiter != NULL)
        item_delimiter(values->delimiter, &mark);
    while (mark != '\0' && (end = strchr(item, mark)) != NULL) {
        CV_TRY(cv_item_lists_add(lists, item, (size_t)(end - item), err));
        item = end + 1;
    }
    return cv_item_lists_add(lists, item, strlen(item), err);
}

/* Read the marks after the command, and the items or files after each. */
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
            CV_TRY(cv_item_lists_end(lists, err));
            mark = next;
            linked = next_linked;
            if (linked && mark == ITEMS && lists->count == 0)
                return cv_fail(err, CLEAVE_EINPUT,
                               "'%s' links its items to those of the list before it; no "
                               "list precedes it",
                               call->operands[i]);
            if (mark == ITEMS)
                CV_TRY(cv_item_lists_begin(lists, linked, err));
        } else if (mark == ITEMS) {
            CV_TRY(add_operand(call, call->operands[i], lists, err));
        } else {
            CV_TRY(read_file(call->values, call->operands[i], linked && lists->count > 0,
                             lists, err));
        }
    }
    return cv_item_lists_end(lists, err);
}

/* Read all lists, or open *stream for the only one. *stream is the caller's even after
 * a failure. */
static enum cleave_status item_lists_read(const struct cv_call *call,
                                          struct cv_item_lists *lists,
                                          struct cv_item_stream **stream,
                                          struct cleave_error *err)
{
    const struct cv_run_options *values = call->values;
    const size_t nwords = cv_item_command_words(call);
    const char *path = find_stream(call, nwords);
    struct cv_item_stream *each;
    bool ended = false;

    lists->link = values->link != 0;
    lists->skips_blank = values->skip_blank != 0;
    lists->end = values->eof;
    lists->continues = values->max_lines > 0;
    if (path != NULL) {
        CV_TRY(open_stream(values, &path, 1, stream, err));
        CV_TRY(cv_item_lists_begin(lists, false, err));
        /* Commands need the names of columns. */
        while (values->header != NULL && !ended && lists->items[0].count == 0)
            CV_TRY(cv_item_stream_read(*stream, lists, &ended, err));
        if (ended) {
            cv_item_stream_free(*stream);
            *stream = NULL;
        }
        return CLEAVE_OK;
    }
    if (values->each) {
        CV_TRY(cv_item_lists_begin(lists, false, err));
        CV_TRY(
            open_stream(values, values->inputs.items, values->inputs.count, &each, err));
        CV_TRY(cv_item_stream_read_all(each, lists, err));
    }
    for (size_t i = 0; i < values->item_files.count; i++)
        CV_TRY(read_file(values, values->item_files.items[i], false, lists, err));
    return read_operands(call, nwords, lists, err);
}

bool cv_run_items_asked(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;

    return values->each || values->item_files.count > 0 ||
           (!values->literal && cv_item_command_words(call) < call->noperands);
}

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

/* Join the words of each expression, {= s/a/b/ =}. NULL ends them. */
static void join_expressions(struct cv_arena *arena, const char **words)
{
    while (*words != NULL) {
        const char *begin = *words, *next;
        size_t more = 1, size = strlen(*words) + 1;
        char *joined;

        while ((next = strstr(begin, "{=")) != NULL &&
               (begin = strstr(next + 2, "=}")) != NULL)
            begin += 2;
        while (next != NULL && words[more] != NULL && strstr(words[more], "=}") == NULL)
            more++;
        if (next == NULL || words[more] == NULL) {
            words++;
            continue;
        }
        for (size_t i = 1; i <= more; i++)
            size += strlen(words[i]) + 1;
        joined = cv_need(arena, size, 1, "the command");
        strcpy(joined, words[0]);
        for (size_t i = 1; i <= more; i++)
            strcat(strcat(joined, " "), words[i]);
        words[0] = joined;
        for (size_t i = 1; words[i + more - 1] != NULL; i++)
            words[i] = words[i + more];
    }
}

int cv_run_items_open(const struct cv_call *call, uint32_t workers,
                      struct cv_run_items *out)
{
    const struct cv_run_options *values = call->values;
    const size_t nwords = cv_item_command_words(call);
    const char **words = cv_call_words(call, nwords);
    struct cv_item_lists lists = { .items = NULL };
    struct cv_item_stream *stream = NULL;
    struct cleave_error err;
    enum cleave_status status;

    CV_DO(check_values(values));
    if (!values->quote && !values->literal)
        join_expressions(call->arena, words);
    status = item_lists_read(call, &lists, &stream, &err);
    if (status != CLEAVE_OK)
        cv_item_stream_free(stream);
    if (status == CLEAVE_OK)
        status = cv_item_commands_init(
            &out->commands, &lists, stream,
            &(struct cv_item_options){
                .words = words,
                .replacements = { .none = values->literal != 0,
                                  .plus = values->plus != 0,
                                  .whole = values->replace,
                                  .definitions = values->rules.items,
                                  .ndefinitions = values->rules.count },
                .separator = values->colsep,
                .header = values->header != NULL,
                .no_arguments = values->max_args == 0 || values->max_replace_args == 0,
                .literal = values->quote != 0,
                .shows_line = values->verbose == CV_SHOW_STDOUT,
                .per = values->max_args != CV_ARGS_ONE ? values->max_args
                       : values->max_replace_args != CV_ARGS_ONE
                           ? values->max_replace_args
                           : values->max_lines,
                .many = values->fill || values->fill_words,
                .max_bytes =
                    values->max_chars > 0 ? (size_t)fmin(values->max_chars, 1e9) : 0,
                .repeats = values->fill_words ||
                           (values->max_lines > 0 && !values->fill) ||
                           (values->max_replace_args > 0 &&
                            values->max_replace_args != CV_ARGS_ONE),
                .spread = workers,
                .shuffle = values->shuffle ? cv_random_key() : 0,
                .remote = cv_hosts_asked(values) || values->mpi || values->slurm,
                .shown_only = values->dry_run != 0 },
            &err);
    cv_item_lists_done(&lists);
    if (status != CLEAVE_OK)
        return cv_print_status(&err);
    return cv_run_results_open(call, out);
}

/* --verbose. A line that cannot be made is an error of its command. */
static void write_line(const struct cv_run_items *items, uint64_t first, uint64_t count,
                       uint32_t slot)
{
    struct cv_text line = { NULL, 0, 0, false };
    struct cleave_error ignored;

    if (items->shown != NULL &&
        cv_item_commands_run_line(&items->commands, first, count, slot, &line,
                                  &ignored) == CLEAVE_OK &&
        line.bytes != NULL) {
        cv_text_add(&line, "\n");
        cv_run_progress_end(items->shown);
        cv_print_raw(&line);
    }
    cv_text_done(&line);
}

static enum cleave_status get_words(void *context, uint64_t item, uint32_t slot,
                                    char ***out, struct cleave_error *err)
{
    const struct cv_run_items *items = context;

    write_line(items, item, 1, slot);
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

    write_line(items, first, count, slot);
    return cv_item_commands_words(&some, 0, slot, out, err);
}

static enum cleave_status count_fitting(void *context, uint64_t first, uint64_t count,
                                        uint64_t *out, struct cleave_error *err)
{
    const struct cv_run_items *items = context;

    return cv_item_commands_fit(&items->commands, first, count, out, err);
}

static enum cleave_status get_files(void *context, uint64_t item, char ***out,
                                    struct cleave_error *err)
{
    const struct cv_run_items *items = context;
    struct cv_item_arguments arguments = { .items = NULL };
    struct cv_item_words names = { .bytes = NULL };
    enum cleave_status status =
        cv_item_arguments_get(&items->commands, item, &arguments, err);

    for (size_t i = 0; status == CLEAVE_OK && i < arguments.count; i++)
        cv_item_words_add(&names, arguments.items[i], strlen(arguments.items[i]));
    status = cv_item_words_take(&names, status, out, err);
    cv_item_arguments_done(&arguments);
    return status;
}

/* The command line, cut to fit a message. */
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

int cv_run_items_show(struct cv_run_items *items)
{
    struct cv_item_commands *commands = &items->commands;
    bool ended = commands->stream == NULL;

    for (uint64_t i = 0;;) {
        for (; i < commands->count; i++) {
            struct cv_text line = { NULL, 0, 0, false };
            struct cleave_error err;

            if (cv_item_commands_line(commands, i, 1, &line, &err) != CLEAVE_OK) {
                cv_text_done(&line);
                return cv_print_status(&err);
            }
            cv_text_add(&line, "\n");
            fwrite(line.bytes, 1, line.length, stdout);
            cv_text_done(&line);
            if (commands->stream != NULL)
                cv_item_commands_release(commands, i);
        }
        if (ended)
            return CV_EXIT_DONE;
        fflush(stdout); /* more may come much later */
        CV_CALL(cv_item_commands_more(commands, &ended, &err));
    }
}

/* Files of more items are not measured. A stat() takes 1 us; an item out of order
 * costs 30 us and 100 bytes. */
enum { MANY = 300000 };

struct sizes {
    const struct cv_item_commands *commands;
    double missing; /* size of an item without one; 0: an error */
    double *items;  /* in the arena */
    uint64_t count;
};

static int read_size(const struct sizes *sizes, uint64_t item, const char *text,
                     double *out)
{
    const char *expected;

    *out = sizes->missing;
    if (text[0] == '\0' && sizes->missing > 0)
        return CV_EXIT_DONE;
    expected = cv_quantity_parse(text, CV_UNITS, out);
    if (expected == NULL && *out < 0)
        expected = "expected a size of 0 or more";
    return expected == NULL
               ? CV_EXIT_DONE
               : cv_refuse("--weight: item %llu: %s, got '%s'",
                           (unsigned long long)item + 1, expected, CV_ECHO(text));
}

/* The bytes of the regular files among the arguments; below 0: none is one. */
static double bytes_of(const struct cv_item_arguments *arguments)
{
    double bytes = -1;
    struct stat now;

    for (size_t i = 0; i < arguments->count; i++)
        if (stat(arguments->items[i], &now) == 0 && S_ISREG(now.st_mode))
            bytes = fmax(bytes, 0) + (double)now.st_size;
    return bytes;
}

/* *out_all is false if a command has no file. */
static int measure_files(struct sizes *sizes, bool *out_all)
{
    struct cv_item_arguments arguments = { .items = NULL };
    struct cleave_error err = { .status = CLEAVE_OK };

    *out_all = true;
    for (uint64_t i = 0; i < sizes->count && *out_all && err.status == CLEAVE_OK; i++) {
        if (cv_item_arguments_get(sizes->commands, i, &arguments, &err) != CLEAVE_OK)
            break;
        sizes->items[i] = bytes_of(&arguments);
        *out_all = sizes->items[i] >= 0;
    }
    cv_item_arguments_done(&arguments);
    return err.status == CLEAVE_OK ? CV_EXIT_DONE : cv_print_status(&err);
}

static int read_values(struct sizes *sizes, const struct cv_item_key *key)
{
    int status = CV_EXIT_DONE;

    for (uint64_t i = 0; i < sizes->count && status == CV_EXIT_DONE; i++) {
        struct cv_text text = { NULL, 0, 0, false };

        status = cv_item_value(sizes->commands, i, key, &text);
        if (status == CV_EXIT_DONE)
            status = read_size(sizes, i, text.bytes, &sizes->items[i]);
        cv_text_done(&text);
    }
    return status;
}

/* Give all items to the command, columns separated by tabs, and wait for its end. */
static enum cleave_status weigh_items(const struct sizes *sizes,
                                      struct cv_weigher *weigher,
                                      struct cleave_error *err)
{
    struct cv_item_arguments arguments = { .items = NULL };
    struct cv_text line = { NULL, 0, 0, false };
    enum cleave_status status = CLEAVE_OK;

    for (uint64_t i = 0; i < sizes->count && status == CLEAVE_OK; i++) {
        status = cv_item_arguments_get(sizes->commands, i, &arguments, err);
        line.length = 0;
        for (size_t k = 0; k < arguments.count; k++)
            cv_text_add(&line, "%s%s", k > 0 ? "\t" : "", arguments.items[k]);
        cv_text_add(&line, "\n");
        if (line.failed)
            status = cv_fail_memory(err, "the weights of items");
        CV_THEN(status, cv_weigher_feed(weigher, line.bytes, line.length, err));
    }
    cv_text_done(&line);
    cv_item_arguments_done(&arguments);
    CV_THEN(status, cv_weigher_finish(weigher, err));
    return status;
}

static int read_answers(struct sizes *sizes, struct cv_weigher *weigher,
                        const char *command)
{
    const char *bytes;
    size_t length;
    uint64_t got = 0;

    for (; got < sizes->count && cv_weigher_next(weigher, &bytes, &length); got++) {
        char text[64];

        snprintf(text, sizeof text, "%.*s", (int)length, bytes);
        CV_DO(read_size(sizes, got, text + strspn(text, " "), &sizes->items[got]));
    }
    if (got == sizes->count && !cv_weigher_next(weigher, &bytes, &length))
        return CV_EXIT_DONE;
    return cv_refuse("--weight: expected a number for each of %llu %s from '%s', got %s",
                     (unsigned long long)sizes->count,
                     sizes->count == 1 ? "item" : "items", CV_ECHO(command),
                     got < sizes->count ? "fewer" : "more");
}

/* The command may end before it has read all items. */
static int ask_command(struct sizes *sizes, const char *command)
{
    void (*const before)(int) = signal(SIGPIPE, SIG_IGN);
    struct cv_weigher *weigher = NULL;
    struct cleave_error err;
    enum cleave_status status = cv_weigher_start(command, &weigher, &err);
    int code;

    CV_THEN(status, weigh_items(sizes, weigher, &err));
    code = status == CLEAVE_OK ? read_answers(sizes, weigher, command)
                               : cv_print_status(&err);
    cv_weigher_free(weigher);
    signal(SIGPIPE, before);
    return code;
}

static int read_weight(struct sizes *sizes, const char *weight)
{
    const enum cv_weight_kind kind = cv_weight_kind_of(weight);
    struct cv_item_key key = { "--weight", 0, weight, sizes->missing > 0 };

    if (kind == CV_WEIGHT_COLUMN) {
        key.column = strtoull(weight, NULL, 10);
        if (key.column == 0)
            return cv_refuse("--weight: expected a column, 1 or more, got 0");
    }
    return kind == CV_WEIGHT_COLUMN || kind == CV_WEIGHT_FIELD
               ? read_values(sizes, &key)
               : ask_command(sizes, weight);
}

struct cost {
    const char *command;
    double seconds;
};

static int by_command(const void *left, const void *right)
{
    return strcmp(((const struct cost *)left)->command,
                  ((const struct cost *)right)->command);
}

/* Commands that the log does not have get the mean. */
static int match(struct sizes *sizes, const struct cost *costs, uint64_t ncosts,
                 const char *path)
{
    double sum = 0;
    uint64_t known = 0;

    for (uint64_t i = 0; i < sizes->count; i++) {
        struct cv_text line = { NULL, 0, 0, false };
        const struct cost *found = NULL;
        struct cleave_error err;

        if (cv_item_commands_line(sizes->commands, i, 1, &line, &err) != CLEAVE_OK) {
            cv_text_done(&line);
            return cv_print_status(&err);
        }
        if (line.bytes != NULL)
            found = bsearch(&(struct cost){ .command = line.bytes }, costs,
                            (size_t)ncosts, sizeof *costs, by_command);
        cv_text_done(&line);
        sizes->items[i] = found != NULL ? found->seconds : -1;
        sum += found != NULL ? found->seconds : 0;
        known += found != NULL;
    }
    if (known == 0)
        return cv_refuse("--costs: '%s' has none of these commands", CV_ECHO(path));
    for (uint64_t i = 0; i < sizes->count; i++)
        if (sizes->items[i] < 0)
            sizes->items[i] = sum / (double)known;
    return CV_EXIT_DONE;
}

static int read_costs(struct sizes *sizes, const char *path, struct cv_arena *arena)
{
    struct cv_sizes log = { .sizes = NULL };
    struct cost *costs;

    CV_CALL(cv_sizes_read_log(path, NULL, arena, &log, &err));
    costs = cv_need(arena, (size_t)log.count, sizeof *costs, "the job log");
    for (uint64_t i = 0; i < log.count; i++)
        costs[i] = (struct cost){ log.names[i], log.sizes[i] };
    qsort(costs, (size_t)log.count, sizeof *costs, by_command);
    return match(sizes, costs, log.count, path);
}

static bool are_alike(const struct sizes *sizes)
{
    for (uint64_t i = 1; i < sizes->count; i++)
        if (sizes->items[i] != sizes->items[0])
            return false;
    return true;
}

/* Sizes of items, if known or asked for: then policy items decides who does which, and when. */
static int find_sizes(const struct cv_call *call, const struct cv_item_commands *commands,
                      uint32_t workers, struct cleave_execution *out)
{
    const struct cv_run_options *values = call->values;
    struct sizes sizes = { .commands = commands,
                           .missing = values->weight_default,
                           .count = commands->count };
    const struct cleave_policy *policy = cv_policy_of_items();
    bool all = true;
    int status;

    /* Policies for loads give out several items, and streams of items, in the order of
     * the list. */
    if (out->items.max > 1 || out->items.more != NULL)
        return CV_EXIT_DONE;
    if (values->policy != NULL)
        CV_CALL(cleave_policy_find(CLEAVE_TASK_ITEMS, values->policy, &policy, &err));
    out->policy.name = NULL;
    if (policy != cv_policy_of_items())
        return CV_EXIT_DONE;
    /* Without an option, files are measured only if their order can matter. */
    if (values->weight == NULL && values->costs == NULL && values->policy == NULL &&
        (values->shuffle || workers < 2 || sizes.count < 2 || sizes.count > MANY))
        return CV_EXIT_DONE;
    sizes.items = cv_need(call->arena, (size_t)sizes.count, sizeof *sizes.items,
                          "the sizes of items");
    if (values->weight != NULL)
        status = read_weight(&sizes, values->weight);
    else if (values->costs != NULL)
        status = read_costs(&sizes, values->costs, call->arena);
    else
        status = measure_files(&sizes, &all);
    if (status == CV_EXIT_DONE && !all && values->policy != NULL)
        return cv_refuse("--policy %s: not all items are files, so their costs are "
                         "unknown: give --weight or --costs",
                         values->policy);
    if (status != CV_EXIT_DONE || !all || sizes.count == 0 ||
        (are_alike(&sizes) && !cv_crew_has_weights(&out->workers)))
        return status;
    out->items.sizes = sizes.items;
    out->policy.name = cv_policy_of_items()->name;
    out->policy.block = 0;
    return CV_EXIT_DONE;
}

int cv_run_items_fill(const struct cv_call *call, struct cv_run_items *items,
                      uint32_t workers, struct cleave_execution *out)
{
    const struct cv_run_options *values = call->values;
    const struct cv_item_commands *commands = &items->commands;
    const char **words = cv_need(call->arena, 2, sizeof *words, "the command");
    char *program = commands->shell == NULL
                        ? cv_item_template_program(&commands->template)
                        : strdup(commands->shell);

    if (program == NULL)
        return cv_no_memory("the command");
    words[0] = cv_need_text(call->arena, program, "the command");
    free(program);
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
    out->input = (struct cleave_input){ .count = 0 };
    out->policy.block = 1;
    out->output.direct = values->ungroup != 0;
    out->output.lines = out->output.lines && !values->ungroup;
    out->output.early = false;
    if (values->many) {
        out->items.max = UINT32_MAX;
        out->items.fits = count_fitting;
        out->items.several = get_several;
        out->items.files = NULL;
        out->policy.block = 0;
    }
    CV_DO(cv_run_results_fill(call, items, out));
    CV_DO(cv_run_limits_fill(call, commands, &out->items));
    return find_sizes(call, commands, workers, out);
}
