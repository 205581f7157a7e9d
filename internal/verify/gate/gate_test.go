package gate

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	passed  = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	earlier = passed.Add(-time.Hour)
)

// world is what the cases change: files of a core and of three clouds.
func world() Facts {
	return Facts{
		Files:     map[string]string{"core.go": "1", "docs/a.md": "1", "a/x": "1", "b/x": "1", "c/x": "1"},
		Toolchain: "go1.26",
		Records:   map[string]Record{},
		Missing:   func(string) bool { return false },
	}
}

var (
	always  = Part{Name: "always", Target: "test-a", Variable: "FRESH", Members: []Member{{"a", []string{"a/"}}, {"b", []string{"b/"}}}}
	changed = Part{Name: "changed", Target: "test-c", Policy: Changed, Inputs: []string{"**", "!docs/"}, Leaves: []string{"bin/left"}}
	turns   = Part{
		Name: "turns", Target: "test-t", Policy: Turns, Inputs: []string{"core.go"}, Variable: "PLAYED",
		Members: []Member{{"a", []string{"a/"}}, {"b", []string{"b/"}}, {"c", []string{"c/"}}},
	}
)

// after is the world after all parts have passed, some members of those that take turns earlier than others.
func after(parts ...Part) Facts {
	facts := world()
	facts.All = true
	for _, v := range Decide(parts, facts) {
		facts.Records = Passed(facts.Records, v, passed)
	}
	facts.All = false
	return facts
}

func TestAlways(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Facts)
		fresh  []string
	}{
		{"nothing has changed: Go's cache decides", func(*Facts) {}, nil},
		{"a member's own files have: its results are not taken from the cache", func(f *Facts) { f.Files["b/x"] = "2" }, []string{"b"}},
		{"the core has: Go's cache sees that", func(f *Facts) { f.Files["core.go"] = "2" }, nil},
		{"nothing is known", func(f *Facts) { f.Records = nil }, []string{"a", "b"}},
		{"all is asked for", func(f *Facts) { f.All = true }, []string{"a", "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts := after(always)
			c.change(&facts)
			v := Decide([]Part{always}, facts)[0]
			if !v.Run || !slices.Equal(v.Members, c.fresh) {
				t.Errorf("runs %t with %q, want %q", v.Run, v.Members, c.fresh)
			}
		})
	}
}

func TestChanged(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Facts)
		runs   bool
		reason string
	}{
		{"nothing has changed", func(*Facts) {}, false, "unchanged since it passed on 2026-01-02 03:04"},
		{"what is no input has", func(f *Facts) { f.Files["docs/a.md"] = "2" }, false, "unchanged since it passed on 2026-01-02 03:04"},
		{"an input has", func(f *Facts) { f.Files["core.go"] = "2" }, true, "its inputs have changed"},
		{"a file is new", func(f *Facts) { f.Files["new"] = "1" }, true, "its inputs have changed"},
		{"a file is no longer there", func(f *Facts) { delete(f.Files, "a/x") }, true, "its inputs have changed"},
		{"another toolchain", func(f *Facts) { f.Toolchain = "go1.27" }, true, "its inputs have changed"},
		{"nothing is known", func(f *Facts) { f.Records = nil }, true, "it has not passed on this machine"},
		{"it failed since", func(f *Facts) { f.Records = Failed(f.Records, Verdict{Part: changed}) }, true, "it failed the last time"},
		{"what it leaves is not there", func(f *Facts) { f.Missing = func(dir string) bool { return dir == "bin/left" } }, true, "what it leaves for others is not there"},
		{"all is asked for", func(f *Facts) { f.All = true }, true, "all was asked for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts := after(changed)
			c.change(&facts)
			v := Decide([]Part{changed}, facts)[0]
			if v.Run != c.runs || v.Reason != c.reason {
				t.Errorf("runs %t: %q, want %t: %q", v.Run, v.Reason, c.runs, c.reason)
			}
		})
	}
	if other := (Part{Name: "changed", Target: "test-d", Policy: Changed, Inputs: changed.Inputs}); !Decide([]Part{other}, after(changed))[0].Run {
		t.Error("another command has not passed")
	}
}

// TestGroups: what runs alone runs by itself, also where it failed and comes first, and what is in a lane runs beside its neighbours.
func TestGroups(t *testing.T) {
	var verdicts []Verdict
	for _, p := range []struct {
		name string
		lane Lane
	}{{"held", Alone}, {"core", Alone}, {"lint", Computing}, {"box", Waiting}, {"sim", Computing}, {"clean", Alone}, {"rights", Waiting}} {
		verdicts = append(verdicts, Verdict{Part: Part{Name: p.name, Lane: p.lane}})
	}
	var got []string
	for _, group := range Groups(verdicts) {
		var names []string
		for _, v := range group {
			names = append(names, v.Part.Name)
		}
		got = append(got, strings.Join(names, " "))
	}
	if want := []string{"held", "core", "lint box sim", "clean", "rights"}; !slices.Equal(got, want) {
		t.Errorf("groups %q, want %q", got, want)
	}
}

func TestTurns(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*Facts)
		members []string
		reason  string
	}{
		{"nothing has changed", func(*Facts) {}, nil, "unchanged since all members passed"},
		{"one's own files have: it alone, as the others passed with the same", func(f *Facts) { f.Files["b/x"] = "2" }, []string{"b"}, "1 of 3: 1 changed"},
		{"what all share has: the one that passed the longest time ago", func(f *Facts) { f.Files["core.go"] = "2"; f.passedAt("turns/c", earlier) }, []string{"c"}, "1 of 3: 1 in turn"},
		{"both have: that one, and another in turn", func(f *Facts) {
			f.Files["core.go"], f.Files["b/x"] = "2", "2"
			f.passedAt("turns/a", earlier)
		}, []string{"b", "a"}, "2 of 3: 1 changed, 1 in turn"},
		{"one failed the last time", func(f *Facts) { f.Records = Failed(f.Records, Verdict{Part: turns, Members: []string{"c"}}) }, []string{"c"}, "1 of 3: 1 failed the last time"},
		{"a new machine, and the last commit changed one", func(f *Facts) {
			f.Records, f.Changed = nil, []string{"a/x", "core.go"}
		}, []string{"a", "b"}, "2 of 3: 1 changed, 1 in turn"},
		{"all is asked for", func(f *Facts) { f.All = true }, []string{"a", "b", "c"}, "3 of 3: 3 asked for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts := after(turns)
			c.change(&facts)
			v := Decide([]Part{turns}, facts)[0]
			if !slices.Equal(v.Members, c.members) || v.Reason != c.reason || v.Run != (len(c.members) > 0) {
				t.Errorf("%q: %q, want %q: %q", v.Members, v.Reason, c.members, c.reason)
			}
		})
	}
}

func (f *Facts) passedAt(name string, at time.Time) {
	record := f.Records[name]
	record.Passed = at
	f.Records[name] = record
}

// TestTurnsComeToAll: after a change of what members share, each run takes another, and then nothing is left.
func TestTurnsComeToAll(t *testing.T) {
	facts := after(turns)
	facts.Files["core.go"] = "2"
	var seen []string
	for n := range 4 {
		v := Decide([]Part{turns}, facts)[0]
		seen = append(seen, v.Members...)
		facts.Records = Passed(facts.Records, v, passed.Add(time.Duration(n+1)*time.Minute))
	}
	slices.Sort(seen)
	if !slices.Equal(seen, []string{"a", "b", "c"}) {
		t.Errorf("ran %q", seen)
	}
}

// TestFailedComesFirst, and once it has passed, in its own place.
func TestFailedComesFirst(t *testing.T) {
	parts := []Part{always, changed, turns}
	facts := after(parts...)
	facts.Records = Failed(facts.Records, Decide(parts, facts)[1])
	verdicts := Decide(parts, facts)
	if verdicts[0].Part.Name != "changed" || verdicts[1].Part.Name != "always" || verdicts[2].Part.Name != "turns" {
		t.Errorf("%s is first", verdicts[0].Part.Name)
	}
	facts.Records = Passed(facts.Records, verdicts[0], passed)
	if first := Decide(parts, facts)[0].Part.Name; first != "always" {
		t.Errorf("%s is first", first)
	}
}

func TestArguments(t *testing.T) {
	facts := world()
	facts.Records = nil
	for part, want := range map[string]string{"always": "test-a FRESH=a b", "changed": "test-c"} {
		for _, v := range Decide([]Part{always, changed}, facts) {
			if got := strings.Join(v.Arguments(), " "); v.Part.Name == part && got != want {
				t.Errorf("make %s, want %s", got, want)
			}
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		patterns string
		file     string
		want     bool
	}{
		{"**", "a/b.go", true},
		{"a/", "a/b.go", true},
		{"a/", "ab/c.go", false},
		{"*.md", "docs/x.md", true},
		{"*.md", "docs/x.mdx", false},
		{"go.mod", "go.mod", true},
		{"go.mod", "dev/go.mod", false},
		{"** !docs/", "docs/x.md", false},
		{"** !docs/ docs/x.md", "docs/x.md", true},
		{"** !docs/ docs/x.md", "docs/y.md", false},
		{"", "a", false},
	} {
		if got := Matches(strings.Fields(c.patterns), c.file); got != c.want {
			t.Errorf("%q matches %s: %t", c.patterns, c.file, got)
		}
	}
}

// tracked are the files of this repository, and its root.
func tracked(t *testing.T) (root string, files []string) {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("git", "ls-files")
	c.Dir = root
	out, err := c.Output()
	if err != nil {
		t.Skipf("this is not a git checkout: %v", err)
	}
	return root, strings.Fields(string(out))
}

// TestPartsOfTheRepository: the targets are there, patterns match something, and folders that parts are about are inputs of theirs.
func TestPartsOfTheRepository(t *testing.T) {
	root, files := tracked(t)
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range Parts(files, []string{"provider"}) {
		if !strings.Contains(string(makefile), "\n"+part.Target+":") {
			t.Errorf("%s: make has no target %s", part.Name, part.Target)
		}
		if part.Variable != "" && !strings.Contains(string(makefile), "$("+part.Variable+")") {
			t.Errorf("%s: make has no variable %s", part.Name, part.Variable)
		}
		lists := map[string][]string{part.Name: part.Inputs}
		for _, member := range part.Members {
			lists[part.Name+"/"+member.Name] = member.Own
		}
		for name, patterns := range lists {
			for _, pattern := range patterns {
				if !slices.ContainsFunc(files, func(file string) bool { return Matches([]string{strings.TrimPrefix(pattern, "!")}, file) }) {
					t.Errorf("%s: no file matches %q", name, pattern)
				}
			}
		}
	}
}

// TestInputs: what must make a part run does, and what cannot change its result does not.
func TestInputs(t *testing.T) {
	_, files := tracked(t)
	parts := map[string]Part{}
	for _, part := range Parts(files, nil) {
		parts[part.Name] = part
	}
	for _, c := range []struct {
		file string
		in   string // names of parts that have it as an input
	}{
		{"internal/engine/drain/decide.go", "lint lint-clouds mod-tidy rights chart release quickstart rehearsal install fuzz prose"},
		{"internal/engine/drain/decide_test.go", "lint fuzz prose"},
		{"docs/faq.md", "prose docs"},
		{"docs/uninstall.md", "install prose docs"},
		{"docs/quickstart.md", "quickstart prose docs"},
		{"hack/quickstart", "quickstart"},
		{"docs/metrics.md", "rights alerts prose docs"},
		{"config/rbac/machine-controller/role.yaml", "rights chart release quickstart alerts rehearsal install"},
		{"charts/millwright/values.yaml", "rights chart release quickstart rehearsal install"},
		{"test/e2e/why_test.go", "lint rights prose"},
		{"test/install/ways_test.go", "lint install prose"},
		{"internal/operator/start/box_test.go", "lint rights prose"},
		{"dev/hollow/fakes.go", "rights chart release quickstart rehearsal install prose"},
		{"dev/clouds/kwok/kwok.go", "rehearsal prose"},
		{"dev/clouds/ec2/double.go", "prose"},
		{"providers/aws/cloud/provider.go", "prose"},
		{".golangci.yml", "lint lint-clouds"},
		{"Makefile", "lint lint-clouds mod-tidy rights chart release quickstart rehearsal install"},
		{"something/new.go", "lint lint-clouds mod-tidy rights chart release quickstart rehearsal install prose"},
	} {
		var got []string
		for name, part := range parts {
			if part.Policy != Always && Matches(part.Inputs, c.file) {
				got = append(got, name)
			}
		}
		want := strings.Fields(c.in)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s is an input of %q, want %q", c.file, got, want)
		}
	}
}

// TestClouds: each cloud's own files make it come, and each Go module that is tested as a cloud is a member.
func TestClouds(t *testing.T) {
	_, files := tracked(t)
	own := map[string][]string{}
	for _, part := range Parts(files, nil) {
		for _, member := range part.Members {
			own[part.Name+"/"+member.Name] = member.Own
		}
	}
	for file, want := range map[string]string{
		"providers/aws/cloud/provider.go":        "clouds/providers/aws/cloud lint-clouds/providers/aws/cloud mod-tidy/providers/aws/cloud rehearsal/aws",
		"docs/providers/aws-policy.json":         "clouds/providers/alicloud/cloud clouds/providers/aws/cloud clouds/providers/azure/cloud clouds/providers/gcp/cloud clouds/providers/ibmcloud/cloud clouds/providers/kubevirt/cloud clouds/providers/libvirt/cloud clouds/providers/metal3/cloud clouds/providers/nutanix/cloud clouds/providers/openstack/cloud clouds/providers/vsphere/cloud clouds/providers/yandex/cloud",
		"dev/clouds/metal3/host/host.go":         "clouds/adapters/gardener clouds/adapters/gardener/test/local clouds/adapters/gardener/test/older clouds/adapters/openshift clouds/dev/clouds clouds/dev/clouds/metal3 lint-clouds/dev/clouds/metal3 mod-tidy/dev/clouds/metal3 rehearsal/metal3",
		"cmd/machine-controller-manager/main.go": "clouds/adapters/gardener clouds/adapters/gardener/test/local clouds/adapters/gardener/test/older clouds/adapters/openshift",
	} {
		var got []string
		for _, name := range slices.Sorted(maps.Keys(own)) {
			if Matches(own[name], file) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s makes come\n%s\nwant\n%s", file, strings.Join(got, " "), want)
		}
	}
}
