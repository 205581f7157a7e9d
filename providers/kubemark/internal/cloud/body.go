package cloud

import (
	"context"
	"fmt"
)

// Body is what runs for the instances of one back end. Every method may be called again after a crash. The
// caller holds the machine's lock during methods with a *Record; they may change the record's Body, which the
// caller then stores.
type Body interface {
	// Prepare is called before the instance exists. It validates the user data, and stores what Start needs
	// of it.
	Prepare(r Record, userData []byte) error
	// Start starts the body, unless it runs.
	Start(ctx context.Context, r *Record) error
	// Alive reports whether a started body still runs. It is cheap.
	Alive(r Record) bool
	// Silence makes a running body stop answering, or answer again.
	Silence(ctx context.Context, r *Record, silent bool) error
	// Stop begins or continues to end the body. It does not delete what a later Start needs.
	Stop(ctx context.Context, r *Record) (gone bool, err error)
	// Remove begins or continues to end the body, and to delete what Prepare and Start created.
	Remove(ctx context.Context, r *Record) (gone bool, err error)
}

// effect brings the body of r to the wanted state and records it in r. It reports whether the state is
// reached.
func effect(ctx context.Context, body Body, r *Record, want Want) (reached bool, err error) {
	switch want {
	case Absent:
		return true, nil
	case Up, Silent:
		reached, err = true, ensureRunning(ctx, body, r, want)
	case Down:
		reached, err = body.Stop(ctx, r)
	case Removed:
		reached, err = body.Remove(ctx, r)
	default:
		err = fmt.Errorf("instance %s: unknown want %q", r.ID, want)
	}
	if err != nil || !reached {
		return false, err
	}
	r.Body.Want = want
	return true, nil
}

// ensureRunning makes a body run, answering or silent.
func ensureRunning(ctx context.Context, body Body, r *Record, want Want) error {
	if r.Body.Want != Up && r.Body.Want != Silent {
		if err := body.Start(ctx, r); err != nil {
			return fmt.Errorf("start instance %s: %w", r.ID, err)
		}
		r.Body.Want = Up
	}
	if r.Body.Want == want {
		return nil
	}
	if err := body.Silence(ctx, r, want == Silent); err != nil {
		return fmt.Errorf("change whether instance %s answers: %w", r.ID, err)
	}
	return nil
}
