package sim

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/csr"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
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
	Setting func(*profile)
	// Provider and Client wrap what the controllers act through, View, Record
	// and Member what the lenses say, Aged what they say at some time.
	Provider func(p provider.Provider, c client.Client) provider.Provider
	Client   func(c client.Client, live client.Reader) (client.Client, client.Reader)
	View     func(*lifecycle.Machine)
	Aged     func(m *lifecycle.Machine, now time.Time)
	Record   func(client.Object, lifecycle.Outcome)
	Member   func(*replicas.Member)
	// Forgetful controllers begin every pass with an empty memory; of
	// TwoLeaders both believe that they are alone.
	Forgetful, TwoLeaders bool
	// Set changes what the lens says of a set to its own controller.
	Set func(*replicas.Set)
	// Policy is what the collector of orphans goes by, Collector wraps what it
	// reads through. Strangers: it looks at instances without a UID too.
	Policy    func(*orphan.Policy)
	Collector func(cache, live client.Reader) (client.Reader, client.Reader)
	// Secluded: it does not know the machines of other APIs than its own.
	Strangers, Secluded bool
	// Labelled machines are asked for where their labels say now.
	Labelled bool
	// Approver changes the approver of certificate requests.
	Approver func(*csr.Approver)
	// Helpers wraps what those act through who help others.
	Helpers func(c client.Client, live client.Reader) (client.Client, client.Reader)
	// Unprobed controllers do not know how well they see; of a WallClock they do not
	// know that it was set.
	Unprobed, WallClock bool
	// Endless: calls have no deadline.
	Endless bool
	// Groupless machines know of no others.
	Groupless bool
	// Patience changes what the lens says of a machine's policy.
	Patience func(*lifecycle.Policy)
	// Checks are those of the controller of health checks.
	Checks CheckDefects

	Defects
}

// Defects are those of the controller of deployments alone.
type Defects struct {
	// OfDeployment, OfSet, OfMachine and OfPolicy change what the lens says,
	// OfNode and OfWant what it is asked to write.
	OfDeployment func(*rollout.Deployment)
	OfSet        func(*rollout.Set)
	OfMachine    func(*rollout.Machine)
	OfPolicy     func(*rollout.Policy)
	OfNode       func(*rollout.NodeWant)
	OfWant       func(*rollout.SetWant)
	// Client wraps what it acts through.
	Client func(c client.Client, live client.Reader) (client.Client, client.Reader)
	// Forgetful: it begins every pass with an empty memory. Grabs: it takes
	// over what it finds. Careless: a machine that is handed over is not
	// shielded; Clings: it stays so. Deaf: it drops what an autoscaler wants.
	Forgetful, Grabs, Careless, Clings, Deaf bool
	// Unalarmed: it does not hear what health checks say; Alarming wraps what it reads
	// them through.
	Unalarmed bool
	Alarming  func(client.Reader) client.Reader
}
