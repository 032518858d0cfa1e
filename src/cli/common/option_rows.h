/* option_rows.h -- rows that the option tables of several verbs have.
 * SPDX-License-Identifier: MIT
 *
 * WHERE(name) is the offset of a field, which is called the same in the values of all these
 * verbs. */
#ifndef CV_OPTION_ROWS_H
#define CV_OPTION_ROWS_H
#include "cli/common/options.h"
#include "cli/common/trace_output.h"

/* clang-format off */
#define CV_ROW_PARAM(WHERE)                                                             \
    { .name = "--param", .kind = CV_OPTION_REPEAT, .argument = "KEY=VALUE",             \
      .offset = WHERE(params),                                                          \
      .help = "Set a parameter of the policy, as 'cleave policies NAME' lists them. May " \
              "be given several times." }
#define CV_ROW_PARAM_OF_ALL(WHERE)                                                      \
    { .name = "--param", .kind = CV_OPTION_REPEAT, .argument = "KEY=VALUE",             \
      .offset = WHERE(params),                                                          \
      .help = "Set a parameter of all policies; those without it do not apply. May be " \
              "given several times." }

#define CV_ROW_SEED(WHERE)                                                              \
    { .name = "--seed", .kind = CV_OPTION_COUNT, .argument = "N",                       \
      .offset = WHERE(seed),                                                            \
      .help = "Random numbers depend on this and nothing else. Default 1." }
#define CV_ROW_RUNS(WHERE, of_what)                                                     \
    { .name = "--runs", .letter = 'n', .kind = CV_OPTION_COUNT, .argument = "N",        \
      .offset = WHERE(runs), .min = 1, .max = 1e8,                                   \
      .help = "How many runs" of_what ". Default 1000." }
#define CV_ROW_THREADS(WHERE)                                                           \
    { .name = "--threads", .letter = 'j', .kind = CV_OPTION_COUNT, .argument = "N",     \
      .offset = WHERE(threads), .min = 0, .max = 4096,                               \
      .help = "Threads to use; results do not depend on it. Default 0: one per core." }
#define CV_ROW_ENGINE(WHERE)                                                            \
    { .name = "--engine", .kind = CV_OPTION_TEXT, .argument = "NAME",                   \
      .offset = WHERE(engine),                                                          \
      .help = "What simulates: one of 'cleave engines'. Default native, or simgrid with " \
              "--topology." }

#define CV_ROW_ALL_WORKERS(WHERE)                                                       \
    { .name = "--all-workers", .value = 1, .offset = WHERE(all_workers),                \
      .help = "List every worker, however many there are." }
#define CV_ROW_GANTT(WHERE)                                                             \
    { .name = "--gantt", .value = 1, .offset = WHERE(gantt),                            \
      .help = "Draw a chart of the schedule; this is the default." },                   \
    { .name = "--no-gantt", .value = 0, .offset = WHERE(gantt),                         \
      .help = "Draw no chart." }
#define CV_ROW_WIDTH(WHERE, of_what)                                                    \
    { .name = "--width", .kind = CV_OPTION_COUNT, .argument = "COLUMNS",                \
      .offset = WHERE(width), .min = 40, .max = 1000,                                \
      .help = "Width of " of_what ". Default: that of the terminal." }
/* `what` is written: "Write every event and order". */
#define CV_ROW_TRACE(WHERE, what)                                                       \
    { .name = "--trace", .kind = CV_OPTION_TEXT, .argument = "FILE",                    \
      .offset = WHERE(trace), .file = CV_FILE_WRITTEN,                                  \
      .help = what " to this file, as JSON lines. A file of that name is replaced. "    \
              CV_TRACE_FORMATS_HELP }
/* clang-format on */

#endif
