/* run_mistakes.c -- commands that would run, and do something else than was meant.
 * SPDX-License-Identifier: MIT
 *
 * What a shell has made of a line is all that is known: quotes that were forgotten show by the
 * words that stand alone. Only what cannot have been meant is refused; where it might have been,
 * a line below the result tells. */
#include "cli/run/run_mistakes.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file_target.h"
#include "base/text.h"
#include "cli/common/output.h"
#include "cli/common/usage_hints.h"
#include "cli/run/run_options.h"
#include "run/items/item_commands.h"

enum {
    LINE_ROOM = 200,
    LARGE = 1 << 16, /* bytes of which several chunks are made, if they can be cut */
};

/* Words with blanks between, up to `end` or the last one; cut if they are many. */
static void join(const char *const *words, size_t count, const char *end,
                 char line[LINE_ROOM])
{
    size_t used = 0;

    line[0] = '\0';
    for (size_t i = 0; i < count && used < LINE_ROOM; i++) {

        if (end != NULL && strcmp(words[i], end) == 0)
            return;
        used += (size_t)snprintf(line + used, LINE_ROOM - used, "%s%s", i > 0 ? " " : "",
                                 CV_ECHO(words[i]));
    }
}

/* --block 4 MB: the command would be MB. */
static int check_unit(const struct cv_call *call)
{
    const char *word = call->operands[0];
    char one[CV_ECHO_ROOM];

    if (!cv_usage_hint_unit(call->nwords, call->words, word, one, sizeof one) ||
        cv_item_is_program(word))
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
            return cv_refuse("'%s' is an argument of the command; items begin behind "
                             "':::' and a blank, --literal passes it on",
                             CV_ECHO(call->operands[i]));
    return CV_EXIT_DONE;
}

/* sh -c wc -l: the shell runs wc, and -l is its own name. A line that looks at what stands
 * behind it has a $ in it. */
static int check_shell_line(const struct cv_call *call)
{
    static const char *const shells[] = { "sh", "bash", "dash", "zsh", "ksh", "ash" };
    const char *const *words = call->operands;
    char line[LINE_ROOM];

    if (call->noperands < 4 || strcmp(words[1], "-c") != 0 ||
        !cv_is_one_of(cv_file_name(words[0]), shells, sizeof shells / sizeof *shells) ||
        strpbrk(words[2], " \t\n$;|&") != NULL)
        return CV_EXIT_DONE;
    join(words + 2, call->noperands - 2, NULL, line);
    return cv_refuse(
        "%s -c takes its line as one word, and '%s' is all of it: %s -c '%s'", words[0],
        words[2], words[0], line);
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
    join(words + at, count - at, "--", line);
    return cv_refuse("--reduce takes its command as one word, in quotes: --reduce '%s'",
                     line);
}

/* sort -m of one stream is cat. */
static int check_merge(const char *reduce)
{
    char line[LINE_ROOM];

    if (strncmp(reduce, "sort ", 5) != 0 ||
        (strstr(reduce, " -m") == NULL && strstr(reduce, " --merge") == NULL) ||
        strpbrk(reduce, "{|;&<(") != NULL)
        return CV_EXIT_DONE;
    snprintf(line, sizeof line, "%s", reduce);
    return cv_refuse("--reduce: '%s' gets what it is to merge as one stream, which it "
                     "leaves as it is: --reduce '%s {1} {2}'",
                     line, line);
}

/* Two files for a command that reads them: they are descriptors of this process. */
static int check_proc(const char *reduce)
{
    if (strstr(reduce, "{1}") == NULL || access("/proc/self/fd", F_OK) == 0)
        return CV_EXIT_DONE;
    return cv_refuse("--reduce: {1} and {2} are files of /proc, which is not mounted "
                     "here: mount it, or let CMD read both on standard input");
}

/* "--pin nodes": what may be left out stands behind a '='. */
static int check_pin(const struct cv_call *call, const char *pin)
{
    static const char *const cores[] = { "core", "cores" };
    static const char *const nodes[] = { "node", "nodes", "numa" };
    const char *first = call->operands[0];
    const bool one = cv_is_one_of(first, cores, sizeof cores / sizeof *cores);

    if (pin == NULL || pin[0] != '\0' || call->marked ||
        (!one && !cv_is_one_of(first, nodes, sizeof nodes / sizeof *nodes)))
        return CV_EXIT_DONE;
    return cv_refuse("'%s' would be the command: expected --pin=%s, or '--' before it",
                     first, one ? "cores" : "nodes");
}

int cv_run_mistakes_check(const struct cv_call *call, bool items)
{
    const struct cv_run_options *values = call->values;
    int status = CV_EXIT_DONE;

    if (values->reduce != NULL)
        status = check_merge(values->reduce);
    if (values->reduce != NULL && status == CV_EXIT_DONE)
        status = check_proc(values->reduce);
    if (status == CV_EXIT_DONE && !values->literal)
        status = cv_foreign_variables_check(call->operands, call->noperands);
    if (call->noperands == 0 || status != CV_EXIT_DONE || items || values->literal)
        return status;
    status = check_unit(call);
    if (status == CV_EXIT_DONE)
        status = check_pin(call, values->pin);
    if (status == CV_EXIT_DONE)
        status = check_sign(call);
    if (status == CV_EXIT_DONE && !values->cat)
        status = check_shell_line(call);
    if (status == CV_EXIT_DONE && values->reduce != NULL)
        status = check_reduce_words(call, values->reduce);
    return status;
}

/* --- nothing succeeded --------------------------------------------------------------------- */

/* An option of cleave that the command got, as it stands behind it; NULL: none. */
static const char *find_option_behind(const struct cv_call *call)
{
    const struct cv_option *option;

    for (size_t k = 0; (option = cv_option_at(call->verb->groups, k)) != NULL; k++)
        if (cv_is_one_of(option->name, call->operands + 1,
                         call->noperands > 0 ? call->noperands - 1 : 0))
            return option->name;
    return NULL;
}

/* A relative name of something that is here. */
static bool is_here(const char *name)
{
    return name[0] != '/' && name[0] != '-' && access(name, F_OK) == 0;
}

/* A list whose lines end in a carriage return, and so do its items. */
static bool hint_carriage(const struct cv_run_options *values)
{
    char line[PATH_MAX] = "", shown[CV_ECHO_ROOM];
    const char *name = values->item_files.count > 0 ? values->item_files.items[0] : "-";
    FILE *file = strcmp(name, "-") != 0 ? fopen(name, "re") : NULL;

    if (file == NULL)
        return false;
    if (fgets(line, sizeof line, file) == NULL)
        line[0] = '\0';
    fclose(file);
    if (strstr(line, "\r\n") == NULL)
        return false;
    cv_print_error(CV_EXIT_FAILED,
                   "lines of '%s' end in a carriage return, as on Windows, and so do the "
                   "items: sed -i 's/\\r$//' %s",
                   cv_echo(name, shown), shown);
    return true;
}

/* Programs that take arguments and never read standard input, as users of xargs and GNU parallel
 * may expect. Some are content with none. */
static bool hint_deaf(const struct cv_call *call, int status)
{
    static const char *const deaf[] = {
        "basename", "chmod",  "chown", "cp",    "dirname", "dig",   "du",    "echo",
        "file",     "host",   "kill",  "ln",    "ls",      "man",   "mkdir", "mv",
        "ping",     "printf", "rm",    "rmdir", "stat",    "touch", "unzip",
    };
    const struct cv_run_options *values = call->values;
    const char *program = call->noperands > 0 ? cv_file_name(call->operands[0]) : "";

    if (values->cat || values->json ||
        !cv_is_one_of(program, deaf, sizeof deaf / sizeof *deaf))
        return false;
    for (size_t i = 1; i < call->noperands; i++)
        if (strcmp(call->operands[i], "-") == 0 ||
            strstr(call->operands[i], "/dev/stdin") != NULL ||
            strstr(call->operands[i], "=-") != NULL)
            return false;
    cv_print_error(status,
                   "%s does not read standard input, where chunks come; to run it for "
                   "each record, with that as an argument: --each %s",
                   program, program);
    return true;
}

bool cv_run_mistakes_failed(const struct cv_call *call, bool items, bool hosts)
{
    const struct cv_run_options *values = call->values;
    const char *program = call->noperands > 0 ? call->operands[0] : "";
    const char *last = call->nwords > 0 ? call->words[call->nwords - 1] : "";
    const char *behind = find_option_behind(call);

    if (behind != NULL) {
        cv_print_error(CV_EXIT_FAILED,
                       "'%s' is behind the command, which got it: options of cleave "
                       "stand before the command",
                       behind);
        return true;
    }
    if (items && hint_carriage(values))
        return true;
    if (!items && hint_deaf(call, CV_EXIT_FAILED))
        return true;
    if (!hosts || values->work_directory != NULL)
        return false;
    if (strchr(program, '/') != NULL && is_here(program)) {
        cv_print_error(CV_EXIT_FAILED,
                       "'%s' is here; hosts look for it where ssh begins: copy it there, "
                       "or say --workdir DIR where it is",
                       CV_ECHO(program));
        return true;
    }
    if (items && values->transfers.count == 0 && !values->transfer && is_here(last)) {
        cv_print_error(CV_EXIT_FAILED,
                       "'%s' is here, and was not sent: --transferfile {} sends files of "
                       "items to hosts; --workdir DIR, if they see them there",
                       CV_ECHO(last));
        return true;
    }
    return false;
}

/* --- what was done ------------------------------------------------------------------------- */

/* The input as an argument, too: each command has read all of it instead of its chunk. One that
 * has a '-' or a {} in it reads both. */
static bool hint_argument(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;
    char shown[CV_ECHO_ROOM];
    const char *found = NULL;

    for (size_t i = 1; i < call->noperands; i++) {
        if (strcmp(call->operands[i], "-") == 0)
            return false;
        if (cv_is_one_of(call->operands[i], values->inputs.items, values->inputs.count))
            found = call->operands[i];
    }
    if (found == NULL)
        return false;
    cv_echo(found, shown);
    cv_print_error(CV_EXIT_DONE,
                   "'%s' is an argument of the command, too, which has then read all of "
                   "it for every chunk: chunks come on standard input, so leave it away",
                   shown);
    return true;
}

/* The command that makes one of what this one wrote for each chunk; "" if there is none that is
 * as simple; NULL: outputs one after the other are what it would have written. */
static const char *find_reduce(const struct cv_call *call, char line[LINE_ROOM])
{
    static const char *const alone[] = { "head",    "tail",   "tac",       "shuf",
                                         "nl",      "md5sum", "sha1sum",   "sha256sum",
                                         "cksum",   "b2sum",  "sha512sum", "sum",
                                         "datamash" };
    static const char *const counts[] = { "-l", "-c", "-w", "-m" };
    /* What they write depends on the place of a byte, unless they are asked for something else. */
    static const char *const places[] = { "base64", "base32", "xxd", "od", "hexdump" };
    const char *program = cv_file_name(call->operands[0]);
    char options[LINE_ROOM];

    if (cv_is_one_of(program, alone, sizeof alone / sizeof *alone))
        return "";
    if (strcmp(program, "wc") == 0)
        return call->noperands == 2 && cv_is_one_of(call->operands[1], counts, 4)
                   ? "\"awk '{ n += \\$1 } END { print n }'\""
                   : "";
    if (strcmp(program, "uniq") == 0)
        return call->noperands == 1 ? "uniq" : "";
    if (call->noperands == 1 &&
        cv_is_one_of(program, places, sizeof places / sizeof *places))
        return "";
    if (strcmp(program, "sort") != 0)
        return NULL;
    join(call->operands + 1, call->noperands - 1, NULL, options);
    snprintf(line, LINE_ROOM, "'sort -m %.150s%s{1} {2}'", options,
             options[0] != '\0' ? " " : "");
    return line;
}

/* One large value, as of an object that has the array in one of its members. */
static void hint_value(const struct cv_run_options *values)
{
    if (values->split == NULL || strcmp(values->split, "json") != 0 ||
        values->block > 0 || values->records > 0)
        return;
    cv_print_error(
        CV_EXIT_DONE,
        "all of it is one JSON value, which one command has read; to share out an array "
        "inside of it: jq -c '.KEY[]' FILE | cleave run --split jsonl ...");
}

void cv_run_mistakes_headers(const struct cv_call *call,
                             const struct cleave_execution_result *result)
{
    const struct cv_run_options *values = call->values;
    const char *line = result->same_line;
    const bool marked = line[0] == '@' || line[0] == '#';
    const char option[] = { ' ', '\'', line[0], '\'', '\0' };
    char shown[48];

    if (values->quiet)
        return;
    if (result->header_goes_on != '\0')
        cv_print_error(CV_EXIT_DONE,
                       "behind the header that is written once, outputs go on with lines "
                       "that begin with %c, too: --header-out '%c' takes all of them",
                       result->header_goes_on, result->header_goes_on);
    if (!marked && (values->header == NULL || line[strcspn(line, ",;\t")] == '\0'))
        return;
    cv_shown(line, strcspn(line, "\t"), shown, sizeof shown);
    cv_print_error(CV_EXIT_DONE,
                   "every output begins with '%s': if that is a header, --header-out%s "
                   "writes it once",
                   shown, marked ? option : "");
}

void cv_run_mistakes_hint(const struct cv_call *call, uint64_t chunks, double bytes)
{
    const struct cv_run_options *values = call->values;
    char line[LINE_ROOM];
    const char *reduce;

    if (chunks == 1 && bytes > LARGE && !values->quiet)
        hint_value(values);
    if (!values->quiet && hint_deaf(call, CV_EXIT_DONE))
        return;
    if (values->quiet || call->noperands == 0 || values->cat || hint_argument(call) ||
        chunks < 2 || values->reduce != NULL || values->records > 0 ||
        values->together != NULL || values->unordered || values->json)
        return;
    reduce = find_reduce(call, line);
    if (reduce != NULL)
        cv_print_error(CV_EXIT_DONE,
                       "%s has written one output for each of %" PRIu64 " chunks; %s%s",
                       cv_file_name(call->operands[0]), chunks,
                       reduce[0] != '\0' ? "for one of all: --reduce "
                                         : "--reduce CMD makes one of them",
                       reduce);
}

/* --- inputs that were meant to be taken otherwise ---------------------------------- */

enum {
    SURELY_CUT = 1 << 24, /* bytes of which several workers get some */
    NAMES_WAIT_MS = 1000, /* for whoever lists them; nothing else could be done before */
};

void cv_run_mistakes_form(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;

    if (values->inputs.count == 0 || values->quiet || values->json)
        return;
    if (values->split == NULL && values->records == 0)
        cv_usage_hint_form(values->inputs.items[0], values->header != NULL);
    else if (values->split != NULL && strcmp(values->split, "csv") == 0)
        cv_usage_hint_separator(values->inputs.items[0]);
}

void cv_run_mistakes_seeming(const struct cv_call *call,
                             const struct cleave_execution_result *result)
{
    const struct cv_run_options *values = call->values;
    const char *name = values->inputs.count > 0 ? values->inputs.items[0] : "-";

    if (values->split != NULL || values->records > 0 || values->quiet || values->json)
        return;
    if (result->seems_endless && result->chunks == 1 && result->nworkers > 1)
        cv_usage_hint_endless(name, result->seems, result->seems_advice);
    else if (!result->seems_endless)
        cv_usage_hint_seeming(name, result->seems, result->seems_advice,
                              result->seems_headed && values->header != NULL);
}

/* find | cleave run gzip: who thinks of xargs wants the files compressed, not their names. Told
 * only of programs that take files as arguments and make nothing of use out of a list of them. */
static void hint_names(const struct cv_call *call)
{
    static const char *const takers[] = {
        "b2sum",     "bgzip",     "brotli",    "bunzip2", "bzcat",  "bzip2",
        "cksum",     "gunzip",    "gzip",      "jq",      "lz4",    "lzop",
        "md5sum",    "pbzip2",    "pigz",      "sha1sum", "sum",    "sha224sum",
        "sha256sum", "sha384sum", "sha512sum", "unxz",    "unzstd", "xmllint",
        "xxhsum",    "xz",        "xzcat",     "zcat",    "zstd",   "zstdcat",
    };
    const struct cv_run_options *values = call->values;
    const char *program = call->noperands > 0 ? cv_file_name(call->operands[0]) : "";
    enum cv_listed_files listed;

    if (values->fetch != NULL || values->cat || values->quiet || values->json ||
        !cv_is_one_of(program, takers, sizeof takers / sizeof *takers))
        return;
    for (size_t i = 1; i < call->noperands; i++)
        if (call->operands[i][0] != '-' || call->operands[i][1] == '\0')
            return;
    listed = cv_lists_files(STDIN_FILENO, cv_hosts_asked(values) ? 0 : NAMES_WAIT_MS);
    if (listed != CV_LISTS_NO_FILES)
        cv_print_error(CV_EXIT_DONE,
                       "standard input is names of files, and %s gets the names; to run "
                       "it for each of the files: cleave run %s-a - %s",
                       program, listed == CV_LISTS_NULLS ? "-0 " : "", program);
}

bool cv_run_mistakes_form_early(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;
    struct stat facts;

    if (values->inputs.count == 0)
        hint_names(call);
    if (values->inputs.count == 0 || values->block > 0 || values->policy != NULL ||
        values->dry_run ||
        (values->workers != NULL && strcmp(values->workers, "1") == 0) ||
        stat(values->inputs.items[0], &facts) != 0 || !S_ISREG(facts.st_mode) ||
        facts.st_size < SURELY_CUT)
        return false;
    cv_run_mistakes_form(call);
    return true;
}
