noinst_LIBRARIES += libfedlane-store.a
libfedlane_store_a_SOURCES = \
	server/store/blobs.h \
	server/store/idmap.c server/store/idmap.h \
	server/store/queries.h \
	server/store/records.c server/store/records.h \
	server/store/schema.c server/store/schema.h \
	server/store/store.h \
	server/store/topics.c server/store/topics.h \
	server/store/write_wait.c \
	server/store/memory/blobs.c \
	server/store/memory/find.c \
	server/store/memory/index.c \
	server/store/memory/store.c \
	server/store/memory/table.c server/store/memory/table.h \
	server/store/memory/tree.c server/store/memory/tree.h
