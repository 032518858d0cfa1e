/* repeated_header.c -- whether all outputs begin with the same line. SPDX-License-Identifier: MIT
 *
 * Commands that write a header, csv to csv or reads to SAM, write it once for every chunk, and whoever
 * did not think of it should hear of it. Two outputs are looked at of all others. */
#include <string.h>

#include "run/output/ordered_output_internal.h"

void cv_alike_look(struct cv_ordered_output *outputs, const struct cv_chunk_output *store)
{
    struct cv_repeated_header *alike = &outputs->alike;
    const uint64_t size = cv_chunk_output_size(store);
    char line[CV_ALIKE] = "";
    struct cleave_error ignored;
    size_t length = size < CV_ALIKE ? (size_t)size : CV_ALIKE - 1;

    if (alike->differ || size == 0 || outputs->options.head != NULL)
        return;
    if (store->passed > 0 ||
        cv_chunk_output_peek(store, line, length, &ignored) != CLEAVE_OK) {
        alike->differ = true; /* nobody knows */
        return;
    }
    length = strcspn(line, "\n");
    line[length] = '\0';
    if (alike->outputs == 0)
        memcpy(alike->line, line, length + 1);
    alike->differ = strcmp(alike->line, line) != 0;
    alike->outputs++;
}

const char *cv_ordered_output_same_line(const struct cv_ordered_output *outputs)
{
    return outputs->alike.outputs > 1 && !outputs->alike.differ ? outputs->alike.line
                                                                : "";
}
