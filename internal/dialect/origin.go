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
	// OriginAnnotation on a machine stores where its instance was requested, as JSON ([lifecycle.Origin] with
	// the machine's UID). A MachineSet controller creates machines with an empty one. The machine controller
	// completes it with the provider ID, and never changes it again. It is a copy for earlier versions and
	// for backups without status: the machine's [Kept] precedes it.
	OriginAnnotation = millwright.Origin
	// NoOrigin is the value for a machine without any request yet.
	NoOrigin = "{}"
)

// origin is the annotation. The UID distinguishes a machine that was created from the manifest of another
// one, or restored from a backup, from the one for which the instance was requested.
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

// Origin returns where m's own instance was requested, by its annotation; nil if none exists. An origin of
// another UID counts for a machine with a recorded instance: it was restored. An invalid annotation is a
// fault: otherwise an instance might be requested in a second place.
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

// Locate sets the place in c to where m's instance was requested, by [Recall] of m, whose status has the
// note.
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

// HoldOrigin stores with the finalizer that nothing was requested for a new machine.
func HoldOrigin(m metav1.Object, was lifecycle.Machine) {
	if _, ok := m.GetAnnotations()[OriginAnnotation]; !ok && !was.Recorded.Provisioned && was.Recorded.Origin == nil && was.Stage == lifecycle.StageNew {
		Unasked(m)
	}
}

// RecordOrigin stores in m's annotation where its instance was requested, once that is known. A stored origin
// is completed, and never changed; that of a restored machine (recorded) becomes its own.
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

// Unasked records in a machine that is about to be created from a template that nothing was requested for it
// yet, regardless of the template's value.
func Unasked(m metav1.Object) { SetAnnotation(m, OriginAnnotation, NoOrigin) }
