include tests/unit/base/local.mk
