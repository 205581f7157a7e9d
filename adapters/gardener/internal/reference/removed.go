package reference

import (
	"context"
	"sync"
	"time"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"
)

// removed are the deleted servers. It is safe for concurrent use.
type removed struct {
	mu  sync.Mutex
	all map[string]grave
}

// grave is a deleted server.
type grave struct {
	name string
	at   time.Time
}

func (r *removed) note(providerID, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[string]grave{}
	}
	if _, known := r.all[providerID]; !known {
		r.all[providerID] = grave{name: name, at: time.Now()}
	}
}

// since are the names of the servers deleted within d, by provider ID.
func (r *removed) since(d time.Duration) map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]string{}
	for id, one := range r.all {
		if time.Since(one.at) < d {
			out[id] = one.name
		}
	}
	return out
}

// shows reports whether the status still shows a deleted server.
func (d *Driver) shows(providerID string) bool {
	_, is := d.removed.since(d.Shows)[providerID]
	return is
}

// dawdle waits for the duration of a call.
func (d *Driver) dawdle(ctx context.Context) error {
	if d.Slow <= 0 {
		return nil
	}
	select {
	case <-time.After(d.Slow):
		return nil
	case <-ctx.Done():
		return status.Error(codes.DeadlineExceeded, ctx.Err().Error())
	}
}
