package sim

import (
	"context"
	"math/rand/v2"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/controller/machinehealthcheck"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
	"github.com/millwright-dev/millwright/provider"
)

// healthProfile says how unhealthy nodes are, and whether health checks exist.
type healthProfile struct {
	// checks: users create health checks, and their controllers run.
	checks bool
	// strict: each check enforces the lowest rate. foreign: no check selects machines of another API than its own.
	strict, foreign bool
	// frail: nodes fail one by one or in zones: once, repeatedly or permanently.
	frail bool
	// skew bounds the error of the processes' wall clocks.
	skew time.Duration
	// shares: users limit the share of machines that sets may delete.
	shares bool
}

// draw draws the profile.
func (f *healthProfile) draw(r *rand.Rand) {
	f.checks, f.frail = r.IntN(3) == 0, r.IntN(3) == 0
	f.skew = []time.Duration{0, 0, 5 * time.Second, mostSet}[r.IntN(4)]
	f.shares = r.IntN(4) == 0
}

// aheadOf is the error of a new process's wall clock, in either direction.
func (w *World) aheadOf() time.Duration {
	if w.profile.skew == 0 {
		return 0
	}
	most := int(w.profile.skew / time.Second)
	return time.Duration(w.between(-most, most)) * time.Second
}

// healthState is the state of health checks and node failures.
type healthState struct {
	made int
	// cut is the last zone that was cut off from the network, beat the time of the kubelets' next heartbeat.
	cut  cut
	beat time.Time
	// repaired is the time at which the external controller last restarted a machine.
	repaired map[types.UID]time.Time
}

func checkKind() *store.Kind {
	return store.NewKind(machinev1.GroupVersion.WithKind("MachineHealthCheck"), &lenient.MachineHealthCheck{})
}

// check is a health check as stored.
type check = lenient.MachineHealthCheck

// checks are all health checks.
func (w *World) checks() []*check { return objects(w, &check{}) }

// CheckDefects are defects of the controller of health checks.
type CheckDefects struct {
	// OfCheck changes the lens's view of a check that selects so many machines. OfOldCheck changes the view of a check of the
	// older API. OfPatients returns, for one process, the function that changes the view of a machine.
	OfCheck    func(c *lenient.MachineHealthCheck, v *health.Check, selected int)
	OfOldCheck func(v *health.Check)
	OfPatients func() func(t *health.Target)
	// Sight changes the process's view of its own connectivity.
	Sight func(now time.Time, s connectivity.State) connectivity.State
	// Client wraps the clients with which it writes, and the readers of the API servers.
	Client func(c client.Client, live client.Reader) (client.Client, client.Reader)
	// Forgetful: it begins every pass with an empty memory.
	Forgetful bool
}

// checkLens is a lens for checks with a defect.
type checkLens[C client.Object] struct {
	dialect.HealthChecks[C]
	p *process
}

// View implements [dialect.HealthChecks].
func (l checkLens[C]) View(o C, common dialect.CommonConditions) health.Check {
	v, d := l.HealthChecks.View(o, common), l.p.w.o.Mutation.Checks
	if c, ok := any(o).(*check); ok && d.OfCheck != nil {
		d.OfCheck(c, &v, l.p.selected(c))
	} else if !ok && d.OfOldCheck != nil {
		d.OfOldCheck(&v)
	}
	return v
}

// selected is how many machines of c the process has seen.
func (p *process) selected(c *check) (n int) {
	selector, err := metav1.LabelSelectorAsSelector(&c.Spec.Selector)
	for _, m := range p.view(p.adapter.machine).All() {
		if err == nil && selector.Matches(labels.Set(m.GetLabels())) {
			n++
		}
	}
	return n
}

// patientLens is a lens for machines with a defect.
type patientLens struct {
	dialect.Patients
	change func(*health.Target)
}

// Patient implements [dialect.Patients].
func (l patientLens) Patient(m client.Object, n *health.Node) health.Target {
	t := l.Patients.Patient(m, n)
	l.change(&t)
	return t
}

// blurred is a connectivity source with a defect.
type blurred struct{ p *process }

// State implements [connectivity.Source].
func (b blurred) State() connectivity.State {
	return b.p.w.o.Mutation.Checks.Sight(b.p.Now(), b.p.State())
}

// patients are the machines that checks may select. Machines of machine.openshift.io are always among them.
func (w *World) patients() []dialect.Patients {
	out := []dialect.Patients{openshift.Patients{}}
	for _, f := range w.apis {
		if f.api != provider.OpenShift {
			out = append(out, f.patients)
		}
	}
	return out
}

// checks reports whether the process runs a controller of health checks.
func (p *process) checks() bool { return p.role == healthRole || p.role == oldHealthRole }

// runChecks has p run the controller of one API's health checks, which also watches the given kinds.
func runChecks[C client.Object](p *process, lens dialect.HealthChecks[C], watched ...string) {
	w := p.w
	o := machinehealthcheck.Options{
		Client: p.client, Live: p.live, Nodes: p.target, LiveNodes: p.targetLive, Recorder: recorder{p}, Clock: p, Connectivity: p.connectivity(),
		Patients: w.patients(), Namespace: namespace, Common: openshift.ParseConditions, Deletions: &node.Deletions{Clock: p}, Identity: &node.Identity{Live: p.targetLive, Clock: p},
	}
	if w.hasRemediationRequests() {
		o.Client, o.Live = unstructuredClient{p.client}, unstructuredReader{p.live}
	}
	m := w.o.Mutation
	if m != nil {
		lens = checkLens[C]{lens, p}
		if m.Checks.OfPatients != nil {
			change := m.Checks.OfPatients()
			o.Patients = nil
			for _, all := range w.patients() {
				o.Patients = append(o.Patients, patientLens{all, change})
			}
		}
		if m.Checks.Client != nil {
			o.Client, o.Live = m.Checks.Client(o.Client, o.Live)
			o.Nodes, o.LiveNodes = m.Checks.Client(p.target, p.targetLive)
		}
		if m.Checks.Sight != nil {
			o.Connectivity = blurred{p}
		}
	}
	r := machinehealthcheck.New(lens, o)
	p.reconcile = func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		if m != nil && m.Checks.Forgetful {
			r = machinehealthcheck.New(lens, o)
		}
		return r.Reconcile(ctx, req)
	}
	others := wakesBy(r.Wakes, watched...)
	p.wakes = func(e store.Event) []enqueue.Request {
		if n, ok := e.Old.(*corev1.Node); ok && e.New == nil {
			o.Deletions.Note(n)
		}
		if e.Kind.GroupVersionKind == lens.Traits().Kind {
			return r.Wakes(context.Background(), e.Old, e.New)
		}
		return others(e)
	}
}
