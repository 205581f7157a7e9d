package lifecycle

import "github.com/millwright-dev/millwright/provider"

// Origin is where a machine's instance was requested. It is stored on the machine before Create is called for
// the first time, and counts from then on: labels, classes and flags may have changed by the time that the
// instance is looked for.
type Origin struct {
	// Cluster is the ownership scope of the class ([provider.Class]). It is empty as long as Create was
	// certainly never called.
	Cluster string `json:"cluster,omitempty"`
	// Region and Zone are those of the class.
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
	// Account is the account of the credentials ([provider.Session]); empty if the infrastructure does not
	// report it.
	Account string `json:"account,omitempty"`
	// ChosenZone is the zone of the instance if the class leaves the choice to us: the owner's machines are
	// spread by it. It does not restrict where to look.
	ChosenZone string `json:"chosenZone,omitempty"`
}

// Asked reports whether Create may have been called for the machine: each process adds finalizer and origin
// before. For a machine with only the finalizer it is unknown: another implementation, or an earlier version,
// processed it.
func (m Machine) Asked() bool {
	if m.Recorded.Origin == nil {
		return m.HasFinalizer
	}
	return m.HasOrigin()
}

// HasOrigin reports whether the machine has stored where its instance is requested.
func (m Machine) HasOrigin() bool { return m.Recorded.Origin != nil && m.Recorded.Origin.Cluster != "" }

// Elsewhere returns why an empty answer means nothing: the credentials are for another account than the one
// in which the instance was requested. It is nil if that is not so, or unknown.
func (o *Origin) Elsewhere(account string) error {
	if o == nil || o.Account == "" || account == "" || o.Account == account {
		return nil
	}
	return provider.Errorf(provider.Denied,
		"the credentials are for account %q, and the instance was requested in account %q: a missing instance proves nothing; restore the credentials of that account",
		account, o.Account)
}
