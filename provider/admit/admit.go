// Package admit defines how webhooks check the specs of an infrastructure, without its SDK.
package admit

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Admitter checks the specs of one infrastructure when they are written, before a machine is created from
// them. It is pure, needs neither session nor credentials, and is linked into webhooks without the
// infrastructure's SDK.
type Admitter interface {
	// Kinds are the kinds that a spec may have, the current one first. A spec of another kind is read
	// anyway, with a warning.
	Kinds() []schema.GroupVersionKind
	// Default returns the spec with defaults filled in, as JSON in which every other field is unchanged,
	// unknown fields included. If the spec cannot be decoded, the error is Invalid.
	Default(a Request) ([]byte, error)
	// Admit returns the faults of the spec, and warnings about values that are accepted but probably not
	// intended. Paths are below a.Path, unless the original of the infrastructure uses another name for a
	// field ("spec.placement.host"): clients look for the name that they know. A spec that cannot be
	// decoded is one fault at a.Path.
	Admit(a Request) (warnings []string, faults field.ErrorList)
}

// SpecShaper is implemented by an [Admitter] that leaves warnings about unknown fields to its caller. Any
// other Admitter warns of them itself, or has none.
type SpecShaper interface {
	// SpecShape returns a pointer to an empty spec, to be decoded into.
	SpecShape() any
}

// Request is a spec to check, with what is known about its machine and cluster.
type Request struct {
	// Spec is the machine's or the template's, as JSON; never empty.
	Spec []byte
	// Path is the place of the spec in its object: "providerSpec".
	Path *field.Path
	// Machine is the name of the machine; empty: the spec is a template's.
	Machine string
	// ControlPlane: the machine belongs to the control plane, by its labels. False for templates.
	ControlPlane bool
	Platform     Platform
}

// Platform describes the infrastructure of the cluster. Empty: not known.
type Platform struct {
	// ID is the cluster's name there, from which the names of networks, images and groups are built.
	ID string
	// Architecture is the default of machines: "amd64" or "arm64".
	Architecture string
	// Region is the cluster's, Cloud one of several clouds of the infrastructure ("AzurePublicCloud"),
	// Project the account of the cluster.
	Region, Cloud, Project string
	// NoPublicZone: the cluster has no public DNS zone, and is not reachable from outside.
	NoPublicZone bool
	// Gates are the enabled feature gates.
	Gates map[string]bool
}
