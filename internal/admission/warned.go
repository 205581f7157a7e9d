package admission

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
)

// warnedKinds are those of which nothing is refused, in any API: their originals have no webhooks.
var warnedKinds = map[string]bool{"MachineDeployment": true, "MachineHealthCheck": true, "MachineClass": true}

// warned are the empty objects of those kinds, by the path at which they are judged:
// "/warn-machine-openshift-io-v1beta1-machinedeployment".
func warned() map[string]func() client.Object {
	out := map[string]func() client.Object{}
	for _, a := range apis.All {
		for _, k := range a.Kinds {
			if warnedKinds[k.Name] {
				out["/warn-"+strings.ReplaceAll(a.Name, ".", "-")+"-"+a.Version+"-"+strings.ToLower(k.Name)] = k.New
			}
		}
	}
	return out
}
