/* gpus.c -- the GPUs that commands may use. SPDX-License-Identifier: MIT */
#include "run/common/gpus.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

static const char variable[] = "CUDA_VISIBLE_DEVICES";

/* Entry `index` of a list, whose length is *out_length; NULL: there is none. -1 is none and
 * hides all that follow, as CUDA has it. */
static const char *find_entry(const char *list, uint32_t index, size_t *out_length)
{
    for (;;) {
        const size_t length = strcspn(list, ",");

        if (length == 0 || strncmp(list, "-1", 2) == 0)
            return NULL;
        if (index-- == 0) {
            *out_length = length;
            return list;
        }
        if (list[length] == '\0')
            return NULL;
        list += length + 1;
    }
}

static uint32_t count_files(const char *folder)
{
    static const char stem[] = "nvidia";
    DIR *files = opendir(folder);
    const struct dirent *file;
    uint32_t count = 0;

    while (files != NULL && (file = readdir(files)) != NULL) {
        const char *number = file->d_name + sizeof stem - 1;

        if (strncmp(file->d_name, stem, sizeof stem - 1) == 0 && *number != '\0' &&
            number[strspn(number, "0123456789")] == '\0')
            count++;
    }
    if (files != NULL)
        closedir(files);
    return count;
}

/* Lines "GPU 0: NVIDIA H200 (UUID: ..)". */
static uint32_t count_listed(void)
{
    /* NOLINTNEXTLINE(cert-env33-c): the words are ours */
    FILE *list = popen("nvidia-smi -L 2>/dev/null", "re");
    char line[512];
    uint32_t count = 0;

    while (list != NULL && fgets(line, sizeof line, list) != NULL)
        count += strncmp(line, "GPU ", 4) == 0;
    if (list != NULL)
        (void)pclose(list);
    return count;
}

uint32_t cv_gpus_count(const char *folder)
{
    const char *visible = getenv(variable);
    size_t length;
    uint32_t count = 0;

    if (visible == NULL) {
        count = count_files(folder);
        return count > 0 ? count : count_listed();
    }
    while (find_entry(visible, count, &length) != NULL)
        count++;
    return count;
}

enum cleave_status cv_gpu_name(uint32_t index, char *out, size_t size,
                               struct cleave_error *err)
{
    const char *visible = getenv(variable), *entry;
    size_t length;

    if (visible == NULL) {
        snprintf(out, size, "%u", index);
        return CLEAVE_OK;
    }
    entry = find_entry(visible, index, &length);
    if (entry == NULL || length >= size)
        return cv_fail(err, CLEAVE_EINPUT, "%s is '%s', which has no GPU number %u",
                       variable, visible, index);
    snprintf(out, size, "%.*s", (int)length, entry);
    return CLEAVE_OK;
}
