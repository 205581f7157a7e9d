package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/verify/checker"
)

const (
	termSignal = syscall.SIGTERM
	contSignal = syscall.SIGCONT
)

// nemesis is one kind of fault. It lasts until ctx is done or its own end, and then restores the former state of the world.
type nemesis func(ctx context.Context, w *world, r *rand.Rand) error

var troubles = map[string]nemesis{
	comesKill:     kill,
	comesStop:     stop,
	comesPause:    pause,
	comesBusy:     weathers(weather{refuse: 0.5, code: 429, retryAfter: 1}),
	comesBroken:   weathers(weather{refuse: 0.4, code: 500}),
	comesHang:     hang,
	comesLose:     weathers(weather{lose: 0.3}),
	comesCut:      cut,
	comesSilence:  silence,
	comesDenied:   denied,
	comesExchange: exchange,
	comesRestore:  restore,
}

// resources are the resources whose watches the controllers need.
var resources = []string{"machines", "machinesets", "machinedeployments", "nodes", "pods"}

// wait waits, and returns false if the time is over.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func millis(r *rand.Rand, least, most int64) time.Duration {
	return time.Duration(least+r.Int64N(most-least)) * time.Millisecond
}

// anyone chooses a seat.
func (w *world) anyone(r *rand.Rand) *seat {
	return w.seats[programs[r.IntN(len(programs))]][r.IntN(2)]
}

// kill kills processes at random times, sometimes both processes of a program.
func kill(ctx context.Context, w *world, r *rand.Rand) error {
	for wait(ctx, millis(r, 200, 2500)) {
		s := w.anyone(r)
		victims := []*seat{s}
		if r.IntN(3) == 0 {
			victims = w.seats[s.program]
		}
		for _, s := range victims {
			w.count("kills")
			version := s.version
			if err := s.end(syscall.SIGKILL); err != nil {
				return err
			}
			if err := s.start(version); err != nil {
				return err
			}
		}
	}
	return nil
}

// stop stops one process of a program for longer than its lease, and then the other one. The former leader continues, and finds
// that the other process leads.
func stop(_ context.Context, w *world, r *rand.Rand) error {
	both := w.seats[programs[r.IntN(len(programs))]]
	for _, s := range both {
		w.count("stops")
		if err := s.signal(syscall.SIGSTOP); err != nil {
			return err
		}
		time.Sleep(leaseTime + 3*time.Second)
		if err := s.signal(contSignal); err != nil {
			return err
		}
		time.Sleep(millis(r, 100, 1500))
	}
	return nil
}

// pause stops the API server for a while.
func pause(ctx context.Context, w *world, r *rand.Rand) error {
	server, ok := w.fleet.Plane.Component(devplane.APIServer)
	if !ok {
		return fmt.Errorf("the box has no API server")
	}
	for wait(ctx, millis(r, 300, 1500)) {
		if err := server.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		time.Sleep(millis(r, 1000, 7000))
		if err := server.Signal(contSignal); err != nil {
			return err
		}
	}
	return nil
}

// weathers sets the same weather for both controllers.
func weathers(change weather) nemesis {
	return func(ctx context.Context, w *world, _ *rand.Rand) error {
		w.each(change)
		<-ctx.Done()
		w.each(weather{})
		return nil
	}
}

// hang delays requests of one program.
func hang(ctx context.Context, w *world, r *rand.Rand) error {
	for wait(ctx, millis(r, 300, 1500)) {
		p := w.proxies[programs[r.IntN(len(programs))]]
		p.set(weather{hang: true})
		wait(ctx, millis(r, 500, 8000))
		p.set(weather{})
	}
	return nil
}

// cut repeatedly cuts the watches of one resource, or of all.
func cut(ctx context.Context, w *world, r *rand.Rand) error {
	for wait(ctx, millis(r, 100, 600)) {
		what := append([]string{"*"}, resources...)[r.IntN(len(resources)+1)]
		for _, p := range w.proxies {
			p.cut(what)
		}
	}
	return nil
}

// silence stops the events of the watches of one resource, while all others continue.
func silence(ctx context.Context, w *world, r *rand.Rand) error {
	for wait(ctx, millis(r, 100, 500)) {
		w.each(weather{silent: resources[r.IntN(len(resources))]})
		wait(ctx, millis(r, 1500, 6000))
		w.each(weather{})
	}
	return nil
}

// denied changes the password of the infrastructure, and gives it to the controllers some time later.
func denied(ctx context.Context, w *world, r *rand.Rand) error {
	file := filepath.Join(fleet.CloudDir(w.fleet.Dir), "password")
	for wait(ctx, millis(r, 200, 1000)) {
		password := fmt.Sprint("changed-", r.Uint64())
		if err := os.WriteFile(file, []byte(password), 0o600); err != nil {
			return err
		}
		wait(ctx, millis(r, 1000, 4000))
		for _, namespace := range []string{fleet.OpenShiftNamespace, fleet.GardenerNamespace} {
			secret := refTo(schema.GroupVersion{Version: "v1"}, "Secret", namespace, fleet.UserDataSecret)
			if err := w.patch(w.ctx, secret, `{"stringData":{"password":%q}}`, password); err != nil {
				return err
			}
		}
	}
	return nil
}

// exchange starts the binaries of the previous commit as standbys under the same leases. They take over, and are taken over
// from: first in a quiet fleet, then during changes by users.
func exchange(_ context.Context, w *world, r *rand.Rand) error {
	began := time.Now()
	if err := w.downAndUp(r); err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	w.log.mark(checker.Event{Mark: checker.Exchanged, From: began, Until: time.Now()})
	w.begin()
	return w.downAndUp(r)
}

// downAndUp replaces the present binaries with the previous ones, and then restores the present ones.
func (w *world) downAndUp(r *rand.Rand) error {
	for _, program := range programs {
		both := w.seats[program]
		for _, change := range []struct {
			seat int
			to   string
			how  syscall.Signal
		}{
			{1, w.previous, syscall.SIGTERM}, // a previous binary as a standby
			{0, w.previous, syscall.SIGKILL}, // it leads after the lease has expired
			{0, w.now, syscall.SIGTERM},      // a present binary as its standby
			{1, w.now, syscall.SIGTERM},      // it leads immediately
		} {
			w.count("exchanges")
			if err := both[change.seat].end(change.how); err != nil {
				return err
			}
			if change.how == syscall.SIGKILL {
				time.Sleep(leaseTime / 2)
			}
			if err := both[change.seat].start(change.to); err != nil {
				return err
			}
			time.Sleep(millis(r, 2500, 4500))
		}
	}
	return nil
}

// play runs a round, and returns whether the fleet settled after it.
func (w *world) play(number int, r round) (settled bool, err error) {
	say("round %d: %s", number, r)
	ctx, cancel := context.WithTimeout(w.ctx, r.Length)
	defer cancel()
	begun := make(chan struct{})
	w.begin = sync.OnceFunc(func() { close(begun) })
	if r.Comes[0] != comesExchange { // exchange begins with a quiet fleet
		w.begin()
	}
	var all sync.WaitGroup
	errs := make(chan error, len(r.Steps)+len(r.Comes))
	for _, s := range r.Steps {
		all.Go(func() {
			<-begun
			time.Sleep(s.After)
			errs <- w.act(w.ctx, s)
		})
	}
	for n, kind := range r.Comes {
		w.count("round of " + kind)
		all.Go(func() {
			defer w.begin()
			errs <- troubles[kind](ctx, w, rand.New(rand.NewPCG(r.Seed, uint64(n))))
		})
	}
	all.Wait()
	for range cap(errs) {
		if err := <-errs; err != nil {
			return false, fmt.Errorf("round %d: %w", number, err)
		}
	}
	w.each(weather{})
	if err := w.tidy(w.ctx); err != nil {
		return false, err
	}
	return w.settle(fmt.Sprintf("round %d: settled", number), settleTime(r.Comes), func(ctx context.Context) (string, error) {
		if err := w.repair(ctx); err != nil {
			return "", err
		}
		return w.unsettled(ctx)
	}), nil
}
