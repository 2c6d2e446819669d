/* One member of an object whose text is known to be JSON, because we wrote it ourselves, without building a
 * document. */
#ifndef FEDLANE_JSON_PEEK_H
#define FEDLANE_JSON_PEEK_H

/* Where the value of the object's own member `name` begins, in `object`; NULL: it has none, or is no object.
 * `name` is one that no escapes are needed for. Names in texts and in what lies deeper do not count. */
const char *json_peek(const char *object, const char *name);

#endif
