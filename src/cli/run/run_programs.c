/* run_programs.c -- known programs whose output depends on more than one record, or that write files.
 * SPDX-License-Identifier: MIT
 *
 * Only names, options and code of the command are read. A program that is not known here may do the
 * same: cleave check shows that. */
#include "cli/run/run_parts.h"

#include <ctype.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/file_target.h"
#include "run/common/process.h"

/* Extended regular expressions for the name of a program and for its words, with a line end before
 * each and after the last. */
struct known {
    const char *program, *has, *lacks; /* `lacks`: no match; NULL: any words */
};

#define AWK "[gmn]?awk"
/* One of these letters in an option. */
#define LETTERS(set) "\n-([^-\n][^\n]*)?[" set "]"

/* Programs that keep something from record to record. */
static const struct known keeping[] = {
    { AWK, "\\<(NR|FNR|END|getline|RS)\\>|\\]\\+\\+", NULL },
    { "perl", "\\$\\.|\\}\\+\\+|\\$/=|\\<(END|eof)\\>|" LETTERS("0"), NULL },
    { "jq", "\n--slurp\n|\\<(input|input_line_number)\\>|" LETTERS("sn"), NULL },
    { "mlr",
      "\\<NR\\>|@|\n(bar|bootstrap|count|count-distinct|count-similar|decimate|fill-down|"
      "fraction|head|histogram|least-frequent|merge-fields|most-frequent|nl|sample|"
      "shuffle|sort|stats1|stats2|step|tac|tail|top|uniq)\n",
      NULL },
    /* Line numbers, ranges, and commands that keep lines or read more, also after an address. */
    { "sed",
      "[\n;{][ \t]*(/([^/\\]|\\\\.)*/[IM]*)?[ \t]*[$,+~=nNhHgGxDqQ]|[\n;][ \t]*[0-9]",
      NULL },
    { "cat", LETTERS("nb"), NULL },
    { "[efz]?grep|rg", LETTERS("nbmABC"), LETTERS("c") },
    { "tr", "^\n-s.*\\\\n", NULL },
    /* Lines of the file that every command reads are written for each chunk. */
    { "join", "\n-[av]\n?1.*\n-\n$|\n-[av]\n?2.*([^\n-]|[^\n]-)\n$", NULL },
    { "base64|base32|basenc|openssl", "\n", LETTERS("dD") },
    { "xxd", "\n", LETTERS("r") },
    { "xargs", "\n", LETTERS("I") },
    { "cmp|column|comm|dd|diff|fmt|head|hexdump|nl|od|paste|pr|shuf|sort|tac|tail|tsort|"
      "uniq",
      "\n", NULL },
    { NULL, NULL, NULL },
};

/* Programs that write files whose names are the same for every chunk. In code of awk '>' in
 * parentheses compares. */
static const struct known writing[] = {
    { "csplit|split", "\n", "\n--filter|CLEAVE_" },
    { "tee", "\n([^-/$\n]|/([^d]|d([^e]|e[^v])))[^$\n]*\n", "\n(-a|--append)\n|CLEAVE_" },
    { AWK,
      "print(\"([^\"\\]|\\\\.)*\"|\\([^()]*\\)|[^\"(;}\n>])*>"
      " *([^> \"]|\"([^/]|/[^d]|/d[^e]))",
      "CLEAVE_" },
    { NULL, NULL, NULL },
};

static bool matches(const char *pattern, const char *text)
{
    regex_t regex;
    bool found;

    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    found = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

static bool is_called(const char *program, const char *names)
{
    char pattern[256];

    snprintf(pattern, sizeof pattern, "^(%s)$", names);
    return matches(pattern, program);
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

/* Whether the words of a program are a call that the table has; `scripts`: files of -f are read. */
static bool is_known(const struct cv_call *call, const struct known *known, bool scripts,
                     const char *const *words, size_t count)
{
    const char *program = cv_file_name(words[0]), *text;
    struct cv_text given = { NULL, 0, 0, false };
    char room[8192];

    while (known->program != NULL && !is_called(program, known->program))
        known++;
    if (known->program == NULL)
        return false;
    cv_text_add(&given, "\n");
    for (size_t i = 1; i < count; i++)
        cv_text_add(&given, "%s\n",
                    scripts ? code_of(words, i, room, sizeof room) : words[i]);
    text = cv_text_take(&given, call->arena);
    return text != NULL && matches(known->has, text) &&
           (known->lacks == NULL || !matches(known->lacks, text));
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
    return is_called(cv_file_name(words[at]),
                     "command|env|ionice|nice|nohup|stdbuf|taskset|time|timeout") ||
           (at > 0 && (words[at][0] == '-' || isdigit((unsigned char)words[at][0]))) ||
           strchr(words[at], '=') != NULL;
}

static bool any_program(const struct cv_call *call, const struct known *known,
                        bool scripts)
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
        if (end > begin && is_known(call, known, scripts, words + begin, end - begin))
            return true;
    }
    return false;
}

bool cv_keeps_records(const struct cv_call *call)
{
    return any_program(call, keeping, true);
}

bool cv_overwrites_files(const struct cv_call *call)
{
    return any_program(call, writing, false);
}
