package machineset

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/limits"
)

// judge freezes or thaws the set by the same machines from which its scale is then decided. At this point
// machines without a controller are adopted, and counted. A set under deletion creates none and does not
// freeze, but a frozen one thaws like others: until then its deployment reports that it is frozen.
func (p *pass[S]) judge(ctx context.Context) error {
	freezer, ok := p.lens.(dialect.Freezer[S])
	if !ok || p.thawed || p.set.Deleting && !freezer.Crowd(p.object, nil, nil).Frozen {
		return nil
	}
	j, frozen, err := p.judgement(ctx, freezer)
	if err == nil && j.Act == limits.Thaw {
		var sure bool
		if sure, err = p.sure(ctx); err != nil || !sure {
			return err
		}
		j, frozen, err = p.judgement(ctx, freezer)
	}
	if err != nil {
		return err
	}
	return p.carryOut(ctx, freezer, j, frozen)
}

// judgement is the verdict about the listed machines; frozen says that the set is frozen now.
func (p *pass[S]) judgement(ctx context.Context, f dialect.Freezer[S]) (j limits.Judgement, frozen bool, err error) {
	parent, err := otherSets[S]{p.scope}.parent(ctx, f)
	if err != nil {
		return j, false, err
	}
	crowd := f.Crowd(p.object, parent, p.machines)
	return limits.Judge(crowd, *p.Margins), crowd.Frozen, nil
}

func (p *pass[S]) carryOut(ctx context.Context, f dialect.Freezer[S], j limits.Judgement, frozen bool) error {
	reason, action := p.lens.Traits().Events.Froze, "Freeze"
	switch j.Act {
	case limits.Leave:
		if frozen {
			p.frozen = j.Message
			p.again(p.FreezePeriod)
		}
		return nil
	case limits.Freeze:
		if err := p.patchSet(ctx, "freeze set", func(s S) { f.Freeze(s, true) }); err != nil {
			return err
		}
		p.frozen = j.Message
		p.again(p.FreezePeriod)
	case limits.Thaw:
		if err := p.patchSet(ctx, "thaw set", func(s S) { f.Freeze(s, false) }); err != nil {
			return err
		}
		// The annotation's request holds for the rest of this pass.
		p.thawed = true
		reason, action = p.lens.Traits().Events.Thawed, "Unfreeze"
	}
	p.set = p.lens.View(p.object).Set
	if j.Act == limits.Freeze || frozen {
		logf.FromContext(ctx).Info(j.Message, "act", j.Act)
		p.Recorder.Eventf(p.object, nil, corev1.EventTypeNormal, reason, action, "%s", j.Message)
	}
	return nil
}

// setsOf are the sets that parent controls: its size limits their machines.
func (r *Reconciler[S]) setsOf(ctx context.Context, parent client.Object) (out []reconcile.Request) {
	list, err := r.listSets(ctx, parent.GetNamespace())
	if err != nil {
		logf.FromContext(ctx).Error(err, "cannot list the sets of a deployment", "deployment", client.ObjectKeyFromObject(parent))
		return nil
	}
	for _, s := range list {
		if ref := metav1.GetControllerOfNoCopy(s); ref != nil && ref.UID == parent.GetUID() {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)})
		}
	}
	return out
}
