/* main.c -- the command line: words to verb, verb to exit status.
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include <cleave/version.h>
#include "cli/help.h"
#include "cli/kit/output.h"
#include "cli/verbs.h"

/* Run a verb with the words after its name. */
static int run_verb(const struct cv_verb *verb, int count, char *const *words)
{
    struct cv_arena arena;
    struct cv_parsed parsed;
    struct cv_text help = { NULL, 0, 0, false };
    void *values;
    int status;

    cv_arena_init(&arena);
    values = cv_array(&arena, 1, verb->values_size);
    if (values == NULL) {
        cv_arena_done(&arena);
        return cv_complain(CV_EXIT_FAILED, "out of memory for the arguments");
    }
    if (verb->presets != NULL && verb->values_size > 0)
        memcpy(values, verb->presets, verb->values_size);
    status = cv_options_parse(verb->groups, count, words, &arena, values, &parsed);
    if (status == CV_EXIT_DONE && parsed.help) {
        cv_help_verb(verb, &help);
        status = cv_print_take(&help);
    } else if (status == CV_EXIT_DONE && parsed.noperands > verb->max_operands) {
        char shown[CV_ECHO_ROOM];

        status =
            cv_complain(CV_EXIT_USAGE, "unexpected argument '%s'; see 'cleave %s --help'",
                        cv_echo(parsed.operands[verb->max_operands], shown), verb->name);
    } else if (status == CV_EXIT_DONE) {
        const struct cv_call call = { .values = values,
                                      .operands = parsed.operands,
                                      .noperands = parsed.noperands,
                                      .arena = &arena,
                                      .verb = verb,
                                      .nwords = count,
                                      .words = words };

        status = verb->run(&call);
    }
    cv_arena_done(&arena);
    return status;
}

/* Words that name no verb: options of the program itself, the start of several names,
 * or a mistake. */
static int run_other(int count, char *const *words, int started)
{
    struct cv_text text = { NULL, 0, 0, false };
    const bool help = count > started && (strcmp(words[started], "--help") == 0 ||
                                          strcmp(words[started], "-h") == 0);
    char shown[CV_ECHO_ROOM];

    if (help) {
        cv_help_list(started, (const char *const *)words, &text);
        return cv_print_take(&text);
    }
    if (count > 0 && strcmp(words[0], "--version") == 0)
        return run_verb(&cv_verb_version, 0, words);
    if (count > 0 && words[0][0] == '-')
        return cv_complain(CV_EXIT_USAGE,
                           "unknown option '%s' before the command; "
                           "known: --help, --version",
                           cv_echo(words[0], shown));
    if (count > 0 && started == 0)
        return cv_verb_unknown(count, (const char *const *)words);
    cv_help_list(started, (const char *const *)words, &text);
    if (!text.failed)
        fputs(text.bytes, stderr);
    cv_text_done(&text);
    return CV_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    const int count = argc > 0 ? argc - 1 : 0;
    char *const *words = argv + (argc > 0 ? 1 : 0);
    const struct cv_verb *verb;
    int used, status;

    cv_guard_streams();
    verb = cv_verb_find(count, (const char *const *)words, &used);
    if (verb != NULL)
        status = run_verb(verb, count - used, words + used);
    else
        status = run_other(count, words, used);
    return cv_finish_output(status);
}
