package tidy

import (
	"slices"
	"strconv"
	"strings"
)

// Pure decides and does nothing else: facts, policy and the present time in, a decision out.
const Pure = "internal/engine"

// shipped is what runs in a cluster, or may be linked by what does.
var shipped = []string{"api", "config", "provider", "providers", "adapters", "serve", "internal/admission", "internal/engine", "internal/dialect", "internal/controller", "internal/operator", "internal/program", "internal/runtime"}

// core is the part of it that knows infrastructures only through the provider package.
var core = []string{"api", "config", "provider", "internal/admission", "internal/engine", "internal/dialect", "internal/controller", "internal/operator", "internal/program", "internal/runtime"}

// A room says what the packages of a directory may import besides the standard library and their own room.
type room struct {
	dir string
	may []string // import path prefixes; those of the main module begin with "./"
}

// rooms whose imports are listed in full. A file belongs to the room with the longest matching directory; rooms that are
// not listed are held by the walls below only. The exact package "./provider" does not contain its subdirectories.
var rooms = []room{
	{"api/openshift", []string{"k8s.io/apimachinery", "k8s.io/api", "github.com/openshift/api"}},
	{"api/gardener", []string{"k8s.io/apimachinery", "k8s.io/api"}},
	{"api/millwright", []string{"k8s.io/apimachinery"}},
	{"provider", []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/utils"}},
	{"provider/kit", []string{"./provider", "k8s.io/apimachinery", "k8s.io/utils", "sigs.k8s.io/json"}},
	{"provider/admit", []string{"k8s.io/apimachinery"}},
	{"provider/providertest", []string{"./provider", "./provider/kit", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/utils", "sigs.k8s.io/json", "github.com/google/go-cmp"}},
	{"provider/lenient", []string{"./provider", "./provider/kit", "k8s.io/apimachinery", "sigs.k8s.io/json"}},
	{"provider/infrastructure", []string{"./provider", "k8s.io/api", "github.com/openshift/api"}},
	{"provider/kubeapi", []string{"./provider", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go"}},
	{"provider/recordtest", []string{"./provider"}},
	{"provider/fieldsdoc", []string{"github.com/evanphx/json-patch"}},
	{"provider/admissiontest", []string{"./provider", "./provider/admit", "k8s.io/apimachinery", "github.com/evanphx/json-patch", "github.com/google/go-cmp", "pgregory.net/rapid"}},
	{"provider/decorate", []string{"./provider", "./provider/kit", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/utils", "github.com/go-logr/logr", "github.com/prometheus/client_golang", "github.com/evanphx/json-patch", "golang.org/x"}},
	{"provider/remote", []string{"./provider", "./provider/decorate", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/utils", "github.com/go-logr/logr", "google.golang.org/grpc", "google.golang.org/protobuf"}},
	{"provider/remote/internal/generate", []string{"github.com/bufbuild/protocompile", "google.golang.org/protobuf"}},
	{"provider/remote/cmd", []string{"./provider", "./provider/remote", "./provider/providertest", "./providers/kubemark", "./serve", "k8s.io/client-go", "k8s.io/klog", "k8s.io/utils", "github.com/spf13/pflag", "golang.org/x"}},
	{Pure, []string{"./provider", "./api/millwright", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/utils"}},
	// The judge of the simulator shares nothing with what it judges but the types of the APIs.
	{"internal/verify/sim/judge", []string{"./api", "github.com/openshift/api", "k8s.io/api", "k8s.io/apimachinery", "sigs.k8s.io/controller-runtime/pkg/client"}},
	// The operator's decisions: operands follow from facts and manifests, what is said from what was seen.
	{"internal/operator/operands", []string{"./config", "github.com/openshift/api", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/utils", "sigs.k8s.io/yaml"}},
	{"internal/operator/verdict", []string{"github.com/openshift/api", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/utils"}},
	// What commands for people say and ask for.
	{"internal/plugin/steer", []string{"./internal/engine", "k8s.io/utils"}},
	{"internal/plugin/infrastructures", nil},
	{"internal/plugin/preflight", []string{"./internal/engine", "./internal/plugin/infrastructures"}},
	{"internal/verify/checker", nil},
	{"internal/verify/record", []string{"./internal/verify/checker", "k8s.io/api", "k8s.io/apimachinery", "sigs.k8s.io/controller-runtime/pkg/client"}},
}

// A wall keeps something out of some rooms, in tests too unless tests are let through.
type wall struct {
	rooms  []string // directories; the empty string is everywhere
	except []string // directories within rooms that the wall does not hold
	out    []string // import path prefixes; those of the main module begin with "./"
	tests  bool     // tests may pass
	why    string
}

var walls = []wall{
	{
		rooms: []string{Pure, "internal/operator/operands", "internal/operator/verdict", "internal/plugin/steer", "internal/plugin/preflight"},
		out:   impurePackages,
		tests: true,
		why:   "a pure package has no I/O, no clock, no randomness, no goroutine and no log: pass the facts in",
	},
	{
		rooms: core, except: []string{"provider/remote/cmd"},
		out:   []string{"./providers", "./serve"},
		tests: true,
		why:   "the core knows infrastructures only through the provider package",
	},
	{
		rooms: shipped,
		out:   []string{"./provider/admissiontest", "./provider/recordtest"},
		tests: true,
		why:   "what tries admitters out is for tests",
	},
	{
		rooms: []string{"providers", "adapters"},
		out:   []string{"./internal"},
		tests: true,
		why:   "a provider is written against the public provider package only",
	},
	{
		rooms: []string{""}, except: []string{"dev", "providers", "adapters"},
		out: []string{"./dev", "./tools"},
		why: "the development control plane and the tools are modules of their own and are run, not linked",
	},
	{
		rooms: []string{"providers", "adapters"},
		out:   []string{"./dev", "./tools"},
		tests: true,
		why:   "a provider uses its cloud's simulator in its tests only",
	},
	{
		rooms: shipped,
		out:   []string{"./cmd", "./test", "./internal/verify", "./internal/demo", "./internal/plugin"},
		tests: true,
		why:   "what runs in a cluster knows neither what proves it, nor what demonstrates it, nor the kubectl plugin",
	},
	{
		rooms: []string{""}, except: []string{"dev", "internal/runtime/trace", "internal/runtime/run", "serve/test/traces"},
		out: []string{"go.opentelemetry.io", "./internal/runtime/trace"},
		why: "traced packages get a tracer, and know keys and values: only the process knows of OpenTelemetry",
	},
	{
		rooms: []string{"internal/plugin"},
		out:   []string{"./internal/verify", "./internal/demo", "./internal/controller", "./providers"},
		tests: true,
		why:   "the kubectl plugin reads clusters; it carries no controller, no simulator and no control plane",
	},
	{
		rooms: []string{"internal/verify/sim"}, except: []string{"internal/verify/sim/cmd"},
		out:   []string{"./internal/demo", "./internal/runtime/run", "net/http", "os/exec"},
		tests: true,
		why:   "the simulator is a world in one process",
	},
	{
		rooms: []string{"internal/controller/machine", "internal/controller/machineset", "internal/controller/machinedeployment"},
		out:   []string{"./api", "github.com/openshift/api", "./internal/dialect/openshift", "./internal/dialect/gardener"},
		tests: true,
		why:   "a shell that serves both APIs reaches them through the dialect interfaces only",
	},
	{
		rooms: []string{"internal/dialect"},
		out:   []string{"./internal/runtime", "./internal/controller", "./internal/program"},
		why:   "a lens shows what an object says; effects are above it",
	},
	{
		rooms: []string{"internal/dialect/openshift"},
		out:   []string{"./api/gardener", "./internal/dialect/gardener"},
		why:   "a dialect does not know the other one",
	},
	{
		rooms: []string{"internal/dialect/gardener"},
		out:   []string{"./api/openshift", "github.com/openshift/api", "./internal/dialect/openshift"},
		why:   "a dialect does not know the other one",
	},
	{
		rooms: []string{"internal/dialect"},
		out:   []string{"./internal/controller", "k8s.io/client-go/kubernetes"},
		why:   "a lens reads and writes objects; effects belong to the shells",
	},
	{
		rooms: []string{"internal/verify/checker"},
		out:   []string{"./api", "./cmd", "./config", "./internal", "./provider", "./providers", "github.com/openshift/api"},
		why:   "a judge that shares code with whom it judges shares its mistakes",
	},
	{
		rooms: []string{"internal/verify/checker"},
		out:   impurePackages,
		tests: true,
		why:   "what was recorded is all that is judged",
	},
}

// impurePackages reach outside of a pure function although they are part of what pure packages may import otherwise.
var impurePackages = []string{
	"context", "crypto/rand", "database", "log", "math/rand", "net/http", "net/rpc", "net/smtp", "os", "plugin", "runtime", "sync",
	"syscall", "testing", "unsafe",
	"k8s.io/apimachinery/pkg/util/wait",
	"k8s.io/apimachinery/pkg/watch",
	"k8s.io/utils/clock",
	"k8s.io/utils/exec",
}

// Imports checks the rooms and the walls.
func Imports(files []*File) []Violation {
	return each(files, importsOf)
}

func importsOf(file *File) []Violation {
	var violations []Violation
	for _, spec := range file.Syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has accepted it as a string, so this cannot be reached by code that compiles
		}
		if why := refusal(file, imported); why != "" {
			violations = append(violations, file.violation(spec.Pos(), "imports %s: %s", imported, why))
		}
	}
	return violations
}

// shared are the packages of internal/controller that controllers of every kind use. All others are each about one kind.
var shared = []string{"enqueue", "expectations", "index", "parallel", "readyourwrites"}

// sibling says why a file of one controller must not import another's package, or nothing if it may. Tests run controllers together.
func sibling(file *File, imported string) string {
	own, other := controllerOf(Module+"/"+file.Dir()), controllerOf(imported)
	if file.Test || own == "" || other == "" || own == other || slices.Contains(shared, other) {
		return ""
	}
	return "controllers of kinds do not import one another: what several need is in a package that they share (" + strings.Join(shared, ", ") + ")"
}

// controllerOf is the folder of internal/controller that a package is in, or nothing if it is in none.
func controllerOf(pkg string) string {
	rest, in := strings.CutPrefix(pkg, Module+"/internal/controller/")
	if !in {
		return ""
	}
	folder, _, _ := strings.Cut(rest, "/")
	return folder
}

// refusal says why a file must not import a package, or nothing if it may.
func refusal(file *File, imported string) string {
	if why := sibling(file, imported); why != "" {
		return why
	}
	for _, wall := range walls {
		if wall.holds(file) && slices.ContainsFunc(wall.out, func(out string) bool { return within(imported, absolute(out)) }) {
			return wall.why
		}
	}
	if file.Test || isStandard(imported) {
		return ""
	}
	room := roomOf(file.Dir())
	if room == nil || room.admits(imported) {
		return ""
	}
	return "the room " + room.dir + " may import only the standard library, itself and " + strings.Join(room.may, ", ")
}

func (w wall) holds(file *File) bool {
	if file.Test && w.tests {
		return false
	}
	return withinAny(file.Dir(), w.rooms) && !withinAny(file.Dir(), w.except)
}

// roomOf returns the room with the longest directory that contains dir, or nil if no listed room does.
func roomOf(dir string) *room {
	var found *room
	for i := range rooms {
		if within(dir, rooms[i].dir) && (found == nil || len(rooms[i].dir) > len(found.dir)) {
			found = &rooms[i]
		}
	}
	return found
}

func (r *room) admits(imported string) bool {
	if within(imported, Module+"/"+r.dir) {
		return true
	}
	return slices.ContainsFunc(r.may, func(may string) bool {
		if may == "./provider" {
			return imported == absolute(may)
		}
		return within(imported, absolute(may))
	})
}

// absolute turns a prefix as it stands in the tables into an import path prefix.
func absolute(prefix string) string {
	if rest, ours := strings.CutPrefix(prefix, "./"); ours {
		return Module + "/" + rest
	}
	return prefix
}

// isStandard reports whether an import path is of the standard library: its first element has no dot.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}
