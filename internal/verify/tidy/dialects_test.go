package tidy

import (
	"go/ast"
	"strings"
	"testing"
)

func TestLensesCatches(t *testing.T) {
	const reads = "package a\n\nfunc f(ctx context.Context, r client.Reader) {}\n"
	check(t, Lenses, []sourceCase{
		{"internal/dialect/openshift/machine.go", reads, 2, "a lens that reads"},
		{"internal/dialect/openshift/resolver.go", reads, 0, "its resolver does"},
		{"internal/dialect/openshift/class_test.go", reads, 0, "tests give clients to resolvers"},
		{"internal/dialect/openshift/machine.go", "package a\n\nvar o client.Object\n", 0, "an object is no client"},
		{"internal/controller/machine/a.go", reads, 0, "a shell reads"},
	})
}

func TestAPIsCatches(t *testing.T) {
	const imports = "package a\n\nimport _ \"github.com/millwright-dev/millwright/internal/dialect/gardener\"\n"
	const asks = "package a\n\nvar is = api == provider.OpenShift\n"
	check(t, APIs, []sourceCase{
		{"serve/controllers.go", imports, 1, "wiring imports a lens"},
		{"serve/controllers.go", asks, 1, "wiring asks which API it is"},
		{"internal/plugin/why.go", "package a\n\nvar words = []string{\"openshift\", \"machine.sapcloud.io\"}\n", 2, "a list of its own"},
		{"internal/plugin/why.go", "package a\n\nvar help = \"a machine of machine.sapcloud.io\"\n", 0, "help for people may name one"},
		{"serve/apis.go", imports, 0, "the rows of a program"},
		{"providers/kubemark/decode.go", asks, 0, "the spec of a provider is spelt in each API"},
		{"serve/apis_test.go", asks, 0, "tests are about single APIs"},
	})
}

func TestSpellingCatches(t *testing.T) {
	const pure = "internal/engine/drain/a.go"
	check(t, Spelling, []sourceCase{
		{pure, "package a\n\nconst k = \"machine.sapcloud.io/x\"\n", 1, "a key of one API"},
		{pure, "package a\n\nconst f = \"spec.providerSpec.value\"\n", 1, "a field of one API"},
		{pure, "package a\n\nconst f = \"spec.replicas\"\n", 0, "a field of both"},
		{pure, "package a\n\nimport _ \"github.com/openshift/api\"\n", 0, "imports are held by the rooms"},
		{"internal/engine/postmortem/record.go", "package a\n\nconst f = \"status.lastOperation\"\n", 0, "what is listed, with a reason"},
		{"internal/engine/drain/a_test.go", "package a\n\nconst f = \"spec.class.kind\"\n", 0, "tests are let through"},
		{"internal/dialect/gardener/a.go", "package a\n\nconst f = \"spec.class.kind\"\n", 0, "a lens spells its API"},
	})
}

// TestSpeltIsStillThere: an exception whose text has gone goes too.
func TestSpeltIsStillThere(t *testing.T) {
	files, err := Load(root(t))
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]string{}
	for _, file := range files {
		if spelt[file.Path] == nil {
			continue
		}
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok {
				there[file.Path] += literal.Value
			}
			return true
		})
	}
	for path, parts := range spelt {
		for part, why := range parts {
			if why == "" || !strings.Contains(there[path], part) {
				t.Errorf("%s: %q is not there, or has no reason: take it off the list", path, part)
			}
		}
	}
}

// TestFewFilesNameAnAPI counts them. The number only falls.
func TestFewFilesNameAnAPI(t *testing.T) {
	const most = 4
	if len(apiFiles) > most {
		t.Errorf("%d files may name an API, and %d is the most: ask the table of internal/dialect/apis", len(apiFiles), most)
	}
}
