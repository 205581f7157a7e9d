package live

import (
	"cmp"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// Sample is how many machines the sets of a deployment have at a time.
type Sample struct {
	At time.Time `json:"at"`
	// Created says that the numbers follow from the creation times of machines that exist later: machines that were
	// deleted in between are missing, and how many were available is unknown.
	Created bool `json:"created,omitempty"`
	// Sets are ordered by their IDs.
	Sets []SetSample `json:"sets"`
}

// SetSample is how many machines a set has, those in deletion included.
type SetSample struct {
	ID        string `json:"id"`
	Machines  int    `json:"machines"`
	Available int    `json:"available"`
	Deleting  int    `json:"deleting"`
}

// mostSamples is how many samples of a deployment are kept.
const mostSamples = 240

// tracks are the samples of each deployment, by its UID.
type tracks map[string][]Sample

// forget drops the samples of deployments that do not exist any more.
func (t tracks) forget(rows map[string]Row) {
	for id := range t {
		if rows[id].ID == "" {
			delete(t, id)
		}
	}
}

// sample records the machines of each deployment of which all sets and machines were read.
func (f *feed) sample(now time.Time, all []collect.Explained) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range all {
		if e.Rollout != nil {
			f.tracks.add(string(e.Object.GetUID()), SampleOf(now, *e.Rollout))
		}
	}
}

// SampleOf counts the machines of a deployment as its controller does.
func SampleOf(now time.Time, r explain.Rollout) Sample {
	out := Sample{At: now}
	for _, s := range r.Sets {
		n := SetSample{ID: string(s.UID), Machines: len(s.Machines)}
		for _, m := range s.Machines {
			switch {
			case !m.Counts():
				n.Deleting++
			case m.Available(now, r.Policy.MinReady):
				n.Available++
			}
		}
		out.Sets = append(out.Sets, n)
	}
	slices.SortFunc(out.Sets, func(a, b SetSample) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// add keeps a sample that differs from the last one. If there are too many, it keeps every second one of the older
// half, so that the past becomes less detailed with its age.
func (t tracks) add(deployment string, s Sample) {
	all := t[deployment]
	if n := len(all); n > 0 && slices.Equal(all[n-1].Sets, s.Sets) {
		return
	}
	if all = append(all, s); len(all) > mostSamples {
		all = append(sparse(all[:mostSamples/2]), all[mostSamples/2:]...)
	}
	t[deployment] = all
}

// sparse is the first and then every second of these samples.
func sparse(all []Sample) []Sample {
	out := make([]Sample, 0, mostSamples)
	for i := 0; i < len(all); i += 2 {
		out = append(out, all[i])
	}
	return out
}

func (f *feed) samples(deployment string) []Sample {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.tracks[deployment])
}

// Past are samples of the time before, from the creation times of the machines of the sets: one for each time at which
// machines were created.
func Past(sets []rollout.Set, before time.Time) (out []Sample) {
	type birth struct {
		at  time.Time
		set int
	}
	var births []birth
	sets = slices.SortedFunc(slices.Values(sets), func(a, b rollout.Set) int { return cmp.Compare(a.UID, b.UID) })
	now := make([]SetSample, len(sets))
	for i, s := range sets {
		now[i].ID = string(s.UID)
		for _, m := range s.Machines {
			if m.Created.Before(before) {
				births = append(births, birth{m.Created, i})
			}
		}
	}
	slices.SortFunc(births, func(a, b birth) int { return a.at.Compare(b.at) })
	for i, b := range births {
		now[b.set].Machines++
		if i+1 < len(births) && births[i+1].at.Equal(b.at) {
			continue
		}
		out = append(out, Sample{At: b.at, Created: true, Sets: slices.Clone(now)})
	}
	for len(out) > mostSamples {
		last := out[len(out)-1]
		out = append(sparse(out[:len(out)-1]), last)
	}
	return out
}
