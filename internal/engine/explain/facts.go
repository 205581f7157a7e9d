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

// MachineFacts are what is stored about one machine. A part that could not be
// read is empty, and Gaps says so.
type MachineFacts struct {
	Subject
	View lifecycle.Machine
	// Policy holds the timeouts; those that only a controller's flags say are
	// their defaults.
	Policy lifecycle.Policy
	// Said is what the object says about itself.
	Said []postmortem.Statement
	// Failure is what the attempt failed with that failed last.
	Failure Failure
	// Owner is what made it ("MachineSet mill"); empty when nothing did. Replaces
	// says that the owner makes another by itself when it failed.
	Owner    string
	Replaces bool
	// Stopped says, as a clause, that its instance does not run; empty where it
	// does, as far as was recorded.
	Stopped   string
	Made      Made
	Obstacles Obstacles
	// KeptUntil is the time until which a failed machine is preserved; zero when
	// it is not.
	KeptUntil time.Time

	// Node is the machine's node, Update what it says about an update in place.
	// Meaningless unless NodeLooked.
	Node       *corev1.Node
	NodeLooked bool
	Update     inplace.Node
	// Pods are those of the node, meaningless unless PodsLooked; Peers those of the
	// namespaces of Budgets.
	Pods, Peers []corev1.Pod
	PodsLooked  bool
	Budgets     []policyv1.PodDisruptionBudget
	Attachments []storagev1.VolumeAttachment
	// Checks are the health checks that select the machine, where its node is not
	// healthy.
	Checks []HealthCheck
	// Requests are pending certificate requests that are, or may be, its.
	Requests []postmortem.Request
	Events   []postmortem.Event
	// Controller is what is to look after the machine; its zero value where
	// nobody asked.
	Controller Controller
	Evidence   *Evidence
	Gaps       []string
}

// Obstacles are what stands in the way of a machine besides what it says itself.
type Obstacles struct {
	// Foreign are finalizers of others.
	Foreign []string
	// Squatter is a node that has the name of the machine's and is another; nil where none
	// is known. Meaningless where the machine has a node.
	Squatter *corev1.Node
	// NoToken is the secret that the machine's bootstrap token would be, where it does not
	// exist ("kube-system/bootstrap-token-abcdef"); empty where it does, or nobody looked.
	NoToken string
	// Unreached says that nodes could not be read because their API server did not answer,
	// and not because it denied that.
	Unreached bool
	// AnotherTarget says why the cluster that was asked for nodes is not the one that the
	// machine joined ([lifecycle.ForeignTarget]); empty where it is, or where that is not known.
	// No node was looked at then.
	AnotherTarget string
}

// Failure is an attempt at an instance that failed.
type Failure struct {
	// Err is nil where none is recorded. It is of a kind as far as the API keeps that.
	Err error
	// Unasked says that the infrastructure could not even be asked for the instance, as
	// far as the API keeps that.
	Unasked bool
}

// Made is what a machine is made from.
type Made struct {
	// Class is what it refers to ("machineclass small"); NoClass says that the
	// API server knows no such thing.
	Class   string
	NoClass bool
	// Credentials is the secret with which the infrastructure is asked ("secret
	// blue/cloud"); empty where none is named. Absent are the secrets that are named and
	// do not exist.
	Credentials string
	Absent      []string
	// Notes are what else is to be known of it.
	Notes []Cause
	// Secrets are all that are named ("blue/cloud"), Fields the provider spec's own.
	Secrets []string
	Fields  []Field
}

// Field is a value of a provider spec. Path is where it stands
// ("spec.providerSpec.value.subnet"), Value is JSON, shortened.
type Field struct{ Name, Path, Value string }

// said finds what is said about something; its zero value when nothing is.
func (f *MachineFacts) said(about string) postmortem.Statement { return find(f.Said, about) }

func find(list []postmortem.Statement, about string) postmortem.Statement {
	i := slices.IndexFunc(list, func(s postmortem.Statement) bool { return s.About == about })
	if i < 0 {
		return postmortem.Statement{}
	}
	return list[i]
}

// quote makes a cause of a statement; nil where it says nothing.
func quote(s postmortem.Statement) []Cause {
	if s.Message == "" {
		return nil
	}
	return []Cause{{Source: s.About, Reason: s.Reason, Message: clause(s.Message), Since: s.Since}}
}

// latest is what the object says of its own trouble, the most telling first:
// an error that ended it, what went wrong last, what is being waited for.
func (f *MachineFacts) latest() []Cause {
	for _, about := range []string{postmortem.ErrorStatement, postmortem.OperationStatement, "condition InstanceDeletionStarted", "condition Drained", "condition InstanceExists"} {
		s := f.said(about)
		trivial := s.Status == string(corev1.ConditionTrue) && about != "condition InstanceDeletionStarted" || s.Status == successful || s.Status == processing && f.View.Deleted.IsZero()
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

// contradicted is what is recorded where the infrastructure is not believed.
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
