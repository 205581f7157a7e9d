package tidy

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestPluginIsSlim: what people install beside kubectl links no controller, no
// infrastructure but the rules for its specs, and nothing that proves or demonstrates the product, whatever
// lies between.
func TestPluginIsSlim(t *testing.T) {
	c := exec.Command("go", "list", "-deps", "./cmd/kubectl-machine")
	c.Dir = root(t)
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if len(linked) < 100 {
		t.Fatalf("%d packages are linked, which cannot be all", len(linked))
	}
	for _, name := range linked {
		for _, out := range []string{"/internal/verify", "/internal/demo", "/internal/controller", "/providers", "/serve", "/dev", "/test"} {
			if under(name, Module+out) && !specs.MatchString(name) {
				t.Errorf("links %s", name)
			}
		}
	}
}

// specs are the packages with the types and the admission rules of provider specs, which link no SDK.
var specs = regexp.MustCompile("^" + regexp.QuoteMeta(Module) + "/providers/[a-z0-9]+/spec$")

// under reports whether a package is dir, or in it.
func under(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }
