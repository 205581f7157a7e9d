package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const root = "../.."

func kindsOf(t *testing.T) []kind {
	t.Helper()
	kinds, err := readKinds(root)
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

// byHand are pages of the folder that are made elsewhere.
var byHand = []string{"flags.md"} // cmd/internal/flagspage

// TestReferenceIsCurrent holds the pages to what they are made from, and knows of no other page.
func TestReferenceIsCurrent(t *testing.T) {
	want, err := pages(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "docs", "reference")
	for name, text := range want {
		have, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(text, string(have)); diff != "" {
			t.Errorf("docs/reference/%s is not what hack/generate makes (-want +have):\n%s", name, diff)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, made := want[f.Name()]; !made && !slices.Contains(byHand, f.Name()) {
			t.Errorf("docs/reference/%s is made of nothing", f.Name())
		}
	}
}

// TestEveryFieldHasAMeaning: and what is said is said of a field that there is.
func TestEveryFieldHasAMeaning(t *testing.T) {
	used := map[string]bool{}
	for _, k := range kindsOf(t) {
		used[k.key("")] = true
		if k.summary() == "" {
			t.Errorf("nothing is said of %s", k.page())
		}
		for _, f := range k.fields() {
			used[k.key(f.path)] = true
			if f.meaning == "" {
				t.Errorf("nothing is said of %s", k.key(f.path))
			}
		}
	}
	for key := range words {
		if !used[key] {
			t.Errorf("words are about %s, which is not there", key)
		}
	}
}

// TestEveryFormIsDescribed: each is found in a kind, and what is said of it is about fields that it has.
func TestEveryFormIsDescribed(t *testing.T) {
	for name, s := range shapes {
		if s.says == nil {
			if _, err := os.Stat(filepath.Join(root, "docs", "reference", s.place)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		all := map[string]bool{}
		for _, f := range s.fields(kindsOf(t)) {
			all[f.path] = true
			if f.meaning == "" {
				t.Errorf("%s: nothing is said of %s", name, f.path)
			}
		}
		for path := range s.says {
			if !all[path] {
				t.Errorf("%s has no %s", name, path)
			}
		}
	}
}

// TestNoWordsOfOthers: descriptions of copied CRDs are on no page.
func TestNoWordsOfOthers(t *testing.T) {
	all, err := pages(root)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(slices.Collect(maps.Values(all)), "\n")
	n := 0
	for _, k := range kindsOf(t) {
		if !k.copied {
			continue
		}
		for _, d := range descriptions(k) {
			if n++; strings.Contains(text, cell(d)) {
				t.Errorf("%s: its words are repeated: %s", k.page(), d)
			}
		}
	}
	if n < 50 {
		t.Fatalf("found %d descriptions, which cannot be all", n)
	}
	for _, phrase := range []string{"git.k8s.io", "kubernetes.io/docs", "This field is required", "Required. ", "More info"} {
		if strings.Contains(text, phrase) {
			t.Errorf("words of Kubernetes are repeated: %s", phrase)
		}
	}
}

// TestRightsAreThoseOfTheRoles: the lists that the page is made from grant what the roles grant, and nothing else.
func TestRightsAreThoseOfTheRoles(t *testing.T) {
	for _, p := range programs() {
		listed, err := p.reasons(root)
		if err != nil {
			t.Fatal(err)
		}
		said := map[string]bool{}
		for _, r := range listed {
			if r.text == "" {
				t.Errorf("%s: no comment says why it needs %v", p.dir, r.rights)
			}
			for _, one := range r.rights {
				maps.Copy(said, verbsOf(one))
			}
		}
		files, err := filepath.Glob(filepath.Join(root, "config", "rbac", p.dir, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("there are no files: %v", err)
		}
		granted := map[string]bool{}
		for _, file := range files {
			rights, _, err := rolesOf(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range rights {
				maps.Copy(granted, verbsOf(one))
			}
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(granted)), slices.Sorted(maps.Keys(said))); diff != "" || len(said) == 0 {
			t.Errorf("%s (-granted +said):\n%s", p.dir, diff)
		}
	}
}

// verbsOf are the single grants of a right.
func verbsOf(r right) map[string]bool {
	out := map[string]bool{}
	for verb := range strings.SplitSeq(r.verbs, ", ") {
		for name := range strings.SplitSeq(r.names, ", ") {
			out[strings.Join([]string{r.where, r.resource, name, verb}, " ")] = true
		}
	}
	return out
}

// TestEveryProgramHasRights: no folder of config/rbac is left out.
func TestEveryProgramHasRights(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(root, "config", "rbac", "*", "role.yaml"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("there are no files: %v", err)
	}
	for _, f := range folders {
		dir := filepath.Base(filepath.Dir(f))
		if !slices.ContainsFunc(programs(), func(p program) bool { return p.dir == dir }) {
			t.Errorf("config/rbac/%s has no place on the page", dir)
		}
	}
	if len(folders) != len(programs()) {
		t.Errorf("%d folders have roles, and the page is of %d", len(folders), len(programs()))
	}
}

// TestRule: a rule of several groups and resources is one right for each.
func TestRule(t *testing.T) {
	got := rule("kube-system", rbacv1.PolicyRule{
		APIGroups: []string{"", "apps"}, Resources: []string{"nodes/status", "pods"}, ResourceNames: []string{"a"}, Verbs: []string{"patch", "get"},
	})
	want := []right{
		{"kube-system", "nodes/status", "`a`", "get, patch"},
		{"kube-system", "pods", "`a`", "get, patch"},
		{"kube-system", "nodes.apps/status", "`a`", "get, patch"},
		{"kube-system", "pods.apps", "`a`", "get, patch"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(right{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSentence: what is said of a Go field becomes what is said of a field of YAML.
func TestSentence(t *testing.T) {
	for _, c := range []struct{ reason, description, field, want string }{
		{"the name of the field", "Replicas is how many\nthere are.", "replicas", "how many there are."},
		{"a longer name of Go", "MachineDrainTimeout is how long.", "drainTimeout", "how long."},
		{"another word", "Labels of this are mirrored.", "metadata", "Labels of this are mirrored."},
		{"another verb", "Paused keeps changes.", "paused", "keeps changes."},
		{"what would end a cell", "A is x|y.", "b", `A is x\|y.`},
	} {
		if got := sentence(c.description, c.field); got != c.want {
			t.Errorf("%s: %s, want %s", c.reason, got, c.want)
		}
	}
}

// descriptions are those of a kind's schema that are more than a few words.
func descriptions(k kind) (out []string) {
	var look func(apiext.JSONSchemaProps)
	look = func(p apiext.JSONSchemaProps) {
		if len(p.Description) > 40 {
			out = append(out, p.Description)
		}
		for _, inner := range p.Properties {
			next, item := innerOf(inner)
			if item != "" && len(inner.Description) > 40 {
				out = append(out, inner.Description)
			}
			look(next)
		}
	}
	look(k.schema())
	return out
}

// TestTogether: what differs in anything but the resource stays apart.
func TestTogether(t *testing.T) {
	got := together([]right{{"a", "x", "", "get"}, {"a", "y", "", "get"}, {"a", "z", "", "list"}, {"b", "z", "", "list"}, {"b", "z", "`n`", "list"}})
	want := []right{{"a", "`x`, `y`", "", "get"}, {"a", "`z`", "", "list"}, {"b", "`z`", "", "list"}, {"b", "`z`", "`n`", "list"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(right{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
