package dialect

import (
	"strings"

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
