package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"google.golang.org/api/compute/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
)

var (
	_ provider.Sizer          = &session{}
	_ provider.Maintainer     = &session{}
	_ provider.Powerer        = &session{}
	_ provider.ConsoleReader  = &session{}
	_ provider.LeftoverLister = &session{}
)

// Account implements [provider.Session]: the ID of the project, which is never reused.
func (s *session) Account(ctx context.Context) (string, error) {
	id, err := recall(ctx, s.client, "project "+s.project, func(ctx context.Context) (string, error) {
		p, err := s.client.compute.Projects.Get(s.project).Context(ctx).Do()
		if err != nil {
			return "", err
		}
		return p.Name, nil
	})
	return id, s.observe(ctx, err, "ask for project %s", s.project)
}

// readLag is how far listings lag: Compute Engine shows an instance as soon as it accepts the operation, or
// a moment later.
const readLag = 10 * time.Second

// Traits implements [provider.Session].
func (s *session) Traits() provider.Traits {
	return provider.Traits{Scope: s.scopeName(), Source: s.from.source(), ReadLag: readLag, Choices: s.choices(), Identify: identify}
}

// scopeName names the scope: all instances of a cluster are in one listing, whatever their zones. The
// name has the project and the tags of the cluster, which specs may differ in.
func (s *session) scopeName() string {
	cluster, role := s.ownTags()
	return strings.Join([]string{s.plan.project(), cluster, role}, " ")
}

func (s *session) choices() (all []provider.Choice) {
	for _, p := range s.plan.places(s.project) {
		all = append(all, provider.Choice{Name: choiceName(p), Region: p.region, Zone: p.zone, Type: s.terms(p.machineType)})
	}
	return all
}

func choiceName(p placement) string { return p.machineType + " in " + p.zone }

// terms is the machine type, marked if it is spot: capacity for spot and for regular instances is exhausted separately.
func (s *scope) terms(machineType string) string {
	if s.plan.spot() {
		return machineType + " (spot)"
	}
	return machineType
}

// Differences implements [provider.Session].
func (s *session) Differences(_ provider.Ref, i provider.Instance) (all []string) {
	_, zones, types := s.plan.where()
	differs := func(field string, is, says any) {
		all = append(all, fmt.Sprintf("%s: the instance has %q, the spec says %q", field, is, says))
	}
	if i.Type != "" && !slices.Contains(listed(types), i.Type) {
		differs("machineType", i.Type, types)
	}
	if i.Zone != "" && !slices.Contains(listed(zones), i.Zone) {
		differs("zone", i.Zone, zones)
	}
	if i.Interruptible != s.plan.spot() {
		field := "preemptible"
		if s.plan.gardener != nil {
			field = "scheduling.preemptible"
		}
		all = append(all, fmt.Sprintf("%s: the instance has %t, the spec says %t", field, i.Interruptible, s.plan.spot()))
	}
	if i.Tags == nil {
		return all
	}
	labels := s.plan.labels()
	for _, key := range sortedKeys(labels) {
		if is, ok := i.Tags[key]; (!ok || is != labels[key]) && !slices.Contains(ourLabels, key) && key != s.clusterLabel() {
			differs("labels."+key, is, labels[key])
		}
	}
	return all
}

func sortedKeys(m map[string]string) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Status implements [provider.Session]. In the original's status the instance's name is its ID; here it is
// the real ID.
func (s *session) Status(i provider.Instance) ([]byte, error) {
	if s.class.API != provider.OpenShift {
		return nil, nil
	}
	condition := metav1.Condition{
		Type: string(machinev1beta1.MachineCreated), Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(i.Created),
		Reason: "MachineCreationSucceeded", Message: "Machine successfully created",
	}
	if i.Fault != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "MachineCreationFailed", i.Fault.Error()
	}
	return json.Marshal(machinev1beta1.GCPMachineProviderStatus{
		TypeMeta:   metav1.TypeMeta{APIVersion: machinev1beta1.GroupVersion.String(), Kind: "GCPMachineProviderStatus"},
		InstanceID: &i.ID, InstanceState: &i.RawState, Conditions: []metav1.Condition{condition},
	})
}

// Power implements [provider.Powerer]. Each call to reboot is another reboot.
func (s *session) Power(ctx context.Context, _ provider.Ref, i provider.Instance, op provider.PowerOp, _ string) error {
	at, ok := parseProviderID(i.ProviderID)
	if !ok {
		return provider.Errorf(provider.Conflict, "instance %s has no provider ID", i.ID)
	}
	is, err := s.client.compute.Instances.Get(at.project, at.zone, at.name).Context(ctx).Do()
	if err != nil {
		return s.missing(ctx, err, at.name)
	}
	off := states[is.Status] == provider.Stopped
	calls := s.client.compute.Instances
	switch {
	case op == provider.PowerOff && !off:
		_, err = calls.Stop(at.project, at.zone, at.name).Context(ctx).Do()
	case is.Status == "SUSPENDED" && op != provider.PowerOff:
		_, err = calls.Resume(at.project, at.zone, at.name).Context(ctx).Do()
	case off && op != provider.PowerOff:
		_, err = calls.Start(at.project, at.zone, at.name).Context(ctx).Do()
	case op == provider.Reboot:
		_, err = calls.Reset(at.project, at.zone, at.name).Context(ctx).Do()
	}
	return s.observe(ctx, err, "power %s instance %s", op, at.name)
}

// Console implements [provider.ConsoleReader] with the latest output of the first serial port.
func (s *session) Console(ctx context.Context, _ provider.Ref, i provider.Instance, limit int) (string, error) {
	at, ok := parseProviderID(i.ProviderID)
	if !ok {
		return "", nil
	}
	out, err := s.client.compute.Instances.GetSerialPortOutput(at.project, at.zone, at.name).Port(1).Start(-int64(limit)).Context(ctx).Do()
	if err != nil {
		return "", s.missing(ctx, err, at.name)
	}
	return out.Contents[max(0, len(out.Contents)-limit):], nil
}

// Size implements [provider.Sizer] with the minimum of all choices.
func (s *session) Size(ctx context.Context) (size provider.Size, err error) {
	places := s.plan.places(s.project)
	for n, p := range places {
		t, err := recall(ctx, s.client, "type "+p.project+"/"+p.zone+"/"+p.machineType, func(ctx context.Context) (*compute.MachineType, error) {
			return s.client.compute.MachineTypes.Get(p.project, p.zone, p.machineType).Context(ctx).Do()
		})
		if gone(err) {
			return size, provider.InvalidField("machineType", "zone %s has no type %q", p.zone, p.machineType)
		}
		if err != nil {
			return size, s.observe(ctx, err, "ask for machine type %s", p.machineType)
		}
		of := sizeOf(s.plan, t, p)
		if n == 0 {
			size = of
			continue
		}
		size = least(size, of)
	}
	if len(places) == 0 {
		return size, provider.Errorf(provider.Invalid, "the class has no provider spec")
	}
	return size, nil
}

const (
	gibibyte = 1024 // MiB
	nvidia   = corev1.ResourceName("nvidia.com/gpu")
)

func sizeOf(of plan, t *compute.MachineType, p placement) provider.Size {
	kind, gpus := of.gpus()
	if gpus == 0 && len(t.Accelerators) > 0 {
		kind, gpus = t.Accelerators[0].GuestAcceleratorType, t.Accelerators[0].GuestAcceleratorCount
	}
	size := provider.Size{
		VCPU: t.GuestCpus, MemoryMiB: t.MemoryMb, GPU: gpus, Architecture: architecture(t), EphemeralStorageMiB: of.bootGB() * gibibyte,
		Labels: map[string]string{
			corev1.LabelTopologyRegion: p.region, corev1.LabelTopologyZone: p.zone, corev1.LabelInstanceTypeStable: p.machineType,
		},
	}
	if gpus > 0 && strings.HasPrefix(kind, "nvidia-") {
		size.GPUResource = nvidia
	}
	return size
}

// architecture is that of the type, or else that of its series.
func architecture(t *compute.MachineType) string {
	series, _, _ := strings.Cut(t.Name, "-")
	switch {
	case t.Architecture == "ARM64", t.Architecture == "" && slices.Contains([]string{"t2a", "c4a", "n4a", "a4x"}, series):
		return "arm64"
	}
	return "amd64"
}

// least has the minimum of each value of two sizes, and the labels that both have.
func least(a, b provider.Size) provider.Size {
	a.VCPU, a.MemoryMiB, a.GPU = min(a.VCPU, b.VCPU), min(a.MemoryMiB, b.MemoryMiB), min(a.GPU, b.GPU)
	a.EphemeralStorageMiB = min(a.EphemeralStorageMiB, b.EphemeralStorageMiB)
	if a.Architecture != b.Architecture {
		a.Architecture = ""
	}
	a.GPUResource = cmp.Or(a.GPUResource, b.GPUResource)
	for k, v := range a.Labels {
		if b.Labels[k] != v {
			delete(a.Labels, k)
		}
	}
	return a
}
