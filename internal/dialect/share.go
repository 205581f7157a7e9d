package dialect

import (
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/limits"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// Annotations about deletions of many machines at once.
const (
	// MaxShareAnnotation on a set or a deployment sets a limit for its machines: "30%". Without it users can
	// remove any number.
	MaxShareAnnotation = millwright.MaxDeletionShare
	// ApproveShrinkAnnotation, on such a set or deployment, approves the deletion of that many of its
	// machines at once: "12". It differs from the orphan collector's: a user who approves the shrinking of a
	// set has not checked the other instances of its account.
	ApproveShrinkAnnotation = millwright.ApproveDeletion
)

// The reasons of a set about its guard. Neither API has such reasons.
const (
	// HeldReason is the reason of a set that deletes no member, in events and conditions.
	HeldReason = "DeletionHeld"
	// GrowthReason is the reason of a set or a deployment that creates no more machines, in events and conditions.
	GrowthReason = limits.CreationHeld
	// MisreadReason is the reason of the event about an invalid share or approval.
	MisreadReason = "InvalidDeletionShare"
)

// ReadDeletionGuard reads the limits of a set's deletions; nil if not set. An invalid value makes the guard
// stricter: an invalid share enables the guard with the default share, and an invalid approval approves
// nothing.
func ReadDeletionGuard(set client.Object) *replicas.Guard {
	r := millwright.Read(set.GetAnnotations())
	g := &replicas.Guard{Limit: limits.DefaultLimit}
	var misread []string
	percent, asked := r.Percentage(MaxShareAnnotation)
	switch text, bad := r.Misread(MaxShareAnnotation); {
	case bad:
		misread = append(misread, MaxShareAnnotation+": "+millwright.Misread(MaxShareAnnotation, text))
	case !asked:
		return nil
	default:
		g.Limit.Percent = percent
	}
	g.Approved, _ = r.Count(ApproveShrinkAnnotation)
	if text, _ := r.Misread(ApproveShrinkAnnotation); text != "" {
		misread = append(misread, ApproveShrinkAnnotation+": "+millwright.Misread(ApproveShrinkAnnotation, text))
	}
	g.Misread = strings.Join(misread, "; ")
	return g
}

// ReadGrowthGuard reads the limits of the growth of a set or a deployment; nil if not set, and for a set
// whose size another object controls. An invalid value makes the guard stricter, as for deletions.
func ReadGrowthGuard(o client.Object) *limits.Growth {
	r := millwright.Read(o.GetAnnotations())
	g := &limits.Growth{Limit: limits.DefaultLimit}
	var misread []string
	percent, asked := r.Percentage(millwright.MaxCreationShare)
	text, bad := r.Misread(millwright.MaxCreationShare)
	switch {
	case metav1.GetControllerOfNoCopy(o) != nil || !asked && !bad:
		return nil
	case bad:
		misread = append(misread, millwright.MaxCreationShare+": "+millwright.Misread(millwright.MaxCreationShare, text))
	default:
		g.Limit.Percent = percent
	}
	g.Approved, _ = r.Count(millwright.ApproveCreation)
	if text, bad := r.Misread(millwright.ApproveCreation); bad && text != "" {
		misread = append(misread, millwright.ApproveCreation+": "+millwright.Misread(millwright.ApproveCreation, text))
	}
	g.Known, _ = r.Count(millwright.AllowedSize)
	g.Misread = strings.Join(misread, "; ")
	return g
}

// KeepSize stores in o how many machines its growth guard allowed last.
func KeepSize(o client.Object, size int) {
	SetAnnotation(o, millwright.AllowedSize, strconv.Itoa(size))
}

// HandDeletionGuard copies the deployment's guard, and no other, to its set.
func HandDeletionGuard(deployment, set client.Object) {
	a := set.GetAnnotations()
	for _, key := range []string{MaxShareAnnotation, ApproveShrinkAnnotation} {
		value, ok := deployment.GetAnnotations()[key]
		switch {
		case !ok:
			delete(a, key)
			continue
		case a == nil:
			a = map[string]string{}
		}
		a[key] = value
	}
	set.SetAnnotations(a)
}
