/* platform_writer.c -- write a platform file. SPDX-License-Identifier: MIT */
#include "io/platform_writer.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/quantity.h"
#include "base/text.h"
#include "model/platform/platform_internal.h"
#include "model/platform/worker_fields.h"

/* What the reader would not take, not even in a comment, becomes a question mark. */
static void write_comment(const char *comment, FILE *file)
{
    size_t left = strlen(comment), n;
    bool begin = true;

    for (; left > 0; left -= n, comment += n) {
        if (begin)
            fputs(*comment == '\n' ? "#" : "# ", file);
        begin = *comment == '\n';
        n = cv_utf8(comment, left, NULL);
        if (n > 0 && (begin || cv_printable(comment, n, true)))
            fwrite(comment, 1, n, file);
        else
            putc('?', file);
        n = n > 0 ? n : 1;
    }
    if (!begin)
        putc('\n', file);
}

/* Whether a text needs no quotes in YAML, for any reader: it cannot be taken for a
 * number, a truth value or null, and has no special characters. */
static bool is_plain(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    static const char *const words[] = { "y",   "n",    "yes",   "no",  "on",
                                         "off", "true", "false", "null" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0)
            return false;
    return strchr("0123456789._-", text[0]) == NULL &&
           text[strspn(text, letters)] == '\0';
}

static void write_text(const char *key, const char *text, FILE *file)
{
    fprintf(file, "%s: ", key);
    if (is_plain(text)) {
        fprintf(file, "%s\n", text);
        return;
    }
    putc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', file);
        putc(*text, file);
    }
    fputs("\"\n", file);
}

static void write_number(const char *key, double value, FILE *file)
{
    char number[CV_NUMBER_SIZE];

    fprintf(file, "    %s: %s\n", key, cv_number_short(value, number));
}

static void write_steps(const struct cv_group *group, FILE *file)
{
    char from[CV_NUMBER_SIZE], factor[CV_NUMBER_SIZE];

    /* Only `until` makes somebody go for good. */
    if (!(group->steps[group->nsteps - 1].factor > 0)) {
        if (group->nsteps > 1)
            write_number("from", group->steps[1].from_s, file);
        write_number("until", group->steps[group->nsteps - 1].from_s, file);
        return;
    }
    fputs("    profile: [", file);
    for (uint32_t i = 0; i < group->nsteps; i++)
        fprintf(file, "%s[%s, %s]", i > 0 ? ", " : "",
                cv_number_short(group->steps[i].from_s, from),
                cv_number_short(group->steps[i].factor, factor));
    fputs("]\n", file);
}

static void write_worker(const char *name, const struct cleave_worker *worker,
                         const struct cv_group *group, FILE *file)
{
    write_text("  - name", name, file);
    if (group != NULL && group->count > 1)
        fprintf(file, "    count: %lu\n", (unsigned long)group->count);
    for (size_t i = 0; i < CV_WORKER_FIELDS; i++) {
        const struct cv_worker_field *field = &cv_worker_fields[i];
        const struct cv_worker_field *like = cv_worker_field_like(field);
        const double value = cv_worker_cost_of(worker, field);

        if (like == NULL || value != cv_worker_cost_of(worker, like))
            write_number(field->name, value, file);
    }
    if (group == NULL)
        return;
    if (group->nsteps > 0)
        write_steps(group, file);
    if (group->memory > 0)
        write_number("memory", group->memory, file);
    if (group->cost > 0)
        write_number("cost", group->cost, file);
    if (group->ssh != NULL)
        write_text("    ssh", group->ssh, file);
    if (group->slots > 0)
        fprintf(file, "    slots: %lu\n", (unsigned long)group->slots);
    if (group->gpus == CV_GPUS_AUTO)
        fputs("    gpus: auto\n", file);
    else if (group->gpus > 0)
        fprintf(file, "    gpus: %lu\n", (unsigned long)group->gpus);
    if (group->command != NULL)
        write_text("    command", group->command, file);
}

enum cleave_status cv_platform_write(const struct cleave_platform *platform,
                                     const char *comment, FILE *file,
                                     struct cleave_error *err)
{
    errno = 0;
    if (comment != NULL)
        write_comment(comment, file);
    fprintf(file, "port: %s\nworkers:\n", cleave_port_name(platform->port));
    if (platform->ngroups == 0)
        for (uint32_t i = 0; i < platform->nworkers && !ferror(file); i++)
            write_worker(platform->names[i], &platform->workers[i], NULL, file);
    for (uint32_t g = 0; g < platform->ngroups && !ferror(file); g++) {
        const struct cv_group *group = &platform->groups[g];

        write_worker(group->name, &platform->workers[group->first], group, file);
    }
    if (fflush(file) != 0 || ferror(file))
        return cv_fail(err, CLEAVE_EINPUT, "cannot write: %s",
                       strerror(errno != 0 ? errno : EIO));
    return CLEAVE_OK;
}
