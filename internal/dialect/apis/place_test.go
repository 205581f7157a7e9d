package apis_test

import (
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
)

func TestPlace(t *testing.T) {
	labelled := map[string]string{corev1.LabelTopologyZone: "node-zone", corev1.LabelInstanceTypeStable: "node-type"}
	for _, c := range []struct{ name, spec, zone, kind string }{
		{"aws", `{"instanceType": "m5.large", "placement": {"availabilityZone": "us-east-1a", "region": "us-east-1"}}`, "us-east-1a", "m5.large"},
		{"azure", `{"vmSize": "Standard_D4s_v3", "zone": "2"}`, "2", "Standard_D4s_v3"},
		{"gcp", `{"machineType": "n2-standard-4", "zone": "us-east1-b"}`, "us-east1-b", "n2-standard-4"},
		{"openstack", `{"flavor": "m1.xlarge", "availabilityZone": "nova"}`, "nova", "m1.xlarge"},
		{"ibmcloud", `{"profile": "bx2-4x16", "zone": "us-south-1"}`, "us-south-1", "bx2-4x16"},
		{"several zones", `{"zones": ["a", "b"], "instanceType": "large"}`, "", "large"},
		{"another form", `{"flavor": {"name": "x"}}`, "", ""},
		{"no spec", ``, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &machinev1.Machine{}
			if c.spec != "" {
				m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(c.spec)}
			}
			if zone, kind := apis.Place(m, nil); zone != c.zone || kind != c.kind {
				t.Errorf("got %q, %q", zone, kind)
			}
			n := &corev1.Node{}
			n.Labels = labelled
			if zone, kind := apis.Place(m, n); zone != "node-zone" || kind != "node-type" {
				t.Errorf("with a node: %q, %q", zone, kind)
			}
		})
	}
}
