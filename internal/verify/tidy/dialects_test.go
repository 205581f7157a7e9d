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
