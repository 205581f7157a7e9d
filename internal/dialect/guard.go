package dialect

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// ReadGuard reads the precautions in a deployment's Millwright annotations. An invalid value is a fault: a
// precaution that is silently ignored is worse than none.
func ReadGuard(annotations map[string]string) (g rollout.Guard, faults []lifecycle.Fault) {
	r := millwright.Read(annotations)
	g.MaxFailures, _ = r.Count(MaxFailuresAnnotation)
	g.ReadyWithin, _ = r.Duration(ReadyWithinAnnotation)
	word, _ := r.Word(OnFailureAnnotation)
	g.RollBack = word == "rollback"
	if n, ok := r.CountOrPercentage(CanaryAnnotation); ok {
		g.Canary = &n
	}
	g.Soak, _ = r.Duration(SoakAnnotation)
	approved, _ := r.Count(ApprovedAnnotation)
	g.Approved = int64(approved)
	g.Estimate = r.On(EstimateAnnotation)
	return g, faultsOf(r)
}

// ReadNotes reads the records of earlier plans on a set. Invalid records are ignored, and recomputed.
func ReadNotes(annotations map[string]string) (n rollout.Notes) {
	r := millwright.Read(annotations)
	n.Failed = r.List(FailedAnnotation)
	n.CanarySince, _ = r.Time(CanarySinceAnnotation)
	return n
}

// WriteNotes stores n in o. Times have the precision of seconds.
func WriteNotes(o client.Object, n rollout.Notes) {
	since := ""
	if !n.CanarySince.IsZero() {
		since = n.CanarySince.UTC().Format(time.RFC3339)
	}
	SetAnnotation(o, FailedAnnotation, strings.Join(n.Failed, ","))
	SetAnnotation(o, CanarySinceAnnotation, since)
}

// SetAnnotation sets an annotation of o; an empty value removes it.
func SetAnnotation(o metav1.Object, key, value string) {
	a := o.GetAnnotations()
	if value == "" {
		delete(a, key)
		return
	}
	if a == nil {
		a = map[string]string{}
	}
	a[key] = value
	o.SetAnnotations(a)
}
