package bench

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	if diff := cmp.Diff([]string{"raw-00000", "raw-00001"}, names("raw", 2)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAwaitNodes(t *testing.T) {
	log, grow := logOf(t)
	grow(line(1, "kwok/v0", "patch", "nodes/status", "a", 200))
	if err := log.read(); err != nil {
		t.Fatal(err)
	}
	s := &session{Options: Options{Timeout: 50 * time.Millisecond}, plane: &plane{audit: log}}
	grow(line(2, "kwok/v0", "patch", "nodes/status", "b", 200))
	if err := s.awaitNodes(context.Background(), []string{"b"}, 1); err != nil {
		t.Errorf("b got Ready: %v", err)
	}
	if err := s.awaitNodes(context.Background(), []string{"a", "b"}, 1); err == nil || !strings.Contains(err.Error(), "1 of 2 nodes") {
		t.Errorf("a got Ready before it was asked for: %v, want an error that counts it", err)
	}
	grow(line(3, "other/v0", "patch", "nodes/status", "a", 200) + line(4, "kwok/v0", "patch", "nodes/status", "a", 409))
	if err := s.awaitNodes(context.Background(), []string{"a"}, 2); err == nil {
		t.Error("neither another program nor a refused write makes a node Ready")
	}
}

func TestStandingIsComplete(t *testing.T) {
	complete := func(change func(*standing)) standing {
		var d standing
		d.Metadata.Generation, d.Status.ObservedGeneration = 2, 2
		d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas = 10, 10, 10
		change(&d)
		return d
	}
	cases := []struct {
		reason string
		change func(*standing)
		want   bool
	}{
		{"all of the present template and available", func(*standing) {}, true},
		{"what it says is about the spec before", func(d *standing) { d.Status.ObservedGeneration = 1 }, false},
		{"an old one is left", func(d *standing) { d.Status.Replicas = 11 }, false},
		{"not all are of the present template", func(d *standing) { d.Status.UpdatedReplicas = 9 }, false},
		{"one is not available", func(d *standing) { d.Status.AvailableReplicas = 9 }, false},
	}
	for _, c := range cases {
		if got := complete(c.change).complete(10); got != c.want {
			t.Errorf("%s: %t, want %t", c.reason, got, c.want)
		}
	}
}
