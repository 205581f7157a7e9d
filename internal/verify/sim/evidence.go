package sim

import (
	"fmt"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// evidence is the world in the judge's view.
type evidence struct{ w *World }

var _ judge.World = evidence{}

// Now implements [judge.World].
func (e evidence) Now() time.Time { return e.w.now }

// All implements [judge.World].
func (e evidence) All(example runtime.Object) []client.Object {
	if _, is := example.(*corev1.Secret); is && e.w.profile.apart {
		return append(e.w.store.All(example), e.w.target.All(example)...) // tokens are in the cluster that nodes join
	}
	return e.w.home(example).All(example)
}

// Instances implements [judge.World].
func (e evidence) Instances() []judge.Instance {
	all := e.w.cloud.Machines()
	out := make([]judge.Instance, len(all))
	for n, i := range all {
		out[n] = e.w.instance(i)
	}
	return out
}

func (w *World) instance(i *cloud.Machine) judge.Instance {
	out := judge.Instance{
		ID: i.ID, UID: w.uidOf(i), Name: i.Name, IP: i.IP, ProviderID: i.ProviderID(), Owner: i.Owner, Namespace: i.Namespace, NodeName: i.Host, Place: fmt.Sprint(i.Place),
		Foretold: !w.profile.cloud.Unforetold, Created: i.Created, Gone: i.Gone(), Died: i.Died, ByHand: w.losses.secondInstances[i.ID] || w.losses.untaggedInstances[i.ID],
	}
	out.Cause = w.causeOf(i)
	if k := w.kubelets[i.ID]; k != nil {
		out.Node, out.Hostile = w.shown(k), k.hostile
	}
	return out
}

// Parts implements [judge.World].
func (e evidence) Parts() (out []judge.Part) {
	for _, p := range e.w.cloud.Parts("") {
		out = append(out, judge.Part{UID: e.w.uidOfPart(p), Name: p.Name, Owner: p.Owner, Place: fmt.Sprint(p.Place)})
	}
	return out
}

// Outages implements [judge.World].
func (e evidence) Outages() []judge.Outage {
	out := make([]judge.Outage, len(e.w.outages))
	for i, o := range e.w.outages {
		out[i] = judge.Outage{From: o.from, To: o.to, Denied: o.denies}
	}
	return out
}

// Anchors implements [judge.World].
func (e evidence) Anchors() []client.Object {
	return all(e.w, func() []client.Object { return e.w.adapter.anchors() })
}

// openJudge creates the judge.
func (w *World) openJudge() {
	r := judge.Rules{
		APIs: w.judgedAPIs(), Checks: w.checkKinds(), Request: w.request(), Foreign: foreign, Hopeless: w.hopeless, Owner: owner, Namespace: namespace, Collects: w.profile.collects, Hostile: w.profile.hostile, Sized: w.profile.helpers, Alarmed: w.profile.checks, Limited: w.profile.limitsDisruptions,
		Grace: w.profile.orphans.Grace, Period: w.profile.orphans.Period, PerHour: w.profile.orphans.PerHour, Percent: w.profile.orphans.Limit.Percent,
		CloudLag: w.profile.cloud.Lag, ViewLag: w.profile.viewLag, Skew: min(w.profile.skew, mostWrong), Pause: w.longest(),
	}
	if w.looks() {
		r.LookEvery, r.LookFor = looks.Interval, looks.Timeout
	}
	w.judge = judge.New(evidence{w}, r, w.broken)
	for _, s := range []*store.Store{w.store, w.target} {
		s.OnWrite = func(was, now client.Object) { w.judge.Wrote(w.writing, was, now) }
	}
}

// sees returns what the process knows when a pass begins.
func (p *process) sees(key reconcile.Request) *judge.Pass {
	w := p.w
	var shown []client.Object
	for _, v := range p.views {
		if judged[v.Kind().Kind] {
			shown = append(shown, v.Shown()...)
		}
	}
	return w.judge.Begin(judge.Pass{
		By: judge.Author{Role: string(p.role), Process: p.serial, API: p.adapter.number}, At: w.now, Born: p.born, Skew: p.wrong(), Key: key.NamespacedName,
	}, shown)
}

// judged are the kinds whose caches controllers read.
var judged = map[string]bool{"Machine": true, "MachineSet": true, "MachineDeployment": true, "MachineHealthCheck": true, "Node": true, "VolumeAttachment": true}

// judgedCall makes a call to an API server and has its write judged. sent says when a late call was sent.
func (p *process) judgedCall(s *store.Store, c store.Call, before *judge.Pass, sent int64, do func() error) error {
	if !c.Writes() {
		err := do()
		if saw := p.running.saw; saw != nil && c.Verb == "list" && err == nil {
			p.listed(c.Kind, s.All(c.Kind.New()))
		}
		return err
	}
	w := p.w
	pass := w.judge.Writes(before, p.deposed != nil, sent)
	old := s.Lookup(c.Object, c.Key)
	w.writing = pass
	err := do()
	w.writing = nil
	now := s.Lookup(c.Object, c.Key)
	if c.Part == "eviction" && old != nil && apierrors.HasStatusCause(err, budgetCause) {
		w.judge.Refused(old)
	}
	if old != now {
		p.judgeWrite(c, pass, old, now)
	}
	if t := p.running; c.Verb == "patch" && c.Kind.Kind == "Machine" && apierrors.IsNotFound(err) && t != nil && t.saw != nil {
		delete(t.saw.objects["Machine"], c.Object.GetUID()) // it does not exist, and cannot be adopted
	}
	if t := p.running; old != now && t != nil && t.saw != nil && sent == 0 && w.violation == nil {
		if why := p.plans(t, old, now); why != "" {
			w.broken(AsDecided, "%s: %s", p.name(), why)
		}
	}
	return err
}

// judgeWrite has the judge check a write.
func (p *process) judgeWrite(c store.Call, pass *judge.Pass, old, now client.Object) {
	w := p.w
	gone := old != nil && old.GetDeletionTimestamp() == nil && (now == nil || now.GetDeletionTimestamp() != nil)
	switch {
	case p.role == fleetRole:
		w.judge.RolloutWrites(pass, old, now)
	case c.Kind.Kind == "Node" && old != nil && !gone:
		w.judge.NodeWritten(pass, old.(*corev1.Node))
		if n, is := now.(*corev1.Node); is && p.role == machineRole {
			w.judge.NodeClosed(pass, old.(*corev1.Node), n)
		}
	case c.Kind.Kind == "MachineDisruptionBudget" && old != nil && now != nil:
		w.judge.PermitsWritten(pass, old.(*disruptionBudget), now.(*disruptionBudget))
	case c.Kind.Kind == "Pod" && old != nil:
		w.judge.PodLeaves(pass, old, now, c.Verb == "delete")
	case c.Kind.Kind == "MachineClass":
		w.judge.ClassWritten(pass, old, now)
	case c.Kind.Kind == "Secret" && p.role == helperRole:
		w.judge.SecretWritten(pass, old, now)
	case c.Kind.Kind == "Node" && gone:
		w.judge.NodeWritten(pass, old.(*corev1.Node))
		w.judge.NodeDeleted(old.(*corev1.Node))
	case c.Part == "approval" && now != nil:
		w.judge.Approved(pass, now.(*certificatesv1.CertificateSigningRequest))
	case c.Kind.Kind == "Machine":
		w.judge.MachineWritten(pass, old, now)
		if now != nil && w.judge.Failed(now) {
			delete(w.owners.chosen, now.GetUID()) // the autoscaler's wish is dropped, and the machine may recover
		}
	}
}

// checkPass checks how a pass ended.
func (p *process) checkPass(t *task) {
	if t.err != nil && strings.Contains(t.err.Error(), "steps without an end") {
		p.w.broken(judge.PassEnds, "%v", t.err)
	}
}
