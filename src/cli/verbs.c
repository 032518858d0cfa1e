/* verbs.c -- the table of verbs, and help, man pages and completions.
 * SPDX-License-Identifier: MIT */
#include "cli/verbs.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <cleave/version.h>
#include "cli/task/task.h"
#include "run/common/shell.h"

static bool starts_with(const struct cv_verb *verb, int count, const char *const *words)
{
    const char *name = verb->name;

    for (int i = 0; i < count; i++) {
        const size_t length = strlen(words[i]);

        if (length == 0 || strncmp(name, words[i], length) != 0 ||
            (name[length] != '\0' && name[length] != ' '))
            return false;
        name += length;
        if (*name == ' ')
            name++;
        else if (i + 1 < count)
            return false;
    }
    return true;
}

static bool is_file(const char *name)
{
    struct stat info;

    return stat(name, &info) == 0 && S_ISREG(info.st_mode);
}

static int words_in(const char *name)
{
    int count = 1;

    for (; *name != '\0'; name++)
        count += *name == ' ';
    return count;
}

const struct cv_verb *cv_verb_find(int count, const char *const *words, int *out_used)
{
    int plain = 0, started = 0;

    while (plain < count && words[plain][0] != '-')
        plain++;
    *out_used = 0;
    for (size_t i = 0; i < cv_verbs.count; i++) {
        const int needed = words_in(cv_verbs.items[i]->name);

        if (needed <= plain && starts_with(cv_verbs.items[i], needed, words)) {
            *out_used = needed;
            return cv_verbs.items[i];
        }
        if (plain > 0 && plain < needed && starts_with(cv_verbs.items[i], plain, words))
            started = plain;
    }
    *out_used = started;
    return NULL;
}

/* Names to offer for a mistyped one: verbs with the same first word, else first words. */
struct offer {
    const char *names[CV_VERBS_MAX];
    size_t count;
    char first[CV_VERBS_MAX][24];
};

static const char *offered(const void *context, size_t index)
{
    const struct offer *offer = context;

    return offer->names[index];
}

static void offer_first_words(struct offer *offer)
{
    for (size_t i = 0; i < cv_verbs.count; i++) {
        char *word = offer->first[offer->count];

        snprintf(word, sizeof offer->first[0], "%.*s",
                 (int)strcspn(cv_verbs.items[i]->name, " "), cv_verbs.items[i]->name);
        if (!cv_is_one_of(word, offer->names, offer->count))
            offer->names[offer->count++] = word;
    }
}

/* Refuse the name of another program that cleave run or cleave help replaces; CV_EXIT_DONE: it
 * is another word. */
static int refuse_program(int count, const char *const *words)
{
    static const char *const others[][2] = {
        { "parallel", "run" },
        { "xargs", "run -a -" },
        { "man", "help" },
    };
    struct cv_text line = { NULL, 0, 0, false };
    int status = CV_EXIT_DONE;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(words[0], others[i][0]) != 0)
            continue;
        cv_text_add(&line, "cleave %s", others[i][1]);
        cv_shell_words_append(&line, (const char *const *)words + 1, (size_t)count - 1);
        status = cv_refuse("unknown command '%s'; instead: %s", words[0],
                           line.failed ? others[i][1] : line.bytes);
    }
    cv_text_done(&line);
    return status;
}

int cv_verb_unknown(int count, const char *const *words)
{
    struct offer offer = { .count = 0 };
    char typed[2 * CV_ECHO_ROOM + 1], hint[512];

    CV_DO(refuse_program(count, words));
    snprintf(typed, sizeof typed, "%s", CV_ECHO(words[0]));
    for (size_t i = 0; i < cv_verbs.count; i++) {
        if (starts_with(cv_verbs.items[i], 1, words))
            offer.names[offer.count++] = cv_verbs.items[i]->name;
    }
    if (offer.count == 0)
        offer_first_words(&offer);
    else if (count > 1)
        snprintf(typed, sizeof typed, "%s %s", words[0], CV_ECHO(words[1]));
    cv_suggest(typed, offer.count, offered, &offer, hint, sizeof hint);
    if (strncmp(hint, "; known", 7) == 0 && is_file(words[0]))
        return cv_refuse(
            "unknown command '%s'; if it is an input: cleave run -i %s COMMAND [ARG]...",
            typed, typed);
    for (int i = 1; i < count; i++)
        if (strncmp(words[i], ":::", 3) == 0 && cv_is_program(words[0]))
            return cv_refuse("unknown command '%s'; to run it for each item: cleave run "
                             "%s ... ::: ITEM...",
                             CV_ECHO(words[0]), words[0]);
    if (strncmp(hint, "; known", 7) == 0 && cv_is_program(words[0]))
        return cv_refuse(
            "unknown command '%s'; to run %s on an input: cleave run -i FILE %s [ARG]...",
            typed, typed, typed);
    return cv_refuse("unknown command '%s'%s", typed, hint);
}

/* Refuse a word after 'help'. */
static int refuse_topic(const char *word)
{
    struct offer offer = { .count = 0 };
    char hint[512];
    const char *topic;

    offer_first_words(&offer);
    for (size_t i = 0; (topic = cv_help_topic_name(i)) != NULL; i++)
        offer.names[offer.count++] = topic;
    cv_suggest(CV_ECHO(word), offer.count, offered, &offer, hint, sizeof hint);
    return cv_refuse("unknown command or topic '%s'%s", CV_ECHO(word),
                     strncmp(hint, "; known", 7) == 0 ? "; 'cleave help' lists them"
                                                      : hint);
}

void cv_help_list(int count, const char *const *words, struct cv_text *out)
{
    cv_text_add(out, "Usage: cleave");
    for (int i = 0; i < count; i++)
        cv_text_add(out, " %s", words[i]);
    cv_text_add(out, " COMMAND [OPTION]...\n");
    if (count == 0) {
        cv_text_add(out, "\n");
        cv_wrap(out, cv_program_description, 0, 0, CV_HELP_WIDTH);
        cv_text_add(out, "\n");
    }
    cv_text_add(out, "\nCommands:\n");
    for (size_t i = 0; i < cv_verbs.count; i++) {
        const struct cv_verb *verb = cv_verbs.items[i];

        if (starts_with(verb, count, words))
            cv_text_add(out, "  %-16s %s\n", verb->name, verb->summary);
    }
    if (count == 0)
        cv_help_topics(out);
    cv_text_add(out,
                "\n'cleave COMMAND --help' explains a command and shows an example.\n");
}

static const char program_examples[] =
    "cleave run -i big.csv -o out.csv ./score\n"
    "cleave run gzip -k ::: *.log\n"
    "cleave run --hosts a,b -i big.jsonl -o out ./parse\n"
    "cleave check -i access.log -- awk '{ n += $10 } END { print n }'\n"
    "cleave split -n 8 -i reads.fastq -o 'part-{}.fastq'\n"
    "cleave plan load --platform lab.yaml --load '10 GB'";

void cv_help_short(struct cv_text *out)
{
    cv_text_add(out, "Usage: cleave COMMAND [OPTION]...\n\n");
    for (size_t i = 0; i < cv_verbs.count; i++)
        if (cv_verbs.items[i]->is_first)
            cv_text_add(out, "  %-16s %s\n", cv_verbs.items[i]->name,
                        cv_verbs.items[i]->summary);
    cv_help_examples(program_examples, out);
    cv_text_add(out, "More: cleave --help, cleave COMMAND -h, cleave help TOPIC\n");
}

/* As roff: hyphens that can be copied, no accidental requests. */
static void add_text(struct cv_text *out, const char *text)
{
    bool line_start = true;

    for (; *text != '\0'; text++) {
        const char c = *text;

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

static void add_option(struct cv_text *out, const struct cv_option *o)
{
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
    cv_text_end(&help, out);
    cv_text_add(out, "\n");
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
    enum { ROOM = 72 }; /* columns next to the margin */

    cv_text_add(out, ".SH EXAMPLES\n.nf\n");
    while (*examples != '\0') {
        struct cv_text lines = { NULL, 0, 0, false };
        char *rest, *line;

        examples = cv_help_example(examples, ROOM, &lines);
        for (rest = lines.bytes; (line = strsep(&rest, "\n")) != NULL;) {
            add_text(out, line);
            cv_text_add(out, "\n");
        }
        cv_text_end(&lines, out);
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
    cv_text_end(&usage, out);
    cv_text_add(out, "\n.SH DESCRIPTION\n");
    add_text(out, verb->description);
    cv_text_add(out, "\n.SH OPTIONS\n");
    for (; group != NULL && group->title != NULL; group++) {
        cv_text_add(out, ".SS ");
        add_text(out, group->title);
        cv_text_add(out, "\n");
        for (size_t i = 0; i < group->count; i++)
            add_option(out, &group->options[i]);
    }
    if (verb->groups != NULL)
        cv_text_add(out, ".SS Help\n");
    add_option(out, &cv_help_option);
    add_examples(out, verb->examples);
}

static void add_program(struct cv_text *out)
{
    cv_text_add(out, ".SH SYNOPSIS\ncleave COMMAND [OPTION]...\n.SH DESCRIPTION\n");
    add_text(out, cv_program_description);
    cv_text_add(out, "\n.SH COMMANDS\n");
    for (size_t i = 0; i < cv_verbs.count; i++) {
        const struct cv_verb *verb = cv_verbs.items[i];

        cv_text_add(out, ".TP\n\\fB");
        add_page_name(out, verb, false);
        cv_text_add(out, "\\fR(1)\n");
        add_text(out, verb->summary);
        cv_text_add(out, "\n");
    }
}

/* `verb` NULL: the page of the program. */
static void man_page(const struct cv_verb *verb, struct cv_text *out)
{
    add_head(out, verb, verb != NULL ? verb->summary : cv_program_summary);
    if (verb != NULL)
        add_verb(out, verb);
    else
        add_program(out);
    add_facts(out, "EXIT STATUS", cv_exit_facts, verb);
    add_facts(out, "ENVIRONMENT", cv_environment_facts, verb);
    if (verb != NULL)
        cv_text_add(out, ".SH SEE ALSO\n\\fBcleave\\fR(1)\n");
}

struct help_options {
    int man, verbs;
};

#undef CV_VALUES
#define CV_VALUES struct help_options
/* clang-format off */
static const struct cv_option help_options[] = {
    CV_FLAG(0, "--man", 1, man,
        "Write the man page instead, in roff. Without a command: the page of the program "
        "itself."),
    CV_FLAG(0, "--commands", 1, verbs,
        "List the names of the commands, one per line, for scripts."),
};
/* clang-format on */

static int run_help(const struct cv_call *call)
{
    const struct help_options *values = call->values;
    const bool all = call->noperands > 0 && strcmp(call->operands[0], "all") == 0;
    const char *const preset[] = { "run", NULL };
    const char *const *words = call->operands + all;
    int count = (int)call->noperands - all;
    struct cv_text text = { NULL, 0, 0, false };
    const struct cv_verb *verb = NULL;
    int used = 0;

    if (values->verbs) {
        for (size_t i = 0; i < cv_verbs.count; i++)
            printf("%s\n", cv_verbs.items[i]->name);
        return CV_EXIT_DONE;
    }
    if (count == 1 && !all && !values->man &&
        cv_help_topic(words[0], cv_verb_find(1, (const char *const[]){ "run" }, &used),
                      &text))
        return cv_print_take(&text);
    if (all && count == 0) {
        words = preset;
        count = 1;
    }
    if (count > 0) {
        verb = cv_verb_find(count, words, &used);
        if (verb != NULL && used < count)
            return cv_refuse("unexpected argument '%s'; expected 'cleave help %s'",
                             CV_ECHO(words[used]), verb->name);
        if (used == 0 && count == 1 && !all && !values->man)
            return refuse_topic(words[0]);
        if (used < count)
            return cv_verb_unknown(count, words);
        if (verb == NULL && values->man)
            return cv_refuse("no man page for '%s' alone", words[0]);
    }
    if (values->man)
        man_page(verb, &text);
    else if (verb != NULL)
        cv_help_verb(verb, all ? CV_HELP_ALL : CV_HELP_USUAL, &text);
    else
        cv_help_list(count, words, &text);
    return cv_print_take(&text);
}

static const struct cv_verb cv_verb_help = {
    .name = "help",
    .summary = "explain a command or a topic",
    .is_first = true,
    .description =
        "Explain a command, as COMMAND --help does, or a topic: items, csv, hosts, "
        "reduce, formats or failures. 'all' shows every option of cleave run, 'all "
        "COMMAND' those of another command. Without a word, list commands and topics.",
    .operands = "[all] [COMMAND...|TOPIC]",
    .max_operands = 8,
    .groups = CV_GROUPS(CV_GROUP("Output", help_options)),
    .examples = "cleave help plan load\ncleave help csv",
    .values_size = sizeof(struct help_options),
    .run = run_help,
};

static const struct {
    const char *name;
    void (*write)(const struct cv_verb_list *verbs, struct cv_text *out);
} shells[] = {
    { "bash", cv_completion_bash },
    { "zsh", cv_completion_zsh },
    { "fish", cv_completion_fish },
};

enum { SHELLS = sizeof shells / sizeof *shells };

static const char *shell_name(const void *context, size_t index)
{
    (void)context;
    return shells[index].name;
}

static int run_completions(const struct cv_call *call)
{
    struct cv_text text = { NULL, 0, 0, false };
    size_t shell;

    if (call->noperands == 0)
        return cv_refuse("expected the name of a shell: bash, zsh or fish");
    CV_DO(cv_name_find("unknown shell", call->operands[0], SHELLS, shell_name, NULL,
                       &shell));
    shells[shell].write(&cv_verbs, &text);
    return cv_print_take(&text);
}

static const struct cv_verb cv_verb_completions = {
    .name = "completions",
    .summary = "a script that completes command lines: bash, zsh or fish",
    .description =
        "Writes a script that lets a shell complete commands, options and policy names. "
        "'make install' puts the scripts where the shells look for them. Without it, "
        "source the script in ~/.bashrc, or in ~/.zshrc after compinit: 'source <(cleave "
        "completions zsh)'. For fish, save the script in ~/.config/fish/completions.",
    .operands = "bash|zsh|fish",
    .max_operands = 1,
    .examples = "cleave completions bash\ncleave completions fish",
    .run = run_completions,
};

extern const struct cv_task_kind cv_task_load, cv_task_reduce, cv_task_streams,
    cv_task_items, cv_task_loads;
extern const struct cv_verb cv_verb_run, cv_verb_check, cv_verb_batch_script,
    cv_verb_slurm_script, cv_verb_split, cv_verb_join, cv_verb_keygen, cv_verb_worker,
    cv_verb_calibrate, cv_verb_report, cv_verb_replay, cv_verb_platform, cv_verb_sample,
    cv_verb_policies, cv_verb_engines, cv_verb_figures, cv_verb_version;

/* In the order of the help. */
/* clang-format off */
static const struct cv_verb *const table[] = {
    &cv_verb_run,              &cv_verb_check,          &cv_verb_split,
    &cv_verb_join,             &cv_verb_keygen,         &cv_verb_worker,
    &cv_verb_batch_script,     &cv_verb_slurm_script,
    &cv_verb_calibrate,        &cv_task_load.plan,      &cv_task_reduce.plan,
    &cv_task_streams.plan,     &cv_task_items.plan,     &cv_task_loads.plan,
    &cv_task_load.simulate,    &cv_task_reduce.simulate, &cv_task_streams.simulate,
    &cv_task_items.simulate,   &cv_task_loads.simulate, &cv_task_load.compare,
    &cv_task_reduce.compare,   &cv_task_items.compare,  &cv_task_loads.compare,
    &cv_verb_report,           &cv_verb_replay,         &cv_verb_platform,
    &cv_verb_sample,           &cv_verb_policies,       &cv_verb_engines,
    &cv_verb_figures,          &cv_verb_version,        &cv_verb_completions,
    &cv_verb_help
};
/* clang-format on */
_Static_assert(sizeof table / sizeof *table <= CV_VERBS_MAX, "raise CV_VERBS_MAX");

const struct cv_verb_list cv_verbs = { table, sizeof table / sizeof *table };
