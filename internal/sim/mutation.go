package sim

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/lifecycle"
	"github.com/millwright-dev/millwright/internal/replicas"
	"github.com/millwright-dev/millwright/provider"
)

// Mutation is a deliberate defect, put around the controllers from outside.
type Mutation struct {
	// Name says what is wrong.
	Name string
	// Finds are the statements that it breaks.
	Finds []string
	// Dialects are those in which it can be found; empty: both.
	Dialects []string

	// Setting makes the world one in which the defect shows soon; nil leaves
	// it as the seed has it.
	Setting func(*character)
	// Provider and Client wrap what the controllers act through, View, Record
	// and Member what the lenses say.
	Provider func(p provider.Provider, c client.Client) provider.Provider
	Client   func(c client.Client, live client.Reader) (client.Client, client.Reader)
	View     func(*lifecycle.Machine)
	Record   func(client.Object, lifecycle.Outcome)
	Member   func(*replicas.Member)
	// Forgetful controllers begin every pass with an empty memory; of
	// TwoLeaders both believe that they are alone.
	Forgetful, TwoLeaders bool
}
