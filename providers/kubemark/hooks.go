package kubemark

import (
	"context"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

// Hooks are what the "memory" back end does instead of running something. Each
// may be nil. They are called by whoever makes the instance change (Create,
// Find, Delete, List, Sync), once for each change, and must not call the
// provider. After a crash a hook may be called again.
type Hooks struct {
	// OnRunning: the instance runs and answers; its node may join, or is ready
	// again.
	OnRunning func(provider.Instance)
	// OnStopped: it does not answer any more, but is still there.
	OnStopped func(provider.Instance)
	// OnGone: it is removed; called for instances that never ran, too.
	OnGone func(provider.Instance)
}

// hooked is the body of the "memory" back end.
type hooked struct{ hooks Hooks }

func call(hook func(provider.Instance), r cloud.Record, state provider.State) {
	if hook == nil {
		return
	}
	hook(instance(cloud.Sight{Record: r, State: state, Raw: "running"}))
}

func (h hooked) Prepare(cloud.Record, []byte) error { return nil }

func (h hooked) Start(_ context.Context, r *cloud.Record) error {
	call(h.hooks.OnRunning, *r, provider.Running)
	return nil
}

func (h hooked) Alive(cloud.Record) bool { return true }

func (h hooked) Silence(ctx context.Context, r *cloud.Record, silent bool) error {
	if silent {
		call(h.hooks.OnStopped, *r, provider.Running)
		return nil
	}
	return h.Start(ctx, r)
}

func (h hooked) Stop(_ context.Context, r *cloud.Record) (gone bool, err error) {
	if r.Body.Want == cloud.Up {
		call(h.hooks.OnStopped, *r, provider.Stopped)
	}
	return true, nil
}

func (h hooked) Remove(_ context.Context, r *cloud.Record) (gone bool, err error) {
	if !r.Created.IsZero() {
		call(h.hooks.OnGone, *r, provider.Terminated)
	}
	return true, nil
}
