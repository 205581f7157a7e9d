package gate

import (
	"path"
	"slices"
	"strings"
)

// programs is what the programs that are shipped are built from, the way they are built, and their packages: everything, but for what is known to be
// no part of it. What is new in the repository therefore counts.
var programs = []string{
	"**", "!docs/", "!*.md", "!*_test.go", "!internal/verify/", "!test/", "!adapters/", "!examples/", "!tools/", "!.ci/", "!.golangci.yml",
	"!hack/gate/", "!hack/bump/", "!hack/site/", "!hack/fuzz", "!hack/libvirt", "!hack/openstack", "!hack/quickstart", "!dev/clouds/", "!dev/node/", "!dev/kube-rbac-proxy/",
	"!providers/alicloud/cloud/", "!providers/aws/cloud/", "!providers/azure/cloud/", "!providers/gcp/cloud/", "!providers/ibmcloud/cloud/", "!providers/kubevirt/cloud/",
	"!providers/libvirt/cloud/", "!providers/metal3/cloud/", "!providers/nutanix/cloud/", "!providers/openstack/cloud/", "!providers/vsphere/cloud/", "!providers/yandex/cloud/", "!provider/remote/",
}

func with(patterns []string, more ...string) []string {
	return append(slices.Clone(patterns), more...)
}

// sharedSimulator are the inputs that all clouds' simulators share.
var sharedSimulator = []string{
	"dev/clouds/", "!dev/clouds/ecs/", "!dev/clouds/ec2/", "!dev/clouds/arm/", "!dev/clouds/gce/", "!dev/clouds/ibmcloud/", "!dev/clouds/kubevirt/", "!dev/clouds/metal3/", "!dev/clouds/nova/",
	"!dev/clouds/vcenter/", "!dev/clouds/libvirt/", "!dev/clouds/yandex/", "!dev/clouds/prism/",
}

// simulated are the rehearsed clouds, with the folders of their simulators in dev/clouds.
var simulated = []struct{ cloud, simulator string }{
	{"alicloud", "ecs"},
	{"aws", "ec2"},
	{"azure", "arm"},
	{"gcp", "gce"},
	{"ibmcloud", "ibmcloud"},
	{"kubevirt", "kubevirt"},
	{"metal3", "metal3"},
	{"openstack", "nova"},
	{"vsphere", "vcenter"},
	{"nutanix", "prism"},
	{"yandex", "yandex"},
}

// Parts are those of the gate of this repository, the quick ones first. files are the tracked ones, fuzzed the folders of packages with fuzz targets.
func Parts(files, fuzzed []string) []Part {
	return append(sourceParts(files), programParts(files, fuzzed)...)
}

// sourceParts are about sources, pages and decisions.
func sourceParts(files []string) []Part {
	return []Part{
		{Name: "core", Target: "test-core", Proves: "the rules of the repository and all pure decisions, run anew each time, whatever a cache knows"},
		{Name: "clean", Target: "verify-quick", Proves: "generated files, formats, go.mod and go.sum of the main module are current; modules agree on versions"},
		{
			Name: "lint", Lane: Computing, Target: "lint-core", Policy: Changed, Proves: "linters find nothing in the main module",
			Inputs: mainSources(files),
		},
		{
			Name: "prose", Lane: Computing, Target: "prose", Policy: Changed, Proves: "pages, comments and messages use the words of docs/contributing/style.md",
			Inputs: []string{"*.md", "*.go", "hack/prose/", "hack/tool", "tools/vale/"},
		},
		{
			Name: "docs", Lane: Computing, Target: "docs", Policy: Changed, Proves: "the site can be built, and every link within it leads to a page and a heading",
			Inputs: []string{"*.md", "docs/", "hack/site/", "hack/tool", "tools/site/"},
		},
		{
			Name: "page", Lane: Computing, Target: "test-page", Policy: Changed, Proves: "the embedded page of `kubectl machine ui` is what its sources give",
			Inputs: []string{"internal/plugin/ui/", "tools/ui/"},
		},
		{Name: "unit", Lane: Computing, Target: "test-unit", Proves: "packages that need no control plane, with the race detector where there are goroutines"},
		{Name: "box", Lane: Waiting, Target: "test-box", Proves: "packages that need a real API server"},
		{Name: "sim", Lane: Computing, Target: "test-sim", Proves: "no simulated world breaks a safety statement, and each defect put in on purpose is found"},
	}
}

// programParts are about programs and what users install.
func programParts(files, fuzzed []string) []Part {
	return []Part{
		{Name: "dev", Lane: Waiting, Target: "test-dev", Proves: "the control plane itself, and its kubelets"},
		{
			Name: "rights", Lane: Waiting, Target: "test-rights", Policy: Changed, Proves: "stories on the real programs with the roles that are shipped, the operator, the packages; no request is refused",
			Inputs: with(programs, "test/e2e/", "internal/verify/checker/", "internal/verify/record/", "internal/verify/rights/", "*release_test.go", "*packages_test.go", "cmd/millwright-controllers/",
				"internal/operator/start/", "docs/metrics.md", "docs/taking-over.md", "docs/rollout.md", "README.md"),
			Leaves: []string{"bin/audit/box"},
		},
		{
			Name: "clouds", Lane: Waiting, Target: "test-clouds", Proves: "each cloud's provider against its simulator, adapters, provider/remote, the provider to copy",
			Variable: "FRESH", Members: modules(files),
		},
		{
			Name: "lint-clouds", Lane: Computing, Target: "lint-clouds", Policy: Turns, Proves: "linters find nothing in the modules of clouds and adapters",
			Inputs: with(mainSources(files), "!*_test.go"), Variable: "CLOUDS", Members: linted(files),
		},
		{
			Name: "mod-tidy", Lane: Computing, Target: "tidy-modules", Policy: Turns, Proves: "go.mod and go.sum of the other modules say what is needed",
			Inputs: with(mainSources(files), "!*_test.go", "!.golangci.yml", "!hack/tool"), Variable: "MODULES", Members: tidied(files),
		},
		{
			Name: "chart", Lane: Computing, Target: "test-chart", Policy: Changed, Proves: "the chart is what config/ has, and Helm installs it on a real API server",
			Inputs: with(programs, "test/chart/", "docs/install.md"),
		},
		{
			Name: "release", Lane: Computing, Target: "test-release", Policy: Changed, Proves: "a release is the same from two folders, is verified, and is installed by krew; what was tampered with is refused",
			Inputs: with(programs, "test/release/", "tools/krew/"),
		},
		{
			Name: "quickstart", Lane: Waiting, Target: "test-quickstart", Policy: Changed, Proves: "the commands of docs/quickstart.md start a fleet on a control plane that is not the box",
			Inputs: with(programs, "test/quickstart/", "tools/kwok/", "hack/quickstart", "examples/quickstart/", "docs/quickstart.md"),
		},
		{
			Name: "alerts", Lane: Computing, Target: "test-alerts", Policy: Changed, Proves: "alerts fire when they should, and ask for metrics that programs have",
			Inputs: []string{"test/monitoring/", "config/", "docs/metrics.md", "docs/runbooks/", "docs/monitoring.md", "hack/tool", "go.mod"},
		},
		{
			Name: "rehearsal", Lane: Waiting, Target: "test-rehearsal", Policy: Turns, Proves: "on a simulated cloud its own controller brings the samples of both APIs to Ready nodes, and manifests from elsewhere",
			Inputs: with(programs, append(sharedSimulator, "test/rehearsal/", "internal/verify/checker/", "internal/verify/record/")...), Variable: "PLAYED", Members: clouds(),
		},
		{
			Name: "fuzz", Lane: Computing, Target: "test-fuzz", Policy: Turns, Proves: "5000 inputs on each fuzz target of a package break nothing",
			Inputs: []string{"api/", "provider/", "!provider/remote/", "internal/dialect/", "internal/engine/", "go.mod"}, Variable: "PKG", Members: packages(fuzzed),
		},
		{
			Name: "install", Lane: Waiting, Target: "test-install", Policy: Changed, Proves: "what is installed in four ways runs in containers on a node, is upgraded, and is removed",
			Inputs: with(programs, "test/install/", "dev/node/", "dev/kube-rbac-proxy/", "docs/uninstall.md", "docs/install.md"),
			Leaves: []string{"bin/audit/install"},
		},
		{Name: "rights-held", Target: "rights", Proves: "no role has a right that no request needed in all that"},
	}
}

// mainSources are what linters of the main module look at.
func mainSources(files []string) []string {
	patterns := []string{"*.go"}
	for _, dir := range submodules(files) {
		patterns = append(patterns, "!"+dir+"/")
	}
	return append(patterns, "go.mod", "go.sum", ".golangci.yml", "hack/tool", "Makefile")
}

// linted are the modules of clouds and adapters. Linters read those whose own files have changed, and one that the main module's changes may touch.
func linted(files []string) (members []Member) {
	for _, dir := range cloudModules(files) {
		members = append(members, Member{Name: dir, Own: append(sources(dir, files), ".golangci.yml", "hack/tool")})
	}
	return members
}

// tidied are all modules but the main one. What a module needs changes with its own files, and with what the main module imports.
func tidied(files []string) (members []Member) {
	for _, dir := range submodules(files) {
		members = append(members, Member{Name: dir, Own: sources(dir, files)})
	}
	return members
}

// sources are the files in the folder of a module that are not of a module below it.
func sources(dir string, files []string) []string {
	own := []string{dir + "/"}
	for _, other := range submodules(files) {
		if strings.HasPrefix(other, dir+"/") {
			own = append(own, "!"+other+"/")
		}
	}
	return append(own, "!*.md")
}

// modules are the Go modules that are tested as clouds, whose tests open files of the repository that lie outside of their module, or build programs.
func modules(files []string) (members []Member) {
	for _, dir := range cloudModules(files) {
		own := []string{dir + "/"}
		switch {
		case strings.HasPrefix(dir, "providers/"):
			own = append(own, path.Dir(dir)+"/", "docs/providers/")
		case strings.HasPrefix(dir, "adapters/"):
			own = append(with(programs, "dev/clouds/", "provider/remote/"), own...)
		case strings.HasPrefix(dir, "examples/"):
			own = append(own, "docs/write-a-provider.md")
		}
		members = append(members, Member{Name: dir, Own: own})
	}
	return members
}

// cloudModules are the folders of the modules of clouds and adapters.
func cloudModules(files []string) (folders []string) {
	return slices.DeleteFunc(submodules(files), func(dir string) bool { return !isCloud(dir) })
}

// submodules are the folders of all modules but the main one.
func submodules(files []string) (folders []string) {
	for _, file := range files {
		if dir := path.Dir(file); path.Base(file) == "go.mod" && dir != "." {
			folders = append(folders, dir)
		}
	}
	return folders
}

func isCloud(dir string) bool {
	return dir == "dev/clouds" || dir == "provider/remote" || strings.HasPrefix(dir, "dev/clouds/") || strings.HasPrefix(dir, "adapters/") || strings.HasPrefix(dir, "examples/") ||
		strings.HasPrefix(dir, "providers/") && strings.HasSuffix(dir, "/cloud")
}

func clouds() (members []Member) {
	for _, p := range simulated {
		members = append(members, Member{Name: p.cloud, Own: []string{"providers/" + p.cloud + "/", "dev/clouds/" + p.simulator + "/", "!*_test.go", "!*.md"}})
	}
	return members
}

func packages(folders []string) (members []Member) {
	for _, dir := range folders {
		members = append(members, Member{Name: "./" + dir, Own: []string{dir + "/"}})
	}
	return members
}
