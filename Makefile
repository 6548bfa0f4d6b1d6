# izmp_dynamics without ROS: set-up, demonstration, tests.
#
#   make          build the environment in .venv (quick when it is there)
#   make demo     a simulated robot shifts its weight; evaluate the recording; print the report's path
#   make test     lint, types, tests
#   make bench    the measured speeds and accuracies
#   make clean    remove what the other targets made, except .venv (make distclean: that too)
#
# PYTHON=/path/to/python3 chooses another interpreter for a new .venv.

PYTHON ?= /usr/bin/python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
ROBOT := robots/biped31/robot.yaml

SHELL := /bin/sh
.SHELLFLAGS := -euc
.ONESHELL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := setup
.PHONY: setup demo test bench clean distclean

setup: $(READY)

demo: setup
	@$(BIN)/izmp simulate sway -o demo/sway --overwrite
	$(BIN)/izmp replay demo/sway --robot $(ROBOT) -o demo/replay --overwrite

test: setup
	@$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/python -m pytest --quiet

bench: setup
	@for benchmark in benchmarks/bench_*.py; do $(BIN)/python "$$benchmark"; done

clean:
	@rm -rf build install log dist demo *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	@rm -rf $(VENV)

$(READY): setup.py pyproject.toml | $(VENV)/pyvenv.cfg
	@echo 'Installing the libraries into $(VENV) ...'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--editable '.[offline,sim,test]'
	touch $@

# PyKDL is the one library that only the system has. The environment gets a link to it instead of
# all system packages: those are built against another numpy than the ones from PyPI.
$(VENV)/pyvenv.cfg:
	@$(system_packages)
	echo 'Building the environment in $(VENV) ...'
	'$(PYTHON)' -m venv --clear $(VENV)
	ln -s "$$('$(PYTHON)' -c 'import PyKDL; print(PyKDL.__file__)')" \
		"$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')"

# Installs python3, its venv module and PyKDL with apt-get, if and only if something is missing.
define system_packages
fail() { echo "$$1" >&2; exit 1; }
missing() {
	'$(PYTHON)' -c '' 2>/dev/null || echo python3
	'$(PYTHON)' -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
	'$(PYTHON)' -c 'import PyKDL' 2>/dev/null || echo python3-pykdl
}
packages=$$(missing | tr '\n' ' ')
install="apt-get install -y --no-install-recommends $$packages"
if [ -n "$$packages" ]; then
	[ '$(PYTHON)' = /usr/bin/python3 ] ||
		fail "$(PYTHON) lacks what Debian's $${packages}give /usr/bin/python3; use that one: make PYTHON=/usr/bin/python3"
	command -v apt-get >/dev/null ||
		fail "There is no apt-get to install: $$packages. Install them with your package manager, then run make again."
	sudo=
	if [ "$$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || fail "Run this as root, then make again: $$install"
		sudo=sudo
	fi
	echo "Installing with apt-get: $$packages"
	{ $$sudo apt-get update && $$sudo env DEBIAN_FRONTEND=noninteractive $$install; } >/dev/null ||
		fail "apt-get could not install $$packages; see its message above."
	[ -z "$$(missing)" ] || fail "/usr/bin/python3 still lacks $$(missing) after their installation."
fi
'$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
	fail "izmp_dynamics needs Python 3.10 or newer; $(PYTHON) is $$('$(PYTHON)' -V)."
endef
