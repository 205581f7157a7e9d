// Package gardener is the machine.sapcloud.io/v1alpha1 dialect.
package gardener

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
)

// Machines reads and writes machines of this API.
type Machines struct {
	Defaults Defaults
	// Cluster is the ownership scope; empty is the machine's namespace, which
	// in Gardener is the technical name of the cluster.
	Cluster string
	// TokenGroups are the extra groups of bootstrap tokens
	// (--bootstrap-token-auth-extra-groups).
	TokenGroups string
}

// Defaults hold where a machine has no configuration of its own.
type Defaults struct {
	CreationTimeout time.Duration // --machine-creation-timeout
	HealthTimeout   time.Duration // --machine-health-timeout
	DrainTimeout    time.Duration // --machine-drain-timeout
	UpdateTimeout   time.Duration // --machine-inplace-update-timeout
	PreserveTimeout time.Duration // --machine-preserve-timeout
	DetachTimeout   time.Duration // --machine-pv-detach-timeout
	ReattachTimeout time.Duration // --machine-pv-reattach-timeout
	MaxEvictRetries int32         // --machine-max-evict-retries
	NodeConditions  string        // --node-conditions
	ExhaustedRetry  time.Duration // --resource-exhausted-retry
}

// StandardDefaults are those of the original's flags.
func StandardDefaults() Defaults {
	return Defaults{
		CreationTimeout: 20 * time.Minute,
		HealthTimeout:   10 * time.Minute,
		DrainTimeout:    2 * time.Hour,
		UpdateTimeout:   20 * time.Minute,
		PreserveTimeout: 96 * time.Hour,
		DetachTimeout:   2 * time.Minute,
		ReattachTimeout: 90 * time.Second,
		MaxEvictRetries: 360,
		NodeConditions:  "KernelDeadlock,ReadonlyFilesystem,DiskPressure,NetworkUnavailable",
		ExhaustedRetry:  10 * time.Minute,
	}
}

var (
	_ dialect.Machines[*v1alpha1.Machine] = Machines{}
	_ dialect.InPlaceUpdater              = Machines{}
	_ dialect.Preserver                   = Machines{}
	_ dialect.DrainNarrator               = Machines{}
)

// API implements [dialect.Machines].
func (Machines) API() string { return provider.Gardener }

// New implements [dialect.Machines].
func (Machines) New() *v1alpha1.Machine { return &v1alpha1.Machine{} }

// NewList implements [dialect.Machines].
func (Machines) NewList() client.ObjectList { return &v1alpha1.MachineList{} }

// Items implements [dialect.Machines].
func (Machines) Items(list client.ObjectList) iter.Seq[*v1alpha1.Machine] {
	return func(yield func(*v1alpha1.Machine) bool) {
		items := list.(*v1alpha1.MachineList).Items
		for i := range items {
			if !yield(&items[i]) {
				return
			}
		}
	}
}

// Group is the machine's deployment, by the label that its template carries.
func (Machines) Group(m *v1alpha1.Machine) (key, value string) {
	return v1alpha1.LabelKeyName, m.Labels[v1alpha1.LabelKeyName]
}

// View projects m onto the engine's facts.
func (Machines) View(m *v1alpha1.Machine) lifecycle.Machine {
	force, _ := strconv.ParseBool(m.Labels[v1alpha1.LabelKeyForceDeletion])
	abandon, asked := m.Annotations[dialect.AbandonAnnotation]
	v := lifecycle.Machine{
		UID:       string(m.UID),
		Namespace: m.Namespace,
		Name:      m.Name,
		Recorded: lifecycle.Recorded{
			ProviderID: m.Spec.ProviderID, Provisioned: m.Spec.ProviderID != "",
			NodeName: m.Labels[v1alpha1.LabelKeyNode], Addresses: m.Status.Addresses,
		},
		Created:      m.CreationTimestamp.Time,
		Held:         controllerutil.ContainsFinalizer(m, v1alpha1.FinalizerMachine),
		Stage:        stages[m.Status.CurrentStatus.Phase],
		StageSince:   m.Status.CurrentStatus.LastUpdateTime.Time,
		Deletion:     lifecycle.Deletion{Force: force, Abandon: asked && abandon != "false"},
		ForceDrain:   m.Labels[v1alpha1.LabelKeyForceDrain] == v1alpha1.LabelValueTrue,
		Owned:        metav1.GetControllerOfNoCopy(m) != nil,
		Preservation: keeping(m),
		Faults:       faults(m),
	}
	var unread []lifecycle.Fault
	v.Recorded.Origin, unread = dialect.Origin(m, m.Spec.ProviderID != "")
	v.Faults = append(v.Faults, unread...)
	if m.DeletionTimestamp != nil {
		v.Deleted = m.DeletionTimestamp.Time
		v.Deletion.Begun = begun(m)
	}
	return v
}

func faults(m *v1alpha1.Machine) (out []lifecycle.Fault) {
	if m.Spec.Class.Kind == "" {
		out = append(out, lifecycle.Fault{Field: "spec.class.kind", Message: "must be MachineClass"})
	}
	if m.Spec.Class.Name == "" {
		out = append(out, lifecycle.Fault{Field: "spec.class.name", Message: "must name the MachineClass"})
	}
	if m.Spec.ProviderID == "" {
		out = append(out, creationFaults(m)...)
	}
	return out
}

// creationFaults are about machines without an instance: one that is made is
// looked after all the same.
func creationFaults(m *v1alpha1.Machine) (out []lifecycle.Fault) {
	const negative = "must not be negative, is %s; 0 waits for ever"
	key := v1alpha1.AnnotationKeyEffectiveCreationTimeout
	if t, err := time.ParseDuration(m.Annotations[key]); err == nil && t < 0 {
		out = append(out, lifecycle.Fault{Field: "metadata.annotations[" + key + "]", Message: fmt.Sprintf(negative, t)})
	}
	if c := m.Spec.MachineConfiguration; c != nil && c.MachineCreationTimeout != nil && c.MachineCreationTimeout.Duration < 0 {
		out = append(out, lifecycle.Fault{Field: "spec.creationTimeout", Message: fmt.Sprintf(negative, c.MachineCreationTimeout.Duration)})
	}
	return out
}

// stages maps phases.
var stages = map[v1alpha1.MachinePhase]lifecycle.Stage{
	v1alpha1.MachinePhaseNone:               lifecycle.StageNew,
	v1alpha1.MachinePending:                 lifecycle.StageJoining,
	v1alpha1.MachineAvailable:               lifecycle.StageDetached,
	v1alpha1.MachineRunning:                 lifecycle.StageRunning,
	v1alpha1.MachineTerminating:             lifecycle.StageDeleting,
	v1alpha1.MachineUnknown:                 lifecycle.StageLost,
	v1alpha1.MachineFailed:                  lifecycle.StageFailed,
	v1alpha1.MachineCrashLoopBackOff:        lifecycle.StageCrashing,
	v1alpha1.MachineInPlaceUpdating:         lifecycle.StageUpdating,
	v1alpha1.MachineInPlaceUpdateSuccessful: lifecycle.StageUpdated,
	v1alpha1.MachineInPlaceUpdateFailed:     lifecycle.StageUpdateFailed,
}

// Policy reads the timeouts that this API keeps on each machine.
func (d Machines) Policy(m *v1alpha1.Machine) lifecycle.Policy {
	p := lifecycle.Policy{
		Join: lifecycle.JoinPolicy{Timeout: d.creationTimeout(m), HoldingTaints: []string{v1alpha1.TaintKeyCriticalComponentsNotReady}},
		Health: lifecycle.HealthPolicy{
			Conditions: split(d.Defaults.NodeConditions), Tracked: true, Timeout: d.Defaults.HealthTimeout,
			FailedRecovers: true, NodeLossDeletes: true,
		},
		Delays: lifecycle.Delays{Transient: 5 * time.Second, Exhausted: cmp.Or(d.Defaults.ExhaustedRetry, 10*time.Minute), Other: 3 * time.Minute},
		Drain:  lifecycle.DrainPolicy{Timeout: d.Defaults.DrainTimeout},
		Update: lifecycle.UpdatePolicy{InPlace: true, Timeout: d.Defaults.UpdateTimeout},
	}
	if c := m.Spec.MachineConfiguration; c != nil {
		override(&p.Drain.Timeout, c.MachineDrainTimeout)
		override(&p.Health.Timeout, c.MachineHealthTimeout)
		override(&p.Update.Timeout, c.MachineInPlaceUpdateTimeout)
		if c.DisableHealthTimeout != nil && *c.DisableHealthTimeout {
			p.Health.Timeout = 0
		}
		if c.NodeConditions != nil {
			p.Health.Conditions = split(*c.NodeConditions)
		}
	}
	d.patience(&p, m)
	d.keeps(&p, m)
	return p
}

// creationTimeout is the annotation's, else the spec's, else the default; zero: for
// ever. What is no duration, or a negative one, is passed over.
func (d Machines) creationTimeout(m *v1alpha1.Machine) time.Duration {
	if t, err := time.ParseDuration(m.Annotations[v1alpha1.AnnotationKeyEffectiveCreationTimeout]); err == nil && t >= 0 {
		return t
	}
	if c := m.Spec.MachineConfiguration; c != nil && c.MachineCreationTimeout != nil && c.MachineCreationTimeout.Duration >= 0 {
		return c.MachineCreationTimeout.Duration
	}
	return max(d.Defaults.CreationTimeout, 0)
}

// tokenLifetime is as long as the machine may take to join. Where that has no end,
// it is as long as a certificate is approved for it.
func (d Machines) tokenLifetime(m *v1alpha1.Machine) time.Duration {
	return cmp.Or(d.creationTimeout(m), approval.JoinWindow)
}

func override(d *time.Duration, o *metav1.Duration) {
	if o != nil {
		*d = o.Duration
	}
}

func split(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return s == "" })
}

// Class follows the machine's reference to its class, and the class's to its
// secrets.
func (d Machines) Class(ctx context.Context, r client.Reader, m *v1alpha1.Machine) (dialect.Class, error) {
	c, err := d.class(ctx, r, m)
	dialect.Locate(&c.Class, m, m.Spec.ProviderID != "")
	return c, err
}

// class is what the machine's class says, wherever its instance is.
func (d Machines) class(ctx context.Context, r client.Reader, m *v1alpha1.Machine) (dialect.Class, error) {
	c := dialect.Class{
		Class:         provider.Class{API: provider.Gardener, Cluster: cmp.Or(d.Cluster, m.Namespace)},
		SpecPath:      fmt.Sprintf("machineclass %s: providerSpec", m.Spec.Class.Name),
		TokenLifetime: d.tokenLifetime(m),
		TokenGroups:   d.TokenGroups,
	}
	var mc v1alpha1.MachineClass
	if err := r.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Spec.Class.Name}, &mc); err != nil {
		return c, fmt.Errorf("spec.class.name: read machineclass %s: %w", m.Spec.Class.Name, err)
	}
	c.Spec = mc.ProviderSpec.Raw
	if t := mc.NodeTemplate; t != nil {
		c.Region, c.Zone, c.Capacity = t.Region, t.Zone, t.VirtualCapacity
	}
	data, absent, err := secrets(ctx, r, &mc)
	if err != nil {
		return c, err
	}
	c.Absent = absent
	c.UserData, c.UserDataErr = data[v1alpha1.SecretKeyUserData], nil
	if _, ok := data[v1alpha1.SecretKeyUserData]; !ok {
		c.UserDataErr = fmt.Errorf("machineclass %s: secretRef: no secret with the key %s%s", mc.Name, v1alpha1.SecretKeyUserData, absent)
	}
	c.Credentials = maps.Clone(data)
	delete(c.Credentials, v1alpha1.SecretKeyUserData)
	return c, validate(&mc)
}

// secrets merges the data of the class's secrets; the credentials' wins. One
// that does not exist counts as empty; absent names those, as the end of a sentence.
func secrets(ctx context.Context, r client.Reader, mc *v1alpha1.MachineClass) (out map[string][]byte, absent string, err error) {
	out = map[string][]byte{}
	for field, ref := range refs(mc) {
		if ref.Namespace == "" {
			ref.Namespace = mc.Namespace
		}
		data, err := dialect.Secret(ctx, r, ref, "machineclass "+mc.Name+": "+field)
		if errors.IsNotFound(err) {
			absent += fmt.Sprintf("; secret %s/%s does not exist", ref.Namespace, ref.Name)
			continue
		}
		if err != nil {
			return nil, "", err
		}
		maps.Copy(out, data)
	}
	return out, absent, nil
}

// refs yields the class's secrets in the order in which they are merged.
func refs(mc *v1alpha1.MachineClass) func(yield func(string, provider.SecretRef) bool) {
	return func(yield func(string, provider.SecretRef) bool) {
		if s := mc.SecretRef; s != nil && !yield("secretRef", provider.SecretRef{Namespace: s.Namespace, Name: s.Name}) {
			return
		}
		if s := mc.CredentialsSecretRef; s != nil {
			yield("credentialsSecretRef", provider.SecretRef{Namespace: s.Namespace, Name: s.Name})
		}
	}
}

// validate checks what the original checks at reconciliation: a node template
// may be absent, but not half there.
func validate(mc *v1alpha1.MachineClass) error {
	t := mc.NodeTemplate
	if t == nil {
		return nil
	}
	for _, k := range []corev1.ResourceName{corev1.ResourceCPU, "gpu", corev1.ResourceMemory} {
		if _, ok := t.Capacity[k]; !ok {
			return provider.InvalidField("machineclass "+mc.Name+": nodeTemplate.capacity", "must have the key %s", k)
		}
	}
	for field, value := range map[string]string{"instanceType": t.InstanceType, "region": t.Region, "zone": t.Zone} {
		if value == "" {
			return provider.InvalidField("machineclass "+mc.Name+": nodeTemplate."+field, "must be set")
		}
	}
	return nil
}

// Want mirrors spec.nodeTemplate to the node and takes away again what was
// removed from it.
func (Machines) Want(m *v1alpha1.Machine, c dialect.Class) node.Want {
	t := m.Spec.NodeTemplateSpec
	return node.Want{
		Labels: t.Labels, Annotations: t.Annotations, Taints: t.Spec.Taints,
		MarkLabels:  map[string]string{v1alpha1.LabelKeyNodeMachineName: m.Name},
		Capacity:    c.Capacity,
		Finalizer:   v1alpha1.FinalizerNode,
		AppliedKey:  v1alpha1.AnnotationKeyLastAppliedNodeTemplate,
		CapacityKey: v1alpha1.AnnotationKeyLastAppliedVirtualCapacity,
	}
}

// Leave drops the node's finalizer with the cordon: from then on, deleting the
// node means nothing more.
func (Machines) Leave(*v1alpha1.Machine) node.Want {
	return node.Want{DropFinalizer: v1alpha1.FinalizerNode}
}

// Leaving is the condition Terminating. Its reason is found once, when it is
// set: what a node looks like in the middle of its drain tells nothing.
func (Machines) Leaving(n *corev1.Node, unwell bool) corev1.NodeCondition {
	i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == v1alpha1.NodeTerminating && c.Status == corev1.ConditionTrue && c.Reason != ""
	})
	if i >= 0 {
		return n.Status.Conditions[i]
	}
	c := corev1.NodeCondition{Type: v1alpha1.NodeTerminating, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonNodeScaleDown}
	if unwell {
		c.Reason = v1alpha1.ReasonNodeUnhealthy
	}
	return c
}
