/* fuzz_quantity.c -- any text as a quantity. SPDX-License-Identifier: MIT
 *
 * A number that is accepted without a unit must be the one strtod reads, and must survive
 * being written. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "fuzz_target.h"

static void check(const char *text, enum cv_quantity kind)
{
    char written[CV_NUMBER_SIZE];
    double value = 0, again = 0;

    if (cv_quantity_parse(text, kind, &value) != NULL)
        return;
    require(isfinite(value));
    require(cv_quantity_parse(cv_number_full(value, written), kind, &again) == NULL);
    require(again == value);
    require(cv_quantity_parse(cv_number_short(value, written), kind, &again) == NULL);
    require(again == value);
    if (kind == CV_NUMBER) {
        char *end;

        require(strtod(text, &end) == value && *end == '\0');
        for (enum cv_quantity other = CV_SECONDS; other <= CV_RATE; other++)
            require(cv_quantity_parse(text, other, &again) == NULL && again == value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    for (enum cv_quantity kind = CV_NUMBER; kind <= CV_RATE; kind++)
        check(text, kind);
    free(text);
    return 0;
}
