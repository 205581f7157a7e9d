package live

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/departures"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// Departed is a machine that was deleted, as pages show it.
type Departed struct {
	postmortem.Departure
	// Words says why it was deleted, as a clause; empty if that is not known.
	Words string `json:"words,omitempty"`
}

// departuresAge is how often the feed reads the stored departures.
const departuresAge = 30 * time.Second

// departed are the deleted machines of the last 24 hours.
type departed struct {
	// leaving are the machines in deletion, seen those that the watch has seen deleted, each by its UID.
	leaving, seen map[string]postmortem.Departure
	// stored are those that the cluster stores, as they were read last.
	stored []postmortem.Departure
	read   time.Time
	// rows are the deleted machines, the newest first; changed are those that watchers do not have yet.
	rows    []postmortem.Departure
	changed []postmortem.Departure
	gaps    []collect.Gap
}

// depart notes that a machine was deleted; last is its last known object.
func (f *feed) depart(last client.Object) {
	d := departures.Of(last, nil)
	if d.UID == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d.Deleted = f.clock.Now().UTC().Truncate(time.Second)
	if d.Requested.IsZero() { // it had no finalizer
		d.Requested = d.Deleted
	}
	if r := f.rows[d.UID]; r.ID != "" {
		d.Zone, d.Type = cmp.Or(d.Zone, r.Zone), cmp.Or(d.Type, r.Type)
	}
	d = d.With(f.departed.leaving[d.UID])
	delete(f.departed.leaving, d.UID)
	if f.departed.seen == nil {
		f.departed.seen = map[string]postmortem.Departure{}
	}
	f.departed.seen[d.UID] = d
}

// departing looks at the machines in deletion for the first time, and at the deleted ones without a cause: their owners
// show the cause soon after the request.
func (f *feed) departing(all []collect.Explained) {
	kin := sync.OnceValue(func() kin { return kinOf(all) }) // most looks do not need it
	f.mu.Lock()
	defer f.mu.Unlock()
	leaving := map[string]postmortem.Departure{}
	for _, e := range all {
		if e.Kind != "Machine" || e.Object.GetDeletionTimestamp() == nil {
			continue
		}
		uid := string(e.Object.GetUID())
		d, known := f.departed.leaving[uid]
		if !known {
			d = departures.Of(e.Object, e.Machine.Node)
			d = departures.FromFamily(d, kin().family(e.Object))
		}
		leaving[uid] = d
	}
	f.departed.leaving = leaving
	for uid, d := range f.departed.seen {
		if d.Cause == "" && d.Source == "" {
			f.departed.seen[uid] = departures.FromFamily(d, kin().named(d))
		}
	}
}

// kin are the sets, deployments and machines of a fleet.
type kin struct {
	byUID    map[types.UID]client.Object
	byName   map[string]client.Object
	children map[types.UID][]client.Object
}

func kinOf(all []collect.Explained) kin {
	k := kin{byUID: map[types.UID]client.Object{}, byName: map[string]client.Object{}, children: map[types.UID][]client.Object{}}
	for _, e := range all {
		if e.Kind != "Machine" {
			k.byUID[e.Object.GetUID()] = e.Object
			k.byName[e.API+"/"+e.Namespace+"/"+e.Kind+"/"+e.Name] = e.Object
		} else if o := metav1.GetControllerOfNoCopy(e.Object); o != nil {
			k.children[o.UID] = append(k.children[o.UID], e.Object)
		}
	}
	return k
}

func (k kin) family(machine client.Object) departures.Family {
	o := metav1.GetControllerOfNoCopy(machine)
	if o == nil {
		return departures.Family{}
	}
	return k.of(k.byUID[o.UID])
}

// named is the family of a machine that does not exist any more.
func (k kin) named(d postmortem.Departure) departures.Family {
	return k.of(k.byName[d.API+"/"+d.Namespace+"/"+d.Owner])
}

func (k kin) of(set client.Object) departures.Family {
	if set == nil {
		return departures.Family{}
	}
	f := departures.Family{Set: set, Machines: k.children[set.GetUID()]}
	if o := metav1.GetControllerOfNoCopy(set); o != nil {
		f.Deployment = k.byUID[o.UID]
	}
	return f
}

// readDepartures reads the stored departures while a page is open, at most every departuresAge. The texts are about what
// could not be read.
func (f *feed) readDepartures(ctx context.Context, now time.Time) (texts []string) {
	f.mu.Lock()
	fresh := !f.departed.read.IsZero() && (now.Sub(f.departed.read) < departuresAge || len(f.watchers) == 0)
	f.mu.Unlock()
	if !fresh {
		stored, gaps := collect.Departures(ctx, now, f.clusters, f.question)
		f.mu.Lock()
		f.departed.stored, f.departed.read, f.departed.gaps = stored, now, gaps
		f.mu.Unlock()
	}
	for _, g := range f.departed.gaps { // only run writes them
		texts = append(texts, "deleted machines: "+g.Text)
	}
	return texts
}

// mergeDeparted updates the list of deleted machines. Machines that exist are not deleted. The lock is held.
func (f *feed) mergeDeparted(now time.Time, exist map[string]Row) {
	all := make([]postmortem.Departure, 0, len(f.departed.seen)+len(f.departed.stored))
	for _, uid := range slices.Sorted(maps.Keys(f.departed.seen)) {
		all = append(all, f.departed.seen[uid])
	}
	rows := postmortem.Newest(now, slices.DeleteFunc(append(all, f.departed.stored...), func(d postmortem.Departure) bool { return exist[d.UID].ID != "" }))
	before := make(map[string]postmortem.Departure, len(f.departed.rows))
	for _, d := range f.departed.rows {
		before[d.UID] = d
	}
	kept := make(map[string]bool, len(rows))
	f.departed.changed = nil
	for _, d := range rows {
		kept[d.UID] = true
		if before[d.UID] != d {
			f.departed.changed = append(f.departed.changed, d)
		}
	}
	maps.DeleteFunc(f.departed.seen, func(uid string, _ postmortem.Departure) bool { return !kept[uid] })
	f.departed.rows = rows
}

func departedRows(all []postmortem.Departure) (out []Departed) {
	for _, d := range all {
		out = append(out, Departed{d, d.Words()})
	}
	return out
}

// Departures are the machines of the last 24 hours that were deleted, the newest first, with what the watches have seen.
func (f *Fleet) Departures() []postmortem.Departure {
	if f.feed == nil {
		return nil
	}
	f.feed.mu.Lock()
	defer f.feed.mu.Unlock()
	return f.feed.departed.rows
}
