package node

import (
	"context"
	"time"

	"github.com/millwright-dev/millwright/internal/bootstrap"
)

// TokenRequest asks for the bootstrap token of one machine.
type TokenRequest struct {
	Machine bootstrap.Owner
	// Lifetime is how long the token is to be valid from now.
	Lifetime time.Duration
	// Groups is the comma-separated list of further groups of the user that
	// the token authenticates, each beginning with "system:bootstrappers:".
	// May be empty.
	Groups string
}

// Token returns the machine's bootstrap token ("<id>.<secret>"), the same one
// when asked again.
func (c *Cluster) Token(ctx context.Context, t TokenRequest) (string, error) {
	return "", nil
}

// DropToken deletes the machine's token; one that is gone is no error.
func (c *Cluster) DropToken(ctx context.Context, machine bootstrap.Owner) error {
	return nil
}
