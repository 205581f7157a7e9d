package live

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// Row is one object of the fleet, as pages and tables show it.
type Row struct {
	// ID is the object's UID, Owner that of the object that controls it; empty if it has none.
	ID    string `json:"id"`
	Owner string `json:"owner,omitempty"`
	explain.Subject
	State    explain.State `json:"state"`
	Reason   string        `json:"reason,omitempty"`
	Sentence string        `json:"sentence,omitempty"`
	Next     string        `json:"next,omitempty"`
	// Because are the first causes of a state that is not healthy.
	Because []explain.Cause `json:"because,omitempty"`
	Created time.Time       `json:"created"`
	Deleted time.Time       `json:"deleted,omitzero"`
	// Phase is a machine's phase in the words of its API.
	Phase string `json:"phase,omitempty"`
	Node  string `json:"node,omitempty"`
	// Zone, Type and Provider are empty where neither machine nor node says them.
	Zone     string `json:"zone,omitempty"`
	Type     string `json:"type,omitempty"`
	Provider string `json:"provider,omitempty"`
	// Counts are those of a set or deployment; nil for other kinds.
	Counts *Counts `json:"counts,omitempty"`
}

// Counts are the numbers of machines of a set or deployment, from its spec and status.
type Counts struct {
	Wanted    int `json:"wanted"`
	Have      int `json:"have"`
	Updated   int `json:"updated"`
	Ready     int `json:"ready"`
	Available int `json:"available"`
}

// mostCauses is how many causes a row has: the page of the object has all.
const mostCauses = 2

// rowOf is the row of an object at the time now.
func rowOf(now time.Time, e collect.Explained) Row {
	said := apis.Said(e.Object)
	r := Row{
		ID: string(e.Object.GetUID()), Subject: e.Subject, State: e.State, Reason: e.Reason, Sentence: e.Sentence,
		Next: e.Next, Because: e.Because[:min(len(e.Because), mostCauses)], Created: e.Object.GetCreationTimestamp().Time, Phase: said.Phase,
	}
	if e.State == explain.Healthy { // a page with thousands of healthy machines shows no sentence about them
		r.Sentence, r.Next, r.Because = "", "", nil
	}
	if t := e.Object.GetDeletionTimestamp(); t != nil {
		r.Deleted = t.Time
	}
	if ref := metav1.GetControllerOfNoCopy(e.Object); ref != nil {
		r.Owner = string(ref.UID)
	}
	api, _ := apis.Of(e.API)
	switch e.Kind {
	case "Machine":
		recorded := e.Machine.View.Recorded
		r.Node = recorded.NodeName
		if scheme, _, ok := strings.Cut(recorded.ProviderID, ":"); ok { // IDs of Alibaba Cloud may have none
			r.Provider = scheme
		}
		r.Zone, r.Type = apis.Place(e.Object, e.Machine.Node)
	case "MachineSet":
		r.Counts = countsOf(said, api.Sets.View(e.Object).Replicas)
	case "MachineDeployment":
		r.Counts = countsOf(said, api.Deployments.View(e.Object, now).Replicas)
	}
	return r
}

func countsOf(said dialect.Said, wanted int) *Counts {
	c := said.Counts
	return &Counts{Wanted: wanted, Have: c.Have, Updated: c.Updated, Ready: c.Ready, Available: c.Available}
}
