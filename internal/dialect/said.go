package dialect

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// Statement is one thing that an object says.
type Statement = postmortem.Statement

// What statements besides conditions are about.
const (
	ErrorStatement     = postmortem.ErrorStatement
	OperationStatement = postmortem.OperationStatement
)

// Said is what an object of an API says about itself, in one form for all of them. Nothing
// is judged here; what an object of its kind has no place for is zero.
type Said struct {
	// Statements are conditions, last operations and errors, of which the latter two come first.
	Statements []Statement
	// Notes are what is to be known of a machine besides, by the paths of fields.
	Notes []Statement
	// Failure is what a machine records of the attempt that failed last, with its kind as
	// far as its API keeps that.
	Failure error
	// Unasked says that the infrastructure could not even be asked for a machine's instance,
	// which one API tells apart from an attempt that failed.
	Unasked bool
	// Secrets are those that a machine, or a class of machines, names itself. What only a
	// provider can find in its spec is not among them.
	Secrets []NamedSecret
	// Phase is the API's word for where a machine stands.
	Phase string
	// Class is the class that a machine, or what makes machines, names; Classed is false
	// where its API has no classes.
	Class   string
	Classed bool
	// KeptUntil is until when a failed machine is preserved.
	KeptUntil time.Time
	// Template are the annotations of the machines that a set or deployment makes; nil of others.
	Template map[string]string
	// Frozen says that a set or deployment is frozen.
	Frozen bool
	Counts Counts
}

// NamedSecret is a secret that machines are made with. Credentials says that the infrastructure
// is asked with it.
type NamedSecret struct {
	Namespace, Name string
	Credentials     bool
}

// Counts are the numbers of machines in the status of a set or deployment. A set does not
// tell how many are Updated. Observed is the generation that they are about.
type Counts struct {
	Have, Ready, Available, Updated int
	Observed                        int64
}

// CountsOf are counts in the types of the APIs.
func CountsOf(have, ready, available, updated int32, observed int64) Counts {
	return Counts{int(have), int(ready), int(available), int(updated), observed}
}

// ConditionsSay is what the conditions of a list say, each read by a function such as
// [ConditionSays].
func ConditionsSay[C any](list []C, read func(C) Statement) (out []Statement) {
	for _, c := range list {
		out = append(out, read(c))
	}
	return out
}

// ConditionSays is what one condition says, given its fields.
func ConditionSays[T, S ~string](kind T, is S, reason, message string, since metav1.Time) Statement {
	return Statement{About: "condition " + string(kind), Status: string(is), Reason: reason, Message: message, Since: since.Time}
}
