package tidy

import "testing"

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
