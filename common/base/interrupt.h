/* SIGINT, SIGTERM and SIGHUP taken as a wish: whoever would leave something half made looks now and then
 * whether one came, clears up, and then lets it do what it does. */
#ifndef FEDLANE_BASE_INTERRUPT_H
#define FEDLANE_BASE_INTERRUPT_H

#include <stdbool.h>

/* From here on they are only noted; those that whoever started us ignores stay ignored. A limit on the size
 * of files is from now on an error like any other. */
void interrupt_begin(void);
bool interrupt_came(void); /* any thread */
/* They do again what they did; where one came meanwhile, it does so now, and this does not return. Without an
 * interrupt_begin it does nothing. */
void interrupt_end(void);

#endif
