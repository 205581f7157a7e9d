package cloud

import (
	"context"
	"time"

	"github.com/millwright-dev/millwright/provider/kit"
)

// memoAge is how long things of the inventory are believed to be where they were: datacenters, folders, templates, which rarely move.
// Every clone names a dozen of them.
const memoAge = time.Minute

// remember returns what look found at most a minute ago. What it does not find is looked for again.
func remember[T any](ctx context.Context, m *kit.Memo[any], key string, look func() (T, error)) (T, error) {
	return kit.GetAs(ctx, m, key, func(context.Context) (T, error) { return look() })
}
