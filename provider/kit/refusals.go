package kit

import (
	"context"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Refusals remember the repairs of instances that an infrastructure has refused, so that the same repair is not tried again for a
// while. They are safe for concurrent use.
type Refusals struct{ memo *Memo[error] }

// NewRefusals returns an empty memory, which keeps each refusal for age.
func NewRefusals(clock provider.Clock, age time.Duration) *Refusals {
	return &Refusals{memo: NewMemo[error](clock, age)}
}

// Try calls repair, or returns its last refusal. The key names the instance and the repair. Only errors of the kinds
// [provider.Denied] and [provider.Invalid] are refusals: a repair with another error is tried again. Concurrent calls with the
// same key wait for one another.
func (r *Refusals) Try(ctx context.Context, key string, repair func(context.Context) error) error {
	refusal, err := r.memo.Get(ctx, key, func(ctx context.Context) (refusal, err error) {
		err = repair(ctx)
		switch provider.KindOf(err) {
		case provider.Denied, provider.Invalid:
			return err, nil
		}
		return nil, err
	})
	if refusal != nil {
		return refusal
	}
	r.memo.Forget(key)
	return err
}
