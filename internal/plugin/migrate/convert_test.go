package migrate

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/plugin/connect"
	libvirt "github.com/millwright-dev/millwright/providers/libvirt/spec"
	metal3 "github.com/millwright-dev/millwright/providers/metal3/spec"
)

// TestRoundTrip: a set that moves to the other API and back has the same spec, and both APIs' decoders accept the specs in between.
func TestRoundTrip(t *testing.T) {
	decoded := func(decode func([]byte) error) func(t *testing.T, raw []byte) {
		return func(t *testing.T, raw []byte) {
			t.Helper()
			if err := decode(raw); err != nil {
				t.Errorf("%s: %v", raw, err)
			}
		}
	}
	for _, c := range []struct {
		name, spec, provider, userData, credentials string
		accepts                                     func(t *testing.T, raw []byte)
	}{
		{
			"kubemark", `{"apiVersion":"kubemarkproviderconfig.k8s.io/v1beta1","kind":"KubemarkMachineProviderConfig","instanceType":"large","zones":["a","b"],"userDataSecret":{"name":"data"},"credentialsSecret":{"name":"keys"}}`,
			"kubemark", "data", "keys", decoded(func([]byte) error { return nil }),
		},
		{
			"metal3", `{"apiVersion":"baremetal.cluster.k8s.io/v1alpha1","kind":"BareMetalMachineProviderSpec","customDeploy":{"method":"install_coreos"},"hostSelector":{"matchLabels":{"role":"worker"}},"userData":{"name":"data"}}`,
			"Metal3", "data", "", decoded(func(raw []byte) error { _, err := metal3.DecodeGardener(raw); return err }),
		},
		{
			"libvirt", `{"apiVersion":"libvirtproviderconfig.openshift.io/v1beta1","kind":"LibvirtMachineProviderConfig","domainMemory":1024,"domainVcpu":2,"volume":{"baseVolumeID":"base"},"ignition":{"userDataSecret":"data"}}`,
			"libvirt", "data", "", decoded(func(raw []byte) error {
				decoder := json.NewDecoder(bytes.NewReader(raw))
				decoder.DisallowUnknownFields()
				return decoder.Decode(&libvirt.Config{})
			}),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := fake.NewClientBuilder().WithScheme(connect.Scheme()).Build()
			set := &machinev1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}}
			set.Spec.Template.Labels = map[string]string{clusterLabel: "c", "pool": "s"}
			set.Spec.Selector.MatchLabels = map[string]string{"pool": "s"}
			set.Spec.Template.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(c.spec)}
			there := moved(t, r, openshift{}, gardener{}, set)
			class := gardenerBuilder{}.class(there).(*v1alpha1.MachineClass)
			c.accepts(t, class.ProviderSpec.Raw)
			if class.Provider != c.provider || class.SecretRef.Name != c.userData || (class.CredentialsSecretRef != nil) != (c.credentials != "") {
				t.Errorf("class %+v", class)
			}
			if err := r.Create(t.Context(), class); err != nil {
				t.Fatal(err)
			}
			back := moved(t, r, gardener{}, openshift{}, gardenerBuilder{}.set(there))
			back.Cluster = "c"
			got := openshiftBuilder{}.set(back).(*machinev1.MachineSet)
			var want, is map[string]any
			_ = json.Unmarshal([]byte(c.spec), &want) // it was decoded before
			if err := json.Unmarshal(got.Spec.Template.Spec.ProviderSpec.Value.Raw, &is); err != nil {
				t.Fatal(err)
			}
			if c.credentials == "" {
				delete(is, credentialsField) // a class has one Secret for both
			}
			if !reflect.DeepEqual(is, want) {
				t.Errorf("back in machine.openshift.io:\n%v, want\n%v", is, want)
			}
			if !reflect.DeepEqual(got.Spec.Selector, set.Spec.Selector) || !reflect.DeepEqual(got.Spec.Template.Labels, set.Spec.Template.Labels) {
				t.Errorf("selector %v, labels %v", got.Spec.Selector, got.Spec.Template.Labels)
			}
		})
	}
}

func moved(t *testing.T, r client.Reader, from, to half, set client.Object) Pool {
	t.Helper()
	p, err := from.pool(t.Context(), r, set)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = p.translated(to); err != nil {
		t.Fatal(err)
	}
	return p
}
