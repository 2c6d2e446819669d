noinst_LIBRARIES += libfedlane-base.a
libfedlane_base_a_SOURCES = \
	common/base/arena.c common/base/arena.h \
	common/base/atomic_file.c common/base/atomic_file.h \
	common/base/banned.h \
	common/base/buf.c common/base/buf.h \
	common/base/clock.c common/base/clock.h \
	common/base/config.c common/base/config.h \
	common/base/embed.h \
	common/base/err.c common/base/err.h \
	common/base/file.c common/base/file.h \
	common/base/ids.c common/base/ids.h \
	common/base/interrupt.c common/base/interrupt.h \
	common/base/limits.h \
	common/base/log.c common/base/log.h \
	common/base/real.h \
	common/base/rng.c common/base/rng.h common/base/rng_tags.h \
	common/base/str.c common/base/str.h \
	common/crypto/random.c common/crypto/random.h \
	common/crypto/sha256.c common/crypto/sha256.h \
	common/crypto/certificate.c common/crypto/certificate.h \
	common/crypto/token.c common/crypto/token.h \
	common/json/alphabet.c common/json/alphabet.h \
	common/json/json_emit.c common/json/json_emit.h \
	common/json/json_memory.c common/json/json_memory.h \
	common/json/json_num.c common/json/json_num.h \
	common/json/json_peek.c common/json/json_peek.h \
	common/json/json_spec.c common/json/json_spec.h \
	common/json/json_text.c
