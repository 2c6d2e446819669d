/* clang-format off */
/* Fixed waits, in programs (a test may play a slow client):
BANNED_IN_PROGRAMS sleep
BANNED_IN_PROGRAMS nanosleep
BANNED_IN_PROGRAMS clock_nanosleep
 */
/* Functions that have cost others too much. build-aux/check-source reads this list and refuses their use anywhere.
BANNED strcpy
BANNED strcat
BANNED strncpy
BANNED strncat
BANNED sprintf
BANNED vsprintf
BANNED gets
BANNED strtok
BANNED rand
BANNED srand
BANNED random
BANNED drand48
BANNED localtime
BANNED gmtime
BANNED ctime
BANNED asctime
BANNED atoi
BANNED atol
BANNED atof
BANNED alloca
BANNED system
BANNED usleep
 Fixed waits, in programs (a test may play a slow client):
BANNED_IN_PROGRAMS sleep
BANNED_IN_PROGRAMS nanosleep
BANNED_IN_PROGRAMS clock_nanosleep
 */
