/* verb.c -- help, rules about options, and calling a verb. SPDX-License-Identifier: MIT */
#include "cli/common/verb.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/common/usage_hints.h"
#include "report/terminal/table.h"

enum { OPTION_COLUMN = 25 };

const struct cv_fact cv_environment_facts[] = {
    { "COLUMNS", "width of charts when stdout is not a terminal; 80 by default", NULL },
    { "NO_COLOR", "when set and not empty, no colours", NULL },
    { "LC_ALL, LC_CTYPE, LANG",
      "charts use block characters when the first of these that is set names UTF-8; "
      "numbers do not depend on the locale",
      NULL },
    { NULL, NULL, NULL },
};

const struct cv_fact cv_exit_facts[] = {
#define X(name, status, verb, meaning) { #status, meaning, verb },
    CV_EXIT_MAP(X)
#undef X
        { "128+N", "stopped by another signal N", "run" },
    { NULL, NULL, NULL },
};

const char cv_program_summary[] =
    "split one large load over unequal machines, and join their results";

const char cv_program_description[] =
    "Splits one large divisible load over machines with different speeds and links so "
    "that all of them finish together, and joins partial results along the cheapest "
    "tree. It plans, simulates and runs with the same code, and compares the result with "
    "a lower bound.";

const struct cv_option cv_help_option = { .name = "--help",
                                          .letter = 'h',
                                          .help = "Show this help; -h is short." };

static void wrap(struct cv_text *out, const char *words, size_t indent)
{
    cv_wrap(out, words, indent, indent, CV_HELP_WIDTH);
    cv_text_add(out, "\n");
}

void cv_help_usage(const struct cv_verb *verb, struct cv_text *out)
{
    const struct cv_option *option;

    cv_text_add(out, "cleave %s", verb->name);
    for (size_t i = 0; (option = cv_option_at(verb->groups, i)) != NULL; i++)
        if (option->required)
            cv_text_add(out, " %s %s", option->name, option->argument);
    cv_text_add(out, " [OPTION]...");
    if (verb->operands != NULL)
        cv_text_add(out, " %s", verb->operands);
}

static bool is_shown(const struct cv_option *option, enum cv_help_kind kind)
{
    return kind == CV_HELP_ALL || option->level == CV_FIRST ||
           (kind == CV_HELP_USUAL && option->level == CV_USUAL);
}

static bool has_shown(const struct cv_verb *verb, enum cv_help_kind kind)
{
    const struct cv_option *option;

    for (size_t i = 0; (option = cv_option_at(verb->groups, i)) != NULL; i++)
        if (is_shown(option, kind))
            return true;
    return false;
}

/* Keep the first sentence, without its full stop. */
static void cut_sentence(struct cv_text *text)
{
    char *end = text->failed ? NULL : strstr(text->bytes, ". ");

    if (end == NULL && !text->failed && text->length > 0)
        end = text->bytes + text->length - 1;
    if (end != NULL)
        *end = '\0';
}

void cv_help_option_row(const struct cv_option *o, enum cv_help_kind kind,
                        struct cv_text *out)
{
    struct cv_text help = { NULL, 0, 0, false };
    const size_t before = out->length;
    int length;

    if (o->letter != 0)
        cv_text_add(out, "  -%c, %s", o->letter, o->name);
    else
        cv_text_add(out, "      %s", o->name);
    if (o->argument != NULL)
        cv_text_add(out, " %s", o->argument);
    length = (int)(out->length - before);
    if (length >= OPTION_COLUMN)
        cv_text_add(out, "\n%*s", OPTION_COLUMN, "");
    else
        cv_text_add(out, "%*s", OPTION_COLUMN - length, "");
    cv_option_help(o, &help);
    if (kind == CV_HELP_SHORT)
        cut_sentence(&help);
    wrap(out, help.failed ? "" : help.bytes, OPTION_COLUMN);
    cv_text_end(&help, out);
}

/* The length of the first of several lines: up to a space outside of quotes, before an
 * option if that is far enough. */
static size_t example_part(const char *line, size_t length, size_t room)
{
    size_t part = 0, option = 0;
    bool quoted = false;

    if (length <= room)
        return length;
    for (size_t i = 0; i < length && (i + 2 <= room || part == 0); i++) {
        quoted ^= line[i] == '\'';
        if (line[i] == ' ' && !quoted)
            part = i;
        if (part == i && line[i + 1] == '-')
            option = i;
    }
    if (2 * option > room)
        return option;
    return part > 0 ? part : length;
}

const char *cv_help_example(const char *examples, size_t room, struct cv_text *out)
{
    enum { INDENT = 6 };
    size_t length = strcspn(examples, "\n");
    size_t part = example_part(examples, length, room);

    cv_text_add(out, "%.*s", (int)part, examples);
    while (part < length) {
        examples += part + 1;
        length -= part + 1;
        part = example_part(examples, length, room - INDENT);
        cv_text_add(out, " \\\n%*s%.*s", INDENT, "", (int)part, examples);
    }
    examples += length;
    return *examples == '\n' ? examples + 1 : examples;
}

void cv_help_examples(const char *examples, struct cv_text *out)
{
    cv_text_add(out, "\n%s:\n", strchr(examples, '\n') != NULL ? "Examples" : "Example");
    while (*examples != '\0') {
        struct cv_text lines = { NULL, 0, 0, false };
        char *rest, *line;

        examples = cv_help_example(examples, CV_HELP_WIDTH - 2, &lines);
        for (rest = lines.bytes; (line = strsep(&rest, "\n")) != NULL;)
            cv_text_add(out, "  %s\n", line);
        cv_text_end(&lines, out);
    }
}

bool cv_help_says(const struct cv_fact *fact, const struct cv_verb *verb)
{
    return verb == NULL || fact->verb == NULL || strcmp(fact->verb, verb->name) == 0;
}

void cv_help_facts(const struct cv_fact *facts, const struct cv_verb *verb,
                   struct cv_text *out)
{
    size_t width = 5;

    for (const struct cv_fact *fact = facts; fact->name != NULL; fact++)
        if (strlen(fact->name) > width)
            width = strlen(fact->name);
    for (; facts->name != NULL; facts++) {
        if (!cv_help_says(facts, verb))
            continue;
        cv_text_add(out, "  %-*s  ", (int)width, facts->name);
        wrap(out, facts->meaning, width + 4);
    }
}

static void add_short_help(const struct cv_verb *verb, struct cv_text *out)
{
    const struct cv_option *option;

    cv_text_add(out, "\n");
    for (size_t i = 0; (option = cv_option_at(verb->groups, i)) != NULL; i++)
        if (is_shown(option, CV_HELP_SHORT))
            cv_help_option_row(option, CV_HELP_SHORT, out);
    cv_help_examples(verb->examples, out);
    cv_text_add(out,
                "More: cleave %s --help; cleave help items|csv|hosts|reduce|formats|"
                "failures\n",
                verb->name);
}

void cv_help_verb(const struct cv_verb *verb, enum cv_help_kind kind, struct cv_text *out)
{
    const struct cv_option_group *group = verb->groups;

    cv_text_add(out, "Usage: ");
    cv_help_usage(verb, out);
    cv_text_add(out, "\n");
    if (kind == CV_HELP_SHORT && has_shown(verb, kind)) {
        add_short_help(verb, out);
        return;
    }
    if (kind == CV_HELP_SHORT)
        kind = CV_HELP_USUAL;
    cv_text_add(out, "\n");
    wrap(out, verb->description, 0);
    for (; group != NULL && group->title != NULL; group++) {
        cv_text_add(out, "\n%s:\n", group->title);
        for (size_t i = 0; i < group->count; i++)
            if (is_shown(&group->options[i], kind))
                cv_help_option_row(&group->options[i], kind, out);
    }
    cv_text_add(out, "\n%s:\n", verb->groups != NULL ? "Help" : "Options");
    cv_help_option_row(&cv_help_option, kind, out);
    cv_help_examples(verb->examples, out);
    cv_text_add(out, "\nExit status:\n");
    cv_help_facts(cv_exit_facts, verb, out);
    if (has_shown(verb, CV_HELP_SHORT))
        cv_text_add(out,
                    "\nMore: 'cleave help' lists the topics; 'cleave help all %s' has "
                    "every option.\n",
                    verb->name);
}

static bool takes(const struct cv_verb *verb, const char *name)
{
    return cv_option_find(verb->groups, name, strlen(name)) != NULL;
}

const char **cv_call_words(const struct cv_call *call, size_t count)
{
    const char **words = cv_need(call->arena, count + 1, sizeof *words, "the command");

    if (count > 0)
        memcpy(words, call->operands, count * sizeof *words);
    return words;
}

static int refuse_operand(const struct cv_verb *verb, const char *word, int count,
                          char *const *words)
{
    const char *shown = CV_ECHO(word);
    char one[CV_ECHO_ROOM];

    if (cv_usage_hint_unit(count, words, word, one, sizeof one))
        return cv_refuse(
            "unexpected argument '%s'; a number and its unit are one word: %s", shown,
            one);
    if (takes(verb, "--load") && word[0] >= '0' && word[0] <= '9')
        return cv_refuse("unexpected argument '%s'; if it is the load: --load %s", shown,
                         shown);
    if (takes(verb, "--input") && access(word, F_OK) == 0)
        return cv_refuse("unexpected argument '%s'; if it is an input: -i %s", shown,
                         shown);
    return cv_refuse("unexpected argument '%s'; see 'cleave %s --help'", shown,
                     verb->name);
}

int cv_verb_call(const struct cv_verb *verb, int count, char *const *words)
{
    struct cv_arena arena;
    struct cv_parsed parsed;
    struct cv_text help = { NULL, 0, 0, false };
    void *values;
    int status;

    cv_arena_init(&arena);
    values = cv_need(&arena, 1, verb->values_size, "the arguments");
    if (verb->presets != NULL && verb->values_size > 0)
        memcpy(values, verb->presets, verb->values_size);
    status =
        cv_options_parse(verb->groups,
                         &(struct cv_typed){ count, words, verb->command, verb->foreign },
                         &arena, values, &parsed);
    if (status != CV_EXIT_DONE && verb->refused != NULL)
        verb->refused(count, words, status);
    if (status == CV_EXIT_DONE && parsed.help != CV_HELP_NONE) {
        cv_help_verb(verb, parsed.help, &help);
        status = cv_print_take(&help);
    } else if (status == CV_EXIT_DONE && parsed.noperands > verb->max_operands) {
        status = refuse_operand(verb, parsed.operands[verb->max_operands], count, words);
    } else if (status == CV_EXIT_DONE) {
        const struct cv_call call = { .values = values,
                                      .operands = parsed.operands,
                                      .noperands = parsed.noperands,
                                      .marked = parsed.marked,
                                      .arena = &arena,
                                      .verb = verb,
                                      .nwords = count,
                                      .words = words };

        if (verb->rules != NULL)
            status = cv_options_check(&call, verb->rules, 0);
        if (status == CV_EXIT_DONE)
            status = cv_inputs_expand(&call, values);
        if (status == CV_EXIT_DONE && !verb->checks_files)
            status = cv_files_check(&call, NULL, 0);
        if (status == CV_EXIT_DONE)
            status = verb->run(&call);
    }
    cv_arena_done(&arena);
    return status;
}
