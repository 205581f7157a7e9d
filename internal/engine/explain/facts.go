package explain

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// MachineFacts are the stored facts about one machine. A part that could not be read is empty, and Gaps names
// it.
type MachineFacts struct {
	Subject
	View lifecycle.Machine
	// Policy has the timeouts; those that only a controller's flags set have their defaults.
	Policy lifecycle.Policy
	// Said is the status of the object.
	Said []postmortem.Statement
	// Failure is the latest failed attempt.
	Failure Failure
	// Owner is its controller ("MachineSet mill"); empty if it has none. Replaces says that the owner
	// replaces a failed machine by itself.
	Owner    string
	Replaces bool
	// Stopped says, as a clause, that its instance does not run; empty if it runs, by the recorded state.
	Stopped   string
	Made      Made
	Obstacles Obstacles
	// KeptUntil is the time until which a failed machine is preserved; zero if it is not preserved.
	KeptUntil time.Time

	// Node is the machine's node, Update is its update in place. Meaningless unless NodeLooked.
	Node       *corev1.Node
	NodeLooked bool
	Update     inplace.Node
	// Pods are the pods of the node, meaningless unless PodsLooked; Peers are those of the namespaces of
	// Budgets.
	Pods, Peers []corev1.Pod
	PodsLooked  bool
	Budgets     []policyv1.PodDisruptionBudget
	Attachments []storagev1.VolumeAttachment
	// Checks are the health checks that select the machine, if its node is not healthy.
	Checks []HealthCheck
	// Requests are pending certificate requests that are, or may be, of this machine.
	Requests []postmortem.Request
	Events   []postmortem.Event
	// Controller is the controller that manages the machine; the zero value if it was not looked up.
	Controller Controller
	Evidence   *Evidence
	Gaps       []string
}

// Obstacles are the obstacles of a machine that its status does not show.
type Obstacles struct {
	// Foreign are finalizers of other programs.
	Foreign []string
	// Squatter is another node that has the name of the machine's node; nil if none is known. Meaningless if
	// the machine has a node.
	Squatter *corev1.Node
	// NoToken is the secret of the machine's bootstrap token if it does not exist
	// ("kube-system/bootstrap-token-abcdef"); empty if it exists or was not looked up.
	NoToken string
	// UnreadChecks says that the health checks could not be read.
	UnreadChecks bool
	// Unreached says that nodes could not be read because their API server did not answer, not because it
	// denied the request.
	Unreached bool
	// AnotherTarget says why the cluster from which nodes were read is not the one that the machine joined
	// ([lifecycle.ForeignTarget]); empty if it is, or if that is unknown. If it is set, no node was read.
	AnotherTarget string
}

// Failure is a failed attempt to create an instance.
type Failure struct {
	// Err is nil if none is recorded. Its kind is known as far as the API stores it.
	Err error
	// Unasked says that the infrastructure could not be called at all, as far as the API stores that.
	Unasked bool
}

// Made describes the provider spec of a machine.
type Made struct {
	// Class is the object that it refers to ("machineclass small"); NoClass says that this object does not
	// exist.
	Class   string
	NoClass bool
	// Credentials is the secret with the credentials for the infrastructure ("secret blue/cloud"); empty if
	// the spec names none. Absent are the named secrets that do not exist.
	Credentials string
	Absent      []string
	// Notes are other facts about it.
	Notes []Cause
	// Secrets are all named secrets ("blue/cloud"), Fields are the fields of the provider spec.
	Secrets []string
	Fields  []Field
}

// Field is a value of a provider spec. Path is its path ("spec.providerSpec.value.subnet"), Value is JSON,
// shortened.
type Field struct{ Name, Path, Value string }

// said returns the statement about a subject, or the zero value.
func (f *MachineFacts) said(about string) postmortem.Statement { return find(f.Said, about) }

func find(list []postmortem.Statement, about string) postmortem.Statement {
	i := slices.IndexFunc(list, func(s postmortem.Statement) bool { return s.About == about })
	if i < 0 {
		return postmortem.Statement{}
	}
	return list[i]
}

// quote returns a statement as a cause; nil if the statement is empty.
func quote(s postmortem.Statement) []Cause {
	if s.Message == "" {
		return nil
	}
	return []Cause{{Source: s.About, Reason: s.Reason, Message: clause(s.Message), Since: s.Since}}
}

// latest returns the object's own statements about its problem, the most significant first: a final error,
// the latest failure, the current wait.
func (f *MachineFacts) latest() []Cause {
	for _, about := range []string{postmortem.ErrorStatement, postmortem.OperationStatement, "condition InstanceDeletionStarted", budgetStatement, "condition Drained", "condition InstanceExists"} {
		s := f.said(about)
		trivial := s.Status == string(corev1.ConditionTrue) && about != "condition InstanceDeletionStarted" && about != budgetStatement || s.Status == successful || s.Status == processing && f.View.Deleted.IsZero()
		if s.Message == "" || trivial {
			continue
		}
		if f.Failure.Err != nil && s.Status != string(corev1.ConditionTrue) {
			s.Message = f.Failure.Err.Error()
		}
		return quote(s)
	}
	return nil
}

// budgetStatement says which disruption budget the machine waits for.
const budgetStatement = "condition DisruptionBudgetStarted"

// contradicted returns the statements recorded when the infrastructure's answer contradicts other facts.
func (f *MachineFacts) contradicted() []Cause {
	for _, s := range f.Said {
		if s.Reason == string(lifecycle.ReasonContradicted) {
			return quote(s)
		}
	}
	return nil
}

// successful and processing are states of an operation.
const (
	successful = "Successful"
	processing = "Processing"
)
