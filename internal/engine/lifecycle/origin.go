package lifecycle

import (
	"time"

	"github.com/millwright-dev/millwright/provider"
)

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
	open := m.Recorded.Requests.Open()
	return m.HasOrigin() || open != nil && open.Assumed
}

// AssumeRequest returns the known requests of m. A set's machine says from its birth that no instance was requested, and its status
// says more from the first request on. If the machine is deleted and has no status, no controller has reconciled it, or a client
// has removed the status with the request: then one request is assumed, so that the machine is released only after the
// infrastructure has answered.
func (m Machine) AssumeRequest(known Requests) Requests {
	unborn := m.Recorded.Origin != nil && !m.HasOrigin() && m.Stage == "" && !m.Recorded.Provisioned
	if len(known) > 0 || m.Deleted.IsZero() || !m.HasFinalizer || !unborn {
		return known
	}
	return Requests{{Number: 1, At: m.Created.UTC().Truncate(time.Second), Assumed: true}}
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
