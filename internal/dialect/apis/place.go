package apis

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Place returns the zone and the type of a machine's instance, from its node or else from its own labels.
func Place(m client.Object, n *corev1.Node) (zone, instanceType string) {
	from := []map[string]string{m.GetLabels()}
	if n != nil {
		from = []map[string]string{n.Labels, m.GetLabels()}
	}
	return firstOf(from, ZoneLabels), firstOf(from, TypeLabels)
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
