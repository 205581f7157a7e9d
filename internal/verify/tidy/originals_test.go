package tidy

import (
	"path"
	"testing"
)

// notes are those of the repository.
func notes(t *testing.T) Notes {
	t.Helper()
	texts := map[string]string{}
	for name, text := range prose(t) {
		if path.Dir(name) == "docs/originals" && path.Base(name) != "README.md" {
			texts[path.Base(name)] = text
		}
	}
	return ReadNotes(texts)
}

// TestReferencesToOriginals: what comments, and the tables on compatibility, refer to is there to be read.
func TestReferencesToOriginals(t *testing.T) {
	files, err := Load(root(t))
	if err != nil {
		t.Fatal(err)
	}
	n := notes(t)
	if len(n[gardenerNotes]) < 100 || len(n[openshiftNotes]) < 60 {
		t.Fatalf("the notes have lost their sections: %d and %d are left", len(n[gardenerNotes]), len(n[openshiftNotes]))
	}
	complain(t, n.References(files))
	const table = "docs/compatibility.md"
	complain(t, n.Codes(table, prose(t)[table]))
}

func TestReferencesCatches(t *testing.T) {
	n := ReadNotes(map[string]string{
		gardenerNotes:  "## 2. Two\n\n### 2.7 Deletion\n\n| id | fact |\n|---|---|\n| C30 | x |\n| P9 | y |\n",
		openshiftNotes: "### 2.4 Drain\n| C3 | z |\n",
		providerNotes:  "## 4. Provider by provider\n",
	})
	comment := func(text string) string { return "package a\n\n// " + text + "\nvar a int\n" }
	check(t, n.References, []sourceCase{
		{"x/a.go", comment("f does section 2.7 of the Gardener notes."), 0, "it is there"},
		{"x/a.go", comment("f does section 2.8 of the Gardener notes."), 1, "no such section"},
		{"x/a.go", comment("f does section 2.7 of the OpenShift notes."), 1, "it is in the other notes"},
		{"x/a.go", comment("f does sections 2.7 and 2.9 of the Gardener notes."), 1, "the second is not there"},
		{"x/gardener/a.go", comment("f does section 2.4."), 1, "the package says whose"},
		{"x/a.go", comment("f does section 2.4."), 0, "either, where nobody says whose"},
		{"x/a.go", comment("f mends C30."), 0, "a code"},
		{"x/a.go", comment("f mends C31."), 1, "no such code"},
		{"x/openshift/a.go", comment("f mends P9."), 1, "a code of the other notes"},
		{"x/a.go", comment("f mends what Gardener 2.9 says."), 1, "another spelling"},
		{"x/a.go", comment("f reads the IDs (providers.md 4)."), 0, "notes by their file"},
		{"x/a.go", comment("f shows P50 and P99, by section 3 of RFC 3339."), 0, "percentiles, and what others have written"},
	})
	if got := n.Codes("docs/a.md", "| a (C3) | b (C4) |\n| P99 |\n"); len(got) != 1 {
		t.Errorf("one code of a table is not there: %v", got)
	}
}
