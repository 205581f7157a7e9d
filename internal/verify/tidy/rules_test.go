package tidy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parse reads fixtures: the name of a file and its source.
func parse(t *testing.T, fixtures map[string]string) []*File {
	t.Helper()
	var files []*File
	for name, source := range fixtures {
		file, err := Parse(name, []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// importing is a source that imports one package.
func importing(imported string) string {
	return fmt.Sprintf("package a\n\nimport _ %q\n", imported)
}

func TestImportsCatches(t *testing.T) {
	cases := []struct {
		file, imported string
		caught         bool
		reason         string
	}{
		{"internal/engine/lifecycle/a.go", "sigs.k8s.io/controller-runtime/pkg/client", true, "a pure package has no client"},
		{"internal/engine/lifecycle/a.go", "k8s.io/client-go/kubernetes", true, "a pure package has no client"},
		{"internal/engine/replicas/a.go", "github.com/openshift/api/machine/v1beta1", true, "a pure package knows no API group of machines"},
		{"internal/engine/replicas/a.go", Module + "/api/gardener/v1alpha1", true, "a pure package knows no API group of machines"},
		{"internal/engine/replicas/a.go", Module + "/api/millwright", false, "what is asked for by keys of ours means the same in both groups"},
		{"api/millwright/a.go", Module + "/internal/engine/replicas", true, "a vocabulary knows nobody who speaks it"},
		{"internal/engine/rollout/a.go", "github.com/go-logr/logr", true, "a pure package does not log"},
		{"internal/engine/rollout/a.go", "log/slog", true, "a pure package does not log"},
		{"internal/engine/health/a.go", "os", true, "a pure package has no I/O"},
		{"internal/engine/health/a.go", "net/http", true, "a pure package has no I/O"},
		{"internal/engine/health/a.go", "net/netip", false, "comparing addresses is no I/O"},
		{"internal/engine/drain/a.go", "context", true, "a pure function is not cancelled"},
		{"internal/engine/drain/a.go", "math/rand/v2", true, "a decision gives the same answer twice"},
		{"internal/engine/orphan/a.go", "k8s.io/utils/clock", true, "the time is an argument"},
		{"internal/engine/orphan/a.go", "k8s.io/utils/ptr", false, "helpers without effects may be used"},
		{"internal/engine/approval/a.go", "crypto/x509", false, "the standard library may be used"},
		{"internal/engine/approval/a.go", "k8s.io/api/certificates/v1", false, "core types are the vocabulary"},
		{"internal/engine/approval/a.go", Module + "/internal/engine/drain", false, "pure packages may use each other"},
		{"internal/engine/lifecycle/a.go", Module + "/provider", false, "the provider package is vocabulary"},
		{"internal/engine/lifecycle/a.go", Module + "/serve", true, "only the root of the provider package is vocabulary"},
		{"internal/engine/lifecycle/a.go", Module + "/internal/dialect", true, "the engine does not know the dialects"},
		{"internal/engine/lifecycle/a_test.go", "pgregory.net/rapid", false, "tests may use what they like"},
		{"internal/engine/lifecycle/a_test.go", "os", false, "tests may read golden files"},
		{"internal/dialect/gardener/a.go", Module + "/internal/runtime/node", true, "a lens has no effects"},
		{"internal/dialect/gardener/a.go", Module + "/internal/engine/nodemeta", false, "a lens uses the engine"},
		{"provider/a.go", "sigs.k8s.io/controller-runtime/pkg/client", true, "the SDK needs no cluster"},
		{"provider/a.go", "k8s.io/api/core/v1", false, "the SDK speaks of nodes and pods"},
		{"serve/a.go", "sigs.k8s.io/controller-runtime", false, "serving needs a manager"},
		{"serve/a.go", Module + "/internal/controller/machine", false, "serving wires the controllers"},
		{"provider/a.go", Module + "/providers/kubemark", true, "the SDK knows no infrastructure"},
		{"internal/controller/machine/a.go", Module + "/providers/kubemark", true, "the core knows no infrastructure"},
		{"internal/verify/sim/a.go", Module + "/providers/kubemark", false, "the simulator brings a cloud"},
		{"cmd/millwright/a.go", Module + "/providers/kubemark", false, "a command wires everything"},
		{"providers/kubemark/a.go", Module + "/internal/demo/devplane", true, "a provider needs only the SDK"},
		{"providers/kubemark/a.go", Module + "/internal/runtime/node", true, "a provider needs only the SDK"},
		{"provider/providertest/a.go", "github.com/google/go-cmp/cmp", false, "the suite compares"},
		{"provider/providertest/a.go", "sigs.k8s.io/controller-runtime", true, "the suite needs no cluster"},
		{"provider/lenient/a.go", "sigs.k8s.io/json", false, "decoding is as strict decoding is, after names and numbers are read"},
		{"provider/lenient/a.go", "sigs.k8s.io/yaml", true, "what the originals read with is what tests compare with"},
		{"provider/lenient/a.go", "github.com/openshift/api/machine/v1", true, "decoding knows no infrastructure's type"},
		{"provider/admissiontest/a.go", "pgregory.net/rapid", false, "specs are drawn"},
		{"providers/aws/spec/a.go", Module + "/provider/lenient", false, "specs are decoded by it"},
		{"providers/aws/spec/a.go", Module + "/provider/admissiontest", true, "what tries admitters out is for tests"},
		{"providers/aws/spec/a_test.go", Module + "/provider/admissiontest", false, "tests of admitters share it"},
		{"provider/decorate/a.go", "github.com/prometheus/client_golang/prometheus", false, "decorators measure"},
		{"provider/decorate/a.go", "sigs.k8s.io/controller-runtime", true, "decorators need no cluster"},
		{"providers/kubemark/a_test.go", Module + "/internal/demo/devplane", false, "a provider's tests may start the box"},
		{"providers/kubemark/a.go", Module + "/provider", false, "a provider needs the SDK"},
		{"internal/demo/devplane/a.go", Module + "/dev/box", true, "the development control plane is run, not linked"},
		{"internal/demo/devplane/a_test.go", Module + "/dev/box", true, "tests run it as well"},
		{"dev/box/a.go", Module + "/dev/hollow", false, "the development module has packages of its own"},
		{"internal/controller/machine/a.go", Module + "/internal/verify/sim", true, "what is simulated does not know the simulator"},
		{"serve/a.go", Module + "/internal/demo/devplane", true, "a provider's binary does not carry a control plane"},
		{"cmd/millwright/a.go", Module + "/internal/demo/devplane", false, "the CLI starts the control plane"},
		{"internal/runtime/node/a_test.go", Module + "/internal/demo/devplane/devplanetest", false, "tests may start the control plane"},
		{"internal/verify/sim/a.go", Module + "/internal/demo/devplane", true, "the simulator has a control plane of its own"},
		{"internal/verify/sim/a.go", "os/exec", true, "the simulator is one process"},
		{"internal/verify/sim/judge/a.go", Module + "/internal/engine/rollout", true, "a judge does not go by the rules of what it judges"},
		{"internal/verify/sim/judge/a.go", Module + "/internal/dialect/gardener", true, "a judge reads objects by itself"},
		{"internal/verify/sim/judge/a.go", Module + "/provider", true, "a judge has words of its own"},
		{"internal/verify/sim/judge/a.go", Module + "/internal/verify/sim/cloud", true, "the cloud speaks the product's words"},
		{"internal/verify/sim/judge/a.go", Module + "/api/gardener/v1alpha1", false, "types say what objects look like"},
		{"internal/verify/sim/judge/a.go", "sigs.k8s.io/controller-runtime/pkg/client", false, "objects of any kind have an interface"},
		{"internal/verify/sim/a.go", Module + "/internal/engine/rollout", false, "the simulator runs the product"},
		{"internal/controller/machine/a.go", "github.com/openshift/api/machine/v1beta1", true, "a shell for both APIs knows neither"},
		{"internal/controller/machineset/a.go", Module + "/internal/dialect/gardener", true, "a shell for both APIs knows neither"},
		{"internal/controller/machine/a.go", Module + "/internal/dialect", false, "a shell uses the interfaces"},
		{"internal/controller/csr/a.go", "github.com/openshift/api/machine/v1beta1", false, "this kind exists once"},
		{"internal/controller/machinedeployment/a.go", Module + "/internal/controller/machineset", true, "controllers of kinds are apart"},
		{"internal/controller/machine/a.go", Module + "/internal/controller/machineclass", true, "controllers of kinds are apart, also where one's name begins with the other's"},
		{"internal/controller/index/a.go", Module + "/internal/controller/machine", true, "what is shared knows no kind"},
		{"internal/controller/machinedeployment/a.go", Module + "/internal/controller/index", false, "what is shared may be used"},
		{"internal/controller/readyourwrites/a.go", Module + "/internal/controller/expectations", false, "what is shared may use each other"},
		{"internal/controller/machine/test/live/a.go", Module + "/internal/controller/machine", false, "a controller's folder is one"},
		{"internal/controller/machinedeployment/a_test.go", Module + "/internal/controller/machineset", false, "tests run controllers together"},
		{"internal/dialect/openshift/a.go", Module + "/internal/dialect/gardener", true, "dialects are apart"},
		{"internal/dialect/gardener/a.go", "github.com/openshift/api/machine/v1beta1", true, "dialects are apart"},
		{"internal/dialect/a.go", Module + "/internal/controller/machine", true, "a lens has no effects"},
		{"api/gardener/v1alpha1/a.go", "sigs.k8s.io/controller-runtime/pkg/scheme", true, "types need the API machinery only"},
		{"api/openshift/v1/a.go", "k8s.io/client-go/kubernetes", true, "types need the API machinery only"},
		{"internal/verify/checker/a.go", Module + "/api/gardener/v1alpha1", true, "a judge reads the raw objects"},
		{"internal/verify/checker/a_test.go", Module + "/internal/engine/rollout", true, "not even its tests go by the product"},
		{"internal/verify/checker/a.go", "k8s.io/api/core/v1", true, "a judge has its own types"},
		{"internal/verify/checker/a.go", "os", true, "a judge is given what it reads"},
		{"internal/verify/checker/a.go", "encoding/json", false, "logs are JSON"},
		{"internal/verify/record/a.go", Module + "/internal/dialect/apis", true, "what is judged is what there is, and not what the product makes of it"},
		{"internal/verify/record/a.go", "sigs.k8s.io/controller-runtime/pkg/client", false, "it asks API servers"},
		{"test/history/a.go", Module + "/internal/demo/fleet", false, "whoever makes the history starts the product"},
	}
	for _, c := range cases {
		violations := Imports(parse(t, map[string]string{c.file: importing(c.imported)}))
		if caught := len(violations) != 0; caught != c.caught {
			t.Errorf("%s importing %s: caught is %v, because %s: %v", c.file, c.imported, caught, c.reason, violations)
		}
	}
}

// sourceCase is a source that a rule catches as often as it should, at a path.
type sourceCase struct {
	path, source string
	caught       int
	reason       string
}

func check(t *testing.T, rule func([]*File) []Violation, cases []sourceCase) {
	t.Helper()
	for _, c := range cases {
		violations := rule(parse(t, map[string]string{c.path: c.source}))
		if len(violations) != c.caught {
			t.Errorf("%s, %q: %d violations, not %d, because %s: %v", c.path, c.source, len(violations), c.caught, c.reason, violations)
		}
	}
}

func TestPurityCatches(t *testing.T) {
	const pure = "internal/engine/drain/a.go"
	check(t, Purity, []sourceCase{
		{pure, "package a\n\nfunc f() { go f() }\n", 1, "a goroutine"},
		{pure, "package a\n\nfunc f(c chan int) { c <- 1 }\n", 1, "a channel"},
		{pure, "package a\n\nfunc f() { select {} }\n", 1, "a wait"},
		{pure, "package a\n\nimport \"fmt\"\n\nfunc f() { fmt.Println() }\n", 1, "printing"},
		{pure, "package a\n\nimport \"fmt\"\n\nvar s = fmt.Sprint()\n", 0, "making text is not printing"},
		{pure, "package a\n\nfunc f() { println() }\n", 1, "printing"},
		{pure, "package a\n\nimport \"net\"\n\nvar c, e = net.Dial(\"\", \"\")\n", 1, "the network"},
		{pure, "package a\n\nimport \"net\"\n\nvar ip = net.ParseIP(\"\")\n", 0, "parsing an address is not the network"},
		{pure, "package a\n\ntype P struct{ OpenShiftStyle bool }\n", 1, "a policy field is named for the behaviour"},
		{pure, "package a\n\nvar MCMDrain, mapi_drain, gardenerDrain int\n", 3, "words are found in every spelling"},
		{pure, "package a\n\nvar mapIndex, mapItems, openShifts int\n", 0, "parts of other words are not the names"},
		{"internal/engine/drain/a_test.go", "package a\n\nfunc f() { go f() }\n", 0, "tests are let through"},
		{"internal/runtime/node/a.go", "package a\n\nfunc f() { go f() }\n", 0, "other rooms have effects"},
	})
}

func TestWords(t *testing.T) {
	cases := map[string][]string{
		"MCMFinalizer":  {"mcm", "finalizer"},
		"mapIndex":      {"map", "index"},
		"usesMAPI":      {"uses", "mapi"},
		"snake_case_ID": {"snake", "case", "id"},
		"a":             {"a"},
		"_":             nil,
	}
	for identifier, want := range cases {
		if diff := cmp.Diff(want, words(identifier)); diff != "" {
			t.Errorf("%s:\n%s", identifier, diff)
		}
	}
}

func TestClockCatches(t *testing.T) {
	const source = "package a\n\nimport \"time\"\n\nvar now, t = time.Now(), time.After(time.Second)\n"
	check(t, Clock, []sourceCase{
		{"internal/engine/lifecycle/a.go", source, 2, "a decision is given the time"},
		{"internal/controller/machine/a.go", source, 2, "a shell is given a clock"},
		{"internal/verify/sim/a.go", source, 2, "the simulator has its own time"},
		{"internal/verify/sim/a.go", strings.NewReplacer(`"time"`, `wall "time"`, "time.", "wall.").Replace(source), 2, "another name does not hide it"},
		{"internal/verify/sim/a.go", "package a\n\nimport \"time\"\n\nconst d = time.Second\n", 0, "durations are no clock"},
		{"internal/verify/sim/a_test.go", source, 0, "tests are let through"},
		{"internal/demo/devplane/a.go", source, 0, "processes live in real time"},
	})
}

func TestSeedsCatches(t *testing.T) {
	check(t, Seeds, []sourceCase{
		{"internal/verify/sim/a.go", "package a\n\nimport \"math/rand/v2\"\n\nvar n = rand.IntN(3)\n", 1, "nobody knows the seed"},
		{"internal/verify/sim/a.go", "package a\n\nimport dice \"math/rand\"\n\nvar n = dice.Intn(3)\n", 1, "another name does not hide it"},
		{"internal/verify/sim/a.go", "package a\n\nimport \"math/rand/v2\"\n\nvar r = rand.New(rand.NewPCG(1, 2))\n", 0, "the seed is known"},
		{"internal/demo/devplane/a.go", "package a\n\nimport \"math/rand/v2\"\n\nvar n = rand.IntN(3)\n", 0, "chance is chance elsewhere"},
	})
}

func TestPackageDocsCatches(t *testing.T) {
	check(t, PackageDocs, []sourceCase{
		{"internal/a/a.go", "package a\n", 1, "there is no comment"},
		{"internal/a/a.go", "// Something else.\npackage a\n", 1, "the comment does not name the package"},
		{"internal/a/a.go", "// Package a does it.\npackage a\n", 0, "this is how it should be"},
		{"cmd/a/main.go", "// Package main does it.\npackage main\n", 1, "a command is a command"},
		{"cmd/a/main.go", "// Command a does it.\npackage main\n", 0, "this is how it should be"},
		{"test/a/a_test.go", "package a\n", 0, "tests need none"},
	})
	files := parse(t, map[string]string{"a/a.go": "package a\n", "a/doc.go": "// Package a does it.\npackage a\n", "b/b.go": "package b\n"})
	if violations := PackageDocs(files); len(violations) != 1 || violations[0].Place != "b/b.go:1" {
		t.Errorf("one comment is enough for package a, and none is too few for b: %v", violations)
	}
}

func TestCommentsCatches(t *testing.T) {
	check(t, Comments, []sourceCase{
		{"a.go", "package a\n\n// " + "TO" + "DO(me): later\n", 1, "work is left undone"},
		{"a.go", "package a\n\nvar c = f() // FIX" + "ME\n", 1, "work is left undone"},
		{"a.go", "package a\n\n// ------ helpers ------\n", 1, "a banner"},
		{"a.go", "package a\n\nvar c = f() //nolint:errcheck\n", 1, "no reason"},
		{"a.go", "package a\n\nvar c = f() //nolint:errcheck // closing a read-only file\n", 0, "a reason"},
		{"a.go", "package a\n\nimport \"context\"\n\nvar c = context.TODO()\n", 0, "an identifier is not a comment"},
	})
}

func TestWiringCatches(t *testing.T) {
	check(t, Wiring, []sourceCase{
		{"a.go", "package a\n\nfunc init() {}\n", 1, "something happens behind the reader's back"},
		{"a.go", "package a\n\ntype t int\n\nfunc (t) init() {}\n", 0, "a method is called by name"},
		{"a.go", "// Code generated by x. DO NOT EDIT.\n\npackage a\n\nfunc init() {}\n", 0, "generated code is let through"},
	})
}

func TestKeysCatches(t *testing.T) {
	const source = "package a\n\nconst k = \"millwright.dev/a\"\n"
	check(t, Keys, []sourceCase{
		{"internal/dialect/a.go", source, 1, "a key that nobody has listed"},
		{"internal/engine/drain/a.go", source, 1, "nor may a decision have one of its own"},
		{"api/millwright/a.go", source, 0, "this is where keys are"},
		{"internal/verify/sim/judge/a.go", source, 0, "a judge has words of his own"},
		{"providers/kubemark/a.go", source, 0, "a provider's tags are not on objects"},
		{"internal/dialect/a_test.go", source, 0, "tests are let through"},
		{"internal/dialect/a.go", "package a\n\nconst k = \"millwright.dev/node-name\"\n", 0, "the name of an index is on no object"},
		{"internal/dialect/a.go", "package a\n\nconst k, l = \"kubemark.millwright.dev/v1\", \"see millwright.dev/a\"\n", 0, "neither groups nor prose are keys"},
	})
}

func TestValuesCatches(t *testing.T) {
	const (
		begin  = "package dialect\n\nconst k, text = \"millwright.dev/escalation\", \"millwright.dev/rack-label\"\n\nconst other = k\n\n"
		lookUp = "func f(from map[string]string, key string) string { return from[key] }\n\n"
	)
	check(t, Values, []sourceCase{
		{"internal/dialect/a.go", begin + "var v = a[k]", 1, "a word is looked up, and will be compared by hand"},
		{"internal/dialect/a.go", begin + "var v = o.GetAnnotations()[other] == \"reboot\"", 1, "by another name"},
		{"internal/dialect/a.go", begin + "func f() { v, ok := a[k] }", 1, "with the question whether it is there"},
		{"internal/dialect/a.go", begin + lookUp + "var v = f(a, k)", 1, "by a function that is no reader"},
		{"internal/dialect/a.go", begin + "func f() { read := func(key string) int { return n(a[key]) }; read(k) }", 1, "by a function within one"},
		{"internal/engine/drain/a.go", "package drain\n\nvar v = a[\"millwright.dev/drain-order\"]", 1, "a decision has no parser of its own either"},
		{"internal/dialect/a.go", begin + "func f() { _, ok := a[k] }", 0, "whether a key is there is no value"},
		{"internal/dialect/a.go", begin + "func f() { a[k] = \"reboot\"; delete(a, k) }", 0, "nor is a value read where it is written"},
		{"internal/dialect/a.go", begin + "var v = a[text]", 0, "text is as it is"},
		{"internal/dialect/a.go", begin + "var v = millwright.Read(a).Word(k)", 0, "this is how it is done"},
		{"internal/dialect/a.go", begin + lookUp + "var v = f(a, text)", 0, "text is as it is, whoever looks it up"},
		{"internal/dialect/a.go", begin + "var v = a[\"deployment.kubernetes.io/revision\"]", 0, "what is not ours has no entry"},
		{"api/millwright/a.go", begin + "var v = a[k]", 0, "this is where the reader is"},
		{"internal/verify/sim/a.go", begin + "var v = a[k]", 0, "who judges the product reads for himself"},
	})
}

func TestHygieneCatches(t *testing.T) {
	cases := []struct {
		content string
		caught  int
		reason  string
	}{
		{"see /wo" + "rk/main/go.mod", 1, "the path of a checkout"},
		{"HOME=/ho" + "me/ada", 1, "somebody's home"},
		{"under /ro" + "ot/go", 1, "somebody's home"},
		{"https://arti" + "factory.example/x", 1, "a private registry"},
		{"http:" + "//10.1.2.3/x", 1, "a private network"},
		{"internal/work/main.go and example.com/home/x", 0, "parts of other paths"},
		{"a\n<<<<" + "<<< HEAD\nb\n====" + "===\n>>>>" + ">>> topic", 2, "what a merge left"},
		{"a\x00b", 1, "a binary"},
		{strings.Repeat("a", MaxTrackedBytes+1), 1, "too large"},
	}
	for _, c := range cases {
		if violations := Hygiene("a", []byte(c.content)); len(violations) != c.caught {
			t.Errorf("%.40q: %d violations, not %d: %s", c.content, len(violations), c.caught, c.reason)
		}
	}
	const picture = "\x89PNG\r\n\x1a\n\x00"
	for name, c := range map[string]struct {
		content string
		caught  int
	}{
		"docs/images/page.png": {picture, 0},
		"docs/images/page.gif": {"GIF\x00", 1},
		"docs/images/big.png":  {picture + strings.Repeat("a", MaxPictureBytes), 1},
		"internal/page.png":    {picture, 1},
	} {
		if violations := Hygiene(name, []byte(c.content)); len(violations) != c.caught {
			t.Errorf("%s: %d violations, not %d", name, len(violations), c.caught)
		}
	}
}
