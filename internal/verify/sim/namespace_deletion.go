package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/controller/machineclass"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// namespaceDeletionProfile says when a user deletes the namespace of the machines.
type namespaceDeletionProfile struct {
	// ends is the first step after which the user deletes it; zero: never.
	ends int
}

func (e *namespaceDeletionProfile) draw(r *rand.Rand) {
	if r.IntN(6) == 0 {
		e.ends = 100 + r.IntN(250)
	}
}

// settleNamespaceDeletion adapts the rest of a world. No collector looks for orphans in a namespace without sets and
// classes, and users cannot recreate missing objects there.
func (c *profile) settleNamespaceDeletion() {
	if c.ends == 0 {
		return
	}
	c.collects, c.restores, c.versions, c.accounts, c.hollow, c.permanent = false, false, false, false, false, ""
}

// ended reports whether the namespace is being deleted.
func (w *World) ended() bool { return w.store.Terminating == namespace }

// stepNamespaceDeletion deletes the namespace when that is due, and then its contents: one kind after the other, in any
// order.
func (w *World) stepNamespaceDeletion() {
	if w.profile.ends == 0 || w.step < w.profile.ends {
		return
	}
	w.endNamespace()
	if w.chance(20) {
		if all, ok := pick(w, w.kept()); ok {
			w.clear(all)
		}
	}
}

func (w *World) endNamespace() {
	if !w.ended() {
		w.store.Terminating = namespace
		clear(w.owners.chosen) // no autoscaler needs them any more
		w.does("DELETES THE NAMESPACE %s", namespace)
	}
}

// kept are the objects of the namespace that are not being deleted, by kind.
func (w *World) kept() (out [][]client.Object) {
	for _, all := range w.inNamespace() {
		var kept []client.Object
		for _, o := range all {
			if o.GetDeletionTimestamp() == nil {
				kept = append(kept, o)
			}
		}
		if len(kept) > 0 {
			out = append(out, kept)
		}
	}
	return out
}

// inNamespace are all objects of the namespace, by kind.
func (w *World) inNamespace() (out [][]client.Object) {
	for _, k := range w.store.Kinds() {
		var in []client.Object
		for _, o := range w.store.All(k.New()) {
			if o.GetNamespace() == namespace {
				in = append(in, o)
			}
		}
		if len(in) > 0 {
			out = append(out, in)
		}
	}
	return out
}

// clear does the namespace controller's work.
func (w *World) clear(all []client.Object) {
	for _, o := range all {
		w.tracef("namespace controller", "deletes %T %s", o, o.GetName())
		w.must("clear the namespace", client.IgnoreNotFound(w.store.Delete(o, client.DeleteOptions{})))
	}
}

// namespaceDeletionActions are the users' actions while the namespace is being deleted: they can create nothing in
// it.
func (w *World) namespaceDeletionActions() {
	actions := []func(){w.removeHooks, w.hurry, w.cordon, w.deleteNode, w.deleteMachine}
	action, _ := pick(w, actions)
	action()
}

// finishNamespaceDeletion is the time after the faults. At its end nothing is left.
func (w *World) finishNamespaceDeletion() {
	w.endNamespace()
	for _, all := range w.kept() {
		w.clear(all)
	}
	w.falseAnswers = falseAnswers{}
	w.removeForeignFinalizers(true)
	w.deleteUnapprovedRequests()
	w.endNodeFaults()
	w.each(func() {
		for _, m := range w.store.All(w.adapter.machine) {
			if w.adapter.unhook != nil {
				w.edit(m, "", w.adapter.unhook)
			}
		}
	})
	for _, b := range objects(w, &policyv1.PodDisruptionBudget{}) {
		w.must("delete a budget", w.target.Delete(b, client.DeleteOptions{}))
	}
	w.converge(judge.LeavesNothing, w.remains, func() {
		w.removeForeignFinalizers(true)
		w.each(w.abandonMachines)
	})
}

// remains names an object that is left; empty if no object is left.
func (w *World) remains() string {
	if why := w.judge.Leftover(); why != "" {
		return why
	}
	for _, all := range w.inNamespace() {
		return fmt.Sprintf("%T %s is left, finalizers %v", all[0], all[0].GetName(), all[0].GetFinalizers())
	}
	return ""
}

// abandonMachines lets users handle machines whose credentials were deleted first: they remove the instances by hand and
// annotate the machine. The machine must report which object it lacks.
func (w *World) abandonMachines() {
	for _, m := range w.store.All(w.adapter.machine) {
		lacks := w.lacks(m)
		if lacks == "" {
			continue
		}
		if status := statusOf(m); !strings.Contains(status, lacks) {
			w.broken(judge.SaysWhy, "machine %s, whose %s does not exist, reports %s", m.GetName(), lacks, status)
			return
		}
		for _, i := range w.cloud.Existing(string(m.GetUID())) {
			w.cloud.Kill(i)
		}
		for _, p := range w.cloud.Parts(string(m.GetUID())) {
			w.cloud.Remove(p)
		}
		w.edit(m, "", func(o client.Object) { dialect.SetAnnotation(o, dialect.AbandonAnnotation, "true") })
		w.does("removes the instance of machine %s, whose %s does not exist, and annotates the machine", m.GetName(), lacks)
	}
}

// lacks names the deleted object without which the machine's instance cannot be removed; empty if all exist.
func (w *World) lacks(m client.Object) string {
	name := secretName
	if g, is := m.(*v1alpha1.Machine); is {
		c, there := w.store.Lookup(&v1alpha1.MachineClass{}, client.ObjectKey{Namespace: namespace, Name: g.Spec.Class.Name}).(*v1alpha1.MachineClass)
		if !there {
			return g.Spec.Class.Name
		}
		name = c.CredentialsSecretRef.Name
	}
	if w.store.Lookup(&corev1.Secret{}, client.ObjectKey{Namespace: namespace, Name: name}) == nil {
		return name
	}
	return ""
}

// statusOf is the status of a machine as text.
func statusOf(m client.Object) string {
	var whole struct{ Status json.RawMessage }
	raw, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(raw, &whole)
	}
	if err != nil {
		panic(err) // the object was stored
	}
	return string(whole.Status)
}

// holdSecrets lets p hold secrets as well. The controllers of classes and of secrets get the names of both; each ignores the
// other's names.
func (p *process) holdSecrets() {
	if p.w.profile.ends == 0 {
		return
	}
	p.w.must("index", p.w.store.IndexField(context.Background(), &v1alpha1.MachineClass{}, machineclass.SecretIndex, machineclass.SecretsOf))
	c, live := p.helperClients()
	secrets := &machineclass.Secrets{Client: bareClient{c}, Live: bareReader{live}}
	classes, wakes := p.reconcile, p.wakes
	p.reconcile = func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		if res, err := classes(ctx, req); err != nil || res.RequeueAfter > 0 {
			return res, err
		}
		return secrets.Reconcile(ctx, req)
	}
	p.wakes = func(e store.Event) []enqueue.Request {
		out := wakes(e)
		for _, o := range []client.Object{e.Old, e.New} {
			c, is := o.(*v1alpha1.MachineClass)
			if !is {
				continue
			}
			for _, name := range machineclass.SecretsOf(c) {
				out = append(out, enqueue.Request{Request: reconcile.Request{NamespacedName: client.ObjectKey{Namespace: c.Namespace, Name: name}}})
			}
		}
		return out
	}
	for _, s := range p.w.store.All(&corev1.Secret{}) { // as the controller lists them when it starts
		if len(s.GetFinalizers()) > 0 {
			p.queue.add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)})
		}
	}
}

// bareReader reads secrets for requests of their metadata.
type bareReader struct{ client.Reader }

// Get implements [client.Reader].
func (r bareReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	m, is := o.(*metav1.PartialObjectMetadata)
	if !is {
		return r.Reader.Get(ctx, key, o, opts...)
	}
	var s corev1.Secret
	err := r.Reader.Get(ctx, key, &s, opts...)
	m.ObjectMeta = s.ObjectMeta
	return err
}

// bareClient patches secrets by their metadata.
type bareClient struct{ client.Client }

// Patch implements [client.Writer].
func (c bareClient) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	m, is := o.(*metav1.PartialObjectMetadata)
	if !is {
		return c.Client.Patch(ctx, o, p, opts...)
	}
	raw, err := p.Data(o)
	if err != nil {
		return fmt.Errorf("patch the metadata of %s: %w", o.GetName(), err)
	}
	return c.Client.Patch(ctx, &corev1.Secret{ObjectMeta: m.ObjectMeta}, client.RawPatch(p.Type(), raw), opts...)
}

// namespaceDeletionTroubles are the troubles that go on while the namespace is being deleted.
func (w *World) namespaceDeletionTroubles() []func() {
	out := w.troubleActions()
	if w.profile.outages {
		out = append(out, w.cutOff)
	}
	return out
}
