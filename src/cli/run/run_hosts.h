/* run_hosts.h -- other machines that a run is told of. SPDX-License-Identifier: MIT */
#ifndef CV_RUN_HOSTS_H
#define CV_RUN_HOSTS_H
#include "base/shell_word.h"
#include "cli/run/run_options.h"
#include "model/platform/platform_internal.h"
#include "run/hosts/host_spec.h"

/* --- one of them (run_hosts.c) ------------------------------------------------------------ */

/* --- copies of cleave for them (run_hosts.c) --------------------------------------------- */

/* --- those that lead others (run_leaders.c) ------------------------------------------------- */

/* The longest text that goes with the words of a command. */
enum { CV_LED_MOST = 96 * 1024 };

/* What a worker that leads others is told: who it is, whom it leads, and what this run is
 * told. */
void cv_lead_words(const struct cv_host_fields *host, const struct cv_reach *reach,
                   const char *const *led, struct cv_words *words);
/* The same for a shell. */
void cv_lead_line(const struct cv_host_fields *host, const struct cv_reach *reach,
                  const char *const *led, struct cv_arena *arena, struct cv_text *line);
/* Whom a worker of a platform file leads: their names, and the words that tell it. */
enum cleave_status cv_leads_of_file(const char *path, const char *text,
                                    const struct cv_host_fields *host,
                                    const struct cv_reach *reach, struct cv_arena *arena,
                                    const char *const **behind, const char *const **led,
                                    struct cleave_error *err);
/* Note each leader of whom it is known now that others are behind it than there were. */
void cv_leads_compare(const struct cv_worker_list *before,
                      const struct cv_worker_list *now,
                      void (*note)(void *context, const char *text), void *context);

/* --- hosts in words (run_hosts.c) ---------------------------------------------------- */

/* Whether --hosts names a platform file. It is one if it has a slash, ends as such files do,
 * or is there; anything else is a list of hosts. */
bool cv_hosts_are_file(const char *text);
/* The file that names them, if it can be read again; NULL: none. */
const char *cv_hosts_file(const struct cv_run_options *values);
/* The crew of the hosts that the options ask for, files read now. */
enum cleave_status cv_crew_find(const struct cv_run_options *values,
                                const struct cv_reach *reach, struct cv_arena *arena,
                                struct cv_worker_list *out, struct cleave_error *err);

#endif
