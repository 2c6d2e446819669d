/* What a client of test_torture.c does, one step after the other: each route that changes something is among
 * them. */
#ifndef FEDLANE_TESTS_API_TORTURE_STEPS_H
#define FEDLANE_TESTS_API_TORTURE_STEPS_H

#include <stddef.h>
#include <stdint.h>
#include "tests/fuzz/server.h"

/* All that can be repeated carries a key. */
struct torture_step {
    enum fuzz_caller caller;
    const char *method, *target;
    const char *body;    /* "@": weights of the model */
    const char *headers; /* more of them; NULL: none */
    int status;
    int again;        /* what a repeat gives where the first answer was lost; 0: the same */
    char name, taken; /* the id of the answer that `taken` ('n' or 't') stands for is remembered as `name` */
    bool is_piece;    /* of the weights, from `from` to `to`, 0 standing for their end */
    size_t from, to;
};

extern const struct torture_step torture_steps[];
extern const size_t torture_num_steps;

/* The weights; gives their size. */
size_t torture_weights(uint8_t out[512]);

/* Before the first step: makes what no request can. Links with which one signs in lie in the folder. */
void torture_prepare(const char *data_dir);

#endif
