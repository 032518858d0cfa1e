/* run_words.c -- the meaning of the words of a call: a line or words, items or chunks.
 * SPDX-License-Identifier: MIT
 *
 * One word that is not a program is a line for a shell. Several words stay words; a sign between
 * them, as '|', makes a line of them. */
#include "cli/run/run_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file_target.h"
#include "run/common/command.h"
#include "run/common/shell.h"

/* The words that run a line. Hosts look for the shell in their PATH. */
static int set_line(struct cv_call *call, struct cv_text *line, bool remote)
{
    const char **words = cv_need(call->arena, 4, sizeof *words, "the command");
    char *shell = cv_shell_find(), name[256];

    words[0] = shell != NULL
                   ? cv_need_text(call->arena, remote ? cv_file_name(shell) : shell,
                                  "the command")
                   : NULL;
    words[1] = "-c";
    words[2] = cv_text_take(line, call->arena);
    free(shell);
    if (words[0] == NULL || words[2] == NULL)
        return cv_no_memory("the command");
    if (!remote && cv_line_lacks_program(words[0], words[2], name, sizeof name))
        CV_CALL(cv_cannot_find(name, &err));
    call->operands = words;
    call->noperands = 3;
    return CV_EXIT_DONE;
}

/* Whether a shell would do nothing to the line but split it at blanks. */
static bool is_plain(const char *line)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-.,:/@%+^ \t";

    return line[strspn(line, plain)] == '\0';
}

/* Whether the shell has a command of its own with this name. */
static bool shell_knows(const char *word)
{
    char *shell = cv_shell_find();
    const bool known = shell != NULL && cv_shell_knows(shell, word);

    free(shell);
    return known;
}

static int shape_line(struct cv_call *call, bool remote)
{
    const char *line = call->operands[0];
    struct cv_text text = { NULL, 0, 0, false };
    struct cv_words words = { .arena = call->arena };

    if (cv_is_program(line) || access(line, F_OK) == 0)
        return CV_EXIT_DONE;
    cv_text_add(&text, "%s", line);
    if (!is_plain(line))
        return set_line(call, &text, remote);
    cv_words_split(&words, line);
    cv_words_done(&words);
    if (words.failed || words.count == 0) {
        cv_text_done(&text);
        return words.failed ? cv_no_memory("the command") : CV_EXIT_DONE;
    }
    if (!cv_is_program(words.items[0]) && shell_knows(words.items[0]))
        return set_line(call, &text, remote);
    cv_text_done(&text);
    call->operands = words.items;
    call->noperands = words.count;
    return CV_EXIT_DONE;
}

static int refuse_file(const char *sign, const char *file)
{
    return sign[0] == '<'
               ? cv_refuse("'%s' '%s': a chunk comes on standard input; if '%s' is an "
                           "argument: --quote",
                           sign, CV_ECHO(file), sign)
               : cv_refuse(
                     "'%s' '%s': every command would overwrite the same file: -o FILE "
                     "takes all outputs, '>>' appends; if '%s' is an argument: --quote",
                     sign, CV_ECHO(file), sign);
}

int cv_command_line_add(const char *const *words, bool quote, struct cv_text *out,
                        bool *has_signs)
{
    *has_signs = false;
    for (size_t i = 0; words[i] != NULL; i++) {
        const enum cv_shell_sign sign = quote ? CV_SIGN_NONE : cv_shell_sign(words, i);
        const char *const one[] = { words[i], NULL };

        if (sign == CV_SIGN_FILE && strstr(words[i], ">>") == NULL &&
            strncmp(words[i + 1], "/dev/", 5) != 0 && strstr(words[i + 1], "{}") == NULL)
            return refuse_file(words[i], words[i + 1]);
        *has_signs = *has_signs || sign != CV_SIGN_NONE;
        cv_text_add(out, "%s", i > 0 ? " " : "");
        if (sign != CV_SIGN_NONE)
            cv_text_add(out, "%s", words[i]);
        else
            cv_sh_words_add(out, one);
    }
    return CV_EXIT_DONE;
}

/* --- numbers in a command of chunks --------------------------------------------------------- */

/* The variable for "{#}" or "{%}" at this byte of a word; NULL: neither. A shell's own ${#} does
 * not count. */
static const char *counter_at(const char *word, const char *at)
{
    if (at > word && at[-1] == '$')
        return NULL;
    return strncmp(at, "{#}", 3) == 0   ? "$CLEAVE_CHUNK"
           : strncmp(at, "{%}", 3) == 0 ? "$CLEAVE_SLOT"
                                        : NULL;
}

/* Add a word with these variables, quoted unless it is a line. Returns whether there were some. */
static bool add_counted(struct cv_arena *arena, const char *word, bool line,
                        struct cv_text *out)
{
    const char *begin = word;
    bool found = false;

    for (const char *at = word;; at++) {
        const char *variable = counter_at(word, at), *piece;

        if (*at != '\0' && variable == NULL)
            continue;
        piece = cv_arena_print(arena, "%.*s", (int)(at - begin), begin);
        if (piece != NULL && (at > begin || *word == '\0'))
            cv_text_add(out, "%s", line ? piece : cv_quoted(arena, piece));
        if (*at == '\0')
            return found;
        cv_text_add(out, line ? "%s" : "\"%s\"", variable);
        found = true;
        begin = at + 3;
        at += 2;
    }
}

/* Make a line of a command of chunks with "{#}" or "{%}". */
static int shape_counters(struct cv_call *call, bool remote, bool *shaped)
{
    const bool run = strcmp(call->verb->name, "run") == 0; /* the only one with chunks */
    const struct cv_run_options *values = run ? call->values : NULL;
    struct cv_text line = { NULL, 0, 0, false };

    *shaped = false;
    for (size_t i = 0; run && !values->literal && i < call->noperands; i++) {
        cv_text_add(&line, "%s", i > 0 ? " " : "");
        *shaped =
            add_counted(call->arena, call->operands[i], call->noperands == 1, &line) ||
            *shaped;
    }
    if (*shaped)
        return set_line(call, &line, remote);
    cv_text_done(&line);
    return CV_EXIT_DONE;
}

int cv_command_shape(struct cv_call *call, bool quote, bool remote)
{
    const char **words = cv_call_words(call, call->noperands);
    struct cv_text line = { NULL, 0, 0, false };
    bool has_signs = false;
    int status;

    CV_DO(shape_counters(call, remote, &has_signs));
    if (has_signs || call->noperands == 0 || (call->noperands == 1 && quote))
        return CV_EXIT_DONE;
    if (call->noperands == 1)
        return shape_line(call, remote);
    status = cv_command_line_add(words, quote, &line, &has_signs);
    if (status == CV_EXIT_DONE &&
        (has_signs || (!cv_is_program(words[0]) && shell_knows(words[0]))))
        return set_line(call, &line, remote);
    cv_text_done(&line);
    if (status == CV_EXIT_DONE && !quote && strpbrk(words[0], ";|&") != NULL &&
        strchr(words[0], '/') == NULL && !cv_is_program(words[0])) {
        cv_text_add(&line, "%s ", words[0]); /* cat\;echo x: begins with a line */
        cv_sh_words_add(&line, words + 1);
        return set_line(call, &line, remote);
    }
    return status;
}

const char *cv_quoted(struct cv_arena *arena, const char *word)
{
    struct cv_text text = { NULL, 0, 0, false };
    const char *quoted;

    cv_shell_word_add(&text, word);
    quoted = cv_text_take(&text, arena);
    return quoted != NULL ? quoted : "";
}

const char *cv_call_again(const struct cv_call *call, const char *options)
{
    struct cv_text text = { NULL, 0, 0, false };
    const char *line;

    cv_text_add(&text, "cleave %s %s", call->verb->name, options);
    cv_shell_words_append(&text, (const char *const *)call->words, (size_t)call->nwords);
    line = cv_text_take(&text, call->arena);
    return line != NULL ? line : "";
}

/* --- records of GNU parallel ---------------------------------------------------------------- */

/* Records begin where `end` is followed by `start`; splitters know lines and what lines begin
 * with. */
int cv_record_ends_read(const struct cv_call *call, const char **split)
{
    const struct cv_run_options *values = call->values;
    const char *end = values->record_end, *start = values->record_start;
    const bool lines = end != NULL && CV_IS_ONE_OF(end, "\\n", "\n");
    struct cv_text text = { NULL, 0, 0, false };

    if (end == NULL && start == NULL)
        return CV_EXIT_DONE;
    if (values->split != NULL)
        return cv_refuse("expected --split, or --recend and --recstart, got both");
    if (start == NULL && (lines || strcmp(end, "\\0") == 0)) {
        *split = lines ? "lines" : "nul";
        return CV_EXIT_DONE;
    }
    if (start == NULL || !lines || start[0] == '\0' || strpbrk(start, "\\\n") != NULL)
        return cv_refuse(
            "expected --recend '\\n' or '\\0', or --recend '\\n' with --recstart "
            "TEXT, got other ends: --split lists what records may be");
    cv_text_add(&text, "regex:\\`|"); /* lines before the first start are a record */
    for (; *start != '\0'; start++)
        cv_text_add(&text, strchr(".[]()*+?{}^$|", *start) != NULL ? "\\%c" : "%c",
                    *start);
    *split = cv_text_take(&text, call->arena);
    return *split != NULL ? CV_EXIT_DONE : cv_no_memory("the records");
}

/* --- exit statuses that are not failures ---------------------------------------------------- */

/* The program that sets the status of a line: the first word after the last pipe; "" for a line
 * that is more than a pipeline. */
static const char *last_program(const char *line, char *word, size_t size)
{
    const char *bar = strrchr(line, '|');

    if (strpbrk(line, ";&\n()`") != NULL || strstr(line, "||") != NULL)
        return "";
    line = bar != NULL ? bar + 1 : line;
    for (size_t length = 0;; line += length) {
        line += strspn(line, " \t");
        length = strcspn(line, " \t");
        snprintf(word, size, "%.*s", (int)length, line);
        if (strchr(word, '=') == NULL) /* LC_ALL=C grep */
            return cv_file_name(word);
    }
}

static int read_statuses(const char *option, const char *text,
                         struct cleave_statuses *out)
{
    for (const char *at = text; at != NULL;) {
        char *end = NULL;
        const unsigned long first = strtoul(at, &end, 10);
        unsigned long last = first;

        if (end > at && *end == '-' && end[1] >= '0' && end[1] <= '9')
            last = strtoul(end + 1, &end, 10);
        if (*at < '0' || *at > '9' || (*end != ',' && *end != '\0') || last > 255 ||
            first > last)
            return cv_refuse("%s: expected exit statuses from 0 to 255, as '0,1' or "
                             "'0-3', got '%s'",
                             option, CV_ECHO(text));
        for (unsigned long status = first; status <= last; status++)
            out->bits[status / 64] |= UINT64_C(1) << (status % 64);
        at = *end == ',' ? end + 1 : NULL;
    }
    return CV_EXIT_DONE;
}

int cv_ok_read(const struct cv_call *call, struct cleave_statuses *out)
{
    const struct cv_run_options *values = call->values;
    const size_t count = cv_item_command_words(call);
    const char *const *words = call->operands;
    const char *line = NULL, *program;
    char word[256];

    *out = (struct cleave_statuses){ .bits = { 1 } };
    if (values->ok == NULL && count > 0) {
        if (count == 1)
            line = words[0];
        else if (count == 3 && strcmp(words[1], "-c") == 0 &&
                 cv_is_bourne_shell(words[0]))
            line = words[2];
        program =
            line != NULL ? last_program(line, word, sizeof word) : cv_file_name(words[0]);
        if (CV_IS_ONE_OF(program, "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "diff",
                         "cmp"))
            out->bits[0] = 3;
        return CV_EXIT_DONE;
    }
    return read_statuses("--ok", values->ok, out);
}

int cv_later_read(const char *text, struct cleave_statuses *out)
{
    *out = (struct cleave_statuses){ .bits = { 0 } };
    if (text != NULL && strcmp(text, "none") == 0)
        return CV_EXIT_DONE;
    CV_DO(read_statuses("--later", text != NULL ? text : "75", out));
    return (out->bits[0] & 1) == 0
               ? CV_EXIT_DONE
               : cv_refuse(
                     "--later: status 0 is success; expected others, as '75', or none");
}

/* --- lists on standard input ---------------------------------------------------------------- */

/* "{3}", "{3.}", "{-1/}" as a whole word: inside of a word it may be a regular
 * expression. */
static bool is_position(const char *word)
{
    if (word[0] != '{')
        return false;
    word += word[1] == '-' ? 2 : 1;
    if (*word < '0' || *word > '9')
        return false;
    return CV_IS_ONE_OF(word + strspn(word, "0123456789"), "}", ".}", "/}", "//}", "/.}");
}

/* Whether the text begins with "{.}", or with a format of it: "{.:%9s}". */
static bool is_form(const char *text, const char *form)
{
    const size_t length = strlen(form) - 1;

    return strncmp(text, form, length) == 0 &&
           (text[length] == '}' ||
            (strncmp(text + length, ":%", 2) == 0 && strchr(text + length, '}') != NULL));
}

/* The place for an item in a word, or with `counters` also its number; NULL: none. A shell's own
 * ${#} does not count. */
static const char *find_place(const char *word, bool counters, size_t *length)
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
            if (is_form(at, forms[i]) && (counters || counter_at(word, at) == NULL)) {
                *length = strcspn(at, "}") + 1;
                return at;
            }
    }
    return NULL;
}

/* Whether the command has places itself: xargs, find, parallel. */
static bool knows_places(const struct cv_call *call)
{
    static const char *const programs[] = { "xargs", "parallel", "-exec" };

    for (size_t i = 0; i < call->noperands; i++)
        for (size_t p = 0; p < sizeof programs / sizeof *programs; p++)
            if (strstr(call->operands[i], programs[p]) != NULL)
                return true;
    return false;
}

const char *cv_find_item_place(const struct cv_call *call, bool counters)
{
    size_t length;

    for (size_t i = 0; i < call->noperands && !knows_places(call); i++) {
        const char *place = find_place(call->operands[i], counters, &length);

        if (place != NULL)
            return cv_arena_print(call->arena, "%.*s", (int)length, place);
    }
    return NULL;
}

/* Options that speak of a list. */
#define OF_LISTS                                                                   \
    "--eof --null --no-run-if-empty --delimiter --link --colsep --replace --rpl "  \
    "--max-args --max-replace-args --max-lines --fill --fill-words --many --shuf " \
    "--tag --tagstring --results --files"
#define OF_CHUNKS \
    "--split --records --block --header-out --together --pairs --cat --persistent"

static bool is_fed(int fd)
{
    struct stat facts;

    return fstat(fd, &facts) == 0 &&
           (S_ISFIFO(facts.st_mode) || S_ISREG(facts.st_mode) || S_ISSOCK(facts.st_mode));
}

bool cv_run_lists_stdin(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;

    if (values->literal || values->framed || values->inputs.count > 0 ||
        values->fetch != NULL || call->noperands == 0 || !is_fed(STDIN_FILENO))
        return false;
    if (cv_option_given(call, OF_LISTS) != NULL)
        return true;
    if (values->header != NULL && strcmp(values->header, ":") == 0 &&
        cv_option_given(call, OF_CHUNKS) == NULL)
        return true;
    return !values->cat && cv_find_item_place(call, true) != NULL;
}
