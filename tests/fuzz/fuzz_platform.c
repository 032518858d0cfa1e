/* fuzz_platform.c -- any bytes as a platform file. SPDX-License-Identifier: MIT
 *
 * What is accepted must survive being written and read again, to the last bit; what is
 * refused must say why. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cleave/platform.h>
#include "io/platform_file.h"
#include "fuzz_target.h"

static void check_written(const struct cleave_platform *platform)
{
    uint32_t n = cleave_platform_nworkers(platform);
    struct cleave_platform *again = NULL;
    size_t length = 0;
    char *text = NULL;
    FILE *file = open_memstream(&text, &length);

    require(file != NULL);
    require(cv_platform_write(platform, "fuzz", file, NULL) == CLEAVE_OK);
    fclose(file);
    require(cleave_platform_parse("again", text, length, &again, NULL) == CLEAVE_OK);
    require(cleave_platform_nworkers(again) == n);
    require(cleave_platform_port(again) == cleave_platform_port(platform));
    require(memcmp(cleave_platform_workers(again), cleave_platform_workers(platform),
                   n * sizeof(struct cleave_worker)) == 0);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t steps, steps_again;
        const struct cleave_step *at = cleave_platform_profile(platform, i, &steps);
        const struct cleave_step *at_again =
            cleave_platform_profile(again, i, &steps_again);

        require(strcmp(cleave_platform_worker_name(again, i),
                       cleave_platform_worker_name(platform, i)) == 0);
        require(steps == steps_again);
        require(steps == 0 || memcmp(at, at_again, steps * sizeof *at) == 0);
    }
    cleave_platform_free(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cleave_platform *platform = NULL;
    struct cleave_error err;

    if (cleave_platform_parse("fuzz", (const char *)data, size, &platform, &err) ==
        CLEAVE_OK) {
        /* Large counts are for other tests. */
        if (cleave_platform_nworkers(platform) <= 10000)
            check_written(platform);
        cleave_platform_free(platform);
        return 0;
    }
    require(platform == NULL && err.status == CLEAVE_EINPUT);
    require(err.text[0] != '\0' && strchr(err.text, '\n') == NULL);
    return 0;
}
