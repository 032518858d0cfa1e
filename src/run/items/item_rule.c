/* item_rule.c -- places that users define: --rpl '{name} s/from/to/'.
 * SPDX-License-Identifier: MIT */
#include "run/items/item_rule.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"

enum { GROUPS = 10, SHOWN = 128 };
/* How large a compiled expression may become. */
static const double MOST_TIMES = 1 << 12;

/* --- expressions -------------------------------------------------------------------------- */

/* What Perl writes shorter. */
static const char *class_of(char letter)
{
    switch (letter) {
    case 'd':
        return "[0-9]";
    case 's':
        return "[[:space:]]";
    case 'S':
        return "[^[:space:]]";
    case 'w':
        return "[[:alnum:]_]";
    case 't':
        return "\t";
    case 'n':
        return "\n";
    default:
        return NULL;
    }
}

/* What only Perl has, and POSIX would read as something else. */
static bool is_perlish(const char *expression)
{
    static const char *const signs[] = {
        "(?", "*?", "+?", "??", "}?", "\\b", "\\D", "\\W"
    };

    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strstr(expression, signs[i]) != NULL)
            return true;
    return false;
}

static void translate(const char *expression, struct cv_text *out)
{
    bool bracket = false;

    for (const char *at = expression; *at != '\0'; at++) {
        const char *class = at[0] == '\\' ? class_of(at[1]) : NULL;

        if (class != NULL && (!bracket || at[1] == 't' || at[1] == 'n')) {
            cv_text_add(out, "%s", class);
            at++;
        } else if (at[0] == '\\' && at[1] != '\0' && !bracket &&
                   (isalpha((unsigned char)at[1]) ||
                    strchr("/:,;#'\"-_=<>~!@%& ", at[1]))) {
            cv_text_add(out, "%c", at[1]); /* which needs no backslash */
            at++;
        } else if (at[0] == '\\' && at[1] != '\0' && !bracket) {
            cv_text_add(out, "\\%c", at[1]);
            at++;
        } else {
            bracket = bracket ? *at != ']' : *at == '[';
            cv_text_add(out, "%c", *at);
        }
    }
}

/* Compiled, each part that is repeated is there as often as that: e++++++ fills the memory. */
static bool is_too_large(const char *expression)
{
    double times = 1;

    for (const char *at = expression; *at != '\0'; at++) {
        if (at[0] == '\\' && at[1] != '\0') {
            at++;
        } else if (*at == '+') {
            times *= 2;
        } else if (*at == '{') {
            const unsigned long min = strtoul(at + 1, NULL, 10);
            const char *comma = strchr(at, ',');
            const unsigned long max = comma != NULL ? strtoul(comma + 1, NULL, 10) : min;

            times *= (double)(max > min ? max : min) + 1;
        }
    }
    return times > MOST_TIMES;
}

enum cleave_status cv_item_regex(regex_t *out, const char *expression, int flags,
                                 const char *option, struct cleave_error *err)
{
    struct cv_text text = { NULL, 0, 0, false };
    char shown[SHOWN], why[SHOWN];
    int failure;

    cv_shown(expression, strlen(expression), shown, sizeof shown);
    if (expression[0] == '\0' || is_perlish(expression))
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s: expected an extended regular expression of POSIX, got '%s'",
                       option, shown);
    if (is_too_large(expression))
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s: '%s': expected an expression with fewer repetitions", option,
                       shown);
    translate(expression, &text);
    if (text.failed)
        return cv_fail_memory(err, "an expression");
    failure = regcomp(out, text.bytes, REG_EXTENDED | flags);
    cv_text_done(&text);
    if (failure == 0)
        return CLEAVE_OK;
    regerror(failure, NULL, why, sizeof why);
    return cv_fail(err, CLEAVE_EINPUT, "%s: '%s': %s", option, shown, why);
}

/* --- rules -------------------------------------------------------------------------------- */

void cv_item_rule_done(struct cv_item_rule *rule)
{
    for (size_t i = 0; i < rule->count; i++) {
        regfree(&rule->changes[i].regex);
        free(rule->changes[i].text);
    }
    free(rule->changes);
    free(rule->sign);
    *rule = (struct cv_item_rule){ .sign = NULL };
}

static enum cleave_status refuse(const char *text, struct cleave_error *err)
{
    char shown[SHOWN];

    if (cv_item_rule_inline_end(text) != NULL)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "expected '{= s/REGEX/TEXT/ =}', several with ';' between, as no other "
            "expressions of Perl are known here, got '%s'",
            cv_shown(text, (size_t)(cv_item_rule_inline_end(text) - text), shown,
                     sizeof shown));
    return cv_fail(
        err, CLEAVE_EINPUT,
        "--rpl: expected '{SIGN} s/REGEX/TEXT/', several with ';' between, got "
        "'%s'",
        cv_shown(text, strlen(text), shown, sizeof shown));
}

/* Up to the next `mark` without a backslash before it; NULL: there is none. The backslash
 * before a mark goes. For free(). */
static char *read_field(const char **at, char mark)
{
    char *field = malloc(strlen(*at) + 1), *out = field;

    if (field == NULL)
        return NULL;
    for (; **at != '\0' && **at != mark; (*at)++) {
        if (**at == '\\' && (*at)[1] != '\0') {
            if ((*at)[1] != mark)
                *out++ = **at;
            (*at)++;
        }
        *out++ = **at;
    }
    *out = '\0';
    if (**at == mark) {
        (*at)++;
        return field;
    }
    free(field);
    return NULL;
}

/* The letters behind a substitution, and what comes before the next one. */
static int read_flags(const char **at, bool *all)
{
    int flags = 0;

    for (*all = false; isalpha((unsigned char)**at); (*at)++) {
        if (**at == 'g')
            *all = true;
        else if (**at == 'i')
            flags |= REG_ICASE;
        else
            return -1;
    }
    while (**at == ' ' || **at == ';')
        (*at)++;
    return flags;
}

static enum cleave_status grow_array(struct cv_item_rule *rule, struct cleave_error *err)
{
    if (!CV_ROOM(rule->changes, &rule->room, rule->count + 1))
        return cv_fail_memory(err, "a place");
    return CLEAVE_OK;
}

enum cleave_status cv_item_rule_put(struct cv_item_rule *rule, const char *from,
                                    const char *to, const struct cv_item_change *how,
                                    const char *option, struct cleave_error *err)
{
    struct cv_item_change change = { .all = how->all, .letters = how->letters };

    CV_TRY(grow_array(rule, err));
    CV_TRY(cv_item_regex(&change.regex, from, 0, option, err));
    change.text = strdup(to);
    if (change.text == NULL) {
        regfree(&change.regex);
        return cv_fail_memory(err, "a place");
    }
    rule->changes[rule->count++] = change;
    return CLEAVE_OK;
}

static enum cleave_status read_change(struct cv_item_rule *rule, const char **at,
                                      const char *whole, struct cleave_error *err)
{
    struct cv_item_change change = { .text = NULL };
    enum cleave_status status;
    char *from;
    int flags;

    CV_TRY(grow_array(rule, err));
    if ((*at)[0] != 's' || !ispunct((unsigned char)(*at)[1]))
        return refuse(whole, err);
    *at += 2;
    from = read_field(at, (*at)[-1]);
    if (from != NULL)
        change.text = read_field(at, (*at)[-1]);
    flags = change.text != NULL ? read_flags(at, &change.all) : -1;
    status = flags < 0 ? refuse(whole, err)
                       : cv_item_regex(&change.regex, from, flags, "--rpl", err);
    free(from);
    if (status != CLEAVE_OK)
        free(change.text);
    else
        rule->changes[rule->count++] = change;
    return status;
}

enum cleave_status cv_item_rule_init(struct cv_item_rule *out, const char *text,
                                     struct cleave_error *err)
{
    const size_t length = strcspn(text, " ");
    const char *at = text + length + strspn(text + length, " ");
    enum cleave_status status = CLEAVE_OK;

    *out = (struct cv_item_rule){ .sign = NULL };
    if (length == 0 || *at == '\0')
        return refuse(text, err);
    if (strstr(at, "$$") != NULL) /* a text that stands in the sign */
        return cv_fail(
            err, CLEAVE_EINPUT,
            "--rpl: expected a sign that is a text, without $$1 in what it stands "
            "for; --plus has {%%RE}, {#RE} and {/RE/TEXT}");
    out->sign = strndup(text, length);
    if (out->sign == NULL)
        return cv_fail_memory(err, "--rpl");
    while (status == CLEAVE_OK && *at != '\0')
        status = read_change(out, &at, text, err);
    if (status != CLEAVE_OK)
        cv_item_rule_done(out);
    return status;
}

const char *cv_item_rule_inline_end(const char *text)
{
    const char *end = strncmp(text, "{=", 2) == 0 ? strstr(text + 2, "=}") : NULL;

    return end != NULL ? end + 2 : NULL;
}

enum cleave_status cv_item_rule_init_inline(struct cv_item_rule *out, const char *text,
                                            struct cleave_error *err)
{
    const size_t length = (size_t)(cv_item_rule_inline_end(text) - text);
    char *inside = strndup(text + 2, length - 4), *next = inside;
    enum cleave_status status = CLEAVE_OK;
    const char *at;

    *out = (struct cv_item_rule){ .sign = strndup(text, length) };
    if (out->sign == NULL || inside == NULL)
        status = cv_fail_memory(err, "a place");
    if (status == CLEAVE_OK && (isdigit((unsigned char)inside[0]) || inside[0] == '-'))
        out->position = (int)strtol(inside, &next, 10);
    at = next;
    if (status == CLEAVE_OK) {
        at += strspn(at, " ");
        if (*at == '\0')
            status = refuse(text, err);
    }
    while (status == CLEAVE_OK && *at != '\0')
        status = read_change(out, &at, text, err);
    free(inside);
    if (status != CLEAVE_OK)
        cv_item_rule_done(out);
    return status;
}

/* --- using them --------------------------------------------------------------------------- */

static void add_match(struct cv_text *out, const char *value, const regmatch_t *match)
{
    if (match->rm_so >= 0)
        cv_text_add(out, "%.*s", (int)(match->rm_eo - match->rm_so),
                    value + match->rm_so);
}

static void add_text(struct cv_text *out, const char *text, const char *value,
                     const regmatch_t *matches)
{
    for (; *text != '\0'; text++) {
        const bool sign = *text == '$' || *text == '\\';

        if (sign && text[1] >= '1' && text[1] <= '9') {
            add_match(out, value, &matches[*++text - '0']);
        } else if (text[0] == '$' && text[1] == '&') {
            add_match(out, value, &matches[0]);
            text++;
        } else if (text[0] == '\\' && text[1] != '\0') {
            cv_text_add(out, "%c", *++text);
        } else {
            cv_text_add(out, "%c", *text);
        }
    }
}

static void set_letters(struct cv_text *out, size_t begin, enum cv_item_case letters)
{
    for (size_t i = begin; letters != CV_ITEM_AS_IT_IS && i < out->length; i++)
        out->bytes[i] =
            (char)(letters == CV_ITEM_CAPITAL ? toupper((unsigned char)out->bytes[i])
                                              : tolower((unsigned char)out->bytes[i]));
}

static void change_text(struct cv_text *out, const struct cv_item_change *change,
                        const char *value)
{
    regmatch_t matches[GROUPS];
    size_t begin;
    int flags = 0;

    while (regexec(&change->regex, value, GROUPS, matches, flags) == 0) {
        const bool empty = matches[0].rm_eo == matches[0].rm_so;

        cv_text_add(out, "%.*s", (int)matches[0].rm_so, value);
        begin = out->length;
        add_text(out, change->text, value, matches);
        if (!out->failed)
            set_letters(out, begin, change->letters);
        value += matches[0].rm_eo;
        flags = REG_NOTBOL;
        if (!change->all || *value == '\0')
            break;
        if (empty)
            cv_text_add(out, "%c", *value++);
    }
    cv_text_add(out, "%s", value);
}

void cv_item_rule_add(struct cv_text *out, const struct cv_item_rule *rule,
                      const char *value)
{
    struct cv_text now = { NULL, 0, 0, false };

    cv_text_add(&now, "%s", value);
    for (size_t i = 0; i < rule->count && !now.failed; i++) {
        struct cv_text next = { NULL, 0, 0, false };

        change_text(&next, &rule->changes[i], now.bytes);
        cv_text_done(&now);
        now = next;
    }
    out->failed = out->failed || now.failed;
    if (!now.failed)
        cv_text_add(out, "%s", now.bytes);
    cv_text_done(&now);
}
