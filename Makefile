# Two commands do everything: `make demo` and `make test`.
.PHONY: demo test
demo test:
	@echo "not yet" && false
