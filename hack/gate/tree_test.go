package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/verify/gate"
)

// repository makes a clone with one commit.
func repository(t *testing.T, files map[string]string) tree {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	repo := tree{t.TempDir()}
	git(t, repo, "init", "--quiet")
	commit(t, repo, files)
	return repo
}

func commit(t *testing.T, repo tree, files map[string]string) {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(repo.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, repo, "add", "--all")
	git(t, repo, "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "-m", "x")
}

func git(t *testing.T, repo tree, arguments ...string) {
	t.Helper()
	if _, err := output(t.Context(), repo.dir, "git", arguments...); err != nil {
		t.Fatal(err)
	}
}

// times are those of files and folders in a slot, and what is in the files.
func times(t *testing.T, slot tree, names ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range names {
		info, err := os.Stat(filepath.Join(slot.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if time.Since(info.ModTime()) < time.Hour {
			t.Errorf("%s has the time %v: Go's cache does not trust what is new", name, info.ModTime())
		}
		out[name] = info.ModTime().String()
	}
	return out
}

// TestCheckOut: clones in different folders come to the same folder with the same times, what differs has other times, and so have the folders that it is in.
func TestCheckOut(t *testing.T) {
	files := map[string]string{"a/testdata/one": "1", "a/testdata/two": "2", "b/three": "3"}
	names := []string{"a", "a/testdata", "a/testdata/one", "a/testdata/two", "b", "b/three"}
	first, second := repository(t, files), repository(t, files)
	cache := t.TempDir()
	var slots []string
	var seen []map[string]string
	take := func(clone tree) {
		t.Helper()
		slot, release, err := checkOut(t.Context(), clone, cache)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		slots, seen = append(slots, slot.dir), append(seen, times(t, slot, names...))
		if err := slot.committed(t.Context()); err != nil {
			t.Errorf("the slot is not clean: %v", err)
		}
	}
	take(first)
	left := filepath.Join(slots[0], "untracked")
	if err := os.WriteFile(left, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	take(second)
	commit(t, second, map[string]string{"a/testdata/one": "other"})
	take(second)
	if slots[0] != slots[1] || slots[0] != slots[2] {
		t.Errorf("the folders are %q", slots)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what an earlier run left is still there")
	}
	for _, name := range names {
		if seen[0][name] != seen[1][name] {
			t.Errorf("%s has the times %s and %s in clones of the same content", name, seen[0][name], seen[1][name])
		}
		changed := strings.HasPrefix("a/testdata/one", name)
		if (seen[1][name] != seen[2][name]) != changed {
			t.Errorf("%s has the times %s and %s before and after a change of a/testdata/one", name, seen[1][name], seen[2][name])
		}
	}
}

// TestCheckOutTwice: two gates at a time work in two folders.
func TestCheckOutTwice(t *testing.T) {
	clone, cache := repository(t, map[string]string{"a": "1"}), t.TempDir()
	one, release, err := checkOut(t.Context(), clone, cache)
	if err != nil {
		t.Fatal(err)
	}
	two, releaseTwo, err := checkOut(t.Context(), clone, cache)
	if err != nil || one.dir == two.dir {
		t.Fatalf("both are in %s: %v", one.dir, err)
	}
	release()
	releaseTwo()
}

func TestCommitted(t *testing.T) {
	clone := repository(t, map[string]string{"a": "1"})
	if err := clone.committed(t.Context()); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(clone.dir, "new"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := clone.committed(t.Context()); err == nil || !strings.Contains(err.Error(), "new") {
		t.Errorf("a file that is not committed: %v", err)
	}
}

// TestNames: the packages of fuzz targets are found by their sources.
func TestNames(t *testing.T) {
	clone := repository(t, map[string]string{"a/a_test.go": "package a\n\nfunc FuzzA() {}\n", "b/b_test.go": "package b\n\nfunc TestFuzz() {}\n"})
	files, err := clone.blobs(t.Context())
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	if _, fuzzed, err := clone.names(files); err != nil || len(fuzzed) != 1 || fuzzed[0] != "a" {
		t.Errorf("%q, %v", fuzzed, err)
	}
}

// TestStore: what is noted is read again, and a failure is remembered until the part passes.
func TestStore(t *testing.T) {
	s := store{filepath.Join(t.TempDir(), "records.json")}
	v := gate.Decide([]gate.Part{{Name: "x", Target: "x", Policy: gate.Changed, Inputs: []string{"**"}}}, gate.Facts{Files: map[string]string{"a": "1"}})[0]
	for _, passed := range []bool{false, true} {
		if err := s.note(v, passed); err != nil {
			t.Fatal(err)
		}
		records, err := s.read()
		if err != nil || records["x"].Failed == passed || (records["x"].Full != "") != passed {
			t.Errorf("after %t: %v, %v", passed, records, err)
		}
	}
	if err := os.WriteFile(s.file, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.read(); err == nil || !strings.Contains(err.Error(), s.file) {
		t.Errorf("a file that is broken: %v", err)
	}
}

// TestRunAll: a part that fails is reported and ends the run, unless the run must continue.
func TestRunAll(t *testing.T) {
	slot := repository(t, map[string]string{"Makefile": "good:\n\t@true\nbad:\n\t@false\n"})
	parts := []gate.Part{{Name: "bad", Target: "bad"}, {Name: "good", Target: "good"}}
	for _, keepGoing := range []bool{false, true} {
		records := store{filepath.Join(t.TempDir(), "records.json")}
		err := runAll(context.Background(), slot, records, gate.Decide(parts, gate.Facts{}), keepGoing)
		if err == nil || !strings.Contains(err.Error(), "1 parts failed") {
			t.Errorf("the error is %v", err)
		}
		known, err := records.read()
		if err != nil || !known["bad"].Failed || (known["good"].Full != "") != keepGoing {
			t.Errorf("going on %t: %v, %v", keepGoing, known, err)
		}
	}
}

// TestLanes: a part that computes runs beside one that waits, and a line of either is printed with its name. One that runs alone comes after both.
func TestLanes(t *testing.T) {
	slot := repository(t, map[string]string{"Makefile": "" +
		"computes:\n\t@touch a; while [ ! -e b ]; do sleep 0.01; done; printf 'met\\nno end'\n" +
		"waits:\n\t@touch b; while [ ! -e a ]; do sleep 0.01; done\n" +
		"alone:\n\t@test -e a -a -e b\n"})
	parts := []gate.Part{{Name: "c", Target: "computes", Lane: gate.Computing}, {Name: "w", Target: "waits", Lane: gate.Waiting}, {Name: "last", Target: "alone"}}
	records := store{filepath.Join(t.TempDir(), "records.json")}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := runAll(ctx, slot, records, gate.Decide(parts, gate.Facts{}), false); err != nil {
		t.Error(err)
	}
	var out strings.Builder
	r := &runner{slot: slot, records: records, out: &out}
	r.part(ctx, gate.Decide(parts, gate.Facts{})[0])
	if got := out.String(); !strings.Contains(got, "c | met\nc | no end\n") {
		t.Errorf("printed %q", got)
	}
}
