package gardener_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// TestCreationTimeouts: no object that the original takes is refused, no token is
// dead when it is made, and a machine goes whatever its timeout says.
func TestCreationTimeouts(t *testing.T) {
	const key = "node.machine.sapcloud.io/effective-creation-timeout"
	span := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	for _, c := range []struct {
		reason     string
		spec       *metav1.Duration
		annotation string
		join       time.Duration
		token      time.Duration
		fault      string
	}{
		{"nothing said", nil, "", 20 * time.Minute, 20 * time.Minute, ""},
		{"as the spec says", span(time.Minute), "", time.Minute, time.Minute, ""},
		{"0 waits for ever, and the token is good while certificates are approved", span(0), "", 0, 2 * time.Hour, ""},
		{"0 in the annotation", span(time.Minute), "0s", 0, 2 * time.Hour, ""},
		{"a negative spec", span(-time.Hour), "", 20 * time.Minute, 20 * time.Minute, "spec.creationTimeout"},
		{"a negative annotation", span(time.Minute), "-1h", time.Minute, time.Minute, "metadata.annotations[" + key + "]"},
		{"an annotation that wins over a negative spec", span(-time.Hour), "5m", 5 * time.Minute, 5 * time.Minute, "spec.creationTimeout"},
		{"no duration", span(time.Minute), "soon", time.Minute, time.Minute, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", Finalizers: []string{v1alpha1.FinalizerMachine}}}
			m.Spec.Class = v1alpha1.ClassSpec{Kind: "MachineClass", Name: "pool"}
			m.Spec.MachineConfiguration = &v1alpha1.MachineConfiguration{MachineCreationTimeout: c.spec}
			if c.annotation != "" {
				m.Annotations = map[string]string{key: c.annotation}
			}
			lens := gardener.Machines{Defaults: gardener.StandardDefaults()}
			if got := lens.Policy(m).Join.Timeout; got != c.join {
				t.Errorf("%s: may take %v to join, want %v", c.reason, got, c.join)
			}
			scheme := fake.NewClientBuilder().Build().Scheme()
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			var r client.Reader = fake.NewClientBuilder().WithScheme(scheme).Build()
			class, _ := gardener.Resolver{Reader: r, Defaults: lens.Defaults}.Class(t.Context(), m)
			if class.TokenLifetime != c.token {
				t.Errorf("%s: the token lives for %v, want %v", c.reason, class.TokenLifetime, c.token)
			}
			said := lifecycle.Describe(lens.View(m).Faults)
			if (said == "") != (c.fault == "") || !strings.HasPrefix(said, c.fault) {
				t.Errorf("%s: faults %q, want %s", c.reason, said, c.fault)
			}
			m.Spec.ProviderID = "x"
			if faults := lens.View(m).Faults; len(faults) > 0 {
				t.Errorf("%s: a machine that has its instance is not looked after: %v", c.reason, faults)
			}
			m.DeletionTimestamp = &metav1.Time{Time: time.Now()}
			m.Spec.ProviderID = ""
			d := lifecycle.Decide(time.Now(), lens.View(m), lifecycle.World{Instances: lifecycle.Instances{Looked: true}, Node: lifecycle.Node{Looked: true}}, lens.Policy(m))
			if d.Step != lifecycle.Terminate {
				t.Errorf("%s: on deletion %s, want Terminate", c.reason, d.Step)
			}
		})
	}
}
