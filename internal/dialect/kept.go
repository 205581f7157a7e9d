package dialect

import (
	"cmp"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// RecordCondition is the type of the condition in a machine's status whose message is the
// machine's [Kept], as JSON. Its status is True and its reason [RecordReason].
const (
	RecordCondition = "InstanceRecord"
	RecordReason    = "Recorded"
)

// TargetClusterAnnotation on a machine names the cluster in which a person says that its
// node is: the UID of the namespace kube-system there.
const TargetClusterAnnotation = millwright.TargetCluster

// Kept is what safety rests on. It is kept in the status, where `kubectl replace`, `kubectl
// apply` and controllers that own a machine's metadata do not reach: where the instance is
// asked for, which one it is, and which node in which cluster was seen to be the machine's.
type Kept struct {
	// UID is the machine's. A status that was restored for another object is told by it.
	UID types.UID `json:"uid,omitempty"`
	lifecycle.Origin
	// Asks are what was asked for there.
	Asks lifecycle.Asks `json:"asks,omitempty"`
	// ProviderID is the instance's, once it is known.
	ProviderID string           `json:"providerID,omitempty"`
	Joined     lifecycle.Joined `json:"joined,omitzero"`
}

func readKept(stored string) (n Kept, err error) {
	if stored == "" {
		return n, nil
	}
	if err := json.Unmarshal([]byte(stored), &n); err != nil {
		return Kept{}, fmt.Errorf("cannot be read: %w", err)
	}
	return n, nil
}

// Recall completes rec, which has what the rest of m says, by the note that is stored in
// its status, and by its annotations where the note does not say it. A note that cannot be
// read is a fault: an instance might be asked for in another place than the first.
func Recall(m metav1.Object, stored string, rec *lifecycle.Recorded) []lifecycle.Fault {
	rec.Joined.Accepted = m.GetAnnotations()[TargetClusterAnnotation]
	n, err := readKept(stored)
	if err != nil {
		return []lifecycle.Fault{{Field: "status.conditions[" + RecordCondition + "].message", Message: err.Error()}}
	}
	own := stored != "" && n.UID == m.GetUID()
	if own {
		n.Joined.Accepted = rec.Joined.Accepted
		rec.ProviderID, rec.Joined, rec.Asks = cmp.Or(rec.ProviderID, n.ProviderID), n.Joined, n.Asks
	}
	if n.Cluster != "" && (own || rec.ProviderID != "") {
		rec.Origin = &n.Origin
		return nil
	}
	var faults []lifecycle.Fault
	rec.Origin, faults = Origin(m, rec.ProviderID != "")
	return faults
}

// keptOf is the note of m to be completed: that which is stored, if it is m's own, else a new
// one with the origin that m is known to have.
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

// KeepOrigin is the note that is stored, with where m's instance is asked for, once that is
// known. What is stored is completed, and never changed. was is what m was known to have.
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

// KeepAsks is the note that is stored, with what m's instance is asked for, where it is known by then where that is.
func KeepAsks(m metav1.Object, stored string, was lifecycle.Recorded, asks lifecycle.Asks) string {
	n, err := keptOf(m, stored, was)
	if err != nil || len(asks) == 0 || !asks.Continues(n.Asks) {
		return stored
	}
	if n.Cluster == "" && was.Origin != nil { // it is in the annotation alone
		n.Origin = *was.Origin
	}
	if n.Cluster == "" {
		return stored
	}
	n.Asks = asks
	return encoded(n)
}

// KeepTarget is the note that is stored, with the cluster that an instance which is about to be
// asked for is to join, as far as that answers: its node may join unseen.
func KeepTarget(m metav1.Object, stored string, was lifecycle.Recorded, seen lifecycle.Node) string {
	n, err := keptOf(m, stored, was)
	if err != nil || n.Joined.Cluster != "" || seen.Foreign != "" || seen.Cluster == "" || seen.Cluster == lifecycle.NoCluster {
		return stored
	}
	n.Joined.Cluster = seen.Cluster
	return encoded(n)
}

// KeepInstance is the note that is stored, with the provider ID of m's instance.
func KeepInstance(m metav1.Object, stored string, was lifecycle.Recorded, providerID string) string {
	n, err := keptOf(m, stored, was)
	if err != nil || n.ProviderID != "" || providerID == "" {
		return stored
	}
	n.ProviderID = providerID
	return encoded(n)
}

// KeepNode is the note that is stored, with the node that m is seen to have. An identity of
// its cluster that cannot be read for the moment stays.
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

// JoinedIn is which node in which cluster m was seen to have, by the note that is stored, with
// the cluster that a person names; a note that cannot be read, or is another object's, says
// nothing.
func JoinedIn(m metav1.Object, stored string) (j lifecycle.Joined) {
	if n, err := readKept(stored); err == nil && n.UID == m.GetUID() {
		j = n.Joined
	}
	j.Accepted = m.GetAnnotations()[TargetClusterAnnotation]
	return j
}

// OriginIn is the origin that the note says; zero where it says none.
func OriginIn(stored string) lifecycle.Origin {
	n, err := readKept(stored)
	if err != nil {
		return lifecycle.Origin{}
	}
	return n.Origin
}
