build_aux_tests = tests/unit/build-aux/join_modules.sh
TESTS += $(build_aux_tests)
EXTRA_DIST += $(build_aux_tests)
