package dialect

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// ReadGuard reads the precautions that a deployment asks for by annotations of
// ours. A value that is not understood is a fault: a precaution that is
// silently not taken is worse than none.
func ReadGuard(annotations map[string]string) (rollout.Guard, []lifecycle.Fault) {
	r := guardReader{annotations: annotations}
	g := rollout.Guard{
		MaxFailures: int(r.number(MaxFailuresAnnotation, "a number of machines")),
		ReadyWithin: r.duration(ReadyWithinAnnotation),
		RollBack:    r.rollBack(),
		Canary:      r.canary(),
		Soak:        r.duration(SoakAnnotation),
		Approved:    r.number(ApprovedAnnotation, "a revision"),
		Estimate:    Asked(annotations, EstimateAnnotation),
	}
	return g, r.faults
}

// Asked reports whether an annotation that is a switch is on: it is there with
// any value but "false".
func Asked(annotations map[string]string, key string) bool {
	value, ok := annotations[key]
	return ok && value != "false"
}

type guardReader struct {
	annotations map[string]string
	faults      []lifecycle.Fault
}

func (r *guardReader) fault(key, want string) {
	r.faults = append(r.faults, lifecycle.Fault{
		Field: "metadata.annotations[" + key + "]", Message: fmt.Sprintf("must be %s, is %q", want, r.annotations[key]),
	})
}

func (r *guardReader) number(key, what string) int64 {
	text, ok := r.annotations[key]
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		r.fault(key, what)
		return 0
	}
	return n
}

func (r *guardReader) duration(key string) time.Duration {
	text, ok := r.annotations[key]
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		r.fault(key, `a duration like "20m"`)
		return 0
	}
	return d
}

func (r *guardReader) rollBack() bool {
	switch r.annotations[OnFailureAnnotation] {
	case "rollback":
		return true
	case "stop":
		return false
	}
	if _, ok := r.annotations[OnFailureAnnotation]; ok {
		r.fault(OnFailureAnnotation, `"stop" or "rollback"`)
	}
	return false
}

func (r *guardReader) canary() *intstr.IntOrString {
	text, ok := r.annotations[CanaryAnnotation]
	if !ok {
		return nil
	}
	n := intstr.Parse(text)
	if len(CheckBound(CanaryAnnotation, &n, true)) > 0 {
		r.fault(CanaryAnnotation, "a number of machines or a percentage")
		return nil
	}
	return &n
}

// ReadNotes reads what earlier plans asked to be remembered with a set. What
// is not understood is forgotten, and found out again.
func ReadNotes(annotations map[string]string) (n rollout.Notes) {
	if names := annotations[FailedAnnotation]; names != "" {
		n.Failed = strings.Split(names, ",")
	}
	if t, err := time.Parse(time.RFC3339, annotations[CanarySinceAnnotation]); err == nil {
		n.CanarySince = t
	}
	return n
}

// WriteNotes edits o to remember n. Times have the precision of seconds.
func WriteNotes(o client.Object, n rollout.Notes) {
	since := ""
	if !n.CanarySince.IsZero() {
		since = n.CanarySince.UTC().Format(time.RFC3339)
	}
	SetAnnotation(o, FailedAnnotation, strings.Join(n.Failed, ","))
	SetAnnotation(o, CanarySinceAnnotation, since)
}

// SetAnnotation edits o to carry an annotation; with an empty value, not to.
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
