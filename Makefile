# Slipway's commands. `make help` lists them. Every target sets up what it needs and reuses what is there.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# What a user gives reaches a shell in its environment variables, `"$$NAME"`, never in the text of a recipe: spaces, quotes
# and `$(...)` in it stay text. `value` keeps make itself from expanding it.
$(foreach name,ENVIRONMENT BASE FAIL_ON PYTHON STACK,$(if $(filter undefined,$(origin $(name))),,\
  $(eval override $(name) := $$(value $(name)))$(eval export $(name))))
override VENV := .venv
override BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
# The interpreter that makes the virtual environments: the first supported one on the machine.
ifeq ($(origin PYTHON),undefined)
export PYTHON := $(shell for p in python3.12 python3.13 python3.11 python3; do \
	  $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && { echo $$p; break; }; done)
endif
# The Makefile's own names are of `override`: a value from the command line would be text of a recipe, which a shell runs.
# Test files side by side. Four workers on any machine: tests wait for programs that they start, and each worker has a CDK.
override SIDE_BY_SIDE := --numprocesses 4 --dist loadfile --no-loadscope-reorder
# Trains on all processors: beside it the daemons of another test's cluster would miss their time limits.
override WHOLE_CHAIN := tests/slurm/test_whole_chain.py
override TEST_TIMES := .plan/test-times.xml
override FAULTS := .plan/faults
override TRAININGS := tests/live_cluster/test_recovery.py
override NIGHTLY := -m nightly --dist load --maxschedchunk 1 --numprocesses
override INSTALL := -m pip --quiet --disable-pip-version-check install
# What is locked with its hashes (`make locks`), as wheels alone: nothing of a package runs while it is installed.
override LOCKED := --require-hashes --only-binary :all: --requirement
# Install $(2) into the environment $(1). uv takes a second where pip takes a minute; an index that only pip.conf names
# is pip's to ask.
override install = $(BIN)/uv pip install --quiet --python $(1)/bin/python $(2) || \
	  { echo "set-up: uv could not; pip tries" >&2; $(1)/bin/python $(INSTALL) $(2); }
override install_locked = $(call install,$(1),$(LOCKED) $(2))

# A folder for all that a run of tests writes. It goes when the run ends: what stays in /tmp fills the disk of whoever tests
# often. Short, because the path of a socket has 108 characters.
override IN_OWN_TMPDIR = export TMPDIR=$$(mktemp -d) && trap 'rm -rf "$$TMPDIR"' EXIT

.PHONY: help
help: ## List the commands
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 16

# ---- set-up: one stamp file for each thing that is installed -------------------------------------------------
.PHONY: setup
setup: $(VENV)/.installed node_modules/.installed .tools/parallelcluster/.installed ## Install Python packages, Node (when needed), the CDK CLI and pcluster

.PHONY: python-found
python-found:
	@test -n "$$PYTHON" || { echo "Slipway needs Python 3.11, 3.12 or 3.13 on the PATH (or: make PYTHON=/path/to/python)" >&2; exit 1; }

# What `cdk deploy` and every command of `slipway` need, and no more: for jobs that reach AWS (docs/review.md).
.PHONY: setup-runtime
setup-runtime: $(VENV)/.runtime node_modules/.installed

$(VENV)/.uv: locks/requirements-uv.txt | python-found
	@echo "set-up: Python packages into $(VENV) (once, half a minute)"
	"$$PYTHON" -m venv $(VENV)
	$(BIN)/python $(INSTALL) $(LOCKED) $<
	@touch $@

# Slipway itself is built with the locked hatchling: a build of pip's own would download the newest.
$(VENV)/.runtime: locks/requirements.txt locks/requirements-node.txt pyproject.toml | $(VENV)/.uv
	@$(call install_locked,$(VENV),locks/requirements.txt)
	$(BIN)/python $(INSTALL) --no-index --no-deps --no-build-isolation --editable .
	@if ! node -e 'process.exit(["22","24"].includes(process.versions.node.split(".")[0]) ? 0 : 1)' 2>/dev/null; then \
	  echo "set-up: no supported Node.js (22 or 24) on this machine; taking it from PyPI"; \
	  $(call install_locked,$(VENV),locks/requirements-node.txt); fi
	@touch $@

$(VENV)/.installed: locks/requirements-dev.txt $(VENV)/.runtime
	@$(call install_locked,$(VENV),locks/requirements-dev.txt)
	@touch $@

# .npmrc lets no package's script run.
node_modules/.installed: package.json package-lock.json .npmrc | $(VENV)/.runtime
	@echo "set-up: the CDK CLI into node_modules"
	npm ci --loglevel error
	@touch $@

.tools/checkov/.installed .tools/docs/.installed .tools/parallelcluster/.installed: .tools/%/.installed: locks/requirements-%.txt | $(VENV)/.uv
	@echo "set-up: $* into .tools/$* (once, some seconds)"
	"$$PYTHON" -m venv .tools/$*
	@$(call install_locked,.tools/$*,$<)
	@touch $@

# Without hashes: PyTorch for the CPU alone is another file on each index, or in a folder that PIP_FIND_LINKS names. No job
# that reaches AWS installs them.
.tools/training/.installed .tools/xla/.installed .tools/mlflow/.installed: .tools/%/.installed: requirements-%.txt | $(VENV)/.uv
	@echo "set-up: $* into .tools/$* (once, up to a minute; xla takes 8 GB)"
	"$$PYTHON" -m venv .tools/$*
	@export UV_FIND_LINKS="$${UV_FIND_LINKS:-$${PIP_FIND_LINKS// /,}}"; $(call install,.tools/$*,--requirement $<)
	@touch $@

.tools/slurm/.installed: tests/slurm/install.sh tests/unpack_packages.sh | $(VENV)/.installed
	@echo "set-up: Slurm of Debian or Ubuntu into .tools/slurm (once, a few seconds)"
	tests/slurm/install.sh .tools/slurm
	@touch $@

.tools/kubernetes/.installed: tests/kubernetes/upstream/install.sh tests/kubernetes/upstream/judge.go tests/unpack_packages.sh
	@echo "set-up: Kubernetes' libraries of Debian into .tools/kubernetes, built (once, minutes)"
	tests/kubernetes/upstream/install.sh .tools/kubernetes
	@touch $@

.tools/chromium/.installed: tests/browser/install.sh tests/unpack_packages.sh
	@echo "set-up: the distribution's Chromium into .tools/chromium (once, a few seconds)"
	tests/browser/install.sh .tools/chromium
	@touch $@

override LOCK := uv pip compile --quiet --no-header --universal --fork-strategy fewest --python-version 3.11 --generate-hashes
override CONTRACTS := tests/contracts/packages.yaml tests/contracts/real_packages.py tests/unpack_packages.sh
.tools/contracts/.installed: $(CONTRACTS) | $(VENV)/.installed
	@echo "set-up: the real packages that stand-ins are compared with, into .tools/contracts (once, a few seconds)"
	python -m tests.contracts.real_packages
	@touch $@

# ---- work ----------------------------------------------------------------------------------------------------
.PHONY: test
test: setup .tools/checkov/.installed ## Lint, type-check and test everything that needs no emulator
	ruff check .
	ruff format --check .
	mypy
	PYTHONPATH=assets/jobs lint-imports
	$(IN_OWN_TMPDIR) && python -m pytest $(SIDE_BY_SIDE) --junitxml $(TEST_TIMES) \
	  -m "not judge and not rehearsal and not slurm and not nightly and not browser and not contract and not combination and not kubernetes"

# The workflow `ci` runs it on each push; .ci/run does not.
.PHONY: test-combinations
test-combinations: setup .tools/checkov/.installed .tools/slurm/.installed .tools/training/.installed ## Lint and judge every combination of choices, and train the two recipes on a real Slurm that test-slurm leaves out
	$(IN_OWN_TMPDIR) && python -m pytest $(SIDE_BY_SIDE) tests/gates tests/review/judge -m combination
	$(IN_OWN_TMPDIR) && python -m pytest $(SIDE_BY_SIDE) --dist load $(WHOLE_CHAIN) -m combination

.PHONY: test-times
test-times: setup ## Write the slowest tests of the last `make test`, and the time by folder, to tests/durations.md
	python -m tests.durations $(TEST_TIMES) > tests/durations.md

.PHONY: test-slurm
test-slurm: setup .tools/slurm/.installed .tools/training/.installed ## Run health check, smoke and training jobs on a real Slurm with fake nodes
	$(IN_OWN_TMPDIR) && python -m pytest $(SIDE_BY_SIDE) tests/slurm -m slurm --ignore=$(WHOLE_CHAIN)
	$(IN_OWN_TMPDIR) && python -m pytest $(SIDE_BY_SIDE) --dist load $(WHOLE_CHAIN) -m "slurm and not combination"

.PHONY: removed-statements
removed-statements: setup ## Take each statement out of the policies that the last rehearsals used, and count what that breaks
	python -m tests.iam.removed_statements

.PHONY: prove-offline
prove-offline: prove-clusters prove-trainings prove-resources ## Run the three parts below, one after the other

.PHONY: prove-clusters
prove-clusters: setup .tools/slurm/.installed .tools/contracts/.installed ## Break whole clusters with ParallelCluster's own daemons; Ctrl-C at each phase
	$(IN_OWN_TMPDIR) && python -m pytest $(NIGHTLY) 5 --junitxml $(FAULTS)/clusters.xml tests/operate tests/live_cluster --ignore=$(TRAININGS)

.PHONY: prove-trainings
prove-trainings: setup .tools/slurm/.installed .tools/contracts/.installed .tools/training/.installed ## Kill trainings on such clusters 50 times
	$(IN_OWN_TMPDIR) && python -m pytest $(NIGHTLY) 5 --junitxml $(FAULTS)/trainings.xml $(TRAININGS)

.PHONY: prove-resources
prove-resources: setup ## Let every resource of the shipped environments fail on the emulator; plant mistakes for tests of templates
	$(IN_OWN_TMPDIR) && python -m pytest $(NIGHTLY) 2 --junitxml $(FAULTS)/resources.xml tests/emulator tests/review/wiring

.PHONY: cluster-faults
cluster-faults: setup ## Write what the last `make prove-offline` saw to docs/cluster-faults.md
	python -m tests.live_cluster.report $(FAULTS)/clusters.xml $(FAULTS)/trainings.xml $(FAULTS)/resources.xml

.PHONY: test-browser
test-browser: setup .tools/chromium/.installed .tools/docs/.installed ## Open the plan's page and the documentation in a real Chromium, on a screen and on a phone
	$(IN_OWN_TMPDIR) && python -m pytest tests/browser -m browser

.PHONY: test-contracts
test-contracts: setup .tools/contracts/.installed .tools/slurm/.installed .tools/training/.installed .tools/mlflow/.installed ## Compare the tests' stand-ins with the real packages of other projects
	$(IN_OWN_TMPDIR) && python -m pytest $(SIDE_BY_SIDE) tests/contracts -m contract

.PHONY: test-kubernetes
test-kubernetes: setup .tools/kubernetes/.installed ## Compare admission and scheduling with Kubernetes' own code, which it builds (on Debian; minutes at first)
	$(IN_OWN_TMPDIR) && python -m pytest tests/kubernetes -m kubernetes

.PHONY: test-xla
test-xla: .tools/xla/.installed ## Train on PyTorch/XLA's CPU device: compiled graphs, resumption, losses (NEURONX_DISTRIBUTED: a checkout)
	$(IN_OWN_TMPDIR) && .tools/xla/bin/python -m pytest -c tests/xla/pytest.ini tests/xla

.PHONY: test-training
test-training: setup .tools/training/.installed ## Type-check and test the training code and the converter on CPUs
	.tools/training/bin/python -m mypy --config-file tests/training/mypy.ini
	$(IN_OWN_TMPDIR) && .tools/training/bin/python -m pytest -c tests/training/pytest.ini --numprocesses auto --maxprocesses 2 --dist loadfile tests/training

.PHONY: snapshots
snapshots: setup ## Rewrite the template snapshots after a wanted change (review them with git diff)
	python -m pytest tests/snapshot --snapshot-update

.PHONY: judge
judge: setup ## Run the real aws-parallelcluster on every environment's cluster configuration
	slipway judge
	$(IN_OWN_TMPDIR) && python -m pytest $(SIDE_BY_SIDE) tests/review/judge -m judge

.PHONY: rehearse
rehearse: setup ## Deploy and destroy an environment, `default` or ENVIRONMENT, on an emulator with the real CDK CLI
	slipway rehearse --environment "$${ENVIRONMENT-default}"

rehearse-%: export REHEARSED = $*
rehearse-%: setup
	slipway rehearse --environment "$$REHEARSED"
	python -m tests.iam.removed_statements "$$REHEARSED"

.PHONY: test-rehearsal
test-rehearsal: setup ## Run the slow tests of the rehearsal, of slipway destroy and roll-out
	$(IN_OWN_TMPDIR) && python -m pytest $(SIDE_BY_SIDE) tests/emulator tests/rehearse tests/remove/teardown tests/operate tests/start -m rehearsal

.PHONY: destroy
destroy: setup ## Delete the deployed ENVIRONMENT, nodes first; says what and asks (docs/teardown.md)
	@slipway destroy --environment "$$ENVIRONMENT"

# A folder for one run of the CDK CLI. It goes when the run ends, with what an interrupted synth leaves in TMPDIR.
override OWN_FOLDER = folder=$$(mktemp -d "$$PWD/.plan/$@.XXXXXX") && trap 'rm -rf "$$folder"' EXIT && mkdir "$$folder/tmp" && \
	  export TMPDIR="$$folder/tmp"

.PHONY: cost
cost: setup .plan ## Print what ENVIRONMENT costs idle and at peak, from list prices (docs/cost.md)
	@$(OWN_FOLDER) && \
	  { node_modules/.bin/cdk synth --quiet -c "environment=$$ENVIRONMENT" --output "$$folder/assembly" >/dev/null 2>"$$folder/log" || \
	    { cat "$$folder/log" >&2; exit 1; }; } && \
	  slipway cost --assembly "$$folder/assembly"

.PHONY: diff
diff: setup .plan ## Show what a deployment of ENVIRONMENT would change, and whether it can update the cluster
	@$(OWN_FOLDER) && node_modules/.bin/cdk diff -c "environment=$$ENVIRONMENT" --output "$$folder/assembly" && \
	  slipway cluster-update --assembly "$$folder/assembly"

# BASE: what a pull request is compared with. FAIL_ON: what it must not have (docs/review.md).
override AGAINST = $${BASE-$$(git symbolic-ref --quiet --short refs/remotes/origin/HEAD || echo origin/main)}

.PHONY: review
review: setup ## Judge and plan every environment, or ENVIRONMENT, against BASE, into .plan/review
	@rm -rf .plan/review
	@since=$$(git merge-base "$(AGAINST)" HEAD 2>/dev/null) && git diff --name-only --diff-filter=D --no-renames --relative "$$since" \
	    -- 'environments/*.yaml' | while read -r file; do \
	  mkdir -p .plan/review; echo "**$$file is deleted**: nothing plans it. Its stacks stay and cost until somebody destroys" \
	  "them, which needs the file (docs/teardown.md)." | tee -a .plan/review/_deleted.md >&2; done || true
	@shopt -s nullglob; names=(environments/*.yaml); names=("$${names[@]#environments/}"); names=("$${names[@]%.yaml}"); \
	[[ -z $${ENVIRONMENT+given} ]] || names=("$$ENVIRONMENT"); \
	(($${#names[@]})) || { echo "there is no environment to review in environments/" >&2; exit 1; }; \
	trap 'exit 130' INT TERM; status=0; slipway judge -- "$${names[@]}" || status=$$?; ((status < 2)) || exit "$$status"; \
	for name in "$${names[@]}"; do \
	  slipway plan --environment "$$name" --base "$(AGAINST)" --fail-on "$$FAIL_ON" --markdown ".plan/review/$$name.md" \
	    --json-file ".plan/review/$$name.json" --html ".plan/review/$$name.html" || status=1; done; exit "$$status"

.plan:
	@mkdir -p $@

.PHONY: bench
bench: setup ## Measure synth time and memory against an app with one VPC, 50 queues against one, and a plan
	python -m benchmarks.synth
	python -m benchmarks.queues
	python -m benchmarks.plan

.PHONY: bench-conversion
bench-conversion: .tools/training/.installed ## Measure the converter's memory with 1.1 billion parameters, against its bound (13 GB of disk)
	.tools/training/bin/python -m benchmarks.conversion
	.tools/training/bin/python -m benchmarks.dcp_checkpoint

.PHONY: schema
schema: setup ## Rewrite environments/schema.json and the generated parts of docs/ from the models and rules
	python -m slipway.config.schema
	python -m slipway.config.reference
	python -m slipway.review.lint.documentation
	python -m slipway.check.preflight.documentation
	python -m slipway.command_reference
	python -m tests.contracts.register
	python -m tests.constructs_reference

# The version is pyproject.toml's, the notes are its part of CHANGELOG.md.
.PHONY: release
release: setup ## Build what a release has into dist/: wheel, source archive, bill of materials, notes
	@rm -rf dist
	@uv build --quiet --no-build-isolation --python $(BIN)/python
	@slipway sbom --environment default --output dist/sbom.json
	@slipway --version | cut -d ' ' -f 2 > dist/version
	@version=$$(cat dist/version) awk '/^## /{on = $$2 == ENVIRON["version"]} on' CHANGELOG.md > dist/notes.md
	@test -s dist/notes.md || { echo "CHANGELOG.md has no part for $$(cat dist/version)" >&2; exit 1; }

.PHONY: sbom
sbom: setup ## Write the software bill of materials of ENVIRONMENT into .plan/sbom.json (docs/review.md)
	@slipway sbom --environment "$$ENVIRONMENT" --output .plan/sbom.json

# Packages that are locked keep their versions; without the file all are the newest that the pins allow.
.PHONY: locks
locks: $(VENV)/.installed ## Renew locks/ after a change of requirements*.txt
	@for name in '' -uv -dev -node -checkov -docs -parallelcluster; do \
	  $(LOCK) "requirements$$name.txt" --output-file "locks/requirements$$name.txt" || exit 1; done

.PHONY: training-lock
training-lock: setup ## Lock all Python packages of the training stack STACK with their checksums (docs/updates.md)
	@python -m slipway.training_lock "$$STACK"

.PHONY: picture
picture: setup .plan ## Draw docs/architecture.svg and docs/plan.svg anew from the templates of the default environment
	@node_modules/.bin/cdk synth --quiet --output .plan/default >/dev/null 2>.plan/log || { cat .plan/log >&2; exit 1; }
	@python -m slipway.review.report.picture .plan/default > docs/architecture.svg
	@python -m tests.review.report.example_plan > docs/plan.svg

.PHONY: screenshots
screenshots: setup .tools/chromium/.installed .tools/parallelcluster/.installed ## Make docs/pictures anew from the real program: the plan's page, a deployment, a rehearsal
	@python -m tests.browser.screenshots

.PHONY: docs
docs: .tools/docs/.installed | .plan ## Build the documentation's site into .plan/site; broken links and anchors fail
	@.tools/docs/bin/python docs/pages.py .plan
	@.tools/docs/bin/zensical build --clean --strict --config-file .plan/zensical.toml

.PHONY: clean
clean: ## Remove everything that was generated or installed
	rm -rf $(VENV) .tools node_modules cdk.out dist .rehearsal .judge .plan
