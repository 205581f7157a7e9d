package csr

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/internal/engine/turn"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/internal/runtime/pace"
)

// +kubebuilder:rbac:groups=certificates.k8s.io,resources=certificatesigningrequests,verbs=get;list;watch
// +kubebuilder:rbac:groups=certificates.k8s.io,resources=certificatesigningrequests/approval,verbs=update
// +kubebuilder:rbac:groups=certificates.k8s.io,resources=signers,resourceNames=kubernetes.io/kubelet-serving;kubernetes.io/kube-apiserver-client-kubelet,verbs=approve
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups="",namespace=kube-system,resources=secrets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,namespace=default,resources=events,verbs=create;patch

// Approver approves the requests of one cluster. The fields without "may be
// nil" are required.
type Approver struct {
	// Client reads from the cluster's cache, which must have the indexes of
	// [SetupIndexes], and writes. Live reads past the cache.
	Client client.Client
	Live   client.Reader
	Clock  clock.PassiveClock
	Policy approval.Policy
	// Machines lists those that a request may be about, of all APIs whose nodes join the
	// cluster. Fleet counts all of them.
	Machines func(context.Context, approval.Subject) ([]approval.Machine, error)
	Fleet    func(context.Context) (int, error)
	// Latest reads one of them from its API server; false if it does not exist.
	Latest func(context.Context, approval.Machine) (approval.Machine, bool, error)
	// Refused is called, once per change, with the reason why a machine's request is not granted; may be
	// nil.
	Refused func(m approval.Machine, reason, message string)
	// Events records the same on the machine; may be nil.
	Events events.EventRecorder
	// OnRequests records it on the request itself, in the cluster that has the request;
	// may be nil.
	OnRequests events.EventRecorder
	// Metrics may be nil.
	Metrics *Metrics

	readings readings

	mu   sync.Mutex
	told map[string]told // by request name
	// toldOf is how many of these are about requests of each joiner.
	toldOf  map[string]int
	counted counts
}

// Reconcile judges one request. A request that has to wait is judged again after a quarter of its age, and
// at once when a machine that it may be for changes.
func (a *Approver) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	ctx = pace.WithClass(ctx, turn.Joining)
	var r certificatesv1.CertificateSigningRequest
	err := a.Client.Get(ctx, req.NamespacedName, &r)
	if apierrors.IsNotFound(err) {
		a.forget(req.Name)
		return a.settled(ctx)
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading certificate request %s: %w", req.Name, err)
	}
	if kind, pending := approval.Handled(&r); !kind || !pending {
		a.forget(r.Name)
		return a.settled(ctx)
	}
	now := a.Clock.Now()
	d, err := a.decide(ctx, now, &r)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("judging certificate request %s: %w", r.Name, err)
	}
	switch d.Verdict {
	case approval.Approve:
		if err := a.approve(ctx, &r, d); err != nil {
			return reconcile.Result{}, err
		}
		a.forget(r.Name)
	case approval.Ignore:
		a.forget(r.Name)
	case approval.Wait, approval.Refuse:
		a.tell(ctx, now, &r, d)
	}
	return reconcile.Result{RequeueAfter: again(now, &r, d)}, nil
}

// Bounds of the pause before a waiting request is judged again.
const (
	againLeast = 500 * time.Millisecond
	againMost  = time.Minute
)

// again is a quarter of the request's age: a request created 10 s ago is judged again after 2.5 s, one
// created an hour ago after a minute.
func again(now time.Time, r *certificatesv1.CertificateSigningRequest, d approval.Decision) time.Duration {
	age := now.Sub(r.CreationTimestamp.Time)
	switch {
	case d.Verdict == approval.Wait:
		return min(max(age/4, againLeast), againMost)
	case d.Verdict == approval.Refuse && others(d) && age < quiet:
		return quiet - max(age, 0) // to report it then
	}
	return 0
}

// decide judges a request. It grants a node's identity only if the machine as the API server has it leads
// to the same decision as the cached one: the cache may not show yet that the machine has a node or is
// being deleted.
func (a *Approver) decide(ctx context.Context, now time.Time, r *certificatesv1.CertificateSigningRequest) (approval.Decision, error) {
	f, err := a.observe(ctx, r)
	if err != nil {
		return approval.Decision{}, err
	}
	d := approval.Decide(now, f, a.Policy)
	if d.Verdict != approval.Approve || r.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName {
		return d, nil
	}
	shown := *d.Machine
	m, there, err := a.Latest(ctx, shown)
	if err != nil {
		return d, err
	}
	f.Machines = slices.DeleteFunc(f.Machines, func(o approval.Machine) bool { return o.UID == shown.UID })
	if there {
		f.Machines = append(f.Machines, m)
	}
	return approval.Decide(now, f, a.Policy), nil
}

// observe collects what the decision needs.
func (a *Approver) observe(ctx context.Context, r *certificatesv1.CertificateSigningRequest) (approval.Facts, error) {
	f := approval.Facts{Request: r}
	// The requested node comes from the form alone, and is looked up before the form is checked.
	f.Certificate, f.ParseErr = a.readings.read(r)
	var err error
	if f.Machines, err = a.Machines(ctx, approval.Subject{Node: approval.NodeName(f)}); err != nil {
		return f, fmt.Errorf("listing machines: %w", err)
	}
	if err = a.observeCounts(ctx, &f); err != nil {
		return f, err
	}
	// The requestor is checked first: only for a permitted requestor does the approver check a signature
	// and ask the API server.
	if !approval.WorthReading(a.Clock.Now(), f, a.Policy) {
		return f, nil
	}
	f.Certificate, f.ParseErr = a.readings.verified(r)
	if r.Spec.SignerName == certificatesv1.KubeAPIServerClientKubeletSignerName {
		err = a.observeJoining(ctx, &f)
		return f, err
	}
	f.NodeExists, err = nodeExists(ctx, a.Client, approval.NodeName(f))
	return f, err
}

// observeJoining reads the facts that matter for a node that does not exist yet. Both answers come from the
// API server: a grant by a stale cache would hand out another node's identity.
func (a *Approver) observeJoining(ctx context.Context, f *approval.Facts) error {
	var err error
	if id := approval.TokenID(f.Request); id != "" {
		owner, known, err := node.TokenOwner(ctx, a.Live, id)
		if err != nil {
			return err
		}
		f.TokenOwner, f.TokenUID, f.TokenKnown = owner.Key, owner.UID, known
		if err := a.addOwner(ctx, f); err != nil {
			return err
		}
	}
	f.NodeExists, err = nodeExists(ctx, a.Live, approval.NodeName(*f))
	return err
}

func nodeExists(ctx context.Context, r client.Reader, name string) (bool, error) {
	if name == "" {
		return false, nil
	}
	var n corev1.Node
	err := r.Get(ctx, client.ObjectKey{Name: name}, &n)
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("getting node %s: %w", name, err)
	}
	return err == nil, nil
}

// addOwner adds the machine for which the token was created, if the token does not name the node.
func (a *Approver) addOwner(ctx context.Context, f *approval.Facts) error {
	if f.TokenOwner == "" || slices.ContainsFunc(f.Machines, func(m approval.Machine) bool { return m.Key() == f.TokenOwner }) {
		return nil
	}
	owners, err := a.Machines(ctx, approval.Subject{Owner: f.TokenOwner})
	if err != nil {
		return fmt.Errorf("look for the machine of the bootstrap token: %w", err)
	}
	named := func(m approval.Machine) bool {
		return slices.ContainsFunc(f.Machines, func(o approval.Machine) bool { return o.UID == m.UID })
	}
	f.Machines = append(f.Machines, slices.DeleteFunc(owners, named)...)
	return nil
}

// nodeName is the node that a request is for; empty if it is unreadable.
func (a *Approver) nodeName(r *certificatesv1.CertificateSigningRequest) string {
	f := approval.Facts{Request: r}
	f.Certificate, f.ParseErr = a.readings.read(r)
	return approval.NodeName(f)
}

// approve grants the request. It returns a conflict, and the request is judged again.
func (a *Approver) approve(ctx context.Context, r *certificatesv1.CertificateSigningRequest, d approval.Decision) error {
	now := metav1.NewTime(a.Clock.Now())
	r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue,
		Reason: string(d.Reason), Message: d.Message, LastUpdateTime: now, LastTransitionTime: now,
	})
	if err := a.Client.SubResource("approval").Update(ctx, r); err != nil {
		return fmt.Errorf("approving certificate request %s: %w", r.Name, err)
	}
	log(ctx).Info("approved certificate request", "request", r.Name, "signer", r.Spec.SignerName, "node", d.NodeName, "machine", d.Machine.Key())
	return nil
}
