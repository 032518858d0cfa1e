/* item_plus.c -- places of --plus that are made like the expansions of bash.
 * SPDX-License-Identifier: MIT */
#include "run/items/item_plus.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* A place taken apart: what it does, and its one or two texts. */
struct plus {
    const struct form *form;
    int position;
    const char *first, *second; /* into the text */
    size_t nfirst, nsecond;
    const char *end;
};

/* How a kind of place begins, and the substitution that it stands for: \1 and \2 are its texts.
 * The longest beginning comes first. */
static const struct form {
    const char *begin, *from, *to;
    enum cv_item_case letters;
    bool two;      /* texts, with a slash between them     */
    bool numbers;  /* they are, with a colon between them  */
    bool shortest; /* the text may match in one way only   */
    bool all;      /* matches, not the first one           */
} forms[] = {
    { .begin = ":-", .from = "^0?$", .to = "\2" },
    { .begin = ":", .numbers = true },
    { .begin = "##", .from = "^\1", .to = "" },
    { .begin = "#", .shortest = true, .from = "^\1(.*)", .to = "$1" },
    { .begin = "%%", .from = "\1$", .to = "" },
    { .begin = "%", .shortest = true, .from = "(.*)\1$", .to = "$1" },
    { .begin = "/#", .two = true, .from = "^\1", .to = "\2", .all = true },
    { .begin = "/%", .two = true, .from = "\1$", .to = "\2", .all = true },
    { .begin = "//", .two = true, .from = "\1", .to = "\2", .all = true },
    { .begin = "/", .two = true, .from = "\1", .to = "\2" },
    { .begin = "^^", .from = "\1", .to = "$&", .all = true, .letters = CV_ITEM_CAPITAL },
    { .begin = "^", .from = "^\1", .to = "$&", .letters = CV_ITEM_CAPITAL },
    { .begin = ",,", .from = "\1", .to = "$&", .all = true, .letters = CV_ITEM_SMALL },
    { .begin = ",", .from = "^\1", .to = "$&", .letters = CV_ITEM_SMALL },
};

/* --- reading ------------------------------------------------------------------------------ */

static bool read_numbers(const char *at, size_t length, struct plus *out)
{
    const size_t first = strspn(at, "0123456789");
    const size_t second = at[first] == ':' ? strspn(at + first + 1, "0123456789") : 0;

    out->first = at;
    out->nfirst = first;
    out->second = at + first + 1;
    out->nsecond = second;
    return first > 0 && (first == length || (second > 0 && first + 1 + second == length));
}

static bool read_texts(const struct form *form, const char *at, size_t length,
                       struct plus *out)
{
    const char *slash = form->two && length > 0 ? memchr(at + 1, '/', length - 1) : NULL;

    out->first = out->second = at;
    out->nfirst = slash != NULL ? (size_t)(slash - at) : length;
    if (slash != NULL)
        out->second = slash + 1;
    out->nsecond = slash != NULL ? length - out->nfirst - 1 : length;
    return length > 0 && (!form->two || slash != NULL);
}

static bool read_plus(const char *text, struct plus *out)
{
    const char *at = text + 1, *end;
    char *rest;

    *out = (struct plus){ .form = NULL };
    if (text[0] != '{' || (end = strchr(text, '}')) == NULL)
        return false;
    if (isdigit((unsigned char)*at) || (*at == '-' && isdigit((unsigned char)at[1]))) {
        const long position = strtol(at, &rest, 10);

        if (position == 0 || position > 1000000 || position < -1000000)
            return false;
        out->position = (int)position;
        at = rest;
    }
    out->end = end + 1;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && out->form == NULL; i++) {
        const struct form *form = &forms[i];
        const size_t begin = strlen(form->begin);

        if (strncmp(at, form->begin, begin) != 0 || at + begin > end)
            continue;
        if (form->numbers ? read_numbers(at + begin, (size_t)(end - at) - begin, out)
                          : read_texts(form, at + begin, (size_t)(end - at) - begin, out))
            out->form = form;
    }
    return out->form != NULL;
}

const char *cv_item_plus_end(const char *text)
{
    struct plus plus;

    return read_plus(text, &plus) ? plus.end : NULL;
}

/* --- rules -------------------------------------------------------------------------------- */

static void put(struct cv_text *out, const char *pattern, const struct plus *plus)
{
    for (; *pattern != '\0'; pattern++) {
        if (*pattern == '\1')
            cv_text_add(out, "%.*s", (int)plus->nfirst, plus->first);
        else if (*pattern == '\2')
            cv_text_add(out, "%.*s", (int)plus->nsecond, plus->second);
        else
            cv_text_add(out, "%c", *pattern);
    }
}

/* Whether it may match more or less of the same text, of which POSIX takes the most. */
static bool is_flexible(const struct plus *plus)
{
    for (size_t i = 0; i < plus->nfirst; i++)
        if (plus->first[i] == '\\')
            i++;
        else if (strchr("*+?{|", plus->first[i]) != NULL)
            return true;
    return false;
}

static void put_numbers(struct cv_text *from, struct cv_text *to, const struct plus *plus)
{
    cv_text_add(from, "^.{0,%.*s}", (int)plus->nfirst, plus->first);
    if (plus->nsecond > 0)
        cv_text_add(from, "(.{0,%.*s}).*$", (int)plus->nsecond, plus->second);
    cv_text_add(to, "%s", plus->nsecond > 0 ? "$1" : "");
}

enum cleave_status cv_item_plus_init(struct cv_item_rule *out, const char *text,
                                     struct cleave_error *err)
{
    struct cv_text from = { NULL, 0, 0, false }, to = { NULL, 0, 0, false };
    enum cleave_status status;
    struct plus plus;

    *out = (struct cv_item_rule){ .sign = NULL };
    if (!read_plus(text, &plus))
        return cv_fail(err, CLEAVE_EINPUT, "expected a place of --plus, got '%.40s'",
                       text);
    if (plus.form->shortest && is_flexible(&plus))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "--plus: '%.*s': expected an expression that matches in one way only, "
            "or '%c' twice, which takes the longest",
            (int)(plus.end - text), text, plus.form->begin[0]);
    if (plus.form->numbers) {
        put_numbers(&from, &to, &plus);
    } else {
        put(&from, plus.form->from, &plus);
        put(&to, plus.form->to, &plus);
    }
    out->position = plus.position;
    out->sign = strndup(text, (size_t)(plus.end - text));
    status =
        from.failed || to.failed || out->sign == NULL
            ? cv_fail_memory(err, "a place")
            : cv_item_rule_put(out, from.bytes, to.bytes != NULL ? to.bytes : "",
                               &(struct cv_item_change){ .all = plus.form->all,
                                                         .letters = plus.form->letters },
                               "--plus", err);
    cv_text_done(&from);
    cv_text_done(&to);
    if (status != CLEAVE_OK)
        cv_item_rule_done(out);
    return status;
}

/* --- what is not known -------------------------------------------------------------------- */

enum cleave_status cv_item_plus_check(const char *text, struct cleave_error *err)
{
    static const struct {
        const char *place, *instead;
    } others[] = {
        { "{uniq}", "a test in the command: 'if [ {1} != {2} ]; then ...; fi'" },
        { "{choose_k}", "a test in the command: 'if [[ {1} < {2} ]]; then ...; fi'" },
        { "{0%}", "{%}" },
        { "{host}", "\"$(hostname)\"" },
        { "{sshlogin}", "\"$(hostname)\"" },
        { "{hgrp}", "\"$CLEAVE_WORKER\"" },
        { "{agrp}", "\"$CLEAVE_WORKER\"" },
    };
    /* {2uniq} is the same of one list; only what is behind a brace is a place. */
    const char *name = *text == '{' ? text + 1 + strspn(text + 1, "-0123456789") : "";

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *rest = others[i].place + 1;

        if (strncmp(text, others[i].place, strlen(others[i].place)) == 0 ||
            strncmp(name, rest, strlen(rest)) == 0)
            return cv_fail(err, CLEAVE_EINPUT,
                           "--plus: there is no place '%s' here; instead: %s",
                           others[i].place, others[i].instead);
    }
    return CLEAVE_OK;
}
