/* chaos_processes.h -- the processes of a run, as /proc shows them. SPDX-License-Identifier: MIT */
#ifndef CHAOS_PROCESSES_H
#define CHAOS_PROCESSES_H
#include "chaos/chaos.h"

enum { MOST_PROCESSES = 400 };

struct process {
    pid_t pid, parent;
    char state;
    bool ours;
    char words[480];
};

/* All below this one, with their command lines. */
size_t descendants(struct process out[MOST_PROCESSES]);
/* Anyone with the role that the trial strikes, or 0. */
pid_t find_victim(struct trial *trial, pid_t master);
/* Kill the commands of a worker. */
void kill_commands(pid_t worker);

#endif
