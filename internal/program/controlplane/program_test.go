package controlplane

import (
	"context"
	"errors"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/millwright-dev/millwright/internal/admission"
	"github.com/millwright-dev/millwright/provider/admit"
)

// TestDefaultsOfFlags: the flags have the defaults of the original (section 10 of docs/originals/controlplanemachineset.md).
func TestDefaultsOfFlags(t *testing.T) {
	c := Command(nil)
	for name, want := range map[string]string{
		"metrics-bind-address": ":8080", "health-probe-bind-address": ":8081", "webhook-port": "9443", "namespace": "openshift-machine-api", "metrics-secure": "true",
		"leader-elect": "true", "leader-elect-resource-name": "control-plane-machine-set-leader", "leader-elect-lease-duration": "2m17s", "apis": "[machine.openshift.io]",
		"webhook-cert-dir": "/tmp/k8s-webhook-server/serving-certs", "tls-min-version": "", "tls-cipher-suites": "", "kubeconfig": "", "concurrent-syncs": "1",
	} {
		f := c.Flags().Lookup(name)
		if f == nil || f.DefValue != want || f.Value.String() != want {
			t.Errorf("--%s: %+v, want %s", name, f, want)
		}
	}
	if c.Flags().Lookup("leader-elect-resource-lock") == nil {
		t.Error("--leader-elect-resource-lock is unknown")
	}
}

// TestDerivedTimes: the deadline and the pause of the lease follow from its duration, as in the original.
func TestDerivedTimes(t *testing.T) {
	o := &options{}
	c := Command(nil)
	c.ResetFlags()
	o.addFlags(c.Flags())
	if err := errors.Join(c.ParseFlags([]string{"--webhook-port=0", "--namespace=ns"}), o.check(), o.flags.Complete()); err != nil {
		t.Fatal(err)
	}
	e := o.flags.Election
	if e.LeaseDuration != leaseDuration || e.RenewDeadline.String() != "1m47s" || e.RetryPeriod.String() != "26s" || o.flags.NamespaceOf(o.flags.APIs[0]) != "ns" {
		t.Errorf("%+v, %s", e, o.flags.NamespaceOf(o.flags.APIs[0]))
	}
	if err := errors.Join(c.ParseFlags([]string{"--webhook-port=70000"}), o.check()); err == nil {
		t.Error("a port of 70000 is accepted")
	}
}

// types fills in an instance type.
type types struct{}

func (types) Kinds() []schema.GroupVersionKind                    { return nil }
func (types) Default(admit.Request) ([]byte, error)               { return []byte(`{"instanceType": "m5"}`), nil }
func (types) Admit(admit.Request) (w []string, f field.ErrorList) { return nil, nil }

// TestDefaultsOfMachines: an API server that does not answer is no absent default. A role that does not allow to read the DNS of the cluster is sufficient.
func TestDefaultsOfMachines(t *testing.T) {
	m := &machinev1beta1.Machine{}
	m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte("{}")}
	for about, c := range map[string]struct {
		err  error
		fine bool
	}{
		"no answer": {errors.New("no answer"), false},
		"forbidden": {apierrors.NewForbidden(schema.GroupResource{Resource: "dnses"}, "cluster", nil), true},
		"absent":    {apierrors.NewNotFound(schema.GroupResource{Resource: "dnses"}, "cluster"), true},
	} {
		objects := fake.NewSimpleDynamicClient(runtime.NewScheme())
		objects.PrependReactor("get", "dnses", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.err })
		d := &defaults{admitters: admission.Admitters{"AWS": types{}}, facts: admission.NewFacts(objects, given())}
		fill, err := d.at(context.Background())
		if (err == nil) != c.fine {
			t.Errorf("%s: %v", about, err)
		}
		if err != nil {
			continue
		}
		for platform, want := range map[configv1.PlatformType]string{configv1.AWSPlatformType: `{"instanceType": "m5"}`, "": "{}", configv1.GCPPlatformType: "{}"} {
			if raw, err := fill(platform, m); err != nil || string(raw) != want {
				t.Errorf("%s, %s: %s, %v", about, platform, raw, err)
			}
		}
	}
}
