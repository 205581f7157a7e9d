package cloud

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

// heldBody starts when it is released.
type heldBody struct {
	Body
	starting, release chan struct{}
}

func (b *heldBody) Prepare(Record, []byte) error { return nil }
func (b *heldBody) Alive(Record) bool            { return true }

func (b *heldBody) Start(ctx context.Context, _ *Record) error {
	b.starting <- struct{}{}
	select {
	case <-b.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestListingDoesNotWait: booted instances join concurrently, and a listing does not wait for them.
func TestListingDoesNotWait(t *testing.T) {
	const instances = 20
	body := &heldBody{starting: make(chan struct{}, instances), release: make(chan struct{})}
	c := New(NewMemory(), clock.RealClock{}, map[string]Body{"held": body})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx, 10) }()
	for n := range instances {
		name := fmt.Sprint("m", n)
		r := Record{ID: name, Cluster: "c", UID: name, Name: name, Node: name, Traits: Traits{Backend: "held", Latencies: Latencies{BootLatency: time.Millisecond}}}
		if _, err := c.Create(t.Context(), CreateRequest{Record: r, Quota: -1}); err != nil {
			t.Fatal(err)
		}
	}
	<-body.starting
	<-body.starting // concurrently with the first
	seen := 0
	for s, err := range c.List(t.Context(), "c", 10) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Body.Want == Up {
			t.Errorf("%s has started, although none may", s.Name)
		}
		seen++
	}
	if seen != instances {
		t.Errorf("a listing shows %d of %d instances", seen, instances)
	}
	close(body.release)
	for range instances - 2 {
		<-body.starting
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
