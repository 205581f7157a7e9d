# Everything here needs Go, a C compiler (for the race detector) and git. Other programs are built from pinned sources into
# the user's cache folder on first use.

SHELL := /bin/sh
.DEFAULT_GOAL := help

# One way of compiling for everything here (the box, the programs, the tests, what the linters look at), so that each module is compiled
# once; the race detector alone needs another. What `go test` would vet, the linters look at. Without data for debuggers, which is a sixth
# of the compiler's time, and which links would drop: dlv compiles anew, with its own flags.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath -vet=off -gcflags=all=-dwarf=false $(filter-out -trimpath -vet=off -gcflags=all=-dwarf=false,$(GOFLAGS))

# How long `make fuzz` runs each target.
FUZZTIME ?= 10s
# How many seeds `make sim` runs, and what else a target is given: make bench ARGS='--machines 100 --api gardener'.
SEEDS ?= 100000
ARGS ?=
# Which mutants `make mutants` tries: of which rooms, whether the simulator looks for them too (1; all), how many more of
# standard kinds are made in each room.
ROOM ?=
SIM ?=
GENERATED ?= 0
# The infrastructure: kubemark, or a cloud, which `make run` plays on this machine.
PROVIDER ?= kubemark
# Packages that the tests and linters look at: make test-unit PKG=./internal/engine/drain/...
PKG ?= ./...

# Packages whose tests start a control plane: those that test with internal/demo/devplane. They run without the race detector, because
# processes are what they wait for.
WITH_TEST_IMPORTS = go list -f '{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}} ' $(PKG)
BOXED = '/internal/demo/devplane(/[a-z]+)? '
UNIT_PACKAGES = $$($(WITH_TEST_IMPORTS) | grep -vE $(BOXED)'|^[^ ]*/internal/verify/sim ' | cut -d' ' -f1)
# Those of them that run programs with the roles of config/rbac are tested apart: the audit logs of their API servers tell what each right is for.
RIGHTS = test/e2e cmd/millwright-controllers internal/operator/start
ALONE = '/($(shell echo test/install test/rehearsal test/release test/quickstart $(RIGHTS) | tr ' ' '|')) '
BOX_PACKAGES = $$($(WITH_TEST_IMPORTS) | grep -E $(BOXED) | grep -vE '^[^ ]*'$(ALONE) | cut -d' ' -f1)

# Packages that have no goroutines: there is nothing in them for the race detector to find, and with it they take five times as long.
SEQUENTIAL = '/internal/(engine|dialect)/|/internal/verify/(planned|replay|tidy)$$'

TEST_TIMEOUT ?= 15m

.PHONY: help
help: ## Print this help
	@awk 'BEGIN {FS = ":.*## "; print "Usage: make <target>"} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Use


.PHONY: run
run: box build cloud ## Start a control plane and a living fleet in both APIs, and keep it running: PROVIDER=aws
ifeq ($(PROVIDER),libvirt)
	hack/libvirt up
endif
	bin/millwright up --provider $(PROVIDER) $(if $(filter libvirt,$(PROVIDER)),--timeout 10m) $(ARGS)

.PHONY: down
down: build ## Stop what `make run` left running
	bin/millwright down $(ARGS)

##@ Build

.PHONY: build
build: ## Build the commands into bin/
	@mkdir -p bin
	go build -o bin/ ./cmd/...

# The controller of a cloud and what plays that cloud, each from its own module.
.PHONY: cloud
cloud: ## Build what `millwright up --provider` needs of a cloud: PROVIDER=aws
ifneq ($(PROVIDER),kubemark)
	@mkdir -p bin
	@test -x bin/machine-controller-$(PROVIDER) || echo "building the controller of $(PROVIDER) with its SDK, and its simulated cloud: 2 to 10 minutes the first time, seconds later" >&2
	cd providers/$(PROVIDER)/cloud && go build -o $(CURDIR)/bin/ ./machine-controller-$(PROVIDER)
	cd dev/clouds/*/cmd/cloud-$(PROVIDER) && go build -o $(CURDIR)/bin/ .
endif

COMMANDS = $(filter-out internal,$(notdir $(wildcard cmd/*)))
.PHONY: $(COMMANDS)
$(COMMANDS): # make nodelink-controller builds that command alone
	@mkdir -p bin
	go build -o bin/ ./cmd/$@

.PHONY: box
box: ## Build the development control plane, once, and print its folder
	@go run ./internal/demo/devplane/cmd/box-assets

.PHONY: generate
generate: ## Make deep copies, CRDs and RBAC roles again
	hack/generate

.PHONY: packages
packages: ## Build what users install from config/ into dist/packages: millwright.yaml, install/ and charts/millwright
	go run ./hack/packages -out dist/packages

# VERSION= is what the programs call themselves and the image's tag: v1.2.3. The default is the tag of the commit, with -dirty where files have changed since;
# without a tag an image is devel, and there is no release.
VERSION ?= $(shell git describe --tags --exact-match --match 'v[0-9]*' --dirty 2>/dev/null)
# Folder of images and releases.
DIST ?= dist
.PHONY: image
image: ## Build the image for amd64 and arm64 into dist/, without a container daemon: VERSION=v1.2.3; that of a cloud: PROVIDER=aws
	go run ./hack/image -out "$(DIST)" -version "$(VERSION)" $(if $(filter-out kubemark,$(PROVIDER)),-program providers/$(PROVIDER)/cloud/machine-controller-$(PROVIDER))

# Where the image will be, as manifests and the chart name it; PLATFORMS=linux/amd64 builds fewer command lines; PROVIDERS=aws,gcp images of clouds, too.
IMAGE ?= millwright-controllers
PLATFORMS ?= linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64
ARCHS ?= amd64,arm64
PROVIDERS ?=
# KEY= is the file of minisign's private key; without it MINISIGN_KEY has the key itself. MINISIGN_PASSWORD is the password of an encrypted one.
KEY ?=
# URL= is where archives are published, below a folder of each version, as krew's manifest names it; empty: this project's own place.
URL ?=
.PHONY: release
release: ## Write a release into dist/: VERSION=v1.2.3 IMAGE=registry.example.com/millwright-controllers, with images of clouds: PROVIDERS=aws,gcp; signed: KEY=minisign.key
	go run ./hack/release -out "$(DIST)" -version "$(VERSION)" -image "$(IMAGE)" -platforms "$(PLATFORMS)" -archs "$(ARCHS)" -providers "$(PROVIDERS)" -key "$(KEY)" $(if $(URL),-url "$(URL)")

PUBLIC_KEY ?= minisign.pub
.PHONY: verify-release
verify-release: ## Verify the signature and all checksums of a release in dist/: PUBLIC_KEY=minisign.pub
	go run ./hack/release -out "$(DIST)" -verify "$(PUBLIC_KEY)"

.PHONY: clean
clean: ## Remove what was built here (the cache folder stays)
	rm -rf bin dist

##@ Test

.PHONY: test
test: test-unit test-sim test-box test-rights test-dev test-clouds ## Run every test, but for those of test-more and the suites below it

# What takes longer to compile than to run: instrumented fuzz targets, Helm, PromQL, and the programs of seven clouds.
.PHONY: test-more
test-more: test-fuzz test-rehearsal test-alerts test-chart test-release test-quickstart ## Fuzz, play each cloud, and hold the alerts, dashboards and the chart to what programs do

# The rules of the repository and the pure decisions: what .ci/run runs anew each time, whatever Go's cache knows. Half a minute.
CORE = ./internal/engine/... ./internal/verify/tidy ./internal/verify/modules ./internal/verify/gate ./hack/gate
.PHONY: test-core
test-core: ## Run the tests of the rules and of all pure decisions, without Go's cache of results
	go test -count=1 -timeout $(TEST_TIMEOUT) $(CORE)

.PHONY: test-unit
test-unit: ## Run unit tests, with the race detector where anything runs at the same time
	@packages="$(UNIT_PACKAGES)" && if [ -z "$$packages" ]; then echo "no package here is tested without a control plane"; exit 0; fi && \
	plain=$$(printf '%s\n' $$packages | grep -E $(SEQUENTIAL)); raced=$$(printf '%s\n' $$packages | grep -vE $(SEQUENTIAL)); \
	if [ -n "$$plain" ]; then echo "go test -timeout $(TEST_TIMEOUT)" $$plain && go test -timeout $(TEST_TIMEOUT) $$plain || exit; fi; \
	if [ -n "$$raced" ]; then echo "go test -race -timeout $(TEST_TIMEOUT)" $$raced && CGO_ENABLED=1 go test -race -timeout $(TEST_TIMEOUT) $$raced || exit; fi

# So many inputs for each target, not so many seconds: that takes as long as it takes on a slow machine, and a target that
# is stopped by the clock may be reported as one that failed. `make fuzz` looks further.
.PHONY: test-fuzz
test-fuzz: ## Try 5000 inputs on each fuzz target
	hack/fuzz 5000x $(PKG)

# Without the race detector: a world runs one thing at a time by construction, and thousands of worlds take minutes even so.
.PHONY: test-sim
test-sim: ## Run the simulator's fixed seeds, and prove that it finds every defect put in on purpose
	go test -timeout 30m ./internal/verify/sim

.PHONY: test-box
test-box: ## Run the tests that need a control plane
	@assets=$$(go run ./internal/demo/devplane/cmd/box-assets) && packages="$(BOX_PACKAGES)" && \
	if [ -z "$$packages" ]; then echo "no package here needs a control plane"; exit 0; fi && \
	echo "KUBEBUILDER_ASSETS=$$assets go test -p 2 -timeout $(TEST_TIMEOUT)" $$packages && \
	KUBEBUILDER_ASSETS=$$assets go test -p 2 -timeout $(TEST_TIMEOUT) $$packages

# What the API server refuses in these stories is no defect of a role.
REFUSED := ^Test(OriginalRoles|WithoutItsRoleBinding)
.PHONY: test-rights
test-rights: box ## Run the tests that run programs with the roles that are shipped; no role may lack a right. Then the operator without a role, and with the original's
	rm -rf bin/audit/box && mkdir -p bin/audit/box
	MILLWRIGHT_AUDIT=$(CURDIR)/bin/audit/box go test -count=1 -p 1 -timeout $(TEST_TIMEOUT) -skip '$(REFUSED)' $(addprefix ./,$(RIGHTS))
	go run ./internal/verify/rights/cmd/rights -refused bin/audit/box
	go test -count=1 -timeout $(TEST_TIMEOUT) -run '$(REFUSED)' ./internal/operator/start

# With the tags that the box is built with, so that Kubernetes is compiled once; lint-dev does what vet would.
.PHONY: test-dev
test-dev: box ## Run the tests of the development control plane's own module
	cd dev && go test -tags grpcnotrace -timeout $(TEST_TIMEOUT) ./...

# Each cloud's provider and double, each adapter and what carries providers over gRPC is a module of its own, so that nobody compiles an SDK
# that they do not use. Two are tested at a time: much of it is waiting.
CLOUDS = $(patsubst %/go.mod,%,$(wildcard dev/clouds/go.mod dev/clouds/*/go.mod providers/*/cloud/go.mod provider/remote/go.mod \
	adapters/*/go.mod adapters/*/test/*/go.mod examples/*/go.mod))
# FRESH= modules whose results are not taken from Go's cache, because files outside of them that their tests open have changed, which it does not see.
FRESH ?=
.PHONY: test-clouds
test-clouds: ## Test providers of real clouds, adapters, provider/remote and the provider to copy against doubles: CLOUDS=providers/aws/cloud
	@KUBEBUILDER_ASSETS="$$(go run ./internal/demo/devplane/cmd/box-assets)" && export KUBEBUILDER_ASSETS FRESH='$(FRESH)' && \
	printf '%s\n' $(CLOUDS) | xargs -P 2 -I{} hack/test-module {} -timeout $(TEST_TIMEOUT)

# The clouds that doubles play.
PLAYED = alicloud aws azure gcp ibmcloud kubevirt metal3 nutanix openstack vsphere yandex
# Each cloud is played, and its own controller brings the samples of both APIs to Ready nodes: some 15 seconds each, once it is built. For five of
# them manifests follow that are written as installers and Gardener extensions write them: half a minute more.
.PHONY: test-rehearsal
test-rehearsal: box build ## Play each cloud for a fleet until all machines are ready, of samples and of manifests from elsewhere
	@set -e; dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT; for cloud in $(PLAYED); do \
		$(MAKE) --no-print-directory cloud PROVIDER=$$cloud; \
		if bin/millwright up --provider $$cloud --exit-when-ready --dir "$$dir/$$cloud" -o jsonpath='{.seconds}{" s\n"}'; then ok=0; else ok=1; fi; \
		bin/millwright down --dir "$$dir/$$cloud"; [ $$ok = 0 ]; \
		go test -count=1 -timeout 15m -v ./test/rehearsal -run '^TestAcceptAny$$' -rehearsal.provider=$$cloud; done

# A minute or two for each cloud. The test builds the programs itself.
.PHONY: test-story
test-story: box ## Tell one story of troubles on each played cloud, by the real programs, and count at the cloud: PROVIDER=aws
	go test -count=1 -timeout 45m -v ./test/rehearsal -run Story $(if $(filter-out kubemark,$(PROVIDER)),-rehearsal.provider=$(PROVIDER)) $(ARGS)

# KILLS= is up to which write and call, and 50 is more than there are. Four minutes for vSphere, 11 for OpenStack, 14 for Azure and for GCP, 20 for AWS, in most of
# which the controller waits for listings to catch up; with KILLS=1 one to six.
# TWICE=1 also kills each process that takes over, at its first step.
KILLS ?= 50
.PHONY: test-killed
test-killed: box ## Kill the machine controller of played clouds at each of its writes and calls, and count at the cloud: PROVIDER=aws KILLS=1
	go test -count=1 -timeout 3h -v ./test/rehearsal -run '^TestSafetyKilled' -rehearsal.kills=$(KILLS) $(if $(TWICE),-rehearsal.twice) $(if $(filter-out kubemark,$(PROVIDER)),-rehearsal.provider=$(PROVIDER)) $(ARGS)

# As root on a Debian 12; ten minutes for packages on first use, then two to start, and five for the tests.
.PHONY: test-openstack
test-openstack: ## Test the provider of OpenStack against a real one, which is started for that
	hack/openstack up
	cd providers/openstack/cloud && OS_CLOUD_REAL="$$(../../../hack/openstack config)" go test -count=1 -timeout 60m -v ./real; status=$$?; ../../../hack/openstack down; exit $$status

# As root on a Debian 12; packages are loaded and the image of the nodes is made on first use, which takes two minutes. Then the provider's
# suite runs on libvirt's own test driver, and virtual machines live their lives: a minute without KVM.
.PHONY: test-libvirt
test-libvirt: box build ## Test the provider of libvirt against a real one, with virtual machines that run a kubelet
	$(MAKE) --no-print-directory cloud PROVIDER=libvirt
	hack/libvirt up
	cd providers/libvirt/cloud && LIBVIRTD="$$(../../../hack/libvirt socket)" go test -count=1 -timeout $(TEST_TIMEOUT) -run OfTheRealOne . && \
		cd $(CURDIR) && LIBVIRTD="$$(hack/libvirt socket)" go test -count=1 -timeout 30m -v ./test/libvirt; status=$$?; hack/libvirt down; exit $$status

# Some five seconds once promtool and the parser of PromQL are built, which takes minutes. What is tested is outside of the module, where
# go does not notice changes: -count=1.
.PHONY: test-alerts
test-alerts: ## Play the alerts, and look up what the queries of alerts and dashboards ask for
	"$$(hack/tool promtool)" check rules config/monitoring/plain/*.yaml
	"$$(hack/tool promtool)" test rules test/monitoring/*_test.yaml
	cd test/monitoring && go test -count=1 ./...

# The module has Helm, which takes minutes to compile once.
.PHONY: test-chart
test-chart: box ## Hold the chart to config/, and install it on a real API server as Helm does
	cd test/chart && go test -count=1 ./...

# Two minutes, and two more on first use, when krew is built.
.PHONY: test-release
test-release: ## Build a release of the commit in two folders, compare, verify and install it
	go test -count=1 -timeout 30m ./test/release

# A minute and a half, and two more on first use, when kwok is built.
.PHONY: test-quickstart
test-quickstart: box ## Type the commands of docs/quickstart.md on a control plane of kwokctl
	go test -count=1 -timeout 15m -v ./test/quickstart

.PHONY: test-e2e
test-e2e: box ## Play stories with the real binaries on a real control plane; `make test-rights` does so too: ARGS='-run TestInPlaceOf'
	go test -count=1 -timeout $(TEST_TIMEOUT) ./test/e2e $(ARGS)

# Root only: containers need namespaces, and all that is begun there is in namespaces that end with the test. Two minutes for building
# the container runtime come before the first run.
.PHONY: test-install
test-install: box ## Install on a node where containers really run, as a user does: needs root. ARGS='-run TestInstall'
	rm -rf bin/audit/install && mkdir -p bin/audit/install
	MILLWRIGHT_AUDIT=$(CURDIR)/bin/audit/install go test -count=1 -timeout 30m -v ./test/install $(ARGS)

.PHONY: rights
rights: ## Hold the roles to what `make test-rights` and `make test-install` asked for: no right without need
	go run ./internal/verify/rights/cmd/rights bin/audit/box bin/audit/install

.PHONY: test-crash
test-crash: ## Kill controllers while 100 machines come and go, and after each of their writes: ARGS='-crash.seed=1 -crash.kills=20'
	go test -count=1 -timeout 30m -v -run 'TestCrashTruth|TestSafetyKilledAfterEachWrite' ./test/e2e -crash.machines=100 -crash.kills=10 -killed.writes=50 $(ARGS)

# MACHINES= of both APIs together, whose nodes are played by kwok; the cloud is PROVIDER's double. MINUTES=60 is the whole.
MACHINES ?= 300
.PHONY: test-soak
test-soak: box build cloud ## Keep machines on a played cloud under troubles, and count what is there at the end: PROVIDER=aws MINUTES=60
	go run ./test/soak -provider $(PROVIDER) -machines $(MACHINES) -minutes $(MINUTES) $(ARGS)

.PHONY: fuzz
fuzz: ## Look for input that breaks a decoder or a lens: FUZZTIME=1m PKG=./provider
	hack/fuzz $(FUZZTIME) $(PKG)

# SEED= plays the plan of another run again, MINUTES= is for how long new rounds begin, PREVIOUS= whose binaries take turns with
# these: any commit, or nothing. The whole takes two to six minutes more.
SEED ?= 0
MINUTES ?= 8
PREVIOUS ?= HEAD~1
.PHONY: test-history
test-history: box ## Run the real binaries through troubles and have their history judged: SEED=1 MINUTES=8 PREVIOUS=v1 ARGS='-on restore'
	go run ./test/history -seed $(SEED) -minutes $(MINUTES) -previous "$(PREVIOUS)" $(ARGS)

# PREVIOUS= is the commit whose programs are exchanged for these; without it the 20th before this one, so that the two differ. Six minutes, and more where both have to
# be compiled.
UPGRADE_FROM = $(if $(filter file,$(origin PREVIOUS)),HEAD~20,$(PREVIOUS))
.PHONY: test-upgrade
test-upgrade: box ## Exchange the real binaries, there and back, under a fleet that is held in every phase: PREVIOUS=v1 (6 minutes)
	go test -count=1 -timeout 20m -v -run '^TestUpgrade' ./test/e2e -upgrade.previous=$(UPGRADE_FROM) $(ARGS)

.PHONY: sim
sim: ## Run the simulator on many seeds: SEEDS=100000
	go run ./internal/verify/sim/cmd/sim --seeds $(SEEDS) $(ARGS)

.PHONY: mutants
mutants: ## Put defects into the product and report which tests find them: ROOM=lifecycle,drain SIM=1 GENERATED=20
	nice go run ./internal/verify/mutants/cmd/mutants -room='$(ROOM)' -sim='$(SIM)' -generated=$(GENERATED) $(ARGS)

# Of ARGS='--provider aws' that cloud, which is built as well. Ten minutes; of three rounds half an hour. FIGURES= is where the figures are kept, which the next
# run prints beside its own.
FIGURES ?= bin/figures.json
BENCHED = $(filter $(PLAYED),$(subst =, ,$(ARGS)))
.PHONY: bench
bench: box build ## Measure against the raw ceiling of the same control plane: ARGS='--machines 100 --api gardener', or --roll, --heartbeats 1000, --provider aws
	@set -e; for cloud in $(BENCHED); do $(MAKE) --no-print-directory cloud PROVIDER=$$cloud; done
	bin/millwright bench $(if $(filter --provider% --blocked% --heartbeats%,$(ARGS)),,--store $(FIGURES)) $(ARGS)

##@ Check

.PHONY: verify
verify: generate fmt-check lint prose tidy committed ## Generate, format, lint, tidy, and demand that nothing changed

.PHONY: verify-quick
verify-quick: generate fmt-check tidy-core committed

.PHONY: committed
committed:
	@if git rev-parse --git-dir >/dev/null 2>&1; then git diff --exit-code && \
		changes=$$(git status --porcelain) && if [ -n "$$changes" ]; then echo "not committed:"; echo "$$changes"; exit 1; fi; fi

.PHONY: lint
lint: lint-core lint-clouds ## Run the linters

.PHONY: lint-core
lint-core:
	"$$(hack/tool golangci-lint)" run --allow-parallel-runners $(PKG)

.PHONY: lint-clouds
lint-clouds: ## Run the linters on the modules of clouds and adapters: CLOUDS=providers/aws/cloud
	@set -e; for module in $(CLOUDS); do (echo "lint $$module"; cd $$module && "$$(CDPATH= cd $(CURDIR) && hack/tool golangci-lint)" run --allow-parallel-runners --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: lint-dev
lint-dev: ## Run the linters on the module of the development control plane (compiles much)
	cd dev && "$$(../hack/tool golangci-lint)" run --config ../.golangci.yml ./...

.PHONY: screens
screens: build box ## Draw the terminals that README and docs show from a real fleet, into docs/images: one minute
	KUBEBUILDER_ASSETS="$(ASSETS)" go run ./hack/screens

.PHONY: dashboards
dashboards: build box ## Draw the dashboards from a fleet of this machine, into docs/images: 50 minutes
	KUBEBUILDER_ASSETS="$(ASSETS)" hack/dashboards

.PHONY: prose
prose: ## Check the English of pages, comments and messages; go run ./hack/prose -list internal/engine says where
	go run ./hack/prose

.PHONY: ui
ui: ## Bundle the page of `kubectl machine ui` from internal/plugin/ui/web
	cd tools/ui && go run .

.PHONY: test-page
test-page: ## Compare the embedded page with its sources
	cd tools/ui && go test -count=1 ./...

# Needs Chromium, and npm for the types and for axe. One minute. PICTURES=<folder> keeps what the pages look like.
WEB = internal/plugin/ui/web
.PHONY: test-ui
test-ui: box build test-page ## Look at the page of `kubectl machine ui` in Chromium, and check its types, its packages and its accessibility
	cd $(WEB) && npm ci --ignore-scripts --no-audit --no-fund && npx tsc -p .
	for file in dist/preact.mjs hooks/dist/hooks.mjs jsx-runtime/dist/jsxRuntime.mjs; do cmp $(WEB)/node_modules/preact/$$file $(WEB)/vendor/preact/$${file##*/} || exit 1; done
	cd test/ui && AXE="$(CURDIR)/$(WEB)/node_modules/axe-core/axe.min.js" PICTURES="$(PICTURES)" MACHINES="$(MACHINES)" go test -count=1 -timeout 15m ./...

# npm loads half a gigabyte, which takes two to five minutes; the rest takes half a minute.
.PHONY: headlamp
headlamp: ## Check, test and build the plugin for Headlamp into dist/headlamp: 5 minutes, with npm
	cd tools/headlamp && npm ci --ignore-scripts --no-audit --no-fund && npm run tsc && npm test && npm run build
	rm -rf dist/headlamp && mkdir -p dist/headlamp/millwright-headlamp
	cp tools/headlamp/dist/main.js tools/headlamp/package.json dist/headlamp/millwright-headlamp/

# Hugo takes three minutes of a processor to compile, once; the site then 8 seconds. BASE= is where it will stand.
BASE ?= /
.PHONY: docs
docs: ## Build dist/site from docs/, with search, and check its links: BASE=https://example.com/millwright/
	go run ./hack/site -out dist/site -base '$(BASE)'

.PHONY: fmt
fmt: ## Format the sources
	"$$(hack/tool gofumpt)" -w .

.PHONY: fmt-check
fmt-check:
	@files=$$("$$(hack/tool gofumpt)" -l .) && if [ -n "$$files" ]; then echo "not formatted (make fmt):"; echo "$$files"; exit 1; fi

# MODULES='k8s.io/*@v0.37.2 sigs.k8s.io/controller-runtime@v0.25.2'; without it what is behind in one module is raised to what another has.
MODULES ?=
.PHONY: bump
bump: ## Give a dependency one version in all modules of the repository: MODULES='k8s.io/*@v0.37.2'
	go run ./hack/bump $(foreach module,$(MODULES),'$(module)')

# All modules but the main one.
MODULES = dev dev/node dev/kube-rbac-proxy tools tools/site tools/vale tools/krew tools/kwok tools/ui test/monitoring test/chart test/ui $(CLOUDS)
.PHONY: tidy
tidy: tidy-core tidy-modules ## Check that go.mod and go.sum of each module say what is needed, and that modules agree on versions

.PHONY: tidy-core
tidy-core:
	go run ./hack/bump -check
	go mod tidy -diff

# It loads all that a module's dependencies import, their tests included.
.PHONY: tidy-modules
tidy-modules:
	@set -e; for module in $(MODULES); do echo "cd $$module && go mod tidy -diff" && (cd $$module && go mod tidy -diff); done
