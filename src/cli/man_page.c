/* man_page.c -- man pages, made from the same tables as --help.
 * SPDX-License-Identifier: MIT */
#include "cli/common/verb.h"

#include <ctype.h>
#include <string.h>
#include <cleave/version.h>
#include "cli/verbs.h"

/* `length` bytes as roff text: hyphens that can be copied, no accidental requests. */
static void add_roff(struct cv_text *out, const char *text, size_t length)
{
    bool line_start = true;

    for (size_t i = 0; i < length; i++) {
        const char c = text[i];

        if (line_start && (c == '.' || c == '\''))
            cv_text_add(out, "\\&");
        if (c == '-')
            cv_text_add(out, "\\-");
        else if (c == '\\')
            cv_text_add(out, "\\e");
        else if (c == '\n')
            cv_text_add(out, "\n.PP\n");
        else
            cv_text_add(out, "%c", c);
        line_start = c == '\n';
    }
}

static void add_text(struct cv_text *out, const char *text)
{
    add_roff(out, text, strlen(text));
}

/* "cleave-plan-load" for "plan load". */
static void add_page_name(struct cv_text *out, const struct cv_verb *verb, bool upper)
{
    cv_text_add(out, "%s", upper ? "CLEAVE" : "cleave");
    if (verb == NULL)
        return;
    cv_text_add(out, "\\-");
    for (const char *c = verb->name; *c != '\0'; c++) {
        if (*c == ' ')
            cv_text_add(out, "\\-");
        else
            cv_text_add(out, "%c", upper ? toupper((unsigned char)*c) : *c);
    }
}

static void add_head(struct cv_text *out, const struct cv_verb *verb, const char *summary)
{
    cv_text_add(out,
                ".\\\" Made by 'cleave help --man': edit the option tables instead.\n");
    cv_text_add(out, ".TH ");
    add_page_name(out, verb, true);
    cv_text_add(out, " 1 \"\" \"cleave %s\" \"cleave manual\"\n.SH NAME\n",
                CLEAVE_VERSION);
    add_page_name(out, verb, false);
    cv_text_add(out, " \\- ");
    add_text(out, summary);
    cv_text_add(out, "\n");
}

static void add_options(struct cv_text *out, const struct cv_option *options)
{
    for (const struct cv_option *o = options; o->name != NULL; o++) {
        struct cv_text help = { NULL, 0, 0, false };

        cv_text_add(out, ".TP\n");
        if (o->letter != 0)
            cv_text_add(out, "\\fB\\-%c\\fR, ", o->letter);
        cv_text_add(out, "\\fB");
        add_text(out, o->name);
        cv_text_add(out, "\\fR");
        if (o->argument != NULL) {
            cv_text_add(out, " \\fI");
            add_text(out, o->argument);
            cv_text_add(out, "\\fR");
        }
        cv_text_add(out, "\n");
        cv_option_help(o, &help);
        add_text(out, help.failed ? "" : help.bytes);
        out->failed = out->failed || help.failed;
        cv_text_done(&help);
        cv_text_add(out, "\n");
    }
}

static void add_facts(struct cv_text *out, const char *title, const struct cv_fact *facts,
                      const struct cv_verb *verb)
{
    cv_text_add(out, ".SH %s\n", title);
    for (; facts->name != NULL; facts++) {
        if (!cv_help_says(facts, verb))
            continue;
        cv_text_add(out, ".TP\n\\fB%s\\fR\n", facts->name);
        add_text(out, facts->meaning);
        cv_text_add(out, "\n");
    }
}

static void add_examples(struct cv_text *out, const char *examples)
{
    enum { ROOM = 72 }; /* columns beside the margin of a page */

    cv_text_add(out, ".SH EXAMPLES\n.nf\n");
    while (*examples != '\0') {
        struct cv_text lines = { NULL, 0, 0, false };

        examples = cv_help_example(examples, ROOM, &lines);
        for (const char *line = lines.bytes; line != NULL && *line != '\0';) {
            const size_t length = strcspn(line, "\n");

            add_roff(out, line, length);
            cv_text_add(out, "\n");
            line += length + (line[length] == '\n');
        }
        out->failed = out->failed || lines.failed;
        cv_text_done(&lines);
    }
    cv_text_add(out, ".fi\n");
}

static void add_verb(struct cv_text *out, const struct cv_verb *verb)
{
    const struct cv_option_group *group = verb->groups;
    struct cv_text usage = { NULL, 0, 0, false };

    cv_text_add(out, ".SH SYNOPSIS\n");
    cv_help_usage(verb, &usage);
    add_text(out, usage.bytes != NULL ? usage.bytes : "");
    out->failed = out->failed || usage.failed;
    cv_text_done(&usage);
    cv_text_add(out, "\n.SH DESCRIPTION\n");
    add_text(out, verb->description);
    cv_text_add(out, "\n.SH OPTIONS\n");
    for (; group != NULL && group->title != NULL; group++) {
        cv_text_add(out, ".SS ");
        add_text(out, group->title);
        cv_text_add(out, "\n");
        add_options(out, group->options);
    }
    if (verb->groups != NULL)
        cv_text_add(out, ".SS Help\n");
    add_options(out, cv_help_option);
    add_examples(out, verb->examples);
}

static void add_program(const struct cv_verb_list *verbs, struct cv_text *out)
{
    cv_text_add(out, ".SH SYNOPSIS\ncleave COMMAND [OPTION]...\n.SH DESCRIPTION\n");
    add_text(out, cv_program_description);
    cv_text_add(out, "\n.SH COMMANDS\n");
    for (size_t i = 0; i < verbs->count; i++) {
        const struct cv_verb *verb = verbs->items[i];

        cv_text_add(out, ".TP\n\\fB");
        add_page_name(out, verb, false);
        cv_text_add(out, "\\fR(1)\n");
        add_text(out, verb->summary);
        cv_text_add(out, "\n");
    }
}

void cv_man_page(const struct cv_verb_list *verbs, const struct cv_verb *verb,
                 struct cv_text *out)
{
    add_head(out, verb, verb != NULL ? verb->summary : cv_program_summary);
    if (verb != NULL)
        add_verb(out, verb);
    else
        add_program(verbs, out);
    add_facts(out, "EXIT STATUS", cv_exit_facts, verb);
    add_facts(out, "ENVIRONMENT", cv_environment_facts, verb);
    if (verb != NULL)
        cv_text_add(out, ".SH SEE ALSO\n\\fBcleave\\fR(1)\n");
}
