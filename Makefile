# izmp_dynamics without ROS: set-up, demonstration, tests.
#
#   make          build the environment in .venv (quick when it is there)
#   make demo     a robot walks in simulation; evaluate the recording; print the report's path
#   make test     lint, types, tests
#   make docs     the documentation with the API page, as HTML in build/docs
#   make lock     requirements.lock anew: the newest versions that setup.py allows; then run make test
#   make bench    the measured speeds and accuracies
#   make reproduce  all pages of papers and recordings in reproduced/ (not fall_alarm), with the time of each;
#                 interrupted it goes on where it stopped; LOGS=FOLDER: with your recordings
#   make clean    remove what the other targets made, except .venv (make distclean: that too)
#
# PYTHON=/path/to/python3 chooses another interpreter for a new .venv. Its libraries have the versions
# of requirements.lock, with which the tests passed; on another Python than that file is of, the
# newest ones that setup.py allows.

PYTHON ?= /usr/bin/python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOCK := requirements.lock
EXTRAS := .[offline,sim,page,plots,fleet,view,human,protobuf,test,docs]
ROBOT := robots/biped31/robot.yaml
LOGS ?=
PAGES := paper itu_biped angular_momentum seesaw quadruped $(if $(LOGS),real)
# Several test files at once, on as many cores as there are, four at the most.
WORKERS := -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
# What tests may not be skipped for want of, as far as there are wheels for this computer.
REQUIRED := rosbags lz4 mujoco pin example-robot-data daqp mcap protobuf \
	k3d uplot-python trimesh pycollada websockets \
	distributed pyarrow itables duckdb \
	hypothesis matplotlib pandas sphinx myst-parser ros-rclpy ros-jazzy-visualization-msgs \
	ros-jazzy-std-srvs viser shtab opensim ezc3d

SHELL := /bin/sh
.SHELLFLAGS := -euc
.ONESHELL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := setup
.PHONY: setup demo test docs lock bench reproduce clean distclean

setup: $(READY)
	@echo 'Ready: $(BIN)/izmp'

demo: $(READY)
	@$(BIN)/izmp simulate walk --speed 0.3 --steps 20 -o demo/walk --overwrite
	$(BIN)/izmp replay demo/walk --robot $(ROBOT) -o demo/replay --overwrite

test: $(READY)
	@unset PYTHONDONTWRITEBYTECODE # else each of hundreds of processes compiles the sources anew
	$(BIN)/izmp compile & # beside the checks, and not in each of the tests' processes
	compiling=$$!
	$(BIN)/python -m mypy & # beside the first tests, too
	checking=$$!
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	wait $$compiling
	IZMP_REQUIRE="$$(cat $(READY))" $(BIN)/python -m pytest --quiet $(WORKERS)
	wait $$checking || { echo 'The types are wrong: see what mypy says, before the tests.'; exit 1; }

docs: $(READY)
	@$(BIN)/python -m sphinx -W --keep-going -q docs build/docs
	echo 'The documentation: build/docs/index.html'

lock: $(READY)
	@$(BIN)/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable '$(EXTRAS)'
	{
		$(BIN)/python -c 'import sys; print("# Python %d.%d" % sys.version_info[:2])'
		$(BIN)/python -m pip freeze --exclude-editable | grep '==' | grep -v '^tf2'
	} > $(LOCK).new
	mv $(LOCK).new $(LOCK)

bench: $(READY)
	@for benchmark in benchmarks/bench_*.py; do
		echo "== $$benchmark"
		$(BIN)/python "$$benchmark"
	done

reproduce: $(READY)
	@failed=
	for page in $(PAGES); do
		echo "== $$page"
		begin=$$(date +%s)
		set -- "$$page" -o "reproduced/$$page" --strict
		if [ "$$page" = real ]; then set -- "$$@" --logs "$(LOGS)"; fi
		$(BIN)/izmp experiments "$$@" || failed="$$failed $$page"
		echo "$$page: $$(($$(date +%s) - begin)) s"
	done
	if [ -n "$$failed" ]; then echo "Not all claims hold:$$failed"; exit 1; fi

clean:
	@rm -rf build install log dist demo reproduced *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	@rm -rf $(VENV)

$(READY): setup.py pyproject.toml $(LOCK) | $(VENV)/pyvenv.cfg
	@echo 'Installing the libraries into $(VENV): about 2 GB, some minutes without a message ...'
	export PYTHONWARNINGS=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
	$(BIN)/python -m pip install --quiet --upgrade pip
	locked='-c $(LOCK)'
	version=$$($(BIN)/python -c 'import sys; print("# Python %d.%d" % sys.version_info[:2])')
	if [ "$$version" != "$$(head -n 1 $(LOCK))" ]; then
		echo '$(LOCK) is of another Python: the newest versions that setup.py allows.'
		locked=
	fi
	$(BIN)/python -m pip install --quiet $$locked --editable '$(EXTRAS)'
	if $(BIN)/python -m pip install --quiet $$locked --editable '.[ros]'; then
		$(BIN)/python -m izmp_dynamics.nodes.make_tf2_msgs || true
	else
		echo 'There are no wheels of rclpy for this computer: the nodes need a ROS installation.'
	fi
	$(BIN)/izmp compile
	$(BIN)/python -m pip show $(REQUIRED) 2>/dev/null | sed -n 's/^Name: //p' > $@

# PyKDL is the one library that only the system has. The environment gets a link to it and not all
# system packages, so that it is the same whatever else is installed.
$(VENV)/pyvenv.cfg:
	@$(system_packages)
	echo 'Building the environment in $(VENV) ...'
	'$(PYTHON)' -m venv --clear $(VENV)
	ln -s "$$('$(PYTHON)' -c 'import PyKDL; print(PyKDL.__file__)')" \
		"$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')"

# Installs what the system must give, with apt-get, if and only if something is missing:
# python3, its venv module, PyKDL, libgomp, which the wheels of Pinocchio take for granted, and the
# compiler that makes tf2_msgs for the wheels of rclpy.
define system_packages
fail() { echo "$$1" >&2; exit 1; }
can() { '$(PYTHON)' -c "$$1" 2>/dev/null; }
missing() {
	can '' || echo python3
	can 'import ensurepip, venv' || echo python3-venv
	can 'import PyKDL' || echo python3-pykdl
	can 'import ctypes; ctypes.CDLL("libgomp.so.1")' || echo libgomp1
	if can 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))'; then # with rclpy
		command -v g++ >/dev/null || echo g++
		can 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' ||
			echo python3-dev
	fi
}
install() {
	$$sudo apt-get update
	$$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$$@"
}
if can ''; then
	can 'import sys; sys.exit(sys.version_info < (3, 10))' ||
		fail "izmp_dynamics needs Python 3.10 or newer; $(PYTHON) is $$('$(PYTHON)' -V)."
fi
packages=$$(missing | xargs)
if [ -n "$$packages" ]; then
	case "$(PYTHON) $$packages" in
	/usr/bin/python3\ *) ;;
	*python3-*) fail "$(PYTHON) lacks what $$packages would give to /usr/bin/python3. Use that one, or install PyKDL for $(PYTHON)." ;;
	esac
	command -v apt-get >/dev/null ||
		fail "There is no apt-get here. Install with your package manager what Debian calls $$packages, then run make again."
	sudo=
	if [ "$$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null ||
			fail "Run as root: apt-get install $$packages. Then run make again."
		sudo=sudo
	fi
	echo "Installing with apt-get: $$packages"
	said=$$(install $$packages 2>&1) ||
		fail "$$said
apt-get could not install $$packages; see above. Then run make again."
	left=$$(missing | xargs)
	[ -z "$$left" ] || fail "$(PYTHON) still lacks what $$left should have brought."
fi
endef
