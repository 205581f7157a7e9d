package dialect

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

const (
	// OriginAnnotation on a machine keeps where its instance is asked for, as
	// JSON ([lifecycle.Origin] with the machine's UID). A MachineSet controller
	// makes machines with an empty one. The machine controller completes it with the
	// provider ID, and never changes it again. It is a copy for earlier versions and for
	// backups without status: what the machine's [Kept] says counts before it.
	OriginAnnotation = millwright.Origin
	// NoOrigin is the value for a machine for which nothing was asked yet.
	NoOrigin = "{}"
)

// origin is the annotation. The UID tells a machine that was made from the
// manifest of another one, or restored from a backup, from the one for which the
// instance was asked.
type origin struct {
	UID types.UID `json:"uid,omitempty"`
	lifecycle.Origin
}

func readOrigin(m metav1.Object) (o origin, ok bool, err error) {
	if ok, err = millwright.Read(m.GetAnnotations()).JSON(OriginAnnotation, &o); err != nil {
		return origin{}, false, fmt.Errorf("cannot be read: %w", err)
	}
	return o, ok, nil
}

func (o origin) of(m metav1.Object) bool { return o.UID == "" || o.UID == m.GetUID() }

// Origin is where m's annotation says that its own instance is asked for; nil where it does not. What was
// kept for another UID counts for a machine that has an instance recorded: it was
// restored. An annotation that cannot be read is a fault: an instance might be asked
// for in another place than the first.
func Origin(m metav1.Object, recorded bool) (*lifecycle.Origin, []lifecycle.Fault) {
	o, ok, err := readOrigin(m)
	switch {
	case err != nil:
		return nil, []lifecycle.Fault{{Field: "metadata.annotations[" + OriginAnnotation + "]", Message: err.Error()}}
	case !ok || !o.of(m) && (!recorded || o.Cluster == ""):
		return nil, nil
	}
	return &o.Origin, nil
}

// Locate puts c where m's instance was asked for, as [Recall] says of m, whose status has
// the note.
func Locate(c *provider.Class, m metav1.Object, note string, recorded bool) {
	rec := lifecycle.Recorded{}
	if recorded {
		rec.ProviderID = "recorded"
	}
	Recall(m, note, &rec)
	if o := rec.Origin; o != nil && o.Cluster != "" {
		c.Cluster, c.Region, c.Zone = o.Cluster, o.Region, o.Zone
	}
}

// HoldOrigin stores with the finalizer that nothing was asked for a machine that is new.
func HoldOrigin(m metav1.Object, was lifecycle.Machine) {
	if _, ok := m.GetAnnotations()[OriginAnnotation]; !ok && !was.Recorded.Provisioned && was.Recorded.Origin == nil && was.Stage == lifecycle.StageNew {
		Unasked(m)
	}
}

// RecordOrigin stores in m's annotation where its instance is asked for, once that is known.
// What is stored is completed, and never changed; of a machine that was restored, as
// recorded tells, it becomes its own.
func RecordOrigin(m metav1.Object, used lifecycle.Origin, recorded bool) {
	o, ok, err := readOrigin(m)
	switch {
	case err != nil || used.Cluster == "":
		return
	case !ok || !o.of(m) && !recorded || o.Cluster == "":
		o.Origin = used
	case o.Cluster == used.Cluster:
		o.Account, o.ChosenZone = cmp.Or(o.Account, used.Account), cmp.Or(o.ChosenZone, used.ChosenZone)
	}
	o.UID = m.GetUID()
	SetAnnotation(m, OriginAnnotation, encoded(o))
}

// Unasked notes in a machine that is about to be made from a template that
// nothing was asked for it yet, whatever the template says.
func Unasked(m metav1.Object) { SetAnnotation(m, OriginAnnotation, NoOrigin) }
