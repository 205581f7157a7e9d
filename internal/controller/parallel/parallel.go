// Package parallel runs calls concurrently, for controllers whose passes write many objects.
package parallel

import (
	"golang.org/x/sync/errgroup"

	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// Runner runs up to limit calls concurrently.
func Runner(limit int) replicas.Runner {
	return func(n int, do func(int)) {
		var g errgroup.Group
		g.SetLimit(limit)
		for i := range n {
			g.Go(func() error { do(i); return nil })
		}
		_ = g.Wait() // no call returns an error
	}
}
