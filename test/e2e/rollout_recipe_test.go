package e2e

import (
	"bufio"
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/examples"
	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// recipe has the steps in the comment at the top of an example, by number. Each is a script of the lines that are indented by
// six spaces.
type recipe struct {
	file  string
	steps map[int]string
	fleet *fleet.Fleet
}

// readRecipe reads an example. The test must run every step before it ends, so that no step becomes outdated.
func readRecipe(t *testing.T, f *fleet.Fleet, file string) *recipe {
	t.Helper()
	raw, err := examples.FS.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := &recipe{file: file, steps: parseRecipe(raw), fleet: f}
	if len(r.steps) == 0 {
		t.Fatalf("%s tells its reader to do nothing", file)
	}
	t.Cleanup(func() {
		if left := slices.Sorted(maps.Keys(r.steps)); len(left) > 0 && !t.Failed() {
			t.Errorf("steps %v of %s were not tried", left, file)
		}
	})
	return r
}

func parseRecipe(raw []byte) map[int]string {
	steps, step := map[int]string{}, 0
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		text, comment := strings.CutPrefix(lines.Text(), "#")
		if !comment {
			break
		}
		if number, _, ok := strings.Cut(strings.TrimSpace(text), ". "); ok && !strings.HasPrefix(text, "   ") {
			if n, err := strconv.Atoi(number); err == nil {
				step = n
			}
		}
		if line, ok := strings.CutPrefix(text, "      "); ok {
			steps[step] += line + "\n"
		}
	}
	return steps
}

// play runs the commands of a step as a reader would, in a shell in the folder of the examples, and returns their output. A
// command that a reader would watch runs one time.
func (r *recipe) play(t *testing.T, step int) string {
	t.Helper()
	script, ok := r.steps[step]
	if !ok {
		t.Fatalf("%s has no step %d", r.file, step)
	}
	delete(r.steps, step)
	kubectl, err := r.fleet.Plane.Assets.Path(devplane.Kubectl)
	if err != nil {
		t.Fatal(err)
	}
	root, err := devplanetest.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-ec", strings.ReplaceAll(script, " --watch", ""))
	c.Dir = filepath.Join(root, "examples")
	c.Env = append(os.Environ(),
		"KUBECONFIG="+r.fleet.Plane.KubeconfigPath,
		"PATH="+filepath.Dir(kubectl)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	begin := time.Now()
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("step %d of %s: %v\n%s\nsaid\n%s", step, r.file, err, script, out)
	}
	t.Logf("step %d of %s took %s", step, r.file, time.Since(begin).Round(100*time.Millisecond))
	return string(out)
}

func TestParseRecipe(t *testing.T) {
	t.Parallel()
	got := parseRecipe([]byte(`# A title.
#
# 1. First, which ends in
#    2. or so:
#
#      one \
#        more
#
#    Then:
#
#      two
#
# 2. Second:
#
#      three
kind: None
#      four
`))
	if want := map[int]string{1: "one \\\n  more\ntwo\n", 2: "three\n"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
