/* run_programs.c -- known programs whose output depends on more than one record, or that write files.
 * SPDX-License-Identifier: MIT
 *
 * Only names, options and code of the command are read. A program that is not known here may do the
 * same: cleave check shows that. */
#include "cli/run/run_parts.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/file_target.h"
#include "run/common/process.h"

#define ALWAYS ""

/* Programs that keep something from record to record if a part of `code`, separated by blanks, is in
 * an argument (ALWAYS: in any case), or a letter among the options, and no letter of `unless`. */
static const struct {
    const char *programs, *code, *letters, *unless;
} known[] = {
    { "awk gawk mawk nawk", "NR FNR ]++ END getline RS", "", "" },
    { "perl", "$. }++ END eof $/=", "0", "" },
    { "jq", "--slurp --null-input input_line_number input", "sn", "" },
    { "mlr", "NR @", "", "" },
    { "cat", NULL, "nb", "" },
    { "grep egrep fgrep zgrep rg", NULL, "nbmABC", "c" },
    { "base64 base32 basenc openssl", ALWAYS, "", "dD" },
    { "xxd", ALWAYS, "", "r" },
    { "xargs", ALWAYS, "", "I" },
    { "cmp column comm dd diff fmt head hexdump nl od paste pr shuf sort tac tail tsort "
      "uniq",
      ALWAYS, "", "" },
};

static const char *const mlr_verbs[] = {
    "bar",
    "bootstrap",
    "count",
    "count-distinct",
    "count-similar",
    "decimate",
    "fill-down",
    "fraction",
    "head",
    "histogram",
    "least-frequent",
    "merge-fields",
    "most-frequent",
    "nl",
    "sample",
    "shuffle",
    "sort",
    "stats1",
    "stats2",
    "step",
    "tac",
    "tail",
    "top",
    "uniq",
};

/* Whether a list that blanks separate has the word. */
static bool has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = list; length > 0 && (at = strstr(at, word)) != NULL; at++)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static bool is_name(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

/* Whether code has a part of a list: a sign, or a name that is not a piece of a longer one. */
static bool has_part(const char *list, const char *code)
{
    size_t length;

    for (; list != NULL && *list != '\0'; list += length + (list[length] == ' ')) {
        length = strcspn(list, " ");
        for (const char *at = code; *at != '\0'; at++)
            if (strncmp(at, list, length) == 0 &&
                !(is_name(*at) && at > code && is_name(at[-1])) &&
                !(is_name(at[length - 1]) && is_name(at[length])))
                return true;
    }
    return false;
}

/* Skip a text of sed up to `end`. */
static const char *skip_to(const char *at, char end)
{
    for (; *at != '\0' && *at != end; at++)
        at += at[0] == '\\' && at[1] != '\0';
    return at + (*at != '\0');
}

/* Whether a script of sed has line numbers, ranges, or commands that keep lines or read more. */
static bool sed_keeps(const char *at)
{
    while (*at != '\0') {
        if (*at == '/' || (*at == '\\' && at[1] != '\0')) {
            at += *at == '\\';
            at = skip_to(at + 1, *at);
            at += strspn(at, "IM");
        } else if ((*at == 's' || *at == 'y') && at[1] != '\0') {
            const char end = at[1];

            at = skip_to(skip_to(at + 2, end), end);
            at += strcspn(at, ";}\n");
        } else if (strchr("aic:btrwRW", *at) != NULL) {
            at += strcspn(at, *at == 'b' || *at == 't' ? ";}\n" : "\n");
        } else if (strchr("0123456789$,+~=nNhHgGxDqQ", *at) != NULL) {
            return true;
        } else { /* blanks, ';', '{', '}', '!' and other commands */
            at++;
        }
    }
    return false;
}

/* --- awk and its variables ----------------------------------------------------------------- */

struct variable {
    char name[32];
    bool assigned, sometimes; /* in an action with a pattern */
    int action;               /* that assigns it */
};

struct program {
    struct variable variables[32];
    size_t count;
    int action, depth;       /* number of the action, open braces               */
    bool sometimes, skipped; /* the action has a pattern, is BEGIN or a function */
};

/* The byte after an index in brackets. */
static const char *after_index(const char *at)
{
    for (int depth = 0; *at != '\0'; at++) {
        depth += (*at == '[') - (*at == ']');
        if (depth == 0)
            return at + 1;
    }
    return at;
}

/* Whether the variable at this byte has a value from an earlier record: it is read before anything
 * assigns it, or in another action than its assignment, which has a pattern. */
static bool is_remembered(struct program *program, const char *code, const char *at,
                          size_t length)
{
    const char *next = at + length;
    const bool field = at > code && at[-1] == '$';
    struct variable new = { .assigned = false }, *found = program->variables;
    bool updates, assigns, is_new;
    char rest[128];

    snprintf(new.name, sizeof new.name, "%.*s", (int)length, at);
    if (program->depth == 0 && has_word("BEGIN function func", new.name))
        program->skipped = true;
    if (*next == '[')
        next = after_index(next);
    next += strspn(next, " \t");
    if (program->skipped || *next == '(' || strncmp(next, "in ", 3) == 0 ||
        has_word("NF FS OFS ORS SUBSEP RSTART RLENGTH CONVFMT OFMT", new.name))
        return false;
    updates =
        !field && (strncmp(next, "++", 2) == 0 || strncmp(next, "--", 2) == 0 ||
                   (*next != '\0' && strchr("+-*/%^", *next) != NULL && next[1] == '=') ||
                   (at > code + 1 && at[-1] == at[-2] && strchr("+-", at[-1]) != NULL));
    assigns = next[0] == '=' && next[1] != '=' && !field;
    while (found < program->variables + program->count &&
           strcmp(found->name, new.name) != 0)
        found++;
    is_new = found == program->variables + program->count;
    if (is_new && program->count == sizeof program->variables / sizeof *found)
        return false;
    if (is_new)
        program->variables[program->count++] = new;
    if (found->assigned && !assigns)
        return found->sometimes && found->action != program->action;
    if (updates || !assigns)
        return updates;
    snprintf(rest, sizeof rest, "%.*s", (int)strcspn(next, ";})\n"), next);
    if (!found->assigned && (!is_new || (*next == '=' && has_part(new.name, rest))))
        return true;
    found->sometimes = program->sometimes && (found->sometimes || !found->assigned);
    found->assigned = true;
    found->action = program->action;
    return false;
}

static bool awk_remembers(const char *code)
{
    struct program program = { .count = 0 };
    bool pattern = false;
    char before = ';';

    for (const char *at = code; *at != '\0';) {
        const char sign = *at;
        size_t length = 1;

        while ((isalpha((unsigned char)sign) || sign == '_') && is_name(at[length]))
            length++;
        if (sign == '#')
            length = strcspn(at, "\n");
        else if (sign == '"' || (sign == '/' && strchr("(,!~&|{};", before) != NULL))
            length = (size_t)(skip_to(at + 1, sign) - at);
        else if ((isalpha((unsigned char)sign) || sign == '_') &&
                 !(at > code && is_name(at[-1])) &&
                 is_remembered(&program, code, at, length))
            return true;
        if (sign == '{' && program.depth++ == 0)
            program.sometimes = pattern;
        if (sign == '}' && program.depth > 0)
            program.depth--;
        if (program.depth == 0 && strchr("};\n", sign) != NULL) {
            program.action++;
            program.sometimes = program.skipped = pattern = false;
        } else if (program.depth == 0 && sign != ' ' && sign != '\t') {
            pattern = true;
        }
        if (sign != ' ' && sign != '\t')
            before = sign == '\n' ? ';' : at[length - 1];
        at += length;
    }
    return false;
}

/* join -a 1 FILE -: lines of the file that every command reads are written for each chunk. */
static bool repeats_file(const char *const *words, size_t count)
{
    const char file = strcmp(words[count - 1], "-") == 0 ? '1' : '2';

    for (size_t i = 1; i < count; i++) {
        const char *number = words[i] + 2; /* -a1, -a 1 */

        if (strncmp(words[i], "-a", 2) != 0 && strncmp(words[i], "-v", 2) != 0)
            continue;
        if (*number == '\0' && i + 1 < count)
            number = words[i + 1];
        if (*number == file)
            return true;
    }
    return false;
}

/* An argument; after -f, the script that it names. A FIFO is not waited for. */
static const char *code_of(const char *const *words, size_t at, char *room, size_t size)
{
    int fd = strcmp(words[at - 1], "-f") == 0
                 ? open(words[at], O_RDONLY | O_NONBLOCK | O_CLOEXEC)
                 : -1;
    const ssize_t got = fd >= 0 ? read(fd, room, size - 1) : -1;

    cv_close(&fd);
    if (got < 0)
        return words[at];
    room[got] = '\0';
    return room;
}

static bool keeps_records(const char *const *words, size_t count)
{
    const char *program = cv_file_name(words[0]);
    const bool awk = has_word(known[0].programs, program);
    const bool sed = strcmp(program, "sed") == 0;
    bool keeps = strcmp(program, "join") == 0 && repeats_file(words, count);
    char room[8192];

    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        if (!has_word(known[k].programs, program))
            continue;
        keeps = known[k].code != NULL && known[k].code[0] == '\0';
        for (size_t i = 1; i < count; i++) {
            const bool option = words[i][0] == '-' && words[i][1] != '-';
            const char *code = awk ? code_of(words, i, room, sizeof room) : words[i];

            if (option && strpbrk(words[i], known[k].unless) != NULL)
                return false;
            keeps = keeps || has_part(known[k].code, code) ||
                    (option && strpbrk(words[i], known[k].letters) != NULL) ||
                    (awk && awk_remembers(code));
        }
    }
    for (size_t i = 1; i < count; i++)
        keeps = keeps ||
                (sed && words[i][0] != '-' &&
                 sed_keeps(code_of(words, i, room, sizeof room))) ||
                (strcmp(program, "tr") == 0 && strncmp(words[1], "-s", 2) == 0 &&
                 strstr(words[i], "\\n") != NULL) ||
                (strcmp(program, "mlr") == 0 &&
                 cv_is_one_of(words[i], mlr_verbs, sizeof mlr_verbs / sizeof *mlr_verbs));
    return keeps;
}

/* Whether code of awk prints to a file. '>' in parentheses compares. */
static bool awk_writes(const char *code)
{
    for (const char *at = code; (at = strstr(at, "print")) != NULL;) {
        int depth = 0;

        for (at += strlen("print"); *at != '\0' && strchr(";}\n", *at) == NULL; at++) {
            if (*at == '"')
                at = skip_to(at + 1, '"') - 1;
            depth += (*at == '(') - (*at == ')');
            if (*at == '>' && depth <= 0)
                return at[1] != '>' &&
                       strncmp(at + 1 + strspn(at + 1, " "), "\"/dev/", 6) != 0;
        }
    }
    return false;
}

/* Whether the program writes files whose names are the same for every chunk. */
static bool overwrites(const char *const *words, size_t count)
{
    const char *program = cv_file_name(words[0]);
    bool files = CV_IS_ONE_OF(program, "split", "csplit");

    for (size_t i = 1; i < count; i++) {
        if (strncmp(words[i], "--filter", 8) == 0 ||
            strstr(words[i], "CLEAVE_") != NULL ||
            (strcmp(program, "tee") == 0 && CV_IS_ONE_OF(words[i], "-a", "--append")))
            return false;
        if (strcmp(program, "tee") == 0)
            files = files || (words[i][0] != '-' && strchr(words[i], '$') == NULL &&
                              strncmp(words[i], "/dev/", 5) != 0);
        else if (has_word(known[0].programs, program))
            files = files || awk_writes(words[i]);
    }
    return files;
}

/* --- words of a call ------------------------------------------------------------------------ */

/* The words of a line for a shell without their quotes; NULL between commands. */
static const char **split_line(struct cv_arena *arena, const char *line, size_t *count)
{
    const char **words = cv_need(arena, strlen(line) + 2, sizeof *words, "a message");
    char *bytes = cv_need(arena, 2 * strlen(line) + 2, 1, "a message");
    char quote = '\0';
    bool inside = false, command = false; /* a word; words since the last NULL */

    *count = 0;
    for (; *line != '\0'; line++) {
        const bool blank = strchr(" \t", *line) != NULL;
        const bool sign = strchr("|&;\n()", *line) != NULL;

        if (quote == '\0' && (blank || sign)) {
            if (sign && command)
                words[(*count)++] = NULL;
            command = command && !sign;
            bytes += inside;
            inside = false;
            continue;
        }
        if (!inside)
            words[(*count)++] = bytes;
        inside = command = true;
        if (quote == '\0' ? strchr("'\"", *line) != NULL : *line == quote)
            quote = quote == '\0' ? *line : '\0';
        else if (*line == '\\' && quote != '\'' && line[1] != '\0')
            *bytes++ = *++line;
        else
            *bytes++ = *line;
    }
    return words;
}

/* Whether words[at] is before the program that runs: env, timeout 5, LC_ALL=C. */
static bool is_before(const char *const *words, size_t at)
{
    return has_word("command env ionice nice nohup stdbuf taskset time timeout",
                    cv_file_name(words[at])) ||
           (at > 0 && (words[at][0] == '-' || isdigit((unsigned char)words[at][0]))) ||
           strchr(words[at], '=') != NULL;
}

/* Whether one of the programs of a command does so. */
static bool any_program(const struct cv_call *call,
                        bool (*does)(const char *const *words, size_t count))
{
    const char *const *operands = (const char *const *)call->operands;
    const bool shaped = call->noperands == 3 && strcmp(operands[1], "-c") == 0 &&
                        cv_is_bourne_shell(operands[0]);
    size_t count = call->noperands;
    const char *const *words =
        shaped || count == 1 ? split_line(call->arena, operands[shaped ? 2 : 0], &count)
                             : operands;

    for (size_t begin = 0, end; begin < count; begin = end + 1) {
        for (end = begin; end < count && words[end] != NULL;)
            end++;
        while (begin + 1 < end && is_before(words, begin))
            begin++;
        if (end > begin && does(words + begin, end - begin))
            return true;
    }
    return false;
}

bool cv_keeps_records(const struct cv_call *call)
{
    return any_program(call, keeps_records);
}

bool cv_overwrites_files(const struct cv_call *call)
{
    return any_program(call, overwrites);
}
