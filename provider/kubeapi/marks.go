package kubeapi

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/millwright-dev/millwright/provider"
)

// Labels, by which what belongs to a machine is listed.
const (
	LabelUID     = "millwright.dev/machine-uid"
	LabelCluster = "millwright.dev/cluster"
)

// Annotations of the same objects. Names of machines may be longer than labels.
const (
	NoteName      = "millwright.dev/machine"
	NoteNamespace = "millwright.dev/machine-namespace"
	NoteOwner     = "millwright.dev/owner"
	// NoteCluster is the whole text of what the label of the same key may have another for.
	NoteCluster = LabelCluster
)

// Marks say whose something is.
type Marks struct{ UID, Name, Namespace, Owner, Cluster string }

// MarksFor are those of what is made for a machine.
func MarksFor(class provider.Class, ref provider.Ref) Marks {
	return Marks{ref.UID, ref.Name, ref.Namespace, class.Owner, class.Cluster}
}

// MarksOn are those that an object has.
func MarksOn(m metav1.ObjectMeta) Marks {
	return Marks{m.Labels[LabelUID], m.Annotations[NoteName], m.Annotations[NoteNamespace], m.Annotations[NoteOwner], m.Annotations[NoteCluster]}
}

// Labels are the marks by which it is listed.
func (m Marks) Labels() map[string]string {
	return map[string]string{LabelUID: m.UID, LabelCluster: LabelValue(m.Cluster)}
}

// Annotations are the marks as they are.
func (m Marks) Annotations() map[string]string {
	all := map[string]string{NoteName: m.Name, NoteNamespace: m.Namespace, NoteOwner: m.Owner, NoteCluster: m.Cluster}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

// Tags are all labels of an object and, of its annotations, the marks as they are and those of the further keys.
func Tags(m metav1.ObjectMeta, further ...string) map[string]string {
	all := maps.Clone(m.Labels)
	if all == nil {
		all = map[string]string{}
	}
	for _, key := range append([]string{NoteName, NoteNamespace, NoteOwner}, further...) {
		if value, ok := m.Annotations[key]; ok {
			all[key] = value
		}
	}
	return all
}

// Proven reports whether an instance is ref's: it says so itself or, if it says nothing of whose it is, is the one that the machine has
// recorded. Such a one is another implementation's work, or people took its labels away.
func Proven(s provider.Session, ref provider.Ref, i provider.Instance) bool {
	if ref.UID == "" || i.ID == "" {
		return false
	}
	return i.UID == ref.UID || i.UID == "" && provider.SameInstance(s, ref.ProviderID, i.ProviderID)
}

// LabelValue is a text as a label can have it: itself, or what is always the same in its place.
func LabelValue(text string) string {
	if len(validation.IsValidLabelValue(text)) == 0 {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + hex.EncodeToString(sum[:16])
}
