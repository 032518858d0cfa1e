/* options.c -- parse a command line by its tables. SPDX-License-Identifier: MIT */
#include "cli/common/options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/quantity.h"
#include "cli/common/output.h"
#include "cli/common/verb.h"

enum { LISTED_MOST = 50 }; /* more options are not listed in messages */

struct reader {
    const struct cv_option_group *groups;
    int count, next;
    char *const *words;
    struct cv_arena *arena;
    char *values;
    struct cv_parsed *out;
    const struct cv_other_tool_option *foreign;
    const struct cv_option
        *seen; /* the required option, if given; a verb has at most one */
};

const struct cv_option *cv_option_at(const struct cv_option_group *groups, size_t index)
{
    for (; groups != NULL && groups->title != NULL; index -= groups++->count)
        if (index < groups->count)
            return &groups->options[index];
    return NULL;
}

const struct cv_option *cv_option_find(const struct cv_option_group *groups,
                                       const char *name, size_t length)
{
    const struct cv_option *option;

    for (size_t i = 0; (option = cv_option_at(groups, i)) != NULL; i++)
        if (strncmp(option->name, name, length) == 0 && option->name[length] == '\0')
            return option;
    return NULL;
}

static const struct cv_option *find_letter(const struct cv_option_group *groups,
                                           char letter)
{
    const struct cv_option *option;

    for (size_t i = 0; (option = cv_option_at(groups, i)) != NULL; i++)
        if (option->letter == letter)
            return option;
    return NULL;
}

static const char *option_name(const void *context, size_t index)
{
    const struct cv_option *option = cv_option_at(context, index);

    return option != NULL ? option->name : "--help";
}

/* Refuse an option of another program; CV_EXIT_DONE: it is not known. `begins`: a
 * letter may be followed by its argument. */
static int refuse_foreign(const struct reader *reader, const char *typed, bool begins)
{
    for (const struct cv_other_tool_option *known = reader->foreign;
         known != NULL && known->names != NULL; known++) {
        const char *name = known->names;

        if (known->instead[0] == '=')
            continue;
        for (size_t length; *name != '\0'; name += length + (name[length] == ' ')) {
            length = strcspn(name, " ");
            if (strncmp(name, typed, length) == 0 &&
                (typed[length] == '\0' || (begins && length == 2)))
                return cv_refuse("there is no option '%.*s' here; instead: %s",
                                 (int)length, name, known->instead);
        }
    }
    return CV_EXIT_DONE;
}

/* The meaning of a synonym: the words after the '=' of its advice; NULL: it is not a
 * synonym. "-e*" is a letter with its argument in the same word. */
static const char *find_synonym(const struct reader *reader, const char *typed,
                                size_t length)
{
    for (const struct cv_other_tool_option *known = reader->foreign;
         known != NULL && known->names != NULL; known++)
        for (const char *name = known->names; name != NULL && known->instead[0] == '=';
             name = strchr(name, ' ')) {
            name += *name == ' ';
            if (strncmp(name, typed, length) == 0 &&
                (name[length] == ' ' || name[length] == '\0'))
                return known->instead + 1;
        }
    return NULL;
}

static int unknown_option(const struct reader *reader, const char *typed)
{
    char hint[512], shown[CV_ECHO_ROOM];
    size_t count = 0;

    CV_DO(refuse_foreign(reader, typed, true));
    cv_echo(typed, shown);
    while (cv_option_at(reader->groups, count) != NULL)
        count++;
    cv_suggest(shown, count + 1, option_name, reader->groups, hint, sizeof hint);
    if (count > LISTED_MOST && strncmp(hint, "; known", 7) == 0)
        snprintf(hint, sizeof hint, "; --help lists those that there are");
    return cv_refuse("unknown option '%s'%s", shown, hint);
}

/* Read digits, or digits with a power of ten such as 1e18 or 5k, exactly; false: not a
 * number of 64 bits. */
static bool read_count(const char *text, uint64_t *out)
{
    unsigned long long value, power = 0;
    char *end;

    errno = 0;
    if (text[0] < '0' || text[0] > '9')
        return false;
    value = strtoull(text, &end, 10);
    if (*end == 'e' && end[1] >= '0' && end[1] <= '9')
        power = strtoull(end + 1, &end, 10);
    else if (*end == 'k') {
        power = 3;
        end++;
    }
    if (*end != '\0' || errno != 0 || power > 19)
        return false;
    for (; power > 0; power--) {
        if (value > UINT64_MAX / 10)
            return false;
        value *= 10;
    }
    *out = value;
    return true;
}

static int store_count(const struct cv_option *option, const char *text, uint64_t *out)
{
    uint64_t value = 0;

    if (!read_count(text, &value) || (double)value < option->min ||
        (option->max > 0 && (double)value > option->max)) {
        if (option->max > 0)
            return cv_refuse("%s: expected a whole number from %.0f to %.0f, got '%s'",
                             option->name, option->min, option->max, CV_ECHO(text));
        return cv_refuse("%s: expected a whole number of 64 bits, got '%s'", option->name,
                         CV_ECHO(text));
    }
    *out = value;
    return CV_EXIT_DONE;
}

static int store_quantity(const struct cv_option *option, const char *text, double *out)
{
    char range[96];
    const char *expected;
    enum cv_quantity kind = CV_NUMBER;
    double value = 0, min = 0, max = HUGE_VAL;
    bool positive = true;

    switch (option->kind) {
    case CV_OPTION_UNITS:
    case CV_OPTION_AMOUNT:
        kind = CV_UNITS;
        expected = "a positive amount such as 2000, 10k or 3 GB";
        break;
    case CV_OPTION_RATE:
        kind = CV_RATE;
        expected = "a positive rate such as 20, 10 MB/s or 600/min";
        break;
    case CV_OPTION_SECONDS:
        kind = CV_DURATION;
        expected = "a time of 0 or more such as 0.5, 500ms or 2min";
        positive = false;
        break;
    default:
        min = option->min;
        max = option->max;
        positive = false;
        snprintf(range, sizeof range, "a number from %g to %g", min, max);
        expected = range;
    }
    if (cv_quantity_parse(text, kind, &value) != NULL || value < min || value > max ||
        (positive && value <= 0))
        return cv_refuse("%s: expected %s, got '%s'", option->name, expected,
                         CV_ECHO(text));
    *out = value;
    return CV_EXIT_DONE;
}

static int store_repeat(struct reader *reader, struct cv_strings *list, const char *text)
{
    if (list->items == NULL) /* there are at most as many texts as words */
        list->items = cv_need(reader->arena, (size_t)reader->count, sizeof *list->items,
                              "the arguments");
    list->items[list->count++] = text;
    return CV_EXIT_DONE;
}

static int refuse_empty(const struct cv_option *option)
{
    return cv_refuse("%s: expected %s, got '': is a variable of the shell not set?",
                     option->name, option->argument);
}

/* Store an option; `text` is NULL for flags. */
static int store(struct reader *reader, const struct cv_option *option, const char *text)
{
    void *field = reader->values + option->offset;

    if (option->required)
        reader->seen = option;
    if (option->kind == CV_OPTION_FLAG) {
        *(int *)field = option->value;
        return CV_EXIT_DONE;
    }
    if (text == NULL) /* only CV_OPTION_MAYBE may lack a value */
        text = "";
    switch (option->kind) {
    case CV_OPTION_FLAG:
        break;
    case CV_OPTION_MAYBE:
        *(const char **)field = text;
        return CV_EXIT_DONE;
    case CV_OPTION_TEXT:
        if (text[0] == '\0')
            return refuse_empty(option);
        *(const char **)field = text;
        return CV_EXIT_DONE;
    case CV_OPTION_REPEAT:
        return text[0] != '\0' ? store_repeat(reader, field, text) : refuse_empty(option);
    case CV_OPTION_COUNT:
        return store_count(option, text, field);
    case CV_OPTION_AMOUNT:
        ((struct cv_amount *)field)->in_bytes = strchr(text, 'B') != NULL;
        return store_quantity(option, text, &((struct cv_amount *)field)->units);
    case CV_OPTION_NUMBER:
    case CV_OPTION_UNITS:
    case CV_OPTION_RATE:
    case CV_OPTION_SECONDS:
        break;
    }
    return store_quantity(option, text, field);
}

/* Whether a word is an option: "--load", "--load=5", or a letter alone. -0 may be a
 * number. */
static bool is_option(const struct reader *reader, const char *word)
{
    const struct cv_option *other;

    for (size_t i = 0; (other = cv_option_at(reader->groups, i)) != NULL; i++) {
        const size_t length = strlen(other->name);

        if (strncmp(word, other->name, length) == 0 &&
            (word[length] == '\0' || word[length] == '='))
            return true;
        if (other->letter >= 'A' && word[0] == '-' && word[1] == other->letter &&
            word[2] == '\0')
            return true;
    }
    return false;
}

/* Take the next word as the argument. An option, or "--", is not taken: the argument
 * was forgotten. */
static int take_argument(struct reader *reader, const struct cv_option *option,
                         const char **out)
{
    const char *word = reader->next < reader->count ? reader->words[reader->next] : NULL;

    if (word == NULL || is_option(reader, word) || strcmp(word, "--") == 0)
        return cv_refuse("%s: needs an argument: %s", option->name, option->argument);
    reader->next++;
    *out = word;
    return CV_EXIT_DONE;
}

/* Whether a word may be an optional argument. A word that could be a command may not. */
static bool fits_maybe(const char *word)
{
    if (strchr("#@%;!*", word[0]) != NULL)
        return word[0] != '\0';
    if (strcmp(word, ":") == 0) /* as GNU parallel calls one line */
        return true;
    return word[0] != '\0' && word[strspn(word, "0123456789")] == '\0';
}

/* Refuse a word that would switch an option on or off. */
static int refuse_switch(const struct cv_option *option, const char *word)
{
    if (word == NULL ||
        !CV_IS_ONE_OF(word, "true", "false", "yes", "no", "on", "off", "none", "auto"))
        return CV_EXIT_DONE;
    return cv_refuse("%s: expected no argument, or %s, got '%s'; a command of this name: "
                     "-- %s",
                     option->name, option->argument, word, word);
}

static int read_long(struct reader *reader, const char *word);

/* Read the words of a synonym, the last one with `text`; NULL: with the next word, if it takes
 * one. A word with '%' has the argument there; '%' alone drops it. */
static int read_synonym(struct reader *reader, const char *means, const char *typed,
                        const char *text)
{
    const char *place = strchr(means, '%');
    struct cv_words words = { .arena = reader->arena };
    const char *last;

    if (place != NULL) {
        if (text == NULL && reader->next < reader->count)
            text = reader->words[reader->next++];
        if (text == NULL)
            return cv_refuse("%s: needs an argument", typed);
        if (strcmp(means, "%") == 0)
            return CV_EXIT_DONE;
        last = cv_arena_print(reader->arena, "%.*s%s%s", (int)(place - means), means,
                              text, place + 1);
        return last != NULL ? read_long(reader, last) : cv_no_memory("the arguments");
    }
    cv_words_split(&words, means);
    if (cv_words_done(&words) == NULL)
        return cv_no_memory("the arguments");
    for (size_t i = 0; i + 1 < words.count; i++)
        CV_DO(read_long(reader, words.items[i]));
    if (words.count == 0)
        return text == NULL ? CV_EXIT_DONE : cv_refuse("%s: takes no argument", typed);
    last = words.items[words.count - 1];
    if (text != NULL)
        last = cv_arena_print(reader->arena, "%s=%s", last, text);
    return last != NULL ? read_long(reader, last) : cv_no_memory("the arguments");
}

/* Whether the next word is the argument of an option that may do without: a number, one of the
 * option's words, or a sign that another word of the command has. */
static bool is_argument(const struct reader *reader, const struct cv_option *option)
{
    const char *word = reader->next < reader->count ? reader->words[reader->next] : "";
    struct cv_text words = { NULL, 0, 0, false };
    bool used = false;

    if (option->kind == CV_OPTION_COUNT)
        return fits_maybe(word);
    if (option->add_words != NULL) {
        cv_text_add(&words, " ");
        option->add_words(&words);
        cv_text_add(&words, " ");
        for (const char *at = words.bytes; at != NULL && *word != '\0' && !used;
             at = strchr(at + 1, ' '))
            used =
                strncmp(at + 1, word, strlen(word)) == 0 && at[1 + strlen(word)] == ' ';
        cv_text_done(&words);
        return used;
    }
    for (int i = reader->next + 1; *word != '\0' && i < reader->count; i++)
        used = used || strstr(reader->words[i], word) != NULL;
    return used;
}

static int read_long(struct reader *reader, const char *word)
{
    const char *equals = strchr(word, '=');
    const size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    const struct cv_option *option = cv_option_find(reader->groups, word, length);
    const char *text = equals != NULL ? equals + 1 : NULL;

    if (option == NULL && length == strlen("--help") &&
        strncmp(word, "--help", length) == 0)
        return cv_refuse("--help: takes no argument");
    if (option == NULL) {
        const char *means = find_synonym(reader, word, length);
        char name[CV_ECHO_ROOM];

        if (means != NULL)
            return read_synonym(reader, means, word, text);

        snprintf(name, sizeof name, "%.*s", (int)(length < 76 ? length : 76), word);
        return unknown_option(reader, name);
    }
    if (option->kind == CV_OPTION_FLAG && equals != NULL)
        return cv_refuse("%s: takes no argument", option->name);
    if (option->kind == CV_OPTION_MAYBE && text == NULL && reader->next < reader->count &&
        fits_maybe(reader->words[reader->next]))
        text = reader->words[reader->next++];
    if (option->kind == CV_OPTION_MAYBE)
        CV_DO(refuse_switch(option, text != NULL ? text
                                    : reader->next < reader->count
                                        ? reader->words[reader->next]
                                        : NULL));
    if (text == NULL && option->implied != NULL && !is_argument(reader, option))
        text = option->implied;
    if (text == NULL && cv_option_takes(option))
        CV_DO(take_argument(reader, option, &text));
    return store(reader, option, text);
}

static int read_letters(struct reader *reader, const char *word)
{
    if (word[2] != '\0') /* -np, -exec: one option elsewhere, letters here */
        CV_DO(refuse_foreign(reader, word, false));
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        const struct cv_option *option = find_letter(reader->groups, *letter);
        const char *text = letter + 1;

        if (option == NULL) {
            const char name[] = { '-', *letter, *text != '\0' ? '*' : '\0', '\0' };
            const char *means = find_synonym(reader, name, strlen(name));
            const struct cv_option *meant;

            if (means == NULL)
                means = find_synonym(reader, name, 2);
            if (means == NULL)
                return unknown_option(reader, word);
            meant = cv_option_find(reader->groups, means, strlen(means));
            if (meant != NULL && cv_option_takes(meant))
                return read_synonym(reader, means, name, *text != '\0' ? text : NULL);
            CV_DO(read_synonym(reader, means, name, NULL));
            continue;
        }
        if (!cv_option_takes(option)) {
            store(reader, option, NULL);
            continue;
        }
        if (*text == '\0')
            CV_DO(take_argument(reader, option, &text));
        return store(reader, option, text);
    }
    return CV_EXIT_DONE;
}

static int check_required(const struct reader *reader)
{
    const struct cv_option *option;

    for (size_t i = 0; (option = cv_option_at(reader->groups, i)) != NULL; i++) {
        const char *word = reader->out->noperands > 0 ? reader->out->operands[0] : NULL;

        if (!option->required || reader->seen == option)
            continue;
        if (word != NULL && option->file == CV_FILE_NONE &&
            strcmp(option->argument, "FILE") == 0 && access(word, F_OK) == 0)
            return cv_refuse("%s FILE is required; if '%s' is it: %s %s", option->name,
                             CV_ECHO(word), option->name, CV_ECHO(word));
        return cv_refuse("%s %s is required", option->name, option->argument);
    }
    return CV_EXIT_DONE;
}

/* Whether the next word is the argument of this one. */
static bool wants_argument(const struct cv_option_group *groups, const char *word)
{
    const struct cv_option *option = cv_option_find(groups, word, strlen(word));

    if (word[1] == '-')
        return option != NULL && cv_option_takes(option);
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        option = find_letter(groups, *letter);
        if (option != NULL && cv_option_takes(option))
            return letter[1] == '\0';
    }
    return false;
}

/* Help counts even after options with mistakes. */
static enum cv_help_kind asked_help(const struct cv_option_group *groups,
                                    const struct cv_typed *typed)
{
    for (int i = 0; i < typed->count && strcmp(typed->words[i], "--") != 0; i++) {
        const char *word = typed->words[i];

        if (strcmp(word, "--help") == 0)
            return CV_HELP_USUAL;
        if (strcmp(word, "-h") == 0)
            return CV_HELP_SHORT;
        if (typed->command && (word[0] != '-' || word[1] == '\0') && !fits_maybe(word))
            return CV_HELP_NONE;
        if (typed->command && wants_argument(groups, word) && i + 1 < typed->count &&
            strcmp(typed->words[i + 1], "--help") != 0 &&
            strcmp(typed->words[i + 1], "-h") != 0)
            i++;
    }
    return CV_HELP_NONE;
}

bool cv_option_takes(const struct cv_option *option)
{
    return option->kind != CV_OPTION_FLAG && option->kind != CV_OPTION_MAYBE;
}

void cv_option_help(const struct cv_option *option, struct cv_text *out)
{
    const char *list = option->add_list != NULL ? strstr(option->help, "%s") : NULL;

    if (list == NULL) {
        cv_text_add(out, "%s", option->help);
        return;
    }
    cv_text_add(out, "%.*s", (int)(list - option->help), option->help);
    option->add_list(out);
    cv_text_add(out, "%s", list + 2);
}

int cv_options_parse(const struct cv_option_group *groups, const struct cv_typed *typed,
                     struct cv_arena *arena, void *values, struct cv_parsed *out)
{
    const int count = typed->count;
    struct reader reader = { groups, count,          0,   typed->words, arena, values,
                             out,    typed->foreign, NULL };
    bool ended = false;

    *out = (struct cv_parsed){ .help = asked_help(groups, typed) };
    if (out->help != CV_HELP_NONE)
        return CV_EXIT_DONE;
    out->operands = cv_need(arena, (size_t)count, sizeof *out->operands, "the arguments");
    while (reader.next < count) {
        const char *word = typed->words[reader.next++];
        int status = CV_EXIT_DONE;

        if (ended || word[0] != '-' || word[1] == '\0') {
            out->operands[out->noperands++] = word;
            ended = ended || typed->command;
        } else if (strcmp(word, "--") == 0) {
            ended = out->marked = true;
        } else if (word[1] == '-') {
            status = read_long(&reader, word);
        } else {
            status = read_letters(&reader, word);
        }
        if (status != CV_EXIT_DONE)
            return status;
    }
    return check_required(&reader);
}

static const void *field_of(const struct cv_call *call, const struct cv_option *option)
{
    return (const char *)call->values + option->offset;
}

static bool is_given(const struct cv_call *call, const struct cv_option *option)
{
    static const size_t sizes[] = {
        [CV_OPTION_FLAG] = sizeof(int),
        [CV_OPTION_MAYBE] = sizeof(const char *),
        [CV_OPTION_TEXT] = sizeof(const char *),
        [CV_OPTION_REPEAT] = sizeof(struct cv_strings),
        [CV_OPTION_COUNT] = sizeof(uint64_t),
        [CV_OPTION_NUMBER] = sizeof(double),
        [CV_OPTION_UNITS] = sizeof(double),
        [CV_OPTION_AMOUNT] = sizeof(double), /* the amount itself */
        [CV_OPTION_RATE] = sizeof(double),
        [CV_OPTION_SECONDS] = sizeof(double),
    };
    static const struct cv_strings none;
    const char *presets = call->verb->presets;

    return memcmp(field_of(call, option),
                  presets != NULL ? presets + option->offset : (const char *)&none,
                  sizes[option->kind]) != 0;
}

/* The next of `names` that was given; *names is advanced. NULL: none. */
static const struct cv_option *next_given(const struct cv_call *call, const char **names)
{
    while (**names != '\0') {
        const size_t length = strcspn(*names, " ");
        const struct cv_option *option =
            cv_option_find(call->verb->groups, *names, length);

        *names += length + ((*names)[length] == ' ');
        if (option != NULL && is_given(call, option))
            return option;
    }
    return NULL;
}

const char *cv_option_given(const struct cv_call *call, const char *names)
{
    const struct cv_option *option = next_given(call, &names);

    return option != NULL ? option->name : NULL;
}

void cv_options_add_words(const struct cv_call *call, const char *names,
                          struct cv_words *words)
{
    const struct cv_option *option;

    while ((option = next_given(call, &names)) != NULL) {
        const void *field = field_of(call, option);
        struct cv_text text = { NULL, 0, 0, false };

        if (option->kind == CV_OPTION_MAYBE && (*(const char *const *)field)[0] != '\0')
            cv_text_add(&text, "%s=", option->name);
        else
            cv_words_add(words, option->name);
        if (option->kind == CV_OPTION_TEXT || option->kind == CV_OPTION_MAYBE)
            cv_text_add(&text, "%s", *(const char *const *)field);
        else if (option->kind == CV_OPTION_COUNT)
            cv_text_add(&text, "%" PRIu64, *(const uint64_t *)field);
        else if (option->kind != CV_OPTION_FLAG)
            cv_text_add(&text, "%.17g", *(const double *)field);
        if (text.length > 0)
            cv_words_take(words, &text);
        cv_text_done(&text);
    }
}

static int refuse_rule(const struct cv_call *call, const struct cv_option_rule *rule,
                       const struct cv_option *one, const struct cv_option *other)
{
    struct cv_text text = { NULL, 0, 0, false };

    for (const char *at = rule->message; *at != '\0'; at++) {
        const char sign = at[0] == '%' ? at[1] : '\0';

        at += sign != '\0';
        if (sign == '1')
            cv_text_add(&text, "%s", one->name);
        else if (sign == '2' && other != NULL)
            cv_text_add(&text, "%s", other->name);
        else if (sign == 'v')
            cv_text_add(&text, "%s", *(const char *const *)field_of(call, one));
        else
            cv_text_add(&text, "%c", *at);
    }
    cv_print_line(text.failed ? rule->message : text.bytes);
    cv_text_done(&text);
    return CV_EXIT_USAGE;
}

int cv_options_check(const struct cv_call *call, const struct cv_option_rule *rules,
                     unsigned situation)
{
    for (; rules->options != NULL; rules++) {
        const char *options = rules->options, *others = rules->others;
        const struct cv_option *one = next_given(call, &options);
        const struct cv_option *other = one != NULL ? next_given(call, &others) : NULL;
        const bool broken = rules->kind == CV_ONE_OF  ? one == NULL
                            : rules->kind == CV_NEEDS ? one != NULL && other == NULL
                                                      : one != NULL && other != NULL;

        if (broken && (rules->only & ~situation) == 0)
            return refuse_rule(call, rules, one, other);
    }
    return CV_EXIT_DONE;
}
