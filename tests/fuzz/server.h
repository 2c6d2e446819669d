/* A whole server behind its HTTP layer, without sockets and threads: routes, handlers, rules, the store in
 * memory. Time and ids are the same in each run, so that a stored input means the same tomorrow. */
#ifndef FEDLANE_TESTS_FUZZ_SERVER_H
#define FEDLANE_TESTS_FUZZ_SERVER_H

#include <jansson.h>
#include "common/base/buf.h"
#include "common/crypto/sha256.h"
#include "server/store/blobs.h"
#include "server/store/store.h"
#include "tests/fuzz/fuzz.h"

/* One of each role, a worker of two devices, a device of its own, a run that these are training, a finished
 * one, and a worker that was revoked. */
enum fuzz_caller {
    CALLER_NOBODY,
    CALLER_ADMIN,
    CALLER_OPERATOR,
    CALLER_VIEWER,
    CALLER_ENROLLMENT,
    CALLER_WORKER,
    CALLER_DEVICE,
    CALLER_REVOKED,
    CALLER_ANOTHER, /* its secret is nobody's yet */
    CALLER_SESSION, /* with the secret "$s" */
    CALLERS
};

void fuzz_server_open(void);
/* Over a store and blobs that become the server's; every call of theirs is done when it returns. data_dir: as
 * in struct api_config; borrowed. */
void fuzz_server_open_over(struct store *store, struct blobs *blobs, const char *data_dir);
void fuzz_server_close(void);
/* Called with true before the server does anything and with false behind it, so that memory or the store can
 * fail just there. With a hook, answers may be 5xx and connections may be cut. NULL: nothing fails. */
typedef void fuzz_fault_hook(bool begins);
void fuzz_server_hook(fuzz_fault_hook *hook);
/* From here on, time and ids are those of this step, whatever was tried before. */
void fuzz_server_step(uint64_t step);
/* The clock goes on, and what is then due is done. */
void fuzz_tick(int64_t ms);
/* Whether anything was written since the last call, or since it was opened. */
bool fuzz_server_changed(void);

struct fuzz_answer {
    int status; /* 0: the connection was closed without one */
    const char *media_type;
    struct buf body;
    int64_t upload_offset; /* of the header; -1: none */
    bool is_cut;           /* within its body */
};

/* Method, target, headers (whole lines "Name: value\n") and body, all as a client sends them. In target and
 * body "$r" stands for the id of the run, "$o" the stopped run, "$w" the worker, "$u" its task, "$d" the
 * single device, "$t" the task claimed last (at first that device's), "$p" the last upload, "$k" a token,
 * "$s" the secret shown last, "$n" what was made last. Proves what every answer promises; the caller
 * releases. */
struct fuzz_answer fuzz_ask(enum fuzz_caller caller, const char *method, const char *target,
                            const char *headers, const void *body, size_t size);
void fuzz_answer_release(struct fuzz_answer *a);

/* The id (or hash, code, secret) that a letter stands for; NULL: none. */
const char *fuzz_id(char name);
void fuzz_id_set(char name, const char *id);
/* The SHA-256, in hex, of a caller's secret. */
void fuzz_secret_hash(enum fuzz_caller caller, char out[SHA256_HEX_SIZE]);

#endif
