/* host_notes.c -- what is said of other machines. SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "run/hosts/remote_host.h"

/* So many that are left out are named one by one, the others are counted. */
enum { TOLD_MOST = 5 };

void cv_hosts_note(const struct cv_hosts *hosts, const char *format, ...)
{
    char text[600];
    va_list arguments;

    if (hosts->terms.note == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    hosts->terms.note(hosts->terms.note_context, text);
}

bool cv_host_tells(struct cv_host *host, enum cv_note note)
{
    return host->notes[note]++ == 0;
}

void cv_host_tell_rest(const struct cv_host *host)
{
    static const char *const texts[CV_NOTES] = {
        [CV_NOTE_LOST] = "was lost",
        [CV_NOTE_ABSENT] = "was tried in vain",
        [CV_NOTE_BACK] = "was there again",
        [CV_NOTE_SILENT] = "had a command that did not answer",
        [CV_NOTE_LEFT] = "had a command that ended badly",
    };

    for (int note = 0; note < CV_NOTES; note++)
        if (host->notes[note] > 1)
            cv_hosts_note(host->hosts, "%s: %s %u more time%s", host->name, texts[note],
                          host->notes[note] - 1, host->notes[note] > 2 ? "s" : "");
}

/* --- those who do not come ----------------------------------------------------------------- */

void cv_host_tell_absent(const struct cv_host *host, const char *reason)
{
    struct cv_hosts *hosts = host->hosts;

    if (++hosts->nabsent <= TOLD_MOST)
        cv_hosts_note(hosts, "%s: left out: %s", host->name, reason);
    else
        snprintf(hosts->last_absent, sizeof hosts->last_absent, "%.120s: %.300s",
                 host->name, reason);
}

void cv_hosts_tell_absent_rest(struct cv_hosts *hosts)
{
    const size_t more = hosts->nabsent > TOLD_MOST ? hosts->nabsent - TOLD_MOST : 0;

    if (more > 0)
        cv_hosts_note(hosts, "%zu more host%s left out, the last of them %s", more,
                      more > 1 ? "s are" : " is", hosts->last_absent);
    hosts->nabsent -= more;
}

/* --- those who come twice ------------------------------------------------------------------ */

/* What this machine calls itself is what a worker on it would say. */
static bool is_here(const struct cv_host *host)
{
    char name[sizeof host->machine] = "", shown[sizeof host->machine];

    return gethostname(name, sizeof name - 1) == 0 &&
           strcmp(cv_shown(name, strlen(name), shown, sizeof shown), host->machine) == 0;
}

void cv_host_doubt_machine(const struct cv_host *host)
{
    struct cv_hosts *hosts = host->hosts;
    const char *other = hosts->beside && is_here(host) ? "this machine" : NULL;

    if (!host->asks || host->machine[0] == '\0' || hosts->doubted)
        return;
    for (size_t i = 0; i < hosts->count && other == NULL; i++)
        if (hosts->items[i] != host && hosts->items[i]->asks &&
            hosts->items[i]->state == CV_HOST_READY &&
            strcmp(hosts->items[i]->machine, host->machine) == 0)
            other = hosts->items[i]->name;
    if (other == NULL)
        return;
    hosts->doubted = true;
    cv_hosts_note(hosts,
                  "%s: calls itself '%s', as %s does: if that is one machine, its cores "
                  "are used twice; name it once, or with slots, as in %s:2",
                  host->name, host->machine, other, host->name);
}
