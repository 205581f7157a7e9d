package modules

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// root is the repository, seen from here.
const root = "../../.."

// TestRepository: the Go modules of this repository agree on what they share, and no exception is left over.
func TestRepository(t *testing.T) {
	all, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 || all[0].Dir != "." {
		t.Fatalf("read %d go.mod files, the first in %s: that is not the whole repository", len(all), all[0].Dir)
	}
	list, err := Exceptions()
	if err != nil {
		t.Fatal(err)
	}
	for _, disagreement := range Disagreements(all, list) {
		t.Errorf("%s\n\tgo run ./hack/bump raises what is behind; a reason to differ has its line in internal/verify/modules/apart.txt", disagreement)
	}
	for _, exception := range Unused(all, list) {
		t.Errorf("apart.txt: nothing needs the line of %s %s any more", exception.Dir, exception.Prefix)
	}
}

func TestParse(t *testing.T) {
	module := Parse("dev", `module example.com/dev // the box

go 1.26.0

require example.com/one v1.2.3

require (
	example.com/two v0.1.0 // indirect
	example.com/three/v2 v2.0.0 // pinned
)

replace example.com/two => ../two

replace (
	example.com/one v1.2.3 => example.com/one v1.2.2
)

tool example.com/one/cmd/x
`)
	for what, c := range map[string]struct{ got, want any }{
		"the path":                            {module.Path, "example.com/dev"},
		"a line of its own":                   {module.Requires["example.com/one"], Requirement{Version: "v1.2.3"}},
		"an indirect requirement in a block":  {module.Requires["example.com/two"], Requirement{Version: "v0.1.0", Indirect: true}},
		"another comment":                     {module.Requires["example.com/three/v2"], Requirement{Version: "v2.0.0"}},
		"all requirements":                    {len(module.Requires), 3},
		"the version of what a folder has":    {module.Version("example.com/two"), ""},
		"the version that another stands for": {module.Version("example.com/one"), "v1.2.2"},
		"the version of what nobody replaces": {module.Version("example.com/three/v2"), "v2.0.0"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", what, c.got, c.want)
		}
	}
}

func TestLoad(t *testing.T) {
	all, err := Load(fstest.MapFS{
		"go.mod":                &fstest.MapFile{Data: []byte("module a\n")},
		"b/c/go.mod":            &fstest.MapFile{Data: []byte("module a/b/c\n")},
		"b/testdata/x/go.mod":   &fstest.MapFile{Data: []byte("module no\n")},
		".cache/x/go.mod":       &fstest.MapFile{Data: []byte("module no\n")},
		"b/go.mod/readme":       &fstest.MapFile{},
		"a/b/other/go.mod.tmpl": &fstest.MapFile{},
	})
	if err != nil || len(all) != 2 || all[0].Dir != "." || all[1].Dir != "b/c" {
		t.Errorf("got %v, %v", all, err)
	}
}

// of makes modules from lines of a folder and its requirements.
func of(lines ...string) (all []Module) {
	for _, line := range lines {
		dir, requirements, _ := strings.Cut(line, ": ")
		all = append(all, Parse(dir, strings.ReplaceAll(requirements, "; ", "\n")))
	}
	return all
}

func TestDisagreements(t *testing.T) {
	for _, c := range []struct {
		name    string
		modules []Module
		apart   []Apart
		want    string
	}{
		{
			"one version everywhere",
			of("a: require k8s.io/api v0.37.2", "b: require k8s.io/api v0.37.2"), nil, "",
		},
		{
			"two versions are named with their folders, the lower first",
			of("a: require k8s.io/api v0.37.10", "b: require k8s.io/api v0.37.2", "c: require k8s.io/api v0.37.10"), nil,
			"k8s.io/api: v0.37.2 in b; v0.37.10 in a, c",
		},
		{
			"what Kubernetes has is looked at although all need it indirectly",
			of("a: require sigs.k8s.io/json v0.1.0 // indirect", "b: require sigs.k8s.io/json v0.2.0 // indirect"), nil,
			"sigs.k8s.io/json: v0.1.0 in a; v0.2.0 in b",
		},
		{
			"what others have is looked at where one folder names it",
			of("a: require example.com/x v1.0.0", "b: require example.com/x v1.1.0 // indirect"), nil,
			"example.com/x: v1.0.0 in a; v1.1.0 in b",
		},
		{
			"and is the choice of Go otherwise",
			of("a: require example.com/x v1.0.0 // indirect", "b: require example.com/x v1.1.0 // indirect"), nil, "",
		},
		{
			"a replacement by a version counts as that version",
			of("a: require k8s.io/api v0.36.0; replace k8s.io/api => k8s.io/api v0.37.2", "b: require k8s.io/api v0.37.2"), nil, "",
		},
		{
			"a replacement by a folder has no version",
			of("a: require k8s.io/api v0.0.0; replace k8s.io/api => ../api", "b: require k8s.io/api v0.37.2"), nil, "",
		},
		{
			"a folder with a reason may differ",
			of("a: require k8s.io/api v0.36.0", "b: require k8s.io/api v0.37.2"),
			[]Apart{{"a", "k8s.io/", "because"}},
			"",
		},
		{
			"in what the reason covers only",
			of("a: require k8s.io/api v0.36.0", "b: require k8s.io/api v0.37.2"),
			[]Apart{{"a", "sigs.k8s.io/", "because"}},
			"k8s.io/api: v0.36.0 in a; v0.37.2 in b",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, disagreement := range Disagreements(c.modules, c.apart) {
				got = append(got, disagreement.String())
			}
			if strings.Join(got, "\n") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestUnused(t *testing.T) {
	all := of("a: require k8s.io/api v0.36.0", "b: require k8s.io/api v0.37.2", "c: require k8s.io/api v0.37.2")
	unused := Unused(all, []Apart{{"a", "*", "needed"}, {"c", "*", "left over"}})
	if len(unused) != 1 || unused[0].Dir != "c" {
		t.Errorf("got %v", unused)
	}
}

func TestParseApart(t *testing.T) {
	list, err := ParseApart("# why\n\ndev k8s.io/ is another version\n")
	if err != nil || len(list) != 1 || list[0] != (Apart{"dev", "k8s.io/", "is another version"}) {
		t.Errorf("got %v, %v", list, err)
	}
	if _, err := ParseApart("dev k8s.io/"); err == nil {
		t.Error("a line without a reason is accepted")
	}
}

func TestBump(t *testing.T) {
	all := of(
		"a: require k8s.io/api v0.36.3; require k8s.io/klog/v2 v2.140.0; require k8s.io/utils v0.0.0-20260210185600-b8788abfbbc2",
		"b: require k8s.io/api v0.37.2; require k8s.io/kubernetes v1.36.3",
		"c: require k8s.io/api v0.36.0; replace k8s.io/api => k8s.io/api v0.36.3",
		"d: require k8s.io/api v0.32.0",
	)
	apart := []Apart{{"d", "*", "another's"}}
	for _, c := range []struct {
		name, wish string
		only       []string
		want       []string
	}{
		{"one module, wherever it is behind", "k8s.io/api@v0.37.2", nil, []string{"a -require=k8s.io/api@v0.37.2", "c -replace=k8s.io/api=k8s.io/api@v0.37.2"}},
		{"a family is what has releases of that major version", "k8s.io/*@v0.37.2", nil, []string{"a -require=k8s.io/api@v0.37.2", "c -replace=k8s.io/api=k8s.io/api@v0.37.2"}},
		{"a module may go back", "k8s.io/api@v0.36.3", nil, []string{"b -require=k8s.io/api@v0.36.3"}},
		{"a folder that may differ is changed where it is named", "k8s.io/api@v0.33.0", []string{"d"}, []string{"d -require=k8s.io/api@v0.33.0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wish, err := ParseWish(c.wish)
			if err != nil {
				t.Fatal(err)
			}
			changes, err := Bump(all, apart, []Wish{wish}, c.only)
			if err != nil {
				t.Fatal(err)
			}
			if got := flags(changes); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if _, err := Bump(all, apart, []Wish{{"k8s.io/apy", "v0.37.2"}}, nil); err == nil || !strings.Contains(err.Error(), "k8s.io/apy") {
		t.Errorf("a module that no folder requires: %v", err)
	}
	for _, bad := range []string{"k8s.io/api", "k8s.io/api@latest", "@v1.0.0", "k8s.io/api@v1"} {
		if _, err := ParseWish(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func flags(changes []Change) (list []string) {
	for _, change := range changes {
		list = append(list, fmt.Sprint(change.Dir, " ", change.Flag()))
	}
	return list
}

func TestAlign(t *testing.T) {
	all := of("a: require k8s.io/api v0.37.2; require k8s.io/utils v0.0.0-20260210185600-b8788abfbbc2", "b: require k8s.io/api v0.36.3; require k8s.io/utils v0.0.0-20260626114624-be93311217bd", "c: require k8s.io/api v0.30.0")
	got := flags(Align(all, []Apart{{"c", "*", "another's"}}))
	if want := []string{"b -require=k8s.io/api@v0.37.2", "a -require=k8s.io/utils@v0.0.0-20260626114624-be93311217bd"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCompare(t *testing.T) {
	ordered := []string{
		"", "v0.0.0", "v0.0.1-20260101000000-abcdef123456", "v0.0.1-20260201000000-abcdef123456", "v0.9.0", "v0.10.0", "v1.0.0-alpha", "v1.0.0-alpha.1", "v1.0.0-alpha.beta",
		"v1.0.0-beta.2", "v1.0.0-beta.11", "v1.0.0-rc.1", "v1.0.0", "v2.0.0+incompatible",
	}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := Compare(a, b); got != sign(i-j) {
				t.Errorf("Compare(%q, %q) is %d, want %d", a, b, got, sign(i-j))
			}
		}
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}
