package dialect

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// Statement is one entry of an object's status.
type Statement = postmortem.Statement

// Seen is a machine's instance as its object shows it.
type Seen = postmortem.Seen

// The subjects of statements that are not conditions.
const (
	ErrorStatement     = postmortem.ErrorStatement
	OperationStatement = postmortem.OperationStatement
)

// Said is the status of an object of an API, in one form for all of them. It contains no judgement; fields
// that the object's kind does not have are zero.
type Said struct {
	// Statements are conditions, last operations and errors, the latter two first.
	Statements []Statement
	// Notes are further facts about a machine, by the paths of fields.
	Notes []Statement
	// Failure is a machine's record of the latest failed attempt, with its kind as far as its API stores
	// that.
	Failure error
	// Unasked says that the infrastructure could not be called at all for a machine's instance, which one API
	// distinguishes from a failed attempt.
	Unasked bool
	// Secrets are those that a machine, or a class of machines, names itself. Secrets that only a provider
	// can find in its spec are not included.
	Secrets []NamedSecret
	// Phase is the machine's phase, in the API's words.
	Phase string
	// Class is the class that a machine, or its set or deployment, names; Classed is false if its API has no
	// classes.
	Class   string
	Classed bool
	// KeptUntil is the time until which a failed machine is preserved.
	KeptUntil time.Time
	// Template has the annotations of the machines that a set or deployment creates; nil for other objects.
	Template map[string]string
	// Frozen says that a set or deployment is frozen.
	Frozen bool
	Counts Counts
	// Seen is a machine's instance, as far as its API stores it in fields of its own.
	Seen Seen
}

// NamedSecret is a secret of machines. Credentials says that it has the credentials for the infrastructure.
type NamedSecret struct {
	Namespace, Name string
	Credentials     bool
}

// Counts are the numbers of machines in the status of a set or deployment. A set does not count Updated
// machines. Observed is the generation that they belong to.
type Counts struct {
	Have, Ready, Available, Updated int
	Observed                        int64
}

// CountsOf returns counts from the types of the APIs.
func CountsOf(have, ready, available, updated int32, observed int64) Counts {
	return Counts{int(have), int(ready), int(available), int(updated), observed}
}

// ConditionsSay returns the statements of a list of conditions, each read by a function such as
// [ConditionSays].
func ConditionsSay[C any](list []C, read func(C) Statement) (out []Statement) {
	for _, c := range list {
		out = append(out, read(c))
	}
	return out
}

// ConditionSays returns the statement of one condition, given its fields.
func ConditionSays[T, S ~string](kind T, is S, reason, message string, since metav1.Time) Statement {
	return Statement{About: "condition " + string(kind), Status: string(is), Reason: reason, Message: message, Since: since.Time}
}
