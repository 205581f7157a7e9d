package infrastructures

import (
	"cmp"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/millwright-dev/millwright/examples"
)

// TestAllProviders: each folder of providers/ has an entry, and each entry a folder.
func TestAllProviders(t *testing.T) {
	folders, err := os.ReadDir("../../../providers")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, f := range folders {
		if f.IsDir() {
			want = append(want, f.Name())
		}
	}
	var have []string
	for _, i := range All {
		have = append(have, i.Name)
		if i.OpenShift.Kind == "" && i.Provider == "" {
			t.Errorf("%s has no name in any API", i.Name)
		}
	}
	slices.Sort(have)
	if !slices.Equal(have, want) {
		t.Errorf("the table has %q, and providers/ has %q", have, want)
	}
}

// said matches the infrastructure in an example of either API.
var said = regexp.MustCompile(`(?m)^provider: (\S+)|^ {6,10}kind: (\w+Provider\w+)`)

// TestExamplesAreServed: Names has the infrastructure of each example.
func TestExamplesAreServed(t *testing.T) {
	found := 0
	files, err := fs.Glob(examples.FS, "*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("example files %v, error %v", files, err)
	}
	for _, file := range files {
		raw, err := fs.ReadFile(examples.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range said.FindAllStringSubmatch(string(raw), -1) {
			name := cmp.Or(m[1], m[2])
			found++
			if !slices.Contains(Names(), name) {
				t.Errorf("%s: the table lacks %s", file, name)
			}
		}
	}
	if found < len(files) {
		t.Errorf("found %d infrastructures in %d files, want at least one in each", found, len(files))
	}
}
