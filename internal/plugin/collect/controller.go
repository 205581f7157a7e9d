package collect

import (
	"context"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/explain"
)

// machineController is what leases say of the machine controllers of an API, and
// setController of what looks after sets, deployments and health checks.
func (l *look) machineController(ctx context.Context, s explain.Subject) explain.Controller {
	return l.controller(ctx, s, "machine controller", func(lease string) bool { return of(s).LeadsMachines(lease) })
}

func (l *look) setController(ctx context.Context, s explain.Subject) explain.Controller {
	return l.controller(ctx, s, "machine-controller-manager", func(lease string) bool { return lease == of(s).SetLease() })
}

// controller looks for its leases where they are by default: with the machines, or
// in the namespaces of either API. That there is none may mean that it leads
// without, or elsewhere.
func (l *look) controller(ctx context.Context, s explain.Subject, name string, leads func(lease string) bool) explain.Controller {
	c := explain.Controller{Name: name}
	places := []string{s.Namespace, "kube-system", "millwright-system", "openshift-machine-api", "default"}
	slices.Sort(places)
	places = slices.Compact(places)
	var denied []error
	for _, place := range places {
		list, err := once(l, "leases/"+place, func() (*coordinationv1.LeaseList, error) {
			var list coordinationv1.LeaseList
			return &list, l.Control.List(ctx, &list, client.InNamespace(place))
		})
		if err != nil {
			denied = append(denied, err)
		}
		for i := range list.Items {
			if o := &list.Items[i]; leads(o.Name) {
				c.Leases = append(c.Leases, lease(o))
			}
		}
	}
	what := "whether a " + name + " is at work"
	switch {
	case len(c.Leases) > 0:
	case len(denied) > 0:
		l.note(Gap{Leading: true, Text: what + " (leases): " + denied[0].Error()})
	default:
		l.note(Gap{Leading: true, Text: what + ": it has no lease in the namespaces " + strings.Join(places, ", ") + "; it may lead without, or elsewhere"})
	}
	return c
}

func lease(o *coordinationv1.Lease) explain.Lease {
	out := explain.Lease{
		Where: o.Namespace + "/" + o.Name, Holder: ptr.Deref(o.Spec.HolderIdentity, ""),
		Lasts: time.Duration(ptr.Deref(o.Spec.LeaseDurationSeconds, 0)) * time.Second,
	}
	if t := o.Spec.RenewTime; t != nil {
		out.Renewed = t.Time
	}
	return out
}
