package drain

import (
	"maps"

	"k8s.io/apimachinery/pkg/types"
)

// A Memory is a value: each method returns a changed copy.

// After returns m with the results of requests.
func (m Memory) After(came Attempts) Memory {
	all := maps.Clone(m.Attempts)
	if all == nil {
		all = Attempts{}
	}
	maps.Copy(all, came)
	m.Attempts = all
	return m
}

// Of returns m without the attempts on pods and attachments that no longer exist.
func (m Memory) Of(f Facts) Memory {
	there := Attempts{}
	keep := func(uid types.UID) {
		if a, ok := m.Attempts[uid]; ok {
			there[uid] = a
		}
	}
	for i := range f.Pods {
		keep(f.Pods[i].UID)
	}
	for i := range f.Attachments {
		keep(f.Attachments[i].UID)
	}
	m.Attempts = there
	return m
}

// Doubting returns m without the records of deleted pods.
func (m Memory) Doubting() Memory {
	left := maps.Clone(m.Attempts)
	maps.DeleteFunc(left, func(_ types.UID, a Attempt) bool { return a.Gone })
	m.Attempts = left
	return m
}
