/* mpi_names.c -- policies by name, and settings as text. SPDX-License-Identifier: MIT */
#include "mpi/reduce/mpi_names.h"

#include <math.h>
#include <string.h>

#include "base/quantity.h"
#include "base/text.h"
#include "mpi/plan/replan_plan.h"

static const char *const policies[] = {
#define X(name, text) text,
    CV_MPI_POLICY_MAP(X)
#undef X
};

enum word {
    VERBOSE,
    TRANSFER,
    COMBINE,
    SEGMENT,
    LEAST,
    MACHINE,
    SLICES,
    SHARE,
    BOARD,
    WORDS
};

static const char *const words[] = {
    [VERBOSE] = "verbose",      [TRANSFER] = "transfer=TIME", [COMBINE] = "combine=TIME",
    [SEGMENT] = "segment=SIZE", [LEAST] = "least=SIZE",       [MACHINE] = "machine=RANKS",
    [SLICES] = "slices=RANKS",  [SHARE] = "share=SIZE",       [BOARD] = "board=window",
};

enum { WORD_SIZE = 64 };

const char *cv_mpi_policy_text(enum cv_mpi_policy policy)
{
    return policies[policy];
}

bool cv_mpi_policy_is_fixed(enum cv_mpi_policy policy)
{
    return policy == CV_MPI_BINOMIAL || policy == CV_MPI_FIBONACCI ||
           policy == CV_MPI_FIXED;
}

static const char *policy_at(const void *context, size_t i)
{
    (void)context;
    return policies[i];
}

enum cleave_status cv_mpi_policy_read(const char *text, enum cv_mpi_policy *out,
                                      struct cleave_error *err)
{
    char shown[WORD_SIZE], near[160];

    if (text == NULL)
        text = policies[CV_MPI_AUTO];
    for (int i = 0; i < CV_MPI_POLICIES; i++)
        if (strcmp(text, policies[i]) == 0) {
            *out = (enum cv_mpi_policy)i;
            return CLEAVE_OK;
        }
    cv_suggest(text, CV_MPI_POLICIES, policy_at, NULL, near, sizeof near);
    return cv_fail(err, CLEAVE_EINPUT, "expected a reduction policy, got '%s'%s",
                   cv_shown(text, strlen(text), shown, sizeof shown), near);
}

/* The value if `word` is "name=value" for a listed "name=WHAT". */
static const char *value_of(const char *word, enum word which)
{
    size_t length = (size_t)(strchr(words[which], '=') - words[which]) + 1;

    return strncmp(word, words[which], length) == 0 ? word + length : NULL;
}

static enum cleave_status read_positive(const char *word, const char *value,
                                        enum cv_quantity kind, double min, double *out,
                                        struct cleave_error *err)
{
    const char *expected;
    double number;

    expected = cv_quantity_parse(value, kind, &number);
    if (expected != NULL)
        return cv_fail(err, CLEAVE_EINPUT, "%s in '%s'", expected, word);
    if (number < min || number <= 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected more than %g in '%s'",
                       min > 0 ? min - 1 : 0.0, word);
    *out = number;
    return CLEAVE_OK;
}

/* A whole number. */
static enum cleave_status read_ranks(const char *word, const char *value, int max,
                                     int *out, struct cleave_error *err)
{
    double ranks = 0;

    CV_TRY(read_positive(word, value, CV_UNITS, 0, &ranks, err));
    if (ranks < 1 || ranks > max || ranks != floor(ranks))
        return cv_fail(err, CLEAVE_EINPUT, "expected a number of ranks, 1 to %d, in '%s'",
                       max, word);
    *out = (int)ranks;
    return CLEAVE_OK;
}

struct reading {
    struct cv_mpi_settings settings;
    enum cv_mpi_policy policy;
    bool for_program, verbose, chosen;
};

static const char *word_at(const void *context, size_t i)
{
    const struct reading *reading = context;

    if (!reading->for_program)
        return words[TRANSFER + i];
    return i < WORDS ? words[i] : policies[i - WORDS];
}

static enum cleave_status read_word(struct reading *reading, const char *word,
                                    struct cleave_error *err)
{
    struct cv_mpi_settings *settings = &reading->settings;
    char near[200], shown[WORD_SIZE];
    const char *value;

    if ((value = value_of(word, TRANSFER)) != NULL)
        return read_positive(word, value, CV_SECONDS, 0, &settings->transfer_s, err);
    if ((value = value_of(word, COMBINE)) != NULL)
        return read_positive(word, value, CV_SECONDS, 0, &settings->combine_s, err);
    if ((value = value_of(word, SEGMENT)) != NULL)
        return read_positive(word, value, CV_UNITS, 1, &settings->segment_bytes, err);
    if ((value = value_of(word, LEAST)) != NULL)
        return read_positive(word, value, CV_UNITS, 1, &settings->least_bytes, err);
    if ((value = value_of(word, SHARE)) != NULL)
        return read_positive(word, value, CV_UNITS, 1, &settings->share_bytes, err);
    if ((value = value_of(word, MACHINE)) != NULL)
        return read_ranks(word, value, 1000000, &settings->machine_ranks, err);
    if ((value = value_of(word, SLICES)) != NULL)
        return read_ranks(word, value, CV_MOST_SLICES, &settings->slices, err);
    if (strcmp(word, words[BOARD]) == 0) {
        settings->window = true;
        return CLEAVE_OK;
    }
    if (reading->for_program && strcmp(word, words[VERBOSE]) == 0) {
        reading->verbose = true;
        return CLEAVE_OK;
    }
    if (reading->for_program &&
        cv_mpi_policy_read(word, &reading->policy, NULL) == CLEAVE_OK) {
        if (reading->chosen)
            return cv_fail(err, CLEAVE_EINPUT, "expected one policy, got '%s' as well",
                           word);
        reading->chosen = true;
        return CLEAVE_OK;
    }
    cv_suggest(word, reading->for_program ? WORDS + CV_MPI_POLICIES : WORDS - TRANSFER,
               word_at, reading, near, sizeof near);
    return cv_fail(err, CLEAVE_EINPUT, "expected a setting%s, got '%s'%s",
                   reading->for_program ? " or a policy" : "",
                   cv_shown(word, strlen(word), shown, sizeof shown), near);
}

enum cleave_status cv_mpi_settings_read(const char *text,
                                        struct cv_mpi_settings *settings,
                                        enum cv_mpi_policy *policy, bool *verbose,
                                        struct cleave_error *err)
{
    struct reading reading = { .settings = *settings, .for_program = policy != NULL };
    char word[WORD_SIZE], shown[WORD_SIZE];

    if (policy != NULL)
        reading.policy = *policy, reading.verbose = *verbose;
    while (*text != '\0') {
        size_t length = strcspn(text, ",");

        if (length >= sizeof word)
            return cv_fail(err, CLEAVE_EINPUT, "expected a shorter setting than '%s'",
                           cv_shown(text, length, shown, sizeof shown));
        memcpy(word, text, length);
        word[length] = '\0';
        if (length > 0)
            CV_TRY(read_word(&reading, word, err));
        text += length + (text[length] == ',');
    }
    *settings = reading.settings;
    if (policy != NULL)
        *policy = reading.policy, *verbose = reading.verbose;
    return CLEAVE_OK;
}
