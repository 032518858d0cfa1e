/* run_items.c -- one command for each item: what was asked for. SPDX-License-Identifier: MIT
 *
 * The words and signs are those of GNU parallel; docs/guide/items.md has them all. */
#include "cli/run/run_items.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fail.h"
#include "cli/common/output.h"
#include "cli/run/run_item_files.h"
#include "cli/run/run_item_lists.h"
#include "cli/run/run_values.h"
#include "run/items/item_lists.h"

/* --- finding them ------------------------------------------------------------------------- */

bool cv_run_items_asked(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;

    return !values->literal && (values->each || values->item_files.count > 0 ||
                                cv_item_lists_words(call) < call->noperands);
}

int cv_run_items_missed(const struct cv_run_options *values)
{
    const char *name = values->null                      ? "--null"
                       : values->delimiter != NULL       ? "--delimiter"
                       : values->link                    ? "--link"
                       : values->colsep != NULL          ? "--colsep"
                       : values->replace != NULL         ? "--replace"
                       : values->rules.count > 0         ? "--rpl"
                       : values->quote                   ? "--quote"
                       : values->max_args != CV_ARGS_ONE ? "--max-args"
                       : values->max_lines > 0           ? "--max-lines"
                       : values->fill                    ? "--fill"
                       : values->fill_words              ? "--fill-words"
                       : values->many                    ? "--many"
                       : values->shuffle                 ? "--shuf"
                       : values->tag                     ? "--tag"
                       : values->tagstring != NULL       ? "--tagstring"
                       : values->results != NULL         ? "--results"
                       : values->files                   ? "--files"
                       : values->weight != NULL          ? "--weight"
                       : values->costs != NULL           ? "--costs"
                       : values->ungroup                 ? "--ungroup"
                       : values->transfers.count > 0     ? "--transferfile"
                       : values->transfer                ? "--transfer"
                       : values->returns.count > 0       ? "--return"
                       : values->basefiles.count > 0     ? "--basefile"
                       : values->cleanup                 ? "--cleanup"
                                                         : NULL;

    if (name == NULL)
        return CV_EXIT_DONE;
    /* Records of the input have ends of their own. */
    return cv_print_error(
        CV_EXIT_USAGE,
        "%s is for items, and there are none: say which behind the command, "
        "as in ... {} ::: *.txt, or %s",
        name,
        values->delimiter != NULL && !values->null
            ? "-a - for those of standard input"
            : "--each for the records of the input");
}

/* --- opening them ------------------------------------------------------------------------- */

/* What makes no sense together, of the places that items come from. */
static int check_lists(const struct cv_run_options *values)
{
    char mark;

    if (!values->each && (values->inputs.count > 0 || values->split != NULL))
        return cv_print_error(
            CV_EXIT_USAGE, "expected items or an input, got both: --each makes items of "
                           "the records of the input");
    if (values->delimiter != NULL && (values->each || values->null))
        return cv_print_error(
            CV_EXIT_USAGE,
            "--delimiter is for lists of items: expected -a FILE, or -a - for "
            "standard input, and no %s",
            values->each ? "--each" : "--null");
    if (values->delimiter != NULL && !cv_item_delimiter(values->delimiter, &mark))
        return cv_print_error(
            CV_EXIT_USAGE,
            "--delimiter: expected one byte, or one of \\n, \\t and \\0, got "
            "'%s'",
            values->delimiter);
    if (values->header != NULL && cv_header_how(values->header)[0] != '\0')
        return cv_print_error(
            CV_EXIT_USAGE,
            "--header: of items expected ':', the names in their first row, "
            "got '%s'",
            values->header);
    return CV_EXIT_DONE;
}

/* The same of how many a command gets. */
static int check_counts(const struct cv_run_options *values)
{
    if ((values->fill || values->fill_words) && values->max_lines > 0)
        return cv_print_error(CV_EXIT_USAGE, "expected -L or one of -m and -X, got both");
    if (values->max_args == 0 &&
        (values->max_lines > 0 || values->fill || values->fill_words))
        return cv_print_error(
            CV_EXIT_USAGE,
            "expected -n 0, which gives no items to commands, or one of -L, "
            "-m and -X, got both");
    if (values->many && (values->max_args != CV_ARGS_ONE || values->max_lines > 0 ||
                         values->fill || values->fill_words))
        return cv_print_error(CV_EXIT_USAGE,
                              "expected --many or one of -n, -L, -m and -X, got both");
    if (values->many &&
        (values->tag || values->tagstring != NULL || values->results != NULL ||
         values->files || values->journal != NULL || values->weight != NULL ||
         values->costs != NULL || values->transfers.count > 0 || values->transfer ||
         values->returns.count > 0 || values->ungroup || values->line_buffer))
        return cv_print_error(
            CV_EXIT_USAGE,
            "with --many items have no command of their own: expected none of --tag, "
            "--results, --files, --journal, --weight, --costs, --transferfile, --return, "
            "--ungroup and --line-buffer");
    if (values->block > 0)
        return cv_print_error(
            CV_EXIT_USAGE,
            "items are done one at a time: expected no --block; -n N gives N "
            "of them to a command");
    return CV_EXIT_DONE;
}

/* The same of what becomes of outputs. */
static int check_outputs(const struct cv_run_options *values)
{
    if (values->ungroup && (values->tag || values->tagstring != NULL))
        return cv_print_error(
            CV_EXIT_USAGE,
            "with --ungroup nothing is known of lines: expected neither --tag nor "
            "--tagstring, or --line-buffer instead");
    if ((values->ungroup || values->line_buffer) &&
        (values->results != NULL || values->files || values->reduce != NULL ||
         values->journal != NULL))
        return cv_print_error(CV_EXIT_USAGE,
                              "with %s nothing is known of outputs: expected none of "
                              "--results, --files, --reduce and --journal",
                              values->ungroup ? "--ungroup" : "--line-buffer");
    if (values->ungroup && (cv_hosts_asked(values) || values->mpi || values->slurm))
        return cv_print_error(
            CV_EXIT_USAGE,
            "commands on hosts cannot write to the output themselves: expected "
            "no --ungroup; --line-buffer writes each line as it comes");
    if (values->persistent || values->header_out != NULL || values->pairs != NULL ||
        values->isolate || values->failed != NULL || values->cat)
        return cv_print_error(
            CV_EXIT_USAGE,
            "expected items or one of --persistent, --cat, --header-out, "
            "--pairs, --isolate and --failed, which are for chunks of an input");
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
    const size_t nwords = cv_item_lists_words(call);
    const char **words = cv_array(call->arena, nwords + 1, sizeof *words);
    struct cv_item_lists lists = { .items = NULL };
    struct cv_item_stream *stream = NULL;
    struct cleave_error err;
    enum cleave_status status;

    if (check_lists(values) != CV_EXIT_DONE || check_counts(values) != CV_EXIT_DONE ||
        check_outputs(values) != CV_EXIT_DONE)
        return CV_EXIT_USAGE;
    if (words == NULL)
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the command");
    memcpy(words, call->operands, nwords * sizeof *words);
    status = cv_item_lists_read(call, &lists, &stream, &err);
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

    for (size_t i = 0; status == CLEAVE_OK && i < arguments.count; i++)
        cv_item_words_add(&names, arguments.items[i], strlen(arguments.items[i]));
    status = cv_item_words_take(&names, status, out, err);
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
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the command");
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
