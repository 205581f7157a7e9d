package orphan

import (
	"time"

	"github.com/millwright-dev/millwright/internal/engine/limits"
	"github.com/millwright-dev/millwright/provider"
)

// Machine is one machine object, as far as its instances are concerned.
type Machine struct {
	UID, Namespace, Name string
	// ProviderID is the one recorded, in whatever format; empty until known.
	ProviderID string
	// Early says that an instance may be made for it at any moment, or may have
	// been made and not been recorded.
	Early bool
	// Deleting says that the machine removes its instances itself.
	Deleting bool
	// Here says that its instance is in the scope that was listed, Elsewhere that it is
	// in another one. Neither is known of a machine whose class cannot be opened.
	Here, Elsewhere bool
}

// Listing is what came of asking for all instances of a scope.
type Listing struct {
	// Cluster is the ownership scope whose instances were asked for.
	Cluster   string
	Instances []provider.Instance
	// Err ended the listing before its end.
	Err error
	// Leftovers are what is there without an instance, where the
	// infrastructure can tell; LeftoversErr says why that is not known.
	Leftovers    []provider.Leftover
	LeftoversErr error
	// Ready are the nodes of the cluster that machines join that report to be
	// ready.
	Ready []ReadyNode
}

// ReadyNode is a node that works.
type ReadyNode struct{ Name, ProviderID string }

// Policy is how careful to be.
type Policy struct {
	// Owner is the identity of the control plane whose machines are known; only
	// what it made is removed, and nothing where it is not known. Namespace is the
	// only one whose machines are known, empty for all: what was made for machines
	// of others is not judged.
	Owner, Namespace string
	// Also are identities that the control plane has or had besides Owner: what has one of
	// them is its own as well.
	Also []string
	// Lacks says why Owner is not known; empty when it is.
	Lacks string
	// Grace is how long an instance must have been seen without a machine, in
	// three listings at least.
	Grace time.Duration
	// PerHour is how many removals may begin within an hour in one scope; none
	// are begun with zero.
	PerHour int
	// Limit is how many of the instances of a scope may be without a machine
	// at once. With more, the machines are what is wrong, and nothing goes
	// unless so many removals are Approved.
	Limit    limits.Limit
	Approved int
	// Named are the provider IDs of instances that somebody allows to be removed,
	// whoever made them and whatever the limits say, but the cap per hour.
	Named []string
	// MinMachines is how many machines must be known, in any scope: an API
	// without machines is likelier lost than empty.
	MinMachines int
	// Untagged says that instances which carry no machine's UID are judged too:
	// another implementation made them for machines. Else people may have made
	// them, with the cluster's tags, and they are left alone.
	Untagged bool
	// ReportOnly removes nothing.
	ReportOnly bool
	// Period is how often listings are made. After a longer time without one
	// everything is suspected anew.
	Period time.Duration
}

// DefaultPolicy waits for a quarter of an hour and removes ten an hour.
func DefaultPolicy() Policy {
	return Policy{
		Grace: 15 * time.Minute, PerHour: 10, Limit: limits.DefaultLimit, MinMachines: 1,
		Period: 15 * time.Minute,
	}
}

// WithShare is the policy with a share of all instances ("30%") as its limit.
func (p Policy) WithShare(text string) (Policy, error) {
	l, err := limits.ParseLimit(text)
	if err != nil {
		return p, err
	}
	p.Limit = l
	return p, nil
}

// Fate is what becomes of an instance.
type Fate string

// The fates.
const (
	// Keep it: it is wanted, or others remove it, or it is not ours to judge.
	Keep Fate = "Keep"
	// Quarantine it: it is reported and left alone.
	Quarantine Fate = "Quarantine"
	// Remove it, after another look at it.
	Remove Fate = "Remove"
)

// Reason is a stable CamelCase word for a verdict.
type Reason string

// The reasons.
const (
	// Kept.
	ReasonRecorded Reason = "RecordedByMachine"
	ReasonEarly    Reason = "MachineInCreation"
	ReasonLeaving  Reason = "MachineInDeletion"
	ReasonUnseen   Reason = "RecordedInstanceUnseen"
	ReasonNotOurs  Reason = "OtherCluster"
	ReasonNotSeen  Reason = "OtherNamespace"
	ReasonNameless Reason = "WithoutIdentifier"
	ReasonGoing    Reason = "GoingByItself"
	ReasonInUse    Reason = "InstanceExists"
	ReasonUntagged Reason = "WithoutMachineUID"
	// Quarantined or removed: what is wrong with it.
	ReasonStray  Reason = "NoMachine"
	ReasonDouble Reason = "MachineHasAnother"
	// Quarantined for good, whatever the grace period: another may want it.
	ReasonOtherOwner   Reason = "OtherOwner"
	ReasonNoOwner      Reason = "WithoutOwner"
	ReasonOwnerUnknown Reason = "OwnerUnknown"
	ReasonReady        Reason = "NodeIsReady"
	// Quarantined, although the grace period is over.
	ReasonReportOnly Reason = "ReportOnly"
	ReasonNoMachines Reason = "NoMachinesKnown"
	ReasonMass       Reason = "TooManyAtOnce"
	ReasonCap        Reason = "TooManyThisHour"
	ReasonUnremoved  Reason = "CannotBeNamed"
)

// Verdict is what becomes of one instance, or of what is left of one.
type Verdict struct {
	// Key names it in the memory.
	Key string
	// Instance is what is judged; its ID is empty where Left are.
	Instance provider.Instance
	Left     []provider.Leftover
	Fate     Fate
	// Cause is why nobody wants it: ReasonStray or ReasonDouble. Reason is why
	// it has this fate; both are the same while nothing else stands against it.
	Cause, Reason Reason
	Message       string
	// Machine is the one that has another instance (ReasonDouble) or that
	// keeps this one.
	Machine *Machine
	// Since is when it was first seen without a machine, corrected by the time
	// in which nobody looked.
	Since time.Time
	// Begun says that its removal was begun before.
	Begun bool
	// News says that fate or reason differ from what they were.
	News bool
	// Ref is what to remove it by. Without a UID only the very instance goes.
	Ref provider.Ref

	// listed says that it is an instance of the listing, seen in how many in a row
	// it was one without a machine.
	listed bool
	seen   int
	// bar says why nobody but a person may have it removed, barred in words.
	bar    Reason
	barred string
}

// Plan is what a listing came to.
type Plan struct {
	// Doubt says why nothing is concluded from the listing; empty when it is
	// believed.
	Doubt string
	// Verdicts are in the order in which to act on them.
	Verdicts []Verdict
	// Refusal says why the mass-deletion guard stops all removals.
	Refusal string
	// Memory is what to remember until the next listing.
	Memory Memory
}
