/* run_values.c -- options whose text has a meaning of its own. SPDX-License-Identifier: MIT */
#include "cli/run/run_values.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "cli/common/output.h"
#include "run/common/machine.h"

const char *cv_header_how(const char *text)
{
    return text != NULL && strcmp(text, ":") == 0 ? "" : text;
}

const char *cv_header_out_how(const struct cv_run_options *values)
{
    const bool alike = values->header_out != NULL && values->header_out[0] == '\0' &&
                       values->header != NULL;

    return cv_header_how(alike ? values->header : values->header_out);
}

uint64_t cv_record_limit(double bytes)
{
    if (bytes <= 0)
        return 0;
    return bytes < 1 ? 1 : bytes < 0x1p62 ? (uint64_t)bytes : UINT64_C(1) << 62;
}

int cv_timeout_read(const char *text, bool items_here, struct cleave_failure_options *out)
{
    const size_t length = text != NULL ? strlen(text) : 0;
    char shown[CV_ECHO_ROOM], *rest = NULL;
    double value = 0;

    if (text == NULL)
        return CV_EXIT_DONE;
    if (length > 1 && text[length - 1] == '%') {
        value = strtod(text, &rest);
        if (!isdigit((unsigned char)text[0]) || rest != text + length - 1 || value <= 100)
            return cv_print_error(
                CV_EXIT_USAGE,
                "--timeout: expected more than 100%% of the median, got '%s'",
                cv_echo(text, shown));
        if (!items_here)
            return cv_print_error(
                CV_EXIT_USAGE,
                "--timeout %s is for items on this machine, whose commands can "
                "be compared: expected a time such as 500ms or 2min",
                text);
        out->timeout_share = value / 100;
        return CV_EXIT_DONE;
    }
    if (cv_quantity_parse(text, CV_DURATION, &value) != NULL || !(value >= 0))
        return cv_print_error(
            CV_EXIT_USAGE,
            "--timeout: expected a time of 0 or more such as 0.5, 500ms, 2min "
            "or 1h30m, or 200%%, got '%s'",
            cv_echo(text, shown));
    out->timeout_s = value;
    return CV_EXIT_DONE;
}

/* "soon,fail=", "now,success=", "soon,done=": where the number begins; NULL: it is none. */
static const char *read_halt_words(const char *text, struct cleave_failure_options *out)
{
    static const struct {
        const char *word;
        enum cleave_halt_on what;
    } counted[] = { { "fail=", CLEAVE_HALT_ON_FAILURES },
                    { "success=", CLEAVE_HALT_ON_SUCCESSES },
                    { "done=", CLEAVE_HALT_ON_ENDS } };
    const bool now = strncmp(text, "now,", 4) == 0;

    if (!now && strncmp(text, "soon,", 5) != 0)
        return NULL;
    text += now ? 4 : 5;
    out->halt = now ? CLEAVE_HALT_NOW : CLEAVE_HALT_SOON;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        if (strncmp(text, counted[i].word, strlen(counted[i].word)) == 0) {
            out->halt_on = counted[i].what;
            return text + strlen(counted[i].word);
        }
    return NULL;
}

int cv_halt_read(const char *text, struct cleave_execution *out)
{
    unsigned long long number = 0;
    const char *digits = NULL;
    char *rest = NULL;
    bool share;

    if (text == NULL)
        return CV_EXIT_DONE;
    /* 0, 1 and 2 are what GNU parallel had at first. */
    text = strcmp(text, "0") == 0   ? "never"
           : strcmp(text, "1") == 0 ? "soon,fail=1"
           : strcmp(text, "2") == 0 ? "now,fail=1"
                                    : text;
    if (strcmp(text, "never") == 0) {
        out->failures.halt = CLEAVE_HALT_NEVER;
        return CV_EXIT_DONE;
    }
    digits = read_halt_words(text, &out->failures);
    errno = 0;
    if (digits != NULL && isdigit((unsigned char)*digits))
        number = strtoull(digits, &rest, 10);
    share = rest != NULL && strcmp(rest, "%") == 0;
    if (rest == NULL || errno != 0 || number < 1 || (!share && *rest != '\0') ||
        (share && number > 100))
        return cv_print_error(
            CV_EXIT_USAGE,
            "--halt: expected never, now,fail=N, soon,fail=N or N%%, or "
            "success= or done= instead of fail=, got '%s'",
            text);
    if (share)
        out->failures.halt_share = (double)number / 100;
    else
        out->failures.halt_fails = number;
    return CV_EXIT_DONE;
}

int cv_load_read(const char *text, double *out)
{
    char shown[CV_ECHO_ROOM], *rest = NULL;
    double number;

    *out = 0;
    if (text == NULL)
        return CV_EXIT_DONE;
    number = strtod(text, &rest);
    if (rest != text && strcmp(rest, "%") == 0) {
        number *= cv_usable_cores() / 100.0;
        rest++;
    }
    if (rest == text || *rest != '\0' || !(number > 0) || number > 1e9)
        return cv_print_error(
            CV_EXIT_USAGE,
            "--load: expected a number above 0, or N%% of the cores, got '%s'",
            cv_echo(text, shown));
    *out = number;
    return CV_EXIT_DONE;
}

int cv_pin_read(const char *text, enum cleave_pin *out)
{
    char shown[CV_ECHO_ROOM];

    *out = CLEAVE_PIN_NONE;
    if (text == NULL)
        return CV_EXIT_DONE;
    *out = strcmp(text, "nodes") == 0 ? CLEAVE_PIN_NODES : CLEAVE_PIN_CORES;
    if (*out == CLEAVE_PIN_CORES && text[0] != '\0' && strcmp(text, "cores") != 0)
        return cv_print_error(CV_EXIT_USAGE, "--pin: expected cores or nodes, got '%s'",
                              cv_echo(text, shown));
    return CV_EXIT_DONE;
}
