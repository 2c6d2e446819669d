/* The worker's main thread: registers, claims tasks, fetches weights, hands the work to the threads, sends
 * reports, and tells the server that it lives. One event loop; nothing in it sleeps. */
#ifndef FEDLANE_WORKER_AGENT_H
#define FEDLANE_WORKER_AGENT_H

#include <stdbool.h>
#include <stdint.h>
#include "common/data/dataset.h"
#include "worker/state_dir.h"
#include "worker/trainer.h"

/* All borrowed; they outlive the agent. */
struct agent_config {
    const char *server_url;
    const char *enroll_token_file;              /* read at each registration */
    const char *ca_file, *cert_file, *key_file; /* as in struct http_config */
    const char *name;                           /* of the worker; devices are "NAME-ORDINAL" */
    const char *version;
    const struct dataset *data;
    const int64_t *ordinals; /* the devices that this worker is */
    size_t num_ordinals;
    const struct state_dir *state;
    const struct trainer_ops *ops;
    int threads;
    double slowdown;
    size_t max_request_bytes;    /* a larger update goes in pieces; 0: DEFAULT_MAX_REQUEST */
    bool withholds_label_counts; /* the server is not told how many examples of which class a device has */
};

struct agent;

/* Starts the threads, not the talk. ERR_USAGE for a bad URL; ERR_IO, ERR_NO_MEMORY. */
enum err agent_new(const struct agent_config *config, struct agent **out, struct fault *fault) MUST_CHECK;
/* Works until agent_stop (ERR_OK: finished work was sent, or waits in the outbox; open tasks were given back)
 * or until going on makes no sense: the server refuses the registration (its error), the worker was revoked
 * (ERR_TOKEN_REVOKED), or another process took its identity (ERR_DEVICE_BUSY). The fault says what to do. */
enum err agent_run(struct agent *a, struct fault *fault) MUST_CHECK;
/* From any thread or a signal handler. */
void agent_stop(struct agent *a);
/* After agent_run: threads that are in the midst of a long computation, which agent_free would wait for. */
bool agent_is_computing(const struct agent *a);
void agent_free(struct agent *a);

#endif
