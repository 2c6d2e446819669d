/* Every cap in one place. A buffer that can grow names one of these. docs/operations.md lists them all, with
 * what comes beyond each; tests/scenario/test_limits.py compares. */
#ifndef FEDLANE_BASE_LIMITS_H
#define FEDLANE_BASE_LIMITS_H

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

#define LIMIT_JSON_BODY          (1 * MIB)  /* a JSON request */
#define LIMIT_LOGIN_BODY         (4 * KIB)  /* a JSON request of who has no token */
#define LIMIT_FLEET_BODY         (16 * MIB) /* a JSON request that may speak of each device of a worker */
#define LIMIT_JSON_DEPTH         32
#define LIMIT_JSON_FILE          (64 * MIB) /* a spec or data file read by our own programs */
#define LIMIT_JSON_REPLY         (64 * MIB)
#define LIMIT_NAME               200       /* bytes of a name that a user gives */
#define LIMIT_TEXT               4000      /* bytes of a description or a failure's detail */
#define LIMIT_LABELS             64        /* labels or capabilities of one device */
#define LIMIT_CAPABILITIES       (8 * KIB) /* bytes of a device's or worker's capabilities, as JSON */
#define LIMIT_LABEL_COUNTS       100 /* classes whose examples a worker counts when it registers a device */
#define LIMIT_DEVICES_PER_WORKER 10000
#define LIMIT_DEVICES_PER_RUN    1000000
#define LIMIT_ORDINAL            ((int64_t)100000000)
#define LIMIT_ROUNDS             1000000
#define LIMIT_EXAMPLES           ((int64_t)1 << 40)
#define LIMIT_STEPS              ((int64_t)1 << 40)
#define LIMIT_EPOCHS             1000000
#define LIMIT_BATCH              ((int64_t)1 << 24)
#define LIMIT_LAYERS             256
#define LIMIT_TENSORS            4096
#define LIMIT_TENSOR_NAME        200
#define LIMIT_TENSOR_DIMS        8
#define LIMIT_MODEL_BYTES        ((int64_t)16 * 1024 * 1024 * 1024)
#define LIMIT_VOCABULARY         65535      /* characters that texts are told apart by */
#define LIMIT_VOCABULARY_TEXT    (4 * KIB)  /* bytes of what a model names; more goes by hash */
#define LIMIT_DATA_POOL          (64 * GIB) /* the examples of one data set in memory */
#define LIMIT_SAFETENSORS_HEADER (8 * MIB)
#define LIMIT_METRICS_PER_REPORT 256
#define LIMIT_METRIC_NAME        200
#define LIMIT_PAGE               1000 /* items of one list reply */
#define LIMIT_PAGE_DEFAULT       100
#define LIMIT_EVENTS_PAGE        100 /* read at once for an event stream */
#define LIMIT_PATH_PARAMS        8
#define LIMIT_QUERY_PARAMS       32
#define DEFAULT_AUTH_FAILURES    60 /* of one address at once; one a second is forgotten */
#define LIMIT_URL                (4 * KIB)
#define LIMIT_CONNECTION_MEMORY  (11 * KIB) /* of one connection: request line and headers */
#define LIMIT_CONNECTIONS        20000
#define DEFAULT_PEER_CONNECTIONS 15000 /* of one address: not all, but a machine full of devices fits */
#define LIMIT_WAITERS            15000
#define LIMIT_WAIT_S             60
#define LIMIT_CLAIM              10000      /* tasks of one claim */
#define LIMIT_RESOURCES          (16 * KIB) /* bytes of what a worker says of its machine, as JSON */
#define LIMIT_SILENCE_S          60         /* of a connection, of headers, of the first part of a body */
#define LIMIT_BODY_RATE          (1 * KIB)  /* bytes a second that a body must bring after that */
#define LIMIT_REQUEST_ARENA      (96 * MIB)
#define LIMIT_BLOB_CHUNK         (1 * MIB)
#define LIMIT_IDEMPOTENCY_KEY    200
#define LIMIT_WRITER_BATCH       256 /* operations of one metadata transaction */
#define LIMIT_WRITER_QUEUE       100000
#define LIMIT_TOPICS             (64 * MIB) /* texts of the notifications of one transaction */
#define DEFAULT_MAX_REQUEST      (64 * MIB) /* a larger update goes in pieces */
#define UPLOAD_PIECE             (16 * MIB) /* bytes of a piece */
#define LIMIT_BLOB_BYTES         ((int64_t)32 * 1024 * 1024 * 1024) /* one blob */
#define LIMIT_LANES_JOBS         4096                 /* jobs of one scheduler of a device, at once */
#define LIMIT_LANES_TRACE_JOBS   100000               /* jobs of a trace that is run again */
#define LIMIT_LANES_TRACE_STEPS  ((int64_t)100000000) /* steps of all of them */

#endif
