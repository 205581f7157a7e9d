package machine

import (
	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
)

// passFacts are what a pass knows so far about its machine and the outside. Functions that read or act get a
// copy and return their results as facts: only the pass itself stores them.
type passFacts[M client.Object] struct {
	*Reconciler[M]
	log logr.Logger
	// own reads the machine, and writes it.
	own *readyourwrites.Client
	mem *remembered
	// m is the object as the pass last saved it, found the object as the pass read it.
	m     M
	found M

	// view has the known facts about the machine, was those of the object at first.
	view   lifecycle.Machine
	was    lifecycle.Machine
	policy lifecycle.Policy
	infra  infrastructure
	world  lifecycle.World
}

func (k *passFacts[M]) instance() *provider.Instance {
	return k.world.Instances.Of(k.view.Recorded.ProviderID)
}

func (k *passFacts[M]) ref() provider.Ref {
	return provider.Ref{UID: k.view.UID, Namespace: k.view.Namespace, Name: k.view.Name, ProviderID: k.view.Recorded.ProviderID}
}

func (k *passFacts[M]) instances() *instances[M] { return &instances[M]{*k} }

func (k *passFacts[M]) target() *target[M] { return &target[M]{passFacts: *k} }

func (k *passFacts[M]) token() token[M] { return token[M]{*k} }

func (k *passFacts[M]) object() object[M] { return object[M]{*k} }

func (k *passFacts[M]) eventReporter() eventReporter[M] { return eventReporter[M]{*k} }

func (k *passFacts[M]) otherMachines() otherMachines[M] {
	return otherMachines[M]{Reconciler: k.Reconciler, mine: &k.view, infra: &k.infra, targetless: k.policy.Targetless}
}

// want is the state that the machine wants for its node. The offered capacity is in the class: while that
// is unreadable, the capacity stays as it is.
func (k *passFacts[M]) want() node.Want {
	w := k.Dialect.Want(k.m, k.infra.class)
	if k.world.Session.Err != nil {
		w.CapacityKey = ""
	}
	if w.AppliedKey != "" {
		w = w.Remembering(k.m.GetAnnotations())
	}
	return w
}
