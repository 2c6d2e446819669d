/* The metadata of an update: strings in the `__metadata__` of its safetensors header, or query parameters of
 * the same names. One row per field; who reads or writes them expands the table. */
#ifndef FEDLANE_API_UPDATE_META_H
#define FEDLANE_API_UPDATE_META_H

/* X(KIND, name). INT is a decimal int64; NUM a double, or "NaN", "Infinity", "-Infinity"; TEXT anything
 * short. U64 is a decimal uint64. */
#define UPDATE_META_TABLE(X)                                                                                 \
    X(INT, attempt)                                                                                          \
    X(TEXT, content) /* UPDATE_CONTENT_* */                                                                  \
    X(TEXT, encoding)                                                                                        \
    X(INT, num_examples)                                                                                     \
    X(INT, steps_assigned)                                                                                   \
    X(INT, steps_done)                                                                                       \
    X(INT, samples_seen)                                                                                     \
    /* Echoes of what the task asked for: one that differs is config_mismatch. */                            \
    X(NUM, proximal_mu)                                                                                      \
    X(NUM, learning_rate)                                                                                    \
    X(INT, batch_size)                                                                                       \
    X(U64, seed)                                                                                             \
    X(NUM, train_loss_start)                                                                                 \
    X(NUM, train_loss_end)                                                                                   \
    X(NUM, grad_norm_start)                                                                                  \
    X(NUM, grad_norm_end)                                                                                    \
    X(NUM, gamma)                                                                                            \
    X(NUM, update_norm)                                                                                      \
    X(NUM, compute_ms)                                                                                       \
    X(NUM, download_ms)                                                                                      \
    X(TEXT, stop_reason) /* STOP_REASON_* */                                                                 \
    /* The evaluation of the weights that the task came with. */                                             \
    X(NUM, eval_train_loss)                                                                                  \
    X(INT, eval_train_examples)                                                                              \
    X(NUM, eval_test_loss)                                                                                   \
    X(INT, eval_test_examples)                                                                               \
    X(INT, eval_test_correct)

#define UPDATE_CONTENT_WEIGHTS "weights"
#define UPDATE_CONTENT_DELTA   "delta"

#define STOP_REASON_COMPLETED "completed"
#define STOP_REASON_BUDGET    "budget"
#define STOP_REASON_DEADLINE  "deadline"
#define STOP_REASON_ASKED     "asked"

#endif
