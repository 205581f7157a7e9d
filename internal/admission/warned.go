package admission

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	healthchecking "github.com/millwright-dev/millwright/api/openshift/healthchecking/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
)

// warnedKinds are the kinds of which no object is refused, in any API: their originals have no webhooks.
var warnedKinds = map[string]bool{"MachineDeployment": true, "MachineHealthCheck": true, "MachineClass": true}

// warned are the empty objects of those kinds, by the path of their webhook:
// "/warn-machine-openshift-io-v1beta1-machinedeployment". The older kind of health check belongs to no API
// of machines.
func warned() map[string]func() client.Object {
	out := map[string]func() client.Object{}
	add := func(group, version, kind string, newObject func() client.Object) {
		out["/warn-"+strings.ReplaceAll(group, ".", "-")+"-"+version+"-"+strings.ToLower(kind)] = newObject
	}
	for _, a := range apis.All {
		for _, k := range a.Kinds {
			if warnedKinds[k.Name] {
				add(a.Name, a.Version, k.Name, k.New)
			}
		}
	}
	add(healthchecking.GroupName, healthchecking.GroupVersion.Version, healthchecking.KindMachineHealthCheck, func() client.Object { return &healthchecking.MachineHealthCheck{} })
	return out
}
