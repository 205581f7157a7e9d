package kubemarkcontroller

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

// TestRecord: the file has a line for the start of each call and a line for its result. Several processes can write
// to one file.
func TestRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "calls")
	inner, err := kubemark.New(kubemark.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // two processes
		r := record{path: file}
		p, err := r.wrap(inner, clock.RealClock{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Open(t.Context(), provider.Class{API: provider.Gardener, Cluster: "blue"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Create(t.Context(), provider.Ref{UID: "1", Name: "a"}, provider.Want{}); err == nil {
			t.Fatal("Create succeeds without a spec")
		}
		if _, err := s.Find(t.Context(), provider.Ref{UID: "1", Name: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for line := range strings.Lines(string(raw)) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.At.IsZero() || e.ID == "" || e.Cluster != "blue" || e.UID != "1" || e.Machine != "a" {
			t.Errorf("line %s lacks the time, the call or the machine", line)
		}
		said = append(said, e.What+" "+e.Verb+map[bool]string{true: " failed"}[e.Error != ""])
	}
	once := "call create, reply create failed, call find, reply find"
	if got := strings.Join(said, ", "); got != once+", "+once {
		t.Errorf("recorded %q, want %q twice", got, once)
	}
}
