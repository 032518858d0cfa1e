/* mpi_names.c -- policies by name, and settings as text. SPDX-License-Identifier: MIT */
#include "mpi/reduce/mpi_names.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/quantity.h"
#include "base/text.h"
#include "mpi/plan/replan_plan.h"

static const char *const policies[] = {
#define X(name, text) text,
    CV_MPI_POLICY_MAP(X)
#undef X
};

#define IN(member) offsetof(struct cv_mpi_settings, member)
static const struct {
    const char *text;
    enum cv_quantity kind;
    int max_ranks; /* above 0: an int, a number of ranks */
    double min;
    size_t offset;
} words[] = {
    { "verbose", CV_NUMBER, 0, 0, 0 },
    { "transfer=TIME", CV_SECONDS, 0, 0, IN(transfer_s) },
    { "combine=TIME", CV_SECONDS, 0, 0, IN(combine_s) },
    { "segment=SIZE", CV_UNITS, 0, 1, IN(segment_bytes) },
    { "least=SIZE", CV_UNITS, 0, 1, IN(least_bytes) },
    { "machine=RANKS", CV_UNITS, 1000000, 0, IN(machine_ranks) },
    { "slices=RANKS", CV_UNITS, CV_MOST_SLICES, 0, IN(slices) },
    { "share=SIZE", CV_UNITS, 0, 1, IN(share_bytes) },
    { "board=window", CV_NUMBER, 0, 0, 0 },
};

/* Words without a value are first and last. */
enum { WORDS = sizeof words / sizeof *words, VERBOSE = 0, WINDOW = WORDS - 1 };
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

static enum cleave_status read_positive(const char *word, const char *value, int which,
                                        double *out, struct cleave_error *err)
{
    const double min = words[which].min;
    const char *expected;
    double number;

    expected = cv_quantity_parse(value, words[which].kind, &number);
    if (expected != NULL)
        return cv_fail(err, CLEAVE_EINPUT, "%s in '%s'", expected, word);
    if (number < min || number <= 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected more than %g in '%s'",
                       min > 0 ? min - 1 : 0.0, word);
    *out = number;
    return CLEAVE_OK;
}

static enum cleave_status read_value(const char *word, const char *value, int which,
                                     struct cv_mpi_settings *settings,
                                     struct cleave_error *err)
{
    char *member = (char *)settings + words[which].offset;
    const int max = words[which].max_ranks;
    double number = 0;
    int ranks;

    CV_TRY(read_positive(word, value, which, &number, err));
    if (max == 0) {
        memcpy(member, &number, sizeof number);
        return CLEAVE_OK;
    }
    if (number < 1 || number > max || number != floor(number))
        return cv_fail(err, CLEAVE_EINPUT, "expected a number of ranks, 1 to %d, in '%s'",
                       max, word);
    ranks = (int)number;
    memcpy(member, &ranks, sizeof ranks);
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
        return words[1 + i].text;
    return i < WORDS ? words[i].text : policies[i - WORDS];
}

static enum cleave_status read_word(struct reading *reading, const char *word,
                                    struct cleave_error *err)
{
    struct cv_mpi_settings *settings = &reading->settings;
    char near[200], shown[WORD_SIZE];

    for (int which = 1; which < WINDOW; which++) {
        const size_t length = strcspn(words[which].text, "=") + 1;

        if (strncmp(word, words[which].text, length) == 0)
            return read_value(word, word + length, which, settings, err);
    }
    if (strcmp(word, words[WINDOW].text) == 0) {
        settings->window = true;
        return CLEAVE_OK;
    }
    if (reading->for_program && strcmp(word, words[VERBOSE].text) == 0) {
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
    cv_suggest(word, reading->for_program ? WORDS + CV_MPI_POLICIES : WORDS - 1, word_at,
               reading, near, sizeof near);
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
