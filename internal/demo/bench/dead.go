package bench

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// deadFor is how long a dead node has not been Ready: longer than any timeout of the shapes.
const deadFor = time.Hour

// The timeout of the shapes' health checks, and its replacement here.
const patient, impatient = `"300s"`, `"10s"`

// dying is a session in which nodes die.
type dying struct{ *session }

// Dead has further results for nodes that die at the same time.
type Dead struct {
	// Nodes is the number of dead nodes.
	Nodes int `json:"nodes"`
	// Leaving is the largest number of machines in deletion at a time, Most the largest number of machines at a time.
	Leaving int `json:"leaving"`
	Most    int `json:"most"`
}

// measure measures the replacement of machines whose nodes die at the same time: from their death until the same number of other machines runs.
func (s dying) measure(ctx context.Context, report *Report) error {
	bounds, err := s.deadCeilings(ctx)
	if err != nil {
		return err
	}
	if err := s.prepareDeath(ctx); err != nil {
		return err
	}
	dead, err := s.victims(ctx)
	if err != nil {
		return err
	}
	recording, err := s.record(ctx)
	if err != nil {
		return err
	}
	m, err := s.phase(ctx, task{die, func(ctx context.Context) error { return s.kill(ctx, dead) }, s.replaced(dead)}, bounds)
	lives, problem := recording.stop()
	if err != nil {
		return err
	}
	if problem != nil {
		return problem
	}
	m.Dead.Leaving, m.Dead.Most = mostLeaving(lives)
	report.add(m, s.Log)
	return s.restAndRestart(ctx, report)
}

// deadCeilings are the times in which the raw client deletes and creates as many machines as nodes die.
func (s dying) deadCeilings(ctx context.Context) (c ceilings, err error) {
	s.logf("measuring the raw ceiling")
	if _, err := s.ceiling(ctx, "warm", warmUp, false); err != nil {
		return c, err
	}
	one, err := s.ceiling(ctx, "raw", s.Dead, true)
	return ceilings{remove: one.create + one.remove}, err
}

// prepareDeath creates the machines and their health checks.
func (s dying) prepareDeath(ctx context.Context) error {
	client := s.client(ctx)
	if len(s.shape.Impatient) > 0 {
		if err := eachPool(s.shape.sets(0), func(p pool) error { return client.patch(p.path, s.shape.Impatient) }); err != nil {
			return err
		}
	}
	if err := populate(ctx, s.session, s.shape.sets(s.machines), s.allRunning()); err != nil {
		return err
	}
	if len(s.shape.Impatient) > 0 {
		return nil
	}
	return s.check(ctx, bytes.ReplaceAll(s.shape.Check, []byte(patient), []byte(impatient)))
}

// victims are the machines whose nodes will die, by name, with their nodes.
func (s dying) victims(ctx context.Context) (map[string]string, error) {
	all, err := s.plane.Census(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, m := range all[:min(s.Dead, len(all))] {
		out[m.Name] = m.Node
	}
	return out, nil
}

// kill makes the nodes die: kwok stops simulating them, and their Ready condition is that of a kubelet that has been silent for an hour.
func (s dying) kill(ctx context.Context, dead map[string]string) error {
	var nodes []string
	for _, node := range dead {
		nodes = append(nodes, node)
	}
	slices.Sort(nodes)
	client := s.client(ctx)
	silent := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown","message":"Kubelet stopped posting node status.",`+
		`"lastHeartbeatTime":%[1]q,"lastTransitionTime":%[1]q}]}}`, time.Now().Add(-deadFor).UTC().Format(time.RFC3339))
	_, err := each(nodes, func(node string) error {
		if err := client.patch(nodePath(node), []byte(`{"metadata":{"annotations":{"kwok.x-k8s.io/node":null}}}`)); err != nil {
			return err
		}
		return client.do(s.plane.raw.Patch(types.StrategicMergePatchType).AbsPath(nodePath(node) + "/status").Body(silent))
	})
	return err
}

// replaced reports whether all dead machines are deleted and the wanted number of machines runs.
func (s dying) replaced(dead map[string]string) func(context.Context) (bool, error) {
	running := s.allRunning()
	return func(ctx context.Context) (bool, error) {
		if ok, err := running(ctx); err != nil || !ok {
			return false, err
		}
		all, err := s.plane.Census(ctx)
		return !slices.ContainsFunc(all, func(m fleet.Machine) bool { _, is := dead[m.Name]; return is }), err
	}
}

// mostLeaving are the largest number of machines in deletion at a time, and the largest number of machines at a time.
func mostLeaving(l lives) (leaving, most int) {
	now, out := map[string]bool{}, 0
	for _, g := range append(l.before, l.changes...) {
		if now[g.name] {
			out--
		}
		if now[g.name] = g.leaving; g.leaving {
			out++
		}
		if g.gone {
			if g.leaving {
				out--
			}
			delete(now, g.name)
		}
		leaving, most = max(leaving, out), max(most, len(now))
	}
	return leaving, most
}
