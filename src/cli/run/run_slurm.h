/* run_slurm.h -- the nodes of a Slurm job as hosts. SPDX-License-Identifier: MIT
 *
 * Inside an allocation (sbatch, salloc) the environment says which nodes the job has and how
 * many tasks each of them. Every node is a host with as many slots, reached by one srun: so
 * there is one step for each node, however many chunks there are. */
#ifndef CV_RUN_SLURM_H
#define CV_RUN_SLURM_H
#include "cli/run/run_options.h"

enum { CV_SLURM_CONNECT_S = 60 }; /* a prolog may take long; nobody waits for it */

/* Check that --slurm is used in a Slurm job, and that srun has not started several processes
 * that would each do all of the work. Returns an exit status. */
int cv_run_slurm_check(const struct cv_run_options *values);
/* The nodes of this job, each with its tasks as slots, or its processors if nobody asked for
 * tasks; `again`: those that it has now. Returns an exit status; what is wrong has been told. */
int cv_run_slurm_crew(const struct cv_reach *reach, bool again, struct cv_arena *arena,
                      struct cv_worker_list *out);
/* The number of this process among those that srun has started together; 0: the first, or the
 * only one. What all of them meet, that one tells. */
unsigned long cv_run_slurm_task(void);
/* Whether these words begin with srun, whose output has to be unbuffered (-u): else it passes
 * on whole lines only, and frames have none. `rest`, if so: what stands behind srun. */
bool cv_is_srun(const char *words, const char **rest);

#endif
