package dialect

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// What follows are lenses that have forgotten their types, so that one table can list those
// of every API, and wiring can range over it. Given an object of another kind they panic.

// AnyMachines is a lens of machines for [client.Object].
func AnyMachines[M client.Object](lens Machines[M]) Machines[client.Object] {
	return anyMachines[M]{lens}
}

type anyMachines[M client.Object] struct{ lens Machines[M] }

func (a anyMachines[M]) Unwrap() any                { return a.lens }
func (a anyMachines[M]) API() string                { return a.lens.API() }
func (a anyMachines[M]) New() client.Object         { return a.lens.New() }
func (a anyMachines[M]) NewList() client.ObjectList { return a.lens.NewList() }

func (a anyMachines[M]) Group(m client.Object) (key, value string) { return a.lens.Group(m.(M)) }

func (a anyMachines[M]) View(m client.Object) lifecycle.Machine { return a.lens.View(m.(M)) }

func (a anyMachines[M]) Policy(m client.Object) lifecycle.Policy { return a.lens.Policy(m.(M)) }

func (a anyMachines[M]) Want(m client.Object, c Class) node.Want { return a.lens.Want(m.(M), c) }

func (a anyMachines[M]) Record(m client.Object, o lifecycle.Outcome) { a.lens.Record(m.(M), o) }

func (a anyMachines[M]) Events(before, after client.Object, o lifecycle.Outcome) []Event {
	return a.lens.Events(before.(M), after.(M), o)
}
