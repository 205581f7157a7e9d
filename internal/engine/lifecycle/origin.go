package lifecycle

import "github.com/millwright-dev/millwright/provider"

// Origin is where a machine's instance was asked for. It is stored on the
// machine before Create is called for the first time, and counts from then on:
// labels, classes and flags may say otherwise by the time that the instance is
// looked for.
type Origin struct {
	// Cluster is the ownership scope of the class ([provider.Class]). It is
	// empty while Create was certainly never called.
	Cluster string `json:"cluster,omitempty"`
	// Region and Zone are those of the class.
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
	// Account is what the credentials opened ([provider.Session]); empty where
	// the infrastructure does not tell.
	Account string `json:"account,omitempty"`
	// ChosenZone is where the instance was made, where the class left that to us: by
	// it the owner's machines are spread. It says nothing of where to look.
	ChosenZone string `json:"chosenZone,omitempty"`
}

// Asked reports whether Create may have been called for the machine: each process puts
// finalizer and origin in place before. Nobody knows it of a machine that has the finalizer
// alone: another implementation, or an earlier version, had it in hand.
func (m Machine) Asked() bool {
	if m.Recorded.Origin == nil {
		return m.HasFinalizer
	}
	return m.HasOrigin()
}

// HasOrigin reports whether the machine keeps where its instance is asked for.
func (m Machine) HasOrigin() bool { return m.Recorded.Origin != nil && m.Recorded.Origin.Cluster != "" }

// Elsewhere says why an empty answer means nothing: the credentials open
// another account than the one in which the instance was asked for. It is nil
// where that is not so, or is not known.
func (o *Origin) Elsewhere(account string) error {
	if o == nil || o.Account == "" || account == "" || o.Account == account {
		return nil
	}
	return provider.Errorf(provider.Denied,
		"the credentials open account %q, and the instance was asked for in account %q: nothing is concluded from what is not there; put the credentials of that account back",
		account, o.Account)
}
