/* chaos_processes.c -- SPDX-License-Identifier: MIT */
#include "chaos/chaos_processes.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_process(pid_t pid, struct process *out)
{
    char path[64], text[512];
    const char *after;
    FILE *file;

    *out = (struct process){ .pid = pid };
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    after = strrchr(text, ')');
    if (after == NULL || strlen(after) < 5)
        return false;
    out->state = after[2]; /* ") S 123 ..." */
    out->parent = (pid_t)strtol(after + 4, NULL, 10);
    return true;
}

static void read_words(struct process *process)
{
    char path[64];
    size_t length = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)process->pid);
    file = fopen(path, "re");
    if (file != NULL) {
        length = fread(process->words, 1, sizeof process->words - 1, file);
        fclose(file);
    }
    for (size_t i = 0; i + 1 < length; i++)
        if (process->words[i] == '\0')
            process->words[i] = ' ';
}

size_t descendants(struct process out[MOST_PROCESSES])
{
    static struct process all[8192];
    size_t count = 0, found = 0;
    DIR *folder = opendir("/proc");
    bool more = true;

    for (const struct dirent *entry;
         folder != NULL && (entry = readdir(folder)) != NULL;) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (pid > 0 && count < 8192 && read_process(pid, &all[count]))
            count++;
    }
    if (folder != NULL)
        closedir(folder);
    while (more) {
        more = false;
        for (size_t i = 0; i < count; i++) {
            bool ours = all[i].parent == getpid();

            for (size_t k = 0; k < found && !ours; k++)
                ours = all[i].parent == out[k].pid;
            if (all[i].ours || !ours || found == MOST_PROCESSES)
                continue;
            all[i].ours = more = true;
            read_words(&all[i]);
            out[found++] = all[i];
        }
    }
    return found;
}

static bool plays(const struct process *process, enum role role)
{
    const char *words = process->words;

    if (process->state == 'Z')
        return false;
    if (role == A_COMMAND)
        return strstr(words, " @work ") != NULL && strstr(words, " run ") == NULL;
    if (role == A_RANK)
        return strncmp(words, setting.cleave, strlen(setting.cleave)) == 0 &&
               strstr(words, " --mpi ") != NULL;
    if (role == A_RELAY)
        return strstr(words, " @relay ") != NULL;
    return strstr(words, " worker") != NULL && strstr(words, "@relay") == NULL;
}

pid_t find_victim(struct trial *trial, pid_t master)
{
    static struct process list[MOST_PROCESSES];
    pid_t fits[MOST_PROCESSES];
    size_t count, fit = 0;

    if (trial->victim == THE_MASTER)
        return master;
    count = descendants(list);
    for (size_t i = 0; i < count; i++) {
        bool copy = false;

        /* A process that has just been forked and has not called exec. */
        for (size_t k = 0; k < count; k++)
            copy |= list[k].pid == list[i].parent &&
                    strcmp(list[k].words, list[i].words) == 0;
        if (!copy && plays(&list[i], trial->victim))
            fits[fit++] = list[i].pid;
    }
    return fit > 0 ? fits[chance_below(&trial->chance, fit)] : 0;
}

void kill_commands(pid_t worker)
{
    static struct process list[MOST_PROCESSES];
    const size_t count = descendants(list);

    for (size_t i = 0; i < count; i++)
        if (list[i].parent == worker && plays(&list[i], A_COMMAND))
            kill(list[i].pid, SIGKILL);
}
