package sim

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
)

// hostileSetting makes worlds with hostile kubelets, and with machines that wait for their nodes.
func hostileSetting(c *profile) {
	c.wider = wider{compromisedProfile: compromisedProfile{hostile: true, unrestricted: true, unforetold: true}, trouble: 30}
	c.deployments, c.sets, c.singles, c.apps, c.viewLag, c.tokens = 0, 3, 0, 0, 0, false
}

// compromisedMutants are defects that show only with hostile kubelets.
func compromisedMutants() []Mutation {
	return []Mutation{
		{
			Name: "a node is whose it says that it is", Finds: []string{judge.OwnNode}, Setting: hostileSetting, Dialects: []string{OpenShift},
			Client: func(c client.Client, live client.Reader) (client.Client, client.Reader) {
				return nodeNameBlind{c}, live
			},
		},
		{
			Name: "the words of a node are copied without bounds", Finds: []string{judge.Bounded}, Setting: hostileSetting, Dialects: []string{Gardener},
			Record: copyNodeConditions,
		},
	}
}

// nodeNameBlind finds no machine by the name of its node.
type nodeNameBlind struct{ client.Client }

// List implements [client.Reader].
func (c nodeNameBlind) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.Client.List(ctx, list, opts...); err != nil {
		return err
	}
	if f := (&client.ListOptions{}).ApplyOptions(opts).FieldSelector; f != nil && strings.Contains(f.String(), "=name/") {
		return meta.SetList(list, []runtime.Object{})
	}
	return nil
}

// copyNodeConditions copies all conditions of the Node.
func copyNodeConditions(o client.Object, out lifecycle.Outcome) {
	if m, ok := o.(*v1alpha1.Machine); ok && out.World.Node.Object != nil {
		m.Status.Conditions = out.World.Node.Object.DeepCopy().Status.Conditions
	}
}
