package collect

import (
	"context"
	"time"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/explain"
)

// History returns the history of the machine that q names. Of a machine that no longer exists, it has what evidence, the
// record of deleted machines and events show. If no
// machine or several machines have the name, it returns nil and an answer that says so. It returns an error if it
// finds no machine and a read fails. A forbidden read is a gap, not an error.
func History(ctx context.Context, now time.Time, c Clusters, q Question) (*explain.History, explain.Answer, error) {
	l := &look{Clusters: c, now: now, memo: map[string]any{}}
	found, err := l.find(ctx, q)
	if err != nil {
		return nil, explain.Answer{}, err
	}
	if len(found) == 1 {
		f := l.machine(ctx, found[0])
		h := explain.MachineHistory(&f)
		h.Instance = explain.InstanceOf(&f, apis.Said(found[0]).Seen)
		return &h, explain.Answer{}, nil
	}
	if h := departed(ctx, l, q, found); h != nil {
		return h, explain.Answer{}, nil
	}
	a, err := Ask(ctx, now, c, q)
	return nil, a, err
}
