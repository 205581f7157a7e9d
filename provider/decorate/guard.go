package decorate

import (
	"context"
	"errors"
	"fmt"

	"github.com/millwright-dev/millwright/provider"
)

// Gate says whether anything may be changed now.
type Gate interface {
	// Enter begins a change, which is made with inner and ended by leave. An
	// error means that it must not begin. The gate may end inner to call the
	// change off; context.Cause then says why.
	Enter(ctx context.Context) (inner context.Context, leave func(), err error)
}

// Guard decorates p so that calls which change something pass the gate. One that
// is refused was not made; of one that is called off nothing is known. Both are
// [provider.Transient]. Calls that only ask are not refused.
//
// It belongs outside of all others: a call that is refused should not wait for a
// limit first.
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
