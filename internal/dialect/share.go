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
	// MaxShareAnnotation on a set or a deployment asks for a limit for its machines:
	// "30%". Without it users remove as many as they like.
	MaxShareAnnotation = millwright.MaxDeletionShare
	// ApproveShrinkAnnotation allows, on such a set or deployment, that so many of
	// its machines go at once: "12". It is another than the orphan collector's: who lets
	// a set shrink has not looked at what else there is in its account.
	ApproveShrinkAnnotation = millwright.ApproveDeletion
)

// What a set tells about its guard. Neither API has words for it.
const (
	// HeldReason is why a set gives up no member, in events and conditions.
	HeldReason = "DeletionHeld"
	// GrowthReason is why a set or a deployment creates no more machines, in events and conditions.
	GrowthReason = limits.CreationHeld
	// MisreadReason is the event about a share or an approval that is none.
	MisreadReason = "InvalidDeletionShare"
)

// ReadDeletionGuard reads what bounds the deletions of a set; nil when nobody
// asked for it. What is not understood makes the guard stricter: a share that
// is none is a wish for one, and the default share is in force, and an approval
// that is none approves nothing.
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

// ReadGrowthGuard reads what bounds the growth of a set or a deployment; nil when nobody asked for it, and of a set that another
// object controls, which decides on its size. What is not understood makes the guard stricter, as that of deletions.
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

// KeepSize edits o to know how many machines its guard of growth allowed last.
func KeepSize(o client.Object, size int) {
	SetAnnotation(o, millwright.AllowedSize, strconv.Itoa(size))
}

// HandDeletionGuard edits the set of a deployment to be guarded as the
// deployment is, and not otherwise.
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
