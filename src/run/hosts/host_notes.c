/* host_notes.c -- messages to the user about hosts, logins and copies of cleave.
 * SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/signal_name.h"
#include "base/text.h"
#include "run/hosts/hosts_internal.h"

void cv_hosts_note(const struct cv_hosts *hosts, const char *format, ...)
{
    char text[900];
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
        [CV_NOTE_ABSENT] = "could not be reached",
        [CV_NOTE_BACK] = "was there again",
        [CV_NOTE_SILENT] = "had a command that did not answer",
        [CV_NOTE_LEFT] = "had a command that ended badly",
    };

    for (int note = 0; note < CV_NOTES; note++)
        if (host->notes[note] > 1)
            cv_hosts_note(host->hosts, "%s: %s %u more time%s", host->name, texts[note],
                          host->notes[note] - 1, host->notes[note] > 2 ? "s" : "");
}

const struct cleave_copy *cv_host_wanted_copy(const struct cv_host *host)
{
    const int exit_code = host->process.exit_code;

    if (exit_code < CLEAVE_HOST_LACKS ||
        (size_t)(exit_code - CLEAVE_HOST_LACKS) >= host->ncopies)
        return NULL;
    return &host->copies[exit_code - CLEAVE_HOST_LACKS];
}

/* "; ssh exited with status 255", or "". */
static void describe_exit(const struct cv_host *host, char *out, size_t size)
{
    const struct cv_process *process = &host->process;
    char name[CV_SIGNAL_ROOM];

    out[0] = '\0';
    if (process->signal != 0)
        snprintf(out, size, "; '%s' was ended by %s", host->words[0],
                 cv_signal_text(process->signal, name));
    else if (host->pushed && process->exit_code >= 126)
        snprintf(out, size,
                 "; the copy of cleave does not run there: it needs the same kind of "
                 "machine and libraries, or to be linked statically");
    else if (cv_host_wanted_copy(host) != NULL || process->exit_code == CLEAVE_HOST_LACKS)
        snprintf(out, size, "; there is no cleave that could be used");
    else if (process->exit_code == 127)
        snprintf(
            out, size,
            "; '%s' exited with status 127: is there a cleave? hosts.push brings one",
            host->words[0]);
    else if (process->exit_code != 0)
        snprintf(out, size, "; '%s' exited with status %d", host->words[0],
                 process->exit_code);
}

/* A login script may have ended the connection, or read standard input; NULL: neither. */
static const char *explain_login_failure(const struct cv_host *host,
                                         const struct cleave_error *err)
{
    enum { OF_SHELLS = 126 };

    if (host->was_ready || host->words == NULL || strstr(host->words[0], "ssh") == NULL)
        return NULL;
    if (err->status == CLEAVE_ECLOSED && host->process.exit_code >= 0 &&
        host->process.exit_code < OF_SHELLS)
        return "; no message came: does a login script there end it?";
    return err->status == CLEAVE_EREFUSED && cv_is_no_frame(err->text)
               ? "; does a login script there read standard input? It must not"
               : NULL;
}

static void quote_login(const struct cv_host *host, const struct cleave_error *err,
                        char *out, size_t size)
{
    const char *doubt = explain_login_failure(host, err);
    char line[330];

    out[0] = '\0';
    if (cv_connect_stderr_key_changed(&host->login, line, sizeof line))
        snprintf(
            out, size,
            "; its HOST KEY HAS CHANGED: it was installed again, or the connection is "
            "intercepted%s%s",
            line[0] != '\0' ? "; if you know that it was, this forgets the old one: "
                            : "",
            line);
    else if (cv_connect_stderr_last(&host->login, line, sizeof line))
        snprintf(out, size, ": %s", line);
    else if (doubt != NULL)
        snprintf(out, size, "%s", doubt);
}

void cv_host_explain(struct cv_host *host, const struct cleave_error *err,
                     const char *words, bool exited)
{
    char how[200] = "", said[480];

    if (exited)
        describe_exit(host, how, sizeof how);
    quote_login(host, err, said, sizeof said);
    snprintf(host->reason, sizeof host->reason, "%.250s%.110s%.140s%.290s", err->text,
             words, how, said);
}

void cv_host_tell_absent(const struct cv_host *host, const char *reason)
{
    struct cv_hosts *hosts = host->hosts;
    char forget[200];
    /* A changed key may be an attack: it must not hide among fifty hosts that are switched off. */
    const bool alarms =
        cv_connect_stderr_key_changed(&host->login, forget, sizeof forget) &&
        ++hosts->nchanged <= CV_TOLD_MOST;

    if (alarms || ++hosts->nabsent <= CV_TOLD_MOST)
        cv_hosts_note(hosts, "%s: left out: %s", host->name, reason);
    else
        snprintf(hosts->last_absent, sizeof hosts->last_absent, "%.120s: %.600s",
                 host->name, reason);
}

void cv_host_tell_why(struct cv_host *host, bool was_ready)
{
    if (host->state == CV_HOST_OUT && !was_ready && !host->was_ready && !host->stuck)
        cv_host_tell_absent(host, host->reason);
    else if (was_ready
                 ? cv_host_tells(host, CV_NOTE_LOST)
                 : host->state != CV_HOST_DOWN || cv_host_tells(host, CV_NOTE_ABSENT))
        cv_hosts_note(host->hosts, "%s: %s: %s", host->name,
                      host->state == CV_HOST_OUT && (host->stuck || !was_ready)
                          ? "left out"
                      : was_ready ? "lost, its chunks go elsewhere"
                                  : "still not there",
                      host->reason);
}

/* The number of hosts after the first `named`, which is removed from *count. */
static size_t take_counted(size_t *count, size_t named)
{
    const size_t more = *count > named ? *count - named : 0;

    *count -= more;
    return more;
}

void cv_hosts_tell_rest(struct cv_hosts *hosts)
{
    const size_t absent = take_counted(&hosts->nabsent, CV_TOLD_MOST);
    const size_t words = take_counted(&hosts->nwords, 1);
    const size_t blind = take_counted(&hosts->nblind, 1);

    if (absent > 0)
        cv_hosts_note(hosts, "%zu more host%s left out, the last of them %s", absent,
                      absent > 1 ? "s are" : " is", hosts->last_absent);
    if (words > 0)
        cv_hosts_note(hosts, "%zu more host%s said something before %s ready", words,
                      words > 1 ? "s" : "", words > 1 ? "they were" : "it was");
    if (blind > 0)
        cv_hosts_note(hosts, "%zu more host%s not see the input", blind,
                      blind > 1 ? "s do" : " does");
}

void cv_host_tell_blind(const struct cv_host *host, const char *why)
{
    if (++host->hosts->nblind == 1)
        cv_hosts_note(host->hosts, "%s: does not see the input, which is sent there: %s",
                      host->name, why);
}

static void tell_words(void *context)
{
    const struct cv_host *host = context;
    struct cv_hosts *hosts = host->hosts;
    char line[sizeof hosts->words], forget[200], more[40] = "";
    size_t others;

    if (cv_connect_stderr_key_changed(&host->login, forget, sizeof forget)) {
        cv_hosts_note(hosts,
                      "%s: its HOST KEY HAS CHANGED, and ssh continued as configured: "
                      "another machine may intercept the connection",
                      host->name);
    } else if (cv_connect_stderr_first(&host->login, line, sizeof line, &others) &&
               strcmp(hosts->words, line) != 0 && ++hosts->nwords == 1) {
        memcpy(hosts->words, line, sizeof line);
        if (others > 0)
            snprintf(more, sizeof more, ", and %zu more line%s", others,
                     others > 1 ? "s" : "");
        cv_hosts_note(hosts, "%s: said before it was ready: '%s'%s", host->name, line,
                      more);
    }
}

void cv_host_tell_words(struct cv_host *host)
{
    cv_connect_stderr_ready(&host->login, host->marks, tell_words, host);
}

/* A worker on this machine would send the name of this machine. */
static bool is_here(const struct cv_host *host)
{
    char name[sizeof host->machine] = "", shown[sizeof host->machine];

    return gethostname(name, sizeof name - 1) == 0 &&
           strcmp(cv_shown(name, strlen(name), shown, sizeof shown), host->machine) == 0;
}

void cv_host_doubt_machine(const struct cv_host *host)
{
    struct cv_hosts *hosts = host->hosts;
    const char *other = hosts->local_workers && is_here(host) ? "this machine" : NULL;

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
