/* cpu_affinity.c -- which processors the commands of each worker run on. SPDX-License-Identifier: MIT */
#include "run/common/cpu_affinity.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

enum {
    CAPACITY = 1024,
    SLOW = 512
}; /* of the fastest processors, and of those that are not */

struct cpu {
    int number, node;
    int thread;        /* of its core, from 0                                    */
    long capacity;     /* how fast it is, where the fastest have 1024            */
    unsigned turn;     /* how many like it there are before it on its node       */
    cpu_set_t threads; /* of its core                                            */
};

struct cpus {
    struct cpu items[CPU_SETSIZE];
    unsigned count;
};

/* --- files of the kernel ------------------------------------------------------------------ */

/* Read the first line of a file below sys/devices; false if there is none. */
static bool read_line(const char *root, const char *path, char *line, size_t size)
{
    char *whole;
    FILE *file = NULL;
    bool good;

    if (asprintf(&whole, "%s/sys/devices/%s", root, path) < 0)
        return false;
    file = fopen(whole, "re");
    free(whole);
    good = file != NULL && fgets(line, (int)size, file) != NULL;
    if (file != NULL)
        fclose(file);
    return good;
}

/* "0-3,8": false if there is no such file. */
static bool read_list(const char *root, const char *path, cpu_set_t *out)
{
    char line[4096], *at = line;

    CPU_ZERO(out);
    if (!read_line(root, path, line, sizeof line))
        return false;
    while (*at >= '0' && *at <= '9') {
        const long first = strtol(at, &at, 10);
        const long last = *at == '-' ? strtol(at + 1, &at, 10) : first;

        for (long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
            CPU_SET((size_t)cpu, out);
        at += *at == ',';
    }
    return true;
}

static long read_capacity(const char *root, int number, const cpu_set_t *atoms)
{
    char path[64], line[32];
    long capacity = 0;

    snprintf(path, sizeof path, "system/cpu/cpu%d/cpu_capacity", number);
    if (read_line(root, path, line, sizeof line))
        capacity = strtol(line, NULL, 10);
    if (capacity > 0)
        return capacity;
    return CPU_ISSET((size_t)number, atoms) ? SLOW : CAPACITY;
}

/* The hardware threads of the processor's core that may be used, and which of them it is. */
static void read_core(const char *root, const cpu_set_t *usable, struct cpu *cpu)
{
    char path[96];

    snprintf(path, sizeof path, "system/cpu/cpu%d/topology/thread_siblings_list",
             cpu->number);
    (void)read_list(root, path, &cpu->threads);
    CPU_AND(&cpu->threads, &cpu->threads, usable);
    CPU_SET((size_t)cpu->number, &cpu->threads);
    cpu->thread = 0;
    for (int i = 0; i < cpu->number; i++)
        cpu->thread += CPU_ISSET((size_t)i, &cpu->threads) != 0;
}

static void read_nodes(const char *root, struct cpus *cpus)
{
    cpu_set_t list;
    char path[64];

    for (int node = 0; node < CPU_SETSIZE; node++) {
        snprintf(path, sizeof path, "system/node/node%d/cpulist", node);
        if (!read_list(root, path, &list))
            continue;
        for (unsigned i = 0; i < cpus->count; i++)
            if (CPU_ISSET((size_t)cpus->items[i].number, &list))
                cpus->items[i].node = node;
    }
}

/* --- their order -------------------------------------------------------------------------- */

static bool are_alike(const struct cpu *a, const struct cpu *b)
{
    return a->thread == b->thread && a->capacity == b->capacity && a->node == b->node;
}

static int in_order(const void *left, const void *right)
{
    const struct cpu *a = left, *b = right;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->capacity != b->capacity)
        return a->capacity > b->capacity ? -1 : 1;
    if (a->turn != b->turn)
        return a->turn < b->turn ? -1 : 1;
    return a->node != b->node ? (a->node < b->node ? -1 : 1) : a->number - b->number;
}

static void read_cpus(const char *root, const cpu_set_t *usable, struct cpus *cpus)
{
    cpu_set_t atoms;

    (void)read_list(root, "cpu_atom/cpus", &atoms);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, usable)) {
            struct cpu *cpu = &cpus->items[cpus->count++];

            *cpu =
                (struct cpu){ .number = i, .capacity = read_capacity(root, i, &atoms) };
            read_core(root, usable, cpu);
        }
    read_nodes(root, cpus);
    for (unsigned i = 0; i < cpus->count; i++)
        for (unsigned k = 0; k < i; k++)
            cpus->items[i].turn += are_alike(&cpus->items[k], &cpus->items[i]);
    qsort(cpus->items, cpus->count, sizeof *cpus->items, in_order);
}

enum cleave_status cv_cpu_affinity_make(const char *root, const cpu_set_t *usable,
                                        enum cleave_pin how, uint32_t count,
                                        cpu_set_t *out, struct cleave_error *err)
{
    struct cpus *cpus = calloc(1, sizeof *cpus);
    unsigned cores = 0;

    if (cpus == NULL)
        return cv_fail_memory(err, "the processors");
    read_cpus(root, usable, cpus);
    for (unsigned i = 0; i < cpus->count; i++)
        cores += cpus->items[i].thread == 0;
    for (uint32_t w = 0; w < count && cpus->count > 0; w++) {
        const struct cpu *cpu = &cpus->items[w % cpus->count];

        CPU_ZERO(&out[w]);
        CPU_SET((size_t)cpu->number, &out[w]);
        if (how == CLEAVE_PIN_CORES && count <= cores)
            out[w] = cpu->threads;
        for (unsigned i = 0; i < cpus->count && how == CLEAVE_PIN_NODES; i++)
            if (cpus->items[i].node == cpu->node)
                CPU_SET((size_t)cpus->items[i].number, &out[w]);
    }
    free(cpus);
    return CLEAVE_OK;
}

enum cleave_status cv_cpu_affinity_here(enum cleave_pin how, uint32_t count,
                                        cpu_set_t *out, struct cleave_error *err)
{
    cpu_set_t usable;

    if (sched_getaffinity(0, sizeof usable, &usable) != 0)
        return cv_fail(err, CLEAVE_EENGINE,
                       "cannot pin commands: the processors of this machine: %s",
                       strerror(errno));
    return cv_cpu_affinity_make("", &usable, how, count, out, err);
}
