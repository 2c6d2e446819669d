include tests/unit/base/local.mk
include tests/unit/http/local.mk
include tests/unit/tensor/local.mk
include tests/unit/model/local.mk
include tests/unit/fl/local.mk
include tests/unit/data/local.mk
include tests/store/local.mk
include tests/unit/httpd/local.mk
