/* verb_engines.c -- cleave engines. SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "cli/common/job_options.h"
#include "cli/common/output.h"
#include "cli/common/verb.h"
#include "io/json_out.h"
#include "report/terminal/table.h"

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
    for (size_t i = 0; i < cv_engine_count(); i++) {
        cv_field_line(&json, NULL);
        cv_field_text(&json, "name", cv_engine_at(i)->name);
        cv_field_bool(&json, "built", cv_engine_is_here(cv_engine_at(i)));
        cv_field_text(&json, "summary", cv_engine_at(i)->summary);
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
    for (size_t i = 0; i < cv_engine_count(); i++) {
        cv_table_text(&table, cv_engine_at(i)->name);
        cv_table_text(&table, cv_engine_is_here(cv_engine_at(i)) ? "here" : "missing");
        cv_table_text(&table, cv_engine_at(i)->summary);
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
