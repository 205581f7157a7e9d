package kubeapi

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/millwright-dev/millwright/provider"
)

// Labels by which the objects of a machine are listed.
const (
	LabelUID     = "millwright.dev/machine-uid"
	LabelCluster = "millwright.dev/cluster"
)

// Annotations of the same objects. Names of machines may be longer than labels.
const (
	NoteName      = "millwright.dev/machine"
	NoteNamespace = "millwright.dev/machine-namespace"
	NoteOwner     = "millwright.dev/owner"
	// NoteCluster is the full text, if the label of the same key has a substitute.
	NoteCluster = LabelCluster
)

// Marks record the machine and the cluster of an object.
type Marks struct{ UID, Name, Namespace, Owner, Cluster string }

// MarksFor are those of the objects that are created for a machine.
func MarksFor(class provider.Class, ref provider.Ref) Marks {
	return Marks{ref.UID, ref.Name, ref.Namespace, class.Owner, class.Cluster}
}

// MarksOn are those that an object has.
func MarksOn(m metav1.ObjectMeta) Marks {
	return Marks{m.Labels[LabelUID], m.Annotations[NoteName], m.Annotations[NoteNamespace], m.Annotations[NoteOwner], m.Annotations[NoteCluster]}
}

// Labels are the marks as labels, by which objects are listed.
func (m Marks) Labels() map[string]string {
	return map[string]string{LabelUID: m.UID, LabelCluster: LabelValue(m.Cluster)}
}

// Annotations are the marks in full.
func (m Marks) Annotations() map[string]string {
	all := map[string]string{NoteName: m.Name, NoteNamespace: m.Namespace, NoteOwner: m.Owner, NoteCluster: m.Cluster}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

// Tags are all labels of an object and, of its annotations, the marks in full and those with the further
// keys.
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

// Proven reports whether an instance is ref's: its marks name ref or, if it has no marks of a machine, the
// machine has recorded it. Another implementation created such an instance, or its labels were removed.
func Proven(s provider.Session, ref provider.Ref, i provider.Instance) bool {
	if ref.UID == "" || i.ID == "" {
		return false
	}
	return i.UID == ref.UID || i.UID == "" && provider.SameInstance(s, ref.ProviderID, i.ProviderID)
}

// LabelValue is the text itself if it is a valid label value, and otherwise a substitute that is always the
// same.
func LabelValue(text string) string {
	if len(validation.IsValidLabelValue(text)) == 0 {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + hex.EncodeToString(sum[:16])
}
