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

// pleading is what worlds have of remediation requests.
type pleading struct {
	// pleas: some checks make requests from a template, for others to work off.
	pleas bool
}

// pleaSource is a stream of random numbers that nothing else has.
const pleaSource = widerSource + 0x91ea

func (p *pleading) draw(r *rand.Rand) { p.pleas = r.IntN(2) == 0 }

// pleads reports whether there are remediation requests.
func (w *World) pleads() bool { return w.profile.checks && w.profile.pleas }

// pleaGroup is the API of somebody who repairs machines.
var pleaGroup = schema.GroupVersion{Group: "repairs.example.com", Version: "v1"}

// templateName is the template that there is.
const templateName = "restart"

// plea is one remediation request, form the template of some. Health checks know
// neither as a type.
type (
	plea struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
	}
	pleaList struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []plea `json:"items"`
	}
	form struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              formSpec `json:"spec"`
	}
	formSpec struct {
		Template plea `json:"template"`
	}
)

func (p *plea) DeepCopyObject() runtime.Object {
	return &plea{p.TypeMeta, *p.ObjectMeta.DeepCopy()}
}

func (l *pleaList) DeepCopyObject() runtime.Object {
	out := &pleaList{TypeMeta: l.TypeMeta, ListMeta: l.ListMeta}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*plea))
	}
	return out
}

func (f *form) DeepCopyObject() runtime.Object {
	return &form{f.TypeMeta, *f.ObjectMeta.DeepCopy(), formSpec{*f.Spec.Template.DeepCopyObject().(*plea)}}
}

// pleaKinds are the kinds that such worlds have besides.
func (w *World) pleaKinds() []*store.Kind {
	if !w.pleads() {
		return nil
	}
	return []*store.Kind{store.NewKind(pleaGroup.WithKind("Repair"), &plea{}), store.NewKind(pleaGroup.WithKind("RepairTemplate"), &form{})}
}

// request is an empty one; nil where there are none.
func (w *World) request() client.Object {
	if !w.pleads() {
		return nil
	}
	return &plea{}
}

// beginPleas makes the template.
func (w *World) beginPleas() {
	if w.pleads() {
		_, err := w.store.Create(&form{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: templateName}})
		w.must("make a template", err)
	}
}

// entrust makes a check one that asks others, or none. Some name a template that is not
// there.
func (w *World) entrust(c *check) {
	if !w.pleads() {
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
	return &corev1.ObjectReference{APIVersion: pleaGroup.String(), Kind: "RepairTemplate", Namespace: namespace, Name: name}
}

// plight is what the others make of requests.
type plight struct {
	// seen are the requests that they came to.
	seen map[types.UID]bool
}

// begged are the requests that the others have yet to come to, by name.
func (w *World) begged() (out []*plea) {
	if !w.pleads() {
		return nil
	}
	return slices.DeleteFunc(objects(w, &plea{}), func(p *plea) bool { return w.plight.seen[p.UID] || w.dueOf(p) == nil })
}

// dueOf is the machine that a request is about; nil: it is gone.
func (w *World) dueOf(p *plea) client.Object {
	for _, ref := range p.OwnerReferences {
		if m := w.machineOf(string(ref.UID)); m != nil {
			return m
		}
	}
	return nil
}

// works are what the others could do about requests now: they restart what the machine
// runs on, ignore a request, or delete it without having done anything. That of a
// machine that is gone is deleted by the cluster.
func (w *World) works() (out []func()) {
	if !w.pleads() {
		return nil
	}
	for _, p := range objects(w, &plea{}) {
		if w.dueOf(p) == nil {
			out = append(out, func() {
				w.tracef("garbage collector", "deletes the request about %s, which is gone", p.Name)
				w.must("delete a request", w.store.Delete(p, client.DeleteOptions{}))
			})
		}
	}
	for _, p := range w.begged() {
		if m := w.dueOf(p); !w.now.Before(w.repairDue(m)) {
			out = append(out, func() { w.workOff(p, m) })
		}
	}
	return out
}

func (w *World) workOff(p *plea, m client.Object) {
	w.plight.seen[p.UID], w.ward.repaired[m.GetUID()] = true, w.now
	n := w.roll(10)
	if n < 6 {
		w.tracef("repairer", "restarts machine %s, as a request asks for", m.GetName())
		for _, i := range w.cloud.Existing(string(m.GetUID())) {
			k := w.kubelet(i)
			k.ails, k.stalled = ail{}, time.Time{}
		}
	}
	if n >= 3 && n < 9 {
		w.tracef("repairer", "deletes the request about machine %s, restarted %v", m.GetName(), n < 6)
		w.must("delete a request", w.store.Delete(p, client.DeleteOptions{}))
	}
}

// pleaTimes are when the others come back to a request.
func (w *World) pleaTimes() (out []time.Time) {
	for _, p := range w.begged() {
		out = append(out, w.repairDue(w.dueOf(p)))
	}
	return out
}

// unheard names a machine about which a request waits.
func (w *World) unheard() string {
	for _, p := range w.begged() {
		if m := w.dueOf(p); !w.hopeless(m) && m.GetDeletionTimestamp() == nil {
			return m.GetName()
		}
	}
	return ""
}

// typed gives objects without a type the one that the store has for them.
func typed(o runtime.Object) (client.Object, *unstructured.Unstructured) {
	u, is := o.(*unstructured.Unstructured)
	if !is {
		return nil, nil
	}
	if u.GetKind() == "Repair" {
		return &plea{}, u
	}
	return &form{}, u
}

// untyped puts o into u.
func untyped(o runtime.Object, u *unstructured.Unstructured) error {
	kind := u.GroupVersionKind()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	u.Object = content
	u.SetGroupVersionKind(kind)
	return err
}

// looseReader and looseClient serve objects without a type.
type (
	looseReader struct{ client.Reader }
	looseClient struct{ client.Client }
)

// Get implements [client.Reader].
func (r looseReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
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
func (r looseReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	out, is := list.(*unstructured.UnstructuredList)
	if !is {
		return r.Reader.List(ctx, list, opts...)
	}
	var all pleaList
	if err := r.Reader.List(ctx, &all, opts...); err != nil {
		return err
	}
	for i := range all.Items {
		u := unstructured.Unstructured{}
		u.SetGroupVersionKind(pleaGroup.WithKind("Repair"))
		if err := untyped(&all.Items[i], &u); err != nil {
			return err
		}
		out.Items = append(out.Items, u)
	}
	return nil
}

// Create implements [client.Writer].
func (c looseClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
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
func (c looseClient) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	t, u := typed(o)
	if u == nil {
		return c.Client.Delete(ctx, o, opts...)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, t); err != nil {
		return err
	}
	return c.Client.Delete(ctx, t, opts...)
}

// begging makes worlds in which checks ask others.
func begging(c *profile) {
	sickbay(c)
	c.pleas = true
}

// pleaMutants do themselves what others are asked for, or never take it back.
func pleaMutants() []Mutation {
	return []Mutation{
		{
			Name: "a check deletes what it is to make a request about", Finds: []string{judge.OthersRepair}, Setting: begging,
			Checks: CheckDefects{OfCheck: func(_ *check, v *health.Check, _ int) {
				if v.Remediation == health.Request {
					v.Remediation = health.Delete
				}
			}},
		},
		{
			Name: "a request about a machine that is well is left behind", Finds: []string{judge.Converges}, Setting: begging,
			Checks: CheckDefects{Client: func(c client.Client, live client.Reader) (client.Client, client.Reader) {
				return keeping{c}, live
			}},
		},
	}
}

// keeping deletes no requests.
type keeping struct{ client.Client }

// Delete implements [client.Writer].
func (c keeping) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	if _, is := o.(*unstructured.Unstructured); is {
		return nil
	}
	return c.Client.Delete(ctx, o, opts...)
}
