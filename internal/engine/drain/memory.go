package drain

import (
	"maps"

	"k8s.io/apimachinery/pkg/types"
)

// A Memory is a value: whoever adds to one gets another, and what others hold stays as it is.

// After is m with what came of requests.
func (m Memory) After(came Attempts) Memory {
	all := maps.Clone(m.Attempts)
	if all == nil {
		all = Attempts{}
	}
	maps.Copy(all, came)
	m.Attempts = all
	return m
}

// Of is m without the attempts on pods and attachments that are not there any more.
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

// Doubting is m without the knowledge which pods are gone.
func (m Memory) Doubting() Memory {
	left := maps.Clone(m.Attempts)
	maps.DeleteFunc(left, func(_ types.UID, a Attempt) bool { return a.Gone })
	m.Attempts = left
	return m
}
