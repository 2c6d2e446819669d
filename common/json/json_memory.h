/* Jansson's memory. Where there is none left, Jansson 2.14 goes on: it takes a text that it could not copy
 * for a syntax error, leaves letters and members out, and reads and writes past its buffer where a text's
 * last mark found no room. So its allocations go through here: it is told to fail where it can, gets what it
 * must have from a reserve, and whoever asked it for something learns that the result is not whole. Private
 * to common/json. */
#ifndef FEDLANE_JSON_MEMORY_H
#define FEDLANE_JSON_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Around what this thread asks of Jansson. `longest`: bytes of the longest text that it will parse, 0 for
 * none. False: there is no memory for the reserve; nothing was begun. */
bool json_memory_begin(size_t longest);
/* False when memory ran out meanwhile. What Jansson made must have been released by then if it is not taken.
 */
bool json_memory_was_enough(void);
void json_memory_end(void);

#endif
