package decorate

import (
	"context"

	"github.com/millwright-dev/millwright/provider"
)

// Own decorates p so that every class is opened for the owner; see
// [provider.Class.Owner].
func Own(p provider.Provider, owner string) provider.Provider { return owned{p, owner} }

type owned struct {
	provider.Provider
	owner string
}

func (p owned) Unwrap() any { return p.Provider }

func (p owned) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	class.Owner = p.owner
	return p.Provider.Open(ctx, class)
}
