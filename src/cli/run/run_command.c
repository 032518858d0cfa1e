/* run_command.c -- the command as it was typed, and what was meant instead.
 * SPDX-License-Identifier: MIT
 *
 * A chunk comes on standard input: only of items something is put between the words of a
 * command. Those who forgot to say what the items are are told what to type, because a brace
 * that is passed on as it is ends in a file of that name, or in nothing done and no word of
 * it. */
#include "cli/run/run_command.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file_target.h"
#include "base/text.h"
#include "cli/common/output.h"
#include "cli/run/run_mistakes.h"
#include "cli/run/run_options.h"
#include "run/items/item_commands.h"

/* "{3}", "{3.}", "{-1/}" and the like, and nothing else: inside of a word it is rather how
 * often a pattern repeats. */
static bool is_position(const char *word)
{
    static const char *const ends[] = { "}", ".}", "/}", "//}", "/.}" };

    if (word[0] != '{')
        return false;
    word += word[1] == '-' ? 2 : 1;
    if (*word < '0' || *word > '9')
        return false;
    return cv_is_one_of(word + strspn(word, "0123456789"), ends,
                        sizeof ends / sizeof *ends);
}

/* Where in a word a place for an item is, and how long; NULL: nowhere. A shell's own
 * ${#} is none. */
static const char *find_place(const char *word, size_t *length)
{
    static const char *const forms[] = {
        "{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{%}"
    };

    if (is_position(word)) {
        *length = strlen(word);
        return word;
    }
    for (const char *at = word; (at = strchr(at, '{')) != NULL; at++) {
        if (at > word && at[-1] == '$')
            continue;
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
            if (strncmp(at, forms[i], strlen(forms[i])) == 0) {
                *length = strlen(forms[i]);
                return at;
            }
    }
    return NULL;
}

/* Whether the command itself knows what to put in their place: xargs, find, parallel. */
static bool knows_places(const struct cv_call *call)
{
    static const char *const programs[] = { "xargs", "parallel", "-exec" };

    for (size_t i = 0; i < call->noperands; i++)
        for (size_t p = 0; p < sizeof programs / sizeof *programs; p++)
            if (strstr(call->operands[i], programs[p]) != NULL)
                return true;
    return false;
}

static int refuse_place(const char *place, size_t length)
{
    return cv_refuse(
        "'%.*s' in the command stands for an item, and there are none: say which behind "
        "the command, as in ... {} ::: *.txt, or --each for the records of the input. A "
        "chunk comes on standard input. --literal passes braces on",
        (int)length, place);
}

static int check_items(const struct cv_call *call)
{
    const bool places = !knows_places(call);

    for (size_t i = 0; i < call->noperands && places; i++) {
        size_t length = 0;
        const char *place = find_place(call->operands[i], &length);

        if (place != NULL)
            return refuse_place(place, length);
    }
    return CV_EXIT_DONE;
}

static bool is_plain_file(const char *name)
{
    struct stat facts;

    return stat(name, &facts) == 0 && S_ISREG(facts.st_mode);
}

/* "-i a b -- wc", also as "-i *.txt -- wc": b is no command, but another input. */
static int check_inputs(const struct cv_call *call)
{
    char shown[CV_ECHO_ROOM];
    const char *several;
    size_t files = 0;

    while (files < call->noperands && is_plain_file(call->operands[files]))
        files++;
    if (files == 0)
        return CV_EXIT_DONE;
    cv_echo(call->operands[0], shown);
    /* The shell has put names in the place of a pattern. */
    several = files > 1 ? ", and for a pattern -i 'PATTERN', in quotes" : "";
    if (files < call->noperands && strcmp(call->operands[files], "--") == 0)
        return cv_refuse(
            "'%s' would be the command, because it is the first word that is no option. "
            "If it is an input: -i %s%s; if it is the command, put '--' before it",
            shown, shown, several);
    if (cv_item_is_program(call->operands[0]))
        return CV_EXIT_DONE;
    return cv_refuse(
        "'%s' would be the command, because it is the first word that is no option, but "
        "it is a file that cannot be run. If it is an input: -i %s%s",
        shown, shown, several);
}

/* Whether it has what the shell of POSIX lacks and people type all the same. */
static bool needs_bash(const char *line)
{
    return strstr(line, "<(") != NULL || strstr(line, ">(") != NULL ||
           strstr(line, "<<<") != NULL || strstr(line, "[[") != NULL;
}

/* A whole line in one word, as shells and GNU parallel take it. */
static int check_line(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;
    const char *line = call->operands[0];
    char shown[CV_ECHO_ROOM];

    if (values->cat || call->noperands != 1 || strpbrk(line, " |<>;&") == NULL ||
        cv_item_is_program(line))
        return CV_EXIT_DONE;
    cv_echo(line, shown);
    if (strpbrk(line, "|<>;&") == NULL)
        return cv_refuse("'%s' is one word, and no program is called so: without quotes "
                         "around all of it, it is a command and its arguments: %s",
                         shown, shown);
    /* A quote inside would end one outside. */
    return cv_refuse("'%s' is one word, and no program is called so: as a line for a "
                     "shell it is %s -c %s%s%s",
                     shown, needs_bash(line) ? "bash" : "sh",
                     strchr(line, '\'') != NULL ? "\"" : "'", shown,
                     strchr(line, '\'') != NULL ? "\"" : "'");
}

/* parallel <commands: the lines are commands. */
static int complain_of_none(const struct cv_call *call)
{
    const bool run = strcmp(call->verb->name, "run") == 0; /* the only one with items */
    const struct cv_run_options *values = run ? call->values : NULL;
    struct stat facts;
    const bool lines =
        run && values->inputs.count == 0 && fstat(STDIN_FILENO, &facts) == 0 &&
        (S_ISFIFO(facts.st_mode) || (S_ISREG(facts.st_mode) && facts.st_size > 0));

    return cv_refuse("expected a command: cleave %s -i FILE COMMAND [ARG]...%s",
                     call->verb->name,
                     lines ? "; to run the lines of standard input: cleave run -a -"
                           : "");
}

int cv_run_command_check(const struct cv_call *call, bool literal, bool items)
{
    int status = CV_EXIT_DONE;

    if (call->noperands == 0 && !items)
        return complain_of_none(call);
    if (!call->marked)
        status = check_inputs(call);
    if (status == CV_EXIT_DONE && !literal && !items)
        status = check_items(call);
    if (status == CV_EXIT_DONE && !literal && !items)
        status = check_line(call);
    return status;
}

/* Whether a word is among the words of the command, or of a line in it for a shell. */
static bool has_word(const struct cv_call *call, const char *word)
{
    static const char ends[] = " \t\n|;&()'\"";
    const size_t length = strlen(word);

    for (size_t i = 0; i < call->noperands; i++)
        for (const char *at = call->operands[i]; (at = strstr(at, word)) != NULL; at++)
            if ((at == call->operands[i] || strchr(ends, at[-1]) != NULL) &&
                strchr(ends, at[length]) != NULL)
                return true;
    return false;
}

/* The program in the command that undoes what has been undone already; NULL: none. */
static const char *find_decoder(const struct cv_call *call)
{
    static const char *const programs[] = { "zcat",  "gunzip",  "gzcat",  "bzcat",
                                            "xzcat", "zstdcat", "lz4cat", "bunzip2",
                                            "unxz",  "unzstd",  "unlz4" };
    static const char *const ends[] = { ".gz", ".bgz", ".bz2", ".xz", ".zst", ".lz4" };
    const struct cv_run_options *values = call->values;
    bool compressed = false;

    for (size_t i = 0; i < values->inputs.count; i++)
        for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
            compressed = compressed || cv_name_ends_in(values->inputs.items[i], ends[e]);
    for (size_t p = 0; compressed && p < sizeof programs / sizeof *programs; p++)
        if (has_word(call, programs[p]))
            return programs[p];
    return NULL;
}

/* A sign that only a shell makes something of, as a word of its own; NULL: none. */
static const char *find_sign(const struct cv_call *call)
{
    static const char *const signs[] = { "|", "||", "&&", ">", ">>", "<" };

    for (size_t i = 1; i < call->noperands; i++)
        if (cv_is_one_of(call->operands[i], signs, sizeof signs / sizeof *signs))
            return call->operands[i];
    return NULL;
}

/* The most likely reason why no command could do anything with its chunk. */
static void hint_all_failed(const struct cv_call *call, bool several)
{
    const char *decoder = find_decoder(call), *sign = find_sign(call);

    if (decoder != NULL)
        cv_print_error(CV_EXIT_FAILED,
                       "all chunks failed: compressed inputs are decoded, so leave %s "
                       "away; --decode none gives the bytes as they are",
                       decoder);
    else if (sign != NULL)
        cv_print_error(CV_EXIT_FAILED,
                       "all chunks failed: '%s' was an argument of the command; a line "
                       "for a shell is sh -c '... %s ...'",
                       sign, sign);
    else if (several)
        cv_print_error(CV_EXIT_FAILED,
                       "all chunks failed: does the command read standard input?");
}

static void hint_empty(const struct cv_call *call)
{
    static const char *const inputs[] = { "-i", "--input" };
    const struct cv_run_options *values = call->values;
    char shown[CV_ECHO_ROOM];
    size_t at = 1, files = 0;

    if (values->inputs.count > 0 || values->fetch != NULL) {
        if (!values->quiet)
            cv_print_error(CV_EXIT_DONE, "the input is empty, so no command was started");
        return;
    }
    while (at < call->noperands && !is_plain_file(call->operands[at]))
        at++;
    while (at + files < call->noperands && is_plain_file(call->operands[at + files]))
        files++;
    if (files > 0)
        cv_echo(call->operands[at], shown);
    if (files > 0 &&
        cv_is_one_of(call->operands[at - 1], inputs, sizeof inputs / sizeof *inputs))
        cv_print_error(CV_EXIT_DONE,
                       "standard input was empty, and '%s %s' is behind the command, "
                       "which got it: options of cleave stand before the command",
                       call->operands[at - 1], shown);
    else if (files > 1)
        cv_print_error(CV_EXIT_DONE,
                       "standard input was empty, and %zu files are arguments of the "
                       "command; to run it for each of them: ... ::: %s ...",
                       files, shown);
    else if (files > 0)
        cv_print_error(CV_EXIT_DONE,
                       "standard input was empty, and '%s' is an argument of the "
                       "command; if it is the input: -i %s",
                       shown, shown);
    else if (!values->quiet)
        cv_print_error(CV_EXIT_DONE, "standard input was empty; an input is -i FILE");
}

/* The program whose status is that of the line: the first word behind its last pipe. What is in
 * quotes may hold other bars, and then it is none that is known. */
static const char *last_program(const char *line, char word[CV_ECHO_ROOM])
{
    const char *bar = strrchr(line, '|');

    if (bar != NULL && bar > line && bar[-1] != '|')
        line = bar + 1;
    line += strspn(line, " ");
    snprintf(word, CV_ECHO_ROOM, "%.*s", (int)strcspn(line, " "), line);
    return cv_file_name(word);
}

void cv_run_command_hint(const struct cv_call *call, const struct cv_run_outcome *how)
{
    static const char *const searching[] = { "grep", "egrep", "fgrep", "zgrep", "rg" };
    const struct cv_run_options *values = call->values;
    char word[CV_ECHO_ROOM];
    const char *program =
        call->noperands > 0 ? last_program(call->operands[0], word) : "";
    const bool searched =
        how->failed > 0 && how->by_one &&
        cv_is_one_of(program, searching, sizeof searching / sizeof *searching);

    if (searched)
        cv_print_error(CV_EXIT_FAILED,
                       "%s exits with status 1 where it finds nothing, and that counts "
                       "as failed: %s'%s ... || [ $? = 1 ]' is content with it",
                       program, how->items ? "" : "sh -c ", program);
    if (how->failed > 0 && how->all && !searched &&
        cv_run_mistakes_failed(call, how->items, how->hosts))
        return;
    if (how->items && how->empty && !values->quiet)
        cv_print_error(CV_EXIT_DONE, "there are no items, so no command was started");
    if (how->items)
        return; /* each of them has been told */
    if (how->rest && how->failed > 1 && values->header == NULL && !searched)
        cv_print_error(CV_EXIT_FAILED, "all chunks but the first failed: has the input a "
                                       "header? --header gives it to every command");
    if (how->failed > 0 && how->all && !searched)
        hint_all_failed(call, how->failed > 1 && !how->halted);
    if (how->chunks > 1 && !how->form_told)
        cv_run_mistakes_form(call);
    if (how->chunks > 1 || (how->result != NULL && how->result->seems_endless))
        cv_run_mistakes_seeming(call, how->result);
    if (how->chunks > 1)
        cv_run_mistakes_headers(call, how->result);
    if (how->empty)
        hint_empty(call);
    else if (how->failed == 0)
        cv_run_mistakes_hint(call, how->chunks, how->bytes);
}

bool cv_run_command_asks(const char *const *words)
{
    const char *program = words[0] != NULL ? cv_file_name(words[0]) : NULL;

    if (program != NULL &&
        (strcmp(program, "env") == 0 || strcmp(program, "printenv") == 0))
        return true;
    /* Who works has a name before it is known what he does. */
    for (; *words != NULL; words++)
        for (const char *at = *words; (at = strstr(at, "CLEAVE")) != NULL; at++)
            if (strncmp(at, "CLEAVE_WORKER", 13) != 0 &&
                strncmp(at, "CLEAVE_SLOT", 11) != 0)
                return true;
    return false;
}

/* --- a chunk as a file -------------------------------------------------------------------- */

/* A shell where the command runs, be it on another machine, puts it there: so nothing else has to
 * know. The words of the command are one line for it, as with items. */

/* $1 is the line. The name is put in as it is, as mktemp makes it, unless TMPDIR has characters
 * that a shell would see something in: those are refused by their one word. */
static const char script[] =
    "f=$(mktemp \"${TMPDIR:-/tmp}/cleave-cat.XXXXXXXXXX\") || exit 125\n"
    "trap 'rm -f \"$f\"' EXIT\n"
    "trap 'exit 143' TERM\n"
    "trap 'exit 130' INT\n"
    "trap 'exit 129' HUP\n"
    "case $f in *[!A-Za-z0-9/._-]*)\n"
    "    echo \"cleave: --cat: expected a TMPDIR of letters, digits, '/', '.', '_' and "
    "'-', got '$TMPDIR'\" >&2; exit 125 ;;\n"
    "esac\n"
    "cat >\"$f\" || exit 125\n"
    "left=$1 line=\n"
    "while case $left in *'{}'*) true ;; *) false ;; esac; do\n"
    "    line=$line${left%%'{}'*}$f left=${left#*'{}'}\n"
    "done\n"
    "eval \"$line$left\" </dev/null\n";

int cv_run_cat(const struct cv_call *call, const char *const **words)
{
    const char **made = cv_array(call->arena, 6, sizeof *made);
    struct cv_text line = { NULL, 0, 0, false };

    for (size_t i = 0; i < call->noperands; i++)
        cv_text_add(&line, "%s%s", i > 0 ? " " : "", call->operands[i]);
    if (!line.failed && line.bytes != NULL && strstr(line.bytes, "{}") == NULL)
        cv_text_add(&line, " {}");
    if (made != NULL && !line.failed && line.bytes != NULL) {
        made[0] = "/bin/sh";
        made[1] = "-c";
        made[2] = script;
        made[3] = "cleave-cat";
        made[4] = cv_arena_text(call->arena, line.bytes);
        *words = made;
    }
    cv_text_done(&line);
    return made != NULL && made[4] != NULL ? CV_EXIT_DONE : cv_no_memory("the command");
}
