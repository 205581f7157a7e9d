package cloud

import (
	"context"
	"time"

	"github.com/millwright-dev/millwright/provider/kit"
)

// memoAge is how long inventory lookups are cached: datacenters, folders and templates rarely move. Every
// clone names a dozen of them.
const memoAge = time.Minute

// remember returns the result of look, cached for a minute. A missing object is not cached.
func remember[T any](ctx context.Context, m *kit.Memo[any], key string, look func() (T, error)) (T, error) {
	return kit.GetAs(ctx, m, key, func(context.Context) (T, error) { return look() })
}
