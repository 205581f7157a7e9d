package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestFlagTypes: what help prints after a flag is its type. A word of the usage in back quotes
// would take that place.
func TestFlagTypes(t *testing.T) {
	kind := regexp.MustCompile(`^[a-zA-Z0-9]*$`)
	seen := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		check := func(f *pflag.Flag) {
			seen++
			if name, _ := pflag.UnquoteUsage(f); !kind.MatchString(name) || strings.Count(f.Usage, "`") > 0 {
				t.Errorf("%s --%s: %q is no type", c.CommandPath(), f.Name, name)
			}
		}
		c.LocalFlags().VisitAll(check)
		c.PersistentFlags().VisitAll(check)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(Command())
	if seen < 50 {
		t.Errorf("found %d flags, which cannot be all", seen)
	}
}

// TestCommandsFit: a hint is no wider than a terminal and, copied, the command that was meant.
func TestCommandsFit(t *testing.T) {
	words := []string{"kubectl", "-n", "openshift-machine-api", "scale", "machinesets.machine.openshift.io/mill-worker-a", "--replicas=5"}
	text := command(words...)
	for line := range strings.SplitSeq(text, "\n") {
		if len(line) > hintWidth {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	if got := strings.Fields(strings.ReplaceAll(text, "\\\n", " ")); strings.Join(got, " ") != strings.Join(words, " ") || !strings.Contains(text, "\\\n") {
		t.Errorf("a shell takes %q", got)
	}
	if got := command("kubectl", "get", "nodes"); got != "      kubectl get nodes" {
		t.Errorf("%q", got)
	}
}
