# Aliases of dev.py, which does the work: `python3 dev.py --help`.
PYTHON ?= python3
COMMANDS := demo test setup shell check fix gen lock notices bench fuzz sanitize matrix cuda gpu-stage gpu-check sdist wheel release-check

.PHONY: $(COMMANDS)
$(COMMANDS):
	@$(PYTHON) dev.py $@ $(ARGS)
