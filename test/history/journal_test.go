package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/verify/checker"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

// TestJournal: the log records the start of an instance, the time of the request to terminate it, and its end, as the provider
// stores them.
func TestJournal(t *testing.T) {
	cloud, path := t.TempDir(), filepath.Join(t.TempDir(), "cloud.jsonl")
	j, err := newJournal(path, cloud)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- j.watch(ctx) }()

	p, err := kubemark.New(kubemark.Config{Dir: cloud, Backend: kubemark.Memory})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.Run(ctx) }()
	s, err := p.Open(ctx, provider.Class{API: provider.Gardener, Cluster: "blue", Spec: []byte(`{"deleteLatency":"300ms"}`)})
	if err != nil {
		t.Fatal(err)
	}
	of := provider.Ref{UID: "uid", Name: "m"}
	if _, err := s.Create(ctx, of, provider.Want{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the instance is seen", func() bool { return len(j.instances()["uid"]) == 1 })
	if left, err := j.leftovers(); err != nil || left == "" {
		t.Errorf("leftovers are %q (%v), want the disk and the network interface", left, err)
	}
	asked := time.Now()
	if _, err := s.Delete(ctx, of, nil); err != nil {
		t.Fatal(err)
	}
	await(t, "the instance has ended", func() bool { return len(j.instances()) == 0 })
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}

	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	entries, err := checker.ParseCloud(file)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, e := range entries {
		said = append(said, e.What)
		if e.UID != "uid" || e.Machine != "m" || e.Cluster != "blue" || e.Instance == "" {
			t.Errorf("%+v does not say whose it is", e)
		}
	}
	if len(said) != 3 || said[0] != checker.Made || said[1] != checker.Ending || said[2] != checker.Gone {
		t.Fatalf("the log says %v, want made, ending, gone", said)
	}
	if took := entries[2].At.Sub(entries[1].At); entries[1].At.Before(asked) || took < 300*time.Millisecond {
		t.Errorf("it ended %s after it was asked to at %s, want the 300 ms of its class after %s", took, entries[1].At, asked)
	}
}

func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for range 500 {
		if so() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("not so: " + what)
}
