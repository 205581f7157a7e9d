package judge

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// SecretWritten judges the removal of the finalizer from a secret. The pass must know each class that names the secret and
// existed before the pass began.
func (j *Judge) SecretWritten(p *Pass, old, now client.Object) {
	held := func(o client.Object) bool {
		return o != nil && slices.Contains(o.GetFinalizers(), v1alpha1.FinalizerSecret)
	}
	if !held(old) || held(now) || p.By.Late {
		return
	}
	for _, o := range j.All(&v1alpha1.MachineClass{}) {
		c := o.(*v1alpha1.MachineClass)
		for _, ref := range []*corev1.SecretReference{c.SecretRef, c.CredentialsSecretRef} {
			if ref != nil && ref.Name == old.GetName() && j.born(c.UID) <= p.began {
				j.Broken(SecretHeld, "secret %s, which class %s names", old.GetName(), c.Name)
			}
		}
	}
}
