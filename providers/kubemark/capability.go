package kubemark

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

var (
	_ provider.Initializer    = &session{}
	_ provider.Sizer          = &session{}
	_ provider.Powerer        = &session{}
	_ provider.ConsoleReader  = &session{}
	_ provider.LeftoverLister = &session{}
	_ provider.ScopeFinder    = &session{}
)

// change changes an instance.
func (s *session) change(ctx context.Context, i provider.Instance, c cloud.Change) error {
	if err := s.call(ctx); err != nil {
		return err
	}
	_, ok, err := s.provider.cloud.Change(ctx, s.class.Cluster, given(i), c)
	if err != nil {
		return fmt.Errorf("change instance %s: %w", i.ID, err)
	}
	if !ok {
		return gone(i)
	}
	return nil
}

// FindScope implements [provider.ScopeFinder].
func (s *session) FindScope(ctx context.Context, ref provider.Ref) (string, error) {
	if err := s.call(ctx); err != nil {
		return "", err
	}
	cluster, err := cloud.Locate(ctx, s.provider.cloud, ref.UID)
	if err != nil {
		return "", fmt.Errorf("find instances of %s in all clusters: %w", ref.Name, err)
	}
	return cluster, nil
}

// Initialize completes an instance whose spec has "initialize".
func (s *session) Initialize(ctx context.Context, _ provider.Ref, i provider.Instance) error {
	return s.change(ctx, i, func(r *cloud.Record, _ time.Time) { r.Initialized = true })
}

// Size is the capacity of nodes.
func (s *session) Size(context.Context) (provider.Size, error) {
	if s.bare {
		return provider.Size{}, provider.Errorf(provider.Invalid, "the class has no spec, so its size is unknown")
	}
	if s.capacityErr != nil {
		return provider.Size{}, s.capacityErr
	}
	size := provider.Size{
		VCPU:                s.capacity[corev1.ResourceCPU],
		GPU:                 s.capacity[cloud.GPU],
		MemoryMiB:           s.capacity[corev1.ResourceMemory] >> 20,
		EphemeralStorageMiB: s.capacity[corev1.ResourceEphemeralStorage] >> 20,
		Architecture:        s.spec.Arch,
		MaxPods:             s.capacity[corev1.ResourcePods],
		Labels:              s.spec.nodeLabels(),
		Taints:              slices.Clone(s.spec.Taints),
	}
	if size.GPU > 0 {
		size.GPUResource = cloud.GPU
	}
	return size, nil
}

// Power implements [provider.Powerer]. A reboot ends the body and starts it again; the instance stays the
// same.
func (s *session) Power(ctx context.Context, _ provider.Ref, i provider.Instance, op provider.PowerOp, request string) error {
	if op == provider.Reboot && request != "" {
		return s.change(ctx, i, s.provider.cloud.Reboot(request))
	}
	power, ok := powers[op]
	if !ok {
		return provider.Errorf(provider.Invalid, "unknown power operation %q", op)
	}
	return s.change(ctx, i, s.provider.cloud.SetPower(power))
}

// Console is the end of the kubelet's log for a hollow instance, and otherwise empty.
func (s *session) Console(ctx context.Context, _ provider.Ref, i provider.Instance, limit int) (string, error) {
	if err := s.call(ctx); err != nil {
		return "", err
	}
	text, ok, err := s.provider.cloud.Console(s.class.Cluster, given(i), limit)
	if err != nil {
		return "", fmt.Errorf("read the console of instance %s: %w", i.ID, err)
	}
	if !ok {
		return "", gone(i)
	}
	return text, nil
}

// Traits implements [provider.Session]. The spec does not narrow the listing.
func (s *session) Traits() provider.Traits {
	return provider.Traits{
		Scope: provider.WholeAccount, ReadLag: duration(s.spec.ReadLag, 0), Choices: s.choices(), RebootsOnce: true, Identify: identify,
	}
}

// choices are the choices of the spec, best first, or its zones, which are equivalent.
func (s *session) choices() (out []provider.Choice) {
	all, equal := s.spec.Choices, false
	if len(s.spec.Zones) > 1 {
		all, equal = s.spec.spread(), true
	}
	for n, c := range all {
		out = append(out, provider.Choice{Name: c.name(), Region: s.spec.Region, Zone: c.Zone, Type: c.InstanceType, Equal: equal && n > 0})
	}
	return out
}

// Differences compares the traits of instances with the spec. An instance of any choice matches the spec.
func (s *session) Differences(_ provider.Ref, i provider.Instance) (out []string) {
	types, zones, field := []string{s.spec.InstanceType}, s.spec.Zones, "zones"
	if len(zones) == 0 {
		zones, field = []string{s.spec.Zone}, "zone"
	}
	if len(s.spec.Choices) > 0 {
		types, zones, field = nil, nil, "choices"
		for _, c := range s.spec.Choices {
			types, zones = append(types, c.InstanceType), append(zones, c.Zone)
		}
	}
	for _, f := range []struct {
		field, has string
		says       []string
	}{
		{"instanceType", i.Type, types},
		{"region", i.Region, []string{s.spec.Region}},
		{field, i.Zone, zones},
	} {
		if f.has != "" && f.says[0] != "" && !slices.Contains(f.says, f.has) {
			out = append(out, fmt.Sprintf("%s: the instance has %q, the spec says %q", f.field, f.has, strings.Join(f.says, ", ")))
		}
	}
	return out
}

// Account is the account of the directory or of the memory. It makes no call.
func (s *session) Account(ctx context.Context) (string, error) {
	if err := s.admitted(ctx); err != nil {
		return "", err
	}
	return s.provider.store.Account()
}

// Leftovers yields the disks and network interfaces without an instance.
func (s *session) Leftovers(ctx context.Context) iter.Seq2[provider.Leftover, error] {
	return func(yield func(provider.Leftover, error) bool) {
		if err := s.call(ctx); err != nil {
			yield(provider.Leftover{}, err)
			return
		}
		all, err := s.provider.cloud.Leftovers(ctx, s.class.Cluster, s.provider.config.PageSize)
		if err != nil {
			yield(provider.Leftover{}, fmt.Errorf("list leftovers: %w", err))
			return
		}
		for _, d := range all {
			if !yield(leftover(d), nil) {
				return
			}
		}
	}
}

// leftover names the machine of a dependant. The network interface has the machine's name.
func leftover(d cloud.Dependant) provider.Leftover {
	l := provider.Leftover{Kind: string(d.Kind), ID: d.Name, UID: d.UID, Owner: d.Owner, Namespace: d.Namespace}
	if d.Kind == cloud.NIC {
		l.Name = d.Name
	}
	return l
}

// Status is the status.providerStatus of the OpenShift API.
type Status struct {
	metav1.TypeMeta `json:",inline"`
	InstanceID      string             `json:"instanceId,omitempty"`
	InstanceState   string             `json:"instanceState,omitempty"`
	Conditions      []metav1.Condition `json:"conditions,omitempty"`
}

// LastKnownState is the status.lastKnownState of the Gardener API.
type LastKnownState struct {
	InstanceID    string `json:"instanceID"`
	InstanceState string `json:"instanceState"`
}

// Status depends only on the instance, so it changes only with the instance.
func (s *session) Status(i provider.Instance) ([]byte, error) {
	d, err := dialectOf(s.class.API)
	if err != nil {
		return nil, err
	}
	return json.Marshal(d.status(i))
}

func lastKnownState(i provider.Instance) any {
	return LastKnownState{InstanceID: i.ID, InstanceState: i.RawState}
}

func providerStatus(i provider.Instance) any {
	return Status{
		TypeMeta:      metav1.TypeMeta{APIVersion: OpenShiftAPIVersion, Kind: "KubemarkMachineProviderStatus"},
		InstanceID:    i.ID,
		InstanceState: i.RawState,
		Conditions: []metav1.Condition{{
			Type:               "MachineCreation",
			Status:             metav1.ConditionTrue,
			Reason:             "MachineCreationSucceeded",
			Message:            "The instance was created",
			LastTransitionTime: metav1.NewTime(i.Created),
		}},
	}
}
