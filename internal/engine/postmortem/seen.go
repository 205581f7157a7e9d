package postmortem

import "time"

// Seen is a machine's instance as its object shows it: the facts that the controller stored when it last saw a change.
type Seen struct {
	// At is when the status of the object was last changed; zero: that is not stored.
	At    time.Time `json:"at,omitzero"`
	Facts []Fact    `json:"facts"`
	// Said are statements of the infrastructure, such as conditions.
	Said []Statement `json:"said,omitempty"`
}

// Fact is one fact about an instance.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Where is where it is stored ("status.providerStatus").
	Where string `json:"where,omitempty"`
}

// Add adds a fact, unless it has no value.
func (s *Seen) Add(name, value, where string) {
	if value != "" {
		s.Facts = append(s.Facts, Fact{name, value, where})
	}
}
