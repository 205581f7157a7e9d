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

// Console is the inspection interface of a simulated cloud: docs/providers/rehearsal.md.
type Console interface {
	Ask(ctx context.Context, method, page string, body []byte) ([]byte, error)
}

// Life is the life of an instance, as the console reports it.
type Life struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	State   string            `json:"state"`
	Account string            `json:"account"`
	Tags    map[string]string `json:"tags"`
	// Since is the time at which the instance was first listed, Seen the time at which it was last listed before it ended. Ending
	// is the time at which it was first listed as ending after a request of a client. Ended is its end; zero while it lives.
	Since  time.Time `json:"since"`
	Seen   time.Time `json:"seen"`
	Ending time.Time `json:"ending"`
	Ended  time.Time `json:"ended"`
}

// Lives reports whether the instance is there.
func (l Life) Lives() bool { return l.Ended.IsZero() }

// Key distinguishes the instance from those of other accounts.
func (l Life) Key() string { return l.Account + "/" + l.ID }

// UID is the UID of the machine for which the instance was created. In all clouds the key of that tag ends in "machine-uid".
func (l Life) UID() string {
	for key, value := range l.Tags {
		if strings.HasSuffix(key, "machine-uid") {
			return value
		}
	}
	return ""
}

func (l Life) events() []checker.Event {
	event := func(what string, at time.Time) checker.Event {
		return checker.Event{At: at, What: what, UID: l.UID(), Machine: l.Name, Instance: l.Key()}
	}
	all := []checker.Event{event(checker.Made, l.Since)}
	switch {
	case !l.Ending.IsZero():
		all = append(all, event(checker.Ending, l.Ending))
	case !l.Lives():
		all = append(all, event(checker.Died, l.Ended))
	}
	if !l.Lives() {
		end := event(checker.Gone, l.Ended)
		end.From = l.Seen
		all = append(all, end)
	}
	return all
}

// Lives returns all instances since the console was asked to remember them, the oldest first.
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

// Simulated records a fleet on a simulated cloud: all instances that existed, and the current objects. Wanted is the wanted
// number of machines; foreign are the keys of the instances of another cluster.
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
	for _, l := range lives {
		run.Events = append(run.Events, l.events()...)
	}
	for _, key := range foreign {
		run.Events = append(run.Events, checker.Event{What: checker.Mark, Mark: checker.Foreign, Instance: key})
	}
	run.Events = append(run.Events, checker.Event{At: time.Now(), What: checker.Mark, Mark: checker.AtRest, Wanted: &wanted, Message: strings.Join(state.Orphans, ", ")})
	return run, nil
}
