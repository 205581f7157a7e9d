package collect

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/explain"
)

// check reads the facts about a health check.
func (l *look) check(ctx context.Context, c *lenient.MachineHealthCheck) explain.CheckFacts {
	f := explain.CheckFacts{
		Subject: subject(c), Created: c.CreationTimestamp.Time, Said: apis.Said(c).Statements, Machines: among(c),
		Paused:   of(subject(c)).Checks.View(c).Paused,
		Expected: int(ptr.Deref(c.Status.ExpectedMachines, 0)), Healthy: int(ptr.Deref(c.Status.CurrentHealthy, 0)), Seen: c.Status.ExpectedMachines != nil,
	}
	f.Rivals = rivalChecks(ctx, l, c)
	if explain.Check(l.now, f).State != explain.Healthy {
		f.Controller = l.setController(ctx, f.Subject)
	}
	f.Gaps = texts(l.gaps)
	return f
}

// rivalChecks returns the names of other health checks that select a machine which c selects, too.
func rivalChecks(ctx context.Context, l *look, c *lenient.MachineHealthCheck) (out []string) {
	k := kindOf(subject(c).API, "MachineHealthCheck")
	checks, err := l.listed(ctx, k, c.Namespace)
	l.gap("machinehealthchecks", err)
	api, served := apis.Of(among(c))
	if !served || len(checks) < 2 {
		return nil
	}
	machines, err := l.listed(ctx, kindOf(api.Name, "Machine"), c.Namespace)
	if err != nil {
		return nil
	}
	lens := of(subject(c)).Checks
	ours := lens.Selector(c)
	for _, other := range checks {
		theirs := lens.Selector(other)
		if other.GetName() != c.Name && among(other) == among(c) && slices.ContainsFunc(machines, func(m client.Object) bool {
			return ours.Matches(labels.Set(m.GetLabels())) && theirs.Matches(labels.Set(m.GetLabels()))
		}) {
			out = append(out, other.GetName())
		}
	}
	return out
}

// class reads the facts about a machine class: its users and its missing secrets.
func (l *look) class(ctx context.Context, c *v1alpha1.MachineClass) explain.ClassFacts {
	f := explain.ClassFacts{Subject: subject(c)}
	if c.DeletionTimestamp != nil {
		f.Deleted = c.DeletionTimestamp.Time
	}
	for _, name := range []string{"MachineDeployment", "MachineSet", "Machine"} {
		list, err := l.listed(ctx, kindOf(f.API, name), c.Namespace)
		l.gap(strings.ToLower(name)+"s", err)
		for _, o := range list {
			if apis.Said(o).Class == c.Name {
				f.Users = append(f.Users, name+" "+o.GetName())
			}
		}
	}
	for _, s := range apis.Said(c).Secrets {
		if absentSecret(ctx, l, s) {
			f.Absent = append(f.Absent, s.Namespace+"/"+s.Name)
		}
	}
	f.Gaps = texts(l.gaps)
	return f
}
