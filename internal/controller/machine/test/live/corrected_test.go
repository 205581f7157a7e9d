package live

import (
	"context"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/provider"
)

// strict is an infrastructure that lets in who knows the password.
type strict struct{ provider.Provider }

// Open implements [provider.Provider].
func (p strict) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	if got := string(class.Credentials["password"]); got != "sesame" {
		return nil, provider.Errorf(provider.Denied, "the password %q is wrong", got)
	}
	return p.Provider.Open(ctx, class)
}

// soon is how long a machine may wait after a correction, which is a fraction of its pause: a minute in machine.openshift.io, three in the
// other API.
const soon = 15 * time.Second

// TestCorrections: a machine that waits because of its secret continues soon after the secret is corrected,
// and no client writes to the machine.
func TestCorrections(t *testing.T) {
	for _, test := range []struct {
		name  string
		wrong map[string][]byte // the secret at first; nil: it does not exist
		waits string            // part of what the machine says
	}{
		{"credentials", map[string][]byte{"userData": []byte("boot"), "password": []byte("guess")}, `the password "guess" is wrong`},
		{"no credentials", map[string][]byte{"userData": []byte("boot")}, `the password "" is wrong`},
		{"user data", map[string][]byte{"user-data": []byte("boot"), "password": []byte("sesame")}, "userData"},
		{"no secret", nil, "cloud"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := open(t, func(p provider.Provider) provider.Provider { return strict{p} })
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "cloud"}, Data: test.wrong}
			if test.wrong != nil {
				s.must("create secret", s.api.Create(t.Context(), secret))
			}
			machines := s.declare()
			for _, m := range machines {
				s.until("it says what it waits for", func() string { return s.tells(m, test.waits) })
			}
			time.Sleep(3 * time.Second) // pauses grow
			s.correct(secret, test.wrong == nil)
			began := time.Now()
			for _, m := range machines {
				s.until("it has an instance", func() string {
					if why := s.read(m); why != "" || providerID(m) == "" {
						return why + " it has none"
					}
					return ""
				})
			}
			if took := time.Since(began); took > soon {
				t.Errorf("it took %s", took)
			} else {
				t.Logf("it took %s", took.Round(100*time.Millisecond))
			}
		})
	}
}

// TestCorrectedWhileDeleted: a machine that is to go, and whose credentials do not hold any more, goes soon after they do.
func TestCorrectedWhileDeleted(t *testing.T) {
	s := open(t, func(p provider.Provider) provider.Provider { return strict{p} })
	secret := s.secret()
	machines := s.declare()
	for _, m := range machines {
		s.until("it has an instance", func() string {
			if why := s.read(m); why != "" || providerID(m) == "" {
				return why + " it has none"
			}
			return ""
		})
	}
	before := secret.DeepCopy()
	secret.Data["password"] = []byte("expired")
	s.must("rotate", s.api.Patch(t.Context(), secret, client.MergeFrom(before)))
	time.Sleep(time.Second) // the controllers' cache of secrets
	for _, m := range machines {
		s.must("delete machine", s.api.Delete(t.Context(), m))
		s.until("it says what it waits for", func() string { return s.tells(m, `the password "expired" is wrong`) })
	}
	time.Sleep(3 * time.Second)
	s.correct(secret, false)
	began := time.Now()
	for _, m := range machines {
		s.until("machine gone", func() string { return s.gone(m) })
	}
	if took := time.Since(began); took > soon {
		t.Errorf("it took %s", took)
	}
	s.empty(provider.OpenShift, s.ns)
}

// declare makes a machine in each API, of the secret cloud.
func (s *stage) declare() []client.Object {
	s.Helper()
	class := &v1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "pool"}, ProviderSpec: spec}
	class.SecretRef = &corev1.SecretReference{Namespace: s.ns, Name: "cloud"}
	g := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "g-" + s.ns}}
	g.Spec.Class = v1alpha1.ClassSpec{Kind: "MachineClass", Name: "pool"}
	o := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.ns, Name: "o-" + s.ns, Labels: map[string]string{"machine.openshift.io/cluster-api-cluster": s.ns},
	}}
	o.Spec.ProviderSpec.Value = &spec
	for _, object := range []client.Object{class, g, o} {
		s.must("create", s.api.Create(s.Context(), object))
	}
	return []client.Object{g, o}
}

// correct makes the secret what it should be.
func (s *stage) correct(secret *corev1.Secret, absent bool) {
	s.Helper()
	if absent {
		s.secret()
		return
	}
	s.must("read secret", s.api.Get(s.Context(), client.ObjectKeyFromObject(secret), secret))
	before := secret.DeepCopy()
	secret.Data["userData"], secret.Data["password"] = []byte("boot"), []byte("sesame")
	s.must("correct secret", s.api.Patch(s.Context(), secret, client.MergeFrom(before)))
}

func providerID(o client.Object) string {
	switch m := o.(type) {
	case *machinev1.Machine:
		if m.Spec.ProviderID != nil {
			return *m.Spec.ProviderID
		}
	case *v1alpha1.Machine:
		return m.Spec.ProviderID
	}
	return ""
}

// tells reports that a machine does not say a text.
func (s *stage) tells(o client.Object, text string) string {
	if why := s.read(o); why != "" {
		return why
	}
	said := ""
	for _, statement := range apis.Said(o).Statements {
		said += statement.Message + "\n"
	}
	if !strings.Contains(said, text) {
		return "it says " + said
	}
	return ""
}
