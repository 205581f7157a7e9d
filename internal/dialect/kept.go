package dialect

import (
	"cmp"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// RecordCondition is the type of the condition in a machine's status whose message is the machine's [Kept],
// as JSON. Its status is True and its reason [RecordReason].
const (
	RecordCondition = "InstanceRecord"
	RecordReason    = "Recorded"
)

// TargetClusterAnnotation on a machine names the cluster in which its node is, as confirmed by a user: the
// UID of the namespace kube-system there.
const TargetClusterAnnotation = millwright.TargetCluster

// Kept has the records on which safety depends. It is stored in the status, where `kubectl replace`, `kubectl
// apply` and controllers that own a machine's metadata cannot change it: where the instance was requested,
// its identity, and the node of the machine and that node's cluster.
type Kept struct {
	// UID is that of the machine. It shows that a status was restored for another object.
	UID types.UID `json:"uid,omitempty"`
	lifecycle.Origin
	// Requests are the requests sent there.
	Requests lifecycle.Requests `json:"asks,omitempty"`
	// ProviderID is that of the instance, once known.
	ProviderID string           `json:"providerID,omitempty"`
	Joined     lifecycle.Joined `json:"joined,omitzero"`
}

// parsed has the notes that were read last, by their text: a pass reads the note of its machine several times.
// They share their slices, which are never changed.
var parsed = lru.New(1024)

func readKept(stored string) (n Kept, err error) {
	if stored == "" {
		return n, nil
	}
	if known, ok := parsed.Get(stored); ok {
		return known.(Kept), nil
	}
	if err := json.Unmarshal([]byte(stored), &n); err != nil {
		return Kept{}, fmt.Errorf("cannot be read: %w", err)
	}
	parsed.Add(stored, n)
	return n, nil
}

// Recall completes rec, which has the other facts of m, by the note that is stored in its status, and by its
// annotations where the note has no entry. An invalid note is a fault: otherwise an instance might be
// requested in a second place.
func Recall(m metav1.Object, stored string, rec *lifecycle.Recorded) []lifecycle.Fault {
	rec.Joined.Accepted = m.GetAnnotations()[TargetClusterAnnotation]
	n, err := readKept(stored)
	if err != nil {
		return []lifecycle.Fault{{Field: "status.conditions[" + RecordCondition + "].message", Message: err.Error()}}
	}
	own := stored != "" && n.UID == m.GetUID()
	if own {
		n.Joined.Accepted = rec.Joined.Accepted
		rec.ProviderID, rec.Joined, rec.Requests = cmp.Or(rec.ProviderID, n.ProviderID), n.Joined, n.Requests
	}
	if n.Cluster != "" && (own || rec.ProviderID != "") {
		rec.Origin = &n.Origin
		return nil
	}
	var faults []lifecycle.Fault
	rec.Origin, faults = Origin(m, rec.ProviderID != "")
	return faults
}

// keptOf returns the note of m to complete: the stored one, if it is m's own, otherwise a new one with the
// known origin of m.
func keptOf(m metav1.Object, stored string, was lifecycle.Recorded) (Kept, error) {
	n, err := readKept(stored)
	if err != nil || stored != "" && n.UID == m.GetUID() {
		return n, err
	}
	n = Kept{UID: m.GetUID()}
	if was.Origin != nil {
		n.Origin = *was.Origin
	}
	return n, nil
}

// KeepOrigin returns the stored note with the origin of m's instance, once that is known. A stored note is
// completed, and never changed. was has the known facts of m.
func KeepOrigin(m metav1.Object, stored string, was lifecycle.Recorded, used lifecycle.Origin) string {
	n, err := keptOf(m, stored, was)
	switch {
	case err != nil || used.Cluster == "":
		return stored
	case n.Cluster == "":
		n.Origin = used
	case n.Cluster == used.Cluster:
		n.Account, n.ChosenZone = cmp.Or(n.Account, used.Account), cmp.Or(n.ChosenZone, used.ChosenZone)
	}
	return encoded(n)
}

// KeepRequests returns the stored note with the requests of m's instance, if its origin is known or its request is assumed.
func KeepRequests(m metav1.Object, stored string, was lifecycle.Recorded, requests lifecycle.Requests) string {
	n, err := keptOf(m, stored, was)
	if err != nil || len(requests) == 0 || !requests.Continues(n.Requests) {
		return stored
	}
	if n.Cluster == "" && was.Origin != nil { // only the annotation has it
		n.Origin = *was.Origin
	}
	if n.Cluster == "" && !requests[0].Assumed {
		return stored
	}
	n.Requests = requests
	return encoded(n)
}

// KeepTarget returns the stored note with the cluster that the instance, whose request is about to be sent,
// will join, as far as that cluster answers: its node may join unseen.
func KeepTarget(m metav1.Object, stored string, was lifecycle.Recorded, seen lifecycle.Node) string {
	n, err := keptOf(m, stored, was)
	if err != nil || n.Joined.Cluster != "" || seen.Foreign != "" || seen.Cluster == "" || seen.Cluster == lifecycle.NoCluster {
		return stored
	}
	n.Joined.Cluster = seen.Cluster
	return encoded(n)
}

// KeepInstance returns the stored note with the provider ID of m's instance.
func KeepInstance(m metav1.Object, stored string, was lifecycle.Recorded, providerID string) string {
	n, err := keptOf(m, stored, was)
	if err != nil || n.ProviderID != "" || providerID == "" {
		return stored
	}
	n.ProviderID = providerID
	return encoded(n)
}

// KeepNode returns the stored note with the node of m. If the identity of its cluster cannot be read now, the
// stored one stays.
func KeepNode(m metav1.Object, stored string, was lifecycle.Recorded, seen lifecycle.Node) string {
	n, err := keptOf(m, stored, was)
	if err != nil || seen.Object == nil {
		return stored
	}
	now := lifecycle.Joined{Cluster: seen.Cluster, Node: seen.Object.Name, UID: seen.Object.UID}
	if now.Cluster == lifecycle.NoCluster {
		now.Cluster = ""
	}
	if now.Cluster == "" && n.Joined.UID == now.UID {
		now.Cluster = n.Joined.Cluster
	}
	if n.Joined == now {
		return stored
	}
	n.Joined = now
	return encoded(n)
}

// JoinedIn returns the node that m has had and its cluster, by the stored note, with the cluster that a user
// names; an invalid note, or that of another object, is ignored.
func JoinedIn(m metav1.Object, stored string) (j lifecycle.Joined) {
	if n, err := readKept(stored); err == nil && n.UID == m.GetUID() {
		j = n.Joined
	}
	j.Accepted = m.GetAnnotations()[TargetClusterAnnotation]
	return j
}

// OriginIn returns the origin in the note; zero if none exists.
func OriginIn(stored string) lifecycle.Origin {
	n, err := readKept(stored)
	if err != nil {
		return lifecycle.Origin{}
	}
	return n.Origin
}
