/* fuzz_loads.c -- any bytes as a jobs file of several loads. SPDX-License-Identifier: MIT
 *
 * Accepted loads have the values that a plan may rely on; a refusal has one line. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "io/loads_file.h"
#include "fuzz_target.h"

enum { WORKERS = 3 };

static void check_load(const struct cleave_load *load)
{
    require(load->name != NULL && load->name[0] != '\0');
    require(load->units > 0 && isfinite(load->units));
    require(load->weight > 0 && isfinite(load->weight));
    require(load->release_s >= 0 && isfinite(load->release_s));
    require(load->transfer >= 0 && isfinite(load->transfer));
    for (int i = 0; i < WORKERS; i++)
        require(load->compute[i] > 0 && isfinite(load->compute[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_loads_list list = { NULL, 0 };
    struct cleave_error err;
    struct cv_arena arena;
    bool read;

    cv_arena_init(&arena);
    read = cv_loads_parse("fuzz", (const char *)data, size, WORKERS, &arena, &list,
                          &err) == CLEAVE_OK;
    require(read == (list.count > 0));
    for (size_t k = 0; k < list.count; k++)
        check_load(&list.items[k]);
    cv_arena_done(&arena);
    if (read)
        return 0;
    require(err.status == CLEAVE_EINPUT);
    require(err.text[0] != '\0' && strchr(err.text, '\n') == NULL);
    return 0;
}
