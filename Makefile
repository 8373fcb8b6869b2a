# Aliases of dev.py, which does the work: `python3 dev.py --help`.
PYTHON ?= python3
COMMANDS := demo test setup shell check fix gen bench fuzz sanitize matrix cuda gpu-check wheel

.PHONY: $(COMMANDS)
$(COMMANDS):
	@$(PYTHON) dev.py $@ $(ARGS)
