package record

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/verify/checker"
)

// Console is the way around the API of a simulated cloud: docs/providers/rehearsal.md.
type Console interface {
	Ask(ctx context.Context, method, page string, body []byte) ([]byte, error)
}

// Life is that of an instance, as the console tells it.
type Life struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	State   string            `json:"state"`
	Account string            `json:"account"`
	Tags    map[string]string `json:"tags"`
	// Ended is when it ended; zero while it goes on.
	Since time.Time `json:"since"`
	Ended time.Time `json:"ended"`
}

// Lives reports whether the instance is there.
func (l Life) Lives() bool { return l.Ended.IsZero() }

// Key tells the instance from those of other accounts.
func (l Life) Key() string { return l.Account + "/" + l.ID }

// UID is that of the machine that the instance was made for, which all clouds have under a key of that end.
func (l Life) UID() string {
	for key, value := range l.Tags {
		if strings.HasSuffix(key, "machine-uid") {
			return value
		}
	}
	return ""
}

func (l Life) events() []checker.Event {
	e := checker.Event{At: l.Since, What: checker.Made, UID: l.UID(), Machine: l.Name, Instance: l.Key()}
	if l.Lives() {
		return []checker.Event{e}
	}
	end := e
	end.At, end.What = l.Ended, checker.Gone
	return []checker.Event{e, end}
}

// Lives are all instances that there were since the console was asked to remember them, the oldest first.
func Lives(ctx context.Context, c Console) (all []Life, err error) {
	raw, err := c.Ask(ctx, http.MethodGet, "lives", nil)
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("ask for the lives of instances: %w", err)
	}
	return all, nil
}

// Simulated is a fleet on a simulated cloud: all instances that there were, and what there is now. So many machines are wanted, and
// the instances with the keys are of another cluster.
func Simulated(ctx context.Context, c client.Reader, cloud Console, wanted int, foreign ...string) (checker.Run, error) {
	var run checker.Run
	objects, err := Objects(ctx, c)
	if err != nil {
		return run, err
	}
	raw, err := cloud.Ask(ctx, http.MethodGet, "instances", nil)
	var state struct{ Orphans []string }
	if err == nil {
		err = json.Unmarshal(raw, &state)
	}
	if err != nil {
		return run, fmt.Errorf("ask for what is at the cloud: %w", err)
	}
	lives, err := Lives(ctx, cloud)
	if err != nil {
		return run, err
	}
	run.Events = append(run.Events, objects...)
	at := time.Now()
	for _, l := range lives {
		run.Events = append(run.Events, l.events()...)
		at = latest(at, l.Since, l.Ended)
	}
	for _, key := range foreign {
		run.Events = append(run.Events, checker.Event{What: checker.Mark, Mark: checker.Foreign, Instance: key})
	}
	// The time of a simulated cloud may be ahead of ours.
	run.Events = append(run.Events, checker.Event{At: at, What: checker.Mark, Mark: checker.AtRest, Wanted: &wanted, Message: strings.Join(state.Orphans, ", ")})
	return run, nil
}

func latest(a time.Time, more ...time.Time) time.Time {
	for _, b := range more {
		if b.After(a) {
			a = b
		}
	}
	return a
}
