package apis

import (
	"cmp"
	"encoding/json"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Place returns the zone and the type of a machine's instance, from its node, else from its own labels, else from its provider spec: a
// machine without an instance has the place where its instance is to be created.
func Place(m client.Object, n *corev1.Node) (zone, instanceType string) {
	from := []map[string]string{m.GetLabels()}
	if n != nil {
		from = []map[string]string{n.Labels, m.GetLabels()}
	}
	zone, instanceType = firstOf(from, ZoneLabels), firstOf(from, TypeLabels)
	if zone != "" && instanceType != "" {
		return zone, instanceType
	}
	declared := declaredPlace(m)
	return cmp.Or(zone, declared.Zone, declared.AvailabilityZone, declared.Placement.AvailabilityZone),
		cmp.Or(instanceType, declared.InstanceType, declared.VMSize, declared.MachineType, declared.Flavor, declared.Profile)
}

// place has the fields of provider specs of machine.openshift.io for a zone and a type, as the infrastructures name them. The specs of
// machine.sapcloud.io are in classes.
type place struct {
	Zone, AvailabilityZone                             string
	InstanceType, VMSize, MachineType, Flavor, Profile string
	Placement                                          struct{ AvailabilityZone string }
}

// declaredPlace returns what the provider spec of a machine declares, as far as it can be read.
func declaredPlace(m client.Object) (p place) {
	if o, is := m.(*machinev1.Machine); is && o.Spec.ProviderSpec.Value != nil {
		if err := json.Unmarshal(o.Spec.ProviderSpec.Value.Raw, &p); err != nil {
			return place{}
		}
	}
	return p
}

func firstOf(from []map[string]string, keys []string) string {
	for _, labels := range from {
		for _, key := range keys {
			if value := labels[key]; value != "" {
				return value
			}
		}
	}
	return ""
}

// Named returns an empty object with the namespace and the name of an owner such as "MachineSet/mill"; nil if the API
// does not have its kind.
func Named(api, namespace, named string) client.Object {
	kind, name, _ := strings.Cut(named, "/")
	a, _ := Of(api)
	for _, k := range a.Kinds {
		if k.Name == kind {
			o := k.New()
			o.SetNamespace(namespace)
			o.SetName(name)
			return o
		}
	}
	return nil
}
