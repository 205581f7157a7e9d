package sim

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// remediationProfile says whether health checks request external remediation.
type remediationProfile struct {
	// remediates: some checks create requests from a template, for an external controller.
	remediates bool
}

// remediationSource is the source of random numbers of this profile alone.
const remediationSource = widerSource + 0x91ea

func (p *remediationProfile) draw(r *rand.Rand) { p.remediates = r.IntN(2) == 0 }

// hasRemediationRequests reports whether this world has remediation requests.
func (w *World) hasRemediationRequests() bool { return w.profile.checks && w.profile.remediates }

// remediationGroup is the API group of the external controller that repairs machines.
var remediationGroup = schema.GroupVersion{Group: "repairs.example.com", Version: "v1"}

// templateName is the name of the only template.
const templateName = "restart"

// remediationRequest is a request, remediationTemplate is the template of requests. Health checks have no Go type for
// either.
type (
	remediationRequest struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
	}
	remediationRequestList struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []remediationRequest `json:"items"`
	}
	remediationTemplate struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              remediationTemplateSpec `json:"spec"`
	}
	remediationTemplateSpec struct {
		Template remediationRequest `json:"template"`
	}
)

func (p *remediationRequest) DeepCopyObject() runtime.Object {
	return &remediationRequest{p.TypeMeta, *p.ObjectMeta.DeepCopy()}
}

func (l *remediationRequestList) DeepCopyObject() runtime.Object {
	out := &remediationRequestList{TypeMeta: l.TypeMeta, ListMeta: l.ListMeta}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*remediationRequest))
	}
	return out
}

func (f *remediationTemplate) DeepCopyObject() runtime.Object {
	return &remediationTemplate{f.TypeMeta, *f.ObjectMeta.DeepCopy(), remediationTemplateSpec{*f.Spec.Template.DeepCopyObject().(*remediationRequest)}}
}

// remediationKinds are the kinds of the external API.
func (w *World) remediationKinds() []*store.Kind {
	if !w.hasRemediationRequests() {
		return nil
	}
	return []*store.Kind{store.NewKind(remediationGroup.WithKind("Repair"), &remediationRequest{}), store.NewKind(remediationGroup.WithKind("RepairTemplate"), &remediationTemplate{})}
}

// request returns an empty request, or nil if this world has no requests.
func (w *World) request() client.Object {
	if !w.hasRemediationRequests() {
		return nil
	}
	return &remediationRequest{}
}

// createRemediationTemplate creates the template.
func (w *World) createRemediationTemplate() {
	if w.hasRemediationRequests() {
		_, err := w.store.Create(&remediationTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: templateName}})
		w.must("make a template", err)
	}
}

// setRemediationTemplate gives a check a template, or none. Some checks name a template that does not exist.
func (w *World) setRemediationTemplate(c *check) {
	if !w.hasRemediationRequests() {
		return
	}
	c.Spec.RemediationTemplate = nil
	if n := w.roll(10); n < 7 {
		c.Spec.RemediationTemplate = w.template(n == 0)
	}
}

func (*World) template(missing bool) *corev1.ObjectReference {
	name := templateName
	if missing {
		name = "missing"
	}
	return &corev1.ObjectReference{APIVersion: remediationGroup.String(), Kind: "RepairTemplate", Namespace: namespace, Name: name}
}

// remediationState is the state of the external controller.
type remediationState struct {
	// seen are the requests that it has handled.
	seen map[types.UID]bool
}

// openRequests are the requests that the external controller has yet to handle, by name.
func (w *World) openRequests() (out []*remediationRequest) {
	if !w.hasRemediationRequests() {
		return nil
	}
	return slices.DeleteFunc(objects(w, &remediationRequest{}), func(p *remediationRequest) bool {
		return w.remediationState.seen[p.UID] || w.machineOfRequest(p) == nil
	})
}

// machineOfRequest returns the machine that a request is about, or nil if it does not exist.
func (w *World) machineOfRequest(p *remediationRequest) client.Object {
	for _, ref := range p.OwnerReferences {
		if m := w.machineOf(string(ref.UID)); m != nil {
			return m
		}
	}
	return nil
}

// requestActions are the possible actions on requests. The external controller restarts the machine's instance, ignores the
// request, or deletes it unhandled. The garbage collector deletes the request of a machine that does not exist.
func (w *World) requestActions() (out []func()) {
	if !w.hasRemediationRequests() {
		return nil
	}
	for _, p := range objects(w, &remediationRequest{}) {
		if w.machineOfRequest(p) == nil {
			out = append(out, func() {
				w.tracef("garbage collector", "deletes the request about %s, which does not exist", p.Name)
				w.must("delete a request", w.store.Delete(p, client.DeleteOptions{}))
			})
		}
	}
	for _, p := range w.openRequests() {
		if m := w.machineOfRequest(p); !w.now.Before(w.repairDue(m)) {
			out = append(out, func() { w.handleRequest(p, m) })
		}
	}
	return out
}

func (w *World) handleRequest(p *remediationRequest, m client.Object) {
	w.remediationState.seen[p.UID], w.healthState.repaired[m.GetUID()] = true, w.now
	n := w.roll(10)
	if n < 6 {
		w.tracef("repairer", "restarts machine %s, as a request asks for", m.GetName())
		for _, i := range w.cloud.Existing(string(m.GetUID())) {
			k := w.kubelet(i)
			k.failure, k.stalled = nodeFailure{}, time.Time{}
		}
	}
	if n >= 3 && n < 9 {
		w.tracef("repairer", "deletes the request about machine %s, restarted %v", m.GetName(), n < 6)
		w.must("delete a request", w.store.Delete(p, client.DeleteOptions{}))
	}
}

// requestTimes are the times at which the external controller handles a request.
func (w *World) requestTimes() (out []time.Time) {
	for _, p := range w.openRequests() {
		out = append(out, w.repairDue(w.machineOfRequest(p)))
	}
	return out
}

// machineWithOpenRequest names a machine with an unhandled request.
func (w *World) machineWithOpenRequest() string {
	for _, p := range w.openRequests() {
		if m := w.machineOfRequest(p); !w.hopeless(m) && m.GetDeletionTimestamp() == nil {
			return m.GetName()
		}
	}
	return ""
}

// typed returns an empty object of the Go type that the store has for an unstructured object.
func typed(o runtime.Object) (client.Object, *unstructured.Unstructured) {
	u, is := o.(*unstructured.Unstructured)
	if !is {
		return nil, nil
	}
	if u.GetKind() == "Repair" {
		return &remediationRequest{}, u
	}
	return &remediationTemplate{}, u
}

// untyped writes o into u.
func untyped(o runtime.Object, u *unstructured.Unstructured) error {
	kind := u.GroupVersionKind()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	u.Object = content
	u.SetGroupVersionKind(kind)
	return err
}

// unstructuredReader and unstructuredClient serve unstructured objects.
type (
	unstructuredReader struct{ client.Reader }
	unstructuredClient struct{ client.Client }
)

// Get implements [client.Reader].
func (r unstructuredReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	t, u := typed(o)
	if u == nil {
		return r.Reader.Get(ctx, key, o, opts...)
	}
	if err := r.Reader.Get(ctx, key, t, opts...); err != nil {
		return err
	}
	return untyped(t, u)
}

// List implements [client.Reader].
func (r unstructuredReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	out, is := list.(*unstructured.UnstructuredList)
	if !is {
		return r.Reader.List(ctx, list, opts...)
	}
	var all remediationRequestList
	if err := r.Reader.List(ctx, &all, opts...); err != nil {
		return err
	}
	for i := range all.Items {
		u := unstructured.Unstructured{}
		u.SetGroupVersionKind(remediationGroup.WithKind("Repair"))
		if err := untyped(&all.Items[i], &u); err != nil {
			return err
		}
		out.Items = append(out.Items, u)
	}
	return nil
}

// Create implements [client.Writer].
func (c unstructuredClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	t, u := typed(o)
	if u == nil {
		return c.Client.Create(ctx, o, opts...)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, t); err != nil {
		return err
	}
	return c.Client.Create(ctx, t, opts...)
}

// Delete implements [client.Writer].
func (c unstructuredClient) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	t, u := typed(o)
	if u == nil {
		return c.Client.Delete(ctx, o, opts...)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, t); err != nil {
		return err
	}
	return c.Client.Delete(ctx, t, opts...)
}

// remediationSetting makes worlds in which checks request external remediation.
func remediationSetting(c *profile) {
	healthSetting(c)
	c.remediates = true
}

// remediationMutants remedy a machine themselves, or never delete a request.
func remediationMutants() []Mutation {
	return []Mutation{
		{
			Name: "a check deletes what it is to make a request about", Finds: []string{judge.OthersRepair}, Setting: remediationSetting,
			Checks: CheckDefects{OfCheck: func(_ *check, v *health.Check, _ int) {
				if v.Remediation == health.Request {
					v.Remediation = health.Delete
				}
			}},
		},
		{
			Name: "a request about a machine that is well is left behind", Finds: []string{judge.Converges}, Setting: remediationSetting,
			Checks: CheckDefects{Client: func(c client.Client, live client.Reader) (client.Client, client.Reader) {
				return requestKeeper{c}, live
			}},
		},
	}
}

// requestKeeper deletes no requests.
type requestKeeper struct{ client.Client }

// Delete implements [client.Writer].
func (c requestKeeper) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	if _, is := o.(*unstructured.Unstructured); is {
		return nil
	}
	return c.Client.Delete(ctx, o, opts...)
}
