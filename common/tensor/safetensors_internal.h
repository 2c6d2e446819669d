/* What the reader in memory and the streaming checker share. */
#ifndef FEDLANE_TENSOR_SAFETENSORS_INTERNAL_H
#define FEDLANE_TENSOR_SAFETENSORS_INTERNAL_H

#include "common/tensor/safetensors.h"

/* The header's content where that can be told without a parser for all of JSON, before the check of its
 * layout; everything lies in the arena. False says nothing about it, and leaves *out: the parser judges. */
bool safetensors_header_scan(const char *json, size_t len, struct arena *arena,
                             struct safetensors_header *out) MUST_CHECK;
/* Sets num_elements from the shape; false where the product overflows. */
bool safetensors_count_elements(struct safetensors_entry *e) MUST_CHECK;

/* ERR_INVALID_SAFETENSORS where a header's announced length is above that limit. */
enum err safetensors_check_length(uint64_t json_bytes, const struct tensor_table *table,
                                  struct fault *fault) MUST_CHECK;
/* The little-endian length field. */
uint64_t safetensors_get_length(const uint8_t bytes[8]);
/* Fills the fault for element `index` of a tensor; returns ERR_NON_FINITE. */
enum err safetensors_refuse_non_finite(const char *name, uint64_t index, struct fault *fault) MUST_CHECK;

#endif
