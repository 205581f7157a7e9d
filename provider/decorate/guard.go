package decorate

import (
	"context"
	"errors"
	"fmt"

	"github.com/millwright-dev/millwright/provider"
)

// Gate decides whether a change may begin now.
type Gate interface {
	// Enter begins a change, which runs with inner and ends with leave. An error means that it must not
	// begin. The gate may end inner to cancel the change; context.Cause then says why.
	Enter(ctx context.Context) (inner context.Context, leave func(), err error)
}

// Guard decorates p so that calls which change something pass the gate. A refused call did not happen; the
// result of a canceled call is unknown. Both are [provider.Transient]. Calls that only read are not
// refused.
//
// It belongs outside of all others: a call that is refused should not wait for a limit first.
func Guard(p provider.Provider, g Gate) provider.Provider {
	return Calls(p, func(ctx context.Context, c Call, do func(context.Context) error) error {
		if !changes[c.Verb] {
			return do(ctx)
		}
		inner, leave, err := g.Enter(ctx)
		if err != nil {
			return &provider.Error{Kind: provider.Transient, Err: fmt.Errorf("%s: not called: %w", c.Verb, err)}
		}
		defer leave()
		err = do(inner)
		if err != nil && inner.Err() != nil && !errors.Is(err, context.Cause(inner)) {
			return &provider.Error{Kind: provider.Transient, Err: fmt.Errorf("%s: called off, its outcome is not known: %w (%w)", c.Verb, context.Cause(inner), err)}
		}
		return err
	})
}

// changes are the verbs that change something.
var changes = map[string]bool{Create: true, Delete: true, Initialize: true, Maintain: true, Power: true}
