package sim

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/sim/judge"
)

// apiMutants are defects that only show where there are machines of both APIs.
func apiMutants() []Mutation {
	return []Mutation{
		{
			Name: "the collector does not know the machines of the other API", Finds: []string{judge.WantedKept}, Dialects: []string{Both},
			Setting: func(c *character) { lossy(c); c.together = false },
			Policy:  careless, Secluded: true,
		},
		{
			Name: "a node belongs to whatever machine has its name", Finds: []string{judge.NodesApart}, Dialects: []string{Both},
			Setting: func(c *character) { c.wider, c.deployments, c.sets, c.singles, c.ccm = wider{}, 0, 0, 3, false },
			Client:  nameless,
		},
	}
}

// nameless does not see whose instance a node is.
func nameless(c client.Client, live client.Reader) (client.Client, client.Reader) {
	hide := func(o client.Object) bool {
		if n, ok := o.(*corev1.Node); ok {
			n.Spec.ProviderID = ""
		}
		return false
	}
	return editing{c, hide}, live
}
