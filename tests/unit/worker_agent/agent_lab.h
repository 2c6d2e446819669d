/* An agent that runs in a thread against a scripted server. Replies come from rules, in the order they were
 * added; what no rule answers gets what a server that is content would say, and a claim waits. */
#ifndef FEDLANE_TESTS_WORKER_AGENT_AGENT_LAB_H
#define FEDLANE_TESTS_WORKER_AGENT_AGENT_LAB_H

#include <jansson.h>
#include <pthread.h>
#include "tests/unit/http/stub_server.h"
#include "tests/unit/worker_agent/support.h"
#include "worker/agent.h"

#define LAB_WORKER    "abcdefabcdefabcdefabcdefabcdef00"
#define LAB_REGISTER  "POST /api/v1/workers "
#define LAB_CLAIM     "POST /api/v1/workers/" LAB_WORKER "/tasks:claim"
#define LAB_HEARTBEAT "POST /api/v1/workers/" LAB_WORKER "/heartbeat"
#define LAB_WEIGHTS   "GET /weights"
#define LAB_UPDATE    "PUT /api/v1/tasks/"
#define LAB_TASK(n)   "00000000000000000000000000000" n /* three digits */

enum { RULE_CLOSE = 0, RULE_CUT = -1 /* weights: the head and the first 1000 bytes, then the end */ };

struct rule {
    char request[120]; /* how the request line begins */
    int status;        /* or RULE_... */
    char *body;
    bool is_used;
};

struct agent_lab {
    struct stub *stub;
    struct dataset *data;
    char *dir, *token_file;
    struct state_dir state;
    struct agent *agent;
    pthread_t thread;
    bool is_running;
    enum err result; /* of agent_run, after lab_join */
    struct fault fault;
    double heartbeat_s;
    size_t max_request_bytes;    /* as in agent_config; before lab_start */
    bool withholds_label_counts; /* the same */
    int updates_unauthorized;    /* the first so many get 401, none of them before all have come */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_ending;
    struct rule rules[64];
    size_t num_rules;
    struct buf weights; /* the file that LAB_WEIGHTS answers */
    char weights_sha256[SHA256_HEX_SIZE];
};

void lab_init(struct agent_lab *lab); /* the stub is up; rules and outbox may be made before lab_start */
void lab_start(struct agent_lab *lab);
enum err lab_join(struct agent_lab *lab); /* until agent_run returns */
enum err lab_stop(struct agent_lab *lab); /* agent_stop, and join */
void lab_release(struct agent_lab *lab);

void lab_rule(struct agent_lab *lab, const char *request, int status, const char *body);
/* One reply to a claim: train tasks with these ids, each a list "001,002". */
void lab_tasks(struct agent_lab *lab, const char *digits);
/* The same of an attempt, with another member in each task: "\"want\": [\"gamma\"]". */
void lab_tasks_with(struct agent_lab *lab, const char *digits, int attempt, const char *member);
/* Waits for the nth (from 0) request whose line begins so. Borrowed. */
const struct stub_request *lab_wait(struct agent_lab *lab, const char *request, int nth);
int lab_count(struct agent_lab *lab, const char *request); /* so far */
json_t *lab_body_of(const struct stub_request *r);         /* the caller decrefs */
size_t lab_reports_on_disk(const struct agent_lab *lab);   /* those in its outbox */

#endif
