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

// Mutation is a deliberate defect around the controllers.
type Mutation struct {
	// Name says what the defect is.
	Name string
	// Finds are the statements that the defect breaks.
	Finds []string
	// Dialects are the dialects that show the defect; empty: both.
	Dialects []string
	// Setting changes the world so that it soon shows the defect; nil keeps the world of the seed.
	Setting func(*profile)
	// Provider and Client wrap the controllers' access. View, Record and Member change the results of lenses, Aged changes the
	// view at a given time.
	Provider func(p provider.Provider, c client.Client) provider.Provider
	Client   func(c client.Client, live client.Reader) (client.Client, client.Reader)
	View     func(*lifecycle.Machine)
	Aged     func(m *lifecycle.Machine, now time.Time)
	Record   func(client.Object, lifecycle.Outcome)
	Member   func(*replicas.Member)
	// Forgetful: controllers begin every pass with an empty memory. TwoLeaders: two processes lead.
	Forgetful, TwoLeaders bool
	// Set changes the lens's view of a set for the set's own controller.
	Set func(*replicas.Set)
	// Policy changes the policy of the collector of orphans, Collector wraps its readers. Strangers: the collector also looks
	// at instances without a UID.
	Policy    func(*orphan.Policy)
	Collector func(cache, live client.Reader) (client.Reader, client.Reader)
	// Secluded: the collector does not know the machines of other APIs than its own.
	Strangers, Secluded bool
	// Labelled: controllers look for instances in the place that the machine's labels name now.
	Labelled bool
	// Approver changes the approver of certificate requests.
	Approver func(*csr.Approver)
	// Helpers wraps the clients of the helper controllers.
	Helpers func(c client.Client, live client.Reader) (client.Client, client.Reader)
	// Unprobed: controllers do not know their connectivity. WallClock: controllers do not notice that a wall clock was
	// set.
	Unprobed, WallClock bool
	// Endless: calls have no deadline.
	Endless bool
	// Groupless: machines belong to no group.
	Groupless bool
	// Patience changes the lens's view of a machine's policy.
	Patience func(*lifecycle.Policy)
	// Permits wraps the client of disruption budgets. Unlimited: the machine controller does not ask them.
	Permits   func(client.Client) client.Client
	Unlimited bool
	// Checks are defects of the controller of health checks.
	Checks CheckDefects

	Defects
}

// Defects are defects of the controller of deployments alone.
type Defects struct {
	// OfDeployment, OfSet, OfMachine and OfPolicy change the lens's views, OfNode and OfWant its writes.
	OfDeployment func(*rollout.Deployment)
	OfSet        func(*rollout.Set)
	OfMachine    func(*rollout.Machine)
	OfPolicy     func(*rollout.Policy)
	OfNode       func(*rollout.NodeWant)
	OfWant       func(*rollout.SetWant)
	// Client wraps the clients that the controller uses.
	Client func(c client.Client, live client.Reader) (client.Client, client.Reader)
	// Forgetful: the controller begins every pass with an empty memory. Grabs: it takes over every set. Careless: it does not
	// shield a machine that it hands over. Clings: it keeps the shield. Deaf: it drops the autoscaler's choices.
	Forgetful, Grabs, Careless, Clings, Deaf bool
	// Unalarmed: it ignores the alarms of health checks. Alarming wraps the reader of alarms.
	Unalarmed bool
	Alarming  func(client.Reader) client.Reader
}
