package kubemark

import (
	"context"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

// Hooks are called by the "memory" back end instead of running a body. Each may be nil. The call that changes
// the instance (Create, Find, Delete, List, Sync) calls the hook, once for each change. A hook must not call
// the provider. After a crash it may be called again.
type Hooks struct {
	// OnRunning: the instance runs and answers; its node may join, or is ready again.
	OnRunning func(provider.Instance)
	// OnStopped: the instance does not answer any more, but still exists.
	OnStopped func(provider.Instance)
	// OnGone: the instance was deleted; it may never have run.
	OnGone func(provider.Instance)
}

// hooked is the body of the "memory" back end.
type hooked struct{ hooks Hooks }

func call(hook func(provider.Instance), r cloud.Record, state provider.State) {
	if hook == nil {
		return
	}
	hook(toInstance(cloud.Instance{Record: r, State: state, Raw: "running"}))
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
