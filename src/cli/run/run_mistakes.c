/* run_mistakes.c -- commands that would run, but not as meant. SPDX-License-Identifier:
 * MIT
 *
 * A command is refused only if it cannot have been meant; else a hint follows the
 * result. */
#include "cli/run/run_parts.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/file_target.h"
#include "cli/common/usage_hints.h"
#include "run/common/machine.h"
#include "run/common/poller.h"
#include "run/common/shell.h"
#include "run/fold/fold.h"

enum {
    LINE_ROOM = 200,
    LARGE = 1 << 16, /* bytes of an input with several chunks */
    FEW_RATIO = 8,   /* bytes of the input per byte of results of chunks, at least */
};

/* Print a hint; true. */
#define HINTED(...) (cv_print_note(__VA_ARGS__), true)

/* Words as a line for a shell, up to `end` or the last one; cut if they are long. */
static void join(const struct cv_call *call, const char *const *words, size_t count,
                 const char *end, char line[LINE_ROOM])
{
    size_t used = 0;

    line[0] = '\0';
    for (size_t i = 0; i < count && used < LINE_ROOM; i++) {
        const bool place = words[i][strcspn(words[i], " '\"$`\\|&;<>()*?[#~")] == '\0';

        if (end != NULL && strcmp(words[i], end) == 0)
            return;
        used += (size_t)snprintf(line + used, LINE_ROOM - used, "%s%s", i > 0 ? " " : "",
                                 place ? words[i] : cv_quoted(call->arena, words[i]));
    }
}

/* --block 4 MB: the command would be MB. */
static int check_unit(const struct cv_call *call)
{
    const char *word = call->operands[0];
    char one[CV_ECHO_ROOM];

    if (!cv_usage_hint_unit(call->nwords, call->words, word, one, sizeof one) ||
        cv_is_program(word))
        return CV_EXIT_DONE;
    return cv_refuse("'%s' would be the command; a number and its unit are one word: %s",
                     word, one);
}

/* wc -l :: a b, wc -l :::a b */
static int check_sign(const struct cv_call *call)
{
    for (size_t i = 1; i < call->noperands; i++)
        if (strcmp(call->operands[i], "::") == 0 ||
            strncmp(call->operands[i], ":::", 3) == 0)
            return cv_refuse("'%s' is an argument of the command; items begin after "
                             "':::' and a blank, --literal passes it on",
                             CV_ECHO(call->operands[i]));
    return CV_EXIT_DONE;
}

/* sh -c wc -l: the shell runs wc, and -l is its $0. A line that uses its arguments has
 * a $. */
static int check_shell_line(const struct cv_call *call)
{
    const char *const *words = call->operands;
    char line[LINE_ROOM];

    if (call->noperands < 4 || strcmp(words[1], "-c") != 0 ||
        !CV_IS_ONE_OF(cv_file_name(words[0]), "sh", "bash", "dash", "zsh", "ksh",
                      "ash") ||
        strpbrk(words[2], " \t\n$;|&") != NULL)
        return CV_EXIT_DONE;
    join(call, words + 2, call->noperands - 2, NULL, line);
    return cv_refuse("%s -c takes its line as one word, and '%s' is all of it: %s -c %s",
                     words[0], words[2], words[0], cv_quoted(call->arena, line));
}

/* --reduce sort -m {1} {2}: only the first word belongs to it. */
static int check_reduce_words(const struct cv_call *call, const char *reduce)
{
    const char *const *words = (const char *const *)call->words;
    const size_t count = (size_t)call->nwords;
    char line[LINE_ROOM];
    bool places = false;
    size_t at = 0;

    for (size_t i = 0; i < call->noperands; i++)
        places = places || strcmp(call->operands[i], "{1}") == 0 ||
                 strcmp(call->operands[i], "{2}") == 0;
    while (at < count && words[at] != reduce)
        at++;
    if (!places || strchr(reduce, ' ') != NULL || at == count)
        return CV_EXIT_DONE;
    join(call, words + at, count - at, "--", line);
    return cv_refuse("--reduce takes its command as one word, in quotes: --reduce %s",
                     cv_quoted(call->arena, line));
}

/* sort -m of one stream is cat. */
static int check_merge(const char *reduce, struct cv_arena *arena)
{
    char line[LINE_ROOM];

    if (strncmp(reduce, "sort ", 5) != 0 ||
        (strstr(reduce, " -m") == NULL && strstr(reduce, " --merge") == NULL) ||
        strpbrk(reduce, "{|;&<(") != NULL)
        return CV_EXIT_DONE;
    snprintf(line, sizeof line, "%.180s {1} {2}", reduce);
    return cv_refuse("--reduce: '%s' gets its partial results as one stream and does not "
                     "change it: --reduce %s",
                     reduce, cv_quoted(arena, line));
}

/* Files of partials are descriptors of this process. */
static int check_proc(const char *reduce)
{
    if (!cv_fold_takes_files(reduce) || access("/proc/self/fd", F_OK) == 0)
        return CV_EXIT_DONE;
    return cv_refuse("--reduce: {1}, {2}, {} and sort use files of /proc, which is not "
                     "mounted here: mount it, or let CMD read standard input");
}

/* --reduce sum: the named reduction, not the program sum. A program that means the same is not
 * reported. */
static int check_named(const struct cv_run_options *values)
{
    const char *reduce = values->reduce;

    if (!cv_fold_is_named(reduce))
        return CV_EXIT_DONE;
    if (values->commutative)
        return cv_refuse(
            "--commutative is for --reduce CMD; with --reduce %s leave it out",
            CV_ECHO(reduce));
    if (!values->quiet && cv_is_program(reduce) &&
        !CV_IS_ONE_OF(reduce, "sort", "uniq", "head", "tail"))
        cv_print_note("--reduce %s is a reduction of cleave, not the program %s; for the "
                      "program: --reduce 'command %s'",
                      reduce, reduce, reduce);
    return CV_EXIT_DONE;
}

/* --pin nodes: an optional argument needs a '='. */
static int check_pin(const struct cv_call *call, const char *pin)
{
    const char *first = call->operands[0];
    const bool one = CV_IS_ONE_OF(first, "core", "cores");

    if (pin == NULL || pin[0] != '\0' || call->marked ||
        (!one && !CV_IS_ONE_OF(first, "node", "nodes", "numa")))
        return CV_EXIT_DONE;
    return cv_refuse("'%s' would be the command: expected --pin=%s, or '--' before it",
                     first, one ? "cores" : "nodes");
}

/* Whether the program never reads standard input, though users of xargs and GNU parallel may
 * expect it. */
static bool is_deaf(const struct cv_call *call)
{
    const char *program = call->noperands > 0 ? cv_file_name(call->operands[0]) : "";

    if (!CV_IS_ONE_OF(program, "basename", "chmod", "chown", "cp", "dirname", "dig", "du",
                      "echo", "file", "host", "kill", "ln", "ls", "man", "mkdir", "mv",
                      "ping", "printf", "rm", "rmdir", "stat", "touch", "unzip"))
        return false;
    for (size_t i = 1; i < call->noperands; i++)
        if (strcmp(call->operands[i], "-") == 0 ||
            strstr(call->operands[i], "/dev/stdin") != NULL ||
            strstr(call->operands[i], "=-") != NULL)
            return false;
    return true;
}

/* Whether the program takes files, and makes nothing useful of a list of their names. */
static bool takes_files(const struct cv_call *call)
{
    if (is_deaf(call))
        return true;
    for (size_t i = 1; i < call->noperands; i++)
        if (call->operands[i][0] != '-' || call->operands[i][1] == '\0')
            return false;
    return CV_IS_ONE_OF(cv_file_name(call->operands[0]), "b2sum", "bgzip", "brotli",
                        "bunzip2", "bzcat", "bzip2", "cksum", "gunzip", "gzip", "jq",
                        "lz4", "lzop", "md5sum", "pbzip2", "pigz", "sha1sum", "sum",
                        "sha224sum", "sha256sum", "sha384sum", "sha512sum", "unxz",
                        "unzstd", "xmllint", "xxhsum", "xz", "xzcat", "zcat", "zstd",
                        "zstdcat");
}

/* find | cleave run gzip: the files should be compressed, not their names. */
static int check_names(const struct cv_call *call)
{
    enum { WAIT_MS = 1000 }; /* nothing else can be done before */
    const struct cv_run_options *values = call->values;
    enum cv_listed_files listed;

    if (values->inputs.count > 0 || values->fetch != NULL || values->cat ||
        values->framed || !takes_files(call))
        return CV_EXIT_DONE;
    listed = cv_lists_files(STDIN_FILENO, WAIT_MS);
    if (listed == CV_LISTS_NO_FILES)
        return CV_EXIT_DONE;
    return cv_refuse("standard input is names of files, and %s is for files. For each of "
                     "them: %s. For the names as data: %s",
                     cv_file_name(call->operands[0]),
                     cv_call_again(call, listed == CV_LISTS_NULLS ? "-0 -a -" : "-a -"),
                     cv_call_again(call, "-i -"));
}

/* split, tee FILE, awk '{ print > FILE }': each chunk would replace the files of another. */
static int check_files(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;

    if (values->together != NULL || !cv_overwrites_files(call))
        return CV_EXIT_DONE;
    return cv_refuse("every command would overwrite the same files: put $CLEAVE_CHUNK "
                     "into their names; --literal if that is right");
}

/* $(...), ${...}, `...`, $name, "$name", two backslashes for one, or a word in quotes. */
static bool is_shell_text(const char *word)
{
    const size_t length = strlen(word);

    return strstr(word, "$(") != NULL || strstr(word, "${") != NULL ||
           strchr(word, '`') != NULL || strstr(word, "\\\\") != NULL ||
           strstr(word, "\"$") != NULL ||
           (word[0] == '$' && isalpha((unsigned char)word[1])) ||
           (length > 1 && (word[0] == '"' || word[0] == '\'') &&
            word[length - 1] == word[0]);
}

/* Several words stay words: what only a shell expands reaches the command as typed. Code for a
 * shell or for a language is meant so. */
static void note_shell_text(const struct cv_call *call)
{
    static const char *const coded[] = { "awk",  "gawk",    "mawk",   "nawk",     "jq",
                                         "perl", "sed",     "python", "python3",  "ruby",
                                         "node", "find",    "xargs",  "parallel", "ssh",
                                         "sh",   "bash",    "dash",   "zsh",      "ksh",
                                         "env",  "docker",  "podman", "make",     "psql",
                                         "mlr",  "sqlite3", "duckdb", "mysql",    "php",
                                         "lua",  "Rscript", "yq",     "gnuplot" };
    const struct cv_run_options *values = call->values;
    const size_t count = cv_item_command_words(call);
    const char *found = NULL;

    for (size_t i = 0; i < count; i++) {
        const char *word = call->operands[i];

        if (cv_is_one_of(cv_file_name(word), coded, sizeof coded / sizeof *coded))
            return;
        if (found == NULL && i > 0 && is_shell_text(word))
            found = word;
    }
    if (found != NULL && !values->quiet && !values->quote && !values->framed)
        cv_print_note("'%s' goes to %s as typed; for a shell, type the command as one "
                      "word; if it is right: --quote",
                      CV_ECHO(found), CV_ECHO(cv_file_name(call->operands[0])));
}

int cv_run_mistakes_check(const struct cv_call *call, bool items)
{
    const struct cv_run_options *values = call->values;

    if (values->reduce != NULL) {
        CV_DO(check_merge(values->reduce, call->arena));
        CV_DO(check_proc(values->reduce));
        CV_DO(check_named(values));
    }
    if (values->literal)
        return CV_EXIT_DONE;
    CV_DO(cv_foreign_variables_check(call->operands, call->noperands));
    note_shell_text(call);
    if (call->noperands == 0 || items)
        return CV_EXIT_DONE;
    CV_DO(check_unit(call));
    CV_DO(check_pin(call, values->pin));
    CV_DO(check_sign(call));
    CV_DO(check_names(call));
    if (!values->cat)
        CV_DO(check_shell_line(call));
    CV_DO(check_files(call));
    return values->reduce != NULL ? check_reduce_words(call, values->reduce)
                                  : CV_EXIT_DONE;
}

/* An option of cleave among the arguments of the command; NULL: none. */
static const char *find_option_behind(const struct cv_call *call)
{
    const struct cv_option *option;

    for (size_t k = 0; (option = cv_option_at(call->verb->groups, k)) != NULL; k++)
        if (cv_is_one_of(option->name, call->operands + 1,
                         call->noperands > 0 ? call->noperands - 1 : 0))
            return option->name;
    return NULL;
}

static bool is_here(const char *name)
{
    return name[0] != '/' && name[0] != '-' && access(name, F_OK) == 0;
}

static bool hint_carriage(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;
    char line[PATH_MAX] = "";
    const char *name = values->item_files.count > 0 ? values->item_files.items[0] : "-";
    FILE *file = strcmp(name, "-") != 0 ? fopen(name, "re") : NULL;

    if (file == NULL)
        return false;
    if (fgets(line, sizeof line, file) == NULL)
        line[0] = '\0';
    fclose(file);
    if (strstr(line, "\r\n") == NULL)
        return false;
    return HINTED("lines of '%s' end in a carriage return, as on Windows, and so do the "
                  "items: sed -i 's/\\r$//' %s",
                  CV_ECHO(name), cv_quoted(call->arena, name));
}

static bool hint_deaf(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;

    return !values->cat && !values->json && is_deaf(call) &&
           HINTED(
               "%s does not read standard input, where chunks come; to run it for each "
               "record: %s",
               cv_file_name(call->operands[0]), cv_call_again(call, "--each"));
}

bool cv_run_mistakes_failed(const struct cv_call *call, bool items, bool hosts)
{
    const struct cv_run_options *values = call->values;
    const char *program = call->noperands > 0 ? call->operands[0] : "";
    const char *last = call->nwords > 0 ? call->words[call->nwords - 1] : "";
    const char *behind = find_option_behind(call);

    if (behind != NULL)
        return HINTED(
            "'%s' was passed to the command; put cleave's options before the command",
            behind);
    if (items && hint_carriage(call))
        return true;
    if (!items && hint_deaf(call))
        return true;
    if (!hosts || values->work_directory != NULL)
        return false;
    if (strchr(program, '/') != NULL && is_here(program))
        return HINTED("'%s' is here; hosts look for it where ssh begins: copy it there, "
                      "or say --workdir DIR where it is",
                      CV_ECHO(program));
    if (items && values->transfers.count == 0 && is_here(last))
        return HINTED("'%s' is here, and was not sent: --transferfile {} sends files of "
                      "items to hosts; --workdir DIR, if they see them there",
                      CV_ECHO(last));
    return false;
}

/* The input is an argument as well: each command has read all of it. A command with
 * '-' reads both. */
static bool hint_argument(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;
    const char *found = NULL;

    for (size_t i = 1; i < call->noperands; i++) {
        if (strcmp(call->operands[i], "-") == 0)
            return false;
        if (cv_is_one_of(call->operands[i], values->inputs.items, values->inputs.count))
            found = call->operands[i];
    }
    if (found == NULL)
        return false;
    return HINTED("'%s' is also an argument of the command, which has then read all of "
                  "it for every chunk: omit it, chunks come on standard input",
                  CV_ECHO(found));
}

/* head:N for head -n N, head -N and head; "": another form. */
static const char *find_reduce_lines(const struct cv_call *call, const char *program,
                                     char line[LINE_ROOM])
{
    const char *const *words = (const char *const *)call->operands;
    const bool two = call->noperands == 3 && strcmp(words[1], "-n") == 0;
    const char *number = two                    ? words[2]
                         : call->noperands == 2 ? words[1] + strspn(words[1], "-n")
                                                : "10";

    if ((!two && call->noperands > 2) || *number == '\0' ||
        number[strspn(number, "0123456789")] != '\0')
        return "";
    snprintf(line, LINE_ROOM, "%s:%.20s", program, number);
    return strcmp(line, "head:1") == 0   ? "first"
           : strcmp(line, "tail:1") == 0 ? "last"
                                         : line;
}

/* The reduction that combines the outputs of chunks; "": no simple one; NULL:
 * concatenation is right. */
static const char *find_reduce(const struct cv_call *call, char line[LINE_ROOM])
{
    /* the output depends on the offset in the input */
    const char *program = cv_file_name(call->operands[0]);
    char options[LINE_ROOM];

    join(call, call->operands + 1, call->noperands - 1, NULL, options);
    if (CV_IS_ONE_OF(program, "tac", "shuf", "nl", "md5sum", "sha1sum", "sha256sum",
                     "cksum", "b2sum", "sha512sum", "sum", "datamash"))
        return "";
    if (CV_IS_ONE_OF(program, "head", "tail"))
        return find_reduce_lines(call, program, line);
    if (strcmp(program, "wc") == 0)
        return strpbrk(options, "L") == NULL ? "sum"
               : strcmp(options, "-L") == 0  ? "max"
                                             : "";
    if (strcmp(program, "uniq") == 0)
        return call->noperands == 1 ? "uniq" : "";
    if (call->noperands == 1 &&
        CV_IS_ONE_OF(program, "base64", "base32", "xxd", "od", "hexdump"))
        return "";
    if (strcmp(program, "sort") != 0)
        return NULL;
    snprintf(line, LINE_ROOM, options[0] != '\0' ? "sort:%.150s" : "sort%s", options);
    return cv_fold_check_command(line, NULL) == CLEAVE_OK ? line : "";
}

const char *cv_run_reduce_guess(const struct cv_call *call)
{
    char line[LINE_ROOM];
    const char *guess = call->noperands > 0 ? find_reduce(call, line) : NULL;

    return guess != NULL ? cv_need_text(call->arena, guess, "a message") : NULL;
}

const char *cv_run_line(const struct cv_call *call, const char *const *more)
{
    const struct cv_run_options *values = call->values;
    struct cv_words words = { .arena = call->arena };
    struct cv_text text = { NULL, 0, 0, false };
    const char *line;

    for (size_t i = 0; i < values->inputs.count; i++) {
        cv_words_add(&words, "-i");
        cv_words_add(&words, values->inputs.items[i]);
    }
    cv_options_add_words(call,
                         "--recursive --split --header --records --together --max-record "
                         "--decode",
                         &words);
    for (; more != NULL && *more != NULL; more++)
        cv_words_add(&words, *more);
    cv_words_add(&words, "--");
    if (cv_words_done(&words) == NULL)
        return "";
    cv_shell_words_append(&text, words.items, words.count);
    cv_shell_words_append(&text, call->operands, call->noperands);
    line = cv_text_take(&text, call->arena);
    return line != NULL ? line : "";
}

/* Output of each command may depend on records of other chunks. */
static void hint_neighbours(const struct cv_call *call)
{
    if (cv_keeps_records(call))
        cv_print_note("each command saw only its chunk, from line 1; to see whether that "
                      "matters: cleave check%s",
                      cv_run_line(call, NULL));
}

/* Each chunk wrote the same few lines for many, or began with the same line: perhaps one result of
 * all was meant. */
static bool hint_check(const struct cv_call *call,
                       const struct cleave_execution_result *result, uint64_t chunks)
{
    const bool few =
        result->same_lines > 0 && result->input_bytes > FEW_RATIO * result->output_bytes;

    if (few)
        cv_print_note("each of %" PRIu64 " chunks wrote %" PRIu32
                      " line%s; if one result "
                      "is meant: cleave check%s",
                      chunks, result->same_lines, result->same_lines == 1 ? "" : "s",
                      cv_run_line(call, NULL));
    else if (result->same_line[0] != '\0' || result->numbered_alike)
        cv_print_note("each of %" PRIu64 " outputs begins with the same %s; if that is "
                      "wrong: cleave check%s",
                      chunks, result->numbered_alike ? "number" : "line",
                      cv_run_line(call, NULL));
    return few || result->same_line[0] != '\0' || result->numbered_alike;
}

/* Whether a hint was printed. */
static bool run_mistakes_headers(const struct cv_call *call,
                                 const struct cleave_execution_result *result)
{
    const struct cv_run_options *values = call->values;
    const char *line = result->same_line;
    const bool marked = line[0] == '@' || line[0] == '#';
    const char option[] = { ' ', '\'', line[0], '\'', '\0' };
    char shown[48];

    if (values->quiet)
        return true;
    if (result->header_goes_on != '\0')
        cv_print_note("after the header that is written once, outputs have more lines "
                      "that begin with %c: --header-out '%c' removes all of them",
                      result->header_goes_on, result->header_goes_on);
    if (!marked && (!result->header || line[strcspn(line, ",;\t")] == '\0'))
        return false;
    cv_shown(line, strcspn(line, "\t"), shown, sizeof shown);
    cv_print_note("every output begins with '%s': if that is a header, --header-out%s "
                  "writes it once",
                  shown, marked ? option : "");
    return true;
}

/* The outputs do not combine to the output of the whole input, or the command did not
 * read its chunks. */
static void run_mistakes_hint(const struct cv_call *call,
                              const struct cleave_execution_result *result,
                              uint64_t chunks, bool headed)
{
    const struct cv_run_options *values = call->values;
    const double bytes = result->input_bytes;
    char line[LINE_ROOM];
    const char *reduce;

    if (values->quiet)
        return;
    if (chunks == 1 && bytes > LARGE && values->split != NULL &&
        strcmp(values->split, "json") == 0 && !(values->block > 0) &&
        values->records == 0)
        cv_print_note(
            "all of it is one JSON value, which one command has read; to share out an "
            "array inside of it: jq -c '.KEY[]' FILE | cleave run --split jsonl ...");
    if (hint_deaf(call))
        return;
    if (call->noperands == 0 || values->cat || hint_argument(call) || chunks < 2 ||
        values->reduce != NULL || (values->records > 0 && values->max_lines == 0) ||
        values->together != NULL || values->unordered || values->json)
        return;
    reduce = find_reduce(call, line);
    if (reduce != NULL)
        cv_print_note("%s has written one output for each of %" PRIu64 " chunks; %s%s",
                      cv_file_name(call->operands[0]), chunks,
                      reduce[0] != '\0' ? "for one of all: --reduce "
                                        : "--reduce CMD makes one of them",
                      reduce[0] != '\0' ? cv_quoted(call->arena, reduce) : "");
    else if (headed || !hint_check(call, result, chunks))
        hint_neighbours(call);
}

void cv_run_mistakes_form(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;

    if (values->inputs.count == 0 || values->quiet || values->json)
        return;
    if (values->split != NULL && strcmp(values->split, "csv") == 0)
        cv_usage_hint_separator(values->inputs.items[0]);
}

static void run_mistakes_seeming(const struct cv_call *call,
                                 const struct cleave_execution_result *result)
{
    const struct cv_run_options *values = call->values;
    const char *name = values->inputs.count > 0 ? values->inputs.items[0] : "-";

    if (values->split != NULL || values->records > 0 || values->quiet || values->json)
        return;
    if (result->seems_endless && result->chunks == 1 && result->nworkers > 1)
        cv_usage_hint_endless(name, result->seems, result->seems_advice);
    else if (!result->seems_endless)
        cv_usage_hint_seeming(name, result->seems, result->seems_advice);
}

static int check_items(const struct cv_call *call)
{
    const char *place = cv_find_item_place(call, false);

    return place == NULL ? CV_EXIT_DONE
                         : cv_refuse("'%s' in the command is a placeholder, but there "
                                     "are no items: add them after the command (... {} "
                                     "::: *.txt), or --each for records, or --literal",
                                     place);
}

static bool is_plain_file(const char *name)
{
    struct stat facts;

    return stat(name, &facts) == 0 && S_ISREG(facts.st_mode);
}

/* "--hosts a b -- wc": b is another host. */
static int check_hosts(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;

    if (values->hosts == NULL || call->noperands == 0 ||
        !cv_is_one_of("--", call->operands, call->noperands) ||
        cv_is_program(call->operands[0]))
        return CV_EXIT_DONE;
    return cv_refuse(
        "'%s' would be the command; several hosts are one word: --hosts %s,%s",
        CV_ECHO(call->operands[0]), CV_ECHO(values->hosts), CV_ECHO(call->operands[0]));
}

/* "-i a b -- wc", or "-i *.txt -- wc": b is another input. */
static int check_inputs(const struct cv_call *call)
{
    const char *shown, *several;
    size_t files = 0;

    while (files < call->noperands && is_plain_file(call->operands[files]))
        files++;
    if (files == 0)
        return check_hosts(call);
    shown = cv_quoted(call->arena, call->operands[0]);
    /* The shell has expanded a pattern. */
    several = files > 1 ? ", and for a pattern -i 'PATTERN', in quotes" : "";
    if (files < call->noperands && strcmp(call->operands[files], "--") == 0)
        return cv_refuse("'%s' would be the command, because it is the first word that "
                         "is not an option. If it is an input: -i %s%s; if it is the "
                         "command, put '--' before it",
                         CV_ECHO(call->operands[0]), shown, several);
    if (cv_is_program(call->operands[0]))
        return CV_EXIT_DONE;
    return cv_refuse(
        "'%s' would be the command, because it is the first word that is not an option, "
        "but it is not executable. If it is an input: -i %s%s",
        CV_ECHO(call->operands[0]), shown, several);
}

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
    if (call->noperands == 0 && !items)
        return complain_of_none(call);
    if (!call->marked)
        CV_DO(check_inputs(call));
    if (literal || items)
        return CV_EXIT_DONE;
    return check_items(call);
}

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

/* The program in the command that decodes inputs, which cleave has done; NULL: none. */
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

/* An argument that only a shell understands; NULL: none. */
static const char *find_sign(const struct cv_call *call)
{
    for (size_t i = 1; i < call->noperands; i++)
        if (CV_IS_ONE_OF(call->operands[i], "|", "||", "&&", ">", ">>", "<"))
            return call->operands[i];
    return NULL;
}

static void hint_all_failed(const struct cv_call *call, bool several)
{
    const char *decoder = find_decoder(call), *sign = find_sign(call);

    if (decoder != NULL)
        cv_print_note("all chunks failed: compressed inputs are decoded, so omit %s; "
                      "--decode none passes the compressed bytes",
                      decoder);
    else if (sign != NULL)
        cv_print_note("all chunks failed: '%s' was an argument of the command; a line "
                      "for a shell is one word: quotes around all of it",
                      sign);
    else if (several)
        cv_print_note("all chunks failed: does the command read standard input?");
}

/* Whether operand `at` is a file that the command would read without an input. Programs, scripts of
 * interpreters and files of an option -f are not. */
static bool is_input_file(const struct cv_call *call, size_t at)
{
    const char *const *words = call->operands;

    return is_plain_file(words[at]) && access(words[at], R_OK) == 0 &&
           access(words[at], X_OK) != 0 && !CV_IS_ONE_OF(words[at - 1], "-f", "--file") &&
           !(at == 1 && CV_IS_ONE_OF(cv_file_name(words[0]), "bash", "dash", "sh", "zsh",
                                     "julia", "lua", "node", "perl", "php", "python",
                                     "python3", "ruby", "Rscript"));
}

int cv_run_check_empty(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;
    const char *shown;
    size_t at = 1, files = 0;

    if (values->inputs.count > 0 || values->fetch != NULL) {
        if (!values->quiet)
            cv_print_note("the input is empty, so no command was started");
        return CV_EXIT_DONE;
    }
    while (at < call->noperands && !is_input_file(call, at))
        at++;
    while (at + files < call->noperands && is_input_file(call, at + files))
        files++;
    shown = files > 0 ? CV_ECHO(call->operands[at]) : "";
    if (files > 0 && CV_IS_ONE_OF(call->operands[at - 1], "-i", "--input"))
        return cv_refuse("standard input was empty, and '%s %s' was passed to the "
                         "command; put cleave's options before the command",
                         call->operands[at - 1], shown);
    if (files > 1)
        return cv_refuse("standard input was empty, and %zu files are arguments of the "
                         "command; to run it for each of them: ... ::: %s ...",
                         files, shown);
    if (files > 0)
        return cv_refuse("standard input was empty, and '%s' is an argument of the "
                         "command; if it is the input: -i %s",
                         shown, shown);
    if (!values->quiet)
        cv_print_note("standard input was empty; an input is -i FILE");
    return CV_EXIT_DONE;
}

/* All chunks but the first failed, of one input. */
static bool only_first_succeeded(const struct cleave_execution_result *result)
{
    return result->failed > 1 && result->failed + 1 == result->chunks &&
           result->resumed == 0 && result->nfailed_ranges == 1 &&
           result->failed_ranges[0].begin > 0 &&
           (double)result->failed_ranges[0].end >= result->input_bytes;
}

/* Whether the command has its item only as a whole last word, as most that take several do. */
static bool takes_several(const struct cv_call *call)
{
    const size_t count = cv_item_command_words(call);
    const char *last = count > 0 ? call->operands[count - 1] : "";
    const size_t length = strlen(last);

    for (size_t i = 0; i + 1 < count; i++)
        if (strchr(call->operands[i], '{') != NULL ||
            cv_shell_sign(call->operands, i) != CV_SIGN_NONE)
            return false;
    if (count > 1)
        return strcmp(last, "{}") == 0 || strchr(last, '{') == NULL;
    if (length > 3 && strcmp(last + length - 3, " {}") == 0)
        return strcspn(last, "{|<>;&$`") == length - 2;
    return length > 0 && strpbrk(last, "{|<>;&$`") == NULL;
}

/* Seconds that the shortest command takes now, with its start. */
static double measure_start_s(void)
{
    enum { TIMES = 8 };
    static const char *const words[] = { "sh", "-c", ":", NULL };
    const double begin_s = cv_clock_s();
    int started = 0;

    for (pid_t pid; started < TIMES && cv_start_program("/bin/sh", words, STDIN_FILENO,
                                                        STDERR_FILENO, -1, &pid) == 0;
         started++)
        waitpid(pid, NULL, 0);
    return started == TIMES ? (cv_clock_s() - begin_s) / TIMES : 0;
}

/* Starting many short commands takes longer than their work. */
static void hint_many(const struct cv_call *call,
                      const struct cleave_execution_result *result)
{
    enum { MANY = 1000 };
    const struct cv_run_options *values = call->values;
    const uint64_t commands = result->chunks;
    const double busy = fmin(result->nworkers, cv_usable_cores());
    const double each_s = result->seconds * busy / (double)commands;
    const double start_s = 0.005; /* of a process that loads a few libraries */

    if (commands < MANY || values->quiet || values->json ||
        cv_option_given(call,
                        "--many --max-args --max-replace-args --max-lines --fill "
                        "--fill-words --tag --tagstring --results --files --journal "
                        "--weight --limit --costs --transferfile --return "
                        "--ungroup --line-buffer --replace --rpl --colsep") != NULL ||
        !takes_several(call) || !(each_s < fmax(start_s, 4 * measure_start_s())))
        return;
    cv_print_note("%" PRIu64
                  " commands took %.1f ms each, most of it to start; if one of "
                  "them can take several items: %s",
                  commands, 1e3 * each_s, cv_call_again(call, "--many"));
}

void cv_run_command_hint(const struct cv_call *call,
                         const struct cleave_execution_result *result,
                         const struct cv_run_outcome *how)
{
    const struct cv_run_options *values = call->values;
    const uint64_t chunks = result->chunks + result->resumed, failed = result->failed;
    bool headed = false;

    if (failed > 0 && how->all && cv_run_mistakes_failed(call, how->items, how->hosts))
        return;
    if (how->items && chunks == 0 && !values->quiet)
        cv_print_note("there are no items, so no command was started");
    if (how->items && !how->hosts && failed == 0)
        hint_many(call, result);
    if (how->items)
        return; /* each failure was printed */
    if (only_first_succeeded(result) && !result->header)
        cv_print_note("all chunks but the first failed: has the input a header? --header "
                      "gives it to every command");
    if (failed > 0 && how->all)
        hint_all_failed(call, failed > 1 && !how->halted);
    if (chunks > 1)
        cv_run_mistakes_form(call);
    if (chunks > 1 || result->seems_endless)
        run_mistakes_seeming(call, result);
    if (chunks > 1)
        headed = run_mistakes_headers(call, result);
    if (chunks > 0 && failed == 0)
        run_mistakes_hint(call, result, chunks, headed);
}
