package dialect

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/millwright"
)

// Doubt is a Millwright annotation without an effect, or with another one than its author meant.
type Doubt = millwright.Doubt

// Reasons of events about Millwright's annotations, which neither API has.
const (
	UnknownAnnotation    = "UnknownAnnotation"
	UnreadableAnnotation = "UnreadableAnnotation"
)

// Doubts returns the errors in Millwright's annotations on an object of a kind, and in its template.
func Doubts(kind string, o metav1.Object, template map[string]string) []Doubt {
	return millwright.Doubts(millwright.Carrier{
		Kind: kind, Owned: metav1.GetControllerOfNoCopy(o) != nil, Annotations: o.GetAnnotations(), Labels: o.GetLabels(), Template: template,
	})
}

// DoubtsNote returns the reason and the note of an event about doubts; both are empty without doubts.
func DoubtsNote(doubts []Doubt) (reason, note string) {
	var notes []string
	for _, d := range doubts {
		if notes = append(notes, d.String()); reason == "" || d.Unknown {
			reason = UnreadableAnnotation
			if d.Unknown {
				reason = UnknownAnnotation
			}
		}
	}
	return reason, strings.Join(notes, "; ")
}
