package remote_test

import (
	"context"
	"testing"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
	"github.com/millwright-dev/millwright/provider/remote"
)

// registrar is a provider with a setting for IdentifiesNodes.
type registrar struct {
	provider.Provider
	says bool
}

type registering struct {
	provider.Session
	says bool
}

func (r registrar) Open(ctx context.Context, c provider.Class) (provider.Session, error) {
	s, err := r.Provider.Open(ctx, c)
	return registering{s, r.says}, err
}

func (r registering) Traits() provider.Traits {
	t := r.Session.Traits()
	t.IdentifiesNodes = r.says
	return t
}

func (r registering) Unwrap() any { return r.Session }

// TestIdentifiesNodes: the class's setting crosses the wire, and no other nodes are changed.
func TestIdentifiesNodes(t *testing.T) {
	for _, says := range []bool{true, false} {
		path := socket(t)
		served(t, path, remote.Served{Provider: registrar{providertest.NewCloud(clock.RealClock{}).Provider(), says}, Identities: exampleIDs})
		if told := opened(t, dial(t, "example", path)).Traits().IdentifiesNodes; told != says {
			t.Errorf("the provider says %v, and the session %v", says, told)
		}
	}
}
