/* verb_engines.c -- cleave engines. SPDX-License-Identifier: MIT */
#include <string.h>
#include <cleave/simgrid.h>
#include "base/text.h"
#include "cli/engines.h"
#include "cli/json_fields.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "report/table.h"

struct engine_fact {
    const char *name, *summary;
    /* Whether it can be used; NULL: always. On failure err says what to do about it. */
    enum cleave_status (*find)(char *path, size_t size, struct cleave_error *err);
};

static const struct engine_fact engines[] = {
    { "native", "the built-in simulator: fast, seeded, the same on any number of threads",
      NULL },
    { "simgrid", "SimGrid, in a process of its own: topologies whose links are shared",
      cleave_simgrid_find },
};

enum { ENGINES = sizeof engines / sizeof *engines };

static bool is_here(const struct engine_fact *engine)
{
    return engine->find == NULL || engine->find(NULL, 0, NULL) == CLEAVE_OK;
}

static const char *engine_name(const void *context, size_t index)
{
    (void)context;
    return engines[index].name;
}

int cv_engine_check(const char *name)
{
    char hint[256], shown[CV_ECHO_ROOM];
    struct cleave_error err;

    if (name == NULL)
        return CV_EXIT_DONE;
    for (size_t i = 0; i < ENGINES; i++) {
        if (strcmp(engines[i].name, name) != 0)
            continue;
        if (engines[i].find == NULL || engines[i].find(NULL, 0, &err) == CLEAVE_OK)
            return CV_EXIT_DONE;
        return cv_complain_error(&err);
    }
    cv_echo(name, shown);
    cv_suggest(shown, ENGINES, engine_name, NULL, hint, sizeof hint);
    return cv_complain(CV_EXIT_USAGE, "--engine: unknown engine '%s'%s", shown, hint);
}

struct engines_options {
    int json;
};

/* clang-format off */
static const struct cv_option options[] = {
    { .name = "--json", .value = 1, .offset = offsetof(struct engines_options, json),
      .help = "Write JSON: name, built and summary of each engine." },
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = { { "Output", options }, { NULL, NULL } };

static int show_json(void)
{
    struct cv_json json;

    cv_result_open(&json);
    cv_field_list(&json, "engines");
    for (size_t i = 0; i < ENGINES; i++) {
        cv_field_line(&json, NULL);
        cv_field_text(&json, "name", engines[i].name);
        cv_field_bool(&json, "built", is_here(&engines[i]));
        cv_field_text(&json, "summary", engines[i].summary);
        cv_json_end(&json);
    }
    cv_json_end(&json);
    return cv_result_close(&json);
}

static int run(const struct cv_call *call)
{
    static const struct cv_column columns[] = {
        { "engine", CV_COLUMN_TEXT },
        { "state", CV_COLUMN_TEXT },
        { "what it is", CV_COLUMN_TEXT },
    };
    const struct engines_options *values = call->values;
    struct cv_text text = { NULL, 0, 0, false };
    const struct cv_screen screen = cv_screen_facts();
    struct cv_table table;

    if (values->json)
        return show_json();
    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < ENGINES; i++) {
        cv_table_text(&table, engines[i].name);
        cv_table_text(&table, is_here(&engines[i]) ? "here" : "missing");
        cv_table_text(&table, engines[i].summary);
    }
    cv_table_write(&table, screen.colour, screen.width, &text);
    cv_table_done(&table);
    return cv_print_take(&text);
}

const struct cv_verb cv_verb_engines = {
    .name = "engines",
    .summary = "list what can simulate or run a schedule",
    .description =
        "Lists the engines that --engine takes, and whether they are here. simgrid is a "
        "program of its own, cleave-simgrid, which is built where SimGrid is installed.",
    .groups = groups,
    .examples = "cleave engines",
    .values_size = sizeof(struct engines_options),
    .run = run,
};
