// Package admit is how webhooks judge the specs of an infrastructure, without its SDK.
package admit

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Admitter judges the specs of one infrastructure as they are written, before any machine is made of
// them. It is pure, needs neither session nor credentials, and is linked into webhooks without the
// infrastructure's SDK.
type Admitter interface {
	// Kinds are those that a spec may call itself, the present one first; a spec that calls itself
	// otherwise is read all the same, with a warning.
	Kinds() []schema.GroupVersionKind
	// Default returns the spec with defaults filled in, as JSON that has every other field as it was,
	// unknown ones too. It is an Invalid error if the spec cannot be decoded.
	Default(a Request) ([]byte, error)
	// Admit returns what is wrong with the spec, and warnings for what is accepted and probably not
	// meant. Paths are below a.Path, unless the original of the infrastructure calls a field otherwise
	// ("spec.placement.host"): what clients look for is as they know it. A spec that cannot be decoded is one fault at a.Path.
	Admit(a Request) (warnings []string, faults field.ErrorList)
}

// SpecShaper is what an [Admitter] also is that leaves it to its caller to warn of fields which no spec
// of the infrastructure has. Any other warns of them itself, or knows none.
type SpecShaper interface {
	// SpecShape returns a pointer to an empty spec, to be decoded into.
	SpecShape() any
}

// Request is a spec to be judged, and what is known where it is written.
type Request struct {
	// Spec is the machine's or the template's, as JSON; never empty.
	Spec []byte
	// Path is where people find it: "providerSpec".
	Path *field.Path
	// Machine is the name of the machine; empty: the spec is a template's.
	Machine string
	// ControlPlane: the machine is of the control plane, by its labels. False for templates.
	ControlPlane bool
	Platform     Platform
}

// Platform is what the cluster says of the infrastructure that it runs on. Empty: not known.
type Platform struct {
	// ID is the cluster's name there, of which names of networks, images and groups are made.
	ID string
	// Architecture is the default one of machines: "amd64" or "arm64".
	Architecture string
	// Region is the cluster's, Cloud the one of several clouds of the infrastructure
	// ("AzurePublicCloud"), Project the account of the cluster.
	Region, Cloud, Project string
	// NoPublicZone: the cluster has no public DNS zone, and no way in from outside.
	NoPublicZone bool
	// Gates are the feature gates that are on.
	Gates map[string]bool
}
