/* verb_sample.c -- cleave sample. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/text.h"
#include "cli/common/output.h"
#include "cli/common/verb.h"
#include "cli/sample/sample.h"
#include "io/json_out.h"
#include "report/terminal/table.h"

struct sample_options {
    const char *output;
    uint64_t records, seed;
    int list, force, json;
};

#define FIELD(name) offsetof(struct sample_options, name)

static const struct sample_options presets = {
    .output = ".",
    .records = 20000,
    .seed = 1,
};

/* clang-format off */
static const struct cv_option sample_options[] = {
    { .name = "--list", .value = 1, .offset = FIELD(list),
      .help = "Write nothing, but list what there is." },
    { .name = "--records", .kind = CV_OPTION_COUNT, .argument = "N", .offset = FIELD(records),
      .min = 1, .max = 1e9,
      .help = "How many lines the larger files have; the others have a share of it. "
              "Default 20000, which makes 10 MB in all." },
    { .name = "--seed", .kind = CV_OPTION_COUNT, .argument = "N", .offset = FIELD(seed),
      .help = "Files depend on this and on nothing else. Default 1." },
    { .name = NULL },
};

static const struct cv_option output_options[] = {
    { .name = "--output", .letter = 'o', .kind = CV_OPTION_TEXT, .argument = "DIR",
      .offset = FIELD(output),
      .help = "Write into this folder, which is made if it is not there. Default: the present "
              "one. Files that exist are kept." },
    { .name = "--force", .value = 1, .offset = FIELD(force),
      .help = "Replace files that exist." },
    { .name = "--json", .value = 1, .offset = FIELD(json),
      .help = "Write what was made, or the list, as JSON: name, what and bytes of each." },
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = {
    { "Samples", sample_options },
    { "Output", output_options },
    { NULL, NULL },
};

/* What of all that there is was asked for, and what became of it. */
struct choice {
    const struct sample_options *values;
    struct cv_arena *arena;
    bool *wanted;
    size_t count;
    struct cv_json json;
    uint64_t files, bytes;
};

static const char *name_at(const void *context, size_t index)
{
    (void)context;
    return cv_sample_name(index);
}

static int choose(const struct cv_call *call, struct choice *choice)
{
    char hint[512], shown[CV_ECHO_ROOM];

    for (size_t i = 0; i < choice->count; i++)
        choice->wanted[i] = call->noperands == 0;
    for (size_t k = 0; k < call->noperands; k++) {
        size_t i = 0;

        while (i < choice->count && strcmp(cv_sample_name(i), call->operands[k]) != 0)
            i++;
        if (i == choice->count) {
            cv_echo(call->operands[k], shown);
            cv_suggest(shown, choice->count, name_at, NULL, hint, sizeof hint);
            return cv_print_error(CV_EXIT_USAGE, "no sample '%s'%s", shown, hint);
        }
        choice->wanted[i] = true;
    }
    return CV_EXIT_DONE;
}

static void tell(struct choice *choice, size_t index, const uint64_t *bytes)
{
    if (!choice->values->json)
        return;
    cv_field_line(&choice->json, NULL);
    cv_field_text(&choice->json, "name", cv_sample_name(index));
    cv_field_text(&choice->json, "what", cv_sample_what(index));
    if (bytes != NULL)
        cv_field_count(&choice->json, "bytes", *bytes);
    cv_json_end(&choice->json);
}

/* --- the list ----------------------------------------------------------------------------- */

static int show_list(struct choice *choice)
{
    const struct cv_column columns[] = { { "name", CV_COLUMN_TEXT },
                                         { "what it is", CV_COLUMN_TEXT } };
    const struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    struct cv_table table;

    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < choice->count; i++) {
        if (!choice->wanted[i])
            continue;
        tell(choice, i, NULL);
        cv_table_text(&table, cv_sample_name(i));
        cv_table_text(&table, cv_sample_what(i));
    }
    if (!choice->values->json)
        cv_table_write(&table, screen.colour, screen.width, &text);
    cv_table_done(&table);
    return cv_print_take(&text);
}

/* --- files -------------------------------------------------------------------------------- */

/* Where the sample goes, in the arena of the call; NULL: no memory. */
static char *path_of(const struct choice *choice, size_t index)
{
    const char *folder = choice->values->output, *name = cv_sample_name(index);
    const size_t room = strlen(folder) + strlen(name) + 2;
    char *path = cv_array(choice->arena, room, 1);

    if (path == NULL)
        return NULL;
    if (strcmp(folder, ".") == 0)
        snprintf(path, room, "%s", name);
    else
        snprintf(path, room, "%s/%s", folder, name);
    return path;
}

/* Nothing is written unless all can be. */
static int check_files(const struct choice *choice)
{
    char shown[CV_ECHO_ROOM];

    for (size_t i = 0; i < choice->count; i++) {
        struct stat facts;
        const char *path = choice->wanted[i] ? path_of(choice, i) : "";

        if (path == NULL)
            return cv_print_error(CV_EXIT_FAILED, "out of memory");
        if (*path != '\0' && !choice->values->force && lstat(path, &facts) == 0)
            return cv_print_error(
                CV_EXIT_USAGE,
                "--output: '%s' exists; use --force to replace it, or -o DIR "
                "to write elsewhere",
                cv_echo(path, shown));
    }
    return CV_EXIT_DONE;
}

static int write_file(struct choice *choice, size_t index)
{
    const struct cv_sample_terms terms = { .seed = choice->values->seed,
                                           .records = choice->values->records };
    char *path = path_of(choice, index);
    struct cv_output_file out;
    struct cleave_error err;
    uint64_t bytes;
    bool failed;
    int status;

    if (path == NULL)
        return cv_print_error(CV_EXIT_FAILED, "out of memory");
    if (cv_folders_make(path, &err) != CLEAVE_OK)
        return cv_print_error(CV_EXIT_USAGE, "--output: %s", err.text);
    status = cv_output_open(&out, "--output", path,
                            choice->values->force ? 0 : CV_NEW_FILE_ONLY);
    if (status != CV_EXIT_DONE)
        return status;
    failed = !cv_sample_write(index, &terms, out.file);
    if (failed)
        cv_print_error(CV_EXIT_FAILED, "out of memory");
    fflush(out.file);
    bytes = cv_new_file_size(&out.made);
    status = cv_output_close(&out, failed);
    if (status == CV_EXIT_DONE && cv_sample_program(index) && chmod(path, 0755) != 0)
        status =
            cv_print_error(CV_EXIT_FAILED, "--output: cannot make '%s' a command: %s",
                           path, strerror(errno));
    choice->files++;
    choice->bytes += bytes;
    tell(choice, index, &bytes);
    return status;
}

static int write_files(struct choice *choice)
{
    char counted[CV_COUNTED_ROOM], shown[CV_ECHO_ROOM];
    int status = check_files(choice);

    for (size_t i = 0; status == CV_EXIT_DONE && i < choice->count; i++) {
        if (choice->wanted[i])
            status = write_file(choice, i);
    }
    if (status == CV_EXIT_DONE && !choice->values->json)
        printf("%s of %.3g MB in all, in %s\n",
               cv_counted(choice->files, "file", counted), (double)choice->bytes / 1e6,
               strcmp(choice->values->output, ".") == 0
                   ? "this folder"
                   : cv_echo(choice->values->output, shown));
    return status;
}

static int run(const struct cv_call *call)
{
    struct choice choice = { .values = call->values, .arena = call->arena };
    int status, closed;

    choice.count = cv_sample_count();
    choice.wanted = cv_array(call->arena, choice.count, sizeof *choice.wanted);
    if (choice.wanted == NULL)
        return cv_print_error(CV_EXIT_FAILED, "out of memory");
    status = choose(call, &choice);
    if (status != CV_EXIT_DONE)
        return status;
    if (choice.values->json) {
        cv_result_open(&choice.json);
        cv_field_list(&choice.json, "samples");
    }
    status = choice.values->list ? show_list(&choice) : write_files(&choice);
    if (choice.values->json) {
        cv_json_end(&choice.json);
        closed = cv_result_close(&choice.json);
        status = status != CV_EXIT_DONE ? status : closed;
    }
    return status;
}

const struct cv_verb cv_verb_sample = {
    .name = "sample",
    .summary = "write files to try things on",
    .description =
        "Writes the files that examples of help and documents name: logs, tables, "
        "JSON, reads, texts, files of several sizes, small commands and the platform "
        "files of examples/. All of them, or those that are named.",
    .operands = "[NAME]...",
    .max_operands = 100,
    .groups = groups,
    .examples = "cleave sample --list\n"
                "cleave sample access.log logs/mon.log -o try",
    .presets = &presets,
    .values_size = sizeof(struct sample_options),
    .run = run,
};
