/* fuzz_costs.c -- any bytes as a file of costs. SPDX-License-Identifier: MIT
 *
 * An accepted text must be usable, and equal after it is written and read again; a
 * refused one must have a message. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "base/text.h"
#include "io/costs_file.h"
#include "model/reduce/reduce_costs.h"
#include "fuzz_target.h"

static void write_list(struct cv_text *text, const double *times, uint32_t n)
{
    char number[CV_NUMBER_SIZE];

    for (uint32_t i = 0; i < n; i++) {
        require(isfinite(times[i]) && times[i] >= 0);
        cv_text_add(text, "%s%s", i == 0 ? "[" : ", ", cv_number_full(times[i], number));
    }
    cv_text_add(text, "]");
}

/* As JSON, and once more as YAML, which takes the other way through the reader. */
static void check_written(const struct cleave_costs *costs, int yaml)
{
    const uint32_t n = costs->nodes;
    struct cv_text text = { NULL, 0, 0, false };
    struct cleave_costs *again = NULL;

    cv_text_add(&text, yaml ? "# costs\ncompute: " : "{\"compute\": ");
    write_list(&text, costs->compute, n);
    cv_text_add(&text, yaml ? "\ntransfer:" : ", \"transfer\": [");
    for (uint32_t i = 0; i < n; i++) {
        cv_text_add(&text, "%s", yaml ? "\n  - " : i > 0 ? ", " : "");
        write_list(&text, costs->transfer + (size_t)i * n, n);
    }
    cv_text_add(&text, yaml ? "\n" : "]}");
    require(!text.failed);
    require(cv_costs_parse("again", text.bytes, text.length, &again, NULL) == CLEAVE_OK);
    require(again->nodes == n);
    require(memcmp(again->transfer, costs->transfer, sizeof(double) * n * n) == 0);
    require(memcmp(again->compute, costs->compute, sizeof(double) * n) == 0);
    cleave_costs_free(again);
    cv_text_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cleave_costs *costs = NULL;
    struct cleave_error err;
    enum cleave_status status;
    char *text = malloc(size + 1);

    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    status = cv_costs_parse("fuzz", text, size, &costs, &err);
    free(text);
    require(status == CLEAVE_OK || (status == CLEAVE_EINPUT && err.text[0] != '\0'));
    if (status == CLEAVE_OK) {
        check_written(costs, 0);
        check_written(costs, 1);
    }
    cleave_costs_free(costs);
    return 0;
}
