package collect

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/explain"
)

// check finds out what concerns a health check.
func (l *look) check(ctx context.Context, c *lenient.MachineHealthCheck) explain.CheckFacts {
	f := explain.CheckFacts{
		Subject: subject(c), Created: c.CreationTimestamp.Time, Said: apis.Said(c).Statements, Machines: among(c),
		Paused:   of(subject(c)).Checks.View(c).Paused,
		Expected: int(ptr.Deref(c.Status.ExpectedMachines, 0)), Healthy: int(ptr.Deref(c.Status.CurrentHealthy, 0)), Seen: c.Status.ExpectedMachines != nil,
	}
	if explain.Check(l.now, f).State != explain.Healthy {
		f.Controller = l.setController(ctx, f.Subject)
	}
	f.Gaps = l.gaps
	return f
}

// class finds out what concerns a class: who uses it, and its secrets.
func (l *look) class(ctx context.Context, c *v1alpha1.MachineClass) explain.ClassFacts {
	f := explain.ClassFacts{Subject: subject(c)}
	if c.DeletionTimestamp != nil {
		f.Deleted = c.DeletionTimestamp.Time
	}
	for _, name := range []string{"MachineDeployment", "MachineSet", "Machine"} {
		list := kindOf(f.API, name).list()
		l.gap(strings.ToLower(name)+"s", l.Control.List(ctx, list, client.InNamespace(c.Namespace)))
		for _, o := range items(list) {
			if apis.Said(o).Class == c.Name {
				f.Users = append(f.Users, name+" "+o.GetName())
			}
		}
	}
	for _, ref := range []*corev1.SecretReference{c.SecretRef, c.CredentialsSecretRef} {
		if ref == nil {
			continue
		}
		key := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
		if key.Namespace == "" {
			key.Namespace = c.Namespace
		}
		err := l.Control.Get(ctx, key, &corev1.Secret{})
		l.gap("secret "+key.String(), err)
		if apierrors.IsNotFound(err) {
			f.Absent = append(f.Absent, key.String())
		}
	}
	f.Gaps = l.gaps
	return f
}
