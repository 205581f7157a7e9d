package orphan

import (
	"time"

	"github.com/millwright-dev/millwright/internal/engine/limits"
	"github.com/millwright-dev/millwright/provider"
)

// Machine has the facts of one machine object about its instances.
type Machine struct {
	UID, Namespace, Name string
	// ProviderID is the recorded one, in any format; empty until known.
	ProviderID string
	// Early says that an instance may be created for it at any moment, or may have been created and not
	// recorded.
	Early bool
	// Deleting says that the machine removes its instances itself.
	Deleting bool
	// Here says that its instance is in the listed scope, Elsewhere that it is in another one. Both are false
	// for a machine whose class cannot be read.
	Here, Elsewhere bool
}

// Listing is the result of listing all instances of a scope.
type Listing struct {
	// Cluster is the ownership scope of the listed instances.
	Cluster   string
	Instances []provider.Instance
	// Err ended the listing before its end.
	Err error
	// Leftovers are resources without an instance, if the infrastructure can list them; LeftoversErr says why
	// they are unknown.
	Leftovers    []provider.Leftover
	LeftoversErr error
	// Ready are the ready nodes of the cluster that machines join.
	Ready []ReadyNode
}

// ReadyNode is a node that is ready.
type ReadyNode struct{ Name, ProviderID string }

// Policy has the precautions.
type Policy struct {
	// Owner is the identity of the control plane whose machines are known; only instances that it created are
	// removed, and none if it is unknown. Namespace is the only namespace whose machines are known, empty for
	// all: instances created for machines of other namespaces are not judged.
	Owner, Namespace string
	// Also are other current or earlier identities of the control plane: instances with one of them are its
	// own as well.
	Also []string
	// Lacks says why Owner is unknown; empty if it is known.
	Lacks string
	// Grace is how long an instance must have been seen without a machine, in at least three listings.
	Grace time.Duration
	// PerHour is how many removals may begin within an hour in one scope; with zero, none begins.
	PerHour int
	// Limit is how many of the instances of a scope may be without a machine at once. If more are, the list
	// of machines is probably wrong, and nothing is removed unless that many removals are Approved.
	Limit    limits.Limit
	Approved int
	// Named are the provider IDs of instances whose removal a user has approved, for any creator and
	// regardless of all limits except the cap per hour.
	Named []string
	// MinMachines is how many machines must be known, in any scope: an API without machines is more likely
	// lost than empty.
	MinMachines int
	// Untagged says that instances without a machine's UID are judged too: another implementation created
	// them for machines. Otherwise users may have created them, with the cluster's tags, and they are left
	// alone.
	Untagged bool
	// ReportOnly removes nothing.
	ReportOnly bool
	// Period is how often instances are listed. After a longer time without a listing all quarantines begin
	// again.
	Period time.Duration
}

// DefaultPolicy waits for a quarter of an hour and removes ten instances an hour.
func DefaultPolicy() Policy {
	return Policy{
		Grace: 15 * time.Minute, PerHour: 10, Limit: limits.DefaultLimit, MinMachines: 1,
		Period: 15 * time.Minute,
	}
}

// WithShare returns the policy with a share of all instances ("30%") as its limit.
func (p Policy) WithShare(text string) (Policy, error) {
	l, err := limits.ParseLimit(text)
	if err != nil {
		return p, err
	}
	p.Limit = l
	return p, nil
}

// Fate is the decision about an instance.
type Fate string

// The fates.
const (
	// Keep: a machine needs it, or another program removes it, or we must not judge it.
	Keep Fate = "Keep"
	// Quarantine: it is reported and left alone.
	Quarantine Fate = "Quarantine"
	// Remove: it is removed, after another check.
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
	// Quarantined or removed: the cause.
	ReasonStray  Reason = "NoMachine"
	ReasonDouble Reason = "MachineHasAnother"
	// Quarantined for good, for any grace period: another control plane may need it.
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

// Verdict is the decision about one instance, or its leftovers.
type Verdict struct {
	// Key names it in the memory.
	Key string
	// Instance is the judged instance; its ID is empty for leftovers (Left).
	Instance provider.Instance
	Left     []provider.Leftover
	Fate     Fate
	// Cause is why no machine needs it: ReasonStray or ReasonDouble. Reason is the reason for this fate; both
	// are equal if there is no other objection.
	Cause, Reason Reason
	Message       string
	// Machine is the machine that has another instance (ReasonDouble) or that keeps this one.
	Machine *Machine
	// Since is when it was first seen without a machine, corrected by the time without listings.
	Since time.Time
	// Begun says that its removal has begun before.
	Begun bool
	// News says that fate or reason have changed.
	News bool
	// Ref identifies what to remove. Without a UID it is only this instance.
	Ref provider.Ref

	// listed says that it is an instance of the listing; seen counts the listings in a row in which it had no
	// machine.
	listed bool
	seen   int
	// bar is the reason why only a user may approve its removal, barred is its text.
	bar    Reason
	barred string
}

// Plan is the decision about a listing.
type Plan struct {
	// Doubt says why nothing is concluded from the listing; empty if it is trusted.
	Doubt string
	// Verdicts are in the order of their execution.
	Verdicts []Verdict
	// Refusal says why the mass-deletion guard stops all removals.
	Refusal string
	// Memory has to be kept until the next listing.
	Memory Memory
}
