package sim

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/orphan"
	"github.com/millwright-dev/millwright/internal/replicas"
)

// ShareKept is about sets and deployments that people guard.
const ShareKept = "a guarded set gives up no machine while more than its share are on their way out"

// watched is what a pass could see of a set that is guarded.
type watched struct {
	guard *replicas.Guard
	// leaving are the machines that it saw on their way out.
	leaving map[types.UID]bool
}

func (p *process) watch(set client.Object) (out watched) {
	if !p.w.is.shares || p.role != setRole {
		return out
	}
	out = watched{guard: dialect.ReadDeletionGuard(set), leaving: map[types.UID]bool{}}
	for _, m := range p.view(p.w.tells.machine).All() {
		if m.GetDeletionTimestamp() != nil {
			out.leaving[m.GetUID()] = true
		}
	}
	return out
}

// guardSet guards a deployment, or a set of nobody's, or stops that.
func (w *World) guardSet() {
	o := w.whole()
	if o == nil {
		return
	}
	share := []string{"", "20%", "34%", "50%", "a third"}[w.roll(5)]
	w.edit(o, "", func(o client.Object) { dialect.SetAnnotation(o, orphan.MaxShareAnnotation, share) })
	w.does("guards %s: at most %q of its machines", o.GetName(), share)
}

// approveMass lets a deployment or set give up so many machines nevertheless, or
// takes that back.
func (w *World) approveMass() {
	o := w.whole()
	if o == nil {
		return
	}
	n := []string{"", "2", "3", "4"}[w.roll(4)]
	w.edit(o, "", func(o client.Object) { dialect.SetAnnotation(o, orphan.ApproveShrinkAnnotation, n) })
	w.does("approves that %q machines of %s go", n, o.GetName())
}

// whole is something that people guard.
func (w *World) whole() client.Object {
	all := w.deployments()
	for _, s := range w.store.All(w.tells.set) {
		if metav1.GetControllerOf(s) == nil {
			all = append(all, s)
		}
	}
	o, _ := pick(w, all)
	if o == nil || o.GetDeletionTimestamp() != nil {
		return nil
	}
	return o
}

// judgeShare judges that a set gives up a machine, but one that failed where
// those are replaced. It listed its own machines live; of its siblings it knows
// what its cache showed. What people do meanwhile may cross it.
func (p *process) judgeShare(victim client.Object, before snapshot) {
	w := p.w
	s := w.setOf(victim)
	if before.watched.guard == nil || s == nil || s.GetDeletionTimestamp() != nil || before.touched != w.users.done || p.deposed != nil {
		return
	}
	guard := dialect.ReadDeletionGuard(s)
	if guard == nil || w.tells.heals && (w.tells.member(s, victim).Failed || changedSince(victim, before.version)) {
		return
	}
	sets, total, going := []client.Object{s}, 0, 0
	if d := w.deploymentOf(s); d != nil {
		sets = w.setsOf(d)
	}
	for _, set := range sets {
		for _, m := range w.controlled(set) {
			total++
			if !w.tells.selector(set).Matches(labels.Set(m.GetLabels())) {
				continue // somebody took it out of the set, which has it until it lets go
			}
			own := set.GetUID() == s.GetUID()
			if m.GetUID() == victim.GetUID() || m.GetDeletionTimestamp() != nil && (own || before.watched.leaving[m.GetUID()]) {
				going++
			}
		}
	}
	most := 0
	for _, g := range []*replicas.Guard{before.watched.guard, guard} {
		most = max(most, g.Limit.Of(total), g.Approved)
	}
	if going > most {
		w.broken(ShareKept, "set %s gives up %s: %d of %d machines are on their way out, and %d may be", s.GetName(), victim.GetName(), going, total, most)
	}
}
