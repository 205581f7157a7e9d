package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// recording records the API server's watch of the machines. It is evaluated only
// after the clock was stopped.
type recording struct {
	before []glimpse
	raw    bytes.Buffer
	ended  chan struct{}
	cancel context.CancelFunc
	err    error
}

// lives are the changes of all machines during a phase.
type lives struct {
	// before are the machines at the beginning, changes their later states, in the
	// order in which they were stored.
	before, changes []glimpse
}

// glimpse is the part of a machine that the bench reads.
type glimpse struct {
	name                   string
	gone, leaving, running bool
}

// available machines serve, judged by the machine's own state only.
func (g glimpse) available() bool { return g.running && !g.leaving && !g.gone }

// shown is a machine of either API.
type shown struct {
	Metadata struct {
		Name              string
		DeletionTimestamp string
	}
	Status struct {
		Phase         string
		CurrentStatus struct{ Phase string }
	}
}

func (o shown) glimpse() glimpse {
	return glimpse{
		name: o.Metadata.Name, leaving: o.Metadata.DeletionTimestamp != "",
		running: o.Status.Phase == "Running" || o.Status.CurrentStatus.Phase == "Running",
	}
}

// record begins a recording of the machines.
func (s *session) record(ctx context.Context) (*recording, error) {
	path := s.shape.path("machines")
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []shown
	}
	if err := s.plane.get(ctx, path, &list); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stream, err := s.plane.raw.Get().AbsPath(path).Param("watch", "1").Param("resourceVersion", list.Metadata.ResourceVersion).Stream(ctx)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watch machines: %w", err)
	}
	r := &recording{ended: make(chan struct{}), cancel: cancel}
	for _, o := range list.Items {
		r.before = append(r.before, o.glimpse())
	}
	go func() {
		defer close(r.ended)
		defer stream.Close()
		_, r.err = io.Copy(&r.raw, stream)
	}()
	return r, nil
}

// stop ends the recording. A recording that ended by itself is incomplete.
func (r *recording) stop() (lives, error) {
	select {
	case <-r.ended:
		r.cancel()
		return lives{}, fmt.Errorf("watch machines: ended too early: %w", errors.Join(r.err, io.ErrUnexpectedEOF))
	default:
	}
	r.cancel()
	<-r.ended
	changes, err := readChanges(r.raw.Bytes())
	return lives{before: r.before, changes: changes}, err
}

// readChanges reads the events of a watch, one per line. A last line without an end
// is incomplete and ignored.
func readChanges(raw []byte) (out []glimpse, err error) {
	lines := bytes.Split(raw, []byte("\n"))
	for _, line := range lines[:len(lines)-1] {
		var e struct {
			Type   string
			Object json.RawMessage
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("an event of the watch on machines: %w", err)
		}
		if e.Type == "ERROR" {
			return nil, fmt.Errorf("watch machines: %s", e.Object)
		}
		var o shown
		if err := json.Unmarshal(e.Object, &o); err != nil {
			return nil, fmt.Errorf("a machine in the watch: %w", err)
		}
		g := o.glimpse()
		g.gone = e.Type == "DELETED"
		out = append(out, g)
	}
	return out, nil
}

// beyond is the largest excess over its maximum, and the largest shortage below its minimum of available machines, of any of the deployments.
func beyond(l lives, deployments []pool) (excess, missing int) {
	of := map[string]lives{}
	for _, g := range l.before {
		one := of[g.set()]
		one.before = append(one.before, g)
		of[g.set()] = one
	}
	for _, g := range l.changes {
		one := of[g.set()]
		one.changes = append(one.changes, g)
		of[g.set()] = one
	}
	for _, p := range deployments {
		most, least := extremes(of[p.name])
		excess, missing = max(excess, most-p.machines-surgeOf(p.machines)), max(missing, p.machines-least)
	}
	return excess, missing
}

// set is the name of the deployment, from the name of a machine, which ends with the suffixes of its set and its own.
func (g glimpse) set() string {
	parts := strings.Split(g.name, "-")
	return strings.Join(parts[:max(len(parts)-2, 0)], "-")
}

// extremes are the largest number of machines at a time, including those in deletion,
// and the smallest number of available machines.
func extremes(l lives) (most, least int) {
	now, available := map[string]glimpse{}, 0
	take := func(g glimpse) {
		if now[g.name].available() {
			available--
		}
		if g.available() {
			available++
		}
		now[g.name] = g
		if g.gone {
			delete(now, g.name)
		}
	}
	for _, g := range l.before {
		take(g)
	}
	most, least = len(now), available
	for _, g := range l.changes {
		take(g)
		most, least = max(most, len(now)), min(least, available)
	}
	return most, least
}
